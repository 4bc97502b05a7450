"""`Url`: a server that is reached over HTTP."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import TYPE_CHECKING, Any

import attrs
import trio

from mcpmock.channels.channel import ConversationEnd
from mcpmock.channels.http.addresses import Connect, connector
from mcpmock.channels.http.client import HttpClientChannel
from mcpmock.channels.http.server import HttpListener
from mcpmock.pipeline.stage import Stage
from mcpmock.protocol.transport_facts import Headers
from mcpmock.transports.headers import Upstream
from mcpmock.transports.http_sse import SseClient
from mcpmock.transports.locations import Origin, upstream_origin
from mcpmock.transports.session_router import TransportKind
from mcpmock.transports.streamable_http.client import StreamableHttpClient

from .servers import Reach, Server

if TYPE_CHECKING:
    from mcpmock.logins.credentials import OAuthCredentials

    from .take import Say


@attrs.frozen
class Url(Server):
    """A server at a URL; `headers` are sent with every request that mcpmock makes itself."""

    upstream: Upstream
    transport: TransportKind
    headers: Headers = attrs.field(factory=list)
    credentials: OAuthCredentials | None = None
    """Those of every request, in the place of the clients' own."""

    @classmethod
    def parse(
        cls,
        url: str,
        kind: TransportKind | None = None,
        headers: Headers | None = None,
        credentials: OAuthCredentials | None = None,
    ) -> Url:
        """Parse a URL; the transport is the one named, else what the path suggests."""
        upstream = Upstream.parse(url)
        path = upstream.target.partition("?")[0].rstrip("/")
        guessed = TransportKind.SSE if path.endswith("/sse") else TransportKind.STREAMABLE_HTTP
        return cls(upstream, kind or guessed, headers or [], credentials)

    @property
    def described(self) -> str:
        return self.upstream.url

    @property
    def kind(self) -> TransportKind:
        return self.transport

    @property
    def target(self) -> str:
        return self.upstream.target

    @property
    def origins(self) -> Collection[Origin]:
        return [upstream_origin(self.upstream)]

    def check(self, say: Say) -> None:
        if self.credentials is not None:
            self.credentials.open(say)

    @property
    def needs_login(self) -> bool:
        return self.credentials is not None and self.credentials.refused

    def watch_authorization(self, watcher: Callable[[dict[str, Any]], None]) -> None:
        if self.credentials is not None:
            self.credentials.watch(watcher)

    async def open(self, reach: Reach, front: object = None) -> ConversationEnd:
        self.check(reach.say)
        connect = self._reported(connector(self.upstream), reach)
        if not isinstance(front, HttpListener):
            return HttpClientChannel(
                connect, self.upstream, credentials=self.credentials, follows=True
            )
        return HttpClientChannel(
            connect,
            self.upstream,
            own=front.authorities,
            is_mcp=front.router.is_mcp,
            client_of=front.connection_of,
            credentials=self.credentials,
        )

    def translation(
        self,
        exchange_numbers: Iterator[int],
        *,
        client_opens_stream: bool = False,
        in_order: bool = False,
        renews: bool = False,
    ) -> list[Stage]:
        target = self.upstream.target
        if self.transport is TransportKind.SSE:
            return [SseClient(target, self.headers, exchange_numbers)]
        return [
            StreamableHttpClient(
                target,
                self.headers,
                exchange_numbers,
                client_opens_stream=client_opens_stream,
                in_order=in_order,
                renews=renews,
            )
        ]

    def _reported(self, connect: Connect, reach: Reach) -> Connect:
        """`connect`, whose outcome `reach` records."""

        async def reported() -> trio.abc.Stream:
            try:
                stream = await connect()
            except (OSError, trio.BrokenResourceError) as error:
                reach.lose(self.upstream.url, str(error))
                raise
            reach.failing = False
            return stream

        return reported
