"""Reading and writing file descriptors without waiting, and without changing them.

Our stdin and stdout belong to the process that started us: their open file descriptions
are shared, and O_NONBLOCK set on one is set for the client and the shell too, and stays after
kill -9. So it is never set on those. Instead:

* pipes and terminals are opened anew on Linux, which gives a description of our own;
* sockets (node gives its children sockets) are used with MSG_DONTWAIT, call by call;
* on Windows, threads wait in calls that block;
* regular files and devices never wait; where nothing else helps, writes stay within PIPE_BUF, which
cannot block once
  the kernel called the pipe writable (POSIX).

`process` and `stdio` stand above. trio's FdStream is not used: it sets O_NONBLOCK on what it is
given.
"""

from __future__ import annotations

import errno
import os
import select
import socket
import stat
import sys
import threading
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import trio

from mcpmock.platforms import own_descriptor, unread_bytes

from .channel import DRAIN_TIMEOUT_S, MAX_HELD_BYTES
from .queues import WriteQueue

_Result = TypeVar("_Result")

READ_SIZE = 1 << 16
MAX_LOG_BYTES = 2 * MAX_HELD_BYTES
"""How much of a server's standard error is held for a reader that does not read."""
_DRAIN_POLL_S = 0.0005
DONT_WAIT: int = getattr(socket, "MSG_DONTWAIT", 0)
_GONE = {errno.EPIPE, errno.ECONNRESET, errno.EBADF, errno.ENOTCONN, errno.EIO}


# speed: a relay over these takes 23 us a call, over trio's FdStream 37 (tools/bench.py, relay)
class Descriptor:
    """One file descriptor, ours to close; `read` and `write_now` never wait."""

    _is_socket = False

    def __init__(self, fd: int, *, chunk: int = MAX_HELD_BYTES, polled: bool = True) -> None:
        self.fd = fd
        self._chunk = chunk
        self._polled = polled
        self._waited = False
        self.closed = False

    def readable(self) -> Awaitable[None]:
        """Wait until `read` has something to say. Files and /dev/null always have: epoll refuses
        them.
        """
        if self._waited and not self.closed:
            # speed: one coroutine less for every read, 0.07 us (python -m timeit)
            return trio.lowlevel.wait_readable(self.fd)  # noqa: ASYNC105 (the caller awaits it)
        return self._wait(trio.lowlevel.wait_readable)

    async def writable(self) -> None:
        """Wait until `write_now` may take something."""
        await self._wait(trio.lowlevel.wait_writable)

    async def _wait(self, wait: Callable[[int], Awaitable[None]]) -> None:
        if self.closed:  # the kernel may have given its number to another file
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
        """Return what is there, b"" at the end (also when the writer vanished), None if there is
        nothing now.
        """
        try:
            return os.read(self.fd, READ_SIZE)
        except BlockingIOError:
            return None
        except OSError as error:
            if error.errno in _GONE:
                return b""
            raise

    def write_now(self, data: bytes | memoryview) -> int:
        """Return how many bytes were taken. Raises trio.BrokenResourceError when the reader is
        gone.
        """
        try:
            return os.write(self.fd, data if len(data) <= self._chunk else data[: self._chunk])
        except BlockingIOError:
            return 0
        except OSError as error:
            raise trio.BrokenResourceError(os.strerror(error.errno or 0)) from error

    async def write(self, data: memoryview) -> int:
        """Return the same, once it takes something."""
        await self.writable()
        return self.write_now(data)

    def unread(self) -> int:
        """Return bytes that were written here and not read yet; 0 where the kernel
        cannot say.
        """
        return unread_bytes(self.fd, sent=self._is_socket)

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            trio.lowlevel.notify_closing(self.fd)
            self._close()

    def _close(self) -> None:
        os.close(self.fd)


