"""The server side of HTTP: a listener that gives one channel for each conversation.

Which exchange belongs to which conversation, `transports.session_router` says; the bytes are
`connection`'s. Every exchange is read and written on its own, so a client that does not read
stops only the source of its own answer. The runner stands above.

Frames for an exchange that is over go nowhere, silently: clients leave all the time. Where a
session has ended and its clients do not know, they get 404 (MCP, "Transports", Session
Management: the client then initializes again), and 503 for what still waits for an answer. What
belongs to no session begins another conversation instead.
"""

from __future__ import annotations

import errno
from collections import deque
from collections.abc import Callable, Sequence
from math import inf

import trio

from mcpmock.channels.channel import DRAIN_TIMEOUT_S
from mcpmock.channels.fd import DescriptorQueue
from mcpmock.channels.standard_streams import write_log_line
from mcpmock.errors import McpMockError
from mcpmock.protocol.messages import Frame, HttpRequest, Stderr
from mcpmock.protocol.transport_facts import NO_SESSION, HttpResponse
from mcpmock.transports.access_policy import AccessPolicy, HttpRefusal
from mcpmock.transports.session_router import SessionRouter, TransportKind

from .connection import Connection, ListenerContext, ServerExchange
from .error_responses import refusal
from .exchanges import HttpEnd
from .pairing import IdleWatch

_OUT_OF_DESCRIPTORS = {errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS}
_ACCEPT_RETRY_S = 0.05
_DRAIN_POLL_S = 0.002
_HANDLING_S = 0.025
"""Seconds that a client has for what it has read: several ticks of a busy event loop."""
SESSION_TIMEOUT_S = 3600.0
"""How long a session without any exchange is kept, unless said otherwise."""
ENDED_SESSION_LINGER_S = 1.0
"""How long a session that has ended still takes exchanges: recorded clients ask once more."""
_SESSION_ENDED = refusal(404, "Not Found", "this session has ended; initialize a new one")


def _tell(error: BaseException) -> None:
    text = str(error)
    if not isinstance(error, McpMockError):
        text = f"a connection was dropped: internal error (please report): {error!r}"
    write_log_line(f"mcpmock: {text}")


class HttpServerChannel(HttpEnd[ServerExchange]):
    """One conversation: exchanges, each read and written on its own."""

    def __init__(
        self,
        conversation: int,
        router: SessionRouter,
        closing: Callable[[HttpServerChannel], object],
        hang_up: Callable[[int], object],
        stderr: DescriptorQueue | None = None,
        session_timeout: float = SESSION_TIMEOUT_S,
        linger: float = ENDED_SESSION_LINGER_S,
    ) -> None:
        super().__init__()
        self._linger = linger
        self.conversation = conversation
        self._stderr = stderr
        self._router = router
        self._closing, self._hang_up = closing, hang_up
        # What belongs to no session can always go on.
        self._timeout = inf if conversation == NO_SESSION else session_timeout
        self._named = self._ended = False
        self._used_at = trio.current_time()
        self._session_changed = trio.lowlevel.ParkingLot()

    def send_nowait(self, frames: Sequence[Frame]) -> None:
        """Send, and never raise: a client that is gone is not the end of a conversation. HTTP has
        no way for a server's standard error, so that goes to ours.
        """
        self._named |= self._router.learn(self.conversation, frames)
        batches: dict[int | None, list[Frame]] = {}
        for frame in frames:
            batches.setdefault(frame.exchange, []).append(frame)
        for number, batch in batches.items():
            if exchange := self._of(number):
                if type(batch[0].fact) is HttpResponse:
                    self._router.learn_redirect(exchange.request, batch[0].fact)
                self._ended |= self._router.ends_session(exchange.request, batch)
                exchange.send(batch)
            elif self._stderr is not None:
                logged = [frame.raw for frame in batch if type(frame.fact) is Stderr]
                self._stderr.put(b"".join(logged))

    async def drained(self) -> None:
        """Return when all was read: over HTTP+SSE all of a session comes on one stream. Over
        Streamable HTTP what is read together on one connection belongs together, and clients must
        not wait for each other.
        """
        # The TypeScript SDKs lose progress that they read in one go with the answer behind it, and
        # what they have read they handle some ticks later.
        if self._router.kind is TransportKind.SSE:
            with trio.move_on_after(DRAIN_TIMEOUT_S):
                # No event tells a writer that its bytes were read: the kernel is asked again.
                while any(exchange.is_unread() for exchange in self._exchanges.values()):  # noqa: ASYNC110
                    await trio.sleep(_DRAIN_POLL_S)
            await trio.sleep(_HANDLING_S)

    def hang_up(self) -> None:
        self._hang_up(self.conversation)

    async def aclose(self) -> None:
        """End what is open, and with that the connections that carry it."""
        self._closed = True
        self._closing(self)
        self._changed.unpark_all()
        for exchange in list(self._exchanges.values()):
            exchange.give_up()
        await trio.lowlevel.checkpoint()

    def open(self, exchange: ServerExchange) -> None:
        """Take up an exchange: what is whole is delivered, another is the next that
        `accept` gives.
        """
        self._exchanges[exchange.number] = exchange
        # Not while an earlier one waits to be accepted: exchanges are heard in order.
        deliver = self.deliver if exchange.whole and not self._opened else None
        exchange.open(self._leave, deliver)
        if deliver is None:
            self._opened.append(exchange.inbox.receive)
            self._changed.unpark()

    async def ended(self) -> None:
        """Return when the session is over: deleted, without its event stream, or without any
        exchange for the session timeout. No exchange is taken from then on.
        """
        while True:
            now = trio.current_time()
            timeout = self._linger if self._ended else self._timeout
            until = now + self._timeout if self._exchanges else self._used_at + timeout
            if until <= now:
                break
            with trio.move_on_at(until):
                await self._session_changed.park()
        self._closing(self)

    def _leave(self, number: int) -> None:
        exchange = self._exchanges.pop(number, None)
        self._used_at = trio.current_time()
        if exchange is None or self.conversation == NO_SESSION:
            return
        # No request can name a session that has no name. That of an event stream ends with it
        # (2024-11-05, "HTTP with SSE").
        is_stream = self._router.kind is TransportKind.SSE and exchange.request.method == "GET"
        self._ended |= is_stream or not self._named
        if self._ended and not self._exchanges:
            self._session_changed.unpark_all()


