"""`PluginSession`: what happens once for a test run, in the process that the user started: unused
requests are added up, and xdist workers get a folder for their recordings.

Every test run has one, also one that does not use mcpmock, so this imports very little.
"""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .coverage import CoverageTally, CoverageVerdict
    from .unused import UnusedTally, UnusedVerdict

EXPECTED = "mcpmock_expected"
"""The key of a worker's output: which tests use which cassettes."""
FOLDER = "mcpmock_folder"
"""The key of a worker's input: the folder to record to."""
COVERAGE = "mcpmock_coverage"
"""The key of a worker's output: the coverage of its tests, as lines of JSON."""
CASSETTE_USE = "mcpmock"
"""The attribute of a report with the `CassetteUse` of the test."""


def covers(config: pytest.Config) -> bool:
    """Return whether coverage is wanted."""
    return bool(config.option.mcpmock_coverage or config.option.mcpmock_coverage_min)


@contextmanager
def without_traceback() -> Iterator[None]:
    """Fail one test, without a traceback, for an error in a marker, a cassette or a server."""
    message = None
    try:
        yield
    except Exception as error:
        from mcpmock.errors import McpMockError
        from mcpmock.printable import printable

        if not isinstance(error, pytest.UsageError | McpMockError):
            raise
        lines = error.lines if isinstance(error, McpMockError) else [str(error)]
        message = "\n".join(f"mcpmock: {printable(one.removeprefix('mcpmock: '))}" for one in lines)
    if message is not None:
        raise pytest.fail.Exception(message, pytrace=False) from None


class PluginSession:
    """A plugin object of its own, for hooks that get no `config`."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._unused: UnusedTally | None = None
        self._folder: str | None = None
        self._places: dict[str, tuple[str, int | None, str]] = {}
        self._coverage: list[str] = []
        self._lost_workers = 0
        self._covered: CoverageVerdict | None = None

    @property
    def unused(self) -> UnusedTally:
        """The unused requests of the whole run."""
        if self._unused is None:
            from .unused import UnusedTally

            self._unused = UnusedTally()
        return self._unused

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        use = getattr(report, CASSETTE_USE, None)
        if use is not None:
            self._places[report.nodeid] = report.location
            self.unused.passed(report.nodeid, use)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        if self._folder is None:
            from .run_folder import new_folder

            self._folder = new_folder()
        node.workerinput[FOLDER] = self._folder

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take the report of a worker; one that crashed reports nothing, but of the tests that are
        expected all workers report the same.
        """
        output = getattr(node, "workeroutput", None)
        self._lost_workers += output is None
        self._coverage += (output or {}).get(COVERAGE, ())
        expected = (output or {}).get(EXPECTED, {})
        for cassette, tests in expected.items():
            for test in tests:
                self._expect(cassette, test)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self) -> Generator[None, object, object]:
        result = yield
        if self._unused is not None:
            for verdict in self._unused.verdicts():
                self._report(verdict)
        return result

    def judge_coverage(self, session: pytest.Session, tally: CoverageTally | None) -> None:
        """Add up the coverage of all processes, and fail the session if it is below a bound.
        Without a test that uses a fixture there is none.
        """
        lines = [*self._coverage, *(() if tally is None else tally.lines())]
        if not lines:
            return
        from .coverage import add_up, bounds_of

        bounds = bounds_of(self._config)
        assert bounds is not None, "lines come where coverage is wanted"
        self._covered = add_up(lines, bounds, verbose=self._config.option.verbose > 0)
        if not self._covered.ok and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        if folder := self._config.option.mcpmock_report:
            self._covered.write_page(self._config.invocation_params.dir / folder)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if self._covered is not None:
            terminalreporter.section("MCP coverage")
            for line in self._covered.lines:
                terminalreporter.write_line(line)
            if self._lost_workers:
                lost = f"{self._lost_workers} of the workers crashed"
                terminalreporter.write_line(f"{lost}: what their tests used is not counted")
        for line in () if self._unused is None else self._unused.unjudged():
            terminalreporter.write_line(line)

    def pytest_unconfigure(self) -> None:
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _expect(self, cassette: str, test: str) -> None:
        """Expect the uses of workers: they report when they end, after their tests have passed."""
        if test not in self._places:
            self.unused.expect(cassette, test)

    def _report(self, verdict: UnusedVerdict) -> None:
        """Warn, or add a teardown error to the test that passed last with this cassette."""
        hook = self._config.hook
        if verdict.unused == "warn":
            with warnings.catch_warnings(record=True, action="always") as caught:
                warnings.warn(pytest.PytestWarning(verdict.text), stacklevel=1)
            for message in caught:
                where = {"when": "runtest", "nodeid": verdict.test, "location": None}
                hook.pytest_warning_recorded.call_historic(
                    kwargs={"warning_message": message, **where}
                )
            return
        report = pytest.TestReport(
            nodeid=verdict.test,
            location=self._places[verdict.test],
            keywords={},
            outcome="failed",
            longrepr=verdict.text,
            when="teardown",
        )
        hook.pytest_runtest_logreport(report=report)
