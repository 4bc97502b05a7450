"""Completion in a shell, as click does it: what a shell is offered for the words typed so far."""

from __future__ import annotations

import pytest
from click.shell_completion import BashComplete, FishComplete, ShellComplete, ZshComplete

from mcpmock.cli.commands import cli

SHELLS = (BashComplete, ZshComplete, FishComplete)


@pytest.mark.parametrize(
    ("words", "typed", "offered"),
    [
        ([], "rep", {"replay", "report"}),
        ([], "unw", {"unwrap"}),
        (["check"], "--max", {"--max-duration"}),
        (["check", "--fail-on"], "", {"error", "warning", "never"}),
        (["check", "x.jsonl", "--format"], "g", {"github"}),
        (["replay", "--order"], "stri", {"strict"}),
        (["nowhere"], "rep", {"replay", "report"}),  # a mistake is no error yet
    ],
)
def test_what_is_offered(words: list[str], typed: str, offered: set[str]) -> None:
    """Commands, options, choices."""
    complete = ShellComplete(cli, {}, "mcpmock", "_MCPMOCK_COMPLETE")

    assert offered == {item.value for item in complete.get_completions(words, typed)}


@pytest.mark.parametrize("shell", SHELLS, ids=lambda shell: shell.name)
def test_each_shell_asks_mcpmock(shell: type[ShellComplete]) -> None:
    """The script that the manual names sets the variable that click reads."""
    complete = shell(cli, {}, "mcpmock", "_MCPMOCK_COMPLETE")

    assert (
        f"_MCPMOCK_COMPLETE={shell.name}_complete" in shell.source_template % complete.source_vars()
    )
