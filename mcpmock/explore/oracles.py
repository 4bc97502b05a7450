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


@attrs.define
class _Seen:
    """What is said about the requests of a run, by their ids as they were written."""

    places: dict[bytes, str] = attrs.field(factory=dict)
    methods: dict[bytes, str] = attrs.field(factory=dict)
    keys: dict[bytes, object] = attrs.field(factory=dict)
    """Method and params: equal requests may have each other's answers."""
    answers: dict[bytes, bytes] = attrs.field(factory=dict)
    failed: set[bytes] = attrs.field(factory=set)
    """The requests that were answered with an error."""
    progress: dict[bytes, list[bytes]] = attrs.field(factory=dict)
    open_at: dict[bytes, tuple[int, int]] = attrs.field(factory=dict)
    """When each request came and when it was answered, in messages."""
    cancelled: set[bytes] = attrs.field(factory=set)
    late: Counter[bytes] = attrs.field(factory=Counter)
    late_words: dict[bytes, list[str]] = attrs.field(factory=dict)
    modern: bool = False


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
        first = seen[0]
        answers = {
            id_: raw
            for id_, raw in first.answers.items()
            if all(other.answers.get(id_) == raw for other in seen)
        }
        progress = {
            id_: raws
            for id_, raws in first.progress.items()
            if all(other.progress.get(id_) == raws for other in seen)
        }
        return cls(
            answers,
            progress,
            frozenset().union(*(one.failed for one in seen)),
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
    seen = _seen_in(run)
    words = seen.late_words.get(id_, [])
    if _ended_early(run.events):
        return "crash" if any(_exit_codes(run.events)) else "close"
    return "+".join(words) or "silent"


def was_cancelled(run: ServerRun, id_: bytes) -> bool:
    """Return whether the cancel of a request reached the server before its answer had come."""
    return id_ in _seen_in(run).cancelled


def _seen_in(run: ServerRun) -> _Seen:
    return _seen(run.events, over_http=run.over_http)


def _seen(events: Iterable[Event], *, over_http: bool) -> _Seen:
    """Return what was said. An answer to what was cancelled is late for certain behind the answer
    to a request that was sent behind the cancel: over HTTP, behind the 202 for the cancel.
    """
    seen = _Seen()
    tokens: dict[bytes, bytes] = {}
    cancelled_at: dict[bytes, int] = {}
    closed = set[bytes]()
    for number, (event, message) in enumerate(messages_of_events(events)):
        if event.d == "c2s":
            seen.modern = seen.modern or speaks_modern(message)
            if isinstance(message, m.Request):
                _note_request(seen, message, number)
                cancelled_at.pop(message.id, None)
                closed.discard(message.id)
                token = m.member(message.params, *TOKEN_PATH)
                if token is not None:
                    tokens[token] = message.id
            elif isinstance(message, m.Notification) and message.method == CANCELLED:
                id_ = m.member(message.params, "requestId")
                if id_ in seen.places and id_ not in seen.answers:
                    cancelled_at[id_] = number
                    seen.cancelled.add(id_)
        elif isinstance(message, m.Response) and message.id is not None:
            id_ = message.id
            if id_ in cancelled_at:
                word = "late_result" if message.error is None else "late_error"
                # On a connection of its own, a cancel may have overtaken its call: it was in time
                # for certain only if the server had sent something for the call.
                certain = id_ in closed and (id_ in seen.progress or not over_http)
                _note_late(seen, id_, word, certain=certain)
            elif id_ in seen.places:
                asked = seen.open_at[id_][0]
                closed |= {one for one, at in cancelled_at.items() if at < asked}
                seen.open_at[id_] = asked, number
                seen.answers.setdefault(id_, message.result or message.error or b"")
                if message.error is not None:
                    seen.failed.add(id_)
        elif isinstance(message, m.Notification) and message.method == PROGRESS:
            token = m.member(message.params, "progressToken")
            owner = tokens.get(token or b"")
            if owner is not None and owner in cancelled_at:
                certain = owner in closed and (owner in seen.progress or not over_http)
                _note_late(seen, owner, "late_progress", certain=certain)
            elif owner is not None:
                seen.progress.setdefault(owner, []).append(_without_token(message.params or b""))
    return seen


def _note_request(seen: _Seen, request: m.Request, number: int) -> None:
    name = m.member(request.params, "name")
    shown = m.decode(name) if name is not None else None
    place = f"{request.method} {shown}" if isinstance(shown, str) else request.method
    seen.places[request.id] = place
    seen.methods[request.id] = request.method
    arguments = m.member(request.params, "arguments")
    seen.keys[request.id] = (request.method, name, arguments, m.member(request.params, "uri"))
    seen.open_at[request.id] = number, 1 << 60


def _note_late(seen: _Seen, id_: bytes, word: str, *, certain: bool) -> None:
    seen.late_words.setdefault(id_, []).append(word)
    if certain:
        seen.late[id_] += 1


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
    opened = [id_ for id_, method in seen.methods.items() if method in HANDSHAKE]
    if judged.baseline is not None or not opened:
        return
    if any(id_ in seen.answers and id_ not in seen.failed for id_ in opened):
        return
    if any(
        event.d == "s2c" and isinstance(message, m.Request) and message.method in HANDSHAKE
        for event, message in messages_of_events(judged.run.events)
    ):
        yield Broken("handshake", seen.places[opened[0]], "it sends back what it is sent")
    elif refused := [id_ for id_ in opened if id_ in seen.failed]:
        said = m.decode(m.member(seen.answers[refused[-1]], "message") or b"null")
        text = f"it refuses {seen.places[refused[-1]]}: {said}"
        yield Broken("handshake", seen.places[refused[-1]], text)
    else:
        yield Broken("handshake", seen.places[opened[0]], "it does not answer the handshake")


def _status(code: int) -> str:
    return f"exit status {code}" if code >= 0 else f"signal {-code}"


def _unanswered(judged: JudgedServer) -> Iterator[Broken]:
    seen = judged.seen
    # Some servers take "3" for 3, as the Python SDK 2 does. Of a cancel the specification says
    # only that what names no request may be ignored.
    taken = {
        m.encode(change.request)
        for change in judged.variant.changes
        if isinstance(change.fault, Cancel) and change.fault.target == "other_type"
    }
    owed = [id_ for id_ in judged.run.unanswered if id_ not in judged.variant.spoiled]
    for id_ in () if judged.variant.breaks_handshake else owed:
        place, shown = seen.places.get(id_, ""), id_.decode(errors="replace")
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
    """Yield the id, or the progress token, of the requests that the messages in an event are
    for.
    """
    for _, message in messages_of_events([event]):
        if isinstance(message, m.Response) and message.id is not None:
            yield message.id
        elif isinstance(message, m.Notification) and message.method == PROGRESS:
            yield m.member(message.params, "progressToken") or b""


def _rules(judged: JudgedServer) -> Iterator[Broken]:
    """Yield the rules that the server breaks, and does not break in the recorded order."""
    known = frozenset[str]() if judged.baseline is None else judged.baseline.rules
    run, seen = judged.run, judged.seen
    refused = {id_ for id_ in seen.failed if id_ in seen.answers and _http_error(run, seen, id_)}
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
    for id_ in seen.late:
        words = " and ".join(dict.fromkeys(seen.late_words[id_])).replace("_", " ")
        text = f"{_shown(seen, id_)}: a {words} behind its cancel"
        yield Broken("late", seen.places[id_], text, verdict, sentence)


def _crossed(judged: JudgedServer) -> Iterator[Broken]:
    """Yield an answer, or progress, that another request of the same time gets in the recorded
    order.
    """
    seen, baseline = judged.seen, judged.baseline or Baseline()
    for id_, raw in seen.answers.items():
        usual = baseline.answers.get(id_)
        if usual is None or usual == raw:
            continue
        for other in _open_with(seen, id_):
            if baseline.answers.get(other) == raw and seen.keys[other] != seen.keys[id_]:
                yield _crossing("answer", seen, id_, other)
    for id_, raws in seen.progress.items():
        usual_raws = baseline.progress.get(id_, () if id_ in baseline.answers else None)
        for other in _open_with(seen, id_) if usual_raws is not None else ():
            theirs = baseline.progress.get(other, ())
            if any(raw not in usual_raws and raw in theirs for raw in raws):  # type: ignore[operator]
                yield _crossing("progress", seen, id_, other)


def _crossing(what: str, seen: _Seen, id_: bytes, other: bytes) -> Broken:
    text = f"{_shown(seen, id_)} gets the {what} of {_shown(seen, other)}"
    return Broken(f"crossed-{what}", seen.places[id_], text)


def _open_with(seen: _Seen, id_: bytes) -> list[bytes]:
    """Return the requests that were open at the same time."""
    begin, end = seen.open_at[id_]
    return [
        other
        for other, (start, stop) in seen.open_at.items()
        if other != id_ and start < end and begin < stop
    ]


def _refused(judged: JudgedServer) -> Iterator[Broken]:
    """Yield a request that gets an HTTP error in place of an answer: the session is gone. Told
    once.
    """
    run, seen = judged.run, judged.seen
    if judged.variant.breaks_handshake:
        return
    lost = [id_ for id_ in _newly_failed(judged) if _http_error(run, seen, id_)]
    for id_ in lost:
        if id_ in run.resumed:
            text = f"{_shown(seen, id_)} is not resumed: {_http_error(run, seen, id_)}"
            yield Broken("not-resumed", seen.places[id_], text, "odd", _MAY_RESUME)
    for id_ in [one for one in lost if one not in run.resumed][:1]:
        text = f"the session is lost: {_shown(seen, id_)} gets {_http_error(run, seen, id_)}"
        cites = _NO_CANCEL if run.resumed else ""
        yield Broken("session-lost", judged.place or seen.places[id_], text, cites=cites)


def _newly_failed(judged: JudgedServer) -> list[bytes]:
    """Return the requests that get an error where a correct server gives none: they get none in the
    recorded order.
    """
    seen, baseline = judged.seen, judged.unharmed or Baseline()
    return [
        id_
        for id_ in seen.answers
        if id_ in seen.failed and id_ in baseline.answers and id_ not in baseline.failed
    ]


def _http_error(run: ServerRun, seen: _Seen, id_: bytes) -> str:
    """Return the status that a request was refused with, if that is why it failed."""
    said = m.decode(m.member(seen.answers[id_], "message") or b"null") if run.over_http else None
    found = _HTTP_STATUS.match(said) if isinstance(said, str) else None
    return "" if found is None else found[0]


def _shown(seen: _Seen, id_: bytes) -> str:
    return f"{seen.places[id_]} #{id_.decode()}"


def _wrong(judged: JudgedServer) -> Iterator[Broken]:
    """Yield an error in place of a result. What a tool answers may depend on the calls before
    it.
    """
    seen = judged.seen
    for id_ in _newly_failed(judged):
        if _http_error(judged.run, seen, id_):
            continue
        method = seen.methods[id_]
        stateless = method in _STATELESS or method.endswith("/list")
        text = f"{_shown(seen, id_)} is answered with an error"
        verdict: Verdict = "broken" if stateless else "odd"
        yield Broken("wrong-answer", seen.places[id_], text, verdict)


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
