"""The rules of Streamable HTTP, as the client: the mirror of `server`.

A stage between a source of bare messages (a client on stdio) and a server on HTTP: each message
becomes one POST, and the responses become messages again. Like the transport of an SDK it keeps the
session id, opens the standalone stream (a GET, for messages that belong to no request), resumes
broken streams, closes an exchange to cancel its request (modern era) and ends the session with a
DELETE. Where the server has forgotten the session, another one takes its place (`session_memory`).
`protocol/http_reply` reads the responses; `channels/` sends the frames.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence, Set
from math import inf
from typing import Any

import attrs

from mcpmock.lazy_pattern import lazy_pattern
from mcpmock.pipeline.stage import Action, Wake
from mcpmock.protocol.correlation import CANCELLED
from mcpmock.protocol.http_reply import EVENT_STREAM, HeldMessages, ReplyFlattener, request_ids
from mcpmock.protocol.messages import (
    S2C,
    Batch,
    ExchangeEnd,
    Frame,
    HttpRequest,
    HttpResponse,
    Message,
    Notification,
    Request,
    Response,
    SseMeta,
    Stderr,
    decode,
    member,
    parse,
    parse_items,
)
from mcpmock.protocol.mirrored_headers import fields_of
from mcpmock.protocol.revisions import is_modern, speaks_modern, version_of
from mcpmock.protocol.transport_facts import (
    LAST_EVENT_ID_HEADER,
    PROTOCOL_VERSION_HEADER,
    SESSION_HEADER,
    Headers,
)
from mcpmock.transports.exchange_stages import ExchangeClient
from mcpmock.transports.session_memory import ListProbe, SessionMemory, is_sent_again

from .common import JSON

RETRY_DELAY_S = 1.0
"""Delay before a broken stream is resumed, unless the server sent `retry:`."""
MAX_RESUME_FAILURES = 5
"""Number of failed attempts in a row after which a stream is given up."""
MAX_REFUSAL_BYTES = 1 << 16
"""The longest response that is looked at for whether the session is gone."""
RENEWED = b"mcpmock: the server had forgotten the session; another one was opened\n"
"""The note in the recording, on the server's standard error."""
DELETE_TIMEOUT_S = 1.0
"""Time for the response to the DELETE."""


@attrs.define(eq=False)
class _RequestState:
    """An open exchange, or a broken stream that will be resumed in a new one."""

    reply: ReplyFlattener
    modern: bool = False
    initializes: bool = False
    """It carries `initialize`."""
    asks: bool = False
    """It carries a request."""
    opens_stream: bool = False
    """The standalone stream is opened once it is accepted."""
    standalone: bool = False
    """It is the standalone stream, which is opened again whenever it ends."""
    head: HttpResponse | None = None
    last_event: str | None = None
    retry: float = RETRY_DELAY_S
    failures: int = 0
    raw: bytes = b""
    """The message that it carries."""
    session: str | None = None
    """The session that it names."""
    refusal: list[Frame] | None = None
    """What came so far of a response that may say that the session is gone."""
    again: bool = False
    """It was refused in the session before."""
    opened: bool = False
    """The standalone stream was open."""
    own: bool = False
    """The client knows nothing of it."""
    probe: ListProbe | None = None


@attrs.define(eq=False)
class _Renewal:
    """Another session on its way, in the place of the one before."""

    session: str | None
    version: str | None
    awaited: _RequestState
    """Whose response comes next: that of `initialize`, then that of `initialized`."""
    refused: list[_RequestState] = attrs.field(factory=list)
    """What has to be sent again."""


