"""The oracles of a run against a server: what must hold in any order, and what was not so.

A run is judged by what the server itself saw and sent: behind all faults. `rules` knows the
protocol message by message; these know the session: that each request ends, that no answer crosses
over to another request, that the server lives on and can end. Pure.

Up to 2025-11-25 an answer behind a cancel is a SHOULD (basic/utilities/cancellation), and it may
have crossed the cancel on the wire; so it is `odd`, and only behind the answer to a request that
was sent after the cancel. From 2026-07-28 on nothing may follow on stdio.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import Any, Literal

import attrs

from mcpmock.cassette.model import Cassette, Event
from mcpmock.errors import Level
from mcpmock.faults.kinds.cancel import Cancel
from mcpmock.protocol import messages as m
from mcpmock.protocol.correlation import CANCELLED, PROGRESS, TOKEN_PATH
from mcpmock.protocol.raw_json import locate
from mcpmock.protocol.revisions import speaks_modern
from mcpmock.rules.checker import Unchecked, check
from mcpmock.trials.oracle import Broken, Oracle, Oracles, Verdict

from .recorded_call import messages_of_events, requests_of
from .variant import HANDSHAKE, Variant

_STATELESS = ("ping", "initialize", "server/discover", "completion/complete")
_EXCEPTIONS = (b"Traceback (most recent call last)", b"UnhandledPromiseRejection")
_EXCEPTION_LINE = re.compile(
    rb"^[ |+-]*((?:\w+\.)*\w*(?:Error|Exception|Rejection)\b.*)", re.MULTILINE
)
_DETAILS = re.compile(r"0x[0-9a-fA-F]+|[0-9]+|'[^']*'|\"[^\"]*\"")
_LADDER = (15, 9)
"""SIGTERM and SIGKILL, which end a server that its input's end did not."""
_MAX_SHOWN = 120
_NEVER = 1 << 60
"""Behind every message of a run."""
_HTTP_STATUS = re.compile(r"HTTP [0-9]{3}.*")
"""What our own client answers a request with that was refused (`protocol.http_reply`)."""
_MAY_RESUME = (
    '2025-11-25 basic/transports: "The server MAY use this header to replay messages that would '
    'have been sent after the last event ID, [...] and to resume the stream from that point."'
)
_NO_CANCEL = (
    '2025-11-25 basic/transports: "Disconnection SHOULD NOT be interpreted as the client '
    'cancelling its request."'
)


@attrs.frozen
class ServerRun:
    """What one run left: the messages as the server saw them, and what the runner knows."""

    cassette: Cassette
    unanswered: tuple[bytes, ...] = ()
    """The ids of requests that the server owed an answer when the run gave up waiting."""
    unreachable: str = ""
    """Why the server could not be reached, if it could not."""
    leftover: tuple[str, ...] = ()
    """Processes that the server left behind."""
    over_http: bool = False
    """Whether answers came on exchanges of their own, which may overtake each other."""
    resumed: tuple[bytes, ...] = ()
    """The ids of the calls whose connection was lost and whose stream was resumed."""
    receipts: tuple[Mapping[str, Any], ...] = ()
    seconds: float = 0.0

    @property
    def events(self) -> Sequence[Event]:
        return self.cassette.takes[0].events


