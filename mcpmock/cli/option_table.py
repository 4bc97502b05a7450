"""The options of the command line, made from the tables of `mcpmock.options`: a command gets one
value for each table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import attrs
import click

from mcpmock.options.console import ConsoleOptions
from mcpmock.options.option import Option, Seconds, options_of

from .output import CASSETTE, COLOR, DURATION

_Command = TypeVar("_Command", bound=Callable[..., Any])
COMMAND = click.argument("command", nargs=-1, type=click.UNPROCESSED)
"""The command of a server: the rest of the line."""
_TYPES: dict[Any, Any] = {str: None, Seconds: DURATION, Path: CASSETTE, int: int}


def options(
    defaults: Mapping[str, Any] | None = None, **tables: type
) -> Callable[[_Command], _Command]:
    """Add the options of these tables to a command, and after them those that every command has.
    It is called with the value of each table, by the name given here, and `console`. `defaults` are
    those in which the command differs from its tables.
    """
    tables = {**tables, "console": ConsoleOptions}
    differing = defaults or {}

    def add(command: _Command) -> _Command:
        @wraps(command)
        def collect(**given: Any) -> Any:
            for name, table in tables.items():
                values = {one.name: given.pop(_parameter(one)) for one in options_of(table)}
                if any(field.name == "command" for field in attrs.fields(table)):
                    values["command"] = given.pop("command")
                given[name] = table(**values)
            return command(**given)

        decorated: Any = collect
        for table in reversed(tables.values()):
            for one in reversed(list(options_of(table))):
                default = differing.get(one.name, one.default)
                decorated = click_option(attrs.evolve(one, default=default))(decorated)
            if table is ConsoleOptions:
                decorated = COLOR(decorated)
        return decorated  # type: ignore[no-any-return]

    return add


def click_option(one: Option) -> Callable[[_Command], _Command]:
    """Return a row of a table as click has it."""
    flags = [*(one.flags or (f"--{one.word}",)), _parameter(one)]
    more: dict[str, Any] = {"help": one.help, "metavar": one.metavar}
    default = one.default
    if one.type is bool:
        return click.option(*flags, is_flag=True, help=one.help)
    if one.repeatable:
        return click.option(*flags, multiple=True, **more)
    if default is attrs.NOTHING:
        more["required"] = True
    elif default is not None or one.default_text:
        shown = True if one.default_text is None else one.default_text or False
        more |= {"default": default, "show_default": shown}
    return click.option(*flags, type=_click_type(one), **more)


def _parameter(one: Option) -> str:
    """The name of click's parameter, and so of the environment variable."""
    return one.word.replace("-", "_")


def _click_type(one: Option) -> Any:
    if one.choices:
        return click.Choice(one.choices)
    if one.positive:
        return click.FloatRange(0, min_open=True)
    return _TYPES[one.type] if one.least is None else click.IntRange(one.least)
