"""The rules of Streamable HTTP, as the client: the mirror of `server`.

A stage between something that speaks bare messages (a client on stdio) and a server on HTTP: each
message becomes one POST, what the exchanges answer becomes messages again. It does what an SDK's
transport does besides: it keeps the session id, opens the stream for messages
that belong to no request, resumes streams that broke, closes an exchange to cancel it (modern era)
and ends the session with a DELETE.
`protocol/http_reply` reads the answers; `channels/` sends the frames.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from math import inf

import attrs

from mcpmock.pipeline.stage import Action, Send, Stage, Wake
from mcpmock.protocol.correlation import CANCELLED
from mcpmock.protocol.http_reply import EVENT_STREAM, ReplyFlattener
from mcpmock.protocol.messages import (
    C2S,
    ExchangeEnd,
    Fragment,
    Frame,
    HttpRequest,
    HttpResponse,
    Notification,
    Request,
    Response,
    SseMeta,
    StreamEnd,
    decode,
    member,
    parse,
    parse_items,
)
from mcpmock.protocol.reassembly import Reassembly
from mcpmock.protocol.revisions import is_modern, speaks_modern, version_of
from mcpmock.protocol.transport_facts import (
    LAST_EVENT_ID_HEADER,
    PROTOCOL_VERSION_HEADER,
    SESSION_HEADER,
    Fact,
    Headers,
)

from .common import JSON, standard_headers

RETRY_DELAY_S = 1.0
"""Seconds until a stream that broke is resumed, where the server names no time."""
MAX_RESUME_FAILURES = 5
"""How often in a row a stream may fail to be resumed."""
INPUT_END_TIMEOUT_S = 0.5
"""How long open requests may go on when the client's input ends: scripts end theirs at once."""
DELETE_TIMEOUT_S = 1.0
"""Seconds for the answer to the DELETE."""
MAX_HELD_MESSAGES, MAX_HELD_BYTES = 1000, 1 << 20
"""What is held until `initialize` is answered; beyond, nothing waits for it any more."""


@attrs.define(eq=False)
class _Exchange:
    """An exchange that is open, or a broken stream on its way to the next one."""

    answering: ReplyFlattener
    modern: bool = False
    opens: bool = False
    """It carries `initialize`."""
    confirms: bool = False
    """It carries `notifications/initialized`."""
    listens: bool = False
    """It is the stream for what belongs to no request: it is opened again whenever it ends."""
    head: HttpResponse | None = None
    last_event: str | None = None
    retry: float = RETRY_DELAY_S
    failures: int = 0


