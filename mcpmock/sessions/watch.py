"""`watch`: the report page of cassettes on loopback (`WatchedFiles`), and what they gain while they
are recorded (`FollowedFile`).

Only reads: the recorder is untouched. The page is for everybody who may reach this machine's
loopback; what is recorded goes only to who has the token, which stands in the fragment of the URL
and never in a request line. Each page follows a file on its own (`view.live`).
"""

from __future__ import annotations

import os
import re
import secrets
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import attrs
import h11
import trio

from mcpmock.cassette.file import SUFFIXES, find_siblings, is_recorded, read_bytes
from mcpmock.channels.http.addresses import ListenAddress, bound_port
from mcpmock.channels.http.pages import page_headers, read_request, send_page
from mcpmock.channels.standard_streams import write_log_line
from mcpmock.errors import CassetteError, WrongUsage
from mcpmock.protocol.messages import HttpRequest, encode
from mcpmock.transports.access_policy import AccessPolicy
from mcpmock.view.live import LivePage, live_page

from .signals import listener_status_of, stop_requests

POLL_S = 0.05
"""How often a file is looked at."""
MAX_READ_BYTES = 1 << 19
"""Read at once; it is shown before more is read."""
MAX_START_BYTES = 256


@attrs.define
class FollowedFile:
    """A file that may grow, be replaced, or not be there yet."""

    path: Path
    unread: int = 0
    """How many bytes it had behind those that were read last."""
    _identity: tuple[int, int] | None = None
    _start: bytes = b""
    """How the file began: one that was overwritten in place begins otherwise."""
    _at: int = 0

    def read(self) -> tuple[bytes, bool]:
        """Return what was appended since, and whether it is another file now, or begun anew. Raises
        CassetteError for a compressed file that cannot be unpacked.
        """
        try:
            return self._read_new()
        except OSError:
            return b"", False  # it comes, or comes back

    def _read_new(self) -> tuple[bytes, bool]:
        found = os.stat(self.path)
        identity = (found.st_dev, found.st_ino)
        if identity == self._identity and found.st_size == self._at:
            return b"", False
        if self.path.suffix == ".gz":
            self._identity, self._at = identity, found.st_size
            return read_bytes(self.path), True
        with open(self.path, "rb") as file:
            start = file.read(MAX_START_BYTES)
            anew = identity != self._identity or not start.startswith(self._start)
            if anew or found.st_size < self._at:
                self._identity, self._at, anew = identity, 0, True
            file.seek(self._at)
            data = file.read(MAX_READ_BYTES)
        self._start = start
        self._at += len(data)
        self.unread = max(0, found.st_size - self._at)
        return data, anew


LIST_S = 1.0
"""How often a page asks which files there are."""


@attrs.define
class WatchedFiles:
    """The cassettes of a folder, or a file with its siblings. They may come later."""

    path: Path
    known: list[Path] = attrs.field(factory=list)
    """All that have been there so far, the newest last. The index of each is its number."""

    def listing(self) -> list[tuple[int, str]]:
        """Return the number and the name of each file, the newest first."""
        there = self._there()
        self.known += sorted(there.difference(self.known), key=_time_written)
        numbered = list(enumerate(self.known))
        return [(number, path.name) for number, path in numbered[::-1] if path in there]

    def _there(self) -> set[Path]:
        if self.path.is_dir():
            return {path for path in self.path.iterdir() if path.name.endswith(SUFFIXES)}
        if self.path.exists() or self.path.suffix:
            return {self.path, *find_siblings(self.path)}
        return set()  # it may become either


def _time_written(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


LAST_EVENTS_S = 0.5
"""How long a page beside a recorder is served after its end: the last events are still to come."""
REQUEST_TIMEOUT_S = 30.0
_EVENTS = re.compile(r"/events\?file=([0-9]{1,6})")


@attrs.frozen
class Watch:
    """What to serve, and where."""

    path: Path
    """A cassette, or a folder."""
    address: ListenAddress = attrs.field(factory=ListenAddress)
    announce: Callable[[str], None] = lambda _url: None
    """Called with the URL, the token in its fragment."""
    beside: bool = False
    """Whether it ends with a recorder."""

    async def run(self, stop: trio.Event | None = None) -> int:
        """Serve until a stop signal; return the exit status. Raises WrongUsage where others could
        reach it.
        """
        if not self.address.is_local:
            raise WrongUsage(f"{self.address.host}: watch serves on loopback only")
        listeners = await self.address.listen()
        port = bound_port(listeners[0].socket)
        token = secrets.token_urlsafe(32)
        ended = "The recording has ended." if self.beside else "mcpmock watch has ended."
        files, closed = WatchedFiles(self.path), AccessPolicy(port, token=token)
        served = _Served(files, ended, AccessPolicy(port), closed)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(trio.serve_listeners, served.serve, listeners)
            with stop_requests(stop) as signals:
                self.announce(self.address.url(port, f"/#token={token}"))
                signum = await anext(signals)
            nursery.cancel_scope.cancel()
        return listener_status_of(signum)

    async def run_beside(self) -> int:
        """Serve until standard input ends, as it does with the recorder that holds its other
        end.
        """
        stop = trio.Event()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_set_at_end_of_input, stop)
            return await self.run(stop)


