"""`mcpmock mcp`: its tools say what the commands say; its entry in the files of clients."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.agent_tools.asking import Agent
from tests.cli.conftest import Run
from tests.support.weather import write_weather


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with one cassette."""
    write_weather(tmp_path / "runs" / "weather.jsonl")
    return tmp_path / "runs"


@pytest.fixture
def agent(folder: Path) -> Agent:
    return Agent(folder)


def printed(run: Run, *words: str) -> list[dict[str, Any]]:
    """What a command prints as JSON."""
    return [json.loads(line) for line in run(*words, "--json")[1].splitlines()]


def test_the_events_of_show(agent: Agent, folder: Path, run: Run) -> None:
    """The items are the lines of `show --json`, of what a filter keeps."""
    file = str(folder / "weather.jsonl")
    for words, arguments in (
        ((), {}),
        (("--filter", "kind=response"), {"filter": "kind=response"}),
        (("--filter", "!dir=c2s tool=*"), {"filter": "!dir=c2s tool=*"}),
        (("--filter", "tool=none"), {"filter": "tool=none"}),
    ):
        found = agent.page("show_events", file="weather.jsonl", **arguments)["recorded"]
        shown = printed(run, "show", file, *words)

        assert [{**one, **item} for one, item in zip(shown, found, strict=True)] == shown


def test_checks_as_check_does(folder: Path, agent: Agent, run: Run) -> None:
    """The items are those of `check --json`; a level leaves out what is below it."""
    found = agent.page("check_cassette", file="weather.jsonl")["recorded"]
    shown = printed(run, "check", str(folder / "weather.jsonl"))

    members = [
        {name: one.get(name) for name in item} for one, item in zip(shown, found, strict=True)
    ]
    assert members == found
    errors = agent.page("check_cassette", file="weather.jsonl", level="error")["recorded"]
    assert {one.get("level") for one in errors} == {"error", None}


def test_compares_as_diff_does(folder: Path, agent: Agent, run: Run) -> None:
    """The items are the differences of `diff --json`; a rule takes one away."""
    file = folder / "snow.jsonl"
    file.write_bytes((folder / "weather.jsonl").read_bytes().replace(b'"rain"', b'"snow"'))
    names = {"old": "weather.jsonl", "new": "snow.jsonl"}
    found = agent.page("diff_cassettes", **names)
    (shown,) = printed(run, "diff", str(folder / "weather.jsonl"), str(file))

    assert shown["differences"] == found["recorded"]
    rule = shown["differences"][0]["ignore"]
    assert agent.page("diff_cassettes", **names, ignore=[rule])["summary"] == "same"


def test_counts_as_stats_does(folder: Path, agent: Agent, run: Run) -> None:
    """The items are the lines of `stats --json`, of all files together."""
    file = str(folder / "weather.jsonl")
    found = agent.page("count_calls", files=["weather.jsonl", "weather.jsonl"])["recorded"]

    def counted(lines: list[dict[str, Any]]) -> list[Any]:
        return [(one["type"], one.get("method"), one.get("tool")) for one in lines]

    assert counted(printed(run, "stats", file)) == counted(found)
    assert found[-1]["cassettes"] == 2
