"""The demo server: a real MCP server of both eras over stdio, `python -m mcpmock.demo.server`.

`conversation` has what it does. With `--bug NAME` it has one of the bugs of `bugs`.
"""

from __future__ import annotations

import signal
import sys

import trio

from mcpmock.channels.standard_streams import guard_standard_streams
from mcpmock.channels.stdio import take_stdio
from mcpmock.pipeline.pipeline import Pipeline
from mcpmock.runner import LiveSession, run

from .conversation import DemoServer


def main() -> None:
    """Serve the client on stdin and stdout, and exit."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends it without a traceback
    guard_standard_streams()
    server = _server_of(sys.argv[1:])
    sys.stderr.write("mcpmock demo server ready\n")
    sys.exit(trio.run(_serve_stdio, server))


def _server_of(arguments: list[str]) -> DemoServer:
    if not arguments:
        return DemoServer()

    from .bugs import BUGS

    if arguments[0] != "--bug" or len(arguments) != 2 or arguments[1] not in BUGS:
        sys.exit(f"usage: python -m mcpmock.demo.server [--bug {'|'.join(BUGS)}]")
    return BUGS[arguments[1]]()


async def _serve_stdio(server: DemoServer) -> int:
    ended = await run(LiveSession(Pipeline([server]), take_stdio(), None))
    return 0 if ended is None else ended.status


if __name__ == "__main__":
    main()
