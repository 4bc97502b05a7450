"""The demo client: a real MCP client of the legacy era, `python -m mcpmock.demo.client -- CMD`.

It starts a server by its command, makes the same tour each time, and notes what it hears in the
order it comes: answers, notifications, and what it is asked (which it answers itself). Two tours
can so be compared. It neither knows nor cares whether a recorder or a recording is in between;
`cli.demo` does. JSON-RPC is in `peer`, the life of the process in `channels.process`.
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import attrs
import msgspec
import trio

from mcpmock.channels.channel import MessageChannel, Receive
from mcpmock.channels.process import start_process
from mcpmock.errors import McpMockError
from mcpmock.protocol.messages import (
    C2S,
    Notification,
    ProcessExit,
    Request,
    Response,
    Stderr,
    decode,
)
from mcpmock.protocol.methods import LAST_LEGACY

from .catalog import COUNTER
from .peer import METHOD_NOT_FOUND, DemoRefusal, Heard, Peer, Pending

LIMIT = 20.0
"""Seconds that a whole visit may take."""

Seen = dict[str, Any]
Plan = Callable[["DemoClient"], Awaitable[None]]

_ANSWERS: dict[str, Any] = {
    "ping": {},
    "sampling/createMessage": {
        "role": "assistant",
        "content": {"type": "text", "text": "42"},
        "model": "demo-model",
        "stopReason": "endTurn",
    },
    "elicitation/create": {"action": "accept", "content": {"sure": True}},
    "roots/list": {"roots": [{"uri": "file:///demo", "name": "demo"}]},
}
_INITIALIZE = {
    "protocolVersion": LAST_LEGACY,
    "capabilities": {"sampling": {}, "elicitation": {}, "roots": {}},
    "clientInfo": {"name": "mcpmock-demo-client", "version": "1.0.0"},
}


@attrs.define
class DemoVisit:
    """What a client saw of a server, in order, and how the server ended."""

    saw: list[Seen] = attrs.field(factory=list)
    stderr: bytes = b""
    status: int | None = None
    """The exit status; None if the visit took too long."""


class DemoClient:
    """One connection to a server; everything heard goes into `saw`."""

    def __init__(self, channel: MessageChannel, saw: list[Seen]) -> None:
        self._peer = Peer(channel, C2S)
        self._saw = saw
        self._asked: dict[bytes, str] = {}

    async def listen(self) -> None:
        await self._peer.listen(self._hear)

    async def call(self, method: str, params: Any = None) -> None:
        """Sends a request and waits until it is answered, be it with an error. Raises
        trio.EndOfChannel if the server went away.
        """
        await settled(self.ask(method, params))

    async def tool(self, name: str, *, progress: bool = False, **arguments: Any) -> None:
        """Calls a tool, with progress reports if asked for."""
        meta = {"_meta": {"progressToken": name}} if progress else {}
        await self.call("tools/call", {**meta, "name": name, "arguments": arguments})

    def ask(self, method: str, params: Any = None) -> Pending:
        """Sends a request and does not wait for anything."""
        (pending,) = self.ask_together((method, params))
        return pending

    def ask_together(self, *calls: tuple[str, Any]) -> list[Pending]:
        """Sends requests in one go."""
        asked = self._peer.ask_together(*calls)
        for pending, (method, params) in zip(asked, calls, strict=True):
            about = (params or {}).get("name") or (params or {}).get("uri")
            self._asked[pending.id] = f"{method} {about}" if about else method
        return asked

    def notify(self, method: str, params: Any = None) -> None:
        self._peer.notify(method, params)

    def end(self) -> None:
        self._peer.end()

    def _hear(self, message: Heard) -> None:
        match message:
            case Request(id_, method, params):
                self._saw.append({"asked": method, "params": decode(params or b"null")})
                self._reply(id_, method)
            case Notification(method, params):
                self._saw.append({"notified": method, "params": decode(params or b"null")})
            case Response(id_, result, error):
                name, raw = ("result", result) if error is None else ("error", error)
                asked = self._asked.get(id_ or b"")
                self._saw.append({"answered": asked, name: decode(raw or b"null")})

    def _reply(self, id_: bytes, method: str) -> None:
        if method in _ANSWERS:
            self._peer.answer(id_, _ANSWERS[method])
        else:
            self._peer.refuse(id_, DemoRefusal(METHOD_NOT_FOUND, "Method not found"))


async def settled(pending: Pending) -> None:
    """Waits for an answer of either kind; it was noted when it came."""
    try:
        await pending.result()
    except DemoRefusal:
        pass


async def visit(command: Sequence[str], plan: Plan | None = None) -> DemoVisit:
    """Starts a server, makes a tour of it (or does what `plan` says after the handshake), and ends
    it. Raises CannotStart.
    """
    seen = DemoVisit()
    channel = await start_process(command)
    client = DemoClient(channel, seen.saw)
    async with channel, trio.open_nursery() as nursery:
        nursery.start_soon(channel.run)
        with trio.move_on_after(LIMIT):
            async with trio.open_nursery() as ears:
                await channel.accept()  # stdout is the peer's
                for receive in (await channel.accept(), await channel.accept()):
                    ears.start_soon(_attend, receive, seen)
                ears.start_soon(client.listen)
                await _make(client, plan or tour)
        nursery.cancel_scope.cancel()
    return seen


async def _make(client: DemoClient, plan: Plan) -> None:
    try:
        await client.call("initialize", _INITIALIZE)
        client.notify("notifications/initialized")
        await plan(client)
    except trio.EndOfChannel:
        pass  # what was seen until then is what there is to see
    client.end()


async def _attend(receive: Receive, seen: DemoVisit) -> None:
    """Takes in what a server says besides the protocol: its standard error and its exit."""
    while True:
        try:
            frames = await receive()
        except trio.EndOfChannel:
            return
        for frame in frames:
            if isinstance(frame.fact, Stderr):
                seen.stderr += frame.raw
            elif isinstance(frame.fact, ProcessExit):
                seen.status = frame.fact.status


async def tour(client: DemoClient) -> None:
    """A little of everything that the demo server does."""
    await client.call("tools/list")
    await client.tool("echo", message="Hello, snowman \u2603")
    await client.tool("add", a=19, b=23)
    await client.tool("weather", city="Oslo")
    await client.tool("weather", city="Atlantis")
    await client.tool("no-such-tool")
    await client.call("no/such/method")
    await client.tool("countdown", progress=True, steps=3)
    await client.tool("ask", question="What is 6 x 7?")
    await client.tool("confirm", action="go on")
    await client.tool("roots")
    await _resources(client)
    await _prompts(client)
    await _together(client)
    await _cancelled(client)


async def _resources(client: DemoClient) -> None:
    await client.call("resources/list")
    await client.call("resources/read", {"uri": COUNTER})
    await client.call("resources/subscribe", {"uri": COUNTER})
    await client.tool("touch")
    await client.call("resources/read", {"uri": COUNTER})


async def _prompts(client: DemoClient) -> None:
    await client.call("prompts/list")
    await client.call("prompts/get", {"name": "greet", "arguments": {"name": "Ada"}})
    ref = {"type": "ref/prompt", "name": "greet"}
    argument = {"name": "name", "value": "A"}
    await client.call("completion/complete", {"ref": ref, "argument": argument})


async def _together(client: DemoClient) -> None:
    """Three calls at once; the slow one is asked first and answered last. They go in one write: on
    however busy a machine, a replay sees all three before the slow answer is due.
    """
    asked = client.ask_together(
        ("tools/call", {"name": "slow", "arguments": {"seconds": 0.2}}),
        ("ping", None),
        ("tools/call", {"name": "echo", "arguments": {"message": "overtaken"}}),
    )
    for pending in asked:
        await settled(pending)


async def _cancelled(client: DemoClient) -> None:
    """A call that nobody will answer."""
    slow = client.ask("tools/call", {"name": "slow", "arguments": {"seconds": 3600}})
    await client.call("ping")
    client.notify("notifications/cancelled", {"requestId": int(slow.id), "reason": "enough"})
    await client.call("ping")


def main() -> None:
    """Tours the server that the command line names, prints what was seen as JSON lines, and exits
    as the server did.
    """
    command = sys.argv[1:]
    if command[:1] == ["--"]:
        command = command[1:]
    if not command:
        sys.exit("usage: python -m mcpmock.demo.client -- COMMAND [ARG]..")
    try:
        seen = trio.run(visit, command)
    except McpMockError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(error.exit_code)
    sys.stdout.buffer.write(msgspec.json.Encoder().encode_lines(seen.saw))
    sys.exit("the server did not end in time" if seen.status is None else seen.status)


if __name__ == "__main__":
    main()
