"""`Problems`: what went wrong in a recording, in sentences.

Pure: the rows of `timeline` and what `rules.checker` found go in, in the order of the recording,
and sentences come out, each with its rows. `report` stands above: the page prints them in its head,
and `n` stops at their rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import attrs

from mcpmock.cassette.model import Event, Gap, Take, names_endpoint
from mcpmock.errors import Level
from mcpmock.printable import duration, excerpt, many
from mcpmock.protocol.correlation import CANCELLED, LISTEN
from mcpmock.protocol.error_codes import NOTHING_RECORDED
from mcpmock.protocol.messages import HttpRequest, ProcessExit, Response
from mcpmock.protocol.methods import REVISIONS
from mcpmock.protocol.revisions import initialized_version
from mcpmock.protocol.transport_facts import (
    CHALLENGE_STATUSES,
    LAST_EVENT_ID_HEADER,
    REPEATING_STATUSES,
)
from mcpmock.rules.checker import Found

from .summary import brief, event_summary
from .timeline import PROBE, REFUSED, LeftOut, Row

_SEVERE, _PLAIN, _MINOR = range(3)
_MAX_WORDS = 60
_MAX_QUOTED = 120
_HTTP_ERROR = 400
_DISCOVERY = "/.well-known/"
"""Where clients try one place after another (RFC 8414, RFC 9728)."""
_NO_SUCH_METHOD = 405


@attrs.define
class Problem:
    """One thing that went wrong."""

    text: str
    """A sentence. It quotes the traffic."""
    rows: list[int]
    """The indexes of its rows, the first to look at first."""
    weight: int = _PLAIN
    cause: int | None = None
    """The row that explains it, and needs no sentence of its own."""
    rule: bool = False
    """Whether it is that a rule is broken."""
    where: str = ""
    """Its take, if there are several."""
    times: int = 1

    @property
    def sentence(self) -> str:
        more = "" if self.times == 1 else f"; {self.times - 1:,} more like it"
        return f"{self.where}{self.text}{more}"


@attrs.define
class Problems:
    """Reads a recording, row by row."""

    takes: Sequence[Take]
    _rows: list[Row] = attrs.field(factory=list)
    _told: list[Problem] = attrs.field(factory=list)
    _alike: dict[tuple[object, ...], Problem] = attrs.field(factory=dict)
    _take: _TakeState = attrs.field(factory=lambda: _TakeState(0))

    def add(self, rows: Sequence[Row], found: Sequence[Found]) -> None:
        """Take in the next rows and the violations in them. The row that a row names as its call
        has the same index here.
        """
        wanted: dict[tuple[int, int], list[Found]] = {}
        for one in found:
            if one.violation.level is not Level.NOTICE:
                wanted.setdefault((one.take, one.event.n), []).append(one)
        for place, row in enumerate(rows, len(self._rows)):
            self._rows.append(row)
            if row.take != self._take.number:
                self._told += self._unanswered(ended=True)
                self._take = _TakeState(row.take)
            for one in wanted.pop((row.take, row.event.n), []):
                self._tell_violation(place, one)
            self._read(place, row)

    def all(self, *, ended: bool = True) -> list[Problem]:
        """Return the problems so far, the worst first; `ended` is whether nothing will follow."""
        found = [*self._told, *self._unanswered(ended=ended)]
        explaining = {one.cause: one for one in found if one.cause is not None}
        kept = []
        for one in found:
            if one.cause is None and explaining.keys() >= set(one.rows):
                explained = explaining[one.rows[0]].rows
                explained += [place for place in one.rows if place not in explained]
            else:
                kept.append(one)
            if len(self.takes) > 1:
                one.where = f"take {self._rows[one.rows[0]].take}: "
        return sorted(kept, key=lambda one: (one.weight, one.rows[0]))

    def _tell(self, place: int, text: str, weight: int = _PLAIN, *, like: object) -> Problem:
        """Add a problem, or count it if its take has a problem `like` it."""
        kind = self._take.number, like
        if (first := self._alike.get(kind)) is None:
            first = self._alike[kind] = Problem(text, [place], weight)
            self._told.append(first)
        else:
            first.times += 1
            first.rows.append(place)
        return first

    def _tell_violation(self, place: int, found: Found) -> None:
        violation, rule = found.violation, found.violation.rule.name
        cited = f"[{rule}, event {found.event.n}]"
        text = f"the {violation.by} broke a rule: {brief(violation.text)} {cited}"
        weight = _PLAIN if violation.level is Level.ERROR else _MINOR
        told = self._tell(place, text, weight, like=("rule", violation.by, rule))
        told.rule = True
        self._take.broken.setdefault(place, told)

    def _read(self, place: int, row: Row) -> None:
        take, event = self._take, row.event
        take.last = event.t
        if event.x is not None and event.d == "c2s" and event.payload is not None:
            take.posted[event.x] = place
        match row.kind:
            case "request":
                if row.method != LISTEN:  # that stays open
                    take.open[place] = row
                if event.x is not None:
                    take.asked[event.x] = place
            case "response" | "error" if row.call is not None:
                take.open.pop(row.call, None)
                self._read_agreement(place, row)
            case "notification" if row.method == CANCELLED and row.call in take.open:
                asked = take.open[row.call]
                if (asked.method, asked.id) not in take.hit:
                    del take.open[row.call]
            case "stderr" if isinstance(event.stderr, str) and event.stderr.strip():
                take.log, take.logged = event.stderr, place
            case "sse" if event.x is not None and (id_ := getattr(event.sse, "id", None)):
                take.streams[id_] = event.x
            case "http":
                self._read_head(place, row)
            case "end":
                self._read_end(place, row)
            case "fault":
                told = event.fault if isinstance(event.fault, dict) else {}
                take.hit.setdefault((str(told.get("method")), str(told.get("id"))), place)
                self._tell(place, _fault_words(event), like=_fault_words(event, "kind", "name"))
            case "gap" if isinstance(event.gap, Gap):
                self._read_gap(place, event.gap)
            case "opaque" | "body" if row.summary:
                self._read_text(place, row)
        if row.kind == "error":
            self._read_error(place, row)

    def _read_gap(self, place: int, gap: Gap) -> None:
        """Take in that events are missing: requests, or answers to those that are open."""
        self._take.partial = True
        self._take.open.clear()
        if not isinstance(gap, LeftOut):
            lost, why = many(max(gap.events, 1), "event"), brief(gap.reason)
            text = f"{lost} could not be recorded: {why or 'no reason is given'}"
            self._tell(place, text, like=why)

    def _read_agreement(self, place: int, row: Row) -> None:
        """Tell of a server that answers `initialize` in a revision that MCP has not."""
        if row.asked == "initialize" and isinstance(row.message, Response):
            agreed = initialized_version(row.message.result)
            if agreed is not None and agreed not in REVISIONS:
                words = brief(agreed, _MAX_WORDS)
                self._tell(
                    place,
                    f"the server answered in {words}, which is no revision of MCP",
                    like=words,
                )

    def _read_error(self, place: int, row: Row) -> None:
        said = row.summary.removeprefix(f"{NOTHING_RECORDED} mcpmock: ")
        words, broken = brief(said.partition("; allow with ")[0], _MAX_QUOTED), self._take.broken
        if self._explains_refusal(place, row, words):
            return
        if row.call in broken:
            broken[row.call].rows.append(place)
        elif row.call is not None:
            missed = said != row.summary
            weight = _SEVERE if missed or row.asked == "initialize" else _MINOR
            text = f"{self._name(row.call)} failed: {words}"
            self._tell(place, text, weight, like=("failed", row.method, row.tool))
        elif place not in broken and not self._take.partial:
            self._tell(place, f"an error answers no request: {words}", like="error")

    def _read_text(self, place: int, row: Row) -> None:
        """Note an event that is not a message: the body of an HTTP error, or text on the wire."""
        words = brief(row.summary, _MAX_QUOTED)
        if self._explains_refusal(place, row, words) or row.kind == "body":
            return
        before = self._rows[place - 1] if place else None
        endpoint = before is not None and names_endpoint(before.event)
        if not endpoint and place not in self._take.broken:
            self._tell(place, f"no JSON-RPC: {words}", like="opaque")

    def _explains_refusal(self, place: int, row: Row, words: str) -> bool:
        """Quote why a server refused, but no HTML: that says no more. False where none refused."""
        exchange = row.event.x
        refused = None if exchange is None else self._take.refused.get(exchange)
        if refused is None:
            return False
        if len(refused.rows) == 1 and not words.startswith("<") and words not in refused.text:
            refused.text += f": {words}"
        refused.rows.append(place)
        return True

    def _read_head(self, place: int, row: Row) -> None:
        take, event, frame = self._take, row.event, row.event.frame
        if frame is None or event.x is None or not isinstance(event.http, dict):
            return
        if isinstance(frame.fact, HttpRequest):
            take.heads[event.x] = f"{frame.fact.method} {frame.fact.target}"
            last = frame.fact.header(LAST_EVENT_ID_HEADER)
            if last is not None:
                self._read_resumption(place, last)
            return
        status, asked = event.http.get("status"), take.asked.get(event.x)
        if not isinstance(status, int):
            return
        take.statuses[event.x] = status
        head = take.heads.get(event.x, "")
        probed = asked is not None and self._rows[asked].method == PROBE
        # A server need not have a stream of its own, nor let its sessions be ended (MCP 2025-03-26
        # to 2025-11-25).
        offered = status == _NO_SUCH_METHOD and head.startswith(("GET ", "DELETE "))
        regular = status < _HTTP_ERROR or offered or REFUSED in row.notes or probed
        if regular or _DISCOVERY in head:
            if take.challenged and (told := take.challenged.pop(self._posted(event.x), None)):
                self._told.remove(self._alike.pop(told))
            return
        what = self._name(asked) if asked is not None else brief(head, _MAX_WORDS) or "a request"
        words = brief(f"{status} {event.http.get('reason') or ''}", _MAX_WORDS)
        like: tuple[object, ...] = ("http", status)
        if status in CHALLENGE_STATUSES:
            posted = self._posted(event.x)
            like = (*like, posted)
            take.challenged[posted] = take.number, like
        text = f"{what} got HTTP {words}"
        take.refused[event.x] = self._tell(place, text, _SEVERE, like=like)

    def _posted(self, exchange: int) -> tuple[str, bytes | None]:
        """Return what the client sent: the method and target, and the message."""
        place = self._take.posted.get(exchange)
        payload = None if place is None else self._rows[place].event.payload
        return self._take.heads.get(exchange, ""), payload

    def _read_resumption(self, place: int, last: str) -> None:
        """Tell of a stream that is asked for again, and of how it was cut."""
        take = self._take
        stream = take.streams.get(last)
        cut = None if stream is None else take.cut.get(stream)
        words = f"resumed after event {brief(last, _MAX_WORDS)}"
        if cut is None:
            name = "a stream" if stream is None else self._stream_name(stream)
            self._tell(place, f"{name} was {words}", _MINOR, like="resumed")
            return
        if len(cut.rows) == 1:
            cut.text += f", and {words}"
        cut.rows.append(place)

    def _read_end(self, place: int, row: Row) -> None:
        take, event = self._take, row.event
        if event.x is not None:
            if isinstance(event.end, str):
                take.ends[event.x] = place
                if event.end == "reset":
                    name = self._stream_name(event.x)
                    take.cut[event.x] = self._tell(place, f"{name} was reset", like="reset")
            return
        take.endings.append(place)
        words = _exit_words(event)
        if event.d == "c2s":
            take.stopped = True
        if words is not None and not (take.stopped and _is_stop(event)):
            text = f"the server {words}{self._log_words(place)}"
            self._tell(place, text, _SEVERE, like="exit")
        elif event.end == "reset":
            side = "client" if event.d == "c2s" else "server"
            self._tell(place, f"the {side} reset the connection", _SEVERE, like="reset by " + side)

    def _stream_name(self, exchange: int) -> str:
        asked = self._take.asked.get(exchange)
        if asked is not None:
            return f"the stream of {self._name(asked)}"
        return f"the stream of {brief(self._take.heads.get(exchange, 'an exchange'), _MAX_WORDS)}"

    def _name(self, place: int) -> str:
        """Return a request in words: `tools/call weather #7`."""
        row = self._rows[place]
        words = (row.method, row.tool, None if row.id is None else f"#{row.id}")
        return " ".join(brief(word, _MAX_WORDS) for word in words if word)

    def _unanswered(self, *, ended: bool) -> Iterator[Problem]:
        """Yield what will not be answered any more; one problem for those with one cause."""
        take = self._take
        if not ended and not any(map(self._is_exit, take.endings)):
            return
        causes: dict[int | None, list[int]] = {}
        for place, row in take.open.items():
            status = None if row.event.x is None else take.statuses.get(row.event.x)
            if status is not None and (status >= _HTTP_ERROR or status in REPEATING_STATUSES):
                continue  # told with its status, or asked again
            causes.setdefault(self._cause(place, row), []).append(place)
        for cause, places in causes.items():
            others = "" if len(places) == 1 else f" and {many(len(places) - 1, 'more request')}"
            was = "was" if len(places) == 1 else "were"
            why = self._cause_words(cause, places[0]) + self._log_words(cause, places[0])
            text = f"{self._name(places[0])}{others} {was} never answered: {why}"
            left = cause is not None and self._rows[cause].event.x is not None
            left = left and self._rows[cause or 0].event.d == "c2s"
            yield Problem(text, places, _MINOR if left else _SEVERE, cause)

    def _cause(self, place: int, row: Row) -> int | None:
        """Return the row that says why a request got no answer."""
        take, event = self._take, row.event
        if (fault := take.hit.get((row.method, row.id))) is not None:
            return fault
        if event.x is not None:
            return take.ends.get(event.x)
        ends = [at for at in take.endings if at > place]
        if ends and self._rows[ends[0]].event.d != "c2s":  # its output ends before the process
            return next(filter(self._is_exit, ends), ends[0])
        return ends[0] if ends else None

    def _cause_words(self, cause: int | None, asked: int) -> str:
        take, since = self._take, self._rows[asked].event.t
        if cause is None:
            recorded = self.takes[take.number - 1]
            ending = "the recording breaks off" if recorded.footer is None else "the recording ends"
            if recorded.header.transport == "memory" and recorded.header.test is not None:
                ending = "the test ended"
            return ending + _later(take.last - since)
        event = self._rows[cause].event
        later = _later(event.t - since)
        if self._rows[cause].kind == "fault":
            return _fault_words(event)
        if event.x is not None:
            if event.d == "c2s":
                return f"the client left{later}"
            if event.end == "reset":
                return f"its HTTP connection was reset{later}"
            if event.x in take.statuses:
                return f"its HTTP response ended without one{later}"
            return f"the server closed the HTTP connection{later}"
        if (words := _exit_words(event)) is not None or self._is_exit(cause):
            return f"the server {words or 'ended with status 0'}{later}"
        if event.d == "c2s" and isinstance(event.end, dict):
            return f"the client stopped the server{later}"
        return f"the {'client' if event.d == 'c2s' else 'server'} hung up{later}"

    def _log_words(self, cause: int | None, asked: int = -1) -> str:
        """Return the log's last line, unless older than what was asked of a server that goes on."""
        take, ended = self._take, cause is not None and self._is_exit(cause)
        lines = [line for line in take.log.splitlines() if line.strip()]
        if not lines or not (ended or take.logged > asked):
            return ""
        whose = "its" if ended else "the server's"
        return f"; {whose} log ends: {excerpt(brief(lines[-1]), _MAX_QUOTED)}"

    def _is_exit(self, place: int) -> bool:
        event = self._rows[place].event
        return event.d != "c2s" and isinstance(event.end, dict)


