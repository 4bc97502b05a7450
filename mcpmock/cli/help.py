"""`mcpmock help`: the manual.

A topic is a Markdown file of `mcpmock/help`, which is shipped with the package and can be read on a
forge as it is. Here a terminal gets it rendered, and everything else its bytes. The options of a
command are not in the manual: `mcpmock COMMAND --help` prints them.
"""

from __future__ import annotations

import re
import shutil
import sys

import click

from mcpmock.options.console import ConsoleOptions
from mcpmock.options.views import ManualOptions
from mcpmock.printable import did_you_mean, mcpmock_command
from mcpmock.view.manual import pages, sections, topics

from .option_table import options
from .output import TextFormatter, columns, emit, say, shorten

_LINK = re.compile(r"\[([^\]]+)\]\(([a-z-]+)\.md(?:#[\w-]+)?\)")
_ABOUT_THE_CODE = ("contributing", "internals")
README_SECTIONS = {
    "record": "Record",
    "show": "Inspect",
    "replay": "Replay",
    "diff": "Compare and verify",
    "verify": "Compare and verify",
}
"""Where the README describes a command."""
MAX_TEXT_WIDTH = 100
"""Columns of rendered text: longer lines are hard to read."""
SUGGESTED_TOPICS = 3


@click.command("help")
@click.argument("topic", required=False)
@options(manual=ManualOptions)
def help(topic: str | None, manual: ManualOptions, console: ConsoleOptions) -> int:
    """Print the manual: the list of topics, or one TOPIC.

    On a terminal the text is rendered, and shown in a pager if it is long. Elsewhere, and with
    --raw, it is Markdown. --search finds a word in all topics, or in TOPIC.
    """
    if manual.search is not None:
        return _search(manual.search, topic, json=console.json)
    if topic is None:
        _print_list(json=console.json)
        return 0
    page = pages().get(topic)
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


def _search(word: str, topic: str | None, *, json: bool) -> int:
    """Print each section with this word in it, and the line that has it first. Gives 1 for none."""
    asked = word.lower()
    found = [
        (one, line)
        for one in sections()
        if topic in (None, one.topic) and (line := one.first_line(asked)) is not None
    ]
    for one, line in found:
        if json:
            said = {"topic": one.topic, "section": one.heading, "text": line}
            emit({"type": "found", **said})
        else:
            click.echo(f"{one.topic}, {one.heading}: {shorten(line, columns())}")
    if not found:
        say(f"nothing in the manual speaks of {word}; `mcpmock help` lists the topics")
    return 0 if found else 1


def _topics_on(phrase: str) -> list[str]:
    """Return the topics that have this in their text, those that have it most often first."""
    told = {topic: page for topic, page in pages().items() if topic not in _ABOUT_THE_CODE}
    texts = ((topic, page.read_text("utf-8").lower()) for topic, page in told.items())
    found = {topic: count for topic, text in texts if (count := text.count(phrase.lower()))}
    return sorted(found, key=lambda topic: -found[topic])[:SUGGESTED_TOPICS]


def _unknown(topic: str) -> str:
    """Return what to type instead: the command of that name and the topics on it, or the topics
    with the nearest names, or those that speak of it.
    """
    context = click.get_current_context().find_root()
    assert isinstance(context.command, click.Group)
    if context.command.get_command(context, topic) is not None:
        command = mcpmock_command(topic, options=["--help"])
        hints = [f"`{command}` explains the command"]
        if near := _topics_on(f"mcpmock {topic}"):
            hints.append(f"topics on it: {', '.join(near)}")
        if topic in README_SECTIONS:
            hints.append(f"section {README_SECTIONS[topic]} of the README")
        return f"no help topic {topic}; {'; '.join(hints)}"
    if nearest := did_you_mean(topic, pages(), most=SUGGESTED_TOPICS, cutoff=0.5):
        return f"no help topic {topic}{nearest}"
    if len(topic) > 2 and (near := _topics_on(topic)):
        search = mcpmock_command("help", options=["--search", topic])
        return f"no help topic {topic}; {' and '.join(near)} speak of it: `{search}`"
    return f"no help topic {topic}; topics: {', '.join(pages())}"


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