@attrs.define(eq=False)
class _SeenRequest:
    """What is said about one request of a run. `began` and `ended` count messages."""

    id: bytes
    place: str = ""
    method: str = ""
    key: object = None
    """Method and params: equal requests may have each other's answers."""
    began: int = 0
    ended: int = _NEVER
    answer: bytes | None = None
    failed: bool = False
    """Whether it was answered with an error."""
    progress: list[bytes] = attrs.field(factory=list)
    cancelled: bool = False
    cancelled_at: int = _NEVER
    closed: bool = False
    """Whether the server has answered a request that was sent behind the cancel."""
    late: list[str] = attrs.field(factory=list)
    """What came behind the cancel."""
    late_for_certain: bool = False

    @property
    def shown(self) -> str:
        return f"{self.place} #{self.id.decode()}"

    def ask(self, request: m.Request, number: int) -> None:
        """Note the request, or that its id is used again."""
        name = m.member(request.params, "name")
        shown = m.decode(name) if name is not None else None
        self.place = f"{request.method} {shown}" if isinstance(shown, str) else request.method
        self.method = request.method
        arguments = m.member(request.params, "arguments")
        self.key = (request.method, name, arguments, m.member(request.params, "uri"))
        self.began, self.ended = number, _NEVER
        self.cancelled_at, self.closed = _NEVER, False

    def note_late(self, word: str, *, over_http: bool) -> bool:
        """Note what the server sends, if the request was cancelled before: return whether it was.

        On a connection of its own, a cancel may have overtaken its call: it was in time for certain
        only if the server had sent something for the call.
        """
        if self.cancelled_at == _NEVER:
            return False
        self.late.append(word)
        self.late_for_certain |= self.closed and (bool(self.progress) or not over_http)
        return True


@attrs.define
class _Seen:
    """The requests of a run, by their ids as they were written."""

    requests: dict[bytes, _SeenRequest] = attrs.field(factory=dict)
    modern: bool = False

    def get(self, id_: bytes) -> _SeenRequest:
        """Return the request with this id, or an empty one."""
        return self.requests.get(id_) or _SeenRequest(id_)

    def open_with(self, request: _SeenRequest) -> list[_SeenRequest]:
        """Return the requests that were open at the same time."""
        return [
            other
            for other in self.requests.values()
            if other is not request and other.began < request.ended and request.began < other.ended
        ]


@attrs.frozen
class Baseline:
    """What the recorded order gives, several times: only what was always so counts."""

    answers: Mapping[bytes, bytes] = attrs.field(factory=dict)
    progress: Mapping[bytes, Sequence[bytes]] = attrs.field(factory=dict)
    failed: frozenset[bytes] = frozenset()
    """The requests that were answered with an error at least once."""
    rules: frozenset[str] = frozenset()
    """The rules that the server breaks in the recorded order: reported once."""
    late: frozenset[tuple[str, str]] = frozenset()
    """What it sends behind a recorded cancel, as causes."""
    exceptions: bool = False
    exits: frozenset[int | None] = frozenset()
    seconds: float = 0.0
    end_seconds: float = 0.0
    """How long the server took to end behind the end of its input, at most."""

    @classmethod
    def of(cls, runs: Sequence[ServerRun]) -> Baseline:
        """Build a baseline from several runs of the recorded order."""
        seen = [_seen_in(run) for run in runs]
        answers = dict[bytes, bytes]()
        progress = dict[bytes, list[bytes]]()
        for id_, first in seen[0].requests.items():
            others = [one.get(id_) for one in seen]
            if first.answer is not None and all(it.answer == first.answer for it in others):
                answers[id_] = first.answer
            if first.progress and all(it.progress == first.progress for it in others):
                progress[id_] = first.progress
        return cls(
            answers,
            progress,
            frozenset(it.id for one in seen for it in one.requests.values() if it.failed),
            frozenset(one.name for run in runs for one in violations_of(run.cassette, "s2c")),
            frozenset(one.cause for run in runs for one in _late_answers(run, _seen_in(run))),
            any(_exceptions(run.events) for run in runs),
            frozenset(code for run in runs for code in _exit_codes(run.events)),
            max(run.seconds for run in runs),
            max(_end_seconds(run.events) for run in runs),
        )


@attrs.frozen
class JudgedServer:
    """What the oracles look at. Without a baseline the run is one itself."""

    run: ServerRun
    variant: Variant
    baseline: Baseline | None = None
    seen: _Seen = attrs.field(
        default=attrs.Factory(lambda self: _seen_in(self.run), takes_self=True), init=False
    )

    @property
    def place(self) -> str:
        """The call that the variant is about."""
        return self.variant.changes[0].place if self.variant.changes else ""

    @property
    def unharmed(self) -> Baseline | None:
        """The baseline, where a correct server notices nothing but time."""
        return self.baseline if self.variant.benign else None


