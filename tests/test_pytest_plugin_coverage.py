"""`pytest --mcp-coverage`: what the tests of a run use of what servers list."""

from __future__ import annotations

import re

import pytest

from tests.support import call, cassette_bytes, error, request, response
from tests.test_pytest_plugin import PLUGIN

SUITE = """
import subprocess
import sys

import pytest

from tests.support import call, request

HELLO = request(0, "initialize", {"protocolVersion": "2025-11-25"})


def ask(server, *asked):
    lines = b"".join(raw + b"\\n" for raw in (HELLO, *asked))
    subprocess.run(server.command, input=lines, capture_output=True, timeout=20)


@pytest.mark.mcpmock("sixty.jsonl")
@pytest.mark.parametrize("numbers", [range(9), range(5, 14)], ids=str)
def test_calls(mcpmock_server, numbers):
    ask(mcpmock_server, *(call(n + 1, f"tool{n}", unit="C") for n in numbers))


@pytest.mark.mcpmock("sixty.jsonl")
def test_an_error_covers_nothing(mcpmock_server):
    ask(mcpmock_server, call(90, "tool20", unit="C"), call(91, "tool21", unit="C"))
"""
MORE = """
def test_a_shared_server(mcpmock_serve):
    ask(mcpmock_serve("sixty.jsonl"), call(15, "tool14", unit="C"))


@pytest.mark.mcpmock("sixty.jsonl")
def test_a_driven_server(mcpmock_client):
    mcpmock_client.drive([sys.executable, "-m", "mcpmock", "replay", "cassettes/sixty.jsonl"])
"""


def sixty() -> bytes:
    """A recording of a server with sixty tools, listed on three pages, 16 of which were called."""
    schema = {"properties": {"unit": {"enum": ["C", "F"]}}}
    tools = [{"name": f"tool{n}", "inputSchema": schema} for n in range(60)]
    events = [("c2s", request(0, "initialize", {"protocolVersion": "2025-11-25"}))]
    hello = {"serverInfo": {"name": "sixty"}, "protocolVersion": "2025-11-25", "capabilities": {}}
    events.append(("s2c", response(0, hello)))
    for page in range(3):
        listed = {"tools": tools[20 * page : 20 * page + 20], "nextCursor": str(page + 1)}
        events.append(("c2s", request(100 + page, "tools/list", {"cursor": str(page)})))
        events.append(("s2c", response(100 + page, listed)))
    for n in range(15):
        events.append(("c2s", call(n + 1, f"tool{n}", unit="C")))
        events.append(("s2c", response(n + 1, {"content": []})))
    events += [("c2s", call(90, "tool20", unit="C")), ("s2c", error(90))]
    events += [("c2s", call(91, "tool21", unit="C")), ("s2c", response(91, {"isError": True}))]
    return cassette_bytes(*events)


@pytest.fixture
def suite(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makepyfile(SUITE)
    (pytester.path / "cassettes").mkdir()
    (pytester.path / "cassettes" / "sixty.jsonl").write_bytes(sixty())
    return pytester


def table_of(result: pytest.RunResult) -> dict[str, list[str]]:
    """The rows that were printed: covered, all and percent by kind."""
    rows = re.findall(r"^  (\w+) +(\d+) +(\d+) +(\d+)%", result.stdout.str(), re.M)
    return {kind: numbers for kind, *numbers in rows}


@pytest.mark.parametrize("workers", [[], pytest.param(["-n", "2"], marks=pytest.mark.e2e)], ids=str)
def test_of_sixty_tools_fourteen_are_called(suite: pytest.Pytester, workers: list[str]) -> None:
    """It says so, in one process and in several: the calls are those of the tests, the tools those
    of the recording; an error covers no tool.
    """
    plugins = [*PLUGIN, "-p", "xdist"] if workers else PLUGIN
    run = suite.runpytest_subprocess if workers else suite.runpytest_inprocess
    result = run(*plugins, *workers, "--mcp-coverage", suite.path)

    assert 0 == result.ret
    assert {
        "tools": ["14", "60", "23"],
        "parameters": ["14", "60", "23"],
        "values": ["14", "120", "11"],
        "errors": ["2", "60", "3"],
    } == table_of(result)
    result.stdout.fnmatch_lines(
        [
            "*MCP coverage*",
            "sixty",
            "  tools *missing: tool14, tool15, tool16, tool17, tool18 and 41 more",
            "total: 14 of 60 (23%)",
        ]
    )


def test_below_a_bound_the_session_fails(suite: pytest.Pytester) -> None:
    """Although all tests pass. A bound that is kept says nothing."""
    bounds = ("23%", "values=50%", "prompts=1%")
    result = suite.runpytest_inprocess(*PLUGIN, *(f"--mcp-coverage-min={one}" for one in bounds))

    assert pytest.ExitCode.TESTS_FAILED == result.ret
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(
        [
            "total: 14 of 60 (23%)",
            "values: 14 of 120 (11%) are covered, at least 50% are to be",
            "prompts: nothing is listed, at least 1% are to be covered",
        ],
        consecutive=True,
    )


def test_a_wrong_bound_is_wrong_usage(suite: pytest.Pytester) -> None:
    """Before any test runs; the nearest kind is named."""
    result = suite.runpytest_inprocess(*PLUGIN, "--mcp-coverage-min", "tool=5%")

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["*--mcp-coverage-min: no kind 'tool'; did you mean tools?*"])


@pytest.mark.e2e
def test_shared_and_driven_servers_count(suite: pytest.Pytester) -> None:
    """Those of `mcpmock_serve`, and a real one that the fake client drives; the page is beside
    those of failures.
    """
    path = suite.makepyfile(test_more=SUITE + MORE)
    result = suite.runpytest_subprocess(
        *PLUGIN, "--mcp-coverage", "--mcp-report", "pages", path, "-k", "shared or driven"
    )
    page = suite.path / "pages" / "coverage.html"

    assert 0 == result.ret
    assert ["15", "60", "25"] == table_of(result)["tools"]
    assert "<summary>tools: 15 of 60 (25%)" in page.read_text("utf-8")
    result.stdout.fnmatch_lines([f"page: {page}"])


@pytest.mark.e2e
def test_a_worker_that_crashes_is_said(suite: pytest.Pytester) -> None:
    """What its tests used is lost."""
    path = suite.makepyfile(test_more=SUITE + "\ndef test_crash():\n    import os; os._exit(3)\n")
    result = suite.runpytest_subprocess(
        *PLUGIN, "-p", "xdist", "-n", "2", "--mcp-coverage", path, "-k", "nothing or crash"
    )

    result.stdout.fnmatch_lines(["1 of the workers crashed: what their tests used is not counted"])


def test_nothing_is_said_where_no_test_uses_a_fixture(pytester: pytest.Pytester) -> None:
    """Whatever the bound is."""
    pytester.makepyfile("def test_it(): pass")
    result = pytester.runpytest_inprocess(*PLUGIN, "--mcp-coverage-min=100%", "--mcp-coverage")

    assert 0 == result.ret
    result.stdout.no_fnmatch_line("*coverage*")
