"""The rules of HTTP+SSE (2024-11-05), both sides: one event stream carries all that the server
says, and its first event names where to POST what the client says.

Stages between bare messages and exchanges, as in `streamable_http.server` and
`streamable_http.client`, which are about the transport that came after. There is one conversation
for each stream; it ends with it.
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

from .headers import path_and_query

INPUT_END_TIMEOUT_S = 0.5
"""How long open requests may go on when the client's input ends: scripts end theirs at once."""
_QUERY = "sessionId"


class SseServer(Stage):
    """C2S exchange frames to bare messages, S2C bare messages to the event stream.

    `path` is where the stream is opened, `message_path` where to POST; `mint` gives the id that
    tells this session's POSTs.
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
        self._back: list[Frame] = []
        self._on: list[Frame] = []

    def feed(self, seen: Sequence[Frame], now: float) -> Iterable[Action]:  # noqa: ARG002
        for frame in seen:
            if frame.direction is C2S:
                self._hear_client(frame)
            else:
                self._hear_server(frame)
        back, on = self._back, self._on
        self._back, self._on = [], []
        return Send(back), Send(on)

    def _hear_client(self, frame: Frame) -> None:
        x = frame.exchange
        match frame.fact:
            case StreamEnd():
                self._leave(frame)
            case HttpRequest() as head if x is not None and head.has_body:
                self._arriving[x] = head
            case HttpRequest() as head if x is not None:
                self._serve(x, head, b"")
            case ExchangeEnd() if x is not None:
                self._arriving.pop(x, None)
                self._reassembly.cut(C2S, x)
                if x == self._stream:
                    self._stream = None
                    self._leave(Frame(C2S, b"", b"", StreamEnd("closed")))
            case None | Fragment() | HttpBody() if x in self._arriving:
                whole = self._reassembly.add(frame)
                if whole is not None:
                    head = self._arriving.pop(x)
                    self._serve(x, head, whole.frame.raw, too_long=whole.too_long)
            case _ if x is None:
                self._on.append(frame)
            case _:
                pass

    def _leave(self, frame: Frame) -> None:
        if not self._ended:
            self._ended = True
            self._on.append(frame)

    def _serve(self, x: int, head: HttpRequest, body: bytes, *, too_long: bool = False) -> None:
        streams, messages = head.path.rstrip("/") == self._path, head.path == self._message_path
        if messages and head.method == "POST":
            self._accept(x, head, body, too_long=too_long)
        elif streams and head.method == "GET":
            self._begin_stream(x)
        elif streams or messages:
            allow = ("Allow", "POST" if messages else "GET")
            self._answer(x, 405, "Method Not Allowed", "Method Not Allowed", allow)
        else:
            self._answer(x, 404, "Not Found", "Not Found")

    def _begin_stream(self, x: int) -> None:
        if self._session is not None:
            self._answer(x, 409, "Conflict", "The stream of this session is open already")
            return
        self._session, self._stream = self._mint(), x
        fields = [("Content-Type", EVENT_STREAM), ("Cache-Control", "no-cache, no-transform")]
        self._say(x, HttpResponse(200, "OK", fields))
        self._event(x, "endpoint", f"{self._message_path}?{_QUERY}={self._session}".encode())
        for raw in self._held.take():
            self._event(x, "message", raw)

    def _accept(self, x: int, head: HttpRequest, body: bytes, *, too_long: bool) -> None:
        ids = parse_qs(head.target.partition("?")[2]).get(_QUERY)
        raw = flatten(body)
        if ids is None:
            self._answer(x, 400, "Bad Request", f"{_QUERY} is required")
        elif ids[0] != self._session or self._stream is None:
            self._answer(x, 404, "Not Found", "Could not find session")
        elif too_long:
            self._answer(x, 413, "Content Too Large", "mcpmock: the body is too long")
        elif isinstance(parse(raw), Opaque):
            self._answer(x, 400, "Bad Request", "Could not parse message")
        else:
            self._answer(x, 202, "Accepted", "Accepted")
            self._on.append(Frame(C2S, raw))

    def _hear_server(self, frame: Frame) -> None:
        match frame.fact:
            case None:
                self._push(flatten(frame.raw))
            case Fragment():
                whole = self._reassembly.add(frame)
                if whole is not None and not whole.too_long:
                    self._push(flatten(whole.frame.raw))
            case StreamEnd() | ProcessExit():
                if self._stream is not None:
                    self._say(self._stream, ExchangeEnd())
                    self._stream = None
                self._ended = True
                self._back.append(frame)
            case _:
                self._back.append(frame)

    def _push(self, raw: bytes) -> None:
        """What is no message (a banner on stdout) would be an error to every client: it stays."""
        if isinstance(parse(raw), Opaque):
            return
        if self._stream is not None:
            self._event(self._stream, "message", raw)
        elif self._session is None:
            self._held.add(raw)

    def _answer(self, x: int, status: int, reason: str, text: str, *more: tuple[str, str]) -> None:
        self._say(x, HttpResponse(status, reason, [("Content-Type", "text/plain"), *more]))
        self._back.append(Frame(S2C, text.encode(), fact=HttpBody(), exchange=x))
        self._say(x, ExchangeEnd())

    def _event(self, x: int, event: str, data: bytes) -> None:
        self._say(x, SseMeta(event=event))
        self._back.append(Frame(S2C, data, exchange=x))

    def _say(self, x: int, fact: Fact) -> None:
        self._back.append(Frame(S2C, fact=fact, exchange=x))


class SseClient(Stage):
    """C2S bare messages to exchange frames, S2C exchange frames to bare messages.

    `target` is path and query of the event stream, `headers` goes with every request, and `numbers`
    gives the exchanges theirs.
    """

    def __init__(self, target: str, headers: Headers, numbers: Iterator[int]) -> None:
        self._target, self._headers, self._numbers = target, headers, numbers
        self._stream = ReplyFlattener(None)
        self._number = next(numbers)
        self._named = False
        """Whether the data that comes next names the endpoint."""
        self._endpoint: str | None = None
        self._posts: dict[int, ReplyFlattener] = {}
        self._held: deque[bytes] = deque()
        self._reassembly = Reassembly()
        self._leaving: Frame | None = None
        self._over = False
        self._ended = False
        """Whether the server ended the session: with its stream."""
        self._back: list[Frame] = []
        self._out: list[Frame] = []

    def begin(self, now: float) -> Iterable[Action]:
        self._begin(self._number, "GET", self._target, [("Accept", EVENT_STREAM)])
        return self._act(now)

    def feed(self, seen: Sequence[Frame], now: float) -> Iterable[Action]:
        lingers = self._leaving is not None
        for frame in seen:
            if frame.direction is S2C:
                self._hear_server(frame)
            elif not self._over and self._leaving is None:
                self._hear_client(frame)
        actions = self._act(now)
        if self._leaving is not None and not self._over and not lingers:
            return *actions, Wake(now + INPUT_END_TIMEOUT_S)
        return actions

    def wake(self, now: float) -> Iterable[Action]:
        if self._leaving is not None and not self._over:
            self._leave(self._leaving)
        return self._act(now)

    def _act(self, now: float) -> Sequence[Action]:  # noqa: ARG002
        while self._held and self._endpoint is not None:
            self._post(self._held.popleft(), self._endpoint)
        if self._leaving is not None and not self._over and self._stream.answered:
            self._leave(self._leaving)
        back, out = self._back, self._out
        self._back, self._out = [], []
        if self._ended:  # nothing that the client says gets anywhere any more
            return Send(back), Send(out), Hangup("the server's stream has ended")
        return Send(back), Send(out)

    def _hear_client(self, frame: Frame) -> None:
        match frame.fact:
            case None:
                self._ask(frame.raw)
            case Fragment():
                whole = self._reassembly.add(frame)
                if whole is not None and not whole.too_long:
                    self._ask(whole.frame.raw)
            case StreamEnd():
                self._leaving = frame
            case _:
                self._out.append(frame)

    def _ask(self, raw: bytes) -> None:
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
        self._begin(x, "POST", endpoint, [("Content-Type", "application/json"), length])
        self._out.append(Frame(C2S, raw, exchange=x))

    def _begin(self, x: int, method: str, target: str, fields: Headers) -> None:
        own = {name.lower() for name, _ in self._headers}
        fields = [field for field in fields if field[0].lower() not in own]
        head = HttpRequest(method, target, [*self._headers, *fields])
        self._out.append(Frame(C2S, fact=head, exchange=x))

    def _leave(self, frame: Frame) -> None:
        """Closing the stream ends the session."""
        self._over = True
        for x in (self._number, *self._posts):
            self._out.append(Frame(C2S, fact=ExchangeEnd("closed"), exchange=x))
        self._posts.clear()
        self._out.append(frame)

    def _hear_server(self, frame: Frame) -> None:
        if frame.exchange is None:
            self._back.append(frame)
        elif self._over:
            pass
        elif frame.exchange == self._number:
            self._hear_stream(frame)
        elif (answering := self._posts.get(frame.exchange)) is not None:
            self._hear_answer(frame, answering)

    def _hear_stream(self, frame: Frame) -> None:
        if frame.fact is None and self._named:
            self._endpoint = path_and_query(frame.raw.decode("utf-8", "replace"), self._target)
        self._named = isinstance(frame.fact, SseMeta) and frame.fact.event == "endpoint"
        self._back += self._stream.hear(frame)
        if isinstance(frame.fact, ExchangeEnd):
            lack = "an endpoint" if self._endpoint is None else "an answer"
            self._back += self._stream.fail(f"mcpmock: the stream ended without {lack}")
            self._over = self._ended = True
            self._back.append(Frame(S2C, b"", b"", StreamEnd(frame.fact.how)))

    def _hear_answer(self, frame: Frame, answering: ReplyFlattener) -> None:
        """A POST is answered on the stream; only that it was refused is said in its own answer."""
        heard = answering.hear(frame)
        if isinstance(frame.fact, ExchangeEnd):
            del self._posts[frame.exchange or 0]
        for said in heard:
            if isinstance(said.content, Response) and said.content.id is not None:
                self._stream.forget(said.content.id)
        self._back += heard
