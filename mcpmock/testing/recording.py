"""`RecordingServer`: the real server behind the fixture, while its cassette is recorded.

A test talks to it as to the fake one. What is recorded takes the place of the cassette only if the
test passes; else it is kept beside it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest
import trio

from mcpmock.api.faulting import run_of
from mcpmock.api.recording import say, server_of
from mcpmock.api.server import Reachable
from mcpmock.cassette.match import Miss
from mcpmock.modes.embedded import Place, record_command_embedded, record_url_embedded
from mcpmock.modes.ends import Command, Url
from mcpmock.modes.taking import Recording

from .settings import Settings


class RecordingServer(Reachable):
    """A real server, a process for each client or at a URL, that is being recorded."""

    def __init__(self, settings: Settings) -> None:
        if settings.server is None and settings.url is None:
            raise pytest.UsageError(
                f"mcpmock: nothing to record {settings.shown} from: name the server in the marker,"
                " server=[COMMAND, ...] or url="
            )
        self._settings = settings
        self._server = server_of(settings.server, settings.url)
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
        """Stops it. The recording becomes the cassette, if the test passed."""
        self.close()
        rejected = self._settings.rejected
        if passed and rejected.exists():
            os.replace(rejected, self._settings.path)

    async def _main(self, ready: Callable[[Place], None], stop: trio.Event) -> None:
        rejected = self._settings.rejected
        rejected.parent.mkdir(parents=True, exist_ok=True)
        rejected.unlink(missing_ok=True)
        recording = Recording(output=rejected)
        watch, run = self.log.watch, self._run
        if isinstance(self._server, Command):
            await record_command_embedded(self._server, recording, watch, ready, stop, say, run)
        else:
            await record_url_embedded(self._server, recording, watch, ready, stop, say, run)