class HttpListener(trio.abc.Listener[HttpServerChannel]):
    """Connections come in, conversations come out. `tell` hears of errors that are our own: they
    cost a connection, never another one. `stderr` takes what servers write to theirs.
    """

    def __init__(
        self,
        router: SessionRouter,
        access: AccessPolicy,
        listeners: Sequence[trio.abc.Listener[trio.abc.Stream]],
        *,
        body_limit: int | None = None,
        unread: Callable[[HttpRequest, str], None] = lambda _head, _why: None,
        mirrors: bool = False,
        session_timeout: float = SESSION_TIMEOUT_S,
        tell: Callable[[BaseException], None] = _tell,
        stderr: DescriptorQueue | None = None,
    ) -> None:
        watch = IdleWatch() if mirrors else None
        self._context = ListenerContext(
            router, access, self._admit, tell, unread, body_limit, watch
        )
        self._listeners = listeners
        self._session_timeout = session_timeout
        self._stderr = stderr
        self._closed = False
        self._connections: set[Connection] = set()
        self._channels: dict[int, HttpServerChannel] = {}
        self._newest = NO_SESSION
        self._ended: set[int] = set()
        self._new: deque[HttpServerChannel] = deque()
        self._changed = trio.lowlevel.ParkingLot()

    @property
    def router(self) -> SessionRouter:
        return self._context.router

    @property
    def authorities(self) -> list[str]:
        """What clients on this machine call us, as `host:port`."""
        port = self._context.access.port
        return [f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]")]

    def connection_of(self, exchange: int) -> Connection | None:
        """Return the connection that carries an exchange; None once it is over."""
        return self._context.carriers.get(exchange)

    async def run(self) -> None:
        """Serve all clients, until it is closed."""
        async with trio.open_nursery() as nursery:
            if self._stderr is not None:
                nursery.start_soon(self._stderr.run)
            if self._context.watch is not None:
                nursery.start_soon(self._context.watch.run)
            for listener in self._listeners:
                nursery.start_soon(self._listen, listener, nursery)

    async def serve(self, stream: trio.abc.Stream) -> None:
        """Serve one connection, until it closes. Nothing that goes wrong in it gets out."""
        connection = Connection(stream, self._context)
        self._connections.add(connection)
        try:
            await connection.run()
        except* (trio.BrokenResourceError, trio.ClosedResourceError):
            pass  # it left in the middle of something
        except* Exception as group:  # noqa: BLE001 (whatever it is, the others go on)
            for error in group.exceptions:
                self._context.tell(error)
        finally:
            self._connections.discard(connection)

    async def accept(self) -> HttpServerChannel:
        """Return the next conversation."""
        await trio.lowlevel.checkpoint_if_cancelled()
        while not self._new:
            if self._closed:
                raise trio.ClosedResourceError
            await self._changed.park()
        return self._new.popleft()

    async def aclose(self) -> None:
        """End everything at once: sockets, connections, conversations."""
        self._closed = True
        self._changed.unpark_all()
        for connection in list(self._connections):
            connection.close()
        with trio.CancelScope(shield=True):
            for channel in list(self._channels.values()):
                await channel.aclose()
            for listener in self._listeners:
                await listener.aclose()
        if self._stderr is not None:
            self._stderr.close()
        await trio.lowlevel.checkpoint()

    async def _listen(
        self, listener: trio.abc.Listener[trio.abc.Stream], nursery: trio.Nursery
    ) -> None:
        while True:
            try:
                nursery.start_soon(self.serve, await listener.accept())
            except trio.ClosedResourceError:
                return
            except OSError as error:
                if error.errno not in _OUT_OF_DESCRIPTORS:
                    raise
                await trio.sleep(_ACCEPT_RETRY_S)

    def _admit(self, exchange: ServerExchange, body: bytes) -> HttpRefusal | None:
        number = self._context.router.conversation(exchange.request, body, whole=exchange.whole)
        channel = self._channels.get(number)
        if channel is None:
            # A server of its own says what became of a session: an exchange for it goes on as ever,
            # unless a fault has ended the session here.
            mirrors = self._context.watch is not None and number not in self._ended
            if not self._is_new(number) and not mirrors:
                return _SESSION_ENDED
            channel = HttpServerChannel(
                number,
                self._context.router,
                self._leave,
                self._ended.add,
                self._stderr,
                self._session_timeout,
                # A server of its own answers for what it has ended.
                ENDED_SESSION_LINGER_S if self._context.watch is None else 0.0,
            )
            self._channels[number] = channel
            self._new.append(channel)
            self._changed.unpark()
        channel.open(exchange)
        return None

    def _is_new(self, number: int) -> bool:
        """Return whether a conversation that is not open begins; else it has ended. Sessions are
        numbered in the order in which they open; what belongs to none can always begin anew.
        """
        if number == NO_SESSION:
            return True
        new, self._newest = number > self._newest, max(number, self._newest)
        return new

    def _leave(self, channel: HttpServerChannel) -> None:
        if self._channels.get(channel.conversation) is channel:
            del self._channels[channel.conversation]
