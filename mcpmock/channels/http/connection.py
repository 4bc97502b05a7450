"""One client's HTTP connection: requests read from it one after another, and the answers written.

`Connection` has the stream, `ServerExchange` is one request and its answer. `ListenerContext` is
what all connections of a listener share: who may come in, how long a body may be, which
conversation a request belongs to. `server` stands above, `http1` below.

    head --> body --> answer --> written --> head of the next, or idle, or closed
               |
               `-- admit(exchange): the listener finds its conversation, which opens the exchange

* One exchange at a time. What the client sends behind it waits in `_input`, 64 KiB at most.
* A refused request is in no conversation: it is answered here, and the connection closes behind it.
* From `open` on, the conversation gets what the client sends (`deliver`, or it takes it from
  `inbox`), and once the end of the exchange (`leave`). It calls `send` and `give_up`.
* While the answer is on its way we read on, to see the client leave: an `ExchangeEnd` from it.
* Of a pair, this one has the `PairedConnection` to the server. That sees a `ClientConnection`: what
  the server does to its end is done to ours (`close_behind`, `close_idle`, `close`), and what the
  client does to ours by `end_input` and `close`.
* Lives only here: the bytes of requests, deadlines, which exchange is under way.
* Not known here: sessions, JSON-RPC, what is recorded; of heads, no more than how they end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from itertools import count

import attrs
import trio

from mcpmock.channels.channel import MAX_HELD_BYTES, Deliver
from mcpmock.channels.queues import FrameQueue, WriteQueue
from mcpmock.errors import McpMockError
from mcpmock.lazy_pattern import lazy_pattern
from mcpmock.protocol.messages import C2S, S2C, ExchangeEnd, Frame, HttpBody, HttpRequest
from mcpmock.protocol.transport_facts import Headers
from mcpmock.transports.access_policy import AccessPolicy, HttpRefusal
from mcpmock.transports.body import BodyReader
from mcpmock.transports.cors import cors_fields, is_preflight, preflight_reply
from mcpmock.transports.headers import MAX_FIELDS
from mcpmock.transports.session_router import SessionRouter

from .addresses import Connect
from .error_responses import GIVEN_UP, LATE, LONG_HEAD, NOT_HTTP, frames_of, refusal
from .http1 import MAX_HEAD_BYTES, RequestBody, RequestHead, ResponseWriter, read_head
from .pairing import IdleWatch, PairedConnection
from .wire import READ_SIZE, Wire

HEAD_TIMEOUT_S = 30.0
"""How long the head of a request may take, from connecting or from its first byte."""
IDLE_TIMEOUT_S = 75.0
"""How long a connection is kept for another request."""
BODY_TIMEOUT_S = 60.0
"""How long no byte of an incomplete body may come."""
CLOSE_TIMEOUT_S = 1.0
"""How long input is still read behind the last response of a connection. A close with unread input
is a reset, and a reset may erase a response that the client has not read (RFC 9112, 9.6).
"""
_PEER_POLL_S = 0.05
"""How often a client that has ended its input is looked at: no event tells that it leaves."""
_NEVER = float("inf")
_END_OF_HEAD = lazy_pattern(rb"\n\r?\n")


class ServerExchange:
    """One request and its answer: what the client says goes into `inbox`, what is sent goes out
    through `out`, the queue of its connection. `whole` is whether the client has said all of it.
    """

    def __init__(self, number: int, head: RequestHead, connection: Connection) -> None:
        self.number = number
        self.request = head.request
        self.inbox = FrameQueue()
        self.out = connection.out
        self.answer = ResponseWriter(
            head.request.method, closing=head.closing, cors=connection.cors
        )
        self.answer.http_1_1 = head.http_1_1
        self.whole = False
        self.waits = head.waits
        self.opened = False
        self._connection = connection
        self._leave: Callable[[int], object] = lambda _: None
        self._deliver: Deliver | None = None

    def open(self, leave: Callable[[int], object], deliver: Deliver | None) -> None:
        """Open it for a conversation. `leave` is called with its number when it is over;
        `deliver` takes what the client says, else it is received from `inbox`.
        """
        self.opened = True
        self._leave, self._deliver = leave, deliver

    def is_unread(self) -> bool:
        """Return whether the client has not read all of the answer so far."""
        return self.out.held > 0 or self._connection.wire.unread() > 0

    def hear(self, frames: Sequence[Frame]) -> None:
        """Take what the client says. After the end of the exchange it goes nowhere."""
        if self._deliver is None:
            self.inbox.put(frames)
        elif not self.inbox.ended:
            self._deliver(frames)

    def send(self, frames: Sequence[Frame]) -> None:
        """Send frames of the answer; what comes after its end goes nowhere."""
        if not self.answer.ended:
            self._write(frames)

    def _write(self, frames: Sequence[Frame]) -> None:
        try:
            data = self.answer.write(frames)
        except ValueError as error:  # only a recording that was edited by hand has such answers
            data = self._unsendable(error)
        self.out.put(data)
        if self.answer.ended:
            self.inbox.close()
            if not self.out.held:
                self._connection.written()

    def give_up(self) -> None:
        """End an answer of which no more will come: 503 where it has not begun, else it is cut
        off.
        """
        if self.answer.begun:
            self.send([Frame(S2C, fact=ExchangeEnd("closed"), exchange=self.number)])
        else:
            self.answer.closing = True
            self.send(frames_of(GIVEN_UP))

    def over(self) -> None:
        self._connection.context.carriers.pop(self.number, None)
        self.inbox.close()
        self._leave(self.number)

    def _unsendable(self, error: ValueError) -> bytes:
        """Return what goes out instead: the end, where the answer has begun."""
        why = f"this answer cannot be sent: {error}"
        self._connection.context.tell(McpMockError(why))
        if self.answer.begun:
            self.answer.ended = "closed"
            return b""
        self.answer = self.answer.anew()
        return self.answer.write(frames_of(refusal(502, "Bad Gateway", why)))


@attrs.frozen
class ListenerContext:
    """What is asked of every request. `admit` opens an exchange in its conversation (by its request
    and the first of its body), or says why it cannot.
    """

    router: SessionRouter
    access: AccessPolicy
    admit: Callable[[ServerExchange, bytes], HttpRefusal | None]
    tell: Callable[[BaseException], None]
    unread: Callable[[HttpRequest, str], None]
    """Called with a request whose body is refused unread, and why."""
    body_limit: int | None = None
    watch: IdleWatch | None = None
    """Where exchanges go to a server as they are, over connections that mirror the clients'."""
    numbers: count[int] = attrs.field(factory=lambda: count(1))
    carriers: dict[int, Connection] = attrs.field(factory=dict)
    """The connections of open exchanges."""

    def page_origin(self, head: HttpRequest) -> str | None:
        """Return the origin of the page that may read our answer; None where a real server says
        which.
        """
        return None if self.watch is not None else self.access.page_origin(head)

    def too_long(self, size: int) -> HttpRefusal | None:
        if self.body_limit is None or size <= self.body_limit:
            return None
        return refusal(413, "Content Too Large", f"a body has at most {self.body_limit} bytes")

    def undecoded(self, frames: Sequence[Frame]) -> HttpRefusal | None:
        """Return why not, where we are the server and cannot read a body (RFC 9110, 15.5.16)."""
        for frame in () if self.body_limit is None else frames:
            if isinstance(frame.fact, HttpBody) and frame.fact.undecoded:
                why = f"a body cannot be decoded from {frame.fact.undecoded}"
                return refusal(415, "Unsupported Media Type", why)
        return None