class StreamableHttpClient(ExchangeClient):
    """The client's side: keeps the session, its streams and its end."""

    def __init__(
        self,
        target: str,
        headers: Headers,
        numbers: Iterator[int],
        *,
        client_opens_stream: bool = False,
        in_order: bool = False,
        renews: bool = False,
    ) -> None:
        super().__init__(target, headers, numbers)
        self._renews = renews
        """Whether a session that the server has forgotten is replaced by another one."""
        self._kept: SessionMemory | None = None
        self._renewal: _Renewal | None = None
        self._renewable = False
        """Whether the client has sent something since the last renewal."""
        self._in_order = in_order
        """Whether a notification, or an answer, is accepted before anything else is posted: on two
        connections, what is sent later may arrive first.
        """
        self._client_opens_stream = client_opens_stream
        """Whether the client says when to open the standalone stream, by a GET without an exchange.
        """
        self._session: str | None = None
        self._version: str | None = None
        self._legacy = False
        """Whether the client has sent `initialize`."""
        self._exchanges: dict[int, _RequestState] = {}
        self._broken: list[tuple[float, _RequestState]] = []
        self._held = HeldMessages()
        self._delete_exchange: int | None = None

    def wake(self, now: float) -> Iterable[Action]:
        due = [exchange for at, exchange in self._broken if at <= now]
        self._broken = [(at, exchange) for at, exchange in self._broken if at > now]
        for exchange in due:
            if exchange.standalone or not exchange.reply.answered:
                self._open_stream(exchange)
        if now >= self._deadline and self._delete_exchange is None:
            self._end_session(now)
        elif now >= self._deadline and self._delete_exchange is not None:
            self._close_exchange(self._delete_exchange)
            self._pass_input_end()
        return self._take_actions(now)

    def _take_actions(self, now: float) -> Sequence[Action]:
        self._post_held()
        if (
            self._input_end is not None
            and self._delete_exchange is None
            and not self._has_open_requests()
        ):
            self._end_session(now)
        due = min([self._deadline, *(at for at, _ in self._broken)])
        wakes = (Wake(due),) if due < inf else ()
        return *self._take_frames(), *wakes

    # From the client.

    def _take_from_client(self, frame: Frame, now: float) -> None:
        if isinstance(frame.fact, HttpRequest):
            self._post_held()
            last = next(reversed(self._exchanges.values()), None)
            if last is not None and last.head is None and last.reply.answered:
                last.opens_stream = True  # a notification, or a response to the server
            else:
                self._open_stream(_RequestState(ReplyFlattener(None), standalone=True))
        else:
            super()._take_from_client(frame, now)

    def _hold_message(self, raw: bytes) -> None:
        # The response to `initialize` carries the session id, which clients "MUST include [...] in
        # the `MCP-Session-Id` header on all of their subsequent HTTP requests" (2025-11-25,
        # "Session Management").
        if raw.strip():
            self._held.keep(raw)

    def _post_held(self) -> None:
        while self._held and (self._held.overfull or not self._must_wait()):
            self._post_message(self._held.pop())

    def _must_wait(self) -> bool:
        """Return whether messages wait: for `initialize`, for a stream to open where recorded, or
        for what has to arrive first.
        """
        open_ = self._exchanges.values()
        opens = self._client_opens_stream and any(exchange.opens_stream for exchange in open_)
        if self._renewal is not None:
            return True
        posts = (one for one in open_ if not one.asks and not one.standalone)
        unheard = self._in_order and any(exchange.head is None for exchange in posts)
        return self._awaits_initialize() or opens or unheard

    def _awaits_initialize(self) -> bool:
        open_ = self._exchanges.values()
        return any(exchange.initializes and not exchange.reply.answered for exchange in open_)

    def _has_open_requests(self) -> bool:
        exchanges = [*self._exchanges.values(), *(exchange for _, exchange in self._broken)]
        waits = bool(self._held) or self._renewal is not None
        return waits or any(not exchange.reply.answered for exchange in exchanges)

    def _post_message(self, raw: bytes) -> None:
        message, items = parse(raw), parse_items(raw)
        if isinstance(message, Notification) and self._cancel_request(message):
            return
        self._renewable = True
        methods = {item.method for item in items if isinstance(item, (Request, Notification))}
        if "initialize" in methods:
            self._kept = SessionMemory(raw) if self._renews else None
        elif self._kept is not None:
            self._kept.note_message(message, raw)
        self._post(raw, message, methods)

    def _post(self, raw: bytes, message: Message, methods: Set[str], **how: Any) -> int:
        """Post a message; `how` are the fields of its state."""
        exchange = _RequestState(ReplyFlattener(raw), raw=raw, **how)
        exchange.asks = not exchange.reply.answered
        exchange.initializes = "initialize" in methods
        confirms = "notifications/initialized" in methods
        exchange.opens_stream = confirms and not self._client_opens_stream
        if exchange.initializes:
            self._forget_session()
        if not self._legacy:
            self._version = version_of(message) or self._version
        exchange.modern = speaks_modern(message) or (not self._legacy and is_modern(self._version))
        modern = exchange.modern
        fields = fields_of(message, self._version) if modern else self._session_headers()
        # 2025-11-25, "Sending Messages to the Server": both types MUST be in Accept.
        return self._open(exchange, "POST", [("Accept", f"{JSON}, {EVENT_STREAM}"), *fields], raw)

    def _forget_session(self) -> None:
        """Drop the session id, revision and standalone stream of an earlier session."""
        self._legacy = True
        self._session = self._version = None
        for x in [x for x, exchange in self._exchanges.items() if exchange.standalone]:
            self._close_exchange(x)
        self._broken = [one for one in self._broken if not one[1].standalone]

    def _cancel_request(self, message: Notification) -> bool:
        """Forget the cancelled request. False if the notification must still be posted."""
        id_ = member(message.params, "requestId")
        if message.method != CANCELLED or id_ is None:
            return False
        for _, exchange in self._broken:
            exchange.reply.forget(id_)
        for x, exchange in self._exchanges.items():
            if exchange.reply.forget(id_):
                if exchange.modern:  # 2026-07-28: closing the response is the cancellation
                    self._close_exchange(x)
                return exchange.modern
        return not self._legacy and is_modern(self._version)

    def _session_headers(self) -> Headers:
        fields = ((SESSION_HEADER, self._session), (PROTOCOL_VERSION_HEADER, self._version))
        return [(name, value) for name, value in fields if value is not None]

    def _open_stream(self, exchange: _RequestState) -> None:
        """Open the standalone stream, or resume a broken one."""
        exchange.head = None
        # 2025-11-25: a stream is always resumed by GET, whether a GET or a POST began it.
        fields = [("Accept", EVENT_STREAM), *self._session_headers()]
        if exchange.last_event is not None:
            fields.append((LAST_EVENT_ID_HEADER, exchange.last_event))
        self._open(exchange, "GET", fields)

    def _open(
        self, exchange: _RequestState, method: str, fields: Headers, body: bytes = b""
    ) -> int:
        x = self._add_request(method, self._target, fields, body)
        exchange.session = None if exchange.modern else self._session
        self._exchanges[x] = exchange
        return x

    def _close_exchange(self, x: int) -> None:
        del self._exchanges[x]
        self._add_fact(x, ExchangeEnd("closed"))

    # The end of the session.

    def _end_session(self, now: float) -> None:
        """Delete the session and close every exchange. The input's end waits for the response."""
        exchanges, self._broken = list(self._exchanges), []
        if self._session is not None:
            delete = _RequestState(ReplyFlattener(None))
            self._delete_exchange = self._open(delete, "DELETE", self._session_headers())
            self._deadline = now + DELETE_TIMEOUT_S
        for x in exchanges:
            self._close_exchange(x)
        if self._delete_exchange is None:
            self._delete_exchange = 0
            self._pass_input_end()

    def _pass_input_end(self) -> None:
        self._exchanges.clear()
        self._held.take()
        self._deadline = inf
        assert self._input_end is not None
        self._to_server.append(self._input_end)

    # From the server.

    def _take_from_server(self, frame: Frame, now: float) -> None:
        x = frame.exchange
        if x is None:
            self._to_client.append(frame)
            return
        exchange = self._exchanges.get(x)
        if exchange is None:
            return
        if self._renews and self._is_refusal(exchange, frame):
            refusal = exchange.refusal = [*(exchange.refusal or ()), frame]
            ended = isinstance(frame.fact, ExchangeEnd)
            if not ended and sum(len(one.raw) for one in refusal) <= MAX_REFUSAL_BYTES:
                return
            if ended and x != self._delete_exchange and _is_session_gone(exchange, refusal):
                self._lose_session(x, exchange)
                return
            exchange.session, exchange.refusal = None, None
            for one in refusal:
                self._take_from_exchange(x, exchange, one, now)
            return
        self._take_from_exchange(x, exchange, frame, now)

    def _take_from_exchange(
        self, x: int, exchange: _RequestState, frame: Frame, now: float
    ) -> None:
        match frame.fact:
            case HttpResponse() as head:
                self._take_head(exchange, head)
            case SseMeta(id=id_, retry=retry):
                # WHATWG, "Server-sent events": an empty id resets the last event ID.
                exchange.last_event = exchange.last_event if id_ is None else id_ or None
                exchange.retry = exchange.retry if retry is None else retry / 1000
            case ExchangeEnd():
                self._exchanges.pop(x, None)
                if x == self._delete_exchange:
                    self._pass_input_end()
                    return
                if self._must_reopen(exchange):
                    self._broken.append((now + exchange.retry, exchange))
                    return
            case _:
                pass
        messages = exchange.reply.feed(frame)
        if isinstance(frame.fact, ExchangeEnd):
            messages += exchange.reply.unanswered(frame.fact.how)
        refused = exchange.head is not None and exchange.head.status >= 400
        failed = isinstance(frame.fact, ExchangeEnd)
        if (exchange.standalone and refused) or (exchange.probe is not None and failed):
            messages = []  # the client has asked nothing
        if exchange.initializes:
            self._note_revision(messages)
        if exchange.modern:
            _note_cancels(exchange, messages)
        self._to_client += messages if self._kept is None else self._noted(exchange, messages)
        if self._renewal is not None and exchange is self._renewal.awaited:
            self._go_on_renewing(self._renewal, messages, ended=x not in self._exchanges)

    def _take_head(self, exchange: _RequestState, head: HttpResponse) -> None:
        exchange.head = head
        if exchange.initializes and head.status < 300:
            self._session = head.header(SESSION_HEADER)
        # Like the TypeScript SDK after the 202 for `initialized`; a server without session ids gets
        # no GET, as from the Python SDK (1.30).
        may_open = self._client_opens_stream or (head.status < 300 and self._session is not None)
        if exchange.opens_stream and may_open:
            exchange.opens_stream = False
            self._open_stream(_RequestState(ReplyFlattener(None), standalone=True))

    def _note_revision(self, messages: Sequence[Frame]) -> None:
        """Keep the revision in the answer to `initialize`, for the header of later requests."""
        for frame in messages:
            if isinstance(frame.content, Response):
                version = decode(member(frame.content.result, "protocolVersion") or b"null")
                self._version = version if isinstance(version, str) else self._version

    def _must_reopen(self, exchange: _RequestState) -> bool:
        """Return whether it is the standalone stream, or has event ids and lacks an answer."""
        waiting = exchange.last_event is not None and not exchange.reply.answered
        if exchange.modern or not (exchange.standalone or waiting):
            return False  # 2026-07-28 has no resumption: the request is sent again, with a new id
        head = exchange.head
        if head is not None and head.status == 200 and head.media_type == EVENT_STREAM:
            exchange.failures = 0
            exchange.opened = True
            return True
        exchange.failures += 1
        # Any other status is final: 405 says that the server has no such stream.
        broken = head is None or head.status >= 500
        return broken and exchange.failures <= MAX_RESUME_FAILURES

    # Another session in the place of one that is gone.

    def _is_refusal(self, exchange: _RequestState, frame: Frame) -> bool:
        """Return whether the frame is part of a response that may say that the session is gone."""
        if exchange.refusal is not None:
            return True
        head = frame.fact
        if not isinstance(head, HttpResponse) or exchange.session is None or self._kept is None:
            return False
        # A server without standalone streams may answer a GET with 404 instead of 405.
        return head.status in _GONE and (not exchange.standalone or exchange.opened)

    def _lose_session(self, x: int, exchange: _RequestState) -> None:
        """Take a request that was refused because its session is gone: open another session unless
        that was done, and send the request again there, once.
        """
        del self._exchanges[x]
        if self._renewal is None and exchange.session == self._session and self._renewable:
            self._begin_renewal()
        resumes = exchange.last_event is not None or not exchange.raw
        if exchange.again or exchange.own or resumes or self._kept is None:
            self._refuse(exchange)
        elif not is_sent_again(parse(exchange.raw)):
            pass
        elif self._renewal is not None:
            self._renewal.refused.append(exchange)
        elif exchange.session != self._session:
            self._send_again(exchange)
        else:
            self._refuse(exchange)
        if self._renewal is not None and exchange is self._renewal.awaited:
            self._go_on_renewing(self._renewal, (), ended=True)

    def _refuse(self, exchange: _RequestState) -> None:
        """Give the client the refusal as it came."""
        refusal, exchange.refusal = exchange.refusal or [], None
        for frame in refusal:
            messages = exchange.reply.feed(frame)
            self._to_client += [] if exchange.own or exchange.standalone else messages

    def _begin_renewal(self) -> None:
        assert self._kept is not None
        assert self._kept.handshake is not None
        session, version = self._session, self._version
        self._renewable = False
        self._renewal = _Renewal(session, version, self._post_own(self._kept.handshake))

    def _go_on_renewing(self, renewal: _Renewal, messages: Sequence[Frame], *, ended: bool) -> None:
        """Note what came on the exchange that is waited for."""
        kept, awaited = self._kept, renewal.awaited
        assert kept is not None
        if awaited.initializes:
            if not awaited.reply.answered:
                return
            answers = [one.content for one in messages if isinstance(one.content, Response)]
            if not any(answer.result is not None for answer in answers):
                self._session, self._version, self._renewal = renewal.session, renewal.version, None
                for refused in renewal.refused:
                    self._refuse(refused)
                return
            if kept.initialized is not None:
                renewal.awaited = self._post_own(kept.initialized)
                return
        elif awaited.head is None and not ended:
            return
        self._renewal = None
        self._to_client.append(Frame(S2C, RENEWED, b"", Stderr()))
        for raw in kept.settings:
            self._post_own(raw)
        for refused in renewal.refused:
            self._send_again(refused)
        for probe in kept.probes():
            self._post_own(probe.raw, probe=probe)

    def _post_own(self, raw: bytes, probe: ListProbe | None = None) -> _RequestState:
        message = parse(raw)
        methods = {message.method} if isinstance(message, (Request, Notification)) else set()
        return self._exchanges[self._post(raw, message, methods, own=True, probe=probe)]

    def _send_again(self, exchange: _RequestState) -> None:
        self._post(exchange.raw, parse(exchange.raw), set(), again=True)

    def _noted(self, exchange: _RequestState, messages: Sequence[Frame]) -> list[Frame]:
        """Return the messages that are the client's."""
        assert self._kept is not None
        passed: list[Frame] = []
        for frame in messages:
            answer = frame.content
            if not isinstance(answer, (Response, Batch)):
                passed.append(frame)
            elif exchange.probe is not None:
                found = self._kept.compare(exchange.probe, answer)
                if isinstance(found, ListProbe):
                    self._post_own(found.raw, probe=found)
                elif found is not None:
                    passed.append(Frame(S2C, found))
            elif not exchange.own:
                if b"/list" in exchange.raw:
                    self._kept.note_answer(parse(exchange.raw), answer)
                passed.append(frame)
        return passed


_GONE = (404, 400)
_SAYS_GONE = lazy_pattern(rb"session|not initialized", re.IGNORECASE)


def _is_session_gone(exchange: _RequestState, refusal: Sequence[Frame]) -> bool:
    """Take 404 (MCP, "Session Management"), or 400 with text that says so, as some servers have."""
    head = refusal[0].fact
    assert isinstance(head, HttpResponse)
    if head.status == 404:
        return True
    # server-everything (TypeScript SDK): 400, "No valid session ID provided", with the id null;
    # after a restart of a server with one transport: "Server not initialized".
    ids = request_ids(parse_items(exchange.raw))
    answers = [parse(one.raw) for one in refusal]
    if any(isinstance(one, Response) and one.id in ids for one in answers):
        return False
    return any(_SAYS_GONE.search(one.raw) for one in refusal)


def _note_cancels(exchange: _RequestState, messages: Sequence[Frame]) -> None:
    """Forget what the server cancelled: a cancelled `subscriptions/listen` gets no answer."""
    for frame in messages:
        content = frame.content
        if isinstance(content, Notification) and content.method == CANCELLED:
            exchange.reply.forget(member(content.params, "requestId") or b"null")
