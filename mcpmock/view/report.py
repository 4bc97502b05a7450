"""`report`: one or two cassettes as the data of an `html_page`.

Rows are those of `timeline`, in columns; the violations are those of `rules.checker`, the
differences those of `semantic_diff`. Pure: the same cassettes give the same bytes. `mcpmock report`
stands above.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import PurePath
from typing import Any

import attrs
from msgspec import UNSET
from msgspec.structs import replace

from mcpmock.cassette.model import Cassette, Event, Gap, Take
from mcpmock.errors import Level
from mcpmock.printable import common_length, duration, shell_command
from mcpmock.protocol.correlation import CANCELLED
from mcpmock.protocol.messages import encode
from mcpmock.rules.checker import Found, check
from mcpmock.semantic_diff.compare import Diff, Difference, IgnoreRules, Progress, compare

from .html_page import html_page
from .lanes import Lanes, TimeAxis
from .problems import Problem, Problems
from .races import SeenRace, drawing, seen_races
from .summary import head_text
from .take_head import TakeHead
from .timeline import LeftOut, Row, raws, timeline

MAX_ROWS = 300_000
"""More make a browser slow: 300,000 rows are ready in 3 s and take 660 MB of its memory."""
RECENT_ROWS = 5000
"""How far back a live page looks for races and for who waited for whom."""
MAX_TOLD = 50
"""How many problems the page has in words, and how many rows of each. All are stops of `n`."""
_TOGETHER_US = 20_000
"""Lines of the log are written together that come within so long of the first."""
MAX_BODY_CHARS = 1 << 20
"""How much of a payload is in the page, to be searched."""
_ABSENT = "(absent)"
_EMPTY = {True: "Waiting for what is recorded.", False: "Nothing is recorded."}
_UNINTERESTING = {"notification", "sse", "http", "stderr", "body", "end"}


def report_page(
    cassette: Cassette,
    other: Cassette | None = None,
    *,
    rules: IgnoreRules | None = None,
    test: FailedTest | None = None,
    progress: Progress | None = None,
) -> bytes:
    """Return the page of a cassette, or of how the other one differs from it under the rules. That
    of a failed `test` opens on the last cassette, which is what its clients asked and got; what
    they never asked for is no difference.
    """
    cassettes = [one for one in (cassette, other) if one is not None]
    work = _Work(4 * len(cassettes), progress)
    names = _telling_names([one.name for one in cassettes])
    data: dict[str, Any] = {
        "recordings": [
            _whole_data(one, work) | {"file": name}
            for one, name in zip(cassettes, names, strict=True)
        ]
    }
    servers = [one["server"] for one in data["recordings"] if one["server"] is not None]
    title = " · ".join([" and ".join(names), *dict.fromkeys(servers)])
    if other is not None:
        data["diff"] = _diff_data(compare(cassette, other, rules), made_only=test is not None)
    if test is not None:
        title = test.name
        data |= {"opens": len(cassettes) - 1, "title": test.name}
        data |= {"error": test.error, "told": test.told}
    made = html_page("report", title, data)
    work.step(len(cassettes))
    return made


def _telling_names(paths: Sequence[str]) -> list[str]:
    """Return of each path its end, as much as tells it from the others."""
    parts = [PurePath(path).parts for path in paths]
    for length in range(1, max(map(len, parts))):
        names = [str(PurePath(*one[-length:])) for one in parts]
        if len({*names}) == len(names):
            return names
    return list(paths)


@attrs.frozen
class FailedTest:
    """A test that a page is about."""

    name: str
    """Its node id."""
    error: str
    """What it failed with, in a line."""
    told: str
    """What there is to say about its server."""


@attrs.define
class _Work:
    """The steps of making a page, about equally long."""

    total: int
    progress: Progress | None
    done: int = 0

    def step(self, steps: int = 1) -> None:
        self.done += steps
        if self.progress is not None:
            self.progress(self.done, self.total)


def _whole_data(cassette: Cassette, work: _Work) -> dict[str, Any]:
    rows = list(timeline(cassette))
    work.step()
    found = [one for one in check(cassette) if isinstance(one, Found)]
    work.step()
    data = PageRecording(cassette, TimeAxis.over(rows))
    if len(rows) > MAX_ROWS:
        problems = Problems(cassette.takes)
        problems.add(rows, found)
        data.told = problems.all()
        places = {old: new for new, old in enumerate(_kept_rows(rows, data.told))}
        for one in data.told:
            one.rows = [places[place] for place in one.rows if place in places]
        data.told = [one for one in data.told if one.rows]
        data.left_out = len(rows) - len(places)
        rows = [_moved(rows[place], places) for place in places]
    added = data.add(rows, found)
    work.step()
    return added


def _moved(row: Row, places: dict[int, int]) -> Row:
    """Return the row with the indexes that other rows have in the page."""
    call, within = (None if i is None else places.get(i) for i in (row.call, row.within))
    if (call, within) == (row.call, row.within):
        return row
    return replace(row, call=call, within=within)


@attrs.define
class PageRecording:
    """What the page knows of one recording. A live one grows: `add` gives what is new."""

    cassette: Cassette
    axis: TimeAxis
    left_out: int = 0
    live: bool = False
    """Whether more will come."""
    other: str | None = None
    """What the file is that is no cassette."""
    rows: list[Row] = attrs.field(factory=list)
    _lanes: Lanes = attrs.field(factory=Lanes)
    _words: dict[str, dict[str | None, int]] = attrs.field(factory=lambda: {n: {} for n in _WORDS})
    _kinds: Counter[str] = attrs.field(factory=Counter)
    _levels: Counter[Level] = attrs.field(factory=Counter)
    told: Sequence[Problem] | None = None
    """The problems of all rows, where `rows` will be some of them."""
    _problems: Problems = attrs.field(init=False)
    _stops: set[int] = attrs.field(factory=set)
    """The rows at which `n` stops."""
    _cancels: set[int] = attrs.field(factory=set)
    _redacted: int = 0
    _lost: int = 0
    """How many events the gaps stand for."""
    _heads: list[TakeHead] = attrs.field(factory=list)
    _log: int = 0
    """The first of the lines of the log that were written together last."""

    def __attrs_post_init__(self) -> None:
        self._problems = Problems(self.cassette.takes)

    @property
    def open(self) -> bool:
        """Whether it is being recorded. Before the last take, a recorder was killed, or the page
        did not read a footer.
        """
        return self.live and any(take.footer is None for take in self.cassette.takes[-1:])

    def add(self, rows: Sequence[Row], found: Sequence[Found]) -> dict[str, Any]:
        """Return the data of rows that come behind those of before, and of what is wrong with them;
        counts and lanes are those of all.
        """
        start, known = len(self.rows), {name: len(words) for name, words in self._words.items()}
        self.rows += rows
        self._kinds.update(row.kind for row in rows)
        self._levels.update(one.violation.level for one in found)
        self._cancels.update(_cancels(rows, start))
        self._redacted += sum(row.event.redacted for row in rows if not row.item)
        gaps = [row.event.gap for row in rows if isinstance(row.event.gap, Gap)]
        self._lost += sum(gap.events or 1 for gap in gaps if not isinstance(gap, LeftOut))
        self.left_out += sum(gap.events for gap in gaps if isinstance(gap, LeftOut))
        self._heads += map(TakeHead, self.cassette.takes[len(self._heads) :])
        for head in self._heads:
            head.read_on()
        folds, starts = len(self.axis.folds), len(self.axis.takes)
        problems = self.told
        if problems is None:
            self._problems.add(rows, found)
            problems = self._problems.all(ended=not self.open)
        stops = {place for one in problems for place in one.rows} | self._cancels
        new_stops, solved, self._stops = stops - self._stops, self._stops - stops, stops
        columns = {name: [value(row) for row in rows] for name, value in _VALUES.items()}
        for name, word in _WORDS.items():
            numbers = self._words[name]
            columns[name] = [numbers.setdefault(word(row), len(numbers)) for row in rows]
            columns[f"{name}s"] = list(numbers)[known[name] :]
        _add_payloads(columns, rows)
        columns["u"] = [self.axis.place(row) for row in rows]
        columns["line"] = [self._lanes.place(i, row) for i, row in enumerate(rows, start)]
        columns["lead"] = self._lead(start)
        recent = max(0, start - RECENT_ROWS)
        return {
            "file": PurePath(self.cassette.name).name,
            "facts": [head.facts(number) for number, head in enumerate(self._heads, 1)],
            "notices": [notice.text for notice in self.cassette.notices],
            "chips": list(self._chips()),
            "urls": [_origin(head.take) for head in self._heads],
            "rows": columns,
            "open": self.open,
            "empty": self.other or _EMPTY[self.live],
            "timed": self.axis.idle > 0,
            "width": max(self.axis.at, 1),
            "folds": self.axis.folds[folds:],
            "starts": self.axis.takes[starts:],
            "lanes": self._lanes.table(),
            "lines": self._lanes.lines,
            "problems": sorted(new_stops),
            "solved": sorted(solved),
            "subject": self._heads[0].subject() if self._heads else [],
            "server": self._heads[0].server if self._heads else None,
            "happened": [
                (one.sentence, one.rows[:MAX_TOLD], one.rule) for one in problems[:MAX_TOLD]
            ],
            "untold": len(problems[MAX_TOLD:]),
            "violations": [_violation_data(one) for one in found],
            "paths": _paths(self.rows, recent) if self.axis.idle else {},
            "races": [
                _race_data(race, self.rows[race.call]) for race in seen_races(self.rows, recent)
            ],
        }

    def _lead(self, start: int) -> list[int]:
        """Return how far from each row the one is in which the page shows it: lines of the log that
        were written together are one, and so are the head of a server-sent event and its message.
        """
        rows, away = self.rows, [0] * (len(self.rows) - start)
        for place, row in enumerate(rows[start:], start):
            before = rows[place - 1] if place and rows[place - 1].take == row.take else None
            if row.kind == "stderr":
                passed = row.event.t - rows[self._log].event.t
                if before is None or before.kind != "stderr" or passed > _TOGETHER_US:
                    self._log = place
                away[place - start] = self._log - place
            elif before is not None and before.kind == "sse" and place > start:
                carries = row.message is not None and row.event.x == before.event.x
                away[place - start - 1] = int(carries)
        return away

    def _chips(self) -> Iterator[tuple[str, str, str]]:
        """Yield text, kind and filter of each fact in the head that a reader looks for."""
        takes, kinds, levels = self.cassette.takes, self._kinds, self._levels
        names = [name for head in self._heads for name in (head.transport, head.revision) if name]
        yield from ((name, "", "") for name in dict.fromkeys(names))
        if len(takes) > 1:
            yield _many(len(takes), "take"), "", ""
        counts = (
            (kinds["error"], "error", "error", "kind=error"),
            (levels[Level.ERROR], "violation", "error", "level=error"),
            (levels[Level.WARNING], "warning", "warning", "level=warning"),
            (levels[Level.NOTICE], "notice", "", "level=notice"),
            (len(self._cancels), "cancel", "warning", f"method={CANCELLED}"),
            (kinds["fault"], "fault", "warning", "kind=fault"),
            (self._lost, "lost event", "error", "kind=gap"),
        )
        yield from ((_many(n, noun), kind, query) for n, noun, kind, query in counts if n)
        if self._redacted:
            yield f"{self._redacted} redacted", "", ""
        if any(take.header.redaction == "off" for take in takes):
            yield "not redacted: this page may hold secrets", "error", ""
        if not self.live and any(take.footer is None for take in takes):
            yield "incomplete: its recorder was stopped", "warning", ""
        if self.left_out:
            yield f"{_many(self.left_out, 'event')} left out: see the cassette", "warning", ""


def _kept_rows(rows: Sequence[Row], problems: Sequence[Problem]) -> Sequence[int]:
    """Return the indexes of the rows in the page: of too many the oldest are left out, those first
    that neither ask, answer nor are a problem, problems last.
    """
    worst = {place for one in problems for place in one.rows}.union(_cancels(rows, 0))

    def worth(place: int) -> int:
        row = rows[place]
        if row.notes or place in worst:
            return 2
        return int(row.kind not in _UNINTERESTING)

    dropped = set(sorted(range(len(rows)), key=worth)[: len(rows) - MAX_ROWS])
    return [place for place in range(len(rows)) if place not in dropped]


def _cancels(rows: Sequence[Row], start: int) -> Iterator[int]:
    """Yield the indexes of the cancels, from `start` on: each has a drawing to look at."""
    yield from (place for place, row in enumerate(rows, start) if row.method == CANCELLED)


def _paths(rows: Sequence[Row], start: int) -> dict[int, dict[str, Any]]:
    """Return who waited for whom: of each answered call from the row `start` on during which the
    server asked the client, the parts of its time, in order, as (share, whether the server waited,
    title).
    """
    recent = range(start, len(rows))
    answers = {rows[i].call: rows[i] for i in reversed(recent) if rows[i].latency is not None}
    asked: dict[int, list[tuple[int, int, str]]] = {}
    for place in recent:
        row, call = rows[place], rows[place].within
        if row.kind == "request" and call is not None and {call, place} <= answers.keys():
            span = (row.event.t, answers[place].event.t, row.method or "")
            asked.setdefault(call, []).append(span)
    return {call: _path(answers[call], spans) for call, spans in asked.items()}


def _path(answer: Row, spans: Sequence[tuple[int, int, str]]) -> dict[str, Any]:
    total = max(answer.latency or 0, 1)
    end = answer.event.t
    at, waited, parts = end - total, 0, []
    for start, stop, method in sorted(spans):
        begin, until = max(start, at), min(stop, end)
        if until <= begin:
            continue
        parts += [((begin - at) / total, 0, "server"), ((until - begin) / total, 1, method)]
        at, waited = until, waited + until - begin
    parts.append(((end - at) / total, 0, "server"))
    took, worked, answered = map(duration, (total, total - waited, waited))
    words = f"Of {took} the server worked {worked} and waited {answered} for the client"
    return {"parts": parts, "summary": f"{words} ({_many(len(spans), 'request')})."}


def _many(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _origin(take: Take) -> str | None:
    """Return where the recorded server was, for `curl`."""
    target = take.header.target
    found = re.match(r"https?://[^/\s]+", target) if isinstance(target, str) else None
    return None if found is None else found[0]


def _race_data(race: SeenRace, asked: Row) -> dict[str, Any]:
    tool = "" if asked.tool is None else f"tool={asked.tool},"
    target = f"cancel_race:method={asked.method},{tool}"
    cells = {
        (i, j): (
            name.removeprefix("cancel_").replace("_", " "),
            fits,
            shell_command(["--fault", f"{target}i={i},j={j}"]),
        )
        for i, j, name, fits in race.grid()
    }
    most = range(max((i for i, _ in cells), default=-1) + 1)
    return {
        "call": race.call,
        "summary": race.summary,
        "grid": [[cells.get((i, j)) for j in most] for i in most],
        "exact": race.exact is not None,
        **drawing(race),
    }


_DIRECTIONS = {None: 0, "c2s": 1, "s2c": 2}
_VALUES: dict[str, Callable[[Row], Any]] = {
    "take": lambda row: row.take,
    "n": lambda row: row.event.n,
    "t": lambda row: row.event.t,
    "s": lambda row: row.event.s,
    "x": lambda row: row.event.x,
    "d": lambda row: _DIRECTIONS[row.event.d],
    "id": lambda row: row.id,
    "call": lambda row: row.call,
    "within": lambda row: row.within,
    "latency": lambda row: row.latency,
    "status": lambda row: row.status,
    "item": lambda row: row.item,
    "notes": lambda row: ", ".join(row.notes) or None,
    "summary": lambda row: row.summary,
}
_WORDS: dict[str, Callable[[Row], str | None]] = {
    "kind": lambda row: row.kind,
    "method": lambda row: row.method,
    "tool": lambda row: row.tool,
}
"""Columns of words that repeat: the page gets each word once, and its number in each row."""


def _add_payloads(columns: dict[str, Any], rows: Sequence[Row]) -> None:
    """Add the columns `raw`, cut to what the page holds, and `size` of what was longer."""
    texts = list(_texts(rows))
    columns["raw"] = [text[:MAX_BODY_CHARS] for text in texts]
    columns["size"] = [None if size <= MAX_BODY_CHARS else size for size in map(len, texts)]
    for place, row in enumerate(rows):
        if row.event.oversize is not None:
            columns["size"][place] = row.event.oversize.bytes


def _texts(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the payload of each row as text: a message as it crossed, a head in lines."""
    for row, raw in zip(rows, raws(rows), strict=True):
        yield raw.decode("utf-8", "backslashreplace") if raw else _fact_text(row.event)


