"""Reading and writing file descriptors without waiting, and without changing them.

Our stdin and stdout belong to whoever started us: their open file descriptions are shared, and
O_NONBLOCK set on one is set for the client and the shell too, and stays after kill -9. So it is
never set on those. Instead:

* pipes and terminals are opened anew through /proc/self/fd, which gives a description of our own;
* sockets (node gives its children sockets) are used with MSG_DONTWAIT, call by call;
* regular files and devices never wait; where nothing else helps, writes stay within PIPE_BUF, which
cannot block once
  the kernel called the pipe writable (POSIX).

`process` and `stdio` stand above. trio's FdStream is not used: it sets O_NONBLOCK on what it is
given, and a relay over it takes 37 us where this takes 23.
"""

from __future__ import annotations

import errno
import fcntl
import os
import select
import socket
import stat
import sys
import termios
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress

import trio

from .channel import DRAIN, ROOM

READ_SIZE = 1 << 16
MOST_LOGGED = 2 * ROOM
"""How many bytes of a server's standard error are held for somebody who does not read."""
_ASK_AGAIN = 0.0005
_GONE = {errno.EPIPE, errno.ECONNRESET, errno.EBADF, errno.ENOTCONN, errno.EIO}


class Descriptor:
    """One file descriptor, ours to close; `read` and `write` never wait."""

    _unread = termios.FIONREAD

    def __init__(self, fd: int, *, chunk: int = ROOM, polled: bool = True) -> None:
        self.fd = fd
        self._chunk = chunk
        self._polled = polled
        self._waited = False
        self.closed = False

    def readable(self) -> Awaitable[None]:
        """Waits until `read` has something to say. Files and /dev/null always have: epoll refuses
        them.
        """
        if self._waited and not self.closed:
            # One coroutine less for every message.
            return trio.lowlevel.wait_readable(self.fd)  # noqa: ASYNC105 (the caller awaits it)
        return self._wait(trio.lowlevel.wait_readable)

    async def writable(self) -> None:
        """Waits until `write` may take something."""
        await self._wait(trio.lowlevel.wait_writable)

    async def _wait(self, wait: Callable[[int], Awaitable[None]]) -> None:
        if self.closed:  # its number may be somebody else's by now
            raise trio.ClosedResourceError
        if self._polled:
            try:
                await wait(self.fd)
                self._waited = True
            except PermissionError:
                self._polled = False
        if not self._polled:
            await trio.lowlevel.checkpoint()

    def read(self) -> bytes | None:
        """What is there, b"" at the end (also when the writer vanished), None if there is nothing
        now.
        """
        try:
            return os.read(self.fd, READ_SIZE)
        except BlockingIOError:
            return None
        except OSError as error:
            if error.errno in _GONE:
                return b""
            raise

    def write(self, data: bytes | memoryview) -> int:
        """How many bytes were taken. Raises trio.BrokenResourceError when nobody can read them any
        more.
        """
        try:
            return os.write(self.fd, data if len(data) <= self._chunk else data[: self._chunk])
        except BlockingIOError:
            return 0
        except OSError as error:
            raise trio.BrokenResourceError(os.strerror(error.errno or 0)) from error

    def unread(self) -> int:
        """Bytes that were written here and that nobody has read yet; 0 where the kernel
        cannot say.
        """
        counted = bytearray(4)
        try:
            fcntl.ioctl(self.fd, self._unread, counted)
        except OSError:
            return 0
        return int.from_bytes(counted, sys.byteorder)

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            trio.lowlevel.notify_closing(self.fd)
            self._close()

    def _close(self) -> None:
        os.close(self.fd)