class _Socket(Descriptor):
    """A socket that other processes may hold too: only our own calls are non-blocking."""

    _is_socket = True

    def __init__(self, fd: int) -> None:
        super().__init__(fd)
        self._socket = socket.socket(fileno=fd)

    def read(self) -> bytes | None:
        try:
            return self._socket.recv(READ_SIZE, DONT_WAIT)
        except BlockingIOError:
            return None
        except ConnectionError:
            return b""

    def write_now(self, data: bytes | memoryview) -> int:
        try:
            return self._socket.send(data, DONT_WAIT)
        except BlockingIOError:
            return 0
        except OSError as error:
            raise trio.BrokenResourceError(os.strerror(error.errno or 0)) from error

    def _close(self) -> None:
        self._socket.close()


class ThreadDescriptor(Descriptor):
    """A pipe, console or file of Windows, where nothing tells whether it has or takes anything: a
    thread waits in the call.
    """

    def __init__(self, fd: int) -> None:
        super().__init__(fd, chunk=READ_SIZE)
        self._reading = threading.Lock()
        self._ahead: bytes | None = None

    async def readable(self) -> None:
        if self.closed:
            raise trio.ClosedResourceError
        await wait_in_thread(self._read_ahead)

    def _read_ahead(self) -> None:
        with self._reading:  # a wait that was cancelled reads on
            if self._ahead is None:
                self._ahead = super().read()

    def read(self) -> bytes | None:
        data, self._ahead = self._ahead, None
        return data

    def write_now(self, data: bytes | memoryview) -> int:  # noqa: ARG002 (any may wait)
        return 0

    async def write(self, data: memoryview) -> int:
        return await wait_in_thread(super().write_now, data)

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            # The C library waits with it until no thread reads or writes.
            threading.Thread(target=os.close, args=(self.fd,), daemon=True).start()


async def wait_in_thread(function: Callable[..., _Result], *args: Any) -> _Result:
    """Call what may wait for long. A call that is cancelled goes on, and its result is lost."""
    return await trio.to_thread.run_sync(
        function, *args, abandon_on_cancel=True, limiter=trio.CapacityLimiter(1)
    )


def borrow(fd: int, flags: int) -> Descriptor:
    """Return a descriptor of our own on what the inherited `fd` refers to, whose shared flags stay
    as they are.

    `flags` is os.O_RDONLY or os.O_WRONLY. The given `fd` stays open; closing the result does not
    close it.
    """
    if sys.platform == "win32":
        return ThreadDescriptor(os.dup(fd))
    mode = os.fstat(fd).st_mode
    if stat.S_ISSOCK(mode):
        return _Socket(os.dup(fd))
    if stat.S_ISREG(mode):
        return Descriptor(os.dup(fd), polled=False)
    try:
        own = own_descriptor(fd, flags)
    except OSError:
        own = None
    if own is not None:
        return Descriptor(own)
    return Descriptor(os.dup(fd), chunk=select.PIPE_BUF)


def own(fd: int) -> Descriptor:
    """Return a descriptor that is not shared (our end of a pipe that we made): made non-blocking
    and used as it is.
    """
    if sys.platform == "win32":
        return ThreadDescriptor(fd)
    os.set_blocking(fd, False)
    return Descriptor(fd)


class DescriptorQueue(WriteQueue):
    """Bytes on their way out of one descriptor, which is closed behind the last of them."""

    def __init__(
        self, descriptor: Descriptor, *, lossy: bool = False, max_held: int | None = None
    ) -> None:
        super().__init__(descriptor, self._close_at_end, lossy=lossy, max_held=max_held)
        self._descriptor = descriptor

    async def drained(self) -> None:
        """Return when the reader has read all that was put here, or after DRAIN_TIMEOUT_S."""
        with trio.move_on_after(DRAIN_TIMEOUT_S):
            # No event tells a writer that its bytes were read: the kernel has to be asked again.
            while self.held or (not self._descriptor.closed and self._descriptor.unread()):  # noqa: ASYNC110
                await trio.sleep(_DRAIN_POLL_S)

    def close(self) -> None:
        self.drop()
        self._descriptor.close()

    def _close_at_end(self) -> None:
        if self.ended:
            self._descriptor.close()


def log_queue(descriptor: Descriptor) -> DescriptorQueue:
    """Return a queue for standard error. A reader that is gone does not end the session; one that
    does not read costs at most MAX_LOG_BYTES.
    """
    return DescriptorQueue(descriptor, lossy=True, max_held=MAX_LOG_BYTES)