def _fact_text(event: Event) -> str:
    if event.fault is not UNSET or event.gap is not UNSET or event.sse is not UNSET:
        value = next(one for one in (event.fault, event.gap, event.sse) if one is not UNSET)
        return encode(value).decode()
    frame = event.frame
    if frame is None:
        return ""
    return (
        (frame.raw.decode("utf-8", "backslashreplace") or head_text(frame))
        .encode("utf-8", "backslashreplace")
        .decode()
    )


def _violation_data(found: Found) -> dict[str, Any]:
    violation = found.violation
    return {
        "take": found.take,
        "n": found.event.n,
        "level": violation.level.value,
        "rule": violation.rule.name,
        "text": violation.text,
        "cited": violation.cited,
        "sentence": violation.sentence,
        "known": None if violation.known is None else violation.known.words,
    }


def _diff_data(comparison: Diff, *, made_only: bool) -> dict[str, Any]:
    """Return the differences; `made_only` are those of calls that the new recording has."""
    counts, found = comparison.counts, comparison.differences
    if made_only:
        found = tuple(one for one in found if one.new_event is not None)
        counts = Counter(one.verdict for one in found)
    return {
        "counts": {verdict.name.lower(): n for verdict, n in counts.items()},
        "ignored": comparison.ignored,
        "calls": sum(comparison.calls.values()),
        "differences": [_difference_data(one) for one in found],
    }


