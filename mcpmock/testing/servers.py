"""The objects of the fixtures: the server of a test (fake or recorded), the fake client and the
cassette; and the checks when the test is over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import attrs
import pytest
import trio

from mcpmock.api.cassettes import load
from mcpmock.api.drive import Driven, drive_server
from mcpmock.api.server import ReplayServer, replay_options
from mcpmock.api.thread import Thread
from mcpmock.api.thread_server import ThreadServer
from mcpmock.cassette.model import Cassette
from mcpmock.cassette.takes_by_test import own_first
from mcpmock.faults.control import Faults, run_of
from mcpmock.faults.fault import PlanError
from mcpmock.faults.receipts import FaultRun
from mcpmock.playback.session_selection import ReplayOptions
from mcpmock.view.printable import printable

from .cassette_store import CassetteStore
from .failure import describe
from .recording_server import ExtendingServer, RecordingServer
from .settings import Settings
from .unused_cassettes import CassetteUse
from .unused_events import cassette_use


@attrs.frozen
class CassetteFile:
    """The cassette of a test: its `path`, the record `mode` in force, and whether this test
    `records` it.
    """

    settings: Settings

    @property
    def path(self) -> Path:
        return self.settings.path

    @property
    def mode(self) -> str:
        return self.settings.mode

    @property
    def records(self) -> bool:
        return self.settings.records

    def load(self) -> Cassette:
        """Raises CassetteError for a missing or bad file."""
        return load(self.path)


@attrs.frozen
class Client:
    """A fake client that plays the client of the cassette to a server under test."""

    settings: Settings

    def drive(
        self,
        server: Sequence[str] | None = None,
        *,
        url: str | None = None,
        timing: str = "none",
        faults: Faults | None = None,
    ) -> Driven:
        """Plays the client to a command or a URL, and gives the outcome: `.diff().worst` is None if
        the server still behaves as recorded. `faults` override those of the marker. Blocks, so the
        server must not run in the event loop of the test. Raises CassetteError, CannotStart.
        """
        settings = self.settings
        require_cassette(settings)
        drive = partial(
            drive_server,
            settings.path,
            server=server,
            url=url,
            timing=timing,
            faults=settings.faults if faults is None else faults,
            seed=settings.seed,
        )

        async def main(ready: Callable[[Driven], None], _stop: trio.Event) -> None:
            ready(await drive())

        thread: Thread[Driven] = Thread(main)
        __tracebackhide__ = True
        try:
            return thread.start()
        finally:
            thread.stop()


def require_cassette(settings: Settings) -> None:
    """Fails a test without a cassette, with the command that records it."""
    if settings.path.exists():
        return
    can = settings.server or settings.url
    how = "--mcp-record=once" if can else f"`mcpmock record -o {settings.shown} -- COMMAND`"
    once = f"run the test with {how}" if can else f"record it with {how}"
    pytest.fail(f"mcpmock: there is no cassette {settings.shown}; {once}", pytrace=False)


@attrs.define
class ServerUse:
    """The use of a server by one test."""

    settings: Settings
    server: ThreadServer
    test: str
    passed: bool = False

    def judge(self) -> None:
        """Fails a test that passed so far, for misses and for faults that had to fire."""
        settings, log = self.settings, self.server.log
        if log.misses:
            methods = ", ".join(sorted({printable(miss.method) for miss in log.misses}))
            missed = f"{len(log.misses)} requests match nothing recorded in {settings.shown}"
            pytest.fail(f"mcpmock: {missed}: {methods}", pytrace=False)
        faults = self.server.faults
        if faults.mistakes():
            found = "; ".join(faults.mistakes())
            pytest.fail(f"mcpmock: internal error (please report): {found}", pytrace=False)
        if owing := faults.owing():
            names = ", ".join(owing)
            pytest.fail(f"mcpmock: faults that must fire never did: {names}", pytrace=False)
        self.passed = True

    def cassette_use(self) -> CassetteUse:
        """How a test that passed used its cassette."""
        return cassette_use(self.settings, self.server.log)

    def describe(self) -> str:
        """A section for the report of a failure."""
        return describe(self.settings, self.server.log, self.server.faults)


def _fault_run(settings: Settings) -> FaultRun:
    """Fails a test whose plan is invalid, with all errors of the plan."""
    try:
        return run_of(settings.faults, settings.seed)
    except PlanError as error:
        pytest.fail("\n".join(f"mcpmock: {line}" for line in error.mistakes), pytrace=False)


def _options(settings: Settings) -> ReplayOptions:
    """In a race no message of a call is delayed: when the client cancels, all of them are out."""
    options = replay_options(**settings.playing)
    if settings.races is None:
        return options
    return attrs.evolve(options, pace=attrs.evolve(options.pace, after_progress=0.0))


def _load_cassette(settings: Settings, test: str) -> Cassette:
    """The cassette of the test, which must exist unless there is only a stub."""
    if settings.alone:
        return Cassette(name="stub", takes=[])
    require_cassette(settings)
    return own_first(load(settings.path), test)


@contextmanager
def using(settings: Settings, test: str, store: CassetteStore) -> Iterator[ServerUse]:
    """The server of a test: fake, recorded, or both; stopped at the end."""
    if settings.records:
        server = RecordingServer(settings, test, store)
    else:
        run, options = _fault_run(settings), _options(settings)
        cassette = _load_cassette(settings, test)
        if not settings.extends:
            fake = ReplayServer(cassette, options, run, settings.stub)
            try:
                yield ServerUse(settings, fake, test)
            finally:
                fake.close()
            return
        server = ExtendingServer(settings, test, store, cassette, options)
    use = ServerUse(settings, server, test)
    try:
        yield use
    finally:
        server.finish(passed=use.passed)
