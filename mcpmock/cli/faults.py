"""`mcpmock faults`: the kinds of faults, by theme, and one of them explained. All that it prints is
made by `mcpmock.faults.kind_help` from the classes of the kinds.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

import attrs
import click

from mcpmock.options.console import ConsoleOptions
from mcpmock.printable import shell_command

from .option_table import options
from .output import TextFormatter, columns, emit, say

if TYPE_CHECKING:
    from mcpmock.faults.kind_help import KindHelp

MAX_TEXT_WIDTH = 100
"""Columns of text: longer lines are hard to read."""
SUGGESTED_KINDS = 3


@click.command("faults", short_help="List the kinds of faults, or explain one.")
@click.argument("kind", required=False)
@options()
def faults(kind: str | None, console: ConsoleOptions) -> int:
    """List the kinds of faults, or explain one KIND: what it does, its knobs, an example."""
    from mcpmock.faults.kind_help import help_of
    from mcpmock.faults.registry import KINDS, THEMES

    if kind is not None and kind not in KINDS:
        near = get_close_matches(kind, KINDS, n=SUGGESTED_KINDS, cutoff=0.5)
        hint = f"did you mean {' or '.join(near)}?" if near else "`mcpmock faults` lists them"
        say(f"no fault kind {kind}; {hint}")
        return 2
    shown = [kind] if kind is not None else [one for kinds in THEMES.values() for one in kinds]
    found = [help_of(one) for one in shown]
    if console.json:
        for one in found:
            emit(_as_json(one))
    elif kind is not None:
        _print_kind(found[0])
    else:
        _print_list(found)
    return 0


def _print_list(found: list[KindHelp]) -> None:
    formatter = _formatter()
    formatter.write_text("`mcpmock faults KIND` explains a kind.")
    for theme in dict.fromkeys(one.theme for one in found):
        with formatter.section(theme):
            formatter.write_dl([(one.kind, one.summary) for one in found if one.theme == theme])
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


def _as_json(one: KindHelp) -> dict[str, object]:
    return {
        "type": "kind",
        **attrs.asdict(one),
        "summary": one.summary,
        "transports": one.transports.split(", "),
        "example": {"fault": one.shorthand, "toml": one.toml},
    }
