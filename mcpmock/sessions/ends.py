"""The ends of a composition: where clients come from, where the server is, and what translates
between two that are not of one kind.

Used by the modes beside it. An end is stdio or one of the two transports over HTTP; where both ends
are of one kind, exchanges pass as they are, else rule sets make bare messages of them and back.
"""

from __future__ import annotations

import errno
import os
import secrets
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from itertools import count
from shutil import which
from uuid import UUID

import attrs
import trio

from mcpmock.channels.channel import ConversationEnd
from mcpmock.channels.fd import borrow, log_queue
from mcpmock.channels.http.addresses import Connect, connector, is_loopback, listen
from mcpmock.channels.http.client import HttpClientChannel
from mcpmock.channels.http.server import HttpListener, HttpServerChannel
from mcpmock.channels.process import start_process
from mcpmock.errors import CannotReach, CannotStart, McpMockError
from mcpmock.pipeline.stage import Stage
from mcpmock.protocol.transport_facts import Headers
from mcpmock.transports.access_policy import AccessPolicy
from mcpmock.transports.headers import Upstream
from mcpmock.transports.http_sse import SseClient, SseServer
from mcpmock.transports.session_router import SessionRouter, TransportKind
from mcpmock.transports.streamable_http.client import StreamableHttpClient
from mcpmock.transports.streamable_http.resumption import Resumption
from mcpmock.transports.streamable_http.server import StreamableHttpServer

from .signals import listener_status_of
from .take_recording import Say

PATHS = {TransportKind.STREAMABLE_HTTP: "/mcp", TransportKind.SSE: "/sse"}
"""Where clients look for us if nothing else says so."""
MESSAGES = "/messages"
BODY_LIMIT = 4 << 20
"""The longest request body that is taken where we are the server, in bytes (as the SDKs do)."""


def mint() -> str:
    """A session id: 128 bits that nobody can guess, in the form that most servers give them."""
    return str(UUID(bytes=secrets.token_bytes(16)))


@attrs.frozen
class Front:
    """Where clients over HTTP come in; `announce` says where that is."""

    listener: HttpListener
    announce: Callable[[], None]


@attrs.frozen(kw_only=True)
class Listening:
    """Where to listen for clients over HTTP, and whom to let in: the options of `--listen`."""

    host: str = "127.0.0.1"
    port: int = 0
    kind: TransportKind | None = None
    """The transport to speak; None for what suits the other end."""
    hosts: frozenset[str] = frozenset()
    origins: frozenset[str] = frozenset()
    dangerously: bool = False
    """Whether an address beyond loopback may be bound. It takes a bearer token then."""
    announce: Callable[[str, str | None], None] = lambda _url, _token: None
    """Is told the URL, and the bearer token that clients need, once they are served."""

    @asynccontextmanager
    async def opened(
        self,
        kind: TransportKind,
        target: str,
        *,
        body_limit: int | None = None,
        posts: Collection[str] = (),
    ) -> AsyncIterator[Front]:
        """Clients can connect now; that they can is said when they are served. `posts` are the
        paths of messages, where they are known.
        """
        token = None
        if not is_loopback(self.host):
            if not self.dangerously:
                raise McpMockError(
                    f"{self.host} can be reached by others: say --dangerously-bind if they may"
                )
            token = secrets.token_urlsafe(24)
        sockets = await listen(self.host, self.port)
        port = sockets[0].socket.getsockname()[1]
        access = AccessPolicy(port, self.hosts, self.origins, token)
        router = SessionRouter(kind, target.partition("?")[0], posts=posts)
        host = f"[{self.host}]" if ":" in self.host else self.host
        announce = partial(self.announce, f"http://{host}:{port}{target}", token)
        stderr = log_queue(borrow(2, os.O_WRONLY))
        async with HttpListener(
            router, access, sockets, body_limit=body_limit, stderr=stderr
        ) as listener:
            yield Front(listener, announce)


@attrs.define
class Reach:
    """Whether the server at a URL takes connections. The user hears of it where it begins not to;
    clients hear of it in an answer each time.
    """

    say: Say
    failing: bool = False

    def lose(self, upstream: Upstream, why: str) -> None:
        """It is not reached now."""
        if not self.failing:
            url = upstream.url.partition("?")[0]  # behind it there are secrets, often
            self.say(str(CannotReach(url, why)))
        self.failing = True

    def watched(self, connect: Connect, upstream: Upstream) -> Connect:
        """`connect`, with an eye on it."""

        async def watched() -> trio.abc.Stream:
            try:
                stream = await connect()
            except (OSError, trio.BrokenResourceError) as error:
                self.lose(upstream, str(error))
                raise
            self.failing = False
            return stream

        return watched


