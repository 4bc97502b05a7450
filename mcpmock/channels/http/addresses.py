"""From an address on the command line to connections: `ListenAddress`, `connector` for a URL, and
`ConnectionPool`, which uses connections again.

Errors say in one line what is wrong with an address. Nothing here speaks HTTP: `server` and
`client` take what this gives, `sessions` puts them together.
"""

from __future__ import annotations

import os
import socket
import ssl
import sys
from collections import deque
from collections.abc import Awaitable, Callable

import attrs
import trio

from mcpmock.errors import CannotListen, McpMockError
from mcpmock.lazy_pattern import lazy_pattern
from mcpmock.transports import headers
from mcpmock.transports.headers import Upstream

from .wire import Wire

CONNECT_TIMEOUT_S = 10.0
"""Seconds that a server has to take a connection, with the TLS handshake."""
MAX_IDLE_S = 1.0
"""Seconds that an idle connection is kept: less than any server keeps its own, or we would meet in
the middle and lose a request.
"""
Connect = Callable[[], Awaitable[trio.abc.Stream]]

_LISTEN = lazy_pattern(r"(?:(\[[0-9A-Fa-f:.%a-z]+\]|[\w.-]*):)?([0-9]{1,5})")


def is_loopback(host: str) -> bool:
    """Return whether only this machine reaches what listens on `host`."""
    return headers.is_loopback(f"[{host}]" if ":" in host else host.lower())


@attrs.frozen
class ListenAddress:
    """Where to listen; port 0 is any that is free."""

    host: str = "127.0.0.1"
    port: int = 0

    @classmethod
    def parse(cls, text: str) -> ListenAddress:
        """Read `127.0.0.1:8080`, `[::1]:8080`, `:8080` or `8080`. Raises McpMockError."""
        found = _LISTEN.fullmatch(text.strip())
        if found is None or int(found[2]) > 65535:
            raise McpMockError(f"{text}: not an address to listen on; write it like 127.0.0.1:8080")
        return cls((found[1] or "127.0.0.1").strip("[]"), int(found[2]))

    @property
    def is_local(self) -> bool:
        """Whether only this machine reaches it."""
        return is_loopback(self.host)

    def url(self, port: int, target: str) -> str:
        """Return the URL of what listens here, on this port."""
        return f"http://{self._shown_host}:{port}{target}"

    async def listen(self) -> list[trio.SocketListener]:
        """Return sockets that listen here, all on one port. Raises CannotListen."""
        try:
            return await trio.open_tcp_listeners(self.port, host=self._one_port)
        except OSError as error:
            raise self._cannot_listen(error) from error

    def listen_shared(self, count: int) -> list[list[socket.socket]]:
        """Return sockets for so many processes that listen here on one port: the kernel gives each
        connection to one of them. Raises CannotListen.
        """
        if sys.platform != "linux":  # which give all connections to one of them
            raise NotImplementedError
        made = []
        try:
            found = socket.getaddrinfo(self._one_port, self.port, type=socket.SOCK_STREAM)
            for family, *_, place in found:
                # Bound without the option: a port that others share counts as in use.
                first = socket.create_server(place[:2], family=family, backlog=socket.SOMAXCONN)
                first.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
                more = [_listen_beside(first) for _ in range(count - 1)]
                made.append([first, *more])
        except OSError as error:
            raise self._cannot_listen(error) from error
        return [list(sockets) for sockets in zip(*made, strict=True)]

    @property
    def _one_port(self) -> str:
        """The host, or the first of its addresses where each would get a free port of its own."""
        return "127.0.0.1" if self.host == "localhost" and self.port == 0 else self.host

    @property
    def _shown_host(self) -> str:
        return f"[{self.host}]" if ":" in self.host else self.host

    def _cannot_listen(self, error: OSError) -> CannotListen:
        return CannotListen(f"{self._shown_host}:{self.port}", reason_of(error))


def bound_port(bound: trio.socket.SocketType | socket.socket) -> int:
    """Return the port of a socket that listens."""
    port: int = bound.getsockname()[1]
    return port


def _listen_beside(first: socket.socket) -> socket.socket:
    place = first.getsockname()[:2]
    backlog = socket.SOMAXCONN
    return socket.create_server(place, family=first.family, backlog=backlog, reuse_port=True)


def connector(upstream: Upstream, ssl_context: ssl.SSLContext | None = None) -> Connect:
    """Return what opens a connection to the server: it raises OSError, whose text says why it could
    not.

    TLS trusts what the operating system does, unless a context is given.
    """
    if upstream.scheme == "https" and ssl_context is None:
        import truststore  # only those who speak TLS wait for it

        ssl_context = truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)

    async def connect() -> trio.abc.Stream:
        try:
            with trio.fail_after(CONNECT_TIMEOUT_S):
                stream = await trio.open_tcp_stream(upstream.host, upstream.port)
                return stream if ssl_context is None else await _secure(stream)
        except trio.TooSlowError:
            raise OSError(f"no connection within {CONNECT_TIMEOUT_S:g} s") from None
        except OSError as error:
            raise OSError(reason_of(error)) from error

    async def _secure(stream: trio.SocketStream) -> trio.abc.Stream:
        assert ssl_context is not None
        secured = trio.SSLStream(
            stream, ssl_context, server_hostname=upstream.host, https_compatible=True
        )
        try:
            await secured.do_handshake()
        except BaseException as error:
            await trio.aclose_forcefully(stream)
            if isinstance(error, trio.BrokenResourceError):
                raise OSError("no TLS connection") from error
            raise
        return secured

    return connect


class ConnectionPool:
    """Connections to one server for exchanges that are no client's: opened, used again, closed."""

    def __init__(self, connect: Connect) -> None:
        self._connect = connect
        self._idle: deque[tuple[float, Wire]] = deque()
        self._idled = trio.lowlevel.ParkingLot()

    def take(self) -> Wire | None:
        """Return an idle connection that is as good as new, if there is one."""
        while self._idle:
            since, wire = self._idle.pop()
            # A server may close an idle connection at any time (RFC 9112, 9.5). One with something
            # to read is at its end, or holds bytes that answer no request of ours.
            if trio.current_time() - since < MAX_IDLE_S and not wire.readable():
                return wire
            wire.close()
        return None

    async def open(self) -> Wire:
        """Return a new connection."""
        return Wire(await self._connect())

    def give_back(self, wire: Wire) -> None:
        """Give back what is idle now."""
        self._idle.append((trio.current_time(), wire))
        self._idled.unpark()

    def discard(self, wire: Wire) -> None:
        """Close it at once."""
        wire.close()

    async def tidy(self) -> None:
        """Close what is idle for too long: servers have to keep it open as well."""
        while True:
            while not self._idle:
                await self._idled.park()
            await trio.sleep_until(self._idle[0][0] + MAX_IDLE_S)
            while self._idle and self._idle[0][0] + MAX_IDLE_S <= trio.current_time():
                self._idle.popleft()[1].close()

    def close(self) -> None:
        """Close what is idle."""
        while self._idle:
            self._idle.pop()[1].close()


def reason_of(error: BaseException) -> str:
    """Return the innermost reason, in the system's words."""
    while (cause := error.__cause__) is not None:
        error = cause
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
    match error:
        case ssl.SSLCertVerificationError():
            return f"certificate not trusted: {error.verify_message}"
        case ssl.SSLError():  # its numbers are not the system's
            return f"no TLS connection: {error.reason or error}"
        case OSError(errno=int(number)) if number > 0:
            return os.strerror(number)  # trio says more, all of which is said already
        case _:
            return getattr(error, "strerror", None) or str(error) or type(error).__name__
