"""The demo server: a real MCP server of both eras over stdio, `python -m mcpmock.demo.server`, or
with `--listen 127.0.0.1:PORT` over Streamable HTTP.

`routes` has what it does. With `--bug NAME` it has one of the bugs of `bugs` or, over HTTP,
of `http_server`.
"""

from __future__ import annotations

import signal
import sys
from typing import NoReturn

import trio

from mcpmock.channels.standard_streams import guard_standard_streams
from mcpmock.channels.stdio import take_stdio
from mcpmock.errors import McpMockError
from mcpmock.pipeline.pipeline import Pipeline
from mcpmock.runner import LiveSession, run

from .routes import DemoServer


def main() -> None:
    """Serve the client on stdin and stdout, or those at an address, and exit."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends it without a traceback
    guard_standard_streams()
    if len(sys.argv) > 1:
        _serve_as_asked()
    _serve_stdio(DemoServer())


def _serve_as_asked() -> None:
    from argparse import ArgumentParser  # options are for few: a start is to be quick

    from .bugs import BUGS, HTTP_BUGS

    parser = ArgumentParser(prog="python -m mcpmock.demo.server", allow_abbrev=False)
    parser.add_argument("--listen", metavar="127.0.0.1:PORT", help="serve over Streamable HTTP")
    parser.add_argument("--bug", choices=[*BUGS, *HTTP_BUGS], help="a bug to be found")
    options = parser.parse_args()
    make, http_bug = BUGS.get(options.bug, DemoServer), HTTP_BUGS.get(options.bug)
    if options.listen is None and http_bug is None:
        _serve_stdio(make())
    elif options.listen is None:
        parser.error(f"{options.bug} needs --listen")

    from .http_server import front_at, serve_http

    try:
        sys.exit(trio.run(serve_http, make, http_bug, front_at(options.listen)))
    except McpMockError as error:
        sys.exit(str(error))


def _serve_stdio(server: DemoServer) -> NoReturn:
    sys.stderr.write("mcpmock demo server ready\n")
    sys.exit(trio.run(_converse, server))


async def _converse(server: DemoServer) -> int:
    ended = await run(LiveSession(Pipeline([server]), take_stdio(), None))
    return 0 if ended is None else ended.status


if __name__ == "__main__":
    main()
