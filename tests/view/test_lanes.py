"""Where the rows of a timeline are drawn: the time axis and the lanes."""

from __future__ import annotations

from mcpmock.view.lanes import Lanes, TimeAxis
from mcpmock.view.timeline import timeline
from tests.support import LOG, Line, cassette, notification, request, response


def places(*events: Line) -> list[int]:
    rows = timeline(cassette(*events))
    axis = TimeAxis.over(rows)
    return [axis.place(row) for row in rows]


def lanes_of(*events: Line) -> tuple[list[int | None], list[tuple[int, int, int]]]:
    lanes = Lanes()
    return [lanes.place(i, row) for i, row in enumerate(timeline(cassette(*events)))], lanes.table()


def test_time_is_kept_but_for_idle_stretches() -> None:
    """A pause counts up to 20 times the median one, so that one long pause flattens nothing."""
    rows = timeline(cassette(*((t, "s2c", LOG) for t in (0, 0.001, 0.002, 5.002, 5.003))))
    axis = TimeAxis.over(rows)

    assert [0, 1000, 2000, 22000, 23000] == [axis.place(row) for row in rows]
    assert [(12000, 5_000_000)] == axis.folds


def test_without_times_each_row_is_a_step() -> None:
    """`fmt` drops the times: the order is what is left."""
    assert [0, 1, 2] == places(*((0, "s2c", LOG) for _ in range(3)))


def test_overlapping_calls_have_lines_of_their_own() -> None:
    """A call takes the first line that no open call occupies."""
    found, table = lanes_of(
        ("c2s", request(1, "ping")),
        ("c2s", request(2, "ping")),
        ("s2c", response(1)),
        ("c2s", request(3, "ping")),
    )

    assert [0, 1, 8, 0] == found
    assert [(1, 1, 0), (1, 2, 2)] == table


def test_takes_share_the_lanes() -> None:
    """They follow one another, so a call of the next one takes the line of one that was never
    answered, and a moment apart: no time is made up between them.
    """
    events = (*[("c2s", request(1, "ping"))] * 2, ("take", None), ("c2s", request(1, "ping")))

    assert ([0, 1, 0], [(1, 1, 0)]) == lanes_of(*events)
    assert [0, 1_000_000, 1_000_001] == places(*events)


def test_the_log_has_the_last_lane() -> None:
    """Other facts have none."""
    events = (("stderr", "up\n"), ("c2s", notification("x")), ("end", {"exit": 0}))

    assert ([0, 8, None], [(1, 3, 1), (1, 1, 0)]) == lanes_of(*events)


def test_many_overlapping_calls_share_lines() -> None:
    """A lane has at most 8 lines."""
    found, _ = lanes_of(*(("c2s", request(n, "ping")) for n in range(20)))

    assert set(range(8)) == set(found)