class _Refused(Exception):
    """The request goes no further, and the connection closes behind the refusal."""

    def __init__(self, refusal: HttpRefusal) -> None:
        self.refusal = refusal


class Connection:
    """The connection of one client."""

    def __init__(self, stream: trio.abc.Stream, context: ListenerContext) -> None:
        self.out = WriteQueue(emptied=self.written, lossy=True)
        self.wire = Wire(stream)
        self._stream = stream
        self.context = context
        self._input = bytearray()
        self._used = False
        self._method = ""
        self.cors: Headers = []
        """Fields of the answer to the present request."""
        self._exchange: ServerExchange | None = None
        self._gone = "closed"
        self._scope = trio.CancelScope()
        self._until = _NEVER
        self._turn = trio.lowlevel.ParkingLot()
        self._pair: PairedConnection | None = None
        self._input_ended = False

    async def run(self) -> None:
        """Serve the connection until either side ends it. Nothing of it is open after that."""
        try:
            with self._scope:
                async with trio.open_nursery() as nursery:
                    self.out.attach(self.wire)
                    nursery.start_soon(self._write)
                    nursery.start_soon(self._watch)
                    await self._converse()
                    nursery.cancel_scope.cancel()
        finally:
            self._leave()
            if self._pair is not None:
                self._pair.close(self._gone)
                self._pair = None
            self.out.drop()
            await trio.aclose_forcefully(self._stream)

    def paired(self, connect: Connect) -> PairedConnection:
        """Return the connection to the server that belongs to this one."""
        if self._pair is None:
            watch = self.context.watch
            assert watch is not None
            self._pair = PairedConnection(connect, self, watch, input_ended=self._input_ended)
        return self._pair

    def close_behind(self, exchange: int) -> None:
        if self._exchange is None:
            self._scope.cancel()
        elif self._exchange.number == exchange:
            self._exchange.answer.closing = True

    def close_idle(self, how: str) -> None:
        if self._exchange is None:
            self._cut(reset=how == "reset")

    def close(self) -> None:
        """End `run` at once."""
        self._scope.cancel()

    async def _write(self) -> None:
        await self.out.run()
        self._gone = "reset"
        self._scope.cancel()

    def written(self) -> None:
        """Note that all that was handed over is with the client: after the end, the next may
        come.
        """
        exchange = self._exchange
        if exchange is None or exchange.answer.ended is None:
            return
        self._exchange = None
        exchange.over()
        self._turn.unpark_all()
        answer = exchange.answer
        if answer.ended != "eof" or not answer.begun:
            self._cut(reset=answer.ended == "reset")
        elif answer.closing or not exchange.whole or self._input:
            self.wire.interrupt()
        else:
            self._until = trio.current_time() + self._idle_timeout()

    def _idle_timeout(self) -> float:
        """Return how long an idle connection is kept: as long as the server keeps its own."""
        return _NEVER if self._pair is not None and self._pair.idle else IDLE_TIMEOUT_S

    def _leave(self) -> None:
        """End the exchange of a client that is gone; nothing is sent after the `ExchangeEnd`."""
        exchange, self._exchange = self._exchange, None
        if exchange is not None:
            gone = ExchangeEnd(self._gone)
            exchange.hear([Frame(C2S, fact=gone, exchange=exchange.number)])
            exchange.over()

    def _cut(self, *, reset: bool) -> None:
        if reset:
            self.wire.reset_on_close()
        self._scope.cancel()

    async def _read(self, deadline: float = _NEVER) -> bytes | bytearray | None:
        """Return nothing if the client is gone, None at the deadline or behind the answer."""
        self._until = deadline
        try:
            return await self.wire.read_on()
        except trio.BrokenResourceError:
            self._gone = "reset"
            return b""
        finally:
            self._until = _NEVER

    async def _watch(self) -> None:
        """End reads whose deadline has come. It looks every HEAD_TIMEOUT_S: no deadline that is
        set meanwhile comes sooner, so none has to be announced.
        """
        while True:
            await trio.sleep_until(min(self._until, trio.current_time() + HEAD_TIMEOUT_S))
            if self._until <= trio.current_time():
                self.wire.interrupt()

    async def _converse(self) -> None:
        try:
            while (length := await self._head()) and await self._serve(length):
                self._used, self._method, self.cors = True, "", []
        except _Refused as refused:
            if self._exchange is None:
                await self._refuse(refused.refusal)

    async def _refuse(self, refusal: HttpRefusal) -> None:
        answer = ResponseWriter(self._method, closing=True, cors=self.cors)
        with trio.move_on_after(CLOSE_TIMEOUT_S):
            try:
                await self._stream.send_all(answer.write(frames_of(refusal)))
            except trio.BrokenResourceError:
                return
        await self._linger()

    async def _linger(self) -> None:
        with trio.move_on_after(CLOSE_TIMEOUT_S):
            try:
                if isinstance(self._stream, trio.abc.HalfCloseableStream):
                    await self._stream.send_eof()
                while await self.wire.read():
                    pass
            except trio.BrokenResourceError:
                pass

    async def _head(self) -> int:
        """Read to the end of the next request's head, and give its length; 0 if there is none."""
        waits = self._used and not self._input
        patience = self._idle_timeout() if waits else HEAD_TIMEOUT_S
        deadline = trio.current_time() + patience
        searched = 0
        while True:
            while self._input and self._input[0] in b"\r\n":
                del self._input[0]  # clients may end a body with an extra CR LF (RFC 9112, 2.2)
            if found := _END_OF_HEAD.search(self._input, max(0, searched - 3)):
                return self._fitting(found.end())
            # No method begins so. 0x16 begins a TLS handshake: https:// where http:// is meant.
            if self._input and self._input[0] <= 0x20:
                raise _Refused(NOT_HTTP)
            searched = self._fitting(len(self._input))
            data = await self._read(deadline)
            if data is None and searched:
                raise _Refused(LATE)
            if not data:
                return 0
            deadline = min(deadline, trio.current_time() + HEAD_TIMEOUT_S)
            self._input += data

    def _fitting(self, length: int) -> int:
        if length > MAX_HEAD_BYTES or self._input.count(b"\n", 0, length) > MAX_FIELDS + 2:
            raise _Refused(LONG_HEAD)
        return length

    async def _serve(self, length: int) -> bool:
        """Serve one request, whose head is that long. Return whether another may follow."""
        head = bytes(self._input[:length])
        del self._input[:length]
        asked = read_head(head)
        if isinstance(asked, str):
            raise _Refused(refusal(400, "Bad Request", asked))
        request = asked.request
        self._method = request.method
        mcp = self.context.router.is_mcp(request)
        origin = self.context.page_origin(request)
        if origin is not None:
            self.cors = cors_fields(origin)
            # Before the check of the token: a preflight never has one (Fetch, "CORS-preflight
            # fetch").
            if is_preflight(request):
                return await self._answer_preflight(asked)
        self._stop(self.context.access.refusal(request, mcp=mcp))
        admitted = self.context.access.admitted(request)
        if admitted is not request:
            asked = copy(asked)  # others may have the same head
            asked.request = admitted
        self._stop(self.context.too_long(asked.length), request)
        exchange = ServerExchange(next(self.context.numbers), asked, self)
        source = RequestBody(asked, self._input)
        body = BodyReader.of_request(exchange.number, request, mcp=mcp)
        return await self._take(exchange, source, body) and await self._attend(exchange)

    async def _answer_preflight(self, asked: RequestHead) -> bool:
        """Return whether another request may follow."""
        answer = ResponseWriter(self._method, closing=asked.closing, cors=self.cors)
        await self._stream.send_all(answer.write(preflight_reply(asked.request)))
        if asked.closing:
            await self._linger()
        return not asked.closing

    async def _take(self, exchange: ServerExchange, source: RequestBody, body: BodyReader) -> bool:
        """Hand the request over, whole, or piece by piece where it is long. False if the client
        leaves before all of it is there.
        """
        frames = [Frame(C2S, fact=exchange.request, exchange=exchange.number)]
        size = 0
        while True:
            try:
                data = source.take()
            except ValueError as error:
                raise _Refused(refusal(400, "Bad Request", str(error))) from error
            if data:
                size += len(data)
                self._stop(self.context.too_long(size), exchange.request)
                frames += body.feed(data)
                self._stop(self.context.undecoded(frames), exchange.request)
            if source.done:
                exchange.whole = True
                self._hand_over(exchange, frames + body.end())
                return True
            if len(frames) > (not exchange.opened) and self.context.body_limit is None:
                self._hand_over(exchange, frames)
                frames = []
                await exchange.inbox.below(MAX_HELD_BYTES)
            if not await self._more(exchange):
                exchange.hear(body.cut())
                return exchange.answer.ended is not None

    async def _more(self, exchange: ServerExchange) -> bool:
        """Read on in a body; False if the client has left, or has its answer already."""
        if exchange.waits:
            exchange.waits = False
            await self._stream.send_all(b"HTTP/1.1 100 Continue\r\n\r\n")
        data = None
        if not exchange.answer.ended:
            data = await self._read(trio.current_time() + BODY_TIMEOUT_S)
        if data is None and not exchange.answer.ended:
            raise _Refused(LATE)
        self._input += data or b""
        return bool(data) and not exchange.answer.ended

    def _hand_over(self, exchange: ServerExchange, frames: list[Frame]) -> None:
        if not exchange.opened:
            self.context.carriers[exchange.number] = self
            self._stop(self.context.admit(exchange, frames[1].raw if len(frames) > 1 else b""))
            self._exchange = exchange
        exchange.hear(frames)

    def _stop(self, refusal: HttpRefusal | None, unread: HttpRequest | None = None) -> None:
        if refusal is not None:
            if unread is not None:
                self.context.unread(unread, refusal.text.strip().removeprefix("mcpmock: "))
            raise _Refused(refusal)

    async def _attend(self, exchange: ServerExchange) -> bool:
        """Wait until the answer is written, and as long as nothing comes after it. Return whether
        another request may follow.
        """
        while self._exchange is exchange:
            if len(self._input) >= READ_SIZE:
                await self._turn.park()
                continue
            data = await self._read()
            if data:
                self._input += data
            elif self._ends_input(exchange):
                await self._await_rest(exchange)
                return False
            elif data is not None or not (self._input or exchange.answer.closing):
                return False  # it left, or was idle for too long
        if exchange.answer.closing or not exchange.whole:
            await self._linger()
            return False
        return True

    def _ends_input(self, exchange: ServerExchange) -> bool:
        """Return whether the client reads on behind its input's end, which the server now sees."""
        if self._exchange is not exchange or self.context.watch is None:
            return False
        if self._gone == "reset" or not self.wire.is_peer_open():
            return False
        self._input_ended = True
        if self._pair is not None:
            self._pair.end_input()
        return True

    async def _await_rest(self, exchange: ServerExchange) -> None:
        """Wait until the answer is written, or the client has closed its connection after all."""
        while self._exchange is exchange and self.wire.is_peer_open():
            with trio.move_on_after(_PEER_POLL_S):
                await self._turn.park()
