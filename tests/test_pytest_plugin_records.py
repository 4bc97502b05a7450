"""The record modes, by runs of pytest inside: what is started, and what becomes of the cassette."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import mcpmock
from mcpmock.cassette.canonical import canonical
from mcpmock.cassette.file import rewrite
from mcpmock.cassette.model import Cassette
from tests.support.record_modes import MODES, SERVER, asked
from tests.test_pytest_plugin import run, suite

__all__ = ["run"]
pytestmark = pytest.mark.e2e

TEST = """
CALL = b'{{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{{"name":"%s"}}}}\\n'

@pytest.mark.mcpmock({cassette}server={server})
def {test}(mcpmock_server, mcpmock_cassette):
    said = ask(mcpmock_server, INITIALIZE, LIST, {calls})
    assert said.count(b'"result"') == {answers}
    {more}
"""
FILE = Path("cassettes/test_a/test_it.jsonl")


class Suite:
    """Suites with a server that leaves a file when it is started."""

    def __init__(self, run: pytest.Pytester) -> None:
        self.run, self._started = run, run.path / "started"
        script = run.path / "server.py"
        script.write_text(SERVER.format(started=str(self._started)))
        self._server = repr([sys.executable, "-I", "-S", str(script)])

    def test(self, *calls: str, name: str = "test_it", cassette: str = "", more: str = "") -> str:
        """A test that lists the tools and makes these calls."""
        said = ", ".join(f"CALL % b{call!r}" for call in calls)
        named = f"{cassette!r}, " if cassette else ""
        return TEST.format(
            cassette=named, server=self._server, test=name, calls=said, answers=2 + len(calls),
            more=more,
        )  # fmt: skip

    def __call__(self, source: str, mode: str = "none", *options: str) -> pytest.RunResult:
        record = () if mode == "none" else (f"--mcp-record={mode}",)
        return suite(self.run, source, *record, *options)

    @property
    def started(self) -> int:
        """How often the server was started since this was asked."""
        count = len(self._started.read_text()) if self._started.exists() else 0
        self._started.unlink(missing_ok=True)
        return count

    def load(self, file: Path = FILE) -> Cassette:
        return mcpmock.load(self.run.path / file)


@pytest.fixture
def made(run: pytest.Pytester) -> Suite:
    return Suite(run)


@pytest.mark.parametrize("mode", MODES)
def test_no_cassette(made: Suite, mode: str) -> None:
    """`none` starts nothing, leaves nothing, and says what records; all others record."""
    result = made(made.test(), mode)

    if mode == "none":
        result.assert_outcomes(errors=1)
        words = ["*no cassette cassettes/test_a/test_it.jsonl; *--mcp-record=once"]
        result.stdout.fnmatch_lines(words)
        assert not (made.run.path / FILE).parent.exists()
    else:
        result.assert_outcomes(passed=1)
        [take] = made.load().takes
        assert ("test_a.py::test_it", True) == (take.header.test, take.sealed)
    assert int(mode != "none") == made.started


@pytest.mark.parametrize("mode", MODES)
def test_a_cassette_that_has_it_all(made: Suite, mode: str) -> None:
    """It is played, and nothing started; only `all` and `rewrite` record anew, in its place, and
    keep its rules.
    """
    made(made.test(), "once")
    assert 1 == made.started
    rules = {"ignore": ["$.a"]}
    rewrite(made.run.path / FILE, canonical((made.run.path / FILE).read_bytes(), rules=rules).data)
    before = (made.run.path / FILE).read_bytes()
    result = made(made.test(), mode)

    result.assert_outcomes(passed=1)
    anew = mode in ("all", "rewrite")
    assert (anew, int(anew)) == ((made.run.path / FILE).read_bytes() != before, made.started)
    assert [rules] == [take.header.match for take in made.load().takes]
    assert [2] == asked(made.load())
    assert [FILE.name] == [file.name for file in (made.run.path / FILE).parent.iterdir()]


@pytest.mark.parametrize("mode", ["new_episodes", "all", "rewrite"])
def test_a_test_that_fails(made: Suite, mode: str) -> None:
    """The cassette stays as it was, and what it recorded is beside it."""
    made(made.test(), "once")
    before = (made.run.path / FILE).read_bytes()
    result = made(made.test("new", more="assert False"), mode)

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*test_it.rej.jsonl*"])
    assert before == (made.run.path / FILE).read_bytes()
    assert [3] == asked(made.load(FILE.with_name("test_it.rej.jsonl")))


def test_new_episodes(made: Suite) -> None:
    """What is missing is asked of the server and recorded as a whole session, so that the next run
    needs no server.
    """
    made(made.test(), "once")
    assert 1 == made.started
    made(made.test("new"), "none").assert_outcomes(failed=1)

    made(made.test("new"), "new_episodes").assert_outcomes(passed=1)
    assert ([2, 3], 1) == (asked(made.load()), made.started)
    assert made.load().takes[1].sealed
    for mode in ("none", "new_episodes"):
        made(made.test("new"), mode, "--mcp-strict").assert_outcomes(passed=1)
    assert 0 == made.started
    made(made.test(), "none").assert_outcomes(passed=1)


def test_new_episodes_without_a_server(made: Suite) -> None:
    """A cassette that is there is played; what it does not have is a miss."""
    made(made.test(cassette="a.jsonl"), "once")
    source = made.test("new", cassette="a.jsonl").replace("server=", "order='causal')#")

    made(source, "new_episodes").assert_outcomes(failed=1)


def test_two_tests_on_one_cassette(made: Suite) -> None:
    """Each has its takes in it, however often and in whatever order they are recorded."""
    one = made.test("1", name="test_1", cassette="a.jsonl")
    two = made.test("1", "2", name="test_2", cassette="a.jsonl")
    file = Path("cassettes/a.jsonl")
    made(one + two, "once").assert_outcomes(passed=2)
    assert ([3, 4], 2) == (asked(made.load(file)), made.started)
    for source in (one + two, two + one, one, two):
        made(source, "none").assert_outcomes(passed=source.count("def test"))
    assert 0 == made.started

    made(two, "all").assert_outcomes(passed=1)
    assert [3, 4] == asked(made.load(file))
    made(two, "rewrite").assert_outcomes(passed=1)
    assert [4] == asked(made.load(file))
    made(one + two, "rewrite").assert_outcomes(passed=2)
    assert [3, 4] == asked(made.load(file))


INI = """
[pytest]
mcpmock_redact_key = as*
mcpmock_redact_value =
    (?P<city>Turin)
