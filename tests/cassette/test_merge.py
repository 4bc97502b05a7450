"""Cassettes joined into one."""

from __future__ import annotations

import pytest

from mcpmock.cassette.merge import merge
from mcpmock.cassette.parser import read
from mcpmock.cassette.validate import inspect
from mcpmock.errors import CassetteError, Level
from tests.support import HEADER, cassette_bytes, request, response
from tests.support.sealed import EVENTS, TWO, sealed

OTHER = sealed(cassette_bytes((0.5, "c2s", request(9, "ping")), (0.75, "s2c", response(9))))


def test_all_takes_are_there_in_order() -> None:
    """Takes stay takes, with their times and their headers, and the whole is whole."""
    merged = merge([("a", OTHER), ("b", sealed())])
    loaded = read("x", merged.data)

    assert (2, 4, 2, ()) == (merged.takes, merged.events, merged.sealed, merged.torn)
    assert [[500_000, 750_000], [1_000_000, 2_000_000]] == [
        [event.t for event in take.events] for take in loaded.takes
    ]
    assert [True, True] == [take.sealed for take in loaded.takes]
    assert {0} == {inspect(merged.data).count(level) for level in Level}


def test_the_form_is_canonical() -> None:
    """Merging what was merged changes nothing in it."""
    once = merge([("a", OTHER), ("b", sealed())]).data

    assert once == merge([("a", once)]).data


def test_a_torn_end_does_not_spoil_the_next() -> None:
    """What was never written to its end is left out, and told by file and line."""
    merged = merge([("a", HEADER + EVENTS + TWO[:20]), ("b", sealed())])

    assert [("a", 4)] == [(name, damage.line) for name, damage in merged.torn]
    assert (2, 1) == (merged.takes, merged.sealed)
    assert 0 == inspect(merged.data).count(Level.ERROR)


def test_a_last_line_without_its_break_is_kept() -> None:
    """A hand that edits leaves such lines."""
    assert 4 == merge([("a", (HEADER + EVENTS)[:-1]), ("b", sealed())]).events


def test_one_recording_twice_is_refused() -> None:
    """Two copies of a file are one recording: a replay would have each call twice."""
    with pytest.raises(CassetteError, match=r"^b: holds the same as a; leave one out$"):
        merge([("a", OTHER), ("c", sealed()), ("b", OTHER)])