@attrs.define
class _TakeState:
    """What is kept of a take. Numbers are the indexes of rows, or of exchanges."""

    number: int
    open: dict[int, Row] = attrs.field(factory=dict)
    asked: dict[int, int] = attrs.field(factory=dict)
    """The request in each exchange."""
    heads: dict[int, str] = attrs.field(factory=dict)
    posted: dict[int, int] = attrs.field(factory=dict)
    """What the client sent in each exchange, its last message."""
    statuses: dict[int, int] = attrs.field(factory=dict)
    refused: dict[int, Problem] = attrs.field(factory=dict)
    """The problems of exchanges with an error status."""
    challenged: dict[tuple[str, bytes | None], tuple[int, object]] = attrs.field(factory=dict)
    """The requests that a token was asked for: where their problem is."""
    broken: dict[int, Problem] = attrs.field(factory=dict)
    """The problems of rows that break a rule."""
    streams: dict[str, int] = attrs.field(factory=dict)
    """The exchange that had the event of each id."""
    cut: dict[int, Problem] = attrs.field(factory=dict)
    ends: dict[int, int] = attrs.field(factory=dict)
    """How each exchange ended."""
    endings: list[int] = attrs.field(factory=list)
    """How the two sides of the transport ended."""
    hit: dict[tuple[str | None, str | None], int] = attrs.field(factory=dict)
    """The fault that hit a request or its answer, by method and id."""
    partial: bool = False
    """Whether events of it are missing."""
    stopped: bool = False
    """Whether the client has ended its side, or sent the server a signal."""
    log: str = ""
    """The end of the server's standard error."""
    logged: int = 0
    """The row of that."""
    last: int = 0


def _exit_words(event: Event) -> str | None:
    """Return how a process failed; None if it did not, or if no process ended."""
    if event.d == "c2s" or not isinstance(event.end, dict):
        return None
    if (signal := event.end.get("signal")) is not None:
        return f"was ended by signal {signal}"
    return f"ended with status {status}" if (status := event.end.get("exit")) else None


def _is_stop(event: Event) -> bool:
    """Return whether a process ended as a client ends it."""
    end = event.end if isinstance(event.end, dict) else {}
    return ProcessExit(end.get("exit"), end.get("signal")).from_outside


def _fault_words(event: Event, *names: str) -> str:
    """Return what fired, in words; with `names` only of these members."""
    fault = event.fault
    if names and isinstance(fault, dict):
        return " ".join(str(fault.get(name)) for name in names)
    return f"an injected fault fired: {brief(event_summary(event), _MAX_QUOTED)}"


def _later(us: int) -> str:
    """Return `, 552 ms later`; empty where nothing has a time."""
    return f", {duration(us)} later" if us > 0 else ""
