"""`HttpFront`: clients over Streamable HTTP or HTTP+SSE, in front of a server or in its place.

Where the server speaks the clients' transport, exchanges pass unchanged. Otherwise, stages
translate between exchanges and bare messages. A recording made over the clients' transport is
played exchange for exchange, any other as the bare messages that it amounts to.
"""

from __future__ import annotations

import os
import secrets
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING
from uuid import UUID

import attrs
import trio
from msgspec import UNSET

from mcpmock.cassette.model import Cassette
from mcpmock.channels.fd import borrow, log_queue
from mcpmock.channels.http.addresses import ListenAddress, bound_port
from mcpmock.channels.http.server import SESSION_TIMEOUT_S, HttpListener, HttpServerChannel
from mcpmock.errors import McpMockError, WrongUsage
from mcpmock.pipeline.stage import Stage
from mcpmock.playback.miss import Miss
from mcpmock.playback.plan.steps import bare
from mcpmock.playback.session_player import SessionPlayer
from mcpmock.playback.session_selection import SessionSelection
from mcpmock.playback.stateless_player import StatelessPlayer
from mcpmock.protocol.transport_facts import NO_SESSION, HttpRequest, plain_path
from mcpmock.redaction.placeholders import holds_placeholder, pattern_of
from mcpmock.runner import LiveSession
from mcpmock.transports.access_policy import AccessPolicy
from mcpmock.transports.headers import Upstream
from mcpmock.transports.http_sse import SseServer
from mcpmock.transports.locations import Origin, OwnLocations, origin_of, upstream_origin
from mcpmock.transports.session_router import SessionRouter, TransportKind
from mcpmock.transports.streamable_http.resumption import Resumption
from mcpmock.transports.streamable_http.server import StreamableHttpServer

from .replay import Replay
from .run import STDIO, Conversation, Front, Run
from .signals import listener_status_of

if TYPE_CHECKING:
    from mcpmock.authorization.server import AuthorizationServer

DEFAULT_PATHS = {TransportKind.STREAMABLE_HTTP: "/mcp", TransportKind.SSE: "/sse"}
MESSAGES_PATH = "/messages"
MAX_REQUEST_BODY_BYTES = 4 << 20
"""The longest request body that a fake server accepts, as in the SDKs, unless the recording has a
longer one.
"""
LONGER_BODY_BYTES = 1 << 16
"""How much longer than the longest recorded one a body may be: other ids, other names."""
MAX_SAID = 100
"""How many different lines about the traffic are said."""
PROGRESS_PAUSE_S = {TransportKind.STREAMABLE_HTTP: 0.0, TransportKind.SSE: 0.002}
"""The shortest time between the last progress of a call and its answer, in seconds. Where both come
on one stream with everything else, the TypeScript SDKs lose progress that they read together with
the answer.
"""


def mint() -> str:
    """Return a session id: 128 bits that cannot be guessed, in the form that most servers use."""
    return str(UUID(bytes=secrets.token_bytes(16)))


@attrs.frozen
class OpenedPort:
    """Sockets that listen, all on one port, and the bearer token that clients need there."""

    sockets: Sequence[trio.SocketListener]
    port: int
    token: str | None


@attrs.frozen(kw_only=True)
class HttpFront(Front):
    """Where to listen for clients over HTTP, and whom to let in: the options of `--listen`."""

    address: ListenAddress = attrs.field(factory=ListenAddress)
    kind: TransportKind | None = None
    """The transport to speak; None for that of the other side."""
    hosts: frozenset[str] = frozenset()
    origins: frozenset[str] = frozenset()
    dangerously: bool = False
    """Whether an address beyond loopback may be bound. Clients need a bearer token then."""
    session_timeout: float = SESSION_TIMEOUT_S
    """Seconds without any exchange after which a session is ended."""
    announce: Callable[[str, str | None], None] = lambda _url, _token: None
    """Called with the URL, and the bearer token that clients need, once they are served."""
    sessions: bool = True
    """Whether clients of revisions with sessions get one."""
    opened: OpenedPort | None = None
    """Where it listens already."""

    async def open(self) -> OpenedPort:
        """Return where it listens. Raises CannotListen, and WrongUsage if others could
        connect.
        """
        token = self.token()
        sockets = await self.address.listen()
        return OpenedPort(sockets, bound_port(sockets[0].socket), token)

    async def serve(
        self,
        run: Run,
        stops: AsyncIterator[int],
        beside: Callable[[], Awaitable[None]] | None = None,
    ) -> int:
        """Serve until a stop signal. `beside` brings clients over stdio at the same time: a
        recording holds bare messages then, which is what all clients have in common.
        """
        run.check()
        serving = _Serving.of(run, self, bare_recording=beside is not None)
        opened = self.opened or await self.open()
        path = serving.target.partition("?")[0]
        listener = HttpListener(
            SessionRouter(
                serving.kind,
                path,
                posts=serving.posts,
                sessions=self.sessions,
                same_path=serving.same_path,
            ),
            AccessPolicy(opened.port, self.hosts, self.origins, opened.token),
            opened.sockets,
            body_limit=serving.body_limit,
            unread=serving.tell_unread,
            mirrors=serving.unchanged,
            session_timeout=self.session_timeout,
            stderr=log_queue(borrow(2, os.O_WRONLY)),
        )
        stopped_by = 0
        async with (
            listener,
            run.recorded(serving.recorded_transport),
            trio.open_nursery() as nursery,
        ):
            nursery.start_soon(listener.run)
            nursery.start_soon(
                trio.serve_listeners, partial(serving.converse, listener), [listener]
            )
            if beside is not None:
                nursery.start_soon(beside)
            self.announce(self.address.url(opened.port, serving.target), opened.token)
            async for signum in stops:
                stopped_by = signum
                break
            nursery.cancel_scope.cancel()
        return listener_status_of(stopped_by)

    def token(self) -> str | None:
        """Return the bearer token that clients need; None on loopback."""
        if self.address.is_local:
            return None
        if not self.dangerously:
            raise WrongUsage(
                f"{self.address.host} is reachable from other machines; "
                "add --dangerously-bind to allow that"
            )
        return secrets.token_urlsafe(24)


