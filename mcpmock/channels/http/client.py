"""The client side of HTTP: a server at a URL as a channel, one request upstream for each exchange.

Exchanges run side by side, each on a connection of its own for as long as it lasts: the pair of its
client's connection, or one of a pool for exchanges that are made here. A request is never sent
twice, unless the server says that it did nothing (a redirect, refused credentials): a tool call is
not idempotent, and only the client knows whether it may be repeated (RFC 9110, 9.2.2). Each
exchange is read as far as it is received from here and no
further, so a slow reader slows down its own server only. `addresses` opens connections; the runner
stands above, `http1` below.

A server that cannot be reached, or that answers something else than HTTP, is a 502 of our own. One
that hangs up does so for the client too: an `ExchangeEnd` that says how, with or without a head
before it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

import msgspec
import trio

from mcpmock.channels.queues import WriteQueue
from mcpmock.errors import McpMockError
from mcpmock.protocol.messages import (
    S2C,
    ExchangeEnd,
    Fragment,
    Frame,
    HttpBody,
    HttpRequest,
    HttpResponse,
    SseMeta,
    StreamEnd,
)
from mcpmock.protocol.transport_facts import Headers
from mcpmock.transports.body import BodyReader
from mcpmock.transports.headers import Upstream, for_upstream, path_and_query
from mcpmock.transports.locations import MAX_REDIRECTS, redirect_target

from .addresses import ConnectionPool, reason_of
from .connection import Connection
from .exchanges import HttpEnd
from .http1 import RequestWriter, ResponseReader
from .pairing import PairedConnection
from .wire import Wire

MAX_SAID_BYTES = 4 << 20
"""The longest request that is kept, to be sent with other credentials if these are refused."""
END_TIMEOUT_S = 2.0
"""Seconds that exchanges have to end once there will be no new ones."""


class Credentials(Protocol):
    """What the server wants to see of us, where the clients do not log in themselves."""

    def fields(self) -> Headers:
        """Return the header fields that authorize a request made now; empty if there are none."""

    async def renew(self, refused: HttpResponse, sent: Headers) -> str | None:
        """Note that the server has refused what was `sent`. None if there are other credentials
        now; else the answer for the client.
        """

    def refused_anew(self) -> str:
        """Note that the server has refused with 401 what was just renewed. Gives what the client is
        told.
        """


class _CredentialsRefused(Exception):
    def __init__(self, head: HttpResponse) -> None:
        self.head = head


class _Redirected(Exception):
    def __init__(self, target: str) -> None:
        self.target = target


class _ClientExchange:
    """One request and its answer: what is said goes into `out`, what is heard is `receive`d."""

    def __init__(
        self,
        number: int,
        request: HttpRequest,
        connections: ConnectionPool | PairedConnection,
        channel: HttpClientChannel,
        credentials: Credentials | None = None,
        *,
        follows: bool = False,
    ) -> None:
        self.number = number
        self._request = request
        self._credentials = credentials
        self._redirects_left = MAX_REDIRECTS if follows else 0
        self._moved_to: str | None = None
        self._sent: Headers = []
        self._said: list[tuple[bytes, bool]] | None = [] if follows or credentials else None
        """The request so far, as long as it may have to be sent again."""
        self._said_bytes = 0
        self._renewing: trio.CancelScope | None = None
        self.out = WriteQueue(emptied=self._emptied, lossy=True)
        self.mcp = True
        self._connections = connections
        self._pair = connections if isinstance(connections, PairedConnection) else None
        self._channel = channel
        self._reset()
        self._wrong = ""
        self._connecting: trio.CancelScope | None = None
        self._wire: Wire | None = None
        self._moving = False
        self._body: BodyReader | None = None
        self._gone = ""
        self._over = False
        self._parting: str | None = None
        """How it is to be left, once the last of what was said `as_it_is` has gone out."""
        self._as_it_is = False

    def _reset(self) -> None:
        """Go back to the beginning, with the credentials and the target of now."""
        request = self._request
        if self._credentials is not None:
            self._sent = self._credentials.fields()
            request = _with_fields(request, self._sent)
        self._writer = RequestWriter(request)
        self._reader = ResponseReader(request.method)

    def say(self, data: bytes, *, last: bool) -> None:
        """Send (a piece of) the body; nothing, for a request without."""
        if self._said is not None:
            self._said.append((data, last))
            self._said_bytes += len(data)
            if self._said_bytes > MAX_SAID_BYTES:
                self._said = None
        self._say(data, last=last)

    def _say(self, data: bytes, *, last: bool) -> None:
        try:
            data = self._writer.write(data, last=last)
        except ValueError as error:
            self._wrong = str(error)
            if self._wire is not None:
                self._connections.discard(self._wire)
            return
        if self._wire is None and (idle := self._connections.take()):
            self._use(idle)
        self.out.put(data)
        if last:
            self.out.end()
        self._move()

    def say_as_it_is(self, data: bytes) -> None:
        """Send bytes after the head, whatever that says of them. They still go out, however soon
        the client is gone: a fault cuts the request here.
        """
        self.say(b"", last=False)
        self._as_it_is = True
        self.out.put(data)
        self._move()

    def abort(self, how: str = "closed") -> None:
        """End both ways, because the client is gone: the server sees it now."""
        if self._over:
            return
        if self._as_it_is and (self._wire is None or self.out.held):
            self._parting = how
            return
        for waiting in (self._connecting, self._renewing):
            if waiting is not None:
                waiting.cancel()
        if how == "reset" and self._wire is not None:
            self._wire.reset_on_close()
        self._finish()

    def _emptied(self) -> None:
        if self._parting is not None:
            self.abort(self._parting)
        elif self._pair is not None and self._pair.input_ended:
            self._end_output(self._pair)

    def _end_output(self, pair: PairedConnection) -> None:
        """End our input after the request, as the client has."""
        if self.out.done and self._wire is not None and not self._wire.end_output():
            pair.client.close()

    async def receive(self) -> list[Frame]:
        """Return what one read gives."""
        if self._over:
            await trio.lowlevel.checkpoint_if_cancelled()
            raise trio.EndOfChannel
        try:
            return (self._wire is None and await self._begin()) or await self._hear()
        except _CredentialsRefused as refused:
            return await self._renew(refused.head)
        except _Redirected as redirected:
            self._redirects_left -= 1
            head, self._moved_to = self._request, redirected.target
            self._request = HttpRequest(head.method, redirected.target, head.headers)
            self._drop()
            return await self._say_again()
        except trio.ClosedResourceError:
            if self._over:
                raise trio.EndOfChannel from None
            return self._end("closed")

    async def _renew(self, head: HttpResponse) -> list[Frame]:
        """Return the request once more with other credentials: a server that refuses them has done
        nothing (RFC 9110, 15.5.2). Gives an answer of our own where there are none.
        """
        assert self._credentials is not None
        if self._renewing is not None:
            return self._own_answer(head.status, head.reason, self._credentials.refused_anew())
        self._drop()
        why: str | None = "the request is too long to be sent again"
        with trio.CancelScope() as self._renewing:
            why = await self._credentials.renew(head, self._sent) or (
                why if self._said is None else None
            )
        if self._over:
            raise trio.EndOfChannel
        if why is not None:
            return self._own_answer(head.status, head.reason, why)
        return await self._say_again()

    def _drop(self) -> None:
        """Drop the connection, and what is still to be written to it."""
        self.out.drop()
        if self._wire is not None:
            self._connections.discard(self._wire)
            self._wire = None

    async def _say_again(self) -> list[Frame]:
        """Send the request once more, on another connection. Gives what is heard then."""
        self.out = WriteQueue(emptied=self._emptied, lossy=True)
        self._moving = False
        self._reset()
        for data, last in self._said or ():
            self._say(data, last=last)
        return await self.receive()

    def _redirect(self, head: HttpResponse) -> str | None:
        """Return where the request is sent instead; None if this answer is the client's affair."""
        if not self._redirects_left or self._said is None or self._as_it_is:
            return None
        return redirect_target(head, self._channel.upstream, self._request.target)

    async def _begin(self) -> list[Frame]:
        """Connect. Gives an answer of our own where that fails."""
        if self._wrong:
            return self._bad_gateway(
                f"cannot send this to {self._channel.upstream.url}: {self._wrong}"
            )
        wire = None
        try:
            with trio.CancelScope() as self._connecting:
                wire = await self._connections.open()
        except (OSError, trio.BrokenResourceError, McpMockError) as error:
            return self._bad_gateway(
                f"cannot reach {self._channel.upstream.url}: {reason_of(error)}"
            )
        if wire is None or self._over:
            if wire is not None:
                self._connections.discard(wire)
            raise trio.EndOfChannel
        self._use(wire)
        return []

    def _use(self, wire: Wire) -> None:
        self._wire = wire
        if self._pair is not None:
            self._pair.on_input_end = self._emptied
        self.out.attach(wire)
        self._move()
        if not self.out.held:
            self._emptied()

    def _move(self) -> None:
        """Start a task that writes what could not be written at once."""
        if self.out.held and self._wire is not None and not self._moving:
            self._moving = True
            self._channel.start(self.out.run)

    async def _hear(self) -> list[Frame]:
        assert self._wire is not None
        frames: list[Frame] = []
        while not frames:
            try:
                data = await self._wire.read()
            except trio.BrokenResourceError as error:
                self._gone = "reset"  # also of a body that lasts until the connection ends
                return self._broken_off(ValueError(str(error)))
            if self._over:  # the client left in the same moment
                raise trio.EndOfChannel
            if not data:
                self._gone = "closed"
            try:
                for part in self._reader.feed(bytes(data)):
                    frames += self._frames(part)
            except ValueError as error:
                return frames + self._broken_off(error)
            if self._reader.done:
                assert self._body is not None
                return frames + self._body.end() + self._end("eof")
        return frames

    def _frames(self, part: HttpResponse | bytes) -> list[Frame]:
        if isinstance(part, HttpResponse):
            if self._credentials is not None and _refuses_credentials(part):
                if self._renewing is None or part.status == 401:
                    raise _CredentialsRefused(part)
                part = _without_challenge(part)
            if (target := self._redirect(part)) is not None:
                raise _Redirected(target)
            self._said = None  # this is the answer
            if not self._reader.again:
                self._close_behind()
            self._body = BodyReader.of_response(self.number, part, mcp=self.mcp)
            return [Frame(S2C, fact=part, exchange=self.number)]
        assert self._body is not None
        frames = self._body.feed(part)
        return _relative(frames, self._moved_to) if self._request.method == "GET" else frames

    def _close_behind(self) -> None:
        if self._pair is not None:
            self._pair.client.close_behind(self.number)

    def _broken_off(self, error: ValueError) -> list[Frame]:
        if self._gone and self._pair is not None and self._pair.input_ended:
            # The client closed first, and the server does the same: that is no fault of its answer.
            self._pair.client.close()
            raise trio.EndOfChannel
        if self._body is not None:
            return self._body.cut() + self._end(self._gone or "reset")
        if self._gone:
            return self._end(self._gone)
        return self._bad_gateway(f"{self._channel.upstream.url} does not answer in HTTP: {error}")

    def _bad_gateway(self, why: str) -> list[Frame]:
        return self._own_answer(502, "Bad Gateway", why)

    def _own_answer(self, status: int, reason: str, why: str) -> list[Frame]:
        from mcpmock.redaction.masks import masked_urls  # most sessions need no answer of ours

        response = HttpResponse(status, reason, [("Content-Type", "text/plain")])
        text = f"mcpmock: {masked_urls(why)}\n".encode("utf-8", "replace")
        return [
            Frame(S2C, fact=response, exchange=self.number),
            Frame(S2C, text, fact=HttpBody(), exchange=self.number),
            *self._end("closed", told="eof"),
        ]

    def _end(self, how: str, told: str | None = None) -> list[Frame]:
        """End the exchange; `told` is what the client hears of how."""
        again = how == "eof" and self._reader.again and self.out.done
        if how == "eof" and not again:
            self._close_behind()
        self._finish(again=again)
        return [Frame(S2C, fact=ExchangeEnd(told or how), exchange=self.number)]

    def _finish(self, *, again: bool = False) -> None:
        self._over = True
        self.out.drop()
        if self._pair is not None:
            self._pair.forget(self._emptied)
        if self._wire is not None:
            (self._connections.give_back if again else self._connections.discard)(self._wire)
        self._channel.leave(self.number)


