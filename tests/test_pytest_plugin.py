"""The plugin, by runs of pytest inside: marker, fixtures, record modes, what a failure says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.weather import write_weather

PLUGIN = ("-p", "mcpmock.pytest_plugin", "-p", "no:pytester", "-W", "default",
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
            "mcpmock: 1 request matches nothing recorded in cassettes/weather.jsonl: tools/call; "
            'nearest: event 6, $.name "get_weather"*',
            "*- mcpmock -*",
            "nothing recorded in cassettes/weather.jsonl answers tools/call",
            '  event 6: different; $.name: recorded "get_weather", asked absent; *"Oslo"*',
            "last messages:",
            '  -> {"jsonrpc":"2.0","id":1,"method":"tools/call"}',
            "to reproduce:",
            "  printf *| mcpmock replay cassettes/weather.jsonl",
        ]
    )


@pytest.mark.e2e
def test_a_miss_behind_the_body(run: pytest.Pytester) -> None:
    """What a fixture asks as it ends is of its test too, also of a server that tests share: the
    teardown fails, and the recording is of a failed test. A test that failed already, or allows
    misses, has no second error.
    """
    source = """
CALL = LIST.replace(b"list", b"call")

@pytest.fixture
def own(mcpmock_server):
    yield
    ask(mcpmock_server, INITIALIZE, CALL)

@pytest.fixture
def of_a_factory(mcpmock_serve):
    server = mcpmock_serve("weather.jsonl")
    yield
    ask(server, INITIALIZE, CALL)

@pytest.fixture(scope="module")
def shared(mcpmock_serve):
    server = mcpmock_serve("weather.jsonl")
    yield
    ask(server, INITIALIZE, CALL)

@pytest.mark.mcpmock("weather.jsonl")
def test_own(own): pass

def test_factory(of_a_factory): pass

@pytest.mark.mcpmock("weather.jsonl", misses="allow")
def test_allowed(own): pass

@pytest.mark.mcpmock("weather.jsonl")
def test_failed(own): assert False

@pytest.mark.xfail
@pytest.mark.mcpmock("weather.jsonl")
def test_expected(own): assert False

def test_first(shared): pass

def test_last(shared): pass
"""
    result = suite(run, source, "-rA")

    result.assert_outcomes(passed=5, failed=1, xfailed=1, errors=3)
    result.stdout.fnmatch_lines_random(
        [
            f"ERROR test_a.py::test_{name} - mcpmock: 1 request*"
            for name in ("own", "factory", "last")
        ]
    )
    assert 3 == result.stdout.str().count("last messages:")


@pytest.mark.e2e
@pytest.mark.parametrize(("unused", "errors"), [("fail", 1), ("warn", 0), ("ignore", 0)])
def test_what_was_left_over(run: pytest.Pytester, unused: str, errors: int) -> None:
    """Ignored, warned of, or an error of the test that passed."""
    source = f"""
@pytest.mark.mcpmock("weather.jsonl", unused="{unused}")
def test_it(mcpmock_server):
    ask(mcpmock_server, INITIALIZE, LIST)
"""
    result = suite(run, source)

    result.assert_outcomes(passed=1, errors=errors, warnings=int(unused == "warn"))
    assert result.ret == errors
    told = (
        "*1 recorded request of cassettes/weather.jsonl not sent: tools/call get_weather "
        '{"city":"Oslo"} (event 6)*'
    )
    (result.stdout.no_fnmatch_line if unused == "ignore" else result.stdout.fnmatch_lines)(
        told if unused == "ignore" else [told]  # type: ignore[arg-type]
    )


@pytest.mark.e2e
@pytest.mark.parametrize("fixture", ["server", "server.stdio", "server.url", "faults"])
def test_no_client_connected(run: pytest.Pytester, fixture: str) -> None:
    """To have an address is not to use it."""
    name, _, attribute = fixture.partition(".")
    source = f"""
@pytest.mark.mcpmock("weather.jsonl", unused="fail")
def test_it(mcpmock_{name}):
    assert mcpmock_{name}{attribute and f".{attribute}"} is not None
