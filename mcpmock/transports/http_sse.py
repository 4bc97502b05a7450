"""The rules of HTTP+SSE (2024-11-05), both sides: one event stream carries every message of the
server, and its first event names the URL to which the client POSTs its own.

Both classes are stages between bare messages and exchanges, as in `streamable_http.server` and
`streamable_http.client`, the transport that replaced this one. Each stream is one session.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from urllib.parse import parse_qs

from mcpmock.pipeline.stage import Action, Hangup, Wake
from mcpmock.protocol.correlation import CANCELLED
from mcpmock.protocol.http_reply import (
    EVENT_STREAM,
    HeldMessages,
    ReplyFlattener,
    flatten,
    request_ids,
)
from mcpmock.protocol.messages import (
    C2S,
    S2C,
    ExchangeEnd,
    Frame,
    HttpBody,
    HttpRequest,
    HttpResponse,
    Notification,
    Opaque,
    Response,
    SseMeta,
    StreamEnd,
    member,
    parse,
    parse_items,
)
from mcpmock.protocol.transport_facts import Fact, Headers, plain_path

from .exchange_stages import ExchangeClient, ExchangeServer
from .headers import path_and_query

_SESSION_PARAMETER = "sessionId"


class SseServer(ExchangeServer):
    """The server's side: bare messages become events.

    A GET of `path` opens the stream, messages are POSTed to `message_path`, and `mint` creates the
    session id in the query of these POSTs. The responses to POSTs have the statuses and texts
    of the Python SDK (`mcp/server/sse.py`), where it has the case.
    """

    def __init__(self, path: str, message_path: str, mint: Callable[[], str]) -> None:
        super().__init__()
        self._path, self._message_path = plain_path(path), message_path
        self._mint = mint
        self._session: str | None = None
        self._stream: int | None = None
        self._held = HeldMessages()

    def _serve_request(
        self, x: int, head: HttpRequest, body: bytes, *, too_long: bool = False
    ) -> None:
        streams, messages = plain_path(head.path) == self._path, head.path == self._message_path
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
        self._respond(x, HttpResponse(200, "OK", fields))
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

    def _disconnect(self, x: int) -> None:
        if x == self._stream:
            self._stream = None
            self._pass_on(Frame(C2S, b"", b"", StreamEnd("closed")))

    def _end_responses(self) -> None:
        self._input_ended = True
        if self._stream is not None:
            self._respond(self._stream, ExchangeEnd())
            self._stream = None

    def _route(self, raw: bytes) -> None:
        if isinstance(parse(raw), Opaque):
            return  # a banner on stdout: SDK clients report data that is not JSON-RPC as an error
        if self._stream is not None:
            self._add_event(self._stream, "message", raw)
        elif self._session is None:
            self._held.add(raw)

    def _add_response(
        self, x: int, status: int, reason: str, text: str, *more: tuple[str, str]
    ) -> None:
        fields = [("Content-Type", "text/plain"), *more]
        self._respond(x, HttpResponse(status, reason, fields))
        self._to_client.append(Frame(S2C, text.encode(), fact=HttpBody(), exchange=x))
        self._respond(x, ExchangeEnd())

    def _add_event(self, x: int, event: str, data: bytes) -> None:
        self._respond(x, SseMeta(event=event))
        self._to_client.append(Frame(S2C, data, exchange=x))

    def _respond(self, x: int, fact: Fact) -> None:
        self._to_client.append(Frame(S2C, fact=fact, exchange=x))


class SseClient(ExchangeClient):
    """The client's side: `target` is the path and query of the event stream."""

    def __init__(self, target: str, headers: Headers, numbers: Iterator[int]) -> None:
        super().__init__(target, headers, numbers)
        self._stream = ReplyFlattener(None)
        self._number = 0
        self._endpoint_is_next = False
        """Whether the next data is that of the `endpoint` event."""
        self._endpoint: str | None = None
        self._posts: dict[int, ReplyFlattener] = {}
        self._held: deque[bytes] = deque()
        self._stream_closed = False
        self._ended = False
        """Whether the server closed the stream, which ends the session."""

    def begin(self, now: float) -> Iterable[Action]:
        self._number = self._add_request("GET", self._target, [("Accept", EVENT_STREAM)])
        return self._take_actions(now)

    def wake(self, now: float) -> Iterable[Action]:
        if self._input_end is not None and not self._stream_closed:
            self._end_session(self._input_end)
        return self._take_actions(now)

    def _take_actions(self, now: float) -> Sequence[Action]:  # noqa: ARG002
        while self._held and self._endpoint is not None:
            raw = self._held.popleft()
            x = self._add_request("POST", self._endpoint, [], raw)
            self._posts[x] = ReplyFlattener(raw)
        if self._input_end is not None and not self._stream_closed and self._stream.answered:
            self._end_session(self._input_end)
        if self._ended:  # no later message of the client can reach the server
            return *self._take_frames(), Hangup("the server's stream has ended")
        waits = self._input_end is not None and not self._stream_closed
        return *self._take_frames(), *((Wake(self._deadline),) if waits else ())

    def _hold_message(self, raw: bytes) -> None:
        if self._stream_closed or not raw.strip():
            return
        message = parse(raw)
        self._stream.open += request_ids(parse_items(raw))
        if isinstance(message, Notification) and message.method == CANCELLED:
            self._stream.forget(member(message.params, "requestId") or b"")
        self._held.append(raw)

    def _end_session(self, frame: Frame) -> None:
        self._stream_closed = True
        for x in (self._number, *self._posts):
            self._add_fact(x, ExchangeEnd("closed"))
        self._posts.clear()
        self._to_server.append(frame)

    def _take_from_server(self, frame: Frame, now: float) -> None:  # noqa: ARG002
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
        self._to_client += self._stream.feed(frame)
        if isinstance(frame.fact, ExchangeEnd):
            missing = "an endpoint" if self._endpoint is None else "an answer"
            self._to_client += self._stream.unanswered(frame.fact.how, missing)
            self._stream_closed = self._ended = True
            self._to_client.append(Frame(S2C, b"", b"", StreamEnd(frame.fact.how)))

    def _take_post_response(self, frame: Frame, reply: ReplyFlattener) -> None:
        # The JSON-RPC answer comes on the stream; the response to the POST matters only if it is
        # a refusal, which answers the request with an error.
        messages = reply.feed(frame)
        if isinstance(frame.fact, ExchangeEnd):
            del self._posts[frame.exchange or 0]
        for message in messages:
            if isinstance(message.content, Response) and message.content.id is not None:
                self._stream.forget(message.content.id)
        self._to_client += messages
