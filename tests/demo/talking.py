"""A conversation with the demo server as a list of steps, on a clock of its own."""

from __future__ import annotations

from typing import Any

import attrs
import msgspec

from mcpmock.demo.routes import DemoServer
from mcpmock.pipeline.pipeline import Pipeline
from mcpmock.protocol.messages import C2S, Frame, ProcessExit, StreamEnd
from tests.support import INITIALIZE, request


@attrs.define
class Conversation:
    """What the server sent, with the times, and its exit status."""

    messages: list[dict[str, Any]] = attrs.field(factory=list)
    times: list[float] = attrs.field(factory=list)
    status: int | None = None

    @property
    def ids(self) -> list[Any]:
        """The requests that were answered, in order."""
        return [m["id"] for m in self.messages if "method" not in m]

    @property
    def last(self) -> dict[str, Any]:
        return self.messages[-1]

    @property
    def text(self) -> str:
        """The text of the last tool result."""
        text = self.last["result"]["content"][0]["text"]
        assert isinstance(text, str)
        return text

    @property
    def code(self) -> int:
        """The code of the last error."""
        code = self.last["error"]["code"]
        assert isinstance(code, int)
        return code

    def notified(self, method: str) -> list[dict[str, Any]]:
        """The params of all notifications of this method."""
        return [m["params"] for m in self.messages if m.get("method") == method]


def talk(
    *steps: bytes | float, server: DemoServer | None = None, ends: bool = True
) -> Conversation:
    """Send each message, let the seconds of each number pass, and end the input, at which the
    server `ends`.
    """
    pipeline, heard, now = Pipeline([server or DemoServer()]), Conversation(), 0.0

    def note(batches: list[Any]) -> None:
        for frame in (frame for frames in batches for frame in frames):
            if isinstance(frame.fact, ProcessExit):
                heard.status = frame.fact.status
            else:
                heard.messages.append(msgspec.json.decode(frame.raw))
                heard.times.append(now)

    for step in steps:
        if isinstance(step, bytes):
            note(pipeline.enter([Frame(C2S, step)], now))
            continue
        end = now + step
        while (due := pipeline.next_due) is not None and due <= end:
            now = due
            note(pipeline.advance(now))
        now = end
    pipeline.enter([Frame(C2S, b"", b"", StreamEnd())], now)
    assert bool(pipeline.hung_up) is ends
    return heard


def welcome(**capabilities: Any) -> bytes:
    """An initialize of a client with these capabilities."""
    return INITIALIZE.replace(b"}}", b',"capabilities":%b}}' % msgspec.json.encode(capabilities))


def call(id_: Any, tool: str, *, token: Any = None, **arguments: Any) -> bytes:
    """A tools/call."""
    return request(id_, "tools/call", {"name": tool, "arguments": arguments}, token=token)