def reaction_of(run: ServerRun, id_: bytes) -> str:
    """Return what the server did behind the cancel of a request, as far as it was seen."""
    if _ended_early(run.events):
        return "crash" if any(_exit_codes(run.events)) else "close"
    return "+".join(_seen_in(run).get(id_).late) or "silent"


def was_cancelled(run: ServerRun, id_: bytes) -> bool:
    """Return whether the cancel of a request reached the server before its answer had come."""
    return _seen_in(run).get(id_).cancelled


def _seen_in(run: ServerRun) -> _Seen:
    """Return what was said. An answer to what was cancelled is late for certain behind the answer
    to a request that was sent behind the cancel: over HTTP, behind the 202 for the cancel.
    """
    seen, tokens = _Seen(), dict[bytes, _SeenRequest]()
    requests, cancelled = seen.requests, list[_SeenRequest]()
    for number, (event, message) in enumerate(messages_of_events(run.events)):
        if event.d == "c2s":
            seen.modern = seen.modern or speaks_modern(message)
            if isinstance(message, m.Request):
                asked = requests.setdefault(message.id, _SeenRequest(message.id))
                asked.ask(message, number)
                if (token := m.member(message.params, *TOKEN_PATH)) is not None:
                    tokens[token] = asked
            elif isinstance(message, m.Notification) and message.method == CANCELLED:
                target = requests.get(m.member(message.params, "requestId") or b"")
                if target is not None and target.answer is None:
                    target.cancelled, target.cancelled_at = True, number
                    cancelled.append(target)
        elif isinstance(message, m.Response) and message.id in requests:
            request = requests[message.id]
            word = "late_result" if message.error is None else "late_error"
            if not request.note_late(word, over_http=run.over_http):
                for one in cancelled:
                    one.closed |= one.cancelled_at < request.began
                request.ended = number
                if request.answer is None:
                    request.answer = message.result or message.error or b""
                request.failed |= message.error is not None
        elif isinstance(message, m.Notification) and message.method == PROGRESS:
            owner = tokens.get(m.member(message.params, "progressToken") or b"")
            if owner and not owner.note_late("late_progress", over_http=run.over_http):
                owner.progress.append(_without_token(message.params or b""))
    return seen


def _without_token(params: bytes) -> bytes:
    span = locate(params, ("progressToken",))
    return params if span is None else params[: span.start] + params[span.end :]


def _ended_early(events: Iterable[Event]) -> bool:
    """Return whether the server ended before its client did."""
    for event in events:
        fact = None if event.frame is None else event.frame.fact
        if isinstance(fact, m.StreamEnd | m.StopSignal) and event.d == "c2s":
            return False
        if isinstance(fact, m.StreamEnd | m.ProcessExit):
            return True
    return True


def _exit_codes(events: Iterable[Event]) -> Iterator[int | None]:
    """Yield the exit status of the server; below 0 for a signal."""
    for event in events:
        fact = None if event.frame is None else event.frame.fact
        if isinstance(fact, m.ProcessExit):
            yield fact.code if fact.signal is None else -fact.signal


def _end_seconds(events: Iterable[Event]) -> float:
    ended_at = exited_at = 0
    for event in events:
        fact = None if event.frame is None else event.frame.fact
        if isinstance(fact, m.StreamEnd) and event.d == "c2s":
            ended_at = event.t
        elif isinstance(fact, m.ProcessExit):
            exited_at = event.t
    return max(exited_at - ended_at, 0) / 1_000_000 if ended_at else 0.0


def _exceptions(events: Iterable[Event]) -> bytes:
    """Return the last line of an exception on standard error, if there is one."""
    text = b"".join(
        event.frame.raw
        for event in events
        if event.frame is not None and isinstance(event.frame.fact, m.Stderr)
    )
    return exception_in(text)


