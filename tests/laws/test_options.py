"""One table of options: what the command line, the Python API, the marker and the manual have is in
it, and nothing else.
"""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import click
import pytest

import mcpmock.options
from mcpmock.api.server import replay_options
from mcpmock.cli.commands import COMMANDS, cli
from mcpmock.options.option import Option, OptionTable, options_of
from mcpmock.options.replay import ReplayOptions
from mcpmock.options.testing import MarkerOptions, TestServerOptions, keywords_of
from mcpmock.pytest_plugin import _MARKER

TABLES = [
    table
    for module in iter_modules(mcpmock.options.__path__)
    for _, table in inspect.getmembers(
        import_module(f"mcpmock.options.{module.name}"), inspect.isclass
    )
    if issubclass(table, OptionTable)
    and table.__module__.endswith(f".{module.name}")
    and any(options_of(table))
]
HELP = Path(mcpmock.options.__path__[0]).parent / "help"


def commands() -> dict[str, list[click.Parameter]]:
    context = click.Context(cli)
    found = {name: cli.get_command(context, name) for name in COMMANDS}
    return {name: command.params for name, command in found.items() if command is not None}


def test_each_row_is_an_option_of_a_command() -> None:
    """With the help, the choices and the default of the table."""
    shown = [getattr(param, "row", None) for params in commands().values() for param in params]
    rows = [row for row in shown if isinstance(row, Option)]

    for table in {*TABLES} - {MarkerOptions, TestServerOptions}:
        for one in options_of(table):
            assert any(
                (row.word, row.help, row.choices) == (one.word, one.help, one.choices)
                for row in rows
            ), f"{table.__name__}.{one.name}"


@pytest.mark.parametrize("one", [*options_of(ReplayOptions)], ids=lambda one: one.name)
def test_python_takes_what_replay_takes(one: Option) -> None:
    """Every choice, but those of the command line alone."""
    for word in one.choices:
        given: dict[str, Any] = {one.name: word}
        if word in one.command_only:
            with pytest.raises(mcpmock.McpMockError, match=f"{one.name} '{word}': choose"):
                replay_options(**given)
        else:
            replay_options(**given)


def test_the_marker_says_its_words() -> None:
    """What `pytest --markers` shows are the words that a marker takes beside those of `replay`."""
    shown = re.findall(r"(\w+)=None", _MARKER)
    replay = {one.name for one in options_of(ReplayOptions)}
    own = [one.name for one in options_of(MarkerOptions) if one.name not in replay]

    assert own == sorted(shown, key=own.index)


def test_the_manual_has_the_words_of_the_marker() -> None:
    """In one table, made from the rows: what a keyword takes, and what it does."""
    table = [
        "| keyword | takes | |",
        "|---|---|---|",
        *map(keyword_row, keywords_of(MarkerOptions)),
    ]

    assert "\n".join(table) in (HELP / "pytest.md").read_text("utf-8")


def keyword_row(one: Option) -> str:
    """A row of the table in Markdown. What only the command line has is left out of its help."""
    words = [word for word in one.choices if word not in one.command_only]
    takes = ", ".join(f"`{word}`" for word in words) or f"`{one.metavar}`"
    if one.repeatable and one.metavar != "[COMMAND, ..]":
        takes = f"list of `{one.metavar}`"
    takes = "`True`, `False`" if one.type is bool else takes
    text = one.help.replace(" (repeatable)", "")
    for word in one.command_only:
        text = re.sub(rf"; {word}: [^;.]*", "", text)
    return f"| `{one.name}` | {takes} | {text} |"


def test_the_manual_names_what_a_project_file_cannot_set() -> None:
    """All private rows, each by its name or as a companion of `--url`."""
    page = (HELP / "config.md").read_text("utf-8")
    private = {one.word for table in TABLES for one in options_of(table) if one.private}
    named = {*re.findall(r"`--([a-z-]+)`", page)} | {"url-env", "header", "header-env"}

    assert private <= named
    assert named <= private | {"help"}
