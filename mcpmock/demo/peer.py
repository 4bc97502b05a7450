"""One side of a JSON-RPC conversation, over any channel: asks, answers, notifies, listens.

What the demo's server and its client have in common. No MCP here (`eras`, `client`), no framing and
no process (`endpoints/`). This is how a program speaks for itself; mcpmock proper never does, it
forwards raw bytes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

import msgspec
import trio

from mcpmock.channels.channel import MessageChannel
from mcpmock.protocol.messages import (
    Batch,
    Direction,
    Fragment,
    Frame,
    Notification,
    Request,
    Response,
    StreamEnd,
    decode,
    parse_items,
)
from mcpmock.protocol.reassembly import Reassembly

INVALID_PARAMS, METHOD_NOT_FOUND = -32602, -32601

Heard = Request | Notification | Response


class DemoRefusal(Exception):
    """A JSON-RPC error, sent or received."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code, self.message, self.data = code, message, data


class Pending:
    """A request of ours on its way to an answer."""

    def __init__(self, id_: bytes) -> None:
        self.id = id_
        self._response: Response | None = None
        self._settled = trio.Event()

    def settle(self, response: Response | None) -> None:
        """The answer came; None if it cannot come any more."""
        self._response = response
        self._settled.set()

    async def result(self) -> Any:
        """Waits for the result. Raises Refusal for an error, trio.EndOfChannel if the peer left."""
        await self._settled.wait()
        if self._response is None:
            raise trio.EndOfChannel
        if self._response.error is not None:
            error = decode(self._response.error)
            error = error if isinstance(error, dict) else {}
            raise DemoRefusal(error.get("code", 0), error.get("message", ""), error.get("data"))
        return decode(self._response.result or b"null")


class Peer:
    """Our side of a conversation; `direction` is the way that our own frames travel."""

    def __init__(self, channel: MessageChannel, direction: Direction) -> None:
        self._channel, self._direction = channel, direction
        self._reassembly = Reassembly()
        self._pending: dict[bytes, Pending] = {}
        self._asked = 0
        self._ended = False

    async def listen(self, hear: Callable[[Heard], None]) -> None:
        """Hands every message to `hear`, in order, until the other side ends. What is no JSON-RPC
        is ignored, as the SDKs ignore it.
        """
        try:
            while True:
                frames = await self._channel.receive()
                for frame in frames:
                    self._hear(frame, hear)
                await self._room(frames[-1])
        except trio.EndOfChannel:
            self._ended = True
            for pending in self._pending.values():
                pending.settle(None)

    def ask(self, method: str, params: Any = None) -> Pending:
        """Sends a request; whoever wants its answer waits for the `result` of what this gives."""
        (pending,) = self.ask_together((method, params))
        return pending

    def ask_together(self, *calls: tuple[str, Any]) -> list[Pending]:
        """Sends requests in one go, so that the peer reads all of them before it answers any."""
        asked = [Pending(b"%d" % (self._asked + n)) for n in range(1, len(calls) + 1)]
        self._asked += len(calls)
        for pending in asked:
            self._pending[pending.id] = pending
            if self._ended:
                pending.settle(None)
        rows = zip(asked, calls, strict=True)
        self._hand_over(self._frame(b'"id":' + p.id, *_call(*call)) for p, call in rows)
        return asked

    def notify(self, method: str, params: Any = None) -> None:
        self._hand_over([self._frame(*_call(method, params))])

    def answer(self, id_: bytes, result: Any) -> None:
        """Answers the request that spelled its id `id_`."""
        self._hand_over([self._frame(b'"id":' + id_, b'"result":' + _encode(result))])

    def refuse(self, id_: bytes, refusal: DemoRefusal) -> None:
        error = {"code": refusal.code, "message": refusal.message}
        if refusal.data is not None:
            error["data"] = refusal.data
        self._hand_over([self._frame(b'"id":' + id_, b'"error":' + _encode(error))])

    def end(self) -> None:
        """Says that nothing more will come from us."""
        self._hand_over([Frame(self._direction, b"", b"", StreamEnd())])

    def _hear(self, frame: Frame, hear: Callable[[Heard], None]) -> None:
        if type(frame.fact) is Fragment:
            whole = self._reassembly.add(frame)
            if whole is None:
                return
            frame = whole.frame
        inside = parse_items(frame.raw) if type(frame.content) is Batch else [frame.content]
        for message in inside:
            if isinstance(message, Heard):
                hear(message)
            if isinstance(message, Response) and message.id in self._pending:
                self._pending.pop(message.id).settle(message)

    def _frame(self, *members: bytes) -> Frame:
        return Frame(self._direction, b'{"jsonrpc":"2.0",' + b",".join(members) + b"}")

    def _hand_over(self, frames: Iterable[Frame]) -> None:
        try:
            self._channel.send_nowait(list(frames))
        except trio.BrokenResourceError:
            pass  # nobody reads any more; what they still say is heard all the same

    async def _room(self, like: Frame) -> None:
        """Asks no more of us than they take from us."""
        try:
            await self._channel.room(like)
        except trio.BrokenResourceError:
            pass  # as above


def _call(method: str, params: Any) -> list[bytes]:
    members = [b'"method":' + _encode(method)]
    return members if params is None else [*members, b'"params":' + _encode(params)]


def _encode(value: Any) -> bytes:
    """Compact JSON. The standard library takes what msgspec refuses: a lone surrogate, echoed."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode()