def exception_in(text: bytes) -> bytes:
    """Return the last line of an exception in a program's standard error, if there is one."""
    if not any(word in text for word in _EXCEPTIONS):
        return b""
    found = _EXCEPTION_LINE.findall(text)
    return bytes(found[-1].strip()[:_MAX_SHOWN]) if found else b"an exception"


def _ends(judged: JudgedServer) -> Iterator[Broken]:
    run, baseline, variant, place = judged.run, judged.baseline, judged.variant, judged.place
    exception = _exceptions(run.events)
    why = f": {exception.decode(errors='replace')}" if exception else ""
    same = without_details(exception)
    codes = list(_exit_codes(run.events))
    code = codes[-1] if codes else None
    # Without a handshake there is no session, and a server may end with an error.
    may_end = variant.ends or (variant.breaks_handshake and (code is None or code >= 0))
    if run.unreachable:
        yield Broken("unreachable", place, f"it is not reached any more: {run.unreachable}")
    elif _ended_early(run.events) and not may_end:
        how = "" if code is None else f" with {_status(code)}"
        text = f"it ended in the middle of the session{how}{why}"
        yield Broken("ends-early", place, text, exception=same)
    elif code is not None and -code in _LADDER:
        # Servers of the TypeScript SDK wait a minute for the answer to a request of their own.
        verdict: Verdict = "odd" if variant.takes_answers else "broken"
        yield Broken("does-not-end", place, "it did not end when its input ended", verdict)
    elif code and (baseline is None or code not in baseline.exits) and not may_end:
        text = f"it ended with {_status(code)}{why}"
        yield Broken("exit-status", place, text, exception=same)
    elif exception and baseline is not None and not (baseline.exceptions or may_end):
        text = f"an exception on standard error{why}"
        yield Broken("exception", place, text, "odd", exception=same)


def without_details(exception: bytes) -> str:
    """Return an exception without its numbers and quoted texts, which may differ in each run."""
    return _DETAILS.sub("..", exception.decode(errors="replace"))


def _handshake(judged: JudgedServer) -> Iterator[Broken]:
    """Yield, of the recorded order, that there is no session to explore: whatever came behind it
    would be blamed on something else.
    """
    seen = judged.seen
    opened = [request for request in seen.requests.values() if request.method in HANDSHAKE]
    if judged.baseline is not None or not opened:
        return
    if any(request.answer is not None and not request.failed for request in opened):
        return
    if any(
        event.d == "s2c" and isinstance(message, m.Request) and message.method in HANDSHAKE
        for event, message in messages_of_events(judged.run.events)
    ):
        yield Broken("handshake", opened[0].place, "it sends back what it is sent")
    elif refused := [request for request in opened if request.failed]:
        said = m.decode(m.member(refused[-1].answer, "message") or b"null")
        text = f"it refuses {refused[-1].place}: {said}"
        yield Broken("handshake", refused[-1].place, text)
    else:
        yield Broken("handshake", opened[0].place, "it does not answer the handshake")


def _status(code: int) -> str:
    return f"exit status {code}" if code >= 0 else f"signal {-code}"


def _unanswered(judged: JudgedServer) -> Iterator[Broken]:
    # Some servers take "3" for 3, as the Python SDK 2 does. Of a cancel the specification says
    # only that what names no request may be ignored.
    taken = {
        m.encode(change.request)
        for change in judged.variant.changes
        if isinstance(change.fault, Cancel) and change.fault.target == "other_type"
    }
    owed = [id_ for id_ in judged.run.unanswered if id_ not in judged.variant.spoiled]
    for id_ in () if judged.variant.breaks_handshake else owed:
        place, shown = judged.seen.get(id_).place, id_.decode(errors="replace")
        if id_ in taken:
            text = f"{place} #{shown} is not answered behind a cancel of its id as another type"
            yield Broken("cancelled-by-other-id", place, text, "odd")
        else:
            yield Broken("unanswered", place, f"{place} #{shown} is not answered")


