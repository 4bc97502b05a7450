"""`ClientScript`: the lines of the recorded client in order, and what each of them waits for.

The counterpart of `playback.plan`, which is for the server. It is simpler, because a client acts in
sequence: each line waits for what the server had sent since the line before, which keeps recorded
concurrency and cancels in the middle of a call. The answer to a server request waits for that
request and for the lines before it. Bare messages only: `plan.steps` removes what HTTP adds.
Pure; `client.driver` plays it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Sequence
from itertools import islice
from typing import Any

import attrs
from msgspec import Struct, structs

from mcpmock.cassette.model import Episode, has_exchanges
from mcpmock.playback.request_key import significant
from mcpmock.playback.variables import Leaves
from mcpmock.protocol.correlation import CANCELLED, PROGRESS, Attribution, Correlation
from mcpmock.protocol.messages import (
    C2S,
    S2C,
    Frame,
    Message,
    Notification,
    ProcessExit,
    Request,
    Response,
    StopSignal,
    StreamEnd,
    canonical,
    decode,
    parse_items,
)
from mcpmock.protocol.raw_json import Span, elements, walk
from mcpmock.protocol.transport_facts import HttpRequest
from mcpmock.redaction.placeholders import holds_placeholder, placeholders_in

STREAM_OPENING = Frame(C2S, fact=HttpRequest("GET", "", []))
"""The line at which the client opens the standalone stream: a request without an exchange, which
`transports.streamable_http.client` makes one.
"""
TOKENS = {"nextCursor": "cursor", "requestState": "requestState", "taskId": "taskId"}
"""Values that servers make and clients send back: the name in an answer, and in a request."""
_SENT_BACK = frozenset(TOKENS.values())

_MAX_COMPARED = 100
"""How many recorded requests of the server are compared with a live one."""

ValuePath = tuple[str | int, ...]
ExpectedEvent = tuple[str, int | None]
"""A server message other than the answer to an open call: a request or a notification by method,
progress of a call, a late answer or an answer without a call. Its content does not count. Or the
end of a server that crashed.
"""
SERVER_END: ExpectedEvent = "the end of its output", None


class LearnedValue(Struct, frozen=True):
    """A value that the client learned: at `path` of its line stands the value at `found` of the
    answer to call `call`.
    """

    path: ValuePath
    call: int
    found: ValuePath


class ScriptLine(Struct, frozen=True):
    """A message of the client, or the end of its input.

    Since the line before, the server had answered the calls `answers` (by number) and sent the
    `events`. `calls` are the numbers of the requests in the line. Times are in seconds.
    """

    frame: Frame
    calls: tuple[int, ...] = ()
    answers: tuple[int, ...] = ()
    events: tuple[ExpectedEvent, ...] = ()
    learned: tuple[LearnedValue, ...] = ()
    gap: float = 0.0
    """Between the event before it and the line."""
    wait: float = 0.0
    """Between the line before it and the last server message since."""
    about: int | None = None
    """The server request that it reports progress on."""
    n: int = 0
    """The number of its event in the take."""


class ScriptReply(Struct, frozen=True):
    """The client's answer to a server request: after `after` lines, `delay` seconds after the
    request and `gap` seconds after the event before it.
    """

    frame: Frame
    learned: tuple[LearnedValue, ...] = ()
    after: int = 0
    delay: float = 0.0
    gap: float = 0.0


class ScriptServerRequest(Struct, frozen=True):
    """A request of the server; `reply` is None if the client did not answer."""

    method: str
    params: bytes | None
    reply: ScriptReply | None = None


class ServerRequests:
    """The recorded server requests, and which of them are used up."""

    def __init__(self, server_requests: Sequence[ScriptServerRequest]) -> None:
        self._requests = server_requests
        self._used: set[int] = set()
        self._by_method: dict[str, deque[int]] = {}
        self._by_key: dict[tuple[str, bytes], deque[int]] = {}
        self._last: dict[str, int] = {}
        for number, one in enumerate(server_requests):
            self._by_method.setdefault(one.method, deque()).append(number)
            key = one.method, canonical(significant(one.params))
            self._by_key.setdefault(key, deque()).append(number)
            self._last[one.method] = number

    def find(self, request: Request) -> int | None:
        """Return the number of the recorded request for a live one: the next equal one, else the
        nearest of the same method, else the last of the same method again.
        """
        params = significant(request.params)
        found = self._first_unused(self._by_key.get((request.method, canonical(params))))
        if found is None:
            found = self._nearest(request.method, params)
        if found is None:
            return self._last.get(request.method)
        self._used.add(found)
        return found

    def _nearest(self, method: str, params: Any) -> int | None:
        numbers = self._by_method.get(method)
        if self._first_unused(numbers) is None or numbers is None:
            return None
        asked = Leaves.of(((), params))
        unused = (number for number in numbers if number not in self._used)
        near = (
            (
                Leaves.of(((), significant(self._requests[number].params))).distance(asked, {}),
                number,
            )
            for number in islice(unused, _MAX_COMPARED)
        )
        return min(near)[1]

    def _first_unused(self, numbers: deque[int] | None) -> int | None:
        while numbers and numbers[0] in self._used:
            numbers.popleft()
        return numbers[0] if numbers else None


class ClientScript(Struct, frozen=True):
    """The client of one episode: its lines, and the server requests with its answers, in order.

    `latencies` has the time that the answer to each call took, in seconds; `redacted_results` holds
    the recorded results from which redaction removed secrets; `errors` are the calls whose recorded
    answer is an error.
    """

    lines: tuple[ScriptLine, ...]
    server_requests: tuple[ScriptServerRequest, ...]
    latencies: dict[int, float]
    redacted_results: dict[int, bytes]
    errors: frozenset[int] = frozenset()
    opens: bool = False
    """Whether it sends `initialize`."""
    opens_streams: bool = False
    """Whether its lines say when a standalone stream is opened: otherwise the transport decides."""
    oversized: tuple[int, ...] = ()
    """The event numbers of lines that were too long to be recorded whole and cannot be played."""


def script_of(episode: Episode) -> ClientScript:
    """Return the client's part of an episode of bare messages."""
    builder = _ScriptBuilder()
    streams = 0
    # There the recorder ends the server behind its client, and no event says so.
    over_http = has_exchanges(episode.events)
    for event in episode.events:
        frame = event.frame
        if frame is not None and isinstance(frame.fact, HttpRequest):
            # What ends it is chance or the server's affair: the transport opens it again.
            streams += 1
            if streams == 1:
                builder.client(STREAM_OPENING, event.t, event.n)
            continue
        if not over_http and frame is not None and isinstance(frame.fact, StopSignal | ProcessExit):
            builder.note_end(frame.fact)
        if frame is None or (frame.fact is not None and not isinstance(frame.fact, StreamEnd)):
            continue
        bare = Frame(frame.direction, frame.raw, frame.eol, frame.fact)
        if frame.direction is S2C:
            builder.server(bare, event.t)
        elif event.oversize is None:
            builder.client(bare, event.t, event.n)
        else:
            builder.oversized.append(event.n)
    return builder.script()