class StreamableHttpClient(Stage):
    """C2S bare messages to exchange frames, S2C exchange frames to bare messages.

    `target` is path and query of the MCP endpoint, `headers` goes with every request, and `numbers`
    gives the exchanges theirs.
    """

    def __init__(self, target: str, headers: Headers, numbers: Iterator[int]) -> None:
        self._target, self._headers, self._numbers = target, headers, numbers
        self._session: str | None = None
        self._version: str | None = None
        self._legacy = False
        """Whether the client ever sent `initialize`."""
        self._exchanges: dict[int, _Exchange] = {}
        self._broken: list[tuple[float, _Exchange]] = []
        self._held: deque[bytes] = deque()
        self._held_bytes = 0
        self._newest = 0
        self._reassembly = Reassembly()
        self._leaving: Frame | None = None
        self._goodbye: int | None = None
        self._deadline = inf
        self._back: list[Frame] = []
        self._out: list[Frame] = []

    def feed(self, seen: Sequence[Frame], now: float) -> Iterable[Action]:
        for frame in seen:
            if frame.direction is C2S:
                self._hear_client(frame, now)
            else:
                self._hear_server(frame, now)
        return self._act(now)

    def wake(self, now: float) -> Iterable[Action]:
        due = [exchange for at, exchange in self._broken if at <= now]
        self._broken = [(at, exchange) for at, exchange in self._broken if at > now]
        for exchange in due:
            if exchange.listens or not exchange.answering.answered:
                self._listen(exchange)
        if now >= self._deadline and self._goodbye is None:
            self._say_goodbye(now)
        elif now >= self._deadline and self._goodbye is not None:
            self._abort(self._goodbye)
            self._leave()
        return self._act(now)

    def _act(self, now: float) -> Iterable[Action]:
        """What is to be sent, and when to come again."""
        while self._held and (not self._is_opening() or self._holds_too_much()):
            raw = self._held.popleft()
            self._held_bytes -= len(raw)
            self._post(raw)
        if self._leaving is not None and self._goodbye is None and not self._is_asking():
            self._say_goodbye(now)
        back, out = self._back, self._out
        self._back, self._out = [], []
        due = min([self._deadline, *(at for at, _ in self._broken)])
        wakes = (Wake(due),) if due < inf else ()
        return Send(back), Send(out), *wakes

    # What the client says.

    def _hear_client(self, frame: Frame, now: float) -> None:
        if self._leaving is not None:
            return
        match frame.fact:
            case None:
                self._hold(frame.raw)
            case Fragment():
                whole = self._reassembly.add(frame)
                if whole is not None and not whole.too_long:
                    self._hold(whole.frame.raw)
            case StreamEnd():
                self._leaving, self._deadline = frame, now + INPUT_END_TIMEOUT_S
            case _:
                self._out.append(frame)

    def _hold(self, raw: bytes) -> None:
        """Nothing is posted before the server has answered `initialize`: only then is there a
        session to post to.
        """
        if raw.strip():
            self._held.append(raw)
            self._held_bytes += len(raw)

    def _holds_too_much(self) -> bool:
        return len(self._held) > MAX_HELD_MESSAGES or self._held_bytes > MAX_HELD_BYTES

    def _is_opening(self) -> bool:
        open_ = self._exchanges.values()
        return any(exchange.opens and not exchange.answering.answered for exchange in open_)

    def _is_asking(self) -> bool:
        exchanges = [*self._exchanges.values(), *(exchange for _, exchange in self._broken)]
        return bool(self._held) or any(not exchange.answering.answered for exchange in exchanges)

    def _post(self, raw: bytes) -> None:
        message, items = parse(raw), parse_items(raw)
        if isinstance(message, Notification) and self._cancel(message):
            return
        methods = {item.method for item in items if isinstance(item, Request | Notification)}
        exchange = _Exchange(ReplyFlattener(raw))
        exchange.opens = "initialize" in methods
        exchange.confirms = "notifications/initialized" in methods
        if exchange.opens:
            self._open_session()
        if not self._legacy:
            self._version = version_of(message) or self._version
        exchange.modern = speaks_modern(message) or (not self._legacy and is_modern(self._version))
        if exchange.modern:
            fields = standard_headers(message, version_of(message) or self._version)
        else:
            fields = self._session_headers()
        body = [("Content-Type", JSON), ("Content-Length", str(len(raw)))]
        self._begin(exchange, "POST", [("Accept", f"{JSON}, {EVENT_STREAM}"), *body, *fields])
        self._out.append(Frame(C2S, raw, exchange=self._newest))

    def _open_session(self) -> None:
        """What an earlier session left is over."""
        self._legacy = True
        self._session = self._version = None
        for x in [x for x, exchange in self._exchanges.items() if exchange.listens]:
            self._abort(x)
        self._broken = [one for one in self._broken if not one[1].listens]

    def _cancel(self, message: Notification) -> bool:
        """Whether this is all that is to be done about a notification: in the modern era a request
        is cancelled by closing its exchange.
        """
        id_ = member(message.params, "requestId")
        if message.method != CANCELLED or id_ is None:
            return False
        for _, exchange in self._broken:
            exchange.answering.forget(id_)
        for x, exchange in self._exchanges.items():
            if exchange.answering.forget(id_):
                if exchange.modern:
                    self._abort(x)
                return exchange.modern
        return not self._legacy and is_modern(self._version)

    def _session_headers(self) -> Headers:
        fields = [] if self._session is None else [(SESSION_HEADER, self._session)]
        return (
            fields if self._version is None else [*fields, (PROTOCOL_VERSION_HEADER, self._version)]
        )

    def _listen(self, exchange: _Exchange) -> None:
        """Opens a stream: for what belongs to no request, or the rest of one that broke."""
        exchange.head = None
        fields = [("Accept", EVENT_STREAM), *self._session_headers()]
        if exchange.last_event is not None:
            fields.append((LAST_EVENT_ID_HEADER, exchange.last_event))
        self._begin(exchange, "GET", fields)

    def _begin(self, exchange: _Exchange, method: str, fields: Headers) -> None:
        self._newest = next(self._numbers)
        self._exchanges[self._newest] = exchange
        own = {name.lower() for name, _ in self._headers}
        fields = [field for field in fields if field[0].lower() not in own]
        self._say(self._newest, HttpRequest(method, self._target, [*self._headers, *fields]))

    def _abort(self, x: int) -> None:
        del self._exchanges[x]
        self._say(x, ExchangeEnd("closed"))

    def _say(self, x: int, fact: Fact) -> None:
        self._out.append(Frame(C2S, fact=fact, exchange=x))

    # The end.

    def _say_goodbye(self, now: float) -> None:
        """Ends the session and all that is open, and waits a little for the server to know."""
        exchanges, self._broken = list(self._exchanges), []
        if self._session is not None:
            self._begin(_Exchange(ReplyFlattener(None)), "DELETE", self._session_headers())
            self._goodbye = self._newest
            self._deadline = now + DELETE_TIMEOUT_S
        for x in exchanges:
            self._abort(x)
        if self._goodbye is None:
            self._goodbye = 0
            self._leave()

    def _leave(self) -> None:
        self._exchanges.clear()
        self._held.clear()
        self._deadline = inf
        assert self._leaving is not None
        self._out.append(self._leaving)

    # What the server answers.

    def _hear_server(self, frame: Frame, now: float) -> None:
        x = frame.exchange
        if x is None:
            self._back.append(frame)
            return
        exchange = self._exchanges.get(x)
        if exchange is None:
            return
        match frame.fact:
            case HttpResponse() as head:
                self._hear_head(exchange, head)
            case SseMeta(id=id_, retry=retry):
                exchange.last_event = exchange.last_event if id_ is None else id_ or None
                exchange.retry = exchange.retry if retry is None else retry / 1000
            case ExchangeEnd():
                del self._exchanges[x]
                if x == self._goodbye:
                    self._leave()
                    return
                if self._is_to_resume(exchange):
                    self._broken.append((now + exchange.retry, exchange))
                    return
            case _:
                pass
        heard = exchange.answering.hear(frame)
        if isinstance(frame.fact, ExchangeEnd):
            heard += exchange.answering.fail("mcpmock: the response ended without an answer")
        if exchange.opens:
            self._learn(heard)
        if exchange.modern:
            _note_cancels(exchange, heard)
        self._back += heard

    def _hear_head(self, exchange: _Exchange, head: HttpResponse) -> None:
        exchange.head = head
        if exchange.opens and head.status < 300:
            self._session = head.header(SESSION_HEADER)
        if exchange.confirms and head.status < 300 and self._session is not None:
            exchange.confirms = False
            self._listen(_Exchange(ReplyFlattener(None), listens=True))

    def _learn(self, heard: Sequence[Frame]) -> None:
        """The revision that the server agreed to."""
        for frame in heard:
            if isinstance(frame.content, Response):
                version = decode(member(frame.content.result, "protocolVersion") or b"null")
                self._version = version if isinstance(version, str) else self._version

    def _is_to_resume(self, exchange: _Exchange) -> bool:
        """Whether a stream that is over is opened again: that for what belongs to no request never
        ends, and an answer can still come where the events had ids.
        """
        waiting = exchange.last_event is not None and not exchange.answering.answered
        if exchange.modern or not (exchange.listens or waiting):
            return False
        head = exchange.head
        if head is not None and head.status == 200 and head.media_type == EVENT_STREAM:
            exchange.failures = 0
            return True
        exchange.failures += 1
        broken = head is None or head.status >= 500
        return broken and exchange.failures <= MAX_RESUME_FAILURES


def _note_cancels(exchange: _Exchange, heard: Sequence[Frame]) -> None:
    """A listen may be ended by a cancel of the server's, which then is all the answer there is."""
    for frame in heard:
        content = frame.content
        if isinstance(content, Notification) and content.method == CANCELLED:
            exchange.answering.forget(member(content.params, "requestId") or b"null")
