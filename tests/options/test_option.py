"""Tables of options and their values."""

import pickle
from typing import Any

import pytest
from msgspec import NODEFAULT

from mcpmock.options.option import OptionTable, option, options_of, replace


class _Base(OptionTable):
    level: int = option(1, "How high.")
    words: tuple[str, ...] = option((), "Which.", metavar="WORD")


class _Table(_Base):
    output: str = option(NODEFAULT, "Where.")
    level: int = option(2, "How high, here.")
    command: tuple[str, ...] = ()


def test_a_value_has_what_was_given_and_the_defaults_of_the_rest() -> None:
    given = _Table(output="a", words=("x",))

    assert (given.output, given.level, given.words, given.command) == ("a", 2, ("x",), ())
    assert repr(given) == "_Table(words=('x',), output='a', level=2, command=())"
    assert replace(given, level=3) == _Table(output="a", words=("x",), level=3)
    assert pickle.loads(pickle.dumps(given)) == given


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        (_Table(output="a"), _Table(output="a"), True),
        (_Table(output="a"), _Table(output="b"), False),
        (_Table(output="a"), _Table(output="a", command=("b",)), False),
        (_Base(), _Base(level=1), True),
        (_Base(), object(), False),
    ],
)
def test_values_are_equal_if_all_their_fields_are(one: object, other: object, equal: bool) -> None:
    assert (one == other) is equal


@pytest.mark.parametrize(
    ("given", "named"),
    [({}, "output"), ({"output": "a", "levle": 3}, "levle"), ({"Output": "a"}, "Output, output")],
)
def test_what_is_unknown_or_missing_is_named(given: dict[str, Any], named: str) -> None:
    with pytest.raises(TypeError, match=f": {named}$"):
        _Table(**given)


def test_the_options_of_a_table_come_behind_those_of_its_bases() -> None:
    """A field that is no option is left out, and one that is given anew stands in its new place."""
    rows = [(one.name, one.type, one.default) for one in options_of(_Table)]

    assert rows == [
        ("words", tuple[str, ...], ()),
        ("output", str, NODEFAULT),
        ("level", int, 2),
    ]
