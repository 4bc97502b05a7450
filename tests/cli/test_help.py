"""`mcpmock help`: the list of topics, a topic rendered or as it is, and what is no topic."""

from __future__ import annotations

import json
import sys
from importlib.resources import files

import click
import pytest

from mcpmock.cli.help import topics
from tests.cli.conftest import Run

PAGES = files("mcpmock") / "help"


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Standard output is a terminal of 24 lines; what goes through the pager is kept."""
    paged: list[str] = []
    monkeypatch.setattr(type(sys.stdout), "isatty", lambda stream: True, raising=False)
    monkeypatch.setattr(click, "echo_via_pager", paged.append)
    monkeypatch.setenv("LINES", "24")
    monkeypatch.setenv("TERM", "xterm-256color")
    return paged


def test_without_a_topic(run: Run) -> None:
    """Every topic is listed with its sentence, and where the options are explained."""
    status, out, err = run("help")

    assert (0, "") == (status, err)
    words = " ".join(out.split())
    assert [] == [name for name, about in topics().items() if f"{name} {about}" not in words]
    assert "`mcpmock COMMAND --help`" in out
    assert max(map(len, out.splitlines())) <= 80


@pytest.mark.parametrize("options", [(), ("--raw",)])
def test_a_topic_in_a_pipe(run: Run, options: tuple[str, ...]) -> None:
    """Its bytes."""
    text = (PAGES / "faults.md").read_text("utf-8")

    assert (0, text, "") == run("help", "faults", *options)


def test_raw_on_a_terminal(run: Run, terminal: list[str]) -> None:
    """Its bytes, and no pager."""
    assert (PAGES / "faults.md").read_text("utf-8") == run("help", "faults", "--raw")[1]
    assert [] == terminal


def test_a_long_topic_on_a_terminal(run: Run, terminal: list[str]) -> None:
    """It is rendered and goes through the pager; links are the commands that print them."""
    status, out, err = run("help", "faults")

    assert (0, "", "") == (status, out, err)
    (text,) = terminal
    plain = click.unstyle(text)
    assert "\x1b[" in text
    assert "mcpmock help races" in plain
    assert not {"```", "](", "|---|"} & {mark for mark in ("```", "](", "|---|") if mark in plain}
    assert max(map(len, plain.splitlines())) <= 80


def test_a_short_topic_on_a_terminal(
    run: Run, terminal: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What fits on the screen needs no pager."""
    monkeypatch.setenv("LINES", "1000")

    assert "mcpmock help replay" in click.unstyle(run("help", "performance")[1])
    assert [] == terminal


def test_json(run: Run) -> None:
    """One object a topic; of one topic its text."""
    listed = [json.loads(line) for line in run("help", "--json")[1].splitlines()]
    one = json.loads(run("help", "secrets", "--json")[1])

    assert topics() == {line["topic"]: line["about"] for line in listed}
    assert ("topic", "secrets") == (one["type"], one["topic"])
    assert (PAGES / "secrets.md").read_text("utf-8") == one["text"]


@pytest.mark.parametrize(
    ("topic", "hint"),
    [
        ("fault", "did you mean faults?"),
        ("exit", "did you mean exit-status?"),
        ("record", "`mcpmock record --help` explains the command"),
        ("zzz", f"topics: {', '.join(topics())}"),
    ],
)
def test_no_such_topic(run: Run, topic: str, hint: str) -> None:
    """One line that names what there is instead."""
    assert (2, "", f"mcpmock: no help topic {topic}; {hint}\n") == run("help", topic)


def test_the_help_of_all_commands_names_it(run: Run) -> None:
    """Who asks for help finds the manual."""
    assert "mcpmock help" in " ".join(run("--help")[1].split())
