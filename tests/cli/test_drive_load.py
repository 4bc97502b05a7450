"""`mcpmock drive` as a load: its options, its figures in three formats, its exit status."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from mcpmock.playback.client.load import CallKind, LoadCalls
from mcpmock.sessions import run as run_module
from mcpmock.sessions.load import LoadFront, LoadPace
from mcpmock.sessions.run import Setup
from tests.cli.conftest import Run, Terminal
from tests.support import INITIALIZE, WELCOME, call, cassette_bytes, response

WEATHER = CallKind("tools/call", "weather")
SUMMARY = "4 sessions in 2.00 s, 2.0 sessions/s"


class Played:
    """Stands in for the run: counts these calls, and ends with this status."""

    def __init__(self) -> None:
        self.front: LoadFront | None = None
        self.calls: dict[CallKind, LoadCalls] = {}
        self.status = 0
        self.figures: dict[str, Any] = {}

    def counts(
        self, kind: CallKind, *milliseconds: float, errors: int = 0, cancelled: int = 0
    ) -> None:
        count = len(milliseconds) + errors + cancelled
        calls = self.calls[kind] = LoadCalls(count, errors, cancelled)
        for latency in milliseconds:
            calls.latencies.add(round(latency * 1000))
        calls.longest = round(max(milliseconds) * 1000) if milliseconds else None

    async def run_sessions(self, setup: Setup) -> int:
        assert isinstance(setup.front, LoadFront)
        self.front = setup.front
        load = setup.front.load
        load.calls.update(self.calls)
        load.sessions, load.seconds = 4, 2.0
        if setup.front.progress is not None:
            setup.front.progress(load)
        for name, value in self.figures.items():
            setattr(load, name, value)
        return self.status


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Played:
    """`a.jsonl` is a cassette of two sessions."""
    found = Played()
    monkeypatch.setattr(run_module, "run_sessions", found.run_sessions)
    monkeypatch.chdir(tmp_path)
    opening = (("c2s", INITIALIZE), ("s2c", WELCOME))
    calls = (("c2s", call(1, "weather")), ("s2c", response(1)))
    (tmp_path / "a.jsonl").write_bytes(cassette_bytes(*opening, *calls, ("take", None), *opening))
    return found


def load(run: Run, *words: str) -> tuple[int, str, str]:
    return run("drive", "a.jsonl", *words, "--", "server")


@pytest.mark.parametrize(
    ("words", "pace"),
    [
        ("--concurrency 1", LoadPace(sessions=2)),
        ("--concurrency 5", LoadPace(sessions=5, concurrency=5)),
        ("--sessions 500 --concurrency 50", LoadPace(sessions=500, concurrency=50)),
        ("--for 1min", LoadPace(duration=60.0)),
        ("--for 10 --sessions 3", LoadPace(sessions=3, duration=10.0)),
        ("--rate 2.5 --for 5s", LoadPace(concurrency=1000, duration=5.0, rate=2.5)),
        ("--rate 2 --concurrency 7", LoadPace(sessions=7, concurrency=7, rate=2.0)),
        ("--max-p99 1s", LoadPace(sessions=2)),
        ("--max-errors 1%", LoadPace(sessions=2)),
        ("--format text", LoadPace(sessions=2)),
    ],
)
def test_the_pace(run: Run, played: Played, words: str, pace: LoadPace) -> None:
    """Any of the options makes it a load. Without a number or a time each recorded session is
    played, and as many as run at once.
    """
    assert 0 == load(run, *words.split())[0]
    assert played.front is not None
    assert pace == played.front.pace


def test_a_table(run: Run, played: Played) -> None:
    """A line for each kind of call, and the sum; an empty column is left out. Names are recorded
    text.
    """
    played.counts(WEATHER, 12.0, 15.0, 180.0)
    played.counts(CallKind("tools/call", "a\x1b"), 1.5)

    assert (0, "") == load(run, "--sessions", "4")[::2]
    assert [
        "call                n     p50     p90     p99     max",
        "initialize          0",
        "tools/call a\\u001b  1  1.5 ms  1.5 ms  1.5 ms  1.5 ms",
        "tools/call weather  3   15 ms  180 ms  180 ms  180 ms",
        f"{SUMMARY}, 2.0 calls/s, 0 errors",
    ] == load(run, "--sessions", "4")[1].splitlines()


def test_limits(run: Run, played: Played) -> None:
    """What exceeds one is named, and the exit status is 1."""
    played.counts(WEATHER, 12.0, 180.0, errors=2)
    played.figures = {"failures": {"no answer to the request in event 3": 2}, "broken": 2}
    within = load(run, "--max-p99", "tool=weather,180ms", "--max-errors", "50%")
    status, out, err = load(run, "--max-p99", "tool=weather,0.1s", "--max-p99", "1ms")

    assert 0 == within[0]
    assert (1, "mcpmock: no answer to the request in event 3 (2 times)\n") == (status, err)
    assert [
        f"{SUMMARY}, 2.0 calls/s, 2 errors, 2 sessions did not go as recorded",
        "tools/call weather: p99 is 180 ms, more than --max-p99 tool=weather,0.1s",
        "tools/call weather: p99 is 180 ms, more than --max-p99 1ms",
        "2 of 4 calls failed, more than --max-errors 0%",
    ] == out.splitlines()[3:]


def test_sessions_that_were_started_late(run: Run, played: Played) -> None:
    """A rate that was not reached is named."""
    played.figures = {"latest_start": 1.25, "unstarted": 3}
    out = load(run, "--rate", "10")[1]

    assert "sessions were started up to 1.25 s after they were due; 3 sessions not at all" in out


def test_interrupted(run: Run, played: Played) -> None:
    """The figures so far are printed; the status is that of the interruption."""
    played.counts(WEATHER, 12.0)
    played.status = 130
    status, out, _ = load(run, "--for", "1h")

    assert 130 == status
    assert "tools/call weather  1" in out


def test_json(run: Run, played: Played) -> None:
    """One object. Histograms of several runs add up."""
    played.counts(WEATHER, 12.0, 180.125, errors=1, cancelled=1)
    played.figures = {"failures": {"no answer": 1}, "broken": 1, "latest_start": 0.5}
    status, out, err = load(run, "--json", "--max-p99", "tool=*,100ms", "--max-errors", "25%")

    opening, weather = json.loads(out)["calls"]
    assert (1, "") == (status, err)
    assert {"method": "initialize", "n": 0, "p99_ms": None} == {
        name: opening[name] for name in ("method", "n", "p99_ms")
    }
    assert {
        "method": "tools/call",
        "tool": "weather",
        "n": 4,
        "errors": 1,
        "cancelled": 1,
        "p50_ms": 12.0,
        "p90_ms": 180.125,
        "p99_ms": 180.125,
        "max_ms": 180.125,
        "histogram": {"unit": "us", "buckets": [[12_000, 1], [181_000, 1]]},
    } == weather
    assert {
        "type": "load",
        "sessions": 4,
        "broken": 1,
        "unstarted": 0,
        "seconds": 2.0,
        "latest_start_ms": 500.0,
        "failures": [{"text": "no answer", "n": 1}],
        "exceeded": [
            {"method": "tools/call", "tool": "weather", "p99_ms": 180.125, "limit": "tool=*,100ms"}
        ],
        "too_many_errors": False,
    } == {name: value for name, value in json.loads(out).items() if name != "calls"}


def test_junit(run: Run, played: Played) -> None:
    """A case for each kind of call, and one for the errors."""
    played.counts(WEATHER, 180.0, errors=1)
    played.counts(CallKind("tools/call", "a\x1b[31m"), 1.0)
    played.figures = {"failures": {"no answer": 1}}
    status, out, _ = load(run, "--format", "junit", "--max-p99", "100ms")

    assert 1 == status
    suites = ElementTree.fromstring(out)
    assert {"tests": "4", "failures": "2"} == suites.attrib
    failed = {case.get("name"): case.find("failure") for case in suites.iter("testcase")}
    words = {name: None if one is None else one.get("message") for name, one in failed.items()}
    assert {
        "initialize": None,
        "tools/call a\\u001b[31m": None,
        "tools/call weather": "p99 is 180 ms, more than --max-p99 100ms",
        "errors": "1 of 3 calls failed, more than --max-errors 0%",
    } == words


def test_progress(run: Run, played: Played, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal, how far it is and the figures so far."""
    assert "load" not in load(run, "--for", "4s")[2]
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    load(run, "--for", "4s")

    assert re.search(r"load .* 50% .*4 sessions in 2.00 s", terminal.text)
