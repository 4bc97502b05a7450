"""A small program for each Python library, to be explored: it lists tools, calls one with progress,
two at once, gives one up after a timeout, and calls once more.

    explored.py py2|py2-modern|py1|fastmcp URL
    explored.py py2|py2-modern|py1|fastmcp COMMAND..

The server is the demo server, real or fake. A call that takes longer than TIMEOUT_S is given up,
and the program goes on. Exit status: 0 if everything is as the demo server has it, 3 if something
took too long, else 1. explored.mjs is the same for Node.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import anyio

TIMEOUT_S = float(os.environ.get("EXPLORED_TIMEOUT_S", "1"))
"""Less than a race of `mcpmock explore` waits for a cancel, more than any delay that it tries."""
SHORT_TIMEOUT_S = 0.3
EXIT_TIMEOUT = 3
Call = Callable[..., Awaitable[Any]]


@asynccontextmanager
async def with_py1(words: list[str]) -> AsyncIterator[tuple[Call, Call]]:
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client
    from mcp.client.streamable_http import streamable_http_client

    command, *args = words
    opened: Any = (
        streamable_http_client(command)
        if command.startswith("http:")
        else stdio_client(StdioServerParameters(command=command, args=args, env=dict(os.environ)))
    )
    limit = timedelta(seconds=TIMEOUT_S)
    async with (
        opened as (reading, writing, *_),
        ClientSession(reading, writing, read_timeout_seconds=limit) as session,
    ):
        await session.initialize()

        async def call(name: str, arguments: Any, seconds: float, progress: Any = None) -> Any:
            limit = timedelta(seconds=seconds)
            return await session.call_tool(name, arguments, limit, progress_callback=progress)

        yield session.list_tools, call


@asynccontextmanager
async def with_py2(words: list[str], mode: str) -> AsyncIterator[tuple[Call, Call]]:
    from mcp import Client, MCPDeprecationWarning, StdioServerParameters

    warnings.simplefilter("ignore", MCPDeprecationWarning)
    command, *args = words
    server: Any = command
    if not command.startswith("http:"):
        server = StdioServerParameters(command=command, args=args, env=dict(os.environ))
    async with Client(server, mode=mode, read_timeout_seconds=TIMEOUT_S) as client:

        async def call(name: str, arguments: Any, seconds: float, progress: Any = None) -> Any:
            return await client.call_tool(name, arguments, seconds, progress)

        yield client.list_tools, call


@asynccontextmanager
async def with_fastmcp(words: list[str]) -> AsyncIterator[tuple[Call, Call]]:
    from fastmcp import Client
    from fastmcp.client.transports import StdioTransport, StreamableHttpTransport

    command, *args = words
    transport: Any = (
        StreamableHttpTransport(command)
        if command.startswith("http:")
        else StdioTransport(command, args, env=dict(os.environ), keep_alive=False)
    )
    # The HTTP client waits as long: if it gives up first, the exception ends the whole session.
    patient = 5 * TIMEOUT_S
    async with Client(transport, timeout=patient, init_timeout=patient) as client:

        async def call(name: str, arguments: Any, seconds: float, progress: Any = None) -> Any:
            return await client.call_tool(
                name, arguments, timeout=seconds, progress_handler=progress
            )

        yield client.list_tools, call


def innermost(error: BaseException) -> BaseException:
    """The first that was raised of a group."""
    return innermost(error.exceptions[0]) if isinstance(error, BaseExceptionGroup) else error


def expect(text: str, result: Any) -> None:
    if result.content[0].text != text:
        raise SystemExit(f"expected {text}, got {result}")


async def play(list_tools: Call, call: Call) -> bool:
    """The program itself. Whether a call took too long."""
    listed = await list_tools()
    assert "countdown" in {tool.name for tool in getattr(listed, "tools", listed)}

    async def on_progress(*_: Any) -> None:
        pass

    late = []

    async def call_in_time(expected: str, name: str, arguments: Any, progress: Any = None) -> None:
        try:
            expect(expected, await call(name, arguments, TIMEOUT_S, progress))
        except Exception as error:
            if not is_timeout(error):
                raise
            late.append(name)

    steps = {"steps": 2, "pause": 0.02}
    await call_in_time("lift-off", "countdown", steps, on_progress)
    async with anyio.create_task_group() as group:
        for seconds in (0.1, 0.05):
            wait = {"seconds": seconds}
            group.start_soon(call_in_time, f"waited {seconds} seconds", "slow", wait)
    try:
        await call("slow", {"seconds": 50.0}, SHORT_TIMEOUT_S)
    except Exception as error:
        if not is_timeout(error):
            raise
    else:
        raise SystemExit("a call that takes 50 s was answered")
    await call_in_time("still here", "echo", {"message": "still here"})
    return bool(late)


def is_timeout(error: BaseException) -> bool:
    return "timed out" in str(innermost(error)).lower()


async def main(library: str, *words: str) -> bool:
    connections = {
        "py1": lambda: with_py1([*words]),
        "py2": lambda: with_py2([*words], "legacy"),
        "py2-modern": lambda: with_py2([*words], "2026-07-28"),
        "fastmcp": lambda: with_fastmcp([*words]),
    }
    async with connections[library]() as (list_tools, call):
        return await play(list_tools, call)


if __name__ == "__main__":
    try:
        LATE = anyio.run(main, *sys.argv[1:])
    except Exception as error:
        if not is_timeout(error):
            raise
        sys.stderr.write(f"{innermost(error)}\n")
        LATE = True
    sys.exit(EXIT_TIMEOUT if LATE else 0)
