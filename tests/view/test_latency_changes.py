"""Calls that became slower, as differences."""

from __future__ import annotations

import pytest

from mcpmock.cassette.model import Cassette
from mcpmock.semantic_diff.compare import compare
from mcpmock.view.latency_changes import with_slower_calls
from tests.support import Line, call, cassette, response


def taking(*seconds: float, tool: str = "find") -> Cassette:
    """A recording in which calls of a tool take so long."""
    events: list[Line] = []
    for number, time in enumerate(seconds):
        at = 100.0 * number
        events += [(at, "c2s", call(number, tool)), (at + time, "s2c", response(number))]
    return cassette(*events)


@pytest.mark.parametrize(
    ("old", "new", "times", "expected"),
    [
        (taking(0.01), taking(1.6), 5, [("0.01 s", "1.6 s, 160 times")]),
        (taking(0.01), taking(0.05), 5, [("0.01 s", "0.05 s, 5 times")]),
        (taking(0.01), taking(0.049), 5, []),
        (taking(1.6), taking(0.01), 5, []),
        (taking(0.0001), taking(0.004), 5, []),
        (taking(0.1, 0.1, 0.1), taking(0.1, 9.0, 0.1), 2, []),
        (taking(0.1, 0.1, 0.1), taking(9.0, 9.0, 0.1), 2, [("0.1 s", "9 s, 90 times")]),
        (taking(0.01), taking(1.6, tool="other"), 5, []),
    ],
)
def test_slower(
    old: Cassette, new: Cassette, times: float, expected: list[tuple[str, str]]
) -> None:
    """By the medians, where the calls of both recordings took any time to speak of."""
    diff = compare(old, old)
    found = with_slower_calls(diff, old, new, times)

    assert expected == [(one.old, one.new) for one in found.differences]
    assert bool(expected) is bool(found)