@attrs.frozen
class Command:
    """A server that is a process: one for each conversation."""

    command: Sequence[str]
    kind: TransportKind | None = None

    @property
    def described(self) -> Sequence[str]:
        """What a recording calls it."""
        return self.command

    def check(self) -> None:
        """Raises CannotStart where it is sure to fail: else the first client would find out."""
        program = self.command[0]
        if which(program) is None:
            found = os.sep in program and os.path.lexists(program)
            number = errno.EACCES if found else errno.ENOENT
            raise CannotStart(program, os.strerror(number), found=found)

    async def open(
        self,
        reach: Reach,  # noqa: ARG002
        front: HttpListener | None = None,  # noqa: ARG002
    ) -> ConversationEnd:
        return await start_process(self.command)

    def rules(self, numbers: Iterator[int]) -> list[Stage]:  # noqa: ARG002
        """It takes bare messages as they are."""
        return []


@attrs.frozen
class Url:
    """A server that is reached over HTTP; `headers` are sent with every request we make up."""

    upstream: Upstream
    kind: TransportKind
    headers: Headers = attrs.field(factory=list)

    @classmethod
    def parse(
        cls, url: str, kind: TransportKind | None = None, headers: Headers | None = None
    ) -> Url:
        """The transport is the one named, else what the path suggests."""
        upstream = Upstream.parse(url)
        path = upstream.target.partition("?")[0].rstrip("/")
        guessed = TransportKind.SSE if path.endswith("/sse") else TransportKind.STREAMABLE_HTTP
        return cls(upstream, kind or guessed, headers or [])

    @property
    def described(self) -> str:
        """What a recording calls it."""
        return self.upstream.url

    def check(self) -> None:
        """A server that is not there may come yet."""

    async def open(self, reach: Reach, front: HttpListener | None = None) -> ConversationEnd:
        """`front` is where the exchanges come from that are passed on; None where all of them are
        made up.
        """
        connect = reach.watched(connector(self.upstream), self.upstream)
        if front is None:
            return HttpClientChannel(connect, self.upstream)
        return HttpClientChannel(
            connect, self.upstream, own=front.authorities, is_mcp=front.router.is_mcp
        )

    def rules(self, numbers: Iterator[int]) -> list[Stage]:
        """From bare messages to its exchanges and back."""
        rules = SseClient if self.kind is TransportKind.SSE else StreamableHttpClient
        return [rules(self.upstream.target, self.headers, numbers)]


Server = Command | Url


def server_rules(kind: TransportKind, path: str, *, stateless: bool) -> list[Stage]:
    """From the exchanges of clients over HTTP to bare messages and back."""
    if kind is TransportKind.SSE:
        return [SseServer(path, MESSAGES, mint)]
    return [Resumption(), StreamableHttpServer(path, mint, stateless)]


Converse = Callable[[HttpServerChannel], Awaitable[None]]


async def serve(front: Front, converse: Converse, signals: AsyncIterator[int], say: Say) -> int:
    """Hands every conversation to `converse` until we are told to stop; gives the exit status.

    Where a mistake of ours ends a conversation, the others go on.
    """
    stopped_by = 0

    async def isolated(client: HttpServerChannel) -> None:
        try:
            await converse(client)
        except* Exception as group:  # noqa: BLE001 (law 6, for conversations: one of many)
            say(f"a conversation was dropped, by a mistake of ours: {_where(group)}")
            await client.aclose()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(front.listener.run)
        nursery.start_soon(trio.serve_listeners, isolated, [front.listener])
        front.announce()
        async for signum in signals:
            stopped_by = signum
            break
        nursery.cancel_scope.cancel()
    return listener_status_of(stopped_by)


def _where(group: BaseExceptionGroup) -> str:
    """What went wrong first, and in which line: all of it would not fit where we must not wait."""
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"{error!r} in {os.path.basename(place.filename)}:{place.lineno}"


def numbers() -> Iterator[int]:
    """Of exchanges that we make up ourselves, where no listener numbers them."""
    return count(1)
