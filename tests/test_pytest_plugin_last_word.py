"""A recording is kept if pytest's last word on its test is "passed", by runs of pytest inside."""

from __future__ import annotations

from pathlib import Path

import pytest

import mcpmock
from tests.support.record_modes import asked
from tests.test_pytest_plugin import PLUGIN, run
from tests.test_pytest_plugin_records import Suite

__all__ = ["run"]
pytestmark = pytest.mark.e2e
FILE, REJECTED = "test_it.jsonl", "test_it.rej.jsonl"
FOLDER = Path("cassettes/test_a")
FIXTURE = """
@pytest.fixture
def other(mcpmock_server):
    yield
    {}
"""
USES = "@pytest.mark.usefixtures('other')\n"
AFTER = """
@pytest.fixture
def mcpmock_stub():  # torn down behind the server
    import mcpmock
    yield mcpmock.Stub()
    {}
"""
UNITTEST = """
import unittest
class TestIt(unittest.TestCase):
    @pytest.fixture(autouse=True)
    def start(self, mcpmock_server):
        self.server = mcpmock_server
    @pytest.mark.mcpmock("test_a/test_it.jsonl", server={server})
    def test_it(self):
        ask(self.server, INITIALIZE, LIST)
        {end}
"""
RERUN = """
from _pytest.runner import runtestprotocol
def pytest_runtest_protocol(item, nextitem):
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for attempt in range(2):
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
        if not any(report.failed for report in reports):
            break
        item._initrequest()
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    return True
"""


@pytest.fixture
def made(run: pytest.Pytester) -> Suite:
    return Suite(run)


def left(made: Suite) -> list[str]:
    """The files of the test."""
    return sorted(file.name for file in (made.run.path / FOLDER).iterdir())


def marked(made: Suite, marker: str) -> str:
    return made.test().replace("def test_it", f"{marker}\ndef test_it")


@pytest.mark.parametrize(
    ("prefix", "marker", "body", "outcomes", "kept"),
    [
        ("", "", "", {"passed": 1}, True),
        ("", "", "assert False", {"failed": 1}, False),
        ("", "", "pytest.skip()", {"skipped": 1}, False),
        ("", "@pytest.mark.xfail", "assert False", {"xfailed": 1}, False),
        ("", "@pytest.mark.xfail(strict=True)", "", {"failed": 1}, False),
        ("", "@pytest.mark.xfail(strict=False)", "", {"xpassed": 1}, True),
        (FIXTURE.format("pass"), USES, "", {"passed": 1}, True),
        (FIXTURE.format("assert False"), USES, "", {"passed": 1, "errors": 1}, False),
        (AFTER.format("assert False"), "", "", {"passed": 1, "errors": 1}, False),
    ],
    ids=["passes", "fails", "skips", "xfails", "xpasses-strictly", "xpasses", "teardown",
         "teardown-fails", "teardown-behind-fails"],
)  # fmt: skip
def test_the_last_word(
    made: Suite, prefix: str, marker: str, body: str, outcomes: dict[str, int], kept: bool
) -> None:
    """It decides, also where the body passed; else the cassette is as it was."""
    made(made.test(), "once")
    before = (made.run.path / FOLDER / FILE).read_bytes()
    source = prefix + marked(made, marker).replace("== 2\n", f"== 2\n    {body}\n")
    if prefix.startswith("\n@pytest.fixture\ndef mcpmock_stub"):
        source = source.replace("def test_it(", "def test_it(mcpmock_stub, ")
    result = made(source, "all", "-x")

    result.assert_outcomes(**outcomes)
    assert kept is ((made.run.path / FOLDER / FILE).read_bytes() != before)
    assert ([FILE] if kept else [FILE, REJECTED]) == left(made)


@pytest.mark.parametrize(("end", "kept"), [("", True), ("self.fail()", False),
                                           ("self.skipTest('no')", False)])  # fmt: skip
def test_a_unittest_class(made: Suite, end: str, kept: bool) -> None:
    """Its tests fail without an error that the hooks around the body see."""
    made(UNITTEST.format(server=made._server, end=end), "once")

    assert [FILE if kept else REJECTED] == left(made)


@pytest.mark.parametrize(("said", "kept"), [("2 == 2", True), ("2 == 3", False)])
def test_a_subtest(made: Suite, said: str, kept: bool) -> None:
    """One that fails is no pass."""
    source = made.test(more=f"with subtests.test('x'): assert {said}")
    made(source.replace("test_it(", "test_it(subtests, "), "once")

    assert [FILE if kept else REJECTED] == left(made)


def test_a_rerun(made: Suite) -> None:
    """What the last attempt recorded is kept, and nothing of those before it."""
    made.run.makeconftest(RERUN)
    source = made.test(more="global failed; failed = not failed; assert not failed")
    made("failed = False\n" + source, "once").assert_outcomes(passed=1)

    assert ([FILE], [2], 2) == (left(made), asked(made.load()), made.started)


def test_workers(made: Suite) -> None:
    """Each settles what its tests recorded."""
    source = "".join(
        made.test(name=f"test_{n}", cassette="a.jsonl", more=f"assert {n} % 2") for n in range(4)
    )
    made(source, "once", "-p", "xdist", "-n2").assert_outcomes(passed=2, failed=2)

    for name, tests in (("a.jsonl", "13"), ("a.rej.jsonl", "02")):
        takes = made.load(Path("cassettes") / name).takes
        assert [f"test_a.py::test_{n}" for n in tests] == sorted(str(t.header.test) for t in takes)


def test_a_run_that_is_stopped(made: Suite) -> None:
    """By Ctrl-C in the body: nothing is kept."""
    made.run.makepyfile(test_a=made.test(more="raise KeyboardInterrupt"))
    from tests.test_pytest_plugin import TALK

    file = made.run.path / "test_a.py"
    file.write_text(TALK + file.read_text("utf-8"), "utf-8")
    made.run.runpytest_subprocess(*PLUGIN, "--mcp-record=once")

    assert [REJECTED] == left(made)
    assert [2] == asked(mcpmock.load(made.run.path / FOLDER / REJECTED))