@attrs.frozen(kw_only=True)
class _Serving:
    """What all conversations of one listener have in common."""

    run: Run
    kind: TransportKind
    target: str
    unchanged: bool
    """Whether exchanges reach the server as they are."""
    sessions: bool = True
    as_recorded: bool = False
    """Whether the recording is played exchange for exchange."""
    bare_recording: bool = False
    selection: SessionSelection | None = None
    authorization: AuthorizationServer | None = None
    origins: Collection[Origin] = ()
    """What names the server, where exchanges are those that clients have, or had, with it."""
    said: set[str] = attrs.field(factory=set)
    """Lines that are said once."""

    @classmethod
    def of(cls, run: Run, front: HttpFront, *, bare_recording: bool) -> _Serving:
        setup, kind = run.setup, front.kind
        bare_recording = bare_recording and setup.recording is not None
        if setup.replay is not None:
            return cls._of_replay(run, setup.replay, front, bare_recording)
        assert setup.back is not None
        kind = kind or setup.back.kind or TransportKind.STREAMABLE_HTTP
        unchanged = kind is setup.back.kind
        return cls(
            run=run,
            kind=kind,
            target=setup.back.target if unchanged else DEFAULT_PATHS[kind],
            unchanged=unchanged,
            bare_recording=bare_recording,
            origins=setup.back.origins,
        )

    @classmethod
    def _of_replay(
        cls, run: Run, replay: Replay, front: HttpFront, bare_recording: bool
    ) -> _Serving:
        cassette = replay.cassette
        kind, target = replay_target(cassette, front.kind)
        same = {take.transport for take in cassette.takes} == {kind.value}
        # Exchanges that were recorded in a session are none of those without one.
        same = same and front.sessions
        as_recorded = same and replay.stub is None and run.setup.back is None
        if not as_recorded:  # an event stream is one session, whatever its client sends on it
            cassette = bare(cassette, one_session=kind is TransportKind.SSE)
        options = replay.options.paced(after_progress=PROGRESS_PAUSE_S[kind])
        return cls(
            run=run,
            kind=kind,
            target=target,
            unchanged=False,
            sessions=front.sessions,
            as_recorded=as_recorded,
            bare_recording=bare_recording,
            selection=SessionSelection(cassette, options, replay.past),
            origins=recorded_origins(cassette) if as_recorded else (),
        ).guarded()

    def guarded(self) -> _Serving:
        """Return the same with the authorization server that the run wants, if any."""
        options = self.run.setup.authorization
        if options is None:
            return self

        from mcpmock.authorization.server import AuthorizationServer  # few replays need it

        path = self.target.partition("?")[0]
        server = AuthorizationServer(options, path, mint, self.run.setup.faults)
        return attrs.evolve(self, authorization=server)

    def say_once(self, line: str) -> None:
        """Say a line, unless it was said before."""
        if line not in self.said and len(self.said) < MAX_SAID:
            self.said.add(line)
            self.run.setup.say(line)

    def tell_unread(self, head: HttpRequest, why: str) -> None:
        """Report a request that was refused before a player could look at it: nothing recorded
        answers it.
        """
        replay = self.run.setup.replay
        if replay is not None:
            replay.report(Miss(head.method, (), asked=f"{head.path}: {why}"))

    @property
    def body_limit(self) -> int | None:
        """A limit of our own only where we are the server."""
        if self.selection is None:
            return None
        asked = (
            len(payload)
            for take in self.selection.cassette.takes
            for event in take.events
            if event.d == "c2s" and (payload := event.payload) is not None
        )
        return max(MAX_REQUEST_BODY_BYTES, max(asked, default=0) + LONGER_BODY_BYTES)

    @property
    def posts(self) -> Collection[str]:
        """Over Streamable HTTP, messages are posted to the target itself: no need to look through
        the whole recording.
        """
        if self.selection is None or self.kind is not TransportKind.SSE:
            return ()
        return self.selection.paths

    @property
    def same_path(self) -> Callable[[str], object] | None:
        """Return what says whether a client means our path, where that holds the place of a key."""
        path = self.target.partition("?")[0]
        return pattern_of(plain_path(path)).fullmatch if holds_placeholder(path) else None

    @property
    def recorded_transport(self) -> str:
        return STDIO if self.bare_recording else self.kind.value

    async def converse(self, listener: HttpListener, client: HttpServerChannel) -> None:
        """Hold one conversation. An error ends the conversation that meets it; the others go on
        (law 6, for conversations).
        """
        run = self.run
        try:
            server = await run.open_server(listener if self.unchanged else None)
            conversation = self.conversation(client, listener.router)

            async def end_with_client(session: LiveSession) -> None:
                await client.ended()
                if server is None or self.unchanged:
                    session.end()
                else:
                    session.client_left()

            await run.converse(conversation, client, server, end_with_client)
            return
        except* McpMockError as group:
            run.setup.say(str(_first(group)))
        except* Exception as group:  # noqa: BLE001 (law 6: one of many conversations)
            dropped = f"a conversation was dropped: {_where(group)}"
            run.setup.say(f"internal error (please report): {dropped}")
        await client.aclose()

    def conversation(self, client: HttpServerChannel, router: SessionRouter) -> Conversation:
        run, stateless = self.run, client.conversation == NO_SESSION
        translation = self.translation(stateless=stateless)
        replay, player = run.setup.replay, None
        if replay is not None and self.selection is not None:
            kind = StatelessPlayer if stateless else SessionPlayer
            player = kind(self.selection, replay.report, mint=mint)
        return Conversation(
            number=next(run.numbers) if self.bare_recording else client.conversation,
            transport=self.recorded_transport,
            gates=self.gates(router),
            head=translation if self.bare_recording else (),
            translation=() if self.bare_recording else translation,
            player=player,
            unchanged=self.unchanged,
        )

    def gates(self, router: SessionRouter) -> list[Stage]:
        """Return what stands between clients and the recording."""
        if self.authorization is None:
            return []

        from mcpmock.authorization.stage import AuthorizationStage

        return [AuthorizationStage(self.authorization, router.is_mcp)]

    def translation(self, *, stateless: bool) -> list[Stage]:
        """Return the translation from the exchanges of clients to bare messages and back."""
        if self.unchanged:
            return [OwnLocations(self.origins, self.say_once)]
        if self.as_recorded:
            return [OwnLocations(self.origins, self.say_once), Resumption()]
        if self.kind is TransportKind.SSE:
            return [SseServer(self.target, MESSAGES_PATH, mint)]
        server = StreamableHttpServer(self.target, mint, stateless, sessions=self.sessions)
        return [Resumption(), server]


