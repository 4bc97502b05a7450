"""`explore=` in the marker, by runs of pytest inside: a test with a bug fails in the schedule
that shows it, and the printed marker repeats it; a sound one passes all.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.slow_call import CASSETTE
from tests.test_pytest_plugin import PLUGIN

AGENT = """
import pytest
from mcp import Client

runs = 0

@pytest.fixture
def anyio_backend():
    return "asyncio"

@pytest.mark.anyio
@pytest.mark.mcpmock("slow.jsonl", repeats="last", explore=EXPLORE)
async def test_agent(mcpmock_server):
    global runs
    runs += 1
    seen = []

    async def show(progress, total, message):
        seen.append(progress)

    async with Client(mcpmock_server.transport(), mode="legacy") as client:
        await client.list_tools()
        await client.call_tool("slow", {}, progress_callback=show)
    CHECK
"""


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A suite with the recording of a slow call."""
    pytest.importorskip("mcp.client")
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))
    (pytester.path / "slow.jsonl").write_bytes(CASSETTE)
    return pytester


def outcome(run: pytest.Pytester, explore: str, check: str) -> pytest.RunResult:
    source = AGENT.replace("EXPLORE", explore).replace("CHECK", check)
    run.makepyfile(test_a=source)
    return run.runpytest_inprocess(*PLUGIN, "-p", "no:pytest_trio")


def test_a_sound_test_passes(run: pytest.Pytester) -> None:
    """In all schedules, each with a server of its own; races that it cannot reach are left out."""
    result = outcome(run, "54", "assert len(mcpmock_server.requests('tools/call')) == 1")

    result.assert_outcomes(passed=1)


def test_a_bug_is_found_and_repeated(run: pytest.Pytester) -> None:
    """The test takes progress for increasing; the failure names the schedule and the marker."""
    check = "assert set(seen) <= {1, 2}"
    result = outcome(run, "200", check)

    result.assert_outcomes(failed=1)
    told = str(result.stdout)
    assert "recorded order, except: progress_decreasing at notifications/progress" in told
    assert "run again: 5 of 5" in told
    marker = told.partition("repeat it alone: ")[2].partition("\n")[0]
    number = marker.rpartition("explore=")[2].rstrip(")")

    outcome(run, number, check).assert_outcomes(failed=1)
    outcome(run, number, "pass").assert_outcomes(passed=1)
