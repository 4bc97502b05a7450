"""The rules of HTTP+SSE (2024-11-05), both sides: one event stream carries every message of the
server, and its first event names the URL to which the client POSTs its own.

Both classes are stages between bare messages and exchanges, as in `streamable_http.server` and
`streamable_http.client`, the transport that replaced this one. Each stream is one session.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from urllib.parse import parse_qs

from mcpmock.pipeline.stage import Action, Hangup, Send, Stage, Wake
from mcpmock.protocol.correlation import CANCELLED
from mcpmock.protocol.http_reply import (
    EVENT_STREAM,
    HeldMessages,
    ReplyFlattener,
    flatten,
    ids_asked,
)
from mcpmock.protocol.messages import (
    C2S,
    S2C,
    ExchangeEnd,
    Fragment,
    Frame,
    HttpBody,
    HttpRequest,
    HttpResponse,
    Notification,
    Opaque,
    ProcessExit,
    Response,
    SseMeta,
    StreamEnd,
    member,
    parse,
    parse_items,
)
from mcpmock.protocol.reassembly import Reassembly
from mcpmock.protocol.transport_facts import Fact, Headers

from .headers import path_and_query, with_defaults

INPUT_END_TIMEOUT_S = 0.5
"""Time for open requests to be answered after the end of the client's input."""
_SESSION_PARAMETER = "sessionId"


