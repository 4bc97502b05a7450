"""`HttpEnd`: what both ends of a conversation over HTTP have in common: exchanges by their number.

Each exchange is a source of its own and has its own way out, so none waits for another one.
`client` and `server` stand above.
"""

from __future__ import annotations

from collections import deque
from typing import Generic, Protocol, TypeVar

import trio

from mcpmock.channels.channel import MAX_HELD_BYTES, ConversationEnd, Receive
from mcpmock.channels.queues import WriteQueue
from mcpmock.protocol.messages import Frame


class OpenExchange(Protocol):
    """An exchange, as far as `HttpEnd` looks at it."""

    out: WriteQueue
    """What is on its way to the other side."""


ExchangeT = TypeVar("ExchangeT", bound=OpenExchange)


class HttpEnd(ConversationEnd, Generic[ExchangeT]):
    """An end whose sources are exchanges."""

    def __init__(self) -> None:
        self._exchanges: dict[int, ExchangeT] = {}
        self._opened: deque[Receive] = deque()
        self._closed = False
        self._changed = trio.lowlevel.ParkingLot()

    async def accept(self) -> Receive:
        await trio.lowlevel.checkpoint_if_cancelled()
        while not self._opened:
            if self._closed:
                raise trio.EndOfChannel
            await self._wait()
        return self._opened.popleft()

    async def _wait(self) -> None:
        await self._changed.park()

    def held(self, like: Frame) -> int:
        exchange = self._of(like.exchange)
        return 0 if exchange is None else exchange.out.held

    async def room(self, like: Frame) -> None:
        await trio.lowlevel.checkpoint()
        if exchange := self._of(like.exchange):
            await exchange.out.below(MAX_HELD_BYTES)

    async def flush(self) -> None:
        await trio.lowlevel.checkpoint()
        for exchange in list(self._exchanges.values()):
            await exchange.out.below(1)

    def _of(self, number: int | None) -> ExchangeT | None:
        return None if number is None else self._exchanges.get(number)
