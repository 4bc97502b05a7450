# mypy: ignore-errors
# (It runs inside the virtual environments of the SDKs, which are not installed here.)
"""What the workshop servers of mcp 1.x and mcp 2.x have in common.

A workshop has a tool for every feature that a transport must carry: progress, logging, questions
of the server, its own notifications, errors, streams that break off.  workshop_py1.py,
workshop_py2.py and workshop_ts2.mjs offer the same tools under the same names; the scenario
`workshop` of clients/scenarios.json uses them all.

    workshop_X.py stdio | streamable-http | sse [moved]

Over HTTP it listens on the port that PORT names, or any, and says where on the first line of its
stderr.
`moved` (workshop_py1 and _py2): the path has a slash more than the URL, which is redirected there;
each request is a line on stderr.
"""

from __future__ import annotations

import os
import socket
import sys
from collections import defaultdict
from typing import Any

import anyio
import uvicorn

TOPIC = "note://topic"
PATHS = {"streamable-http": "/mcp", "sse": "/sse"}
RETRY = 50
"""Milliseconds after which a client is to come back for the rest of a stream."""


class Gate:
    """Where a call waits in its middle until it is let go."""

    def __init__(self) -> None:
        self.reached, self.opened, self.passed = (anyio.Event() for _ in range(3))

    async def pass_through(self) -> None:
        """Wait there."""
        self.reached.set()
        await self.opened.wait()

    async def open(self) -> None:
        """Let the call go that is there or will be, and wait until it has said all."""
        await self.reached.wait()
        self.opened.set()
        await self.passed.wait()


gates: defaultdict[str, Gate] = defaultdict(Gate)


class Events:
    """An event store in memory: all messages of all streams, numbered from 1."""

    def __init__(self, event_message: type) -> None:
        self.events = []
        self.event_message = event_message

    async def store_event(self, stream_id: str, message: Any) -> str:
        """Keep a message; None is the prime event of a stream."""
        self.events.append((stream_id, message))
        return str(len(self.events))

    async def replay_events_after(self, last_event_id: str, send_callback: Any) -> str | None:
        """Send what came later on the stream of this event, and on no other."""
        if not last_event_id.isdecimal() or not 0 < int(last_event_id) <= len(self.events):
            return None
        last = int(last_event_id)
        stream_id, _ = self.events[last - 1]
        for number, (stream, message) in enumerate(self.events[last:], last + 1):
            if stream == stream_id and message is not None:
                await send_callback(self.event_message(message, str(number)))
        return stream_id


def counted(app: Any) -> Any:
    """Write a line for each request."""

    async def counting(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            print(f"asked: {scope['method']} {scope['path']}", file=sys.stderr, flush=True)
        await app(scope, receive, send)

    return counting


def serve(app: Any, transport: str, *, moved: bool = False) -> None:
    """Serve an ASGI application until SIGTERM."""
    app = counted(app) if moved else app
    # The protocol must be named: only then does asyncio turn Nagle's algorithm off.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", int(os.environ.get("PORT", "0"))))
    listener.listen()
    port = listener.getsockname()[1]
    print(f"listening on http://127.0.0.1:{port}{PATHS[transport]}", file=sys.stderr, flush=True)
    config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=0)
    uvicorn.Server(config).run(sockets=[listener])
