"""A conversation with the demo server as a list of steps, over memory and on a mock clock."""

from __future__ import annotations

from typing import Any

import attrs
import msgspec
import trio
from trio.testing import wait_all_tasks_blocked

from mcpmock.channels.channel import MemoryChannel, memory_pair
from mcpmock.demo.server import serve
from mcpmock.protocol.messages import C2S, Frame, StreamEnd
from tests.support import INITIALIZE, request

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


@attrs.define
class Heard:
    """What came of a conversation: messages with their times, and the server's exit status."""

    messages: list[dict[str, Any]] = attrs.field(factory=list)
    times: list[float] = attrs.field(factory=list)
    status: int | None = None

    @property
    def ids(self) -> list[Any]:
        """Which requests were answered, in order."""
        return [m["id"] for m in self.messages if "method" not in m]

    @property
    def last(self) -> dict[str, Any]:
        return self.messages[-1]

    @property
    def text(self) -> str:
        """The text of the tool result that came last."""
        text = self.last["result"]["content"][0]["text"]
        assert isinstance(text, str)
        return text

    @property
    def code(self) -> int:
        """The code of the error that came last."""
        code = self.last["error"]["code"]
        assert isinstance(code, int)
        return code

    def notified(self, method: str) -> list[dict[str, Any]]:
        """The params of all notifications of this method."""
        return [m["params"] for m in self.messages if m.get("method") == method]


async def talk(*steps: bytes | float) -> Heard:
    """Says each message once everybody waits for something, lets so many seconds pass for each
    number, then ends the input and hears the server out.
    """
    ours, theirs = memory_pair()
    heard = Heard()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_serve, theirs, heard)
        nursery.start_soon(_listen, ours, heard)
        for step in steps:
            if isinstance(step, bytes):
                ours.send_nowait([Frame(C2S, step)])
                await wait_all_tasks_blocked()
            else:
                await trio.sleep(step)
        if heard.status is None:
            ours.send_nowait([Frame(C2S, b"", b"", StreamEnd())])
    return heard


def welcome(**capabilities: Any) -> bytes:
    """An initialize of a client that can do this."""
    return INITIALIZE.replace(b"}}", b',"capabilities":%b}}' % msgspec.json.encode(capabilities))


def modern(
    id_: Any, method: str, params: Any = None, *, meta: Any = None, **capabilities: Any
) -> bytes:
    """A request of 2026-07-28, of a client that can do this."""
    able = {"io.modelcontextprotocol/clientCapabilities": capabilities}
    return request(id_, method, {**(params or {}), "_meta": {**META, **able, **(meta or {})}})


def call(id_: Any, tool: str, *, token: Any = None, **arguments: Any) -> bytes:
    """A tools/call."""
    return request(id_, "tools/call", {"name": tool, "arguments": arguments}, token=token)


def modern_call(
    id_: Any, tool: str, arguments: Any, *, rest: Any = None, **capabilities: Any
) -> bytes:
    """A tools/call of 2026-07-28; `rest` is what stands beside name and arguments."""
    params = {"name": tool, "arguments": arguments, **(rest or {})}
    return modern(id_, "tools/call", params, **capabilities)


async def _serve(channel: MemoryChannel, heard: Heard) -> None:
    heard.status = await serve(channel)


async def _listen(channel: MemoryChannel, heard: Heard) -> None:
    while True:
        try:
            frames = await channel.receive()
        except trio.EndOfChannel:
            return
        heard.messages += [msgspec.json.decode(frame.raw) for frame in frames]
        heard.times += [trio.current_time()] * len(frames)