mcpmock_redact_path = $.arguments.note
"""
MODULE_MARKER = 'pytestmark = pytest.mark.mcpmock(redact_key=["as*"], redact_path=["$.x"])'
MARKER = ', redact_value=["(?P<city>Turin)"], redact_path=["$.arguments.note"]'
NOTED = """
NOTE = b'{{"name":"t","arguments":{{"note":"hush","to":"Turin"}}}}'
CALL = b'{{"jsonrpc":"2.0","id":2,"method":"tools/call","params":' + NOTE + b'}}\\n'

{module}
@pytest.mark.mcpmock(server={server}{marker})
def test_it(mcpmock_server):
    assert b"result" in ask(mcpmock_server, INITIALIZE, CALL) {more}
"""


def noted(made: Suite, module: str = "", marker: str = "", more: str = "") -> str:
    return NOTED.format(server=made._server, module=module, marker=marker, more=more)


@pytest.mark.parametrize(
    ("ini", "module", "marker"), [(INI, "", ""), ("", MODULE_MARKER, MARKER)], ids=["ini", "marker"]
)
def test_own_redaction(made: Suite, ini: str, module: str, marker: str) -> None:
    """What rules of the ini file or of markers name is in no recording and in no report of a failed
    test; it replays.
    """
    made.run.makeini(ini)
    source = noted(made, module, marker)
    made(source, "once").assert_outcomes(passed=1)
    data = (made.run.path / FILE).read_bytes()
    made(source, "none").assert_outcomes(passed=1)
    failed = made(noted(made, module, marker, "and False"), "none")
    failed.assert_outcomes(failed=1)
    shown = failed.stdout.str().partition("mcpmock ---")[2]

    for hidden in (b"hush", b"Turin", b'"asked": "'):
        assert hidden not in data.replace(b'"asked": "mcpmock:secret:asked:', b"")
    for kind in (b"note", b"city", b"asked"):
        assert b"mcpmock:secret:%b:" % kind in data
    assert "last messages:" in shown
    assert "hush" not in shown
    assert "Turin" not in shown


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("mcpmock_redact_value = (", "'(' is no regular expression"),
        ("mcpmock_redact_path = note", "'note' is not of the form"),
    ],
)
def test_a_bad_rule_of_the_ini_file(made: Suite, line: str, words: str) -> None:
    """It is an error of each test with a cassette."""
    made.run.makeini(f"[pytest]\n{line}\n")
    result = made(noted(made), "once")
    result.assert_outcomes(errors=1)
    assert words in result.stdout.str()
    assert 0 == made.started