class HttpClientChannel(HttpEnd[_ClientExchange]):
    """A server at a URL. `own` are the authorities that clients know us by. `is_mcp` says of a
    request without a body whether it is one of MCP's; by default, if it goes to the URL's path.
    `client_of` gives the connection of the client that an exchange came from, if there is one. With
    `credentials`, they are those of every request, and clients need none. `follows`: redirects to
    the same server are followed, up to MAX_REDIRECTS for a request; clients get all others.
    """

    def __init__(
        self,
        connect: Callable[[], Awaitable[trio.abc.Stream]],
        upstream: Upstream,
        *,
        own: Sequence[str] = (),
        is_mcp: Callable[[HttpRequest], bool] | None = None,
        client_of: Callable[[int], Connection | None] = lambda _: None,
        credentials: Credentials | None = None,
        follows: bool = False,
    ) -> None:
        super().__init__()
        path = upstream.target.partition("?")[0]
        self.upstream = upstream
        self._connect = connect
        self._own = tuple(own)
        self._is_mcp = is_mcp or (lambda head: head.path == path)
        self._client_of = client_of
        self._credentials = credentials
        self._follows = follows
        self._pool = ConnectionPool(connect)
        self._nursery: trio.Nursery | None = None
        self._work: list[Callable[[], Awaitable[None]]] = []
        self._until: float | None = None

    async def _wait(self) -> None:
        if self._until is None:
            await self._changed.park()
        elif self._exchanges:
            await self._let_end(self._until)
        else:
            raise trio.EndOfChannel

    def send_nowait(self, frames: Sequence[Frame]) -> None:
        if self._closed:
            raise trio.BrokenResourceError("closed")
        for frame in frames:
            fact, number = frame.fact, frame.exchange
            if type(fact) is HttpRequest:
                assert number is not None
                self._open(number, fact)
            elif type(fact) is StreamEnd:
                self._until = trio.current_time() + END_TIMEOUT_S
                self._changed.unpark_all()
            elif exchange := self._of(number):
                self._pass_on(exchange, frame)

    async def run(self) -> None:
        async with trio.open_nursery() as self._nursery:
            for work in self._work:
                self._nursery.start_soon(work)
            self._work.clear()
            await self._pool.tidy()

    def start(self, work: Callable[[], Awaitable[None]]) -> None:
        """Start work in the background, once `run` does."""
        if self._nursery is None:
            self._work.append(work)
        else:
            self._nursery.start_soon(work)

    def leave(self, number: int) -> None:
        """Leave the exchange, which is over."""
        self._exchanges.pop(number, None)
        if self._until is not None:
            self._changed.unpark_all()

    async def aclose(self) -> None:
        self._closed = True
        self._abort_all()
        self._changed.unpark_all()
        self._pool.close()
        await trio.lowlevel.checkpoint()

    def _open(self, number: int, request: HttpRequest) -> None:
        mapped = for_upstream(request, self.upstream, self._own)
        client = self._client_of(number)
        connections = self._pool if client is None else client.paired(self._connect)
        exchange = _ClientExchange(
            number, mapped, connections, self, self._credentials, follows=self._follows
        )
        exchange.mcp = self._is_mcp(request)
        self._exchanges[number] = exchange
        if not request.has_body:
            exchange.say(b"", last=True)
        self._opened.append(exchange.receive)
        self._changed.unpark()

    def _pass_on(self, exchange: _ClientExchange, frame: Frame) -> None:
        match frame.fact:
            case ExchangeEnd(how):
                exchange.abort(how)
            case Fragment(last):
                exchange.say(frame.carried, last=last)
            case HttpBody(unframed=True):
                exchange.say_as_it_is(frame.raw)
            case HttpBody(more=more, undecoded=undecoded):
                exchange.mcp = exchange.mcp and bool(undecoded)
                exchange.say(frame.carried, last=not more)
            case None:
                exchange.mcp = True
                exchange.say(frame.carried, last=True)
            case _:
                pass

    async def _let_end(self, deadline: float) -> None:
        with trio.move_on_at(deadline) as scope:
            await self._changed.park()
        if scope.cancelled_caught:
            self._abort_all()

    def _abort_all(self) -> None:
        for exchange in list(self._exchanges.values()):
            exchange.abort()


