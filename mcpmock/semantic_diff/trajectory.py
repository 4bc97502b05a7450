"""`Trajectory`: the calls that a client made, held against those of a recording.

Two calls of one method and tool are a pair if they are equal under the rules; of those left over
the nearest are one that has changed. In the recorded order a call comes behind those that had ended
when it began; calls that overlapped have no order. `api.thread_server` asserts it.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Any

import attrs

from mcpmock.cassette.model import Take
from mcpmock.matching.match_rule import MatchRules
from mcpmock.playback.loosened import FIXED_NAMES, all_differences
from mcpmock.playback.miss import propose_rules, request_words, shown_values, spell_options
from mcpmock.playback.request_key import MatchSubject, named, significant
from mcpmock.playback.variables import Bindings, Mismatch, unify
from mcpmock.printable import first_lines, many, printable
from mcpmock.protocol import messages as m
from mcpmock.protocol.correlation import Correlation, id_space
from mcpmock.redaction.redaction_rules import RedactionRules
from mcpmock.redaction.redactor import Redactor

USUAL_METHODS = ("tools/call", "prompts/get", "resources/read")
MAX_LINES = 20
"""How many calls of a kind are listed."""
_MAX_COMPARED = 100
"""How many recorded calls a live one is compared with, beside those that are equal to it."""


@attrs.define(eq=False)
class TrajectoryCall:
    """A request of a client, without what does not count."""

    method: str
    params: Any
    n: int = 0
    """Its event; 0 of a live one."""
    begins: float = 0
    ends: float = math.inf
    """Its place, and that of its answer, among the messages of the recording."""

    @property
    def label(self) -> tuple[str, str]:
        name = named(self.method, self.params) if self.method in FIXED_NAMES else ""
        return self.method, name

    def __str__(self) -> str:
        return f"{self.method} {request_words(self.method, self.params)}".rstrip()


def recorded_calls(takes: Iterable[Take], methods: Sequence[str]) -> list[TrajectoryCall]:
    """Return the calls of these methods (globs) in a recording; takes follow one another."""
    found: list[TrajectoryCall] = []
    place = 0
    for take in takes:
        calls: defaultdict[Any, Correlation] = defaultdict(Correlation)
        requests: list[TrajectoryCall] = []
        for event in take.events:
            frame = event.frame
            if frame is None or frame.fact is not None:
                continue
            place += 1
            for message in m.parse_items(frame.raw):
                note = calls[id_space(event.s, event.x)].note(
                    frame.direction, message, len(requests), event.x
                )
                if isinstance(message, m.Request):
                    call = _call(message.method, message.params, event.n, place)
                    requests.append(call)
                    if frame.direction is m.C2S and _counts(call.method, methods):
                        found.append(call)
                elif isinstance(message, m.Response) and note.call is not None:
                    requests[note.call.index].ends = place
        for call in requests:  # what was never answered ends with its take
            call.ends = min(call.ends, place + 0.5)
    return found


def live_calls(asked: Iterable[tuple[str, Any]], methods: Sequence[str]) -> list[TrajectoryCall]:
    """Return the calls of these methods among the requests of clients, in their order."""
    calls = (_call(method, m.encode(params)) for method, params in asked)
    return [call for call in calls if _counts(call.method, methods)]


def _call(method: str, params: bytes | None, n: int = 0, begins: float = 0) -> TrajectoryCall:
    given = significant(params)
    if isinstance(given, dict):
        given = {name: value for name, value in given.items() if name != "_meta"}
    return TrajectoryCall(method, given, n, begins)


def _counts(method: str, methods: Sequence[str]) -> bool:
    return any(fnmatchcase(method, glob) for glob in methods)


@attrs.define
class Trajectory:
    """The outcome of a comparison."""

    recorded: list[TrajectoryCall]
    live: list[TrajectoryCall]
    rules: MatchRules
    equal: list[tuple[int, int]] = attrs.field(factory=list)
    """Pairs of recorded and live calls, by their numbers."""
    changed: list[tuple[int, int]] = attrs.field(factory=list)
    missing: list[int] = attrs.field(factory=list)
    extra: list[int] = attrs.field(factory=list)
    moved: list[tuple[int, int]] = attrs.field(factory=list)
    """Those of the pairs that are out of order: the fewest without which the rest is in order."""
    _bindings: Bindings = attrs.field(factory=dict)

    @classmethod
    def compare(
        cls, recorded: list[TrajectoryCall], live: list[TrajectoryCall], rules: MatchRules
    ) -> Trajectory:
        found = cls(recorded, live, rules)
        found._pair()
        pairs = sorted([*found.equal, *found.changed], key=lambda pair: pair[1])
        kept = set(_in_order(recorded, pairs))
        found.moved = [pair for pair in pairs if pair not in kept]
        return found

    def _pair(self) -> None:
        by_label: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
        for i, call in enumerate(self.recorded):
            by_label[call.label].append(i)
        left: list[int] = []
        for j, call in enumerate(self.live):
            unused = by_label[call.label][:_MAX_COMPARED]
            differing = ((len(self.differences(i, j)), i) for i in unused)
            fits = next((i for count, i in differing if not count), None)
            if fits is None:
                left.append(j)
                continue
            self._bindings = self._bound(fits, j)
            by_label[call.label].remove(fits)
            self.equal.append((fits, j))
        near = sorted(
            (len(self.differences(i, j)), abs(i - j), i, j)
            for j in left
            for i in by_label[self.live[j].label][:_MAX_COMPARED]
        )
        used: set[int] = set()
        open_ = set(left)
        for _, _, i, j in near:
            if i not in used and j in open_:
                used.add(i)
                open_.discard(j)
                self.changed.append((i, j))
        self.changed.sort(key=lambda pair: pair[1])
        self.extra = sorted(open_)
        self.missing = sorted({i for row in by_label.values() for i in row} - used)

    def differences(self, i: int, j: int) -> list[Mismatch]:
        """Return where a recorded and a live call differ and no rule allows it."""
        return all_differences(
            self.rules, _subject(self.recorded[i]), _subject(self.live[j]), 0, self._bindings
        )[0]

    def _bound(self, i: int, j: int) -> Bindings:
        bound = unify(self.recorded[i].params, self.live[j].params, self._bindings)
        return self._bindings if bound is None else bound


def _subject(call: TrajectoryCall) -> MatchSubject:
    return MatchSubject(call.method, call.params)


def _in_order(
    recorded: Sequence[TrajectoryCall], pairs: Sequence[tuple[int, int]]
) -> list[tuple[int, int]]:
    """Return most of these pairs, in live order, so that none comes behind a call that began after
    it had ended.
    """
    # best[k]: of all choices of k + 1 pairs the one whose latest beginning is the earliest.
    best: list[tuple[float, tuple[Any, tuple[int, int]]]] = []
    for pair in pairs:
        call = recorded[pair[0]]
        for k in range(len(best), -1, -1):
            before, chain = best[k - 1] if k else (-math.inf, None)
            if call.ends < before:
                continue
            latest = max(before, call.begins)
            if k == len(best):
                best.append((latest, (chain, pair)))
            elif latest < best[k][0]:
                best[k] = (latest, (chain, pair))
    chosen = []
    chain = best[-1][1] if best else None
    while chain is not None:
        chain, pair = chain
        chosen.append(pair)
    return chosen[::-1]


def trajectory_lines(
    found: Trajectory, redaction: RedactionRules, *, order: str, extra: str, missing: str
) -> list[str]:
    """Return what to say of a trajectory that is not as asked; nothing if it is."""
    moved = found.moved if order == "same" else []
    extras = found.extra if extra == "fail" else []
    absent = found.missing if missing == "fail" else []
    if not (moved or extras or absent or found.changed):
        return []
    shown = _without_secrets(found, redaction)
    counts = {
        "missing": len(absent),
        "extra": len(extras),
        "changed": len(found.changed),
        "out of order": len(moved),
    }
    said = ", ".join(f"{count} {word}" for word, count in counts.items() if count)
    equal = len(found.equal)
    head = f"{equal} of {many(len(found.recorded), 'recorded call')} made as recorded: {said}"
    lines = [head]
    lines += _cut(f"missing: event {shown.recorded[i].n}, {shown.recorded[i]}" for i in absent)
    lines += _cut(f"extra: {shown.live[j]}" for j in extras)
    lines += _cut(_changed_line(shown, i, j) for i, j in found.changed)
    lines += _cut(f"out of order: event {shown.recorded[i].n}, {shown.live[j]}" for i, j in moved)
    lines += ["calls made:", *(_cut(map(str, shown.live)) or ["  none"])]
    return [printable(line) for line in lines]


def _changed_line(shown: Trajectory, i: int, j: int) -> str:
    recorded = shown.recorded[i]
    differences = shown.differences(i, j)
    places = (
        f"{one.path}: recorded {had}, called {called}"
        for one in differences[:MAX_LINES]
        for had, called in (shown_values(one),)
    )
    text = "; ".join(places) or "a secret is another one"
    rules = propose_rules(recorded.method, recorded.params, differences)
    allow = f"; allow with {spell_options(rules, keywords=True)}" if rules else ""
    name = " ".join(filter(None, recorded.label))
    return f"changed: event {recorded.n}, {name}: {text}{allow}"


def _without_secrets(found: Trajectory, rules: RedactionRules) -> Trajectory:
    """Return a copy for showing, with the live calls as a recording would have them."""
    redactor = Redactor(rules)
    frames = [
        m.Frame(
            m.C2S,
            m.encode({"jsonrpc": "2.0", "id": 0, "method": one.method, "params": one.params}),
        )
        for one in found.live
    ]
    for frame in frames:
        redactor.frame(frame)  # a later one may give away what an earlier one holds
    live = []
    for call, frame in zip(found.live, frames, strict=True):
        value = m.decode(redactor.frame(frame).raw)
        params = value.get("params") if isinstance(value, dict) else call.params
        live.append(attrs.evolve(call, params=params))
    return attrs.evolve(found, live=live, bindings={})


def _cut(lines: Iterable[str]) -> list[str]:
    return [f"  {line}" for line in first_lines([*lines], MAX_LINES)]


def check_words(**words: tuple[object, Sequence[str]]) -> Iterator[str]:
    """Yield what is wrong with each of these words, which has to be one of its choices."""
    for name, (word, choices) in words.items():
        if word not in choices:
            yield f"{name}={word!r}: choose {' or '.join(choices)}"
