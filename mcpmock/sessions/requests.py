"""A recording without a client: requests that were written on the command line, to a real server.

`playback.client.requests` is the client; how it is run, stopped and recorded is `drive`'s.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from mcpmock.channels.fd import DescriptorQueue
from mcpmock.playback.client.requests import AnswerReport, ClientRequest, RequestClient
from mcpmock.playback.client.script import ClientScript
from mcpmock.protocol.transport_facts import NO_SESSION
from mcpmock.transports.session_router import TransportKind
from mcpmock.version import VERSION

from .drive import Drive, DriveFront
from .run import Run

CLIENT_INFO = {"name": "mcpmock", "version": VERSION}


class RequestFront(DriveFront, frozen=True, kw_only=True):
    """A client that makes these requests."""

    scripts: Sequence[ClientScript] = ()
    requests: Sequence[ClientRequest]
    lists: bool = False
    timeout: float = 30.0
    on_answer: AnswerReport

    def drive(self, run: Run, stderr: DescriptorQueue) -> Drive:
        return _RequestDrive(run, self, stderr, requests=self)


@attrs.define
class _RequestDrive(Drive):
    requests: RequestFront = attrs.field(kw_only=True)

    async def play(self) -> int:
        """Return how many requests failed. A server that refuses `initialize` is asked once more,
        as one of 2026-07-28.
        """
        client = await self._talk(modern=False)
        if client.refused and not self.stopped_by:
            client = await self._talk(modern=True)
        if not self.run.reach.status and not self.stopped_by:
            if client.refused:
                self.run.setup.say("the server refused both `initialize` and `server/discover`")
            elif client.unanswered:
                self.run.setup.say(client.unanswered)
        return client.failed

    async def _talk(self, *, modern: bool) -> RequestClient:
        front = self.requests
        client = RequestClient(
            front.requests,
            lists=front.lists,
            timeout=front.timeout,
            modern=modern,
            client_info=CLIENT_INFO,
            on_answer=front.on_answer,
        )
        stateless = self.kind is TransportKind.STREAMABLE_HTTP and modern
        async with self.playing():
            number = NO_SESSION if self.kind is None or stateless else NO_SESSION + 1
            await self.hold(client, number, in_order=True)
        return client
