"""How an exchange flows: its connection, and its two queues, in and out.

Bytes and frames are moved here, not read; what the bytes are is `http_wire`'s, when to stop is for
the two ends above, `http_connection` and `http_client`.
"""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Callable, Sequence

import trio

from mcpmock.channels.channel import Deliver
from mcpmock.channels.tcp_unread import unread
from mcpmock.protocol.messages import Frame

READ_SIZE = 1 << 16
"""The most that is taken from a connection in one go."""
_RESET_ON_CLOSE = struct.pack("ii", 1, 0)


class Inbox:
    """The frames of one exchange that came from the peer, on their way to whoever receives them;
    to `deliver` at once, where that is set.
    """

    def __init__(self) -> None:
        self.deliver: Deliver | None = None
        self._frames: list[Frame] = []
        self._held = 0
        self._ended = False
        self._changed = trio.lowlevel.ParkingLot()

    def put(self, frames: Sequence[Frame]) -> None:
        if self._ended or not frames:
            return
        if self.deliver is not None:
            self.deliver(frames)
            return
        self._frames += frames
        self._held += sum(frame.size for frame in frames)
        self._changed.unpark_all()

    def end(self) -> None:
        """Nothing comes behind what was put."""
        self._ended = True
        if self._changed:
            self._changed.unpark_all()

    async def receive(self) -> list[Frame]:
        await trio.lowlevel.checkpoint_if_cancelled()
        while not self._frames:
            if self._ended:
                raise trio.EndOfChannel
            await self._changed.park()
        frames, self._frames, self._held = self._frames, [], 0
        if self._changed:
            self._changed.unpark_all()
        return frames

    async def below(self, bound: int) -> None:
        """Returns when fewer than `bound` bytes are held, or nobody takes any more."""
        while self._held >= bound and not self._ended:
            await self._changed.park()


class Wire:
    """A connection. A socket is read and written by its descriptor, as stdio is: one system call,
    and at once if it can be; that halves what an exchange costs. Every other stream (TLS, memory)
    by its own methods.
    """

    def __init__(self, stream: trio.abc.Stream) -> None:
        self.stream = stream
        self._socket = _socket_of(stream)
        below = stream.transport_stream if isinstance(stream, trio.SSLStream) else stream
        self._lowest = _socket_of(below)
        self._reading = trio.CancelScope()

    async def read(self) -> bytes | bytearray:
        """What comes next, nothing at the end. Raises as `receive_some` does."""
        if self._socket is None:
            return await self.stream.receive_some(READ_SIZE)
        while True:
            await trio.lowlevel.wait_readable(self._socket)
            try:
                return os.read(self._socket.fileno(), READ_SIZE)
            except BlockingIOError:
                continue
            except OSError as error:
                raise trio.BrokenResourceError(str(error)) from error

    async def read_on(self) -> bytes | bytearray | None:
        """As `read`; None if it is interrupted meanwhile."""
        if self._socket is None:
            with trio.CancelScope() as self._reading:
                return await self.stream.receive_some(READ_SIZE)
            return None
        try:
            return await self.read()
        except trio.ClosedResourceError:
            return None

    def interrupt(self) -> None:
        """Ends a `read_on` that waits. A scope around each would be a twentieth of an exchange."""
        if self._socket is None:
            self._reading.cancel()
        else:
            trio.lowlevel.notify_closing(self._socket)

    def unread(self) -> int:
        """Bytes that the reader at the other end has not read yet, as far as anybody can tell."""
        return 0 if self._lowest is None else unread(self._lowest)

    def write_now(self, data: bytes) -> int:
        """How many bytes could be written without waiting. Raises trio.BrokenResourceError if none
        ever will.
        """
        if self._socket is None:
            return 0
        try:
            return os.write(self._socket.fileno(), data)
        except BlockingIOError:
            return 0
        except OSError as error:
            raise trio.BrokenResourceError(str(error)) from error

    def readable(self) -> bool:
        """Whether something waits to be read, as far as anybody can tell."""
        return self._lowest is not None and self._lowest.is_readable()

    def reset_on_close(self) -> None:
        """The peer will hear of a close as a reset (RST), where there is such a thing."""
        if self._lowest is not None:
            self._lowest.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)


def _socket_of(stream: object) -> trio.socket.SocketType | None:
    return stream.socket if isinstance(stream, trio.SocketStream) else None


class Outflow:
    """Bytes on their way out. Written at once where possible, else held and moved by `run`, all
    that is held in one piece. `emptied` is called when nothing is held any more.
    """

    def __init__(self, emptied: Callable[[], None] = lambda: None) -> None:
        self.held = 0
        self.ended = False
        self._emptied = emptied
        self._wire: Wire | None = None
        self._waiting: list[bytes] = []
        self._broken = False
        self._filled = trio.lowlevel.ParkingLot()
        self._moved = trio.lowlevel.ParkingLot()

    @property
    def done(self) -> bool:
        """Whether all of it has gone out."""
        return self.ended and not self.held and not self._broken

    def attach(self, wire: Wire) -> None:
        """Says where it goes."""
        data, self._waiting, self.held = b"".join(self._waiting), [], 0
        self._wire = wire
        self.put(data)
        self._moved.unpark_all()

    def put(self, data: bytes) -> None:
        if not data or self._broken:
            return
        if self._wire is not None and not self.held:
            try:
                data = data[self._wire.write_now(data) :]
            except trio.BrokenResourceError:
                self.drop()
                return
        if data:
            self._waiting.append(data)
            self.held += len(data)
            self._filled.unpark()

    def end(self) -> None:
        """Nothing more is put."""
        self.ended = True
        if self._filled:
            self._filled.unpark()

    def drop(self) -> None:
        """What is held goes nowhere, nor what is put."""
        self._broken = True
        self._waiting, self.held = [], 0
        self._filled.unpark()
        self._moved.unpark_all()

    async def run(self, wire: Wire) -> None:
        """Moves what is held, until the end or until nobody takes it."""
        try:
            while not (self._broken or self.done):
                if not self._waiting:
                    await self._filled.park()
                    continue
                data, self._waiting = b"".join(self._waiting), []
                await wire.stream.send_all(data)
                self.held -= len(data)
                self._moved.unpark_all()
                if not self.held:
                    self._emptied()
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            self.drop()

    async def below(self, bound: int) -> None:
        """Returns when fewer than `bound` bytes are held."""
        while self.held >= bound:
            await self._moved.park()
