"""`mcpmock help`: the manual.

A topic is a Markdown file of `mcpmock/help`, which is shipped with the package and can be read on a
forge as it is. Here a terminal gets it rendered, and everything else its bytes. The options of a
command are not in the manual: `mcpmock COMMAND --help` prints them.
"""

from __future__ import annotations

import re
import shutil
import sys
from difflib import get_close_matches
from importlib.resources import files
from typing import TYPE_CHECKING

import click

from mcpmock.options.console import ConsoleOptions
from mcpmock.options.viewing import ManualOptions
from mcpmock.printable import mcpmock_command

from .option_table import options
from .output import TextFormatter, columns, emit, say

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

_LINK = re.compile(r"\[([^\]]+)\]\(([a-z-]+)\.md(?:#[\w-]+)?\)")
MAX_TEXT_WIDTH = 100
"""Columns of rendered text: longer lines are hard to read."""
SUGGESTED_TOPICS = 3


@click.command("help")
@click.argument("topic", required=False)
@options(manual=ManualOptions)
def help(topic: str | None, manual: ManualOptions, console: ConsoleOptions) -> int:
    """Print the manual: the list of topics, or one TOPIC.

    On a terminal the text is rendered, and shown in a pager if it is long. Elsewhere, and with
    --raw, it is Markdown.
    """
    if topic is None:
        _print_list(json=console.json)
        return 0
    page = _pages().get(topic)
    if page is None:
        say(_unknown(topic))
        return 2
    if console.json:
        emit({"type": "topic", "topic": topic, "text": page.read_text("utf-8")})
    elif manual.raw or not sys.stdout.isatty():
        click.echo(page.read_bytes(), nl=False)
    else:
        _show(page.read_text("utf-8"))
    return 0


def topics() -> dict[str, str]:
    """Return the topics of the manual, each with the sentence that it opens with."""
    openings = {name: page.read_text("utf-8").split("\n\n")[1] for name, page in _pages().items()}
    return {name: " ".join(text.split()) for name, text in openings.items()}


def _pages() -> dict[str, Traversable]:
    pages = (page for page in files("mcpmock").joinpath("help").iterdir())
    named = {page.name.removesuffix(".md"): page for page in pages if page.name.endswith(".md")}
    return dict(sorted(named.items()))


def _print_list(*, json: bool) -> None:
    if json:
        for name, sentence in topics().items():
            emit({"type": "topic", "topic": name, "about": sentence})
        return
    formatter = TextFormatter(width=min(columns(), MAX_TEXT_WIDTH))
    formatter.write_text("`mcpmock help TOPIC` prints a topic of the manual:")
    formatter.write_paragraph()
    with formatter.indentation():
        formatter.write_dl(list(topics().items()))
    formatter.write_paragraph()
    formatter.write_text("`mcpmock COMMAND --help` lists the options of a command.")
    click.echo(formatter.getvalue(), nl=False)


def _unknown(topic: str) -> str:
    """Return what to type instead: the command of that name, or the topics with the nearest
    names.
    """
    context = click.get_current_context().find_root()
    assert isinstance(context.command, click.Group)
    if context.command.get_command(context, topic) is not None:
        command = mcpmock_command(topic, options=["--help"])
        return f"no help topic {topic}; `{command}` explains the command"
    near = get_close_matches(topic, _pages(), n=SUGGESTED_TOPICS, cutoff=0.5)
    hint = f"did you mean {' or '.join(near)}?" if near else f"topics: {', '.join(_pages())}"
    return f"no help topic {topic}; {hint}"


def _show(text: str) -> None:
    """Show a text on the terminal, in a pager if it is longer than the screen."""
    rendered = _render(text, min(columns(), MAX_TEXT_WIDTH))
    if rendered.count("\n") < shutil.get_terminal_size().lines:
        click.echo(rendered, nl=False)
    else:
        click.echo_via_pager(rendered)


def _render(text: str, width: int) -> str:
    """Return Markdown as a terminal shows it."""
    from io import StringIO

    from rich.console import Console
    from rich.markdown import Markdown

    # A link to another page is the command that prints it.
    linked = _LINK.sub(_command, text)
    screen = StringIO()
    console = Console(file=screen, width=width, force_terminal=True)
    console.print(Markdown(linked, hyperlinks=False))
    return screen.getvalue()


def _command(link: re.Match[str]) -> str:
    label, topic = link.groups()
    command = f"`{mcpmock_command('help', topic)}`"
    return command if label == topic else f"{label} ({command})"
