"""The plugin, by runs of pytest inside: marker, fixtures, record modes, what a failure says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import mcpmock
from tests.api.conftest import write_weather

PLUGIN = ("-p", "no:mcpmock", "-p", "mcpmock.pytest_plugin", "-p", "no:pytester", "-W", "default",
          "-W", "ignore::pytest.PytestAssertRewriteWarning")  # fmt: skip
SDK_LEAVES = "ignore:Async generator:ResourceWarning"
"""The SDK leaves its event streams to the garbage collector, and trio says so."""
TALK = """
import subprocess
import pytest

INITIALIZE = (
    b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25",'
    b'"capabilities":{},"clientInfo":{"name":"t","version":"1"}}}\\n'
)
LIST = b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}\\n'

def ask(server, *lines):
    done = subprocess.run(server.command, input=b"".join(lines), capture_output=True, timeout=20)
    return done.stdout
"""


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A suite with a cassette."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))
    write_weather(pytester.path / "cassettes" / "weather.jsonl")
    return pytester


def suite(run: pytest.Pytester, source: str, *options: str) -> pytest.RunResult:
    run.makepyfile(test_a=TALK + source)
    return run.runpytest_inprocess(*PLUGIN, *options)


@pytest.mark.e2e
def test_a_test_with_a_cassette(run: pytest.Pytester) -> None:
    """One marker, one fixture; the mode is in the header."""
    source = """
@pytest.mark.mcpmock("weather.jsonl")
def test_it(mcpmock_server, mcpmock_cassette):
    assert b"weather" in ask(mcpmock_server, INITIALIZE, LIST)
    mcpmock_server.assert_order("initialize", "tools/list")
    assert not mcpmock_cassette.records
"""
    result = suite(run, source, "--strict-markers")

    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["mcpmock: record mode none"])


@pytest.mark.e2e
def test_a_miss(run: pytest.Pytester) -> None:
    """It fails a test that passed, and the report explains it."""
    source = """
@pytest.mark.mcpmock("weather.jsonl")
def test_it(mcpmock_server):
    ask(mcpmock_server, INITIALIZE, LIST.replace(b"list", b"call"))
"""
    result = suite(run, source)

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "mcpmock: nothing recorded in cassettes/weather.jsonl answers 1 requests: tools/call",
            "*- mcpmock -*",
            "nothing recorded in cassettes/weather.jsonl answers this tools/call",
            '  event 6: different; $.name: recorded "get_weather", asked nothing; *"Oslo"*',
            "last messages:",
            '  -> {"jsonrpc":"2.0","id":1,"method":"tools/call"}',
            "to reproduce:",
            "  printf *| mcpmock replay cassettes/weather.jsonl",
        ]
    )


@pytest.mark.e2e
@pytest.mark.parametrize(("unused", "failed"), [("fail", 1), ("warn", 0), ("ignore", 0)])
def test_what_was_left_over(run: pytest.Pytester, unused: str, failed: int) -> None:
    """Ignored, warned of, or a failure."""
    source = f"""
@pytest.mark.mcpmock("weather.jsonl", unused="{unused}")
def test_it(mcpmock_server):
    ask(mcpmock_server, INITIALIZE, LIST)
"""
    result = suite(run, source)

    result.assert_outcomes(failed=failed, passed=1 - failed, warnings=int(unused == "warn"))
    told = "*1 recorded requests of cassettes/weather.jsonl never came: tools/call*"
    (result.stdout.no_fnmatch_line if unused == "ignore" else result.stdout.fnmatch_lines)(
        told if unused == "ignore" else [told]  # type: ignore[arg-type]
    )


@pytest.mark.e2e
def test_only_tests_that_passed_are_held_to_it(run: pytest.Pytester) -> None:
    """A failed and a skipped one are not; nor is anyone while such a one may have asked."""
    source = """
pytestmark = pytest.mark.mcpmock("weather.jsonl", unused="fail")

def test_fails(mcpmock_server):
    assert False

