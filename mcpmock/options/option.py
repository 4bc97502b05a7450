"""`OptionTable`, a table of options, and `option`, a row of it; `options_of`, which reads a table;
and `read_options`, which makes the value of a table of what a program wrote.

The types of a table say what an option takes: `Literal` a choice, `bool` a flag, `tuple[str, ...]`
an option that can be repeated, `Seconds` a duration, `FileName` a file whose name is kept as it is
written: a slash at its end says something.
"""

# No `from __future__ import annotations` in this room: the types of the fields are read.

from collections.abc import Iterator, Mapping
from types import UnionType
from typing import (
    Annotated,
    Any,
    ClassVar,
    Literal,
    TypeVar,
    Union,
    dataclass_transform,
    get_args,
    get_origin,
)

from msgspec import NODEFAULT, Struct, structs

from mcpmock.errors import McpMockError

Seconds = Annotated[float, "seconds"]
FileName = Annotated[str, "file"]


class Option(Struct, frozen=True, kw_only=True):
    """What the command line and the manual say about an option, besides its name and type."""

    name: str = ""
    type: Any = None
    """What it takes, without `None`."""
    default: Any = None
    help: str
    flags: tuple[str, ...] = ()
    """How the command line spells it, if not as its name."""
    metavar: str | None = None
    bare: str | None = None
    """What it is without a value, if it may stand so."""
    least: int | None = None
    """The lowest number, if it takes a number."""
    positive: bool = False
    """Whether the number has to be above 0."""
    default_text: str | None = None
    """What `--help` says the default is, if it is not a word or a number."""
    also: tuple[str, str] = ("", "")
    """Which other texts it takes besides its choices: a regular expression and an example."""
    command_only: tuple[str, ...] = ()
    """The choices that only the command line has."""
    private: bool = False
    """Whether only the user may set it: not a project file, which others may have written."""

    @property
    def word(self) -> str:
        """The long name on the command line, in the project file and, in capitals, in environment
        variables: `max-runs`.
        """
        return self.flags[-1].lstrip("-") if self.flags else self.name.replace("_", "-")

    @property
    def choices(self) -> tuple[str, ...]:
        """The words that it takes; empty if it takes others."""
        return get_args(self.type) if get_origin(self.type) is Literal else ()

    @property
    def repeatable(self) -> bool:
        return get_origin(self.type) is tuple


def option(default: Any, help: str, **row: Any) -> Any:
    """Return a field of a table: its default (`NODEFAULT` if it has to be given), its help, and
    what else `Option` has.
    """
    return Option(default=default, help=help, **row)


# speed: 0.02 ms a class, where attrs takes 0.5, and a start has ten of them (tools/bench.py
# --processor)
@dataclass_transform(kw_only_default=True, frozen_default=True)
class OptionTable:
    """A table of options, each an annotated field with an `option`; and its values, made from
    keywords. Values are equal if all their fields are. A field without an `option` is no option.
    """

    types: ClassVar[dict[str, Any]] = {}
    """Of all fields, in their order: those of bases come first."""

    def __init_subclass__(cls) -> None:
        own, inherited = cls.__annotations__, dict[str, Any]()
        for base in reversed(cls.__bases__):
            inherited |= vars(base)["types"]
        cls.types = {name: one for name, one in inherited.items() if name not in own} | own

    def __init__(self, **given: Any) -> None:
        for name in self.types:
            row = getattr(self, name)
            default = row.default if isinstance(row, Option) else row
            vars(self)[name] = given.pop(name, default)
        wrong = [*given, *(name for name, value in vars(self).items() if value is NODEFAULT)]
        if wrong:
            raise TypeError(f"unknown or missing: {', '.join(wrong)}")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={value!r}" for name, value in vars(self).items())
        return f"{type(self).__name__}({values})"


_Table = TypeVar("_Table", bound=OptionTable)


def replace(options: _Table, **values: Any) -> _Table:
    """Return the same value of a table, but for these fields."""
    return type(options)(**{**vars(options), **values})


def options_of(table: type[OptionTable]) -> Iterator[Option]:
    """Yield the options of a table, in its order."""
    for name, type_ in table.types.items():
        if isinstance(row := getattr(table, name), Option):
            if get_origin(type_) in (Union, UnionType):  # `X | None`
                type_ = get_args(type_)[0]
            yield structs.replace(row, name=name, type=type_)


def given_flags(options: OptionTable) -> list[str]:
    """Return the options of a table's value that are set, as they are typed, for a message."""
    return [f"--{one.word}" for one in options_of(type(options)) if getattr(options, one.name)]


def read_options(table: type[_Table], given: Mapping[str, Any]) -> _Table:
    """Make the value of a table from keywords. Raises TypeError for an unknown option, and
    McpMockError for a value that it does not take.
    """
    known = {one.name: one for one in options_of(table)}
    for name, value in given.items():
        if name not in known:
            raise TypeError(f"no option {name!r}: choose one of {', '.join(known)}")
        check_value(known[name], value)
    repeated = {name: tuple(given[name]) for name in given if known[name].repeatable}
    return table(**{**given, **repeated})


def check_value(one: Option, value: Any) -> None:
    """Check what a program gives for an option. Raises McpMockError."""
    if one.repeatable and not (
        isinstance(value, list | tuple) and all(isinstance(text, str) for text in value)
    ):
        raise McpMockError(f"{one.name}={value!r}: expected a list of texts")
    if one.type is bool and not isinstance(value, bool):
        raise McpMockError(f"{one.name}={value!r}: expected True or False")
    words = [word for word in one.choices if word not in one.command_only]
    if words and value not in words:
        raise McpMockError(f"{one.name} {value!r}: choose {', '.join(words[:-1])} or {words[-1]}")
    if one.least is not None and not _is_number(value, one.least):
        what = "a number of milliseconds" if one.metavar == "MS" else f"a number from {one.least}"
        raise McpMockError(f"{one.name} {value!r}: give {what}")


def read_environment(
    table: type[OptionTable], prefix: str, environment: Mapping[str, str]
) -> dict[str, Any]:
    """Return the options of a table that are set in the environment, as `MCPMOCK_REPLAY_ORDER` for
    the prefix `MCPMOCK_REPLAY_`: of an option that can be repeated one a line. Raises McpMockError
    for a text that is not a number.
    """
    found: dict[str, Any] = {}
    for one in options_of(table):
        name = prefix + one.name.upper()
        if text := environment.get(name):
            try:
                found[one.name] = _read_text(one, text)
            except ValueError as error:
                raise McpMockError(f"{name}={text!r}: not a number") from error
    return found


def lines_of(text: str) -> list[str]:
    """Return what an environment variable has for an option that can be repeated: one a line."""
    return [line for line in text.splitlines() if line.strip()]


def _read_text(one: Option, text: str) -> Any:
    if one.type is bool:
        return text.lower() in ("1", "true", "yes", "on")
    if one.repeatable:
        return tuple(lines_of(text))
    return text if one.least is None else float(text)


def _is_number(value: Any, least: int) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and least <= value < float("inf")
