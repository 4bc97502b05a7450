"""The options of the command line, made from the tables of `mcpmock.options`: a command gets one
value for each table.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource
from msgspec import NODEFAULT, structs

from mcpmock.options.console import ConsoleOptions
from mcpmock.options.option import FileName, Option, OptionTable, Seconds, lines_of, options_of

from .output import CASSETTE, COLOR, FILE_NAME, Duration, encodable, say

if TYPE_CHECKING:
    from mcpmock.options.project_file import ProjectFile, TableReader

_Command = TypeVar("_Command", bound=Callable[..., Any])
COMMAND = click.argument("command", nargs=-1, type=click.UNPROCESSED)
"""The command of a server: the rest of the line."""
_PLACES = ("file", "files", "old", "cassette", "output")
"""The parameters that may name a cassette; the project file is looked for from there."""
_FILE = f"{__name__}.project_file"
"""The key of the project file's path in the `meta` of a context."""
_TYPES: dict[Any, Any] = {str: None, Path: CASSETTE, FileName: FILE_NAME, int: int}


class _Line(click.types.StringParamType):
    """A text of an option that can be repeated: in an environment variable one a line, because
    rules have spaces.
    """

    def split_envvar_value(self, rv: str) -> list[str]:
        return lines_of(rv)


_LINES = _Line()


class _ChoiceOrText(click.Choice[str]):
    """A choice that also takes texts of a form."""

    def __init__(self, choices: Sequence[str], form: str, example: str) -> None:
        super().__init__(choices)
        self.form, self.example = re.compile(form), example

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, str) and self.form.fullmatch(value):
            return value
        if value not in self.choices:
            words = ", ".join(map(repr, self.choices))
            self.fail(f"{value!r} is not one of {words}, and not like {self.example!r}", param, ctx)
        return value


class _PositiveNumber(click.FloatRange):
    """A number above 0."""

    def __init__(self) -> None:
        super().__init__(0, min_open=True)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number: float = super().convert(value, param, ctx)
        if not math.isfinite(number):  # NaN is in every range
            self.fail(f"{value!r} is not a number", param, ctx)
        return number


class _TableOption(click.Option):
    """A row of a table as click has it."""

    def __init__(self, *words: Any, row: Option, **more: Any) -> None:
        super().__init__(*words, **more)
        self.row = row

    def check(self, value: Any) -> None:
        """Raise ValueError for what a project file cannot give this option."""
        if self.is_flag and not isinstance(value, bool):
            raise ValueError("expected true or false")
        if self.multiple and not isinstance(value, list):
            raise ValueError("expected a list")
        for one in value if self.multiple else [value]:
            is_text = self.multiple or self.row.choices or self.row.type in (str, Path, FileName)
            if is_text and not isinstance(one, str):
                raise ValueError("expected a text")
            try:
                self.type.convert(one, self, None)
            except click.BadParameter as error:
                raise ValueError(error.message) from error


