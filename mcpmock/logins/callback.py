"""`Callback`: waits on loopback for the browser to come back from the authorization server.

The port follows from the server's URL, so that it is the same in each login: authorization servers
compare the whole redirect URI, many of them its port too. It is taken only while a login waits.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from secrets import compare_digest
from urllib.parse import parse_qsl, urlsplit

import attrs
import h11
import trio

from mcpmock.channels.http.addresses import ListenAddress
from mcpmock.channels.http.pages import read_request, send_page
from mcpmock.errors import CannotListen, McpMockError
from mcpmock.protocol.messages import HttpRequest

from .limits import shorten

PATH = "/callback"
_FIRST_PORT, _PORTS = 20_000, 12_000
"""Below what Linux gives to outgoing connections (32768 and up)."""
_PAGE = (
    b"<!doctype html><title>mcpmock</title>"
    b"<p>The terminal says whether you are logged in. You can close this page.</p>\n"
)


def callback_port(url: str) -> int:
    """Return the port for logins to the server at this URL."""
    return _FIRST_PORT + int.from_bytes(hashlib.sha256(url.encode()).digest()[:4]) % _PORTS


def redirect_uri(port: int) -> str:
    return f"http://127.0.0.1:{port}{PATH}"


@attrs.define
class Callback:
    """What came back to this port for the login with this `state`: any page in the browser can send
    something here.
    """

    port: int
    state: str | None = None
    """None before the browser was sent away."""
    _came: dict[str, str] | None = None
    _event: trio.Event = attrs.field(factory=trio.Event)

    async def parameters(self) -> dict[str, str]:
        """Wait for the browser and return the parameters of its redirect. Raises McpMockError for
        an error.
        """
        await self._event.wait()
        assert self._came is not None
        if "code" not in self._came:
            error = self._came.get("error", "no code")
            why = self._came.get("error_description", "")
            told = shorten(f"{error}{why and f' ({why})'}")
            raise McpMockError(f"the authorization server refuses the login: {told}")
        return self._came

    async def serve(self, stream: trio.SocketStream) -> None:
        """Serve one request of a browser, which may also ask for an icon."""
        connection = h11.Connection(h11.SERVER)
        try:
            async with stream:
                with trio.move_on_after(30):
                    request = await read_request(stream, connection)
                    if request is not None:
                        await self._answer(stream, connection, request)
        except (trio.BrokenResourceError, h11.LocalProtocolError):
            pass  # it left

    async def _answer(
        self, stream: trio.SocketStream, connection: h11.Connection, request: HttpRequest
    ) -> None:
        if request.path != PATH or request.method != "GET":
            await send_page(stream, connection, 404, "text/plain", b"mcpmock: no such page\n")
            return
        came = dict(parse_qsl(urlsplit(request.target).query))
        if not self._expects(request, came):
            await send_page(stream, connection, 400, "text/plain", b"mcpmock: not of this login\n")
            return
        await send_page(stream, connection, 200, "text/html; charset=utf-8", _PAGE)
        if self._came is None:
            self._came = came
            self._event.set()

    def _expects(self, request: HttpRequest, came: dict[str, str]) -> bool:
        hosts = [text for name, text in request.headers if name.lower() == "host"]
        state = came.get("state", "").encode()
        return (
            hosts == [f"127.0.0.1:{self.port}"]
            and self.state is not None
            and compare_digest(state, self.state.encode())
        )


@asynccontextmanager
async def waiting_for_browser(port: int) -> AsyncIterator[Callback]:
    """Listen for the time of the block. Raises McpMockError if the port is taken."""
    try:
        listeners = await ListenAddress(port=port).listen()
    except CannotListen as error:
        raise McpMockError(
            f"port {port} is in use, perhaps by another login to this server; finish that one"
        ) from error
    callback = Callback(port)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.serve_listeners, callback.serve, listeners)
        yield callback
        nursery.cancel_scope.cancel()
