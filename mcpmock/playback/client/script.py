"""`ClientScript`: what the client of an episode did, in order, and what it had received by then.

The counterpart of `playback.plan`, which is the server's part. It is simpler, for a client acts in
a row: each of its lines waits for what the server had sent since the line before, so recorded
concurrency and cancels in the middle of a call come where they were. The answer to a server request
waits for that request, and for the lines before it. Bare messages only: what HTTP adds is the
transports' part (`plan.flatten_http` removes it). Pure; `client.driver` plays it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

import attrs

from mcpmock.cassette.model import Episode
from mcpmock.protocol.correlation import CANCELLED, PROGRESS, Attribution, Correlation
from mcpmock.protocol.messages import (
    C2S,
    S2C,
    Frame,
    Message,
    Notification,
    Request,
    Response,
    StreamEnd,
    decode,
    parse_items,
)
from mcpmock.protocol.raw_json import Span, elements, walk
from mcpmock.redaction.redactor import PLACEHOLDER

TOKENS = {"nextCursor": "cursor", "requestState": "requestState", "taskId": "taskId"}
"""Values that servers mint and clients send back: their names in an answer and in a request."""
_SENT_BACK = frozenset(TOKENS.values())

Path = tuple[str | int, ...]
ExpectedEvent = tuple[str, int | None]
"""Something that a server sends and that is not the answer to an open call: a request or a
notification of a method, progress of a call, an answer that is late or that no call asked for. Its
content does not count.
"""


@attrs.frozen
class LearnedValue:
    """A value in a client's line that is live: at `path`, what stood at `found` in the answer to
    call `call`.
    """

    path: Path
    call: int
    found: Path


@attrs.frozen
class ScriptLine:
    """Something the client did. `frame` is a message, or the end of its input.

    Since the line before it the server had answered the calls `answers` (by number), and given the
    `events`. `calls` are the requests in it. Times are in seconds.
    """

    frame: Frame
    calls: tuple[int, ...] = ()
    answers: tuple[int, ...] = ()
    events: tuple[ExpectedEvent, ...] = ()
    learned: tuple[LearnedValue, ...] = ()
    gap: float = 0.0
    """Between the last of what came before and itself."""
    wait: float = 0.0
    """Between the line before it and the last of what came since."""
    about: int | None = None
    """The server request that it reports progress on."""
    n: int = 0
    """The number of its event in the take."""


@attrs.frozen
class ScriptReply:
    """What the client answered to a server request: after so many lines, `delay` seconds after the
    request and `gap` seconds after the last of what came before.
    """

    frame: Frame
    learned: tuple[LearnedValue, ...] = ()
    after: int = 0
    delay: float = 0.0
    gap: float = 0.0


@attrs.frozen
class ScriptServerRequest:
    """A request of the server's, and the answer; `reply` is None where the client gave none."""

    method: str
    params: bytes | None
    reply: ScriptReply | None = None


@attrs.frozen
class ClientScript:
    """All that the client did in one episode: its lines, and its answers to the server's
    requests in the order they came.

    `latencies` says how long the answer to each call took, in seconds; `redacted_results` holds the
    recorded results from which redaction removed secrets.
    """

    lines: tuple[ScriptLine, ...]
    server_requests: tuple[ScriptServerRequest, ...]
    latencies: dict[int, float]
    redacted_results: dict[int, bytes]
    opens: bool = False
    """It opens a session, with `initialize`."""
    oversized: tuple[int, ...] = ()
    """The events of lines that cannot be played: they were too long to be recorded whole."""


def script_of(episode: Episode) -> ClientScript:
    """The client's part of an episode of bare messages."""
    reader = _Reader()
    for event in episode.events:
        frame = event.frame
        if frame is None or (frame.fact is not None and not isinstance(frame.fact, StreamEnd)):
            continue
        bare = Frame(frame.direction, frame.raw, frame.eol, frame.fact)
        if frame.direction is S2C:
            reader.server(bare, event.t)
        elif event.oversize is None:
            reader.client(bare, event.t, event.n)
        else:
            reader.oversized.append(event.n)
    return reader.script()


