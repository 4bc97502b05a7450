"""The objects of the fixtures: the server of a test (fake, or real while it is recorded), the fake
client and the cassette; and the checks when the test is over. `cassette_store` decides where a
recording goes. pytest is imported where it calls: `mcpmock control` stands above too.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import attrs
import trio
from msgspec import structs

from mcpmock.api.cassettes import load
from mcpmock.api.recorded_calls import RecordedCalls
from mcpmock.api.sdk_transport import sdk_transport
from mcpmock.api.server import ReplayServer, read_authorization, replay_options
from mcpmock.api.targets import parse_server, say
from mcpmock.api.thread import Thread
from mcpmock.api.thread_server import ThreadServer
from mcpmock.api.verdict import describe_misses, warn_of_idle_faults
from mcpmock.cassette.file import rules_in
from mcpmock.cassette.merge import own_first
from mcpmock.cassette.model import Cassette
from mcpmock.errors import McpMockError
from mcpmock.faults.control import Faults, run_of
from mcpmock.playback.miss import THE_STUB, Miss, spell_options
from mcpmock.playback.player import InexactAnswer, MisfitAnswer, UnaskedAnswer
from mcpmock.playback.session_selection import PlayerOptions
from mcpmock.printable import first_lines, many, printable, printable_lines, shell_command
from mcpmock.sessions.local_front import LocalFront, ServerPlace
from mcpmock.sessions.replay import Replay
from mcpmock.sessions.run import Setup, run_sessions
from mcpmock.sessions.take import Recording
from mcpmock.sessions.url_server import Url
from mcpmock.transports.session_router import TransportKind

from .cassette_store import CassetteStore
from .failure import MAX_LINES, SessionLog, describe
from .settings import Settings
from .unused import IGNORE, CassetteUse, unused_requests, why_idle

if TYPE_CHECKING:
    from mcpmock.api.drive import Driven

    from .coverage import CoverageTally


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
        """Raise CassetteError for a missing or bad file."""
        return load(self.path)


@attrs.frozen
class Client:
    """A fake client that plays the client of the cassette to a server under test."""

    settings: Settings
    _coverage: CoverageTally | None = None

    def drive(
        self,
        server: Sequence[str] | None = None,
        *,
        url: str | None = None,
        timing: str = "none",
        faults: Faults | None = None,
        values: Mapping[str, str] | None = None,
    ) -> Driven:
        """Play the client to a command or a URL, and give the outcome: `.diff().worst` is None if
        the server still behaves as recorded. `faults` override those of the marker, `values` are as
        in `mcpmock.drive`. Blocks, so the
        server must not run in the event loop of the test. Raises CassetteError, CannotStart.
        """
        from mcpmock.api.drive import drive_server

        from .plugin_session import without_traceback

        settings = self.settings
        with without_traceback():
            require_cassette(settings)
        faults = settings.faults if faults is None else faults
        real = parse_server(server, url)

        async def main(ready: Callable[[Driven], None], _stop: trio.Event) -> None:
            seed = settings.seed
            ready(await drive_server(settings.path, real, timing, faults, seed, values))

        thread: Thread[Driven] = Thread(main)
        __tracebackhide__ = True
        try:
            driven = thread.start()
        finally:
            thread.stop()
        if self._coverage is not None:
            self._coverage.add_driven(driven, settings.path)
        return driven


class RecordingServer(ThreadServer):
    """A real server, a process for each client or at a URL, while it is recorded. After
    `answer_first` a cassette answers first, and only the rest is recorded.
    """

    def __init__(self, settings: Settings, test: str, store: CassetteStore) -> None:
        if settings.server is None and settings.url is None:
            raise McpMockError(
                f"no server to record {settings.shown} from: name one {settings.how_to_name_server}"
            )
        self._settings, self._test, self._store = settings, test, store
        self._server = parse_server(settings.server, settings.url)
        self._output, self._attempt = store.recording(settings, test), store.attempt
        self._replay: Replay | None = None
        super().__init__(self._main, run_of(settings.faults, settings.seed))

    def transport(self) -> AbstractAsyncContextManager[Any]:
        """Return a session over stdio with a process, over HTTP with a server at a URL."""
        return sdk_transport(self._open_session)

    def _open_session(self) -> AbstractAsyncContextManager[Any]:
        if not isinstance(self._server, Url):
            from mcp.client.stdio import stdio_client

            return stdio_client(self.stdio)
        if self._server.transport is TransportKind.SSE:
            from mcp.client.sse import sse_client

            return sse_client(self.url)
        from mcp.client.streamable_http import streamable_http_client

        return streamable_http_client(self.url)

    def settle(self, *, passed: bool) -> None:
        """Put the recording, once the server is closed, into the cassette if the test passed, else
        beside it. Raises CassetteError, OSError.
        """
        if passed:
            self._store.accept(self._settings, self._test, self._output, self._attempt)
        else:
            self._store.reject(self._settings, self._output)

    def answer_first(self, cassette: Cassette, options: PlayerOptions) -> None:
        """Let the real server only answer what the cassette lacks."""
        self._replay = Replay(cassette, structs.replace(options, on_miss="live"), self.log.report)
        playing = self._replay.options
        self._recorded = RecordedCalls(
            cassette=cassette, rules=playing.rules, redaction=playing.redaction, grows=True
        )

    async def _main(self, ready: Callable[[ServerPlace], None], stop: trio.Event) -> None:
        settings = self._settings
        setup = Setup(
            front=LocalFront(ready),
            back=self._server,
            replay=self._replay,
            faults=self.fault_run,
            recording=Recording(
                output=self._output,
                test=self._test,
                rules=settings.redaction_rules(),
                match=None if settings.extends else rules_in(settings.path),
            ),
            observers=[self.log.watch],
            say=say,
            stop=stop,
        )
        await run_sessions(setup)


def _warnings(notes: Sequence[InexactAnswer]) -> Iterator[str]:
    """Yield each note; those of nearest requests in one text, with the keywords that allow them."""
    yield from (one.line for one in notes if one.kind != "nearest")
    nearest = [one for one in notes if one.kind == "nearest"]
    if nearest:
        lines = first_lines([one.line for one in nearest], MAX_LINES)
        rules = dict.fromkeys(rule for one in nearest for rule in one.rules)
        allow = [f"allow with {spell_options([*rules], keywords=True)}"] if rules else []
        yield "\n  ".join(
            [f"{many(len(nearest), 'answer')} of the nearest request", *lines, *allow]
        )


def require_cassette(settings: Settings) -> None:
    """Raise McpMockError without a cassette, with the command that records it."""
    if settings.path.exists():
        return
    if settings.server or settings.url:
        advice = f"run the test with {settings.how_to_record}"
    else:
        record = shell_command(["mcpmock", "record", "-o", settings.shown, "--", "COMMAND"])
        advice = f"record it with `{record}`"
    raise McpMockError(f"there is no cassette {settings.shown}; {advice}")


def fail(text: str) -> NoReturn:
    """Fail a test without a traceback."""
    import pytest

    pytest.fail(f"mcpmock: {printable(text)}", pytrace=False)


@attrs.define
class ServerUse:
    """The use of a server by one test, or by those that share it."""

    settings: Settings
    server: ThreadServer
    charged: int = 0
    """How many of its misses earlier tests were failed for."""
    noted: int = 0
    """Of how many of its notes earlier tests were warned."""
    live: SessionLog | None = None
    """What its clients asked and got, for the page of the test."""

    @property
    def misses(self) -> list[Miss]:
        """The misses of the test that runs."""
        return self.server.log.misses[self.charged :]

    def missed(self) -> str | None:
        """Return in words what was missed, if that fails the test."""
        if self.misses and self.settings.misses == "fail":
            return describe_misses(self.misses, self.settings.shown)
        return None

    def inexact(self) -> list[str]:
        """Return what to warn of: answers that are not exact."""
        notes = self.server.log.notes[self.noted :]
        unasked = [one.line for one in notes if isinstance(one, UnaskedAnswer | MisfitAnswer)]
        return [*unasked, *_warnings([one for one in notes if isinstance(one, InexactAnswer)])]

    def faulted(self) -> str | None:
        """Return in words what fails the test of its faults: one that had to fire and did not."""
        faults = self.server.faults
        if faults.mistakes():
            return f"internal error (please report): {'; '.join(faults.mistakes())}"
        if faults.owing():
            return f"faults that must fire never did: {', '.join(faults.owing())}"
        return None

    def check(self) -> None:
        """Fail a test that passed so far, for misses; warn of answers that are not exact."""
        import pytest

        if text := self.missed():
            fail(text)
        for text in self.inexact():
            warnings.warn(pytest.PytestWarning(printable_lines(f"mcpmock: {text}")), stacklevel=1)

    def judge(self) -> None:
        """Check, and fail a test that passed so far for faults that had to fire; warn of others
        that never fired.
        """
        import pytest

        self.check()
        if text := self.faulted():
            fail(text)
        # In most cells of a race the fault has nothing to withhold.
        if self.settings.races is None:
            warn_of_idle_faults(self.server.faults, pytest.PytestWarning)

    def charge(self) -> None:
        """End the test that runs: what was missed so far is its own."""
        self.charged, self.noted = len(self.server.log.misses), len(self.server.log.notes)

    def settle(self, *, passed: bool) -> None:
        """Keep what was recorded, or put it beside the cassette. Raises CassetteError, OSError."""
        if isinstance(self.server, RecordingServer):
            self.server.settle(passed=passed)

    def cassette_use(self) -> CassetteUse:
        """Return how a test that passed used its cassette. No request is unused while a real server
        is recorded.
        """
        settings, server = self.settings, self.server
        use = CassetteUse(
            cassette=str(settings.path), shown=settings.shown, unused=IGNORE, left=[], idle=""
        )
        if isinstance(server, ReplayServer) and not (settings.records or settings.extends):
            use["unused"] = settings.unused
            use["left"] = list(unused_requests(server.log))
            use["idle"] = why_idle(server.log, server.cassette)
        return use

    def describe(self, session: Path | None = None, *, messages: bool = True) -> str:
        """Return a section for the report of a failure: see `failure.describe`."""
        server = self.server
        return describe(
            self.settings,
            server.log,
            server.faults,
            self.misses,
            session=session,
            messages=messages,
        )


def _replay_options(settings: Settings) -> PlayerOptions:
    """Delay no message of a call in a race: all are sent before the client cancels."""
    options = replay_options(**settings.playing)
    options = structs.replace(options, redaction=settings.redaction_rules(shown=True))
    return options if settings.races is None else options.paced(after_progress=0.0)


def _load_cassette(settings: Settings, test: str) -> Cassette:
    """Return the cassette of the test, which must exist unless there is only a stub."""
    if settings.alone:
        return Cassette(name=THE_STUB, takes=[])
    require_cassette(settings)
    return own_first(load(settings.path), test)


@contextmanager
def using(settings: Settings, test: str, store: CassetteStore) -> Iterator[ServerUse]:
    """Start the server of a test: fake, recorded, or both; stop it at the end. What was recorded
    waits for `ServerUse.settle`. Raises McpMockError.
    """
    if settings.records:
        server = RecordingServer(settings, test, store)
    else:
        run = run_of(settings.faults, settings.seed)
        cassette, options = _load_cassette(settings, test), _replay_options(settings)
        if not settings.extends:
            authorization = read_authorization(settings.auth)
            fake = ReplayServer(cassette, options, run, settings.stub, authorization)
            fake._recorded = attrs.evolve(fake._recorded, find=settings.find, test=test)
            try:
                yield ServerUse(settings, fake)
            finally:
                fake.close()
            return
        server = RecordingServer(settings, test, store)
        server.answer_first(cassette, options)
    server._recorded = attrs.evolve(server._recorded, find=settings.find, test=test)
    use = ServerUse(settings, server)
    try:
        yield use
    finally:
        server.close()
