"""The real server behind the fixture: `RecordingServer` records everything, `ExtendingServer` only
what the cassette lacks.

A test uses either like the fake one. `cassette_store` decides where a recording goes.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import attrs
import pytest
import trio

from mcpmock.api.targets import parse_server, say
from mcpmock.api.thread_server import ThreadServer
from mcpmock.cassette.model import Cassette
from mcpmock.faults.control import run_of
from mcpmock.playback.miss import Miss
from mcpmock.playback.session_selection import ReplayOptions
from mcpmock.sessions.local_front import LocalFront, ServerPlace
from mcpmock.sessions.replay import Replay
from mcpmock.sessions.run import Setup, run_sessions
from mcpmock.sessions.take import Recording
from mcpmock.sessions.url_server import Url

from .cassette_store import CassetteStore
from .settings import Settings


class RecordingServer(ThreadServer):
    """A real server, a process for each client or at a URL, that is being recorded."""

    def __init__(self, settings: Settings, test: str, store: CassetteStore) -> None:
        if settings.server is None and settings.url is None:
            raise pytest.UsageError(
                f"mcpmock: no server to record {settings.shown} from: name one in the marker,"
                " server=[COMMAND, ...] or url="
            )
        self._settings, self._test, self._store = settings, test, store
        self._server = parse_server(settings.server, settings.url)
        self._output = store.recording(settings, test)
        super().__init__(self._main, run_of(settings.faults, settings.seed))

    @property
    def misses(self) -> list[Miss]:
        """Empty: a real server answers."""
        return self.log.misses

    def transport(self) -> AbstractAsyncContextManager[Any]:
        """A session over stdio with a process, over HTTP with a server at a URL."""
        if isinstance(self._server, Url):
            from mcp.client.streamable_http import streamable_http_client

            return streamable_http_client(self.url)
        from mcp.client.stdio import stdio_client

        return stdio_client(self.stdio)

    def finish(self, *, passed: bool) -> None:
        """Stops it. The recording goes into the cassette if the test passed, else beside it."""
        try:
            self.close()
        except BaseException:
            self._store.reject(self._settings, self._output)
            raise
        if passed:
            self._store.accept(self._settings, self._test, self._output)
        else:
            self._store.reject(self._settings, self._output)

    def _replay(self) -> Replay | None:
        """What answers without the real server."""
        return None

    async def _main(self, ready: Callable[[ServerPlace], None], stop: trio.Event) -> None:
        setup = Setup(
            front=LocalFront(ready),
            back=self._server,
            replay=self._replay(),
            faults=self._run,
            recording=Recording(output=self._output, test=self._test),
            observers=[self.log.watch],
            say=say,
            stop=stop,
        )
        await run_sessions(setup)


class ExtendingServer(RecordingServer):
    """A fake server with the real one behind it, for what the cassette lacks."""

    def __init__(
        self,
        settings: Settings,
        test: str,
        store: CassetteStore,
        cassette: Cassette,
        options: ReplayOptions,
    ) -> None:
        super().__init__(settings, test, store)
        self._cassette = cassette
        self._options = attrs.evolve(options, on_miss="live")

    def _replay(self) -> Replay:
        return Replay(self._cassette, self._options, self.log.report)
