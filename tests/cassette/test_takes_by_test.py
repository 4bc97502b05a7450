"""Whose take is whose."""

from __future__ import annotations

import pytest

from mcpmock.cassette.merge import appended, own_first, retaken
from mcpmock.cassette.parser import read
from tests.support import INITIALIZE, c, cassette_bytes
from tests.support.takes import said, take


@pytest.mark.parametrize(
    ("old", "expected"),
    [
        ([], "new"),
        ([("1", None)], "new"),
        ([("1", "t")], "new"),
        ([("1", "other")], "1 new"),
        ([("1", "other"), ("2", "t"), ("3", "another"), ("4", "t")], "1 new 3"),
        ([("1", None), ("2", "other"), ("3", None)], "new 2"),
    ],
)
def test_what_is_replaced(old: list[tuple[str, str | None]], expected: str) -> None:
    """The test's own takes and those of nobody; the new ones stand where the first of them did."""
    data = b"".join(take(text, test) for text, test in old)

    assert expected.split() == said(retaken(data, take("new", "t"), "t"))


def test_a_torn_end() -> None:
    """What comes behind begins on a line of its own."""
    assert [INITIALIZE.decode(), "1"] == said(
        appended(cassette_bytes(c(INITIALIZE)) + b'{"n":2', take("1"))
    )
    assert take("1") == appended(b"", take("1"))


def test_ones_own_comes_first() -> None:
    """In the order of the file otherwise."""
    data = take("1", "a") + take("2") + take("3", "t") + take("4", "t")
    ordered = own_first(read("a", data), "t")

    assert [3, 4, 1, 2] == [int(take.events[0].payload or b"") for take in ordered.takes]