def _difference_data(one: Difference) -> dict[str, Any]:
    call, rule, verdict = one.call or one.method or "session", one.rule, one.verdict.name.lower()
    sides = [_ABSENT if side is None else side for side in (one.old, one.new)]
    text = rule.words if one.old is None and one.new is None else " → ".join(sides)
    allow = shell_command(["--ignore", one.ignore])
    facts = [("meaning", rule.words), ("call", call), ("at", one.path)]
    facts += [("times", str(one.times))] * (one.times > 1)
    events = {
        side: None if event is None else [event.take, event.n]
        for side, event in (("old_event", one.old_event), ("new_event", one.new_event))
    }
    return {
        "verdict": verdict,
        "rule": rule.name,
        "call": call,
        "path": one.path,
        "times": one.times,
        "text": text,
        "hay": " ".join([verdict, rule.name, rule.words, call, one.path, *sides]).lower(),
        "facts": [*facts, ("allow with", allow)],
        "marked": _marked_texts(one.old, one.new),
        **events,
    }


def _marked_texts(old: str | None, new: str | None) -> list[tuple[str, str, str]]:
    """Return of each the common start, what differs, and the common end."""
    if old is None or new is None:
        return [(_ABSENT if text is None else text, "", "") for text in (old, new)]
    start = common_length(old, new)
    end = common_length(old[start:][::-1], new[start:][::-1])
    return [
        (text[:start], text[start : len(text) - end], text[len(text) - end :])
        for text in (old, new)
    ]