class TableCommand(click.Command):
    """A command whose options a project file may set. With `-v` it says which were set there or in
    the environment.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        file = None if ctx.resilient_parsing else self._project_file(ctx, args)
        if file is not None:
            ctx.default_map = self._defaults(ctx, file)
            ctx.meta[_FILE] = file.path
        rest = super().parse_args(ctx, args)
        if ctx.params.get("verbose"):
            for line in self._sources(ctx, file):
                say(line)
        return rest

    def invoke(self, ctx: click.Context) -> Any:
        """Say of what a command refuses where the project file has it."""
        try:
            return super().invoke(ctx)
        except click.BadParameter as error:
            word = str(error.param_hint).removeprefix("--")
            if ctx.get_parameter_source(word.replace("-", "_")) is not ParameterSource.DEFAULT_MAP:
                raise
            from mcpmock.options.project_file import ProjectFileError

            mistake = f"{self.name}.{word}: {error.message}"
            raise ProjectFileError(ctx.meta[_FILE], [mistake]) from error

    def _project_file(self, ctx: click.Context, args: list[str]) -> ProjectFile | None:
        """Return the file of the first cassette that the command line names."""
        given, _, _ = self.make_parser(ctx).parse_args(list(args))
        named = (given.get(name) for name in _PLACES)
        places = (one for name in named for one in (name if isinstance(name, tuple) else [name]))
        place = next((one for one in places if one and one != "-"), None)
        if not isinstance(place, str) or "://" in place:
            return None
        from mcpmock.options.project_file import find_project_file

        path = Path(place)
        return find_project_file(path if path.is_dir() else path.parent)

    @property
    def _settable(self) -> dict[str, _TableOption]:
        """The options that a project file may set, by their long names."""
        params = (param for param in self.params if isinstance(param, _TableOption))
        return {param.row.word: param for param in params if not param.row.private}

    def find_mistakes(self, table: Any) -> Iterable[str]:
        """Return the mistakes in the table of this command in a project file."""
        from mcpmock.options.project_file import option_mistakes

        return option_mistakes(table, {word: one.check for word, one in self._settable.items()})

    def _defaults(self, ctx: click.Context, file: ProjectFile) -> dict[str, Any]:
        """Return this command's options. Raises ProjectFileError for any mistake in the file."""
        from mcpmock.batch.rule_tables import RULE_TABLES

        from .commands import COMMANDS

        def reader(name: str) -> TableReader:
            # Each command is imported only if the file has its table.
            return lambda table: _mistakes_of(ctx, name, table)

        file.check({**{name: reader(name) for name in COMMANDS}, **RULE_TABLES})
        settable = self._settable
        name = self.name or ""
        return {
            str(settable[word].name): _meant_from(file.path.parent, settable[word].row, value)
            for word, value in (() if name in RULE_TABLES else file.table(name).items())
        }

    def _sources(self, ctx: click.Context, file: ProjectFile | None) -> Iterator[str]:
        for param in self.params:
            name, source = str(param.name), ctx.get_parameter_source(str(param.name))
            place = None
            if source is ParameterSource.DEFAULT_MAP and file is not None:
                place = encodable(file.path)
            elif source is ParameterSource.ENVIRONMENT:
                place = f"{ctx.auto_envvar_prefix}_{name.upper()}"
            if place is not None:
                yield f"--{name.replace('_', '-')} is from {place}"


def _meant_from(folder: Path, row: Option, value: Any) -> Any:
    """Return a value of a project file in this folder; its paths, and patterns of paths, are
    relative to that.
    """
    if row.type is Path:
        return str(folder / value)
    if row.type != tuple[FileName, ...]:
        return value
    from glob import escape

    return [os.path.join(escape(str(folder)), one) for one in value]


def _mistakes_of(ctx: click.Context, name: str, table: Any) -> Iterable[str]:
    """Take a command without a table of options for one that has none to set."""
    from mcpmock.options.project_file import option_mistakes

    from .commands import cli

    command = cli.get_command(ctx, name)
    if isinstance(command, TableCommand):
        return command.find_mistakes(table)
    return option_mistakes(table, {})


def options(
    defaults: Mapping[str, Any] | None = None, **tables: type[OptionTable]
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
                if "command" in table.types:
                    values["command"] = given.pop("command")
                given[name] = table(**values)
            return command(**given)

        decorated: Any = collect
        for table in reversed(tables.values()):
            for one in reversed(list(options_of(table))):
                default = differing.get(one.name, one.default)
                decorated = click_option(structs.replace(one, default=default))(decorated)
            if table is ConsoleOptions:
                decorated = COLOR(decorated)
        return decorated  # type: ignore[no-any-return]

    return add


def click_option(one: Option) -> Callable[[_Command], _Command]:
    """Return a row of a table as click has it."""
    flags = [*(one.flags or (f"--{one.word}",)), _parameter(one)]
    more: dict[str, Any] = {"help": one.help, "metavar": one.metavar, "cls": _TableOption}
    more["row"] = one
    default = one.default
    if one.type is bool:
        return click.option(*flags, is_flag=True, **more)
    if one.bare is not None:
        more |= {"is_flag": False, "flag_value": one.bare}
    if one.repeatable:
        return click.option(*flags, multiple=True, type=_LINES, **more)
    if default is NODEFAULT:
        more["required"] = True
    elif default is not None or one.default_text:
        shown = True if one.default_text is None else one.default_text or False
        more |= {"default": default, "show_default": shown}
    return click.option(*flags, type=_click_type(one), **more)


def _parameter(one: Option) -> str:
    """Return the name of click's parameter, and so of the environment variable."""
    return one.word.replace("-", "_")


def _click_type(one: Option) -> Any:
    if one.also[0]:
        return _ChoiceOrText(one.choices, *one.also)
    if one.choices:
        return click.Choice(one.choices)
    if one.type is Seconds:
        return Duration(positive=one.positive)
    if one.positive:
        return _PositiveNumber()
    return _TYPES[one.type] if one.least is None else click.IntRange(one.least)
