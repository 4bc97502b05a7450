"""`Hearing`: the live client's frames put together to what a player can look at, and the exchanges
that are open.

Over stdio a frame is heard as it comes, a long line when it is whole. Over HTTP a request is heard
when its body is whole, head and all. Used by `player`.
"""

from __future__ import annotations

import attrs

from mcpmock.protocol.messages import C2S, ExchangeEnd, Fragment, Frame, HttpBody, HttpRequest
from mcpmock.protocol.reassembly import Reassembly


@attrs.define
class ClientMessage:
    """What the live client did: a message, with the head it came with over HTTP, or a request that
    carries none, whose `frame` is the head.
    """

    frame: Frame
    head: HttpRequest | None = None
    size: int = 0
    """How long it is, where it is too long to be looked at; `frame` then holds its beginning."""

    @property
    def exchange(self) -> int | None:
        return self.frame.exchange


@attrs.define
class Hearing:
    """What is under way from one live client."""

    open: set[int] = attrs.field(factory=set)
    """The exchanges in which something may still be said."""
    paths: set[str] = attrs.field(factory=set)
    """Where messages were posted."""
    _heads: dict[int, Frame] = attrs.field(factory=dict)
    """The heads whose bodies are still to come."""
    _reassembly: Reassembly = attrs.field(factory=Reassembly)
    _on_http: bool = False

    def add(self, frame: Frame) -> ClientMessage | None:
        """Takes the next frame; gives what is whole with it. A client that went away is heard once
        nothing of its exchange is open any more.
        """
        exchange, fact = frame.exchange, frame.fact
        if isinstance(fact, Fragment):
            whole = self._reassembly.add(frame)
            if whole is None:
                return None
            head = self._head_of(exchange)
            return ClientMessage(whole.frame, head, whole.size if whole.too_long else 0)
        if exchange is None:
            return ClientMessage(frame)
        if isinstance(fact, HttpRequest):
            return self._begin(frame, exchange, fact)
        if isinstance(fact, ExchangeEnd):
            self._forget(exchange)
            return ClientMessage(frame)
        if isinstance(fact, HttpBody):
            beginning = self._heads.pop(exchange, None)
            return None if beginning is None else _alone(beginning)
        return ClientMessage(frame, self._head_of(exchange))

    def leaving(self, frames: list[Frame]) -> list[Frame]:
        """Without what would go out on exchanges that are over."""
        if not self._on_http:
            return frames
        return [frame for frame in frames if frame.exchange is None or self._may_leave(frame)]

    def _begin(self, frame: Frame, exchange: int, head: HttpRequest) -> ClientMessage | None:
        self._on_http = True
        self.open.add(exchange)
        if not head.has_body:
            return _alone(frame)
        self._heads[exchange] = frame
        return None

    def _head_of(self, exchange: int | None) -> HttpRequest | None:
        """The head of an exchange whose message is whole: messages are posted there."""
        frame = None if exchange is None else self._heads.pop(exchange, None)
        head = None if frame is None else frame.fact
        if not isinstance(head, HttpRequest):
            return None
        self.paths.add(head.path)
        return head

    def _forget(self, exchange: int) -> None:
        self.open.discard(exchange)
        self._heads.pop(exchange, None)
        self._reassembly.cut(C2S, exchange)

    def _may_leave(self, frame: Frame) -> bool:
        if frame.exchange not in self.open:
            return False
        if isinstance(frame.fact, ExchangeEnd):
            self.open.discard(frame.exchange)
        return True


def _alone(frame: Frame) -> ClientMessage:
    head = frame.fact
    return ClientMessage(frame, head if isinstance(head, HttpRequest) else None)
