"""Tables that people write, as values: strict, and with all mistakes at once."""

from __future__ import annotations

from typing import Any, Literal

import attrs
import pytest

from mcpmock.options.converter import TableError, read_table, table_converter
from mcpmock.options.units import Seconds


@attrs.frozen(kw_only=True)
class Inner:
    name: str
    after: Seconds = 0.0


@attrs.frozen(kw_only=True)
class Outer:
    number: int = 0
    flag: bool = False
    word: Literal["one", "two"] = "one"
    texts: tuple[str, ...] = ()
    table: dict[str, Seconds] = attrs.field(factory=dict)
    maybe: Inner | None = None
    inner: tuple[Inner, ...] = ()
    anything: Any = None


def read(written: object) -> Outer:
    return read_table(table_converter(), written, Outer)


def test_values() -> None:
    """Lists are tuples, units are read, tables inside are objects."""
    written = {
        "number": 1,
        "flag": True,
        "word": "two",
        "texts": ["a"],
        "table": {"x": "250ms"},
        "maybe": {"name": "m"},
        "inner": [{"name": "i", "after": 2}],
        "anything": {"a": [1]},
    }

    assert read(written) == Outer(
        number=1,
        flag=True,
        word="two",
        texts=("a",),
        table={"x": 0.25},
        maybe=Inner(name="m"),
        inner=(Inner(name="i", after=2),),
        anything={"a": [1]},
    )


DURATION = 'expected a duration as "250ms" or "2s", or a number of seconds, not'


@pytest.mark.parametrize(
    ("written", "mistakes"),
    [
        ({"number": "5"}, ["number: expected a whole number, not '5'"]),
        ({"number": True}, ["number: expected a whole number, not true"]),
        ({"number": 1.0}, ["number: expected a whole number, not 1.0"]),
        ({"flag": 1}, ["flag: expected true or false, not 1"]),
        ({"word": "three"}, ["word: expected one of one, two, not 'three'"]),
        ({"texts": "abc"}, ["texts: expected a list; each a text, not 'abc'"]),
        ({"texts": ["a", 1]}, ["texts: expected a text, not 1"]),
        ({"table": []}, ["table: expected a table, not []"]),
        ({"table": {"x": "1", "y": 1}}, [f"table.x: {DURATION} '1'"]),
        ({"maybe": 3}, ["maybe: expected a table, not 3"]),
        ({"maybe": {}}, ["maybe.name: missing"]),
        ({"inner": {}}, ["inner: expected a list of tables, as in [[name]], not {}"]),
        ({"inner": ["x"]}, ["inner[0]: expected a table, not 'x'"]),
        (
            {"inner": [{"name": "a"}, {"nmae": "b", "after": "soon"}], "numbr": 1},
            [
                f"inner[1].after: {DURATION} 'soon'",
                "inner[1].name: missing",
                "inner[1].nmae: unknown key; did you mean name? known: after, name",
                "numbr: unknown key; did you mean number? known: anything, flag, inner, maybe, "
                "number, table, texts, word",
            ],
        ),
        ([], [": expected a table, not []"]),
    ],
)
def test_mistakes(written: object, mistakes: list[str]) -> None:
    """Each has its path and the nearest known word; none hides another."""
    with pytest.raises(TableError) as found:
        read(written)

    assert sorted(mistakes) == sorted(found.value.mistakes)
