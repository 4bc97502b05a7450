"""What waits for overlapping requests, and until when, in numbers alone."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from mcpmock.playback.overlaps import OverlapWaits, StatelessWaits
from mcpmock.playback.timing import Pace

Held = tuple[int, int, Sequence[int]]
"""The ranks of a stretch of requests, and other client events, that a message waits for."""
REPLY, OTHER_REPLY = 100, 101


@pytest.mark.parametrize(
    ("held", "events", "left"),
    [
        # A stretch is over with the last of it to come, in whatever order they come.
        ([(0, 3, ())], [0, 1, 2], [[], [], [0]]),
        ([(0, 3, ())], [2, 1, 0], [[], [], [0]]),
        ([(0, 3, ())], [1, 2, 0], [[], [], [0]]),
        ([(1, 3, ())], [2, 1], [[], [0]]),
        ([(1, 3, ())], [1, 0, 2], [[], [], [0]]),
        ([(1, 3, ())], [3, 5, 1, 4, 2], [[], [], [], [], [0]]),
        # Stretches that begin or end together.
        ([(2, 4, ()), (0, 4, ()), (1, 4, ())], [3, 2, 0, 1], [[], [0], [], [1, 2]]),
        ([(2, 4, ()), (0, 4, ()), (1, 4, ())], [3, 2, 1, 0], [[], [0], [2], [1]]),
        ([(0, 2, ()), (0, 3, ()), (1, 4, ())], [2, 3, 1, 0], [[], [], [2], [0, 1]]),
        ([(0, 2, ()), (0, 3, ()), (1, 4, ())], [0, 1, 2, 3], [[], [0], [1], [2]]),
        ([(3, 5, ()), (1, 3, ()), (2, 3, ())], [4, 2, 3, 1], [[], [2], [0], [1]]),
        # Other events, alone, together and with a stretch: the last thing counts.
        ([(0, 0, (REPLY,))], [0, REPLY], [[], [0]]),
        ([(0, 0, (REPLY, OTHER_REPLY))], [REPLY, 0, OTHER_REPLY], [[], [], [0]]),
        ([(0, 2, (REPLY,)), (0, 0, (REPLY,))], [REPLY, 1, 0], [[1], [], [0]]),
        ([(0, 2, (REPLY,)), (0, 1, ())], [1, 0, REPLY], [[], [1], [0]]),
        ([(0, 1, (REPLY, OTHER_REPLY))], [OTHER_REPLY, 0, REPLY], [[], [], [0]]),
        ([(0, 1, (REPLY, OTHER_REPLY))], [0, OTHER_REPLY, REPLY], [[], [], [0]]),
        # Nothing more comes of what is noted twice.
        ([(0, 3, ())], [2, 2, 0, 0, 1, 1, 2], [[], [], [], [], [0], [], []]),
    ],
)
@pytest.mark.parametrize("kind", [OverlapWaits, StatelessWaits])
def test_what_ends_a_wait(
    kind: type[OverlapWaits[int]], held: list[Held], events: list[int], left: list[list[int]]
) -> None:
    """A message leaves with the last thing that it waits for, and was held since it was told so."""
    waits = kind(Pace(), {})
    for message, (start, stop, others) in enumerate(held):
        assert waits.hold(message, start, stop, 1.0, others)
    got = []
    for event in events:
        waits.happened[event] = 2.0
        over = waits.note_event(event, event if event < REPLY else None)
        assert {1.0} >= {*over.values()}
        got.append(sorted(over))

    assert (got, waits.since_s, waits._missing, waits.find_deadline()) == (left, {}, {}, None)


def test_what_has_come_is_not_waited_for() -> None:
    """Whether it came in order or not."""
    waits = OverlapWaits[int](Pace(), {})
    for event in (REPLY, 0, 1, 4, 3):
        waits.happened[event] = 1.0
        waits.note_event(event, event if event < REPLY else None)
    held = {(0, 0): (), (0, 2): (), (1, 2): (REPLY,), (3, 5): (), (4, 5): ()}

    assert not any(waits.hold(0, *stretch, 1.0, others) for stretch, others in held.items())
    assert (waits.first_missing, waits.since_s) == (2, {})
    assert [True, True, True] == [waits.hold(n, n, 5, 1.0) for n in (0, 1, 2)]
    assert {0: 1.0, 1: 1.0, 2: 1.0} == waits.note_event(2, 2)
    assert waits.first_missing == 5


def test_a_sequential_session_keeps_nothing() -> None:
    """However many calls come one after the other, or were held until a grace was over."""
    waits = OverlapWaits[int](Pace(), {})
    for rank in range(20):
        waits.note_event(rank, rank)
        assert not waits.hold(rank, rank + 1, rank + 1, 0.0)

    assert ({}, {}, {}, 20) == (waits.since_s, waits._behind, waits._before, waits.first_missing)


def test_how_long_a_session_waits() -> None:
    """A grace from the last that the client sent, but no longer than the limit; a message that was
    held later leaves later, and what is dropped does not leave at all.
    """
    waits = OverlapWaits[int](Pace(overlap_grace=0.02, overlap_limit=0.1), {})
    assert (waits.find_deadline(), waits.take_expired(9)) == (None, {})
    for message, now in [(0, 1.0), (1, 1.01), (2, 1.5), (3, 1.5)]:
        assert waits.hold(message, 0, 9, now)

    assert (waits.find_deadline(), waits.take_expired(1.019)) == (1.02, {})
    assert waits.take_expired(1.02) == {0: 1.0}
    waits.last_activity = 1.02
    assert (waits.find_deadline(), waits.take_expired(1.039)) == (1.04, {})
    waits.last_activity = 1.109
    assert (waits.find_deadline(), waits.take_expired(1.1)) == (1.11, {})
    waits.drop(1)
    waits.drop(1)
    assert (waits.find_deadline(), waits.take_all(), waits.take_all()) == (
        1.52,
        {2: 1.5, 3: 1.5},
        {},
    )


@pytest.mark.parametrize(("grace", "learned"), [(0.02, 0.001), (0.0005, 0.0005)])
def test_a_session_whose_graces_pass_waits_less(grace: float, learned: float) -> None:
    """After three in a row; a request that comes while something is held begins anew, as in the
    session that goes on for another. Without overlaps nothing is learned.
    """
    waits, passed, now = OverlapWaits[int](Pace(overlap_grace=grace), {}), [], 0.0
    for expires in [1, 1, 0, 1, 1, 1, 1, 0, 1]:
        now = waits.last_activity = now + 1
        waits.hold(int(now), 50, 51, now)
        waits.note_event(200, None)
        deadline = waits.find_deadline()
        assert deadline is not None
        passed.append(round(deadline - now, 6))
        if expires:
            assert waits.take_expired(deadline)
            assert not waits.take_expired(deadline + 1)
        else:
            waits.note_event(int(now), int(now))
            waits.take_all()
        waits.note_event(20 + int(now), 20 + int(now))
    other = OverlapWaits[int](Pace(overlap_grace=grace), {})
    other.resume(waits)

    assert [grace] * 6 + [learned] * 2 + [grace] == passed
    assert (other.last_activity, other._graces_passed) == (9.0, 1)


def test_what_keeps_exchanges_without_a_session_waiting() -> None:
    """Only what they wait for themselves, and graces that pass teach nothing: the callers know
    nothing of each other.
    """
    ranks = {event: event for event in range(9)}
    waits = StatelessWaits[int](Pace(overlap_grace=0.02, overlap_limit=0.05), {}, ranks=ranks)

    def comes(event: int, now: float) -> dict[int, float]:
        waits.happened[event] = waits.last_activity = now
        return waits.note_event(event, ranks.get(event))

    comes(3, 0.5)
    assert not waits.hold(9, 3, 4, 1.0)
    assert waits.hold(0, 1, 3, 1.0, (REPLY,))
    assert waits.hold(1, 5, 7, 1.005)
    assert comes(4, 1.01) == {}
    assert (waits.find_deadline(), waits.take_expired(1.01)) == (1.02, {})
    assert comes(2, 1.015) == {}
    assert waits.take_expired(1.02) == {}
    assert waits.take_expired(1.0251) == {1: 1.005}
    assert comes(REPLY, 1.03) == {}
    assert waits.take_expired(1.036) == {}
    assert waits.find_deadline() == 1.05
    assert waits.take_expired(1.05) == {0: 1.0}
    for now in (2.0, 3.0, 4.0, 5.0):
        assert waits.hold(2, 7, 8, now)
        assert waits.find_deadline() == now + 0.02
        assert waits.take_expired(now + 0.02) == {2: now}
    assert waits.hold(3, 7, 8, 6.0)
    waits.drop(3)
    assert (waits.take_expired(9), waits.find_deadline()) == ({}, None)
