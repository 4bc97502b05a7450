"""The demo server over Streamable HTTP, `python -m mcpmock.demo.server --listen 127.0.0.1:8000`: a
server of its own for each session.

The listener and the rules of the transport are those of every command (`sessions.http_front`): so
sessions, event streams whose events have ids, and resuming with `Last-Event-ID` are there.
"""

from __future__ import annotations

from collections.abc import Callable

import trio

from mcpmock.channels.http.addresses import ListenAddress
from mcpmock.channels.standard_streams import write_log_line
from mcpmock.pipeline.stage import Stage
from mcpmock.sessions.http_front import HttpFront
from mcpmock.sessions.run import Setup, run_sessions
from mcpmock.sessions.stub_sessions import StubSessions

from .routes import DemoServer


async def serve_http(
    make: Callable[[], DemoServer],
    bug: Callable[[], Stage] | None,
    front: HttpFront,
    stop: trio.Event | None = None,
) -> int:
    """Serve clients until a stop signal, or `stop`; `bug` makes a stage in front of each session.
    Gives the exit status. Raises CannotListen.
    """
    async with trio.open_nursery() as nursery:
        setup = Setup(
            front=front,
            back=StubSessions("mcpmock demo server", make, nursery),
            observers=[] if bug is None else [lambda _number, _player: bug()],
            say=write_log_line,
            stop=stop,
        )
        status = await run_sessions(setup)
        nursery.cancel_scope.cancel()
    return status


def front_at(address: str) -> HttpFront:
    """Return a listener at this address, which prints its URL. Raises McpMockError for what is
    none.
    """
    place = ListenAddress.parse(address)

    def announce(url: str, _token: str | None) -> None:
        write_log_line(f"mcpmock demo server ready, listening on {url}")

    return HttpFront(address=place, announce=announce)
