"""Stubs in tests, by runs of pytest inside: of the marker, and of the fixture."""

from __future__ import annotations

import pytest

from mcpmock.stubs import builder, catalog, mock_file, stage
from tests.test_pytest_plugin import run, suite

# A run inside forgets the modules that it imports, and their classes are others in the next one.
__all__ = ["builder", "catalog", "mock_file", "run", "stage"]

CALL = """
CALL = b'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"now"}}\\n'
"""


@pytest.mark.e2e
def test_in_front_of_a_cassette(run: pytest.Pytester) -> None:
    """The marker's, or the fixture, written on in the test; each test has its own of those."""
    source = (
        CALL
        + """
import mcpmock

NOON = mcpmock.Stub().tool("now").reply("noon")

@pytest.mark.mcpmock("weather.jsonl", stub=NOON)
def test_marker(mcpmock_server):
    told = ask(mcpmock_server, INITIALIZE, LIST, CALL)
    assert b"get_weather" in told and b'"now"' in told and b"noon" in told

@pytest.mark.mcpmock("weather.jsonl")
def test_fixture(mcpmock_server, mcpmock_stub):
    mcpmock_stub.tool("now").reply("dusk")
    assert b"dusk" in ask(mcpmock_server, INITIALIZE, CALL)
    mcpmock_server.assert_called("tools/call", tool="now", times=1)

@pytest.mark.mcpmock("weather.jsonl")
def test_neither(mcpmock_server, mcpmock_stub):
    ask(mcpmock_server, INITIALIZE, CALL)
"""
    )
    result = suite(run, source)

    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["*nothing recorded in *weather.jsonl answers*tools/call*"])


@pytest.mark.e2e
def test_a_mock_from_a_file(run: pytest.Pytester) -> None:
    """In the place of a cassette, in front of one, and as one of several servers."""
    source = (
        CALL
        + """
@pytest.mark.mcpmock("now.toml")
def test_alone(mcpmock_server):
    assert b"noon" in ask(mcpmock_server, INITIALIZE, CALL)

@pytest.mark.mcpmock("weather.jsonl", stub="now.toml")
def test_in_front(mcpmock_server):
    assert b"noon" in ask(mcpmock_server, INITIALIZE, CALL)

def test_factory(mcpmock_serve):
    assert b"noon" in ask(mcpmock_serve("now.toml"), INITIALIZE, CALL)

@pytest.mark.mcpmock("bad.toml")
def test_bad(mcpmock_server):
    pass
"""
    )
    run.path.joinpath("now.toml").write_text('[[tool]]\nname = "now"\nreply = "noon"\n')
    run.path.joinpath("bad.toml").write_text("[[tool]]\n[[tool]]\n")
    result = suite(run, source)

    result.assert_outcomes(passed=3, errors=1)
    result.stdout.fnmatch_lines(["*bad.toml: tool[[]0[]].name: missing*tool[[]1[]].name: missing*"])


@pytest.mark.e2e
def test_alone(run: pytest.Pytester) -> None:
    """It needs no cassette, in any record mode; a fixture of the suite's own takes its place. Where
    a cassette is named it has to be there.
    """
    source = (
        CALL
        + """
import mcpmock

@pytest.fixture
def mcpmock_stub():
    return mcpmock.Stub("mine").tool("now").reply("noon")

def test_it(mcpmock_server, mcpmock_stub):
    told = ask(mcpmock_server, INITIALIZE, CALL)
    assert b'"name":"mine"' in told and b"noon" in told

@pytest.mark.mcpmock("nowhere.jsonl")
def test_named(mcpmock_server, mcpmock_stub):
    pass
"""
    )
    result = suite(run, source, "--mcp-record=none")

    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*there is no cassette *nowhere.jsonl*"])
    suite(run, source, "--mcp-record=once", "-k", "test_it").assert_outcomes(passed=1, deselected=1)