def _first(group: BaseException) -> BaseException:
    while isinstance(group, BaseExceptionGroup):
        group = group.exceptions[0]
    return group


def _where(group: BaseExceptionGroup) -> str:
    """Return the first error and its line: a whole traceback might block on a full stderr."""
    error = _first(group)
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"{error!r} in {os.path.basename(place.filename)}:{place.lineno}"


def replay_target(cassette: Cassette, kind: TransportKind | None) -> tuple[TransportKind, str]:
    """Return the transport of a replay and the path of its URL: what is not said is as recorded."""
    transports = {take.transport for take in cassette.takes}
    kind = kind or kind_of(transports)
    path = recorded_path(cassette) if transports == {kind.value} else None
    return kind, path or DEFAULT_PATHS[kind]


def recorded_origins(cassette: Cassette) -> set[Origin]:
    """Return what the recorded server was called: where it was, and the address of the recorder."""
    found: set[Origin | None] = set()
    for take in cassette.takes:
        with suppress(McpMockError):
            if isinstance(take.header.target, str):
                found.add(upstream_origin(Upstream.parse(take.header.target)))
        hosts = {
            value
            for event in take.events
            if event.d == "c2s" and event.http is not UNSET
            for name, value in event.http.get("headers", ())
            if name.lower() == "host"
        }
        found |= {origin_of("http", host) for host in hosts}
    return {one for one in found if one is not None}


def recorded_path(cassette: Cassette) -> str | None:
    """Return the path at which MCP was spoken: where the event stream with the endpoint was opened,
    or where messages were posted to.
    """
    events = [event for take in cassette.takes for event in take.events]
    heads = {
        event.x: event.http for event in events if event.d == "c2s" and event.http is not UNSET
    }
    streams = [e.x for e in events if e.sse is not UNSET and e.sse.event == "endpoint"]
    posts = [x for x, head in heads.items() if head.get("method") == "POST"]
    opened = next((heads[x] for x in (*streams, *posts) if x in heads), None)
    return None if opened is None else str(opened["target"]).partition("?")[0]


def kind_of(transports: set[str]) -> TransportKind:
    """Return the recorded transport; Streamable HTTP for recordings over stdio or over several."""
    known = {kind.value: kind for kind in TransportKind}
    found = {known[transport] for transport in transports if transport in known}
    return found.pop() if len(found) == 1 else TransportKind.STREAMABLE_HTTP
