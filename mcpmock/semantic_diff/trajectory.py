"""`Trajectory`: the calls that a client made, held against those of a recording.

Two calls of one method and tool are a pair if they are equal under the rules; of those left over
the nearest are one that has changed. In the recorded order a call comes behind those that had ended
when it began; calls that overlapped have no order. `view.trajectory_report` prints it, and
`api.thread_server` asserts it.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from itertools import chain
from typing import Any

import attrs

from mcpmock.cassette.model import Take
from mcpmock.matching.match_rule import MatchRules
from mcpmock.playback.loosened import FIXED_NAMES, all_differences, bind_rest
from mcpmock.playback.miss import request_words
from mcpmock.playback.request_key import MatchSubject, named, significant
from mcpmock.playback.variables import Bindings, Mismatch
from mcpmock.protocol import messages as m
from mcpmock.protocol.correlation import Correlation, id_space

from .pairing import pair_greedily

USUAL_METHODS = ("tools/call", "prompts/get", "resources/read")
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
    bindings: Bindings = attrs.field(factory=dict)
    """What the placeholders of the recorded calls stand for in equal live ones."""

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
            unused = by_label[call.label]
            near, far = unused[:_MAX_COMPARED], unused[_MAX_COMPARED:]
            equal = (i for i in far if self.recorded[i].params == call.params)
            fits = next((i for i in chain(near, equal) if not self.differences(i, j)), None)
            if fits is None:
                left.append(j)
                continue
            self._bind(fits, j)
            unused.remove(fits)
            self.equal.append((fits, j))
        nearest = sorted(
            (len(self.differences(i, j)), abs(i - j), i, j)
            for j in left
            for i in by_label[self.live[j].label][:_MAX_COMPARED]
        )
        pairs = pair_greedily((i, j) for _, _, i, j in nearest)
        self.changed = sorted(pairs.items(), key=lambda pair: pair[1])
        self.extra = sorted({*left} - {*pairs.values()})
        self.missing = sorted({*chain(*by_label.values())} - pairs.keys())

    def differences(self, i: int, j: int) -> list[Mismatch]:
        """Return where a recorded and a live call differ and no rule allows it."""
        return self._compared(i, j)[0]

    def _compared(self, i: int, j: int) -> tuple[list[Mismatch], list[Mismatch]]:
        one, other = (MatchSubject(c.method, c.params) for c in (self.recorded[i], self.live[j]))
        return all_differences(self.rules, one, other, 0, self.bindings)

    def _bind(self, i: int, j: int) -> None:
        """Let the placeholders of a recorded call stand for what an equal live one has there."""
        one, other = ({"params": one.params} for one in (self.recorded[i], self.live[j]))
        bound = bind_rest(one, other, self._compared(i, j)[1], self.bindings)
        self.bindings = bound or self.bindings


def _in_order(
    recorded: Sequence[TrajectoryCall], pairs: Sequence[tuple[int, int]]
) -> list[tuple[int, int]]:
    """Return most of these, in live order, none behind a call that began after it had ended."""
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
