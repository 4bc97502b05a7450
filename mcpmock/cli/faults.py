"""`mcpmock faults`: the kinds of faults, by theme, and one of them explained. All that it prints is
made by `mcpmock.faults.kind_help` from the classes of the kinds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from mcpmock.options.console import ConsoleOptions
from mcpmock.printable import shell_command

from .option_table import options
from .output import TextFormatter, columns, emit, say

if TYPE_CHECKING:
    from mcpmock.faults.kind_help import KindHelp

MAX_TEXT_WIDTH = 100
"""Columns of text: longer lines are hard to read."""


@click.command("faults", short_help="List the kinds of faults, or explain one.")
@click.argument("words", metavar="[KIND | WORD...]", nargs=-1)
@options()
def faults(words: tuple[str, ...], console: ConsoleOptions) -> int:
    """List the kinds of faults, or explain one KIND: what it does, its knobs, an example.

    With another WORD, list the kinds for what is feared: timeout, slow, crash, rate limit...
    """
    from mcpmock.faults.kind_help import help_of, kinds_on
    from mcpmock.faults.registry import KINDS, THEMES

    asked = " ".join(words)
    if asked in KINDS:
        groups = {"": [help_of(asked)]}
    elif asked:
        groups = kinds_on(asked)
    else:
        groups = {theme: [help_of(one) for one in kinds] for theme, kinds in THEMES.items()}
    if not groups:
        from mcpmock.faults.fears import suggest_kinds

        near = suggest_kinds(asked)
        hint = f"did you mean {' or '.join(near)}?" if near else "`mcpmock faults` lists them"
        say(f"no fault kind {asked}; {hint}")
        return 2
    if console.json:
        for found in groups.values():
            for one in found:
                emit(one.value)
    elif asked in KINDS:
        _print_kind(groups[""][0])
    else:
        _print_list(groups)
    return 0


def _print_list(groups: Mapping[str, list[KindHelp]]) -> None:
    formatter = _formatter()
    formatter.write_text("`mcpmock faults KIND` explains a kind.")
    for title, found in groups.items():
        with formatter.section(title):
            formatter.write_dl([(one.kind, one.summary) for one in found])
    click.echo(formatter.getvalue(), nl=False)


def _print_kind(one: KindHelp) -> None:
    from mcpmock.faults.kind_help import match_keys

    formatter = _formatter()
    for paragraph in one.text.split("\n\n"):
        formatter.write_text(paragraph)
        formatter.write_paragraph()
    formatter.write_dl(
        [
            ("theme", one.theme),
            ("acts on", one.acts_on),
            ("toward", one.toward),
            ("transports", one.transports),
            ("modes", one.modes),
        ]
    )
    if one.knobs:
        with formatter.section("Knobs"):
            rows = [
                (" or ".join([knob.name, *knob.aliases]), f"{knob.takes}; default {knob.default}")
                for knob in one.knobs
            ]
            formatter.write_dl(rows)
    with formatter.section("Every kind also has"):
        formatter.write_dl(
            [
                ("toward", "one of client, server, both"),
                ("match", f"which messages: {', '.join(match_keys())}"),
                ("name", "a text for receipts and summaries"),
                ("must_fire", "true: exit with status 1 if the fault never fired"),
            ]
        )
    click.echo(formatter.getvalue())
    click.echo(f"Command line:\n  {shell_command(['--fault', one.shorthand])}\n")
    toml = "\n".join(f"  {line}" for line in one.toml.splitlines())
    click.echo(f"Plan (--faults PLAN.toml):\n{toml}")


def _formatter() -> click.HelpFormatter:
    return TextFormatter(width=min(columns(), MAX_TEXT_WIDTH))
