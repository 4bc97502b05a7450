"""The waterfall: rows drawn over time."""

from __future__ import annotations

from mcpmock.view.lanes import ASCII, Waterfall, waterfall
from mcpmock.view.timeline import timeline
from tests.support import Line, call, cancelled, cassette, notification, progress, request, response


def drawn(*events: Line, width: int = 11) -> Waterfall:
    return waterfall(timeline(cassette(*events)), 0, width, "1 s", ASCII)


def test_a_call_is_a_bar_to_its_answer() -> None:
    """Other rows are points; calls that overlap in time overlap in the drawing."""
    scale, lines = drawn(
        (0.0, "c2s", request(1, "tools/call", {"name": "a"}, token=1)),
        (0.2, "s2c", progress(1)),
        (0.4, "c2s", request(2, "ping")),
        (0.6, "s2c", response(1)),
        (1.0, "s2c", response(2)),
    )

    assert "0       1 s" == scale
    assert [
        "=======    ",
        "  .        ",
        "    =======",
        "      .    ",
        "          .",
    ] == lines


def test_a_call_without_an_answer_stays_open() -> None:
    """A cancelled one to its cancellation, any other to the end of the take."""
    _, lines = drawn(
        (0.0, "c2s", call(1, "a")),
        (0.2, "c2s", call(2, "a")),
        (0.5, "c2s", cancelled(1)),
        (1.0, "s2c", notification("notifications/odd")),
    )

    assert ["=-----     ", "  =--------"] == lines[:2]


def test_a_long_pause_is_cut_short() -> None:
    """Or one slow start would flatten the rest; the scale marks the place."""
    pauses = [(n / 1000, "c2s", call(n, "a")) for n in range(1, 11)]
    scale, lines = drawn(*pauses, (100.0, "s2c", response(10)), width=30)

    assert 1 == scale.count("~")
    assert len({line.index("=") for line in lines[:10]}) > 5


def test_without_times_each_row_is_a_step() -> None:
    """`fmt` drops the times."""
    events = [(0.0, "c2s", notification("a")) for _ in range(11)]

    assert list(range(11)) == [line.index(".") for line in drawn(*events).lines]


def test_one_row() -> None:
    """There is no time between one row."""
    assert ["=----------"] == drawn((0.0, "c2s", call(1, "a"))).lines