@attrs.define
class _Reader:
    session: Correlation = attrs.field(factory=Correlation)
    lines: list[ScriptLine] = attrs.field(factory=list)
    server_requests: list[ScriptServerRequest] = attrs.field(factory=list)
    redacted_results: dict[int, bytes] = attrs.field(factory=dict)
    latencies: dict[int, float] = attrs.field(factory=dict)
    oversized: list[int] = attrs.field(factory=list)
    _asked_at: list[int] = attrs.field(factory=list)
    _requested_at: list[int] = attrs.field(factory=list)
    _new_answers: list[int] = attrs.field(factory=list)
    _new_events: list[ExpectedEvent] = attrs.field(factory=list)
    _minted: dict[tuple[str, str | int], tuple[int, Path]] = attrs.field(factory=dict)
    """The calls and the places of live values, by name in a request and value."""
    _t: int | None = None
    """When the last thing happened, and when the client did the last."""
    _line_t: int = 0
    _left: bool = False
    _opens: bool = False

    def client(self, frame: Frame, t: int, n: int) -> None:
        if self._left:
            return  # nothing can come behind the end
        self._left = frame.fact is not None
        items = _items(frame.raw) if frame.fact is None else []
        calls: list[int] = []
        rest: list[bytes] = []
        about: int | None = None
        for message, raw in items:
            note = self.session.note(C2S, message, len(self._asked_at))
            if isinstance(message, Response) and note.call is not None:
                self._reply(note.call.index, Frame(C2S, raw, frame.eol), t)
                continue
            rest.append(raw)
            if isinstance(message, Request):
                self._opens = self._opens or message.method == "initialize"
                calls.append(len(self._asked_at))
                self._asked_at.append(t)
            elif note.method == PROGRESS and note.call is not None:
                about = note.call.index
        if rest or not items:
            whole = len(rest) == len(items)
            raw = frame.raw if whole else b"[%b]" % b",".join(rest)
            self._add(Frame(C2S, raw, frame.eol, frame.fact), tuple(calls), about, t, n)

    def _add(self, frame: Frame, calls: tuple[int, ...], about: int | None, t: int, n: int) -> None:
        answers, self._new_answers = tuple(self._new_answers), []
        events, self._new_events = tuple(self._new_events), []
        wait = 0.0 if self._t is None else _seconds(self._line_t, self._t)
        learned = tuple(self._learned(frame.raw))
        gap = self._gap(t)
        self.lines.append(ScriptLine(frame, calls, answers, events, learned, gap, wait, about, n))
        self._t = self._line_t = t

    def _gap(self, t: int) -> float:
        """The pause before a line. The first line has none: the take may have begun earlier."""
        return 0.0 if self._t is None else _seconds(self._t, t)

    def server(self, frame: Frame, t: int) -> None:
        self._line_t = t if self._t is None else self._line_t
        self._t = t
        for message in parse_items(frame.raw) if frame.fact is None else ():
            note = self.session.note(S2C, message, len(self.server_requests))
            if isinstance(message, Request):
                self.server_requests.append(ScriptServerRequest(message.method, message.params))
                self._requested_at.append(t)
            if isinstance(message, Response) and note.call is not None:
                self._answer(note, message, t)
            elif (event := expected_event(message, note)) is not None:
                self._new_events.append(event)

    def _answer(self, note: Attribution, message: Response, t: int) -> None:
        """Only the first of two answers counts. One that crossed a cancel need not come again."""
        assert note.call is not None
        call = note.call.index
        if call in self.latencies:
            return
        self.latencies[call] = _seconds(self._asked_at[call], t)
        event = expected_event(message, note) if note.late else None
        if event is None:
            self._new_answers.append(call)
        else:
            self._new_events.append(event)
        result = message.result or b""
        if PLACEHOLDER in result:
            self.redacted_results[call] = result
        for path, span in find_values(result, TOKENS):
            value = decode(result[slice(*span)])
            if type(value) in (str, int):
                self._minted[TOKENS[str(path[-1])], value] = call, path

    def _reply(self, number: int, frame: Frame, t: int) -> None:
        server_request = self.server_requests[number]
        if server_request.reply is None:
            delay = _seconds(self._requested_at[number], t)
            learned = tuple(self._learned(frame.raw))
            reply = ScriptReply(frame, learned, len(self.lines), delay, self._gap(t))
            self.server_requests[number] = attrs.evolve(server_request, reply=reply)

    def _learned(self, raw: bytes) -> Iterator[LearnedValue]:
        for path, span in find_values(raw, _SENT_BACK) if self._minted else ():
            value = decode(raw[slice(*span)])
            if type(value) in (str, int) and (path[-1], value) in self._minted:
                yield LearnedValue(path, *self._minted[str(path[-1]), value])

    def script(self) -> ClientScript:
        if not self._left:
            self._add(Frame(C2S, b"", b"", StreamEnd()), (), None, self._t or 0, 0)
        return ClientScript(
            tuple(self.lines),
            tuple(self.server_requests),
            self.latencies,
            self.redacted_results,
            opens=self._opens,
            oversized=tuple(self.oversized),
        )


def expected_event(message: Message, note: Attribution) -> ExpectedEvent | None:
    """What a client may have waited for in a message, if it is not the answer to a call."""
    number = None if note.call is None else note.call.index
    match message:
        case Notification(method=method) if method == PROGRESS:
            return None if number is None or note.late else (method, number)
        case Notification(method=method) if method != CANCELLED:
            return method, None
        case Request(method=method):
            return f"request {method}", None
        case Response():
            return "answer", number
        case _:
            return None


def find_values(raw: bytes, names: Collection[str]) -> Iterator[tuple[Path, Span]]:
    """Where the scalars under these names stand in a message."""
    if not any(name.encode() in raw for name in names):
        return  # far quicker, and nearly always so
    for path, span in walk(raw):
        if path and path[-1] in names:
            yield tuple(path), span


def _items(raw: bytes) -> list[tuple[Message, bytes]]:
    """The members of a batch, each with its bytes; of anything else, itself."""
    spans = elements(raw)
    raws = [raw] if spans is None else [raw[slice(*span)] for span in spans]
    return list(zip(parse_items(raw), raws, strict=True))


def _seconds(earlier: int, later: int) -> float:
    """The seconds between two events; none where a recording has them in the wrong order."""
    return max(later - earlier, 0) / 1_000_000