class _Socket(Descriptor):
    """A socket that somebody else may hold too: non-blocking for each call of ours, and for nobody
    else.
    """

    _unread = termios.TIOCOUTQ

    def __init__(self, fd: int) -> None:
        super().__init__(fd)
        self._socket = socket.socket(fileno=fd)

    def read(self) -> bytes | None:
        try:
            return self._socket.recv(READ_SIZE, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return None
        except ConnectionError:
            return b""

    def write(self, data: bytes | memoryview) -> int:
        try:
            return self._socket.send(data, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return 0
        except OSError as error:
            raise trio.BrokenResourceError(os.strerror(error.errno or 0)) from error

    def _close(self) -> None:
        self._socket.close()


def borrow(fd: int, flags: int) -> Descriptor:
    """A descriptor of our own on what the inherited `fd` refers to, whose shared flags stay as they
    are.

    `flags` is os.O_RDONLY or os.O_WRONLY. The given `fd` stays open; closing the result does not
    close it.
    """
    mode = os.fstat(fd).st_mode
    if stat.S_ISSOCK(mode):
        return _Socket(os.dup(fd))
    if stat.S_ISREG(mode):
        return Descriptor(os.dup(fd), polled=False)
    try:
        return Descriptor(os.open(f"/proc/self/fd/{fd}", flags | os.O_NONBLOCK | os.O_NOCTTY))
    except OSError:
        return Descriptor(os.dup(fd), chunk=select.PIPE_BUF)


def own(fd: int) -> Descriptor:
    """A descriptor nobody else shares (our end of a pipe that we made): made non-blocking and used
    as it is.
    """
    os.set_blocking(fd, False)
    return Descriptor(fd)


class Outlet:
    """Bytes on their way out of one descriptor: written at once where possible, else held and moved
    by `run`.
    """

    def __init__(self, descriptor: Descriptor) -> None:
        self._descriptor = descriptor
        self._held: deque[memoryview] = deque()
        self.held = 0
        self._broken: trio.BrokenResourceError | None = None
        self._ending = False
        self._moved = trio.lowlevel.ParkingLot()
        self._filled = trio.Event()

    def put(self, data: bytes) -> None:
        """Takes `data` for writing, after all that was taken before. Raises
        trio.BrokenResourceError when it is no use.
        """
        if self._broken or self._ending:
            raise self._broken or trio.BrokenResourceError("closed")
        written = 0
        if not self.held:
            try:
                written = self._descriptor.write(data)
            except trio.BrokenResourceError as error:
                self._break(error)
                raise
        if written < len(data):
            self._held.append(memoryview(data)[written:])
            self.held += len(data) - written
            self._filled.set()

    def log(self, data: bytes) -> None:
        """The same for what nobody has to read: a server's standard error is no reason to end
        anything, nor to hold more than MOST_LOGGED bytes.
        """
        if self.held < MOST_LOGGED:
            with suppress(trio.BrokenResourceError):
                self.put(data)

    def end(self) -> None:
        """Closes the descriptor behind what is held."""
        self._ending = True
        if not self.held:
            self._descriptor.close()

    async def run(self) -> None:
        """Moves what is held, until everything is closed or broken."""
        while not self._broken:
            await self._filled.wait()
            if not self._held:
                return
            try:
                await self._descriptor.writable()
                self._write_held()
            except (trio.BrokenResourceError, trio.ClosedResourceError) as error:
                self._break(trio.BrokenResourceError(str(error)))

    async def below(self, bound: int) -> None:
        """Returns when fewer than `bound` bytes are held; raises trio.BrokenResourceError if they
        cannot be moved.
        """
        while self.held >= bound:
            await self._moved.park()
        if self._broken and not self._ending:
            raise self._broken

    async def drained(self) -> None:
        """Returns when the reader has read all that was put here, or after DRAIN seconds. The
        kernel tells only when asked.
        """
        with trio.move_on_after(DRAIN):
            while self.held or (not self._descriptor.closed and self._descriptor.unread()):  # noqa: ASYNC110
                await trio.sleep(_ASK_AGAIN)

    def close(self) -> None:
        self._break(trio.BrokenResourceError("closed"))
        self._descriptor.close()

    def _write_held(self) -> None:
        first = self._held.popleft()
        rest = first[self._descriptor.write(first) :]
        self.held -= len(first) - len(rest)
        if rest:
            self._held.appendleft(rest)
        if not self.held:
            self._filled = trio.Event()
            if self._ending:
                self._descriptor.close()
        self._moved.unpark_all()

    def _break(self, error: trio.BrokenResourceError) -> None:
        self._broken = self._broken or error
        self._held.clear()
        self.held = 0
        self._filled.set()
        self._moved.unpark_all()