async def _set_at_end_of_input(stop: trio.Event) -> None:
    if sys.platform == "win32":
        while await trio.to_thread.run_sync(os.read, 0, 4096, abandon_on_cancel=True):
            pass
    else:
        async with trio.lowlevel.FdStream(os.dup(0)) as stream:
            while await stream.receive_some(4096):
                pass
    await trio.sleep(LAST_EVENTS_S)
    stop.set()


@attrs.frozen
class _Served:
    files: WatchedFiles
    ended: str
    """What a page says when it is no longer served."""
    open: AccessPolicy
    closed: AccessPolicy

    async def serve(self, stream: trio.SocketStream) -> None:
        """Serve one connection: one request. Nothing that goes wrong in it ends the others."""
        connection = h11.Connection(h11.SERVER)
        try:
            async with stream:
                request = None
                with trio.move_on_after(REQUEST_TIMEOUT_S):
                    request = await read_request(stream, connection)
                if request is not None:
                    await self._answer(stream, connection, request)
        except* (trio.BrokenResourceError, trio.ClosedResourceError, h11.ProtocolError):
            pass  # it left, or may not have the body of the answer (HEAD)
        except* Exception as group:  # noqa: BLE001 (whatever it is, the other pages go on)
            for error in group.exceptions:
                what = f"a page was dropped: internal error (please report): {error!r}"
                write_log_line(f"mcpmock: {what}")

    async def _answer(
        self, stream: trio.SocketStream, connection: h11.Connection, request: HttpRequest
    ) -> None:
        events = _EVENTS.fullmatch(request.target)
        policy = self.open if events is None else self.closed
        refusal = policy.refusal(request, mcp=False)
        if refusal is not None:
            text = refusal.text.encode()
            await send_page(stream, connection, refusal.status, "text/plain", text)
        elif request.method != "GET":
            await send_page(stream, connection, 405, "text/plain", b"mcpmock: only GET is served\n")
        elif events is not None and int(events[1]) <= len(self.files.known):
            await self._follow(stream, connection, int(events[1]))
        elif request.target.partition("?")[0] == "/":
            html = live_page(self.files.path.name, self.files.listing(), self.ended)
            await send_page(stream, connection, 200, "text/html; charset=utf-8", html)
        else:
            await send_page(stream, connection, 404, "text/plain", b"mcpmock: no such page\n")

    async def _follow(
        self, stream: trio.SocketStream, connection: h11.Connection, number: int
    ) -> None:
        """Send an event stream with what the file has and gains, until the page is closed."""
        head = h11.Response(status_code=200, headers=page_headers("text/event-stream"))
        await stream.send_all(connection.send(head) or b"")

        async def send(update: object) -> None:
            event = h11.Data(data=b"data: " + encode(update) + b"\n\n")
            await stream.send_all(connection.send(event) or b"")

        async with trio.open_nursery() as nursery:
            nursery.start_soon(_until_closed, stream, nursery.cancel_scope)
            await _send_growth(send, self.files, number)


async def _send_growth(
    send: Callable[[object], Awaitable[None]], files: WatchedFiles, number: int
) -> None:
    """Send the rows of a file, which may come later, and which files there are if that changes."""
    page, listed, due, gone = None, None, 0.0, False
    while True:
        if trio.current_time() >= due:
            due = trio.current_time() + LIST_S
            gone = page is not None and page.open and not is_recorded(Path(page.name))
            if (listing := files.listing()) != listed:
                await send({"files": listing})
                listed = listing
        if number >= len(files.known):
            await trio.sleep(POLL_S)
            continue
        if page is None or page.full:  # from the beginning: the middle is left out
            path = files.known[number]
            file, page = FollowedFile(path), LivePage(str(path))
            await send(page.feed(b""))
            due = 0.0
        try:
            data, anew = file.read()
        except CassetteError:
            data, anew = b"", False  # a compressed one is whole only at its end
        if anew:
            page = LivePage(str(path))
        elif gone and not data:
            await send(page.abandon())
        gone = False
        for at in range(0, len(data), MAX_READ_BYTES):
            began, piece = trio.current_time(), data[at : at + MAX_READ_BYTES]
            update = page.feed(piece, file.unread + len(data) - at - len(piece))
            if update is None:
                await trio.lowlevel.checkpoint()
                continue
            busy = trio.current_time() - began
            await send(update)
            await trio.sleep(busy)  # half of a core is for those whose session it is
        await trio.sleep(POLL_S if len(data) < MAX_READ_BYTES else 0)


async def _until_closed(stream: trio.SocketStream, scope: trio.CancelScope) -> None:
    while await stream.receive_some(4096):
        pass
    scope.cancel()
