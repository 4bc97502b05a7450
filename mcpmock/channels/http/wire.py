"""`Wire`: the connection under an HTTP exchange, read, interrupted, written and closed.

Bytes are moved here, not read; what they say is `http1`'s, when to stop is for the two ends above,
`connection` and `client`. What waits to be written is in a `WriteQueue`.
"""

from __future__ import annotations

import socket

import trio

from mcpmock.channels import tcp_peer
from mcpmock.platforms import RESET_ON_CLOSE, read_socket, write_socket

READ_SIZE = 1 << 16
"""The most that is taken from a connection in one go."""


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
        self._reading_on: trio.Event | None = None

    async def read(self) -> bytes | bytearray:
        """Return what comes next, nothing at the end. Raises as `receive_some` does."""
        if self._socket is None:
            if self._reading_on is not None:  # it was interrupted and has not noticed yet
                await self._reading_on.wait()
            return await self.stream.receive_some(READ_SIZE)
        while True:
            if self._socket.fileno() < 0:  # closed by another task; trio's wait refuses -1
                raise trio.ClosedResourceError
            await trio.lowlevel.wait_readable(self._socket)
            try:
                return read_socket(self._socket.fileno(), READ_SIZE)
            except BlockingIOError:
                continue
            except OSError as error:
                # Closed here after it became readable: that is no reset by the peer, which a
                # recorder would note as the server's end of an exchange that its client left.
                if self._socket.fileno() < 0:
                    raise trio.ClosedResourceError from error
                raise trio.BrokenResourceError(str(error)) from error

    async def read_on(self) -> bytes | bytearray | None:
        """Read on, as `read` does; None if it is interrupted meanwhile."""
        if self._socket is None:
            ended = self._reading_on = trio.Event()
            try:
                with trio.CancelScope() as self._reading:
                    return await self.stream.receive_some(READ_SIZE)
                return None
            finally:
                self._reading_on = None
                ended.set()
        try:
            return await self.read()
        except trio.ClosedResourceError:
            return None

    def interrupt(self) -> None:
        """End a `read_on` that waits. A scope around each would be a twentieth of an exchange."""
        if self._socket is None:
            self._reading.cancel()
        elif self._socket.fileno() >= 0:  # closed, it has no reader, and trio refuses -1
            trio.lowlevel.notify_closing(self._socket)

    def unread(self) -> int:
        """Return bytes that the reader at the other end has not read yet, as far as anybody can
        tell.
        """
        return 0 if self._lowest is None else tcp_peer.unread(self._lowest)

    def is_peer_open(self) -> bool:
        """Return whether the other end is known to be open, though it may have ended its output."""
        return self._lowest is not None and tcp_peer.is_open(self._lowest)

    def write_now(self, data: bytes) -> int:
        """Return how many bytes could be written without waiting. Raises trio.BrokenResourceError
        if none ever will.
        """
        if self._socket is None:
            return 0
        try:
            return write_socket(self._socket.fileno(), data)
        except BlockingIOError:
            return 0
        except OSError as error:
            raise trio.BrokenResourceError(str(error)) from error

    async def write(self, data: memoryview) -> int:
        """Write all of it. Raises as `send_all` does."""
        await self.stream.send_all(data)
        return len(data)

    def readable(self) -> bool:
        """Return whether something waits to be read, as far as anybody can tell."""
        return self._lowest is not None and self._lowest.is_readable()

    def fileno(self) -> int | None:
        """Return the descriptor under it, where there is one."""
        return None if self._lowest is None else self._lowest.fileno()

    def end_output(self) -> bool:
        """Show the peer the end of what is written; False where only a close can say that
        (TLS).
        """
        if self._socket is None:
            return False
        try:
            self._socket.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # it is closed
        return True

    def close(self) -> None:
        """Close the connection at once."""
        if self._lowest is not None:
            self._lowest.close()
        else:
            trio.lowlevel.spawn_system_task(trio.aclose_forcefully, self.stream)

    def reset_on_close(self) -> None:
        """Make a later close a reset (RST) for the peer, where there is such a thing."""
        if self._lowest is not None:
            self._lowest.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)


def _socket_of(stream: object) -> trio.socket.SocketType | None:
    return stream.socket if isinstance(stream, trio.SocketStream) else None
