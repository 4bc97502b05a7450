"""`ServerUses`: the servers of a test run, which tests use them, and what becomes of recordings
once pytest has said its last word on a test; `ServerFactory`, the fixture `mcpmock_serve`.

A server of `mcpmock_serve` that a fixture starts may be shared by tests: its recording is kept if
no test failed that sent something through it. One that the body of a test starts is its own.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import pytest

from mcpmock.api.thread_server import ThreadServer
from mcpmock.api.verdict import warn_of_idle_faults
from mcpmock.batch.sources import is_mock
from mcpmock.options.testing import TestServerOptions

from .cassette_store import CassetteStore
from .failure import SessionLog
from .markers import RULES, Markers, check_keywords
from .plugin_session import without_traceback
from .servers import RecordingServer, ServerUse, using
from .settings import STUB_ALONE, Settings, place_of, read_settings, suite_options_of

if TYPE_CHECKING:
    from .coverage import CoverageTally


@attrs.define
class LastWord:
    """What pytest has reported of a test so far."""

    failed: bool = False
    """Whether any phase or subtest failed."""
    passed: bool = False
    """Whether the body passed; it comes last, behind its subtests."""

    def note(self, report: pytest.TestReport) -> None:
        """Take a report, as other plugins have left it."""
        self.failed = self.failed or report.failed
        if report.when == "call":
            self.passed = report.passed

    @property
    def is_pass(self) -> bool:
        """Whether the last word, once the teardown is reported, is that the test passed."""
        return self.passed and not self.failed


@attrs.define(eq=False)
class SharedUse:
    """The use of a server that several tests may share."""

    use: ServerUse
    ends: ExitStack
    calls: int = 0
    """How many calls it had when the last test ended."""
    failed: bool = False
    """Whether a test failed that sent something through it."""
    open: bool = True

    @property
    def busy(self) -> bool:
        """Whether the test that runs sent something through it."""
        return len(self.use.server.log.calls) > self.calls

    def end_test(self, *, passed: bool) -> None:
        """Note how a test ended."""
        self.failed = self.failed or (self.busy and not passed)
        self.calls = len(self.use.server.log.calls)
        self.use.charge()

    def close(self) -> None:
        self.open = False
        self.ends.close()


@attrs.define
class ServerUses:
    """All of a run."""

    store: CassetteStore
    coverage: CoverageTally | None = None
    """What the tests use of what the servers list, if that is counted."""
    own: list[ServerUse] = attrs.field(factory=list)
    """The servers of the fixture `mcpmock_server` whose recordings wait for a verdict."""
    of_body: list[SharedUse] = attrs.field(factory=list)
    """Those that the body of the test that runs has started."""
    shared: list[SharedUse] = attrs.field(factory=list)
    """Those that fixtures have started."""
    test: str = ""
    """The test that runs."""
    in_body: bool = False
    pages: bool = False
    """Whether a failed test gets a page."""

    def watch(self, use: ServerUse, *, shared: bool = False) -> None:
        """Count what the clients of a new server use, and keep what they say for the page of a
        test, if that is wanted. One that tests share has no page.
        """
        if self.coverage is not None:
            self.coverage.watch(use.server.log, use.settings.path)
        if self.pages and not shared:
            use.live = SessionLog(use.server.log, use.server.fault_run)

    def judge(self) -> None:
        """Fail a test that passed so far, for what its servers of `mcpmock_serve` saw."""
        for one in self.of_body:
            one.use.judge()
        for one in self.shared:
            one.use.check()

    def missed(self) -> str | None:
        """Return in words what the test that runs has missed, if that fails it: behind its body,
        which is judged by then, fixtures that end may still ask.
        """
        uses = (*self.own, *(one.use for one in (*self.of_body, *self.shared)))
        return next((text for use in uses if (text := use.missed())), None)

    def busy(self) -> Iterator[ServerUse]:
        """Yield the servers of `mcpmock_serve` that the test that runs has used."""
        for one in (*self.of_body, *self.shared):
            if one.busy:
                yield one.use

    def begin_test(self, test: str) -> None:
        """Begin a test, or a rerun of it: what it records is its own."""
        self.test, self.in_body = test, False
        self.store.attempt += 1

    def rejected(self) -> Iterator[str]:
        """Yield where the recordings of the test that runs are, if it fails."""
        for use in (*self.own, *self.busy()):
            if isinstance(use.server, RecordingServer):
                yield f"the recording is in {use.settings.rejected.name}"

    def close_shared(self) -> None:
        """Close what fixtures have started, and warn of faults that never fired."""
        with ExitStack() as ends:
            for one in self.shared:
                ends.callback(one.close)
                ends.callback(warn_of_idle_faults, one.use.server.faults, pytest.PytestWarning)

    def end_test(self, *, passed: bool) -> None:
        """Close what the body of a test started, and settle what waits for this verdict. Raises
        what a server raises, CassetteError, OSError.
        """
        own, self.own = self.own, []
        of_body, self.of_body = self.of_body, []
        with ExitStack() as ends:  # an error in one does not keep the others from their end
            for one in (*self.shared, *of_body):
                one.end_test(passed=passed)
            for one in of_body:
                ends.callback(one.use.settle, passed=passed)
                ends.callback(one.close)
            for use in own:
                ends.callback(use.settle, passed=passed)
            for one in self.shared:
                if not one.open:
                    ends.callback(one.use.settle, passed=not one.failed)
            self.shared = [one for one in self.shared if one.open]

    def close(self) -> None:
        """Reject what no verdict came for, at the end of a run that was stopped."""
        with ExitStack() as ends:
            ends.callback(self.store.close)
            for use in self.own:
                ends.callback(use.settle, passed=False)
            for one in (*self.of_body, *self.shared):
                ends.callback(one.use.settle, passed=False)
                ends.callback(one.close)


@attrs.frozen(repr=False)
class ServerFactory:
    """What the fixture `mcpmock_serve` gives: called, it starts a server and returns it."""

    config: pytest.Config
    uses: ServerUses

    def __call__(self, cassette: Any = None, **keywords: Any) -> ThreadServer:
        """Start the fake server of a cassette, or the real one while it is recorded. The keywords
        are those of the marker that are about one server; a file is looked for beside the file that
        calls, as for a test. What is wrong fails the test.
        """
        if cassette is not None:
            keywords["cassette"] = cassette
        folder = Path(sys._getframe(1).f_code.co_filename).parent
        __tracebackhide__ = True
        with without_traceback():
            settings = self._read(folder, keywords)
            ends, uses = ExitStack(), self.uses
            use = ends.enter_context(using(settings, uses.test, uses.store))
        (uses.of_body if uses.in_body else uses.shared).append(SharedUse(use, ends))
        uses.watch(use, shared=not uses.in_body)
        return use.server

    def _read(self, folder: Path, keywords: dict[str, Any]) -> Settings:
        """Raise UsageError, McpMockError for wrong keywords."""
        given = {name: value for name, value in keywords.items() if name not in RULES}
        place = place_of(
            self.config,
            folder,
            STUB_ALONE if "stub" in given or is_mock(given.get("cassette")) else None,
        )
        try:
            check_keywords(keywords, TestServerOptions, "the call")
            settings = read_settings(
                place, Markers(given, [keywords]), suite_options_of(self.config)
            )
        except (TypeError, ValueError, OSError) as error:
            raise pytest.UsageError(f"mcpmock_serve: {error}") from error
        if settings.may_be_born:
            return settings.as_born(self.uses.store.is_born(settings.path))
        return settings
