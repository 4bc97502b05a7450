"""Words for what is printed."""

from __future__ import annotations

from mcpmock.printable import did_you_mean, first_lines, first_of


def test_what_is_left_out_is_counted() -> None:
    """Of a list in a line, and of lines."""
    assert "a, b" == first_of(["a", "b"], 2)
    assert "a, b and 1 more" == first_of(["a", "b", "c"], 2)
    assert ["a", "and 2 more"] == first_lines(["a", "b", "c"], 1)
    assert ["a"] == first_lines(["a"], 1)


def test_the_nearest_words() -> None:
    """The nearest first, each once; nothing if none is near."""
    known = ["uuid", "uid", "date", "uuid"]

    assert "; did you mean uuid?" == did_you_mean("uuidd", known)
    assert "; did you mean uuid or uid?" == did_you_mean("uuidd", known, most=2)
    assert "" == did_you_mean("x", known)
