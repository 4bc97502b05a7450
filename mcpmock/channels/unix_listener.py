"""Clients over stdio of other processes: `unix_client` passes its descriptors, and they become a
channel as our own stdio does.

So a fake server over stdio can live in the process of a test, where what it heard can be looked at.
A visitor that dies is a client that left. `sessions.local_front` stands above.
"""

from __future__ import annotations

import os
import shutil
import socket
import struct
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from hmac import compare_digest
from pathlib import Path
from secrets import token_bytes

import attrs
import trio

from . import unix_client
from .fd import DONT_WAIT, borrow
from .stdio import StdioChannel

if sys.platform == "win32":
    from mcpmock.platforms import duplicate_handles

STANDARD = 3
"""How many descriptors a visitor brings."""
_PID_AND_HANDLES = struct.Struct("<4Q")
TOKEN_TIMEOUT_S = 5.0
"""How long a connection on Windows may take to say whose it is."""


@attrs.define
class PassedClient:
    """A client over stdio: its channel, and the visitor who waits for the exit status."""

    channel: StdioChannel
    _way: socket.socket

    async def left(self) -> None:
        """Return when the visitor is gone."""
        await trio.lowlevel.wait_readable(self._way)

    def dismiss(self, status: int) -> None:
        """Send the visitor away; it ends with this exit status, 0 to 255."""
        try:
            self._way.send(bytes([status & 0xFF]), DONT_WAIT)
        except OSError:
            pass  # it was killed


Receive = Callable[[PassedClient], Awaitable[None]]


@attrs.frozen
class UnixListener:
    """The socket that `unix_client` connects to."""

    path: str
    _socket: socket.socket
    _token: bytes = b""
    """What a client on Windows has to send first: others may connect too."""

    @property
    def command(self) -> list[str]:
        """What a client has to start."""
        return [sys.executable, "-I", "-S", str(Path(unix_client.__file__)), self.path]

    async def serve(self, receive: Receive) -> None:
        """Hand every visit to `receive`, for ever. What goes wrong there is raised here."""
        async with trio.open_nursery() as nursery:
            while True:
                await trio.lowlevel.wait_readable(self._socket)
                way, _ = self._socket.accept()
                nursery.start_soon(self._receive, way, receive)

    async def _receive(self, way: socket.socket, receive: Receive) -> None:
        with way:
            fds = await self._passed(way)
            if len(fds) < STANDARD:
                return
            channel = StdioChannel(
                borrow(fds[0], os.O_RDONLY),
                borrow(fds[1], os.O_WRONLY),
                borrow(fds[2], os.O_WRONLY),
            )
            for fd in fds:
                os.close(fd)
            try:
                await receive(PassedClient(channel, way))
            finally:
                trio.lowlevel.notify_closing(way)

    async def _passed(self, way: socket.socket) -> list[int]:
        """Return the descriptors that a client brings; none of a stranger."""
        if sys.platform == "win32":
            # A client may be gone by now; of a stranger anything or nothing may come.
            with trio.move_on_after(TOKEN_TIMEOUT_S), suppress(OSError, struct.error):
                await trio.lowlevel.wait_readable(way)
                size = len(self._token)
                said = way.recv(size + _PID_AND_HANDLES.size)  # one segment
                if compare_digest(said[:size], self._token):
                    pid, *handles = _PID_AND_HANDLES.unpack(said[size:])
                    return duplicate_handles(pid, handles)
            return []
        await trio.lowlevel.wait_readable(way)
        return socket.recv_fds(way, 1, STANDARD)[1]


@contextmanager
def open_unix_listener() -> Iterator[UnixListener]:
    """Open a listener that only this user can find; close it at the end."""
    if sys.platform == "win32":
        token = token_bytes(16)
        with socket.create_server(("127.0.0.1", 0)) as listener:
            listener.setblocking(False)
            yield UnixListener(f"{listener.getsockname()[1]}:{token.hex()}", listener, token)
        return
    folder = tempfile.mkdtemp(prefix="mcpmock-")
    try:
        path = os.path.join(folder, "s")
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path)
            listener.listen()
            listener.setblocking(False)
            yield UnixListener(path, listener)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