@attrs.frozen
class BrokenRule:
    """A rule of the protocol that one side broke, and the call that it was broken in."""

    name: str
    place: str
    text: str
    cites: str


def violations_of(
    cassette: Cassette,
    side: Literal["c2s", "s2c"],
    variant: Variant | None = None,
    *,
    refused: Set[bytes] = frozenset(),
) -> Iterator[BrokenRule]:
    """Yield the rules that this side broke, as far as the variant leaves them to be kept. `refused`
    are requests that got an HTTP error: their answer is of the bridge.
    """
    spoiled = frozenset[bytes]() if variant is None else variant.spoiled
    if variant is not None and variant.breaks_handshake:
        return
    events = cassette.takes[0].events
    asked = Counter(
        (event.d, what)
        for event, message in messages_of_events(events)
        if isinstance(message, m.Request)
        for what in (message.id, m.member(message.params, *TOKEN_PATH))
    )
    requests = {n: one.place for one in requests_of(events) for n in one.events}
    for found in check(cassette):
        if isinstance(found, Unchecked):
            continue
        violation = found.violation
        if found.event.d != side or violation.level is not Level.ERROR:
            continue
        if spoiled and (_is_progress(found.event) or spoiled & {*_answers_to(found.event)}):
            continue  # it read a request that we do not
        if refused & {*_answers_to(found.event)}:
            continue
        other: Literal["c2s", "s2c"] = "s2c" if side == "c2s" else "c2s"
        if any(asked[other, what] > 1 for what in _answers_to(found.event)):
            continue  # it was asked twice, so it may be answered twice
        cites = f'{violation.cited}: "{violation.sentence}"'
        yield BrokenRule(
            violation.rule.name, requests.get(found.event.n, ""), violation.text, cites
        )


def _is_progress(event: Event) -> bool:
    return any(
        isinstance(message, m.Notification) and message.method == PROGRESS
        for _, message in messages_of_events([event])
    )


def _answers_to(event: Event) -> Iterator[bytes]:
    """Yield the id or the progress token of each request that messages in the event are for."""
    for _, message in messages_of_events([event]):
        if isinstance(message, m.Response) and message.id is not None:
            yield message.id
        elif isinstance(message, m.Notification) and message.method == PROGRESS:
            yield m.member(message.params, "progressToken") or b""


def _rules(judged: JudgedServer) -> Iterator[Broken]:
    """Yield the rules that the server breaks, and does not break in the recorded order."""
    known = frozenset[str]() if judged.baseline is None else judged.baseline.rules
    run, requests = judged.run, judged.seen.requests
    refused = {id_ for id_, request in requests.items() if _http_error(run, request)}
    for one in violations_of(run.cassette, "s2c", judged.variant, refused=refused):
        if one.name not in known:
            yield Broken(f"rule:{one.name}", one.place, one.text, cites=one.cites)


def _late(judged: JudgedServer) -> Iterator[Broken]:
    if judged.baseline is not None:
        late = _late_answers(judged.run, judged.seen)
        yield from (one for one in late if one.cause not in judged.baseline.late)


def _late_answers(run: ServerRun, seen: _Seen) -> Iterator[Broken]:
    sentence = (
        '2026-07-28 basic/patterns/cancellation: "MUST NOT send any further messages"'
        if seen.modern
        else "2025-11-25 basic/utilities/cancellation: "
        '"Receivers ... SHOULD: Not send a response for the cancelled request"'
    )
    verdict: Verdict = "broken" if seen.modern and not run.over_http else "odd"
    for request in seen.requests.values():
        if request.late_for_certain:
            words = " and ".join(dict.fromkeys(request.late)).replace("_", " ")
            text = f"{request.shown}: a {words} behind its cancel"
            yield Broken("late", request.place, text, verdict, sentence)


