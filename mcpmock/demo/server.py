"""The demo server: a real MCP server of both eras over stdio, `python -m mcpmock.demo.server`.

The loop and the table of methods; what they do is in `tools` and `catalog`, what the eras do
differently in `eras`, JSON-RPC in `peer`. How the client opens decides the era, for the life of the
process. Calls are answered independently of each other: what can be answered at once is, in order;
what waits has a task of its own. Nothing here depends on the time, the process or chance: the same
questions get the same answers.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Awaitable

import trio

from mcpmock.channels.channel import MessageChannel
from mcpmock.channels.stdio import take_stdio
from mcpmock.protocol.messages import S2C, Notification, Request, member

from . import catalog, tools
from .call import DemoAnswer, DemoCall, Era, Handler, InputRequired
from .eras import opened_by
from .peer import METHOD_NOT_FOUND, DemoRefusal, Heard, Peer

LAST_WORDS = 2.0
"""Seconds that a client which has ended its input is given to read what is still held for it."""

METHODS: dict[str, Handler] = {
    "tools/list": tools.list_tools,
    "tools/call": tools.call_tool,
    "resources/list": catalog.list_resources,
    "resources/templates/list": catalog.list_templates,
    "resources/read": catalog.read_resource,
    "prompts/list": catalog.list_prompts,
    "prompts/get": catalog.get_prompt,
    "completion/complete": catalog.complete,
}


class DemoServer:
    """One conversation with one client."""

    def __init__(self, channel: MessageChannel) -> None:
        self._peer = Peer(channel, S2C)
        self._era: Era | None = None
        self._waiting: dict[bytes, DemoCall] = {}
        self._tasks: trio.Nursery
        self.status = 0
        """The exit status to end with."""

    async def run(self) -> None:
        """Until the client's input ends, or a tool ends the server. Calls that still wait then are
        dropped: nobody is left to answer.
        """
        async with trio.open_nursery() as self._tasks:
            await self._peer.listen(self._hear)
            self._tasks.cancel_scope.cancel()

    def _hear(self, message: Heard) -> None:
        match message:
            case Request():
                self._begin(message)
            case Notification("notifications/cancelled", params):
                self._cancel(member(params, "requestId") or b"")
            case _:
                pass  # answers are for whoever asked; other notifications change nothing here

    def _begin(self, request: Request) -> None:
        era = self._era or opened_by(request, self._peer)
        call = DemoCall(self._peer, era, request)
        try:
            answer = self._handle(call)
        except DemoRefusal as refusal:
            self._peer.refuse(call.id, refusal)
        except tools.Crash as crash:
            self.status = crash.status
            self._tasks.cancel_scope.cancel()
        else:
            self._finish(call, answer)

    def _handle(self, call: DemoCall) -> DemoAnswer | Awaitable[DemoAnswer] | None:
        call.era.admit(call)
        self._era = call.era
        handler = METHODS.get(call.method) or call.era.methods.get(call.method)
        if handler is None:
            raise DemoRefusal(METHOD_NOT_FOUND, "Method not found", {"method": call.method})
        return handler(call)

    def _finish(self, call: DemoCall, answer: DemoAnswer | Awaitable[DemoAnswer] | None) -> None:
        if isinstance(answer, dict):
            self._peer.answer(call.id, call.era.dressed(call, answer))
        elif answer is not None:
            self._waiting[call.id] = call
            self._tasks.start_soon(self._wait_for, call, answer)

    async def _wait_for(self, call: DemoCall, answer: Awaitable[DemoAnswer]) -> None:
        with call.scope:
            try:
                result = await answer
            except InputRequired as more:
                result = {"resultType": "input_required", "inputRequests": more.requests}
            except DemoRefusal as refusal:
                self._peer.refuse(call.id, refusal)
                return
            finally:
                self._waiting.pop(call.id, None)
            if not call.scope.cancel_called:
                self._finish(call, result)

    def _cancel(self, id_: bytes) -> None:
        """From here on nothing is said about the call. One that is unknown or done is none of our
        business.
        """
        if id_ in self._waiting:
            self._waiting[id_].scope.cancel()
        elif self._era is not None:
            self._era.forget(id_)


async def serve(channel: MessageChannel) -> int:
    """Serves the client at the other end of `channel` to its end. Gives the exit status."""
    server = DemoServer(channel)
    async with channel, trio.open_nursery() as nursery:
        nursery.start_soon(channel.run)
        await server.run()
        with trio.move_on_after(LAST_WORDS):
            try:
                await channel.flush()
            except trio.BrokenResourceError:
                pass  # it does not want to know
        nursery.cancel_scope.cancel()
    return server.status


def main() -> None:
    """Serves the client on our stdio, and exits."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a Ctrl-C ends it without a traceback
    sys.stderr.write("mcpmock demo server ready\n")
    sys.exit(trio.run(_serve_stdio))


async def _serve_stdio() -> int:
    return await serve(take_stdio())


if __name__ == "__main__":
    main()
