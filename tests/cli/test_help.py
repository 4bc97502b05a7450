"""`mcpmock help`: the list of topics, a topic rendered or as it is, and what is no topic."""

from __future__ import annotations

import json
import sys
from importlib.resources import files
from pathlib import Path

import click
import pytest

from mcpmock.cli.help import README_SECTIONS
from mcpmock.view.manual import topics
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
        ("stdin", f"topics: {', '.join(topics())}"),
        ("backoff", f"topics: {', '.join(topics())}"),
        ("vcr", f"topics: {', '.join(topics())}"),
        ("zzz", f"topics: {', '.join(topics())}"),
    ],
)
def test_no_such_topic(run: Run, topic: str, hint: str) -> None:
    """One line that names what there is instead."""
    assert (2, "", f"mcpmock: no help topic {topic}; {hint}\n") == run("help", topic)


@pytest.mark.parametrize(
    ("command", "ending"),
    [
        ("record", "; section Record of the README"),
        ("verify", "; section Compare and verify of the README"),
        ("recover", "; topics on it: cassette, "),
        ("merge", "; topics on it: cassette"),
        ("faults", None),
    ],
)
def test_a_command_that_is_no_topic(run: Run, command: str, ending: str | None) -> None:
    """Its help is named, the topics that describe it, and its section of the README."""
    status, _, err = run("help", command)

    assert (2 if ending else 0) == status
    assert ending is None or f"`mcpmock {command} --help` explains the command; topics" in err
    assert ending is None or ending in err


def test_a_topic_that_none_is_but_several_speak_of(run: Run) -> None:
    """It is searched for."""
    status, _, err = run("help", "timeout")

    assert 2 == status
    assert "speak of it: `mcpmock help --search timeout`" in err


@pytest.mark.parametrize(
    ("word", "place"),
    [
        ("git lfs", "cassette, Keep in git: "),
        ("rate limit", "faults, What I fear, and the fault for it: "),
        ("CAUSAL", "replay, "),
        ("Mcp-Session-Id", "http, "),
        ("nightly", "ci, In CI: "),
    ],
)
def test_the_manual_is_searched(run: Run, word: str, place: str) -> None:
    """Each section with the word is a line; a block of code opens no section."""
    status, out, _ = run("help", "--search", word)
    found = json.loads(run("help", "--json", "--search", word)[1].splitlines()[0])

    assert 0 == status
    assert any(line.startswith(place) for line in out.splitlines())
    assert {"type", "topic", "section", "text"} == set(found)
    assert word.lower() in f"{found['section']} {found['text']}".lower()
    assert (1, "") == run("help", "--search", "no such thing")[:2]
    assert {"faults"} == {
        line.partition(",")[0] for line in run("help", "faults", "--search", "seed")[1].splitlines()
    }


def test_the_readme_has_the_sections_that_are_named() -> None:
    readme = (Path(__file__).parents[2] / "README.md").read_text("utf-8")

    assert [] == [one for one in README_SECTIONS.values() if f"\n## {one}\n" not in readme]


def test_the_help_of_all_commands_names_it(run: Run) -> None:
    """Who asks for help finds the manual."""
    assert "mcpmock help" in " ".join(run("--help")[1].split())
