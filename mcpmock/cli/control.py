"""`mcpmock control`: the servers of a test run, for a program in another language."""

from __future__ import annotations

import json
import sys
import traceback
from typing import TYPE_CHECKING, Any

import click

from mcpmock.errors import McpMockError
from mcpmock.options.console import ConsoleOptions

from .interrupts import ignore_interrupts
from .option_table import options
from .output import emit, say

if TYPE_CHECKING:
    from trio import Semaphore

    from mcpmock.testing.control import ControlledServers

MAX_REQUEST_BYTES = 1 << 20
"""A longer line ends the command: it is none of the requests that there are."""
MAX_REQUESTS = 1000
"""How many requests wait for their answers before the next one is read."""


@click.command(short_help="Serve the tests of another language: JSON lines.")
@options()
def control(console: ConsoleOptions) -> int:  # noqa: ARG001
    """Start and stop fake servers as standard input says, for tests in another language: the npm
    package `mcpmock` runs it (`mcpmock help typescript`).

    Each line is a JSON object with an `id`, a `method` and its `params`; each answer is a line with
    the `id` and a `result`, or an `error` with a `message`. It ends with its input, and all servers
    with it.

    Exit status: 0; 2 for a line that is not a request.
    """
    import trio

    ignore_interrupts()  # who runs it decides on Ctrl-C, and closes the input
    return trio.run(_serve)


async def _serve() -> int:
    import trio

    from mcpmock.testing.control import ControlledServers

    servers = ControlledServers()
    free = trio.Semaphore(MAX_REQUESTS)
    try:
        async with trio.open_nursery() as nursery:
            while line := await trio.to_thread.run_sync(_read_line):
                request = _read_request(line)
                if request is None:
                    say("standard input has a line that is not a request: see `mcpmock control -h`")
                    nursery.cancel_scope.cancel()
                    return 2
                await free.acquire()
                nursery.start_soon(_answer, servers, request, free)
            nursery.cancel_scope.cancel()
        return 0
    finally:
        servers.close()


def _read_line() -> bytes:
    return sys.stdin.buffer.readline(MAX_REQUEST_BYTES)


def _read_request(line: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or not isinstance(found.setdefault("params", {}), dict):
        return None
    return found if line.endswith(b"\n") and "id" in found else None


async def _answer(servers: ControlledServers, request: dict[str, Any], free: Semaphore) -> None:
    from mcpmock.testing.control import FailedTestError, misses_as_json

    answer: dict[str, Any] = {"id": request["id"]}
    try:
        answer["result"] = await servers.answer(request.get("method"), request["params"])
    except FailedTestError as error:
        answer["error"] = {
            "message": "\n".join(error.lines),
            "misses": misses_as_json(error.misses),
        }
    except McpMockError as error:
        answer["error"] = {"message": "\n".join(f"mcpmock: {line}" for line in error.lines)}
    except Exception as error:  # noqa: BLE001 (a bug must not end the servers of other tests)
        answer["error"] = {"message": f"mcpmock: internal error (please report): {error!r}"}
        traceback.print_exc()
    finally:
        free.release()
    emit(answer)
