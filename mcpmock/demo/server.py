"""The demo server: a real MCP server of both eras over stdio, `python -m mcpmock.demo.server`, or
with `--http [PORT]` over Streamable HTTP.

`conversation` has what it does. With `--bug NAME` it has one of the bugs of `bugs` or, over HTTP,
of `http_server`.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable

import trio

from mcpmock.channels.standard_streams import guard_standard_streams
from mcpmock.channels.stdio import take_stdio
from mcpmock.errors import McpMockError
from mcpmock.pipeline.pipeline import Pipeline
from mcpmock.pipeline.stage import Stage
from mcpmock.runner import LiveSession, run

from .conversation import DemoServer

USAGE = "usage: python -m mcpmock.demo.server [--http [PORT]] [--bug NAME]"


def main() -> None:
    """Serve the client on stdin and stdout, or those of a port, and exit."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends it without a traceback
    guard_standard_streams()
    arguments = sys.argv[1:]
    port = _port_of(arguments)
    make, http_bug = _server_of(arguments, http=port is not None)
    if port is None:
        sys.stderr.write("mcpmock demo server ready\n")
        sys.exit(trio.run(_serve_stdio, make()))

    from .http_server import serve_http  # much that a server on stdio need not import

    try:
        sys.exit(trio.run(serve_http, make, http_bug, port))
    except McpMockError as error:
        sys.exit(str(error))


def _port_of(arguments: list[str]) -> int | None:
    """The port of `--http`, which is taken out: 0 for any, None for stdio."""
    if "--http" not in arguments:
        return None
    place = arguments.index("--http")
    del arguments[place]
    given = arguments[place : place + 1]
    return int(arguments.pop(place)) if given and given[0].isdecimal() else 0


def _server_of(
    arguments: list[str], *, http: bool
) -> tuple[Callable[[], DemoServer], Callable[[], Stage] | None]:
    """What makes the server, and the bug of its transport, if that is asked for."""
    if not arguments:
        return DemoServer, None

    from .bugs import BUGS, HTTP_BUGS

    known = [*BUGS, *(HTTP_BUGS if http else ())]
    if arguments[0] != "--bug" or len(arguments) != 2 or arguments[1] not in known:
        sys.exit(f"{USAGE}; bugs: {', '.join(known)}")
    bug = arguments[1]
    return BUGS.get(bug, DemoServer), HTTP_BUGS.get(bug)


async def _serve_stdio(server: DemoServer) -> int:
    ended = await run(LiveSession(Pipeline([server]), take_stdio(), None))
    return 0 if ended is None else ended.status


if __name__ == "__main__":
    main()
