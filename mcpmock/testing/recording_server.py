"""The real server behind the fixture: `RecordingServer` while all is recorded, `ExtendingServer`
where only what the cassette does not have is.

A test talks to either as to the fake one. `keeping` has what becomes of a recording.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import attrs
import pytest
import trio

from mcpmock.api.record import say, server_of
from mcpmock.api.thread_server import ThreadServer
from mcpmock.cassette.model import Cassette
from mcpmock.faults.control import run_of
from mcpmock.playback.miss import Miss
from mcpmock.playback.session_selection import ReplayOptions
from mcpmock.sessions.embedded import ServerPlace, record_command_embedded, record_url_embedded
from mcpmock.sessions.ends import Command, Url
from mcpmock.sessions.passthrough_embedded import live_embedded
from mcpmock.sessions.take_recording import Recording

from .cassette_store import CassetteStore
from .settings import Settings


class RecordingServer(ThreadServer):
    """A real server, a process for each client or at a URL, that is being recorded."""

    def __init__(self, settings: Settings, test: str, keeping: CassetteStore) -> None:
        if settings.server is None and settings.url is None:
            raise pytest.UsageError(
                f"mcpmock: nothing to record {settings.shown} from: name the server in the marker,"
                " server=[COMMAND, ...] or url="
            )
        self._settings, self._test, self._keeping = settings, test, keeping
        self._server = server_of(settings.server, settings.url)
        self._output = keeping.recording(settings, test)
        super().__init__(self._main, run_of(settings.faults, settings.seed))

    @property
    def misses(self) -> list[Miss]:
        """None: a real server answers."""
        return self.log.misses

    def transport(self) -> AbstractAsyncContextManager[Any]:
        """A session over stdio, for the real server is a process; one at a URL over HTTP."""
        if isinstance(self._server, Url):
            from mcp.client.streamable_http import streamable_http_client

            return streamable_http_client(self.url)
        from mcp.client.stdio import stdio_client

        return stdio_client(self.stdio)

    def finish(self, *, passed: bool) -> None:
        """Stops it. What was recorded gets into the cassette if the test passed, else beside it."""
        try:
            self.close()
        except BaseException:
            self._keeping.reject(self._settings, self._output)
            raise
        if passed:
            self._keeping.accept(self._settings, self._test, self._output)
        else:
            self._keeping.reject(self._settings, self._output)

    async def _main(self, ready: Callable[[ServerPlace], None], stop: trio.Event) -> None:
        recording = Recording(output=self._output, test=self._test)
        await self._record(recording, ready, stop)

    async def _record(
        self, recording: Recording, ready: Callable[[ServerPlace], None], stop: trio.Event
    ) -> None:
        watch, run = self.log.watch, self._run
        if isinstance(self._server, Command):
            await record_command_embedded(self._server, recording, watch, ready, stop, say, run)
        else:
            await record_url_embedded(self._server, recording, watch, ready, stop, say, run)


class ExtendingServer(RecordingServer):
    """A fake server with the real one behind it, for what the cassette does not have."""

    def __init__(
        self,
        settings: Settings,
        test: str,
        keeping: CassetteStore,
        cassette: Cassette,
        playing: ReplayOptions,
    ) -> None:
        super().__init__(settings, test, keeping)
        self._cassette = cassette
        self._playing = attrs.evolve(playing, on_miss="live")

    async def _record(
        self, recording: Recording, ready: Callable[[ServerPlace], None], stop: trio.Event
    ) -> None:
        log = self.log
        await live_embedded(
            self._cassette, self._playing, log.report, self._server, recording, log.watch, ready,
            stop, say, self._run,
        )  # fmt: skip