def test_is_skipped(mcpmock_server):
    pytest.skip()

def test_passes(mcpmock_server):
    ask(mcpmock_server, INITIALIZE, LIST)
"""
    result = suite(run, source)
    result.assert_outcomes(failed=1, skipped=1, passed=1)

    suite(run, source, "-k", "passes").assert_outcomes(failed=1, deselected=2)


RECORD = f"""
@pytest.mark.mcpmock(server=[{sys.executable!r}, "-m", "mcpmock.demo.server"])
def test_it(mcpmock_server, mcpmock_cassette):
    assert b"tools" in ask(mcpmock_server, INITIALIZE, LIST)
    print("RECORDS", mcpmock_cassette.records)
    assert mcpmock_cassette.mode != "all"
"""


@pytest.mark.e2e
def test_record_modes(run: pytest.Pytester) -> None:
    """`none` dials nothing and says what records; `once` records, then replays; a failed `all`
    leaves the cassette alone and its own beside it.
    """
    file = run.path / "cassettes" / "test_a" / "test_it.jsonl"
    missing = suite(run, RECORD)
    missing.assert_outcomes(errors=1)
    missing.stdout.fnmatch_lines(
        ["*no cassette cassettes/test_a/test_it.jsonl; *--mcp-record=once"]
    )
    assert not file.parent.exists()

    for records in (True, False):
        once = suite(run, RECORD, "--mcp-record=once", "-s")
        once.assert_outcomes(passed=1)
        once.stdout.fnmatch_lines([f"*RECORDS {records}"])
    [take] = mcpmock.load(file).takes
    assert take.sealed

    before = file.read_bytes()
    suite(run, RECORD, "--mcp-record=all").assert_outcomes(failed=1)
    assert before == file.read_bytes()
    assert file.with_name("test_it.rej.jsonl").exists()


@pytest.mark.e2e
@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_any_event_loop(run: pytest.Pytester, backend: str) -> None:
    """The official SDK in memory, over stdio and over HTTP, under anyio's plugin; nothing warns."""
    pytest.importorskip("mcp")
    run.makepyfile(
        test_a=f"""
import pytest
from mcp import Client

@pytest.fixture
def anyio_backend():
    return {backend!r}

@pytest.mark.anyio
@pytest.mark.mcpmock("weather.jsonl")
@pytest.mark.parametrize("way", ["memory", "stdio", "url"])
async def test_it(mcpmock_server, way):
    server = mcpmock_server
    to = server.transport() if way == "memory" else getattr(server, way)
    async with Client(to, mode="legacy") as client:
        result = await client.call_tool("get_weather", {{"city": "Oslo"}})
    assert "rain" == result.content[0].text
    server.assert_called("tools/call", times=1, tool="get_weather")
"""
    )
    options = ("-W", "error", "-W", SDK_LEAVES, "-p", "no:pytest_trio")
    result = run.runpytest_subprocess(*PLUGIN, *options)

    result.assert_outcomes(passed=3)


def test_a_suite_that_does_not_use_it(run: pytest.Pytester) -> None:
    """Nothing of ours is imported but the plugin itself."""
    run.makepyfile(
        test_a="""
import sys
def test_it():
    ours = {name for name in sys.modules if name.startswith("mcpmock.")}
    assert ours <= {"mcpmock.pytest_plugin", "mcpmock.version", "mcpmock.testing",
                    "mcpmock.testing.record_mode"}
"""
    )
    run.runpytest_subprocess(*PLUGIN, "-p", "no:pytest_trio").assert_outcomes(passed=1)


def test_it_costs_nothing() -> None:
    """Its import takes less than 10 ms, on a machine that others use as well."""
    code = (
        "import pytest, time; began = time.process_time(); import mcpmock.pytest_plugin;"
        " import mcpmock.testing.record_mode; print(time.process_time() - began)"
    )
    run = [sys.executable, "-c", code]
    times = [float(subprocess.run(run, capture_output=True, check=True).stdout) for _ in range(3)]

    assert min(times) < 0.010
