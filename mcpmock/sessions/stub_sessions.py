"""`StubSessions`: a hand-written server of ours behind a run, in this process: the demo server over
HTTP, and `mcpmock mcp`.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable

import attrs
import trio

from mcpmock.channels.channel import ConversationEnd, MemoryChannel, memory_pair
from mcpmock.pipeline.pipeline import Pipeline
from mcpmock.runner import LiveSession, run
from mcpmock.stubs.server import StubServer

from .servers import Reach, Server


@attrs.frozen
class StubSessions(Server):
    """A server of one script for each session, as a task of `nursery`. An exception ends its own
    session, as in web frameworks; a tool that crashes the server ends the process.
    """

    name: str
    make: Callable[[], StubServer]
    nursery: trio.Nursery

    @property
    def described(self) -> str:
        return self.name

    async def open(self, reach: Reach, front: object = None) -> ConversationEnd:  # noqa: ARG002
        theirs, ours = memory_pair()
        self.nursery.start_soon(self._serve, theirs)
        return ours

    async def _serve(self, client: MemoryChannel) -> None:
        try:
            ended = await run(LiveSession(Pipeline([self.make()]), client, None))
        except* Exception as group:  # noqa: BLE001 (one of many sessions)
            sys.stderr.write("".join(traceback.format_exception(group)))
            await client.aclose()
        else:
            if ended is not None:
                os._exit(ended.status)
