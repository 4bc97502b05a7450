"""A command that is printed runs as it is printed, whatever others have written into its words:
names of servers, files, tools and methods, URLs, scopes.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import click
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcpmock.cli.commands import cli
from mcpmock.printable import mcpmock_command, printable, shell_command
from tests.laws.test_house import PACKAGE, trees
from tests.support.shell import HOSTILE, split

_COMMANDS = "|".join({*cli.list_commands(click.Context(cli))} - {"demo"})  # it takes no operand
_WRITTEN_BY_HAND = re.compile(rf"mcpmock ({_COMMANDS}) ([^`\n]* )?\0|`mcpmock [^`]*\0")


def test_hostile_words() -> None:
    """A shell gives back the words, and a terminal shows the line as it is."""
    lines = [shell_command([first, second]) for first in HOSTILE for second in HOSTILE]
    words = [[first, second] for first in HOSTILE for second in HOSTILE]

    assert lines == [printable(line) for line in lines]
    assert words == split(lines)


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.lists(st.text(st.characters(exclude_characters="\0\n")), min_size=1, max_size=4))
)
def test_any_words(commands: list[list[str]]) -> None:
    """The same of any text."""
    lines = [shell_command(words) for words in commands]

    assert lines == [printable(line) for line in lines]
    assert commands == split(lines)


@pytest.mark.parametrize(
    ("operands", "words"),
    [
        (["a"], ["a", "--config", "x y"]),
        (["--all"], ["--config", "x y", "--", "--all"]),
        (["a", "-b"], ["--config", "x y", "--", "a", "-b"]),
    ],
)
def test_operands_like_options(operands: list[str], words: list[str]) -> None:
    """They stand behind `--`."""
    line = mcpmock_command("unwrap", *operands, options=["--config", "x y"])

    assert [["mcpmock", "unwrap", *words]] == split([line])


def test_no_command_is_written_by_hand() -> None:
    """A text with a command and a value in it has the command from `mcpmock_command`."""
    found = [
        f"{path.relative_to(PACKAGE)}:{line}: {text}"
        for path, tree in trees().items()
        for line, text in _templates(tree)
        if _WRITTEN_BY_HAND.search(text)
    ]

    assert [] == found


def _templates(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Texts with places for values, each place as a NUL."""
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield node.lineno, "".join(map(_part, node.values))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, re.sub(r"\{\w*\}", "\0", node.value)


def _part(node: ast.expr) -> str:
    if isinstance(node, ast.Constant):
        return str(node.value)
    assert isinstance(node, ast.FormattedValue)
    constant = isinstance(node.value, ast.Name) and node.value.id.isupper()
    return "NAME" if constant else "\0"
