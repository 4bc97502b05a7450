"""Overlapping calls are answered in the same order, and no later, as if every waiting answer looked
at every request that it waits for: on 300 generated recordings (with MCPMOCK_E2E_ALL=1: 1,000),
each with a client of its own.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Collection, Iterator, Sequence
from random import Random
from typing import Any

import pytest

from mcpmock.cassette.model import Episode
from mcpmock.playback.overlaps import OverlapWaits, StatelessWaits
from mcpmock.playback.plan.builder import build_plan
from mcpmock.playback.plan.plan import OverlapFinder, ReplayPlan
from mcpmock.playback.schedule import ENDINGS, Schedule
from mcpmock.playback.timing import Pace, Timing
from mcpmock.protocol.messages import C2S, Frame
from tests.support import (
    Line,
    accepts,
    answers,
    c,
    cancelled,
    ends,
    episode,
    in_session,
    notification,
    opens,
    over_http,
    post,
    progress,
    request,
    response,
    s,
    says,
)
from tests.support.every import EVERY

PLANS = range(1000 if EVERY else 300)
TIMINGS = (Timing(), Timing(), Timing("recorded"), Timing("cap", 1500))


class LookingStatelessWaits(StatelessWaits[int]):
    """Looks at all that every held message waits for, whenever anything happens."""

    def note_event(self, event: int, rank: int | None) -> dict[int, float]:
        if rank is not None and self.since_s:
            self._graces_passed = 0
        return self._take([one for one in self.since_s if not self._waits(one)])

    def hold(
        self, position: int, start: int, stop: int, now: float, others: Collection[int] = ()
    ) -> bool:
        self.since_s[position], self._overlaps[position] = now, (start, stop, others)
        return self._waits(position) or not self._take([position])

    def take_expired(self, now: float) -> dict[int, float]:
        expired = [one for one in self.since_s if self._deadline(one) <= now]
        self._graces_passed += bool(expired)
        return self._take(expired)

    def find_deadline(self) -> float | None:
        return min(map(self._deadline, self.since_s), default=None)

    def _waits(self, position: int) -> bool:
        return any(event not in self.happened for event in self._events(position))

    def _events(self, position: int) -> Iterator[int]:
        start, stop, others = self._overlaps[position]
        yield from (event for event, rank in self.ranks.items() if start <= rank < stop)
        yield from others

    def _last_heard(self, position: int) -> float:
        since = self.since_s[position]
        times = (self.happened.get(event, since) for event in self._events(position))
        return max(times, default=since)


class LookingWaits(LookingStatelessWaits):
    """The same in a session."""

    _grace = OverlapWaits._grace
    _last_heard = OverlapWaits._last_heard


class LookingSchedule(Schedule):
    """The same, and looks at everything that is to be sent before an ending."""

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        ranks = self.plan.request_ranks
        kind = LookingStatelessWaits if self.stateless else LookingWaits
        self.held = kind(self.pace, self.happened, ranks=ranks)

    def _is_early_ending(self, position: int) -> bool:
        messages = self.plan.messages
        fact, exchange = messages[position].frame.fact, messages[position].exchange
        waiting = (*self.held.since_s, *(other for _, other in self._due))
        ahead = (other for other in waiting if other < position and other not in self.done)
        is_ending = fact is not None and isinstance(fact, ENDINGS)
        return is_ending and any(exchange in (None, messages[other].exchange) for other in ahead)


def interleaved(random: Random, rows: Sequence[Sequence[Any]]) -> Iterator[Any]:
    """The items of all rows, those of each in their order; mostly many rows at once."""
    waiting, open_rows = [list(row) for row in rows], random.choice((2, 5, 50))
    while waiting:
        row = random.choice(waiting[:open_rows])
        yield row.pop(0)
        waiting = [row for row in waiting if row]


def stdio_calls(random: Random) -> Iterator[Line]:
    rows: list[list[Line]] = [
        [s(notification("log", {"n": n}))] for n in range(random.randint(0, 6))
    ]
    for id_ in range(random.randint(1, 12)):
        row = [c(request(id_, "tools/call", token=id_))]
        row += [s(progress(id_, n)) for n in range(random.choice((0, 0, 2)))]
        row += [c(cancelled(id_))] if random.random() < 0.1 else []
        row += [s(response(id_))] * random.choice((0, 1, 1, 1, 1, 2))
        rows.append(row)
    yield from interleaved(random, rows)
    yield from random.choice(([], [("end", {"d": "s2c"}), ("end", {"exit": 1})]))


def http_calls(random: Random, session: int) -> Episode:
    rows: list[list[list[Frame]]] = []
    for x in range(1, random.randint(2, 12)):
        asked = post(x, request(x, "tools/call", token=x))
        told = [says(x, progress(x, n)) for n in range(random.choice((0, 2)))]
        streamed = [opens(x), *told, says(x, response(x)), [ends(x)]]
        left = [opens(x), *told, [ends(x, "closed", C2S)]]
        answer = random.choice((streamed, streamed, left, [answers(x, response(x))], [accepts(x)]))
        late = [[asked[0]], answer[0], [asked[1]], *answer[1:]]  # its body is read after that
        rows.append(late if random.random() < 0.2 else [asked, *answer])
    steps = interleaved(random, rows)
    return over_http(in_session(session, *steps)).episodes()[0]


def generated(random: Random) -> tuple[ReplayPlan, bool]:
    """A plan, and whether its exchanges belong to no session."""
    strict = random.random() < 0.05
    session = random.choice((1, 2))
    if random.random() < 0.5:
        return build_plan(episode(*stdio_calls(random)), strict=strict), random.random() < 0.2
    return build_plan(http_calls(random, session), strict=strict), session == 1


def played(schedule: Schedule, random: Random) -> list[tuple[float, list[int]]]:
    """What leaves, and when, for a client that does what it did in about the recorded order."""
    plan = schedule.plan
    left: list[tuple[float, list[int]]] = []

    def advance(until: float) -> None:
        while (due := schedule.next_due) is not None and due <= until:
            take(due)

    def take(now: float) -> None:
        if taken := schedule.take_due(now):
            left.append((now, taken))

    schedule.begin(0.0)
    take(0.0)
    now, reach = 0.0, random.choice((0, 2, 20))
    for event in sorted(plan.client_events, key=lambda event: event + random.uniform(0, reach)):
        now += random.choice((0, 0, 0, 0.001, 0.019, 0.021, 0.2))
        position = random.randrange(len(plan.messages) or 1)
        advance(now)
        match random.random():
            case chance if chance < 0.1:
                continue  # it never comes
            case chance if chance < 0.15:
                schedule.done.add(position)
                schedule.drop(position)
            case chance if chance < 0.17:
                schedule.end_streams(plan.by_exchange, now)
            case chance if chance < 0.18:
                schedule.stop_waiting(now)
        schedule.happened[event] = now
        schedule.note_event(event, now)
        take(now)
    advance(now + 1000)
    return left


def test_the_order_is_that_of_looking_at_everything() -> None:
    """For every plan the same messages leave at the same times."""
    for seed in PLANS:
        random = Random(seed)
        plan, stateless = generated(random)
        pace = Pace(random.choice(TIMINGS))
        expected, found = (
            played(kind(plan, pace, {}, set(), stateless), Random(seed))
            for kind in (LookingSchedule, Schedule)
        )

        assert expected == found, seed


def test_requests_whose_bodies_came_late() -> None:
    """Overlaps are the requests that arrived so far and have a later number, in whatever order
    they arrived.
    """
    for seed in PLANS:
        random = Random(seed)
        events = [*range(20)]
        events.sort(key=lambda event: event + random.choice((0, 0, 0, 5)))
        finder, arrived = OverlapFinder(), list[int]()
        for event in events:
            finder.add(event)
            arrived.append(event)
            asked = random.choice(arrived)
            expected = [other for other in arrived if other > asked]

            found = finder.after(asked)
            assert sorted(expected) == sorted((*arrived[found.start : found.stop], *found.others))


@pytest.mark.parametrize("latest_first", [True, False])
def test_many_that_wait_for_the_same(monkeypatch: pytest.MonkeyPatch, latest_first: bool) -> None:
    """What the first half of all requests wait for comes backwards: each message is looked at about
    as often as the count of all has digits, and not once for each request.
    """
    count, moves = 2_000, list[object]()

    def counted(found: list[tuple[int, int]], one: tuple[int, int]) -> None:
        moves.append(one)
        insort(found, one)

    monkeypatch.setattr("mcpmock.playback.overlaps._insert", counted)
    waits, left = OverlapWaits[int](Pace(), {}), list[int]()
    rest = range(count // 2, count)
    for rank in (*range(count // 2), *(reversed(rest) if latest_first else rest)):
        waits.happened[rank] = 0.0
        left += waits.note_event(rank, rank)
        left += [] if waits.hold(rank, rank + 1, count, 0.0) else [rank]

    assert [*range(count)] == sorted(left)
    assert len(moves) < 20 * count