class SseServer(Stage):
    """Turns C2S exchange frames into bare messages, and S2C bare messages into events.

    A GET of `path` opens the stream, messages are POSTed to `message_path`, and `mint` creates the
    session id in the query of these POSTs. The responses to POSTs have the statuses and texts
    of the Python SDK (`mcp/server/sse.py`), where it has the case.
    """

    def __init__(self, path: str, message_path: str, mint: Callable[[], str]) -> None:
        self._path, self._message_path = path.rstrip("/"), message_path
        self._mint = mint
        self._session: str | None = None
        self._stream: int | None = None
        self._ended = False
        self._arriving: dict[int, HttpRequest] = {}
        self._reassembly = Reassembly()
        self._held = HeldMessages()
        self._to_client: list[Frame] = []
        self._to_server: list[Frame] = []

    def feed(self, seen: Sequence[Frame], now: float) -> Iterable[Action]:  # noqa: ARG002
        for frame in seen:
            if frame.direction is C2S:
                self._take_from_client(frame)
            else:
                self._take_from_server(frame)
        to_client, to_server = self._to_client, self._to_server
        self._to_client, self._to_server = [], []
        return Send(to_client), Send(to_server)

    def _take_from_client(self, frame: Frame) -> None:
        x = frame.exchange
        match frame.fact:
            case StreamEnd():
                self._end_session(frame)
            case HttpRequest() as head if x is not None and head.has_body:
                self._arriving[x] = head
            case HttpRequest() as head if x is not None:
                self._serve_request(x, head, b"")
            case ExchangeEnd() if x is not None:
                self._arriving.pop(x, None)
                self._reassembly.cut(C2S, x)
                if x == self._stream:
                    self._stream = None
                    self._end_session(Frame(C2S, b"", b"", StreamEnd("closed")))
            case None | Fragment() | HttpBody() if x in self._arriving:
                whole = self._reassembly.add(frame)
                if whole is not None:
                    head = self._arriving.pop(x)
                    self._serve_request(x, head, whole.frame.raw, too_long=whole.too_long)
            case _ if x is None:
                self._to_server.append(frame)
            case _:
                pass

    def _end_session(self, frame: Frame) -> None:
        if not self._ended:
            self._ended = True
            self._to_server.append(frame)

    def _serve_request(
        self, x: int, head: HttpRequest, body: bytes, *, too_long: bool = False
    ) -> None:
        streams, messages = head.path.rstrip("/") == self._path, head.path == self._message_path
        if messages and head.method == "POST":
            self._accept_post(x, head, body, too_long=too_long)
        elif streams and head.method == "GET":
            self._begin_stream(x)
        elif streams or messages:
            # RFC 9110, 15.5.6: a 405 must have an Allow field.
            allow = ("Allow", "POST" if messages else "GET")
            self._add_response(x, 405, "Method Not Allowed", "Method Not Allowed", allow)
        else:
            self._add_response(x, 404, "Not Found", "Not Found")

    def _begin_stream(self, x: int) -> None:
        if self._session is not None:
            self._add_response(x, 409, "Conflict", "The stream of this session is open already")
            return
        self._session, self._stream = self._mint(), x
        fields = [("Content-Type", EVENT_STREAM), ("Cache-Control", "no-cache, no-transform")]
        self._add_fact(x, HttpResponse(200, "OK", fields))
        # 2024-11-05, "HTTP with SSE": "the server MUST send an `endpoint` event" when a client
        # connects; all SDKs send a relative URI, and wait for it before their first POST.
        self._add_event(
            x, "endpoint", f"{self._message_path}?{_SESSION_PARAMETER}={self._session}".encode()
        )
        for raw in self._held.take():
            self._add_event(x, "message", raw)

    def _accept_post(self, x: int, head: HttpRequest, body: bytes, *, too_long: bool) -> None:
        ids = parse_qs(head.target.partition("?")[2]).get(_SESSION_PARAMETER)
        raw = flatten(body)
        if ids is None:
            self._add_response(x, 400, "Bad Request", f"{_SESSION_PARAMETER} is required")
        elif ids[0] != self._session or self._stream is None:
            self._add_response(x, 404, "Not Found", "Could not find session")
        elif too_long:
            self._add_response(x, 413, "Content Too Large", "mcpmock: the body is too long")
        elif isinstance(parse(raw), Opaque):
            self._add_response(x, 400, "Bad Request", "Could not parse message")
        else:
            self._add_response(x, 202, "Accepted", "Accepted")
            self._to_server.append(Frame(C2S, raw))

    def _take_from_server(self, frame: Frame) -> None:
        match frame.fact:
            case None:
                self._push_message(flatten(frame.raw))
            case Fragment():
                whole = self._reassembly.add(frame)
                if whole is not None and not whole.too_long:
                    self._push_message(flatten(whole.frame.raw))
            case StreamEnd() | ProcessExit():
                if self._stream is not None:
                    self._add_fact(self._stream, ExchangeEnd())
                    self._stream = None
                self._ended = True
                self._to_client.append(frame)
            case _:
                self._to_client.append(frame)

    def _push_message(self, raw: bytes) -> None:
        if isinstance(parse(raw), Opaque):
            return  # a banner on stdout: SDK clients report data that is not JSON-RPC as an error
        if self._stream is not None:
            self._add_event(self._stream, "message", raw)
        elif self._session is None:
            self._held.add(raw)

    def _add_response(
        self, x: int, status: int, reason: str, text: str, *more: tuple[str, str]
    ) -> None:
        self._add_fact(x, HttpResponse(status, reason, [("Content-Type", "text/plain"), *more]))
        self._to_client.append(Frame(S2C, text.encode(), fact=HttpBody(), exchange=x))
        self._add_fact(x, ExchangeEnd())

    def _add_event(self, x: int, event: str, data: bytes) -> None:
        self._add_fact(x, SseMeta(event=event))
        self._to_client.append(Frame(S2C, data, exchange=x))

    def _add_fact(self, x: int, fact: Fact) -> None:
        self._to_client.append(Frame(S2C, fact=fact, exchange=x))