@attrs.define(eq=False, repr=False)
class _ScriptBuilder:
    session: Correlation = attrs.field(factory=Correlation)
    lines: list[ScriptLine] = attrs.field(factory=list)
    server_requests: list[ScriptServerRequest] = attrs.field(factory=list)
    redacted_results: dict[int, bytes] = attrs.field(factory=dict)
    latencies: dict[int, float] = attrs.field(factory=dict)
    errors: set[int] = attrs.field(factory=set)
    oversized: list[int] = attrs.field(factory=list)
    _called_at: list[int] = attrs.field(factory=list)
    _requested_at: list[int] = attrs.field(factory=list)
    _new_answers: list[int] = attrs.field(factory=list)
    _new_events: list[ExpectedEvent] = attrs.field(factory=list)
    _minted: dict[tuple[str, str | int], tuple[int, ValuePath]] = attrs.field(factory=dict)
    """The calls and the places of live values, by name in a request and value."""
    _t: int | None = None
    """When the latest event happened; `_line_t`: when the latest line was sent."""
    _line_t: int = 0
    _ended: bool = False
    _server_closed: bool = False
    """Whether the server ended its output before the client its input."""
    _signalled: bool = False
    _crashed: bool = False
    """Whether the server ended by itself with an error."""
    _opens: bool = False

    def client(self, frame: Frame, t: int, n: int) -> None:
        ends = isinstance(frame.fact, StreamEnd)
        if self._ended or (ends and self._server_closed):
            return  # nothing follows the end, and clients end where the server has
        self._ended = ends
        items = _split_items(frame.raw)
        calls: list[int] = []
        rest: list[bytes] = []
        about: int | None = None
        for message, raw in items:
            note = self.session.note(C2S, message, len(self._called_at))
            if isinstance(message, Response) and note.call is not None:
                self._reply(note.call.index, Frame(C2S, raw, frame.eol), t)
                continue
            rest.append(raw)
            if isinstance(message, Request):
                self._opens = self._opens or message.method == "initialize"
                calls.append(len(self._called_at))
                self._called_at.append(t)
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
        learned = tuple(self._learned_values(frame.raw))
        gap = self._gap(t)
        self.lines.append(ScriptLine(frame, calls, answers, events, learned, gap, wait, about, n))
        self._t = self._line_t = t

    def _gap(self, t: int) -> float:
        """Return the pause before a line, none for the first: the take may have begun earlier."""
        return 0.0 if self._t is None else _seconds(self._t, t)

    def server(self, frame: Frame, t: int) -> None:
        self._line_t = t if self._t is None else self._line_t
        self._t = t
        self._server_closed = isinstance(frame.fact, StreamEnd)
        for message in parse_items(frame.raw):
            note = self.session.note(S2C, message, len(self.server_requests))
            if isinstance(message, Request):
                self.server_requests.append(ScriptServerRequest(message.method, message.params))
                self._requested_at.append(t)
            if isinstance(message, Response) and note.call is not None:
                self._answer(note, message, t)
            elif (event := expected_event(message, note)) is not None:
                self._new_events.append(event)

    def note_end(self, fact: StopSignal | ProcessExit) -> None:
        self._signalled = self._signalled or isinstance(fact, StopSignal)
        self._crashed = isinstance(fact, ProcessExit) and fact.failed and not self._signalled

    def _answer(self, note: Attribution, message: Response, t: int) -> None:
        """Count only the first of two answers; one that crossed a cancel is not required again."""
        assert note.call is not None
        call = note.call.index
        if call in self.latencies:
            return
        self.latencies[call] = _seconds(self._called_at[call], t)
        if message.failed:
            self.errors.add(call)
        event = expected_event(message, note) if note.late else None
        if event is None:
            self._new_answers.append(call)
        else:
            self._new_events.append(event)
        result = message.result or b""
        if holds_placeholder(result):
            self.redacted_results[call] = result
        for path, span in find_values(result, TOKENS):
            value = decode(result[slice(*span)])
            if type(value) in (str, int):
                self._minted[TOKENS[str(path[-1])], value] = call, path

    def _reply(self, number: int, frame: Frame, t: int) -> None:
        server_request = self.server_requests[number]
        if server_request.reply is None:
            delay = _seconds(self._requested_at[number], t)
            learned = tuple(self._learned_values(frame.raw))
            reply = ScriptReply(frame, learned, len(self.lines), delay, self._gap(t))
            self.server_requests[number] = structs.replace(server_request, reply=reply)

    def _learned_values(self, raw: bytes) -> Iterator[LearnedValue]:
        for path, span in find_values(raw, _SENT_BACK) if self._minted else ():
            value = decode(raw[slice(*span)])
            if (path[-1], value) in self._minted:
                yield LearnedValue(path, *self._minted[str(path[-1]), value])

    def script(self) -> ClientScript:
        if not self._ended:
            self._new_events += [SERVER_END] * self._crashed
            self._add(Frame(C2S, b"", b"", StreamEnd()), (), None, 0, 0)
        return ClientScript(
            tuple(self.lines),
            tuple(self.server_requests),
            self.latencies,
            self.redacted_results,
            frozenset(self.errors),
            opens=self._opens,
            oversized=tuple(self.oversized),
        )