"""
    result = suite(run, source)

    result.assert_outcomes(passed=1, errors=1)
    line = "*mcpmock: cassettes/weather.jsonl was not replayed: no client connected*"
    result.stdout.fnmatch_lines([line])


@pytest.mark.e2e
def test_only_tests_that_passed_are_held_to_it(run: pytest.Pytester) -> None:
    """A test that failed, was skipped or deselected is not, nor is any test of that cassette: one
    line says so.
    """
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
    line = "mcpmock: 1 recorded request of *; not judged, because *: test_a.py::{} and 1 more"
    result.stdout.fnmatch_lines([line.format("test_fails")])

    result = suite(run, source, "-k", "passes")
    result.assert_outcomes(passed=1, deselected=2)
    result.stdout.fnmatch_lines([line.format("test_fails")])


TWO = """
pytestmark = pytest.mark.mcpmock("weather.jsonl", unused="fail")
ASK = LIST.replace(b"list", b"call").replace(
    b"}", b',"params":{"name":"get_weather","arguments":{"city":"Oslo"}}}'
)

def test_lists(mcpmock_server):
    assert b"weather" in ask(mcpmock_server, INITIALIZE, LIST)

def test_calls(mcpmock_server):
    assert b"rain" in ask(mcpmock_server, INITIALIZE, ASK)
"""
REVERSED = """
def pytest_collection_modifyitems(items):
    items.reverse()
"""


@pytest.mark.e2e
def test_two_tests_on_one_cassette(run: pytest.Pytester) -> None:
    """Together they use it up, in either order; one that runs alone is not held to the other's."""
    suite(run, TWO).assert_outcomes(passed=2)
    suite(run, TWO, "-k", "calls").assert_outcomes(passed=1, deselected=1)
    run.runpytest_inprocess(*PLUGIN, "test_a.py::test_lists").assert_outcomes(passed=1)
    run.makeconftest(REVERSED)
    suite(run, TWO).assert_outcomes(passed=2)
    left = suite(run, TWO.replace("INITIALIZE, ASK", "INITIALIZE, LIST").replace("rain", "tools"))

    left.assert_outcomes(passed=2, errors=1)
    left.stdout.fnmatch_lines(
        ["*ERROR at teardown of test_lists*", "*not sent: tools/call get_weather *"]
    )


@pytest.mark.e2e
def test_any_event_loop(run: pytest.Pytester) -> None:
    """The official SDK in memory, over stdio and over HTTP, under anyio's plugin, which runs each
    test on asyncio and on trio; nothing warns.
    """
    pytest.importorskip("mcp")
    run.makepyfile(
        test_a="""
import pytest
from mcp import Client

@pytest.mark.anyio
@pytest.mark.mcpmock("weather.jsonl")
@pytest.mark.parametrize("way", ["memory", "stdio", "url"])
async def test_it(mcpmock_server, way):
    server = mcpmock_server
    to = server.transport() if way == "memory" else getattr(server, way)
    async with Client(to, mode="legacy") as client:
        result = await client.call_tool("get_weather", {"city": "Oslo"})
    assert "rain" == result.content[0].text
    server.assert_called("tools/call", times=1, tool="get_weather")
"""
    )
    options = ("-W", "error", "-W", SDK_LEAVES, "-p", "anyio")
    result = run.runpytest_subprocess(*PLUGIN, *options, "-v")

    result.assert_outcomes(passed=6)
    for backend in ("asyncio", "trio"):
        result.stdout.fnmatch_lines([f"*test_it*{backend}*PASSED*"])


def test_a_suite_that_does_not_use_it(run: pytest.Pytester) -> None:
    """Nothing of ours is imported but the plugin itself."""
    run.makepyfile(
        test_a="""
import sys
def test_it():
    ours = {name for name in sys.modules if name.startswith("mcpmock.")}
    assert ours <= {"mcpmock.pytest_plugin", "mcpmock.version", "mcpmock.testing",
                    "mcpmock.testing.record_mode", "mcpmock.testing.plugin_session"}
"""
    )
    run.runpytest_subprocess(*PLUGIN).assert_outcomes(passed=1)


def test_it_costs_nothing() -> None:
    """Its import takes less than 10 ms, on a machine that others use as well."""
    code = (
        "import pytest, time; began = time.process_time(); import mcpmock.pytest_plugin;"
        " import mcpmock.testing.record_mode; print(time.process_time() - began)"
    )
    run = [sys.executable, "-c", code]
    times = [float(subprocess.run(run, capture_output=True, check=True).stdout) for _ in range(3)]

    assert min(times) < 0.010