def _crossed(judged: JudgedServer) -> Iterator[Broken]:
    """Yield an answer or progress that an overlapping request gets in the recorded order."""
    seen, baseline = judged.seen, judged.baseline or Baseline()
    for id_, request in seen.requests.items():
        usual, raw = baseline.answers.get(id_), request.answer
        differs = raw is not None and usual not in (None, raw)
        for other in seen.open_with(request) if differs else ():
            if baseline.answers.get(other.id) == raw and other.key != request.key:
                yield _crossing("answer", request, other)
        usual_progress = baseline.progress.get(id_, ())
        known = id_ in baseline.answers or usual_progress
        unusual = [one for one in request.progress if known and one not in usual_progress]
        for other in seen.open_with(request) if unusual else ():
            if any(one in baseline.progress.get(other.id, ()) for one in unusual):
                yield _crossing("progress", request, other)


def _crossing(what: str, request: _SeenRequest, other: _SeenRequest) -> Broken:
    text = f"{request.shown} gets the {what} of {other.shown}"
    return Broken(f"crossed-{what}", request.place, text)


def _refused(judged: JudgedServer) -> Iterator[Broken]:
    """Yield, once, a request that gets an HTTP error for an answer: the session is gone."""
    run = judged.run
    if judged.variant.breaks_handshake:
        return
    lost = [request for request in _newly_failed(judged) if _http_error(run, request)]
    for request in lost:
        if request.id in run.resumed:
            text = f"{request.shown} is not resumed: {_http_error(run, request)}"
            yield Broken("not-resumed", request.place, text, "odd", _MAY_RESUME)
    for request in [one for one in lost if one.id not in run.resumed][:1]:
        text = f"the session is lost: {request.shown} gets {_http_error(run, request)}"
        cites = _NO_CANCEL if run.resumed else ""
        yield Broken("session-lost", judged.place or request.place, text, cites=cites)


def _newly_failed(judged: JudgedServer) -> list[_SeenRequest]:
    """Return the requests that fail, but in the recorded order do not, as is correct."""
    baseline = judged.unharmed or Baseline()
    return [
        request
        for id_, request in judged.seen.requests.items()
        if request.failed and id_ in baseline.answers and id_ not in baseline.failed
    ]


def _http_error(run: ServerRun, request: _SeenRequest) -> str:
    """Return the status that a request was refused with, if that is why it failed."""
    if not (run.over_http and request.failed):
        return ""
    said = m.decode(m.member(request.answer, "message") or b"null")
    found = _HTTP_STATUS.match(said) if isinstance(said, str) else None
    return "" if found is None else found[0]


def _wrong(judged: JudgedServer) -> Iterator[Broken]:
    """Yield an error in place of a result: what a tool answers may depend on earlier calls."""
    for request in _newly_failed(judged):
        if _http_error(judged.run, request):
            continue
        stateless = request.method in _STATELESS or request.method.endswith("/list")
        text = f"{request.shown} is answered with an error"
        verdict: Verdict = "broken" if stateless else "odd"
        yield Broken("wrong-answer", request.place, text, verdict)


def left_behind(names: Iterable[str]) -> Iterator[Broken]:
    """Yield that a run left these processes behind."""
    for name in names:
        yield Broken("leaves-process", "", f"it left a process behind: {name}")


SERVER_ORACLES = Oracles(
    (
        Oracle("handshake", _handshake),
        Oracle("unreachable", _ends),
        Oracle("ends-early", _ends),
        Oracle("does-not-end", _ends, waits=True, timed=True, ending=True),
        Oracle("exit-status", _ends),
        Oracle("exception", _ends),
        Oracle("unanswered", _unanswered, waits=True, timed=True),
        Oracle("cancelled-by-other-id", _unanswered),
        Oracle("rule", _rules),
        Oracle("late", _late),
        Oracle("crossed-answer", _crossed),
        Oracle("crossed-progress", _crossed),
        Oracle("not-resumed", _refused),
        Oracle("session-lost", _refused),
        Oracle("wrong-answer", _wrong),
        Oracle("leaves-process", lambda it: left_behind(it.run.leftover), timed=True, ending=True),
    )
)
"""What must hold of a server (`mcpmock help explore`)."""