def unbound_placeholders(script: ClientScript) -> Iterator[tuple[str, int]]:
    """Yield the placeholders that no recorded answer before them holds, so that no live answer
    gives them a value, each with the number of the event that sends it.
    """
    known: set[bytes] = set()
    replies = [one.reply for one in script.server_requests if one.reply is not None]
    for place, line in enumerate(script.lines):
        for call in line.answers:
            known |= set(placeholders_in(script.redacted_results.get(call, b"")))
        frames = [line.frame, *(reply.frame for reply in replies if reply.after == place)]
        for found in (found for frame in frames for found in placeholders_in(frame.raw)):
            if found not in known:
                yield found.decode(), line.n


def expected_event(message: Message, note: Attribution) -> ExpectedEvent | None:
    """Return the expected event that a server message is; None for the answer to an open call."""
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


def find_values(raw: bytes, names: Collection[str]) -> Iterator[tuple[ValuePath, Span]]:
    """Yield the paths and spans of the scalars with these names in a message."""
    if not any(name.encode() in raw for name in names):
        return  # far quicker, and the usual case
    for path, span in walk(raw):
        if path and path[-1] in names:
            yield tuple(path), span


def _split_items(raw: bytes) -> list[tuple[Message, bytes]]:
    """Return the members of a batch with their bytes; any other message alone."""
    spans = elements(raw)
    raws = [raw] if spans is None else [raw[slice(*span)] for span in spans]
    return list(zip(parse_items(raw), raws, strict=True))


def _seconds(earlier: int, later: int) -> float:
    """Return the seconds between two events; none where a recording has them in the wrong order."""
    return max(later - earlier, 0) / 1_000_000