@pytest.mark.e2e
def test_faults(run: pytest.Pytester) -> None:
    """From the marker, by a file beside the test or at hand, and changed meanwhile."""
    (run.path / "slow.toml").write_text(
        'seed = 3\n[[fault]]\nkind = "error"\nmessage = "no luck"\n'
    )
    source = """
from mcpmock.faults import Error

@pytest.mark.mcpmock("weather.jsonl", faults=["slow.toml", Error(message="b")], seed=4)
def test_it(mcpmock_server, mcpmock_faults):
    assert 4 == mcpmock_faults.seed
    assert b"no luck" in ask(mcpmock_server, INITIALIZE, LIST)
    assert 2 == mcpmock_faults.fired("error") == len(mcpmock_faults.receipts)
    mcpmock_faults.clear()
    mcpmock_faults.add("error:message=away,method=tools/list")
    assert b"away" in ask(mcpmock_server, INITIALIZE, LIST)

@pytest.mark.mcpmock("weather.jsonl", faults="drop:tol=x")
def test_wrong(mcpmock_server):
    pass
"""
    result = suite(run, source)

    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["mcpmock: faults='drop:tol=x': tol: unknown key; *"])


@pytest.mark.e2e
def test_a_fault_that_must_fire(run: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """It fails a test that passed; the report has the summary, the seed, and a command with both.
    The command line overrules the environment, and that the plan.
    """
    (run.path / "slow.toml").write_text(
        'seed = 3\n[[fault]]\nkind = "drop"\nmust_fire = true\nmatch = { tool = "rare" }\n'
    )
    source = """
pytestmark = pytest.mark.mcpmock("weather.jsonl", faults=["slow.toml", "corrupt:tool=other"])

def test_passes(mcpmock_server):
    pass

def test_fails(mcpmock_faults):
    assert 2 == len(mcpmock_faults.summary()) + mcpmock_faults.seed
"""
    monkeypatch.setenv("MCPMOCK_SEED", "8")
    suite(run, source).assert_outcomes(failed=2)
    result = suite(run, source, "--mcp-seed=9")

    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(
        [
            "mcpmock: faults that must fire never did: drop",
            "faults (seed 9):",
            "  fault drop: never fired, and it must: no client sent anything",
            "  fault corrupt: never fired: no client sent anything",
            "to reproduce:",
            "  mcpmock replay cassettes/weather.jsonl --faults slow.toml"
            " --fault corrupt:tool=other --seed 9",
        ]
    )
    monkeypatch.setenv("MCPMOCK_SEED", "many")
    suite(run, source).stdout.fnmatch_lines(["*MCPMOCK_SEED='many': not a number*"])


def test_races_that_make_no_sense(run: pytest.Pytester) -> None:
    """The marker has to name a call that is recorded in a cassette that is there."""
    marked = '@pytest.mark.mcpmock("{}"{})\ndef test_it(mcpmock_races): pass\n'
    for file, more, told in (
        ("weather.jsonl", "", '*races={"tool": NAME}*'),
        (
            "weather.jsonl",
            ", races=dict(tool='x')",
            "*has no answered call for races=*'x'*",
        ),
        ("weather.jsonl", ", races=dict(tool='x'), reactions=['odd']", "*no reaction 'odd'*"),
        ("weather.jsonl", ", races='x'", "*no match 'x': say which messages*"),
        ("weather.jsonl", ", races=dict(tol='x')", "*no key 'tol' of a match*"),
        ("none.jsonl", ", races=dict(tool='x')", "*there is no cassette*none.jsonl*"),
    ):
        result = suite(run, marked.format(file, more) + "def test_fine(): pass\n")

        result.assert_outcomes(passed=1, errors=1)
        result.stdout.fnmatch_lines([told])
        result.stdout.no_fnmatch_line("*races.py:*")


def test_mistakes_fail_their_own_test(run: pytest.Pytester) -> None:
    """In one line, without a traceback of ours; the others run."""
    (run.path / "cassettes" / "junk.jsonl").write_text("no cassette\n", "utf-8")
    source = """
@pytest.mark.mcpmock("weather.jsonl", ordr="any")
def test_word(mcpmock_server): pass
@pytest.mark.mcpmock("junk.jsonl")
def test_file(mcpmock_server): pass
@pytest.mark.mcpmock("weather.jsonl", stub="x")
def test_stub(mcpmock_client): pass
@pytest.mark.mcpmock("weather.jsonl")
def test_fine(mcpmock_server): pass
"""
    result = suite(run, source)

    result.assert_outcomes(passed=1, errors=3)
    result.stdout.fnmatch_lines(
        ["mcpmock: *::test_word: the marker has no keyword ordr=. Did you mean order=? It has *",
         "mcpmock: *junk.jsonl: is not a cassette*",
         "mcpmock: *::test_stub: stub='x': give a mcpmock.Stub, or the path of a mock in TOML"]
    )  # fmt: skip
    result.stdout.no_fnmatch_line("*servers.py:*")
    result.stdout.no_fnmatch_line("*During handling*")