def _with_fields(request: HttpRequest, fields: Headers) -> HttpRequest:
    """Return the request with these fields in the place of its own of the same names."""
    names = {name.lower() for name, _ in fields}
    kept = [field for field in request.headers if field[0].lower() not in names]
    return HttpRequest(request.method, request.target, [*kept, *fields])


def _refuses_credentials(head: HttpResponse) -> bool:
    """RFC 6750, 3.1."""
    challenge = head.header("www-authenticate") or ""
    return head.status == 401 or (head.status == 403 and "insufficient_scope" in challenge)


def _without_challenge(head: HttpResponse) -> HttpResponse:
    """Clients of ours are not to log in: what they would get is of no use here."""
    kept = [field for field in head.headers if field[0].lower() != "www-authenticate"]
    return HttpResponse(head.status, head.reason, kept)


def _relative(frames: list[Frame], moved_to: str | None) -> list[Frame]:
    """Return the frames; an `endpoint` event (HTTP+SSE) that names a host leads clients past us:
    only path and query are kept of it. A relative path is meant from where a redirect led to.
    """
    for place, frame in enumerate(frames[1:], 1):
        before = frames[place - 1].fact
        if frame.fact is None and type(before) is SseMeta and before.event == "endpoint":
            uri = frame.raw.decode("utf-8", "surrogateescape")
            # SDK clients refuse an endpoint of another origin than the stream's, which is ours.
            path = uri.partition("?")[0]
            if "//" in path or (moved_to is not None and not path.startswith("/")):
                raw = path_and_query(uri, moved_to or "/").encode("utf-8", "surrogateescape")
                frames[place] = msgspec.structs.replace(frame, raw=raw, wire=None)
    return frames
