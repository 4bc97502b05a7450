"""`PairedConnection`: the connection to the server that belongs to one connection of a client.

A server may close a kept connection at any time. Its client has to live with that, and only that
client: so no two clients share a connection to the server, and whatever one side does to its
connection (a close, a half-close, a reset) is done to the other. `connection` stands above and
owns it, `client` sends the exchanges of the one over the other.
"""

from __future__ import annotations

import select
import sys
from collections.abc import Callable
from typing import Any, Protocol

import trio

from .addresses import Connect
from .wire import Wire

_EPOLLIN: int = getattr(select, "EPOLLIN", 0)


class ClientConnection(Protocol):
    """The connection of a client, as far as its pair acts on it."""

    def close_behind(self, exchange: int) -> None:
        """Close the client's connection after this exchange, as the server does its own."""

    def close_idle(self, how: str) -> None:
        """Close the connection that the server has closed while nothing was asked."""

    def close(self) -> None:
        """Close that of a client that has ended its input, and that the server does not answer."""


class IdleWatch:
    """Looks after all idle connections to the server at once."""

    # An epoll of its own, of which trio waits.
    # speed: 2 us an exchange, with a task of trio that waits for each connection 65, a sixth of it
    # (tools/bench.py, http-record)

    def __init__(self) -> None:
        self._epoll: Any = None
        if sys.platform == "linux":
            self._epoll = select.epoll()
        self._pairs: dict[int | None, PairedConnection] = {}
        self._nursery: trio.Nursery | None = None

    def add(self, wire: Wire, pair: PairedConnection) -> None:
        fd = wire.fileno()
        if fd is not None and self._epoll is not None and not self._epoll.closed:
            self._pairs[fd] = pair
            self._epoll.register(fd, _EPOLLIN)
        elif self._nursery is not None:
            self._nursery.start_soon(pair.look)

    def remove(self, wire: Wire) -> None:
        fd = wire.fileno()
        if self._pairs.pop(fd, None) is not None:
            self._epoll.unregister(fd)
        else:
            wire.interrupt()

    async def run(self) -> None:
        """Look at each connection that something has come from."""
        try:
            async with trio.open_nursery() as self._nursery:
                if self._epoll is None:
                    await trio.sleep_forever()
                while True:
                    await trio.lowlevel.wait_readable(self._epoll.fileno())
                    for fd, _ in self._epoll.poll(0):
                        self._epoll.unregister(fd)
                        self._nursery.start_soon(self._pairs.pop(fd).look)
        finally:
            self._nursery = None
            self._pairs.clear()
            if self._epoll is not None:
                self._epoll.close()


def _nothing() -> None:
    pass


class PairedConnection:
    """Opened by the first exchange of the client's connection, and kept for the next ones."""

    def __init__(
        self,
        connect: Connect,
        client: ClientConnection,
        watch: IdleWatch,
        *,
        input_ended: bool = False,
    ) -> None:
        self.client = client
        self.input_ended = input_ended
        """Whether the client has ended its input; it may still read."""
        self.on_input_end: Callable[[], object] = _nothing
        self._connect = connect
        self._watch = watch
        self._idle: Wire | None = None
        self._closed = False

    @property
    def idle(self) -> bool:
        """Whether the server keeps the connection for another request."""
        return self._idle is not None

    def take(self) -> Wire | None:
        """Return the connection, where it is open and unused."""
        wire, self._idle = self._idle, None
        if wire is not None:
            self._watch.remove(wire)
        return wire

    async def open(self) -> Wire:
        """Return a new connection."""
        return Wire(await self._connect())

    def give_back(self, wire: Wire) -> None:
        """Give back what is idle now."""
        if self._closed or self._idle is not None:
            wire.close()
        else:
            self._idle = wire
            self._watch.add(wire, self)

    def discard(self, wire: Wire) -> None:
        """Close it at once."""
        wire.close()

    def forget(self, on_input_end: Callable[[], object]) -> None:
        """Call this no more: its exchange is over."""
        if self.on_input_end == on_input_end:
            self.on_input_end = _nothing

    def end_input(self) -> None:
        """End the input, as the client has: the server sees that after the request."""
        self.input_ended = True
        self.on_input_end()

    def close(self, how: str) -> None:
        """Close the client's connection, or reset it."""
        self._closed = True
        if (wire := self.take()) is not None:
            if how == "reset":
                wire.reset_on_close()
            wire.close()

    async def look(self) -> None:
        """Pass on that the server closes its idle connection."""
        wire, how = self._idle, "closed"
        if wire is None:
            return
        try:
            if await wire.read_on() is None:
                return  # it is used again
            # A server says nothing unasked but that it closes (408, RFC 9110, 15.5.9).
        except trio.BrokenResourceError:
            how = "reset"
        if self._idle is wire:
            self._idle = None
            wire.close()
            self.client.close_idle(how)
