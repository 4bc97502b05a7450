"""`PluginSession`: what is done once for a whole run, in the process that the user started:
leftovers
added up, and a folder for what workers of xdist record.

Every run has one, also one that uses nothing of ours, so this imports next to nothing.
"""

from __future__ import annotations

import shutil
import tempfile
import warnings
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .unused_cassettes import UnusedTally, UnusedVerdict

EXPECTED = "mcpmock_expected"
"""What a worker tells at its end: which tests use which cassettes."""
FOLDER = "mcpmock_folder"
"""What a worker is told at its beginning: where to record to."""
TOLD = "mcpmock"
"""The attribute of a report with what the test tells of its cassette."""


def new_folder() -> str:
    """The path of a folder for a run, which nobody else may look into."""
    return tempfile.mkdtemp(prefix="mcpmock-run-")


class PluginSession:
    """A plugin of its own, for the hooks that are not told of which run they are."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._leftovers: UnusedTally | None = None
        self._folder: str | None = None
        self._places: dict[str, tuple[str, int | None, str]] = {}

    @property
    def leftovers(self) -> UnusedTally:
        """Those of the whole run."""
        if self._leftovers is None:
            from .unused_cassettes import UnusedTally

            self._leftovers = UnusedTally()
        return self._leftovers

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        told = getattr(report, TOLD, None)
        if told is not None:
            self._places[report.nodeid] = report.location
            self.leftovers.passed(report.nodeid, told)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        if self._folder is None:
            self._folder = new_folder()
        node.workerinput[FOLDER] = self._folder

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """A worker that crashed tells nothing; all of them would tell the same."""
        expected = getattr(node, "workeroutput", {}).get(EXPECTED, {})
        for cassette, tests in expected.items():
            for test in tests:
                self._expect(cassette, test)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self) -> Generator[None, object, object]:
        result = yield
        if self._leftovers is not None:
            for verdict in self._leftovers.verdicts():
                self._tell(verdict)
        return result

    def pytest_unconfigure(self) -> None:
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _expect(self, cassette: str, test: str) -> None:
        """Workers tell at their end, when tests have passed already."""
        if test not in self._places:
            self.leftovers.expect(cassette, test)

    def _tell(self, verdict: UnusedVerdict) -> None:
        """The test that passed last with this cassette has an error at its teardown."""
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
