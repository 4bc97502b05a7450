"""`mcpmock_serve`: several servers in one test, and servers that tests share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.record_modes import MODES, asked
from tests.test_pytest_plugin import run, suite
from tests.test_pytest_plugin_records import Suite

__all__ = ["run"]
pytestmark = pytest.mark.e2e
FILE = Path("cassettes/shared.jsonl")
SHARED = """
@pytest.fixture(scope="{scope}")
def shared(mcpmock_serve):
    return mcpmock_serve({call})

class TestIt:
    def test_one(self, shared):
        assert ask(shared, INITIALIZE, LIST).count(b'"result"') == 2

    def test_two(self, shared):
        assert ask(shared, INITIALIZE, LIST).count(b'"result"') == 2
        {end}

    def test_without(self):
        pass
"""
MISS = 'LIST.replace(b"tools", b"prompts")'


@pytest.fixture
def made(run: pytest.Pytester) -> Suite:
    return Suite(run)


def test_several_in_one_test(run: pytest.Pytester) -> None:
    """Each has its own log, its own faults and its own keywords."""
    source = """
def test_it(mcpmock_serve):
    one, two = mcpmock_serve("weather.jsonl"), mcpmock_serve("weather.jsonl", faults="error")
    assert one.url != two.url
    assert b"weather" in ask(one, INITIALIZE, LIST)
    assert b'"error"' in ask(two, INITIALIZE, LIST)
    one.assert_called("tools/list", times=1)
"""
    suite(run, source, "-W", "error").assert_outcomes(passed=1)


@pytest.mark.parametrize("scope", ["function", "class", "module", "session"])
def test_a_miss_fails_the_test_that_made_it(run: pytest.Pytester, scope: str) -> None:
    """No other that uses the same server."""
    source = SHARED.format(scope=scope, call="'weather.jsonl'", end="")
    source += f"""
    def test_miss(self, shared):
        ask(shared, INITIALIZE, {MISS})

    def test_after(self, shared):
        ask(shared, INITIALIZE, LIST)

def test_fails(shared):
    ask(shared, INITIALIZE, LIST)
    assert False
"""
    result = suite(run, source)

    result.assert_outcomes(passed=4, failed=2)
    words = ["*1 request matches nothing recorded in cassettes/weather.jsonl: prompts/list"]
    result.stdout.fnmatch_lines([*words, "*TestIt::test_miss*"])
    assert 1 == result.stdout.str().count("nothing recorded in cassettes/weather.jsonl answers")


def test_a_fault_that_never_fired(run: pytest.Pytester) -> None:
    """It is a warning behind the last test, or of the test whose body has started the server."""
    call = "'weather.jsonl', faults='drop:tool=get_wether'"
    source = SHARED.format(scope="session", call=call, end="")
    source += f"\ndef test_own(mcpmock_serve):\n    mcpmock_serve({call})\n"
    result = suite(run, source)

    result.assert_outcomes(passed=4, warnings=2)
    result.stdout.fnmatch_lines(
        ["*never fired: no client sent anything*", "*never fired: no client called the tool *"]
    )


@pytest.mark.parametrize("mode", MODES)
def test_record_modes(made: Suite, mode: str) -> None:
    """As for the marker. What the tests sent is recorded together, and replays."""
    call = f"'shared.jsonl', server={made._server}"
    source = SHARED.format(scope="session", call=call, end="")
    result = made(source, mode)

    if mode == "none":
        result.assert_outcomes(passed=1, errors=2)
        result.stdout.fnmatch_lines(["*there is no cassette cassettes/shared.jsonl; *"])
        return
    result.assert_outcomes(passed=3)
    assert ([4], 2) == (asked(made.load(FILE)), made.started)
    made(source).assert_outcomes(passed=3)
    assert 0 == made.started


@pytest.mark.parametrize("scope", ["function", "session"])
def test_a_test_that_fails_spoils_what_it_shares(made: Suite, scope: str) -> None:
    """The recording of a shared server is beside the cassette; that of a test alone is not."""
    call = f"'shared.jsonl', server={made._server}"
    made(SHARED.format(scope=scope, call=call, end="assert False"), "once").assert_outcomes(
        passed=2, failed=1
    )

    rejected = made.load(FILE.with_name("shared.rej.jsonl"))
    assert ([4] if scope == "session" else [2]) == asked(rejected)
    assert (scope == "function") is (made.run.path / FILE).exists()


def test_two_that_record_in_one_test(made: Suite) -> None:
    """Both are kept, also when they are recorded again."""
    source = f"""
def test_it(mcpmock_serve):
    for _ in range(2):
        ask(mcpmock_serve("shared.jsonl", server={made._server}), INITIALIZE, LIST)
"""
    for mode in ("once", "all", "all"):
        made(source, mode).assert_outcomes(passed=1)
        assert [2, 2] == asked(made.load(FILE))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            "'weather.jsonl', unused='fail'",
            "mcpmock_serve: the call has no keyword unused=. It has cassette*",
        ),
        (
            "'weather.jsonl', falts=1",
            "mcpmock_serve: the call has no keyword falts=. Did you mean faults=*",
        ),
        ("['a', 'b']", "cassette=?'a', 'b'?: give the name of one cassette*"),
        ("", "cassette=None: give the name of one cassette*"),
        ("'weather.jsonl', faults='latncy'", "faults='latncy': kind: unknown kind*"),
        ("'none.jsonl'", "there is no cassette cassettes/none.jsonl; *"),
    ],
)
def test_wrong_calls(run: pytest.Pytester, call: str, words: str) -> None:
    """They are an error of the test."""
    result = suite(run, f"def test_it(mcpmock_serve):\n    mcpmock_serve({call})\n")

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([f"*{words}"])


def test_a_stub_alone(run: pytest.Pytester) -> None:
    """It needs no cassette."""
    source = """
import mcpmock
def test_it(mcpmock_serve):
    server = mcpmock_serve(stub=mcpmock.Stub().tool("now").reply("noon"))
    assert b'"now"' in ask(server, INITIALIZE, LIST)
"""
    suite(run, source).assert_outcomes(passed=1)