class SseClient(Stage):
    """Turns C2S bare messages into exchange frames, and S2C exchange frames into bare messages.

    `target` is the path and query of the event stream, every request has `headers`, and each
    exchange takes its number from `numbers`.
    """

    def __init__(self, target: str, headers: Headers, numbers: Iterator[int]) -> None:
        self._target, self._headers, self._numbers = target, headers, numbers
        self._stream = ReplyFlattener(None)
        self._number = next(numbers)
        self._endpoint_is_next = False
        """Whether the next data is that of the `endpoint` event."""
        self._endpoint: str | None = None
        self._posts: dict[int, ReplyFlattener] = {}
        self._held: deque[bytes] = deque()
        self._reassembly = Reassembly()
        self._input_end: Frame | None = None
        self._stream_closed = False
        self._ended = False
        """Whether the server closed the stream, which ends the session."""
        self._to_client: list[Frame] = []
        self._to_server: list[Frame] = []

    def begin(self, now: float) -> Iterable[Action]:
        self._add_request(self._number, "GET", self._target, [("Accept", EVENT_STREAM)])
        return self._take_actions(now)

    def feed(self, seen: Sequence[Frame], now: float) -> Iterable[Action]:
        had_ended = self._input_end is not None
        for frame in seen:
            if frame.direction is S2C:
                self._take_from_server(frame)
            elif not self._stream_closed and self._input_end is None:
                self._take_from_client(frame)
        actions = self._take_actions(now)
        if self._input_end is not None and not self._stream_closed and not had_ended:
            # A script closes its input behind its last request: the answer still has to come.
            return *actions, Wake(now + INPUT_END_TIMEOUT_S)
        return actions

    def wake(self, now: float) -> Iterable[Action]:
        if self._input_end is not None and not self._stream_closed:
            self._end_session(self._input_end)
        return self._take_actions(now)

    def _take_actions(self, now: float) -> Sequence[Action]:  # noqa: ARG002
        while self._held and self._endpoint is not None:
            self._post(self._held.popleft(), self._endpoint)
        if self._input_end is not None and not self._stream_closed and self._stream.answered:
            self._end_session(self._input_end)
        to_client, to_server = self._to_client, self._to_server
        self._to_client, self._to_server = [], []
        if self._ended:  # no later message of the client can reach the server
            return Send(to_client), Send(to_server), Hangup("the server's stream has ended")
        return Send(to_client), Send(to_server)

    def _take_from_client(self, frame: Frame) -> None:
        match frame.fact:
            case None:
                self._hold_message(frame.raw)
            case Fragment():
                whole = self._reassembly.add(frame)
                if whole is not None and not whole.too_long:
                    self._hold_message(whole.frame.raw)
            case StreamEnd():
                self._input_end = frame
            case _:
                self._to_server.append(frame)

    def _hold_message(self, raw: bytes) -> None:
        message = parse(raw)
        if not raw.strip():
            return
        self._stream.open += ids_asked(parse_items(raw))
        if isinstance(message, Notification) and message.method == CANCELLED:
            self._stream.forget(member(message.params, "requestId") or b"")
        self._held.append(raw)

    def _post(self, raw: bytes, endpoint: str) -> None:
        x = next(self._numbers)
        self._posts[x] = ReplyFlattener(raw)
        length = ("Content-Length", str(len(raw)))
        self._add_request(x, "POST", endpoint, [("Content-Type", "application/json"), length])
        self._to_server.append(Frame(C2S, raw, exchange=x))

    def _add_request(self, x: int, method: str, target: str, fields: Headers) -> None:
        head = HttpRequest(method, target, with_defaults(self._headers, fields))
        self._to_server.append(Frame(C2S, fact=head, exchange=x))

    def _end_session(self, frame: Frame) -> None:
        self._stream_closed = True
        for x in (self._number, *self._posts):
            self._to_server.append(Frame(C2S, fact=ExchangeEnd("closed"), exchange=x))
        self._posts.clear()
        self._to_server.append(frame)

    def _take_from_server(self, frame: Frame) -> None:
        if frame.exchange is None:
            self._to_client.append(frame)
        elif self._stream_closed:
            pass
        elif frame.exchange == self._number:
            self._take_event(frame)
        elif (reply := self._posts.get(frame.exchange)) is not None:
            self._take_post_response(frame, reply)

    def _take_event(self, frame: Frame) -> None:
        if frame.fact is None and self._endpoint_is_next:
            self._endpoint = path_and_query(frame.raw.decode("utf-8", "replace"), self._target)
        self._endpoint_is_next = isinstance(frame.fact, SseMeta) and frame.fact.event == "endpoint"
        self._to_client += self._stream.hear(frame)
        if isinstance(frame.fact, ExchangeEnd):
            missing = "an endpoint" if self._endpoint is None else "an answer"
            self._to_client += self._stream.fail(f"mcpmock: the stream ended without {missing}")
            self._stream_closed = self._ended = True
            self._to_client.append(Frame(S2C, b"", b"", StreamEnd(frame.fact.how)))

    def _take_post_response(self, frame: Frame, reply: ReplyFlattener) -> None:
        # The JSON-RPC answer comes on the stream; the response to the POST matters only if it is
        # a refusal, which answers the request with an error.
        messages = reply.hear(frame)
        if isinstance(frame.fact, ExchangeEnd):
            del self._posts[frame.exchange or 0]
        for message in messages:
            if isinstance(message.content, Response) and message.content.id is not None:
                self._stream.forget(message.content.id)
        self._to_client += messages
