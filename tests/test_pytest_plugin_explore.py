"""`explore=` in the marker, by runs of pytest inside: a test with a bug fails in the schedule
that shows it, and the printed marker repeats it; a sound one passes all.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from mcpmock.testing import explored_body
from mcpmock.trials import search
from tests.support.pages import data_of
from tests.support.slow_call import CASSETTE
from tests.test_pytest_plugin import PLUGIN

AGENT = """
import anyio
import pytest
from mcp import Client

@pytest.fixture
def anyio_backend():
    return "BACKEND"

@pytest.mark.MARK
@pytest.mark.mcpmock("slow.jsonl", repeats="last", explore=EXPLORE)
async def test_agent(mcpmock_server):
    seen = []

    async def show(progress, total, message):
        seen.append(progress)

    async with Client(mcpmock_server.transport(), mode="legacy") as client:
        await client.list_tools()
        with anyio.move_on_after(30) as waited:
            await client.call_tool("slow", {}, progress_callback=show)
    CHECK
"""


BUG, PAIR = "[92]", "[275]"
"""The schedule in which progress decreases, and one with two faults, behind all with one."""


@pytest.fixture(autouse=True, scope="module")
def sdk() -> None:
    """What is imported later is forgotten at the end of a `pytester`, and takes 1.6 s again."""
    pytest.importorskip("mcp.client.streamable_http")


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A suite with the recording of a slow call."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))
    (pytester.path / "slow.jsonl").write_bytes(CASSETTE)
    return pytester


def outcome(
    run: pytest.Pytester, explore: str, check: str, backend: str = "trio", mark: str = "anyio"
) -> pytest.RunResult:
    words = {"EXPLORE": explore, "CHECK": check, "BACKEND": backend, "MARK": mark}
    source = AGENT
    for word, given in words.items():
        source = source.replace(word, given)
    run.makepyfile(test_a=source)
    return run.runpytest_inprocess(*PLUGIN, "-p", mark, "--mcp-report", "pages")


def marker_of(result: pytest.RunResult) -> str:
    """The schedules in the marker that repeats a failure."""
    marker = str(result.stdout).partition("repeat it alone: ")[2].partition("\n")[0]
    return marker.rpartition("explore=")[2].rstrip(")")


@pytest.mark.parametrize(("backend", "mark"), [("trio", "anyio"), ("", "trio")])
def test_a_sound_test_passes(run: pytest.Pytester, backend: str, mark: str) -> None:
    """In all schedules, each with a server of its own, on a mock clock: half a minute in each of
    the races takes no time. Twice the same.
    """
    tell = """
    with open("told", "a") as told:
        print(waited.cancelled_caught, seen, round(anyio.current_time(), 6), file=told)
"""
    for _ in range(2):
        outcome(run, "25", tell, backend, mark).assert_outcomes(passed=1)
    told = (run.path / "told").read_text().splitlines()
    one, other = told[1 : len(told) // 2], told[len(told) // 2 + 1 :]  # not on the real clock
    assert "True [1.0] 30.0" in one
    assert one == other


def test_a_bug_is_found_and_repeated(run: pytest.Pytester) -> None:
    """The test takes progress for increasing; the failure names the schedule and the marker, and
    the page has the run that failed.
    """
    check = "assert seen == sorted(seen)"
    result = outcome(run, "200", check)

    result.assert_outcomes(failed=1)
    told = str(result.stdout)
    assert "recorded order, except: progress_decreasing at notifications/progress" in told
    assert "run again: 5 of 5" in told
    number = marker_of(result)
    assert number == BUG
    (page,) = (run.path / "pages").glob("*.html")
    data = data_of(page.read_bytes())
    assert f"mcpmock: schedule {number.strip('[]')}: recorded order, except: " in data["error"]
    assert "fault fired: progress_decreasing" in str(data["recordings"][-1]["happened"])

    outcome(run, number, check).assert_outcomes(failed=1)
    outcome(run, number, "pass").assert_outcomes(passed=1)


def test_a_pair_is_shrunk(run: pytest.Pytester) -> None:
    """To the one change that matters."""
    one = "kinds = [one['kind'] for one in mcpmock_server.faults.receipts]"
    pair = marker_of(outcome(run, PAIR, f"{one}; assert kinds != ['latency', 'delay']"))
    assert pair == PAIR
    result = outcome(run, pair, f"{one}; assert 'delay' not in kinds")

    result.assert_outcomes(failed=1)
    told = str(result.stdout)
    assert "except: delay at" in told
    assert "; " not in told.partition("recorded order, except: ")[2].partition("\n")[0]
    assert int(marker_of(result).strip("[]")) < int(pair.strip("[]"))


ENDLESS = """
    while seen != sorted(seen):
        await anyio.sleep(100)
"""


def test_a_test_that_does_not_end_fails(run: pytest.Pytester) -> None:
    """On the mock clock at once."""
    result = outcome(run, BUG, ENDLESS)

    result.assert_outcomes(failed=1)
    assert "the test does not end within 3600 s of the mock clock" in str(result.stdout)
    assert "progress_decreasing" in str(result.stdout)


def test_a_test_under_asyncio_that_does_not_end_fails(
    run: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On the real clock, with a limit."""
    monkeypatch.setattr(explored_body, "LEAST_LIMIT_S", 0.1)
    monkeypatch.setattr(search, "RERUNS", 1)
    result = outcome(run, BUG, ENDLESS, "asyncio")

    result.assert_outcomes(failed=1)
    assert "the test does not end within" in str(result.stdout)
    assert "progress_decreasing" in str(result.stdout)


def test_a_plain_test_that_does_not_end_fails(
    run: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its server is closed at the limit: what it waits for then ends. In schedule 80 `initialize`
    is answered with an error; others may be slower than this limit on a busy machine.
    """
    monkeypatch.setattr(explored_body, "LEAST_LIMIT_S", 0.1)
    monkeypatch.setattr(search, "RERUNS", 1)
    source = """
import json, urllib.request
import pytest

@pytest.mark.mcpmock("slow.jsonl", repeats="last", explore=[80])
def test_agent(mcpmock_server):
    hello = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"}}}
    headers = {"Content-Type": "application/json",
               "Accept": "application/json, text/event-stream"}
    request = urllib.request.Request(mcpmock_server.url, json.dumps(hello).encode(), headers)
    answer = urllib.request.urlopen(request, timeout=20).read()
    while b'"error"' in answer:
        urllib.request.urlopen(request, timeout=20).read()
"""
    run.makepyfile(test_a=source)
    result = run.runpytest_inprocess(*PLUGIN)

    result.assert_outcomes(failed=1)
    assert "the test does not end within" in str(result.stdout)
    assert "recorded order, except: error at initialize" in str(result.stdout)
