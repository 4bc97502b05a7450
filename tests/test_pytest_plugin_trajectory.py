"""`assert_trajectory` of the server of a test, by runs of pytest inside."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import mcpmock
from tests.support.record_modes import MODES
from tests.support.weather import ASK
from tests.test_pytest_plugin import run, suite
from tests.test_pytest_plugin_records import Suite

__all__ = ["run"]
pytestmark = pytest.mark.e2e
CALL = f"ASK = {ASK.strip()!r} + b'\\n'\n"


@pytest.mark.parametrize(
    ("calls", "given", "failed"),
    [
        ("ASK", "", []),
        ("", "", ['E*  missing: event 6, tools/call get_weather {"city":"Oslo"}', "E*  none"]),
        ("", "missing='allow'", []),
        ("ASK, ASK", "", ["E*  extra: tools/call get_weather*"]),
        ("ASK, ASK", "extra='allow'", []),
        ("ASK.replace(b'Oslo', b'Rome')", "", ["E*  changed: *; allow with ignore=*city'?"]),
        ("ASK.replace(b'Oslo', b'Rome')", "ignore=['$.arguments.city']", []),
        ("ASK", "'other.jsonl'", []),
        ("ASK", "'none.jsonl'", ["*none.jsonl: no such file*"]),
        ("ASK", "order='some'", ["*order='some': choose same or any"]),
        ("ASK", "extra=True", ["*extra=True: choose fail or allow"]),
        ("ASK", "ignore='$.x'", ["*ignore='$.x': give a list"]),
        ("ASK", "methods=['*'], missing='allow', ignore=['initialize $']", []),
        ("ASK", "methods=['tools/*', 'x/y']", ["*['tools/[*]', 'x/y']: no request is 'x/y'*"]),
        ("ASK", "methods=['tool/call']", ["*no request is 'tool/call'; did you mean tools/call?"]),
        ("ASK", "methods=['notifications/*']", ["*no request is 'notifications/[*]'*"]),
        ("ASK", "methods=['sampling/*']", ["*no request is 'sampling/[*]'*"]),
        ("ASK", "methods=[]", ["*methods=[[]]: name the methods that count"]),
        ("ASK", "like=['$.x=dat']", ["*no kind 'dat'*did you mean date?"]),
    ],
)
def test_it(run: pytest.Pytester, calls: str, given: str, failed: list[str]) -> None:
    """It says what differs, with the rule that allows it, and what is wrong with its words."""
    shutil.copy(run.path / "cassettes/weather.jsonl", run.path / "cassettes/other.jsonl")
    source = f"""
{CALL}
@pytest.mark.mcpmock("weather.jsonl", repeats="last", misses="allow")
def test_it(mcpmock_server):
    ask(mcpmock_server, INITIALIZE, {calls})
    mcpmock_server.assert_trajectory({given})
"""
    result = suite(run, source)

    result.assert_outcomes(passed=int(not failed), failed=int(bool(failed)))
    result.stdout.fnmatch_lines(failed)


@pytest.mark.parametrize("mode", MODES)
def test_record_modes(run: pytest.Pytester, mode: str) -> None:
    """What is recorded anew is how a new trajectory is accepted."""
    made = Suite(run)
    more = "mcpmock_server.assert_trajectory()"
    made(made.test(more=more), "once").assert_outcomes(passed=1)
    made(made.test(more=more)).assert_outcomes(passed=1)
    result = made(made.test("new", more=more), mode)

    accepts = mode in ("new_episodes", "all", "rewrite")
    result.assert_outcomes(passed=int(accepts), failed=int(not accepts))


def test_the_takes_of_this_test(run: pytest.Pytester) -> None:
    """They count alone; a test without any has all."""
    made = Suite(run)
    more = "mcpmock_server.assert_trajectory()"
    one = made.test("1", name="test_1", cassette="a.jsonl", more=more)
    two = made.test("1", "2", name="test_2", cassette="a.jsonl", more=more)
    made(one + two, "once").assert_outcomes(passed=2)

    made(one + two).assert_outcomes(passed=2)
    other = made.test("1", name="test_3", cassette="a.jsonl", more=more)
    made(other).stdout.fnmatch_lines(["E*: 2 missing"])


def test_without_a_recording() -> None:
    """A stub alone has none to compare with."""
    with (
        mcpmock.serve(mcpmock.Stub()) as server,
        pytest.raises(mcpmock.McpMockError, match="no recording: name one"),
    ):
        server.assert_trajectory()


def test_outside_of_pytest(tmp_path: Path) -> None:
    """All takes count, and files are found from the current folder."""
    from tests.support.weather import write_weather

    file = write_weather(tmp_path / "weather.jsonl")
    with (
        mcpmock.serve(file) as server,
        pytest.raises(AssertionError, match="0 of 1 recorded call made as recorded: 1 missing"),
    ):
        server.assert_trajectory(file)
