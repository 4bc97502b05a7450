"""The client of PyPI mcp 1.x, as its users write it.

py1.py --scenario NAME --workdir DIR -- SERVER ARG..
py1.py --scenario NAME --workdir DIR --transport streamable-http|sse --url URL
"""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Any

from driver import Job, OnProgress, Params, Peer, main
from mcp import ClientSession, StdioServerParameters, types
from mcp.client.sse import sse_client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from pydantic import AnyUrl
from sdk import callbacks, calls


def peer_of(session: ClientSession, server: types.InitializeResult) -> Peer:
    """Describe the connected session to the runner."""

    async def call_tool(params: Params, on_progress: OnProgress | None) -> Any:
        return await session.call_tool(
            params["name"], params["arguments"], progress_callback=on_progress
        )

    return Peer(
        server=server,
        call_tool=call_tool,
        calls={
            **calls(session, types),
            "resources/read": lambda p: session.read_resource(AnyUrl(p["uri"])),
            "resources/subscribe": lambda p: session.subscribe_resource(AnyUrl(p["uri"])),
            "resources/unsubscribe": lambda p: session.unsubscribe_resource(AnyUrl(p["uri"])),
        },
    )


def connected(job: Job) -> AbstractAsyncContextManager[tuple[Any, ...]]:
    """The streams of the transport that the command line names."""
    if job.transport == "streamable-http":
        return streamable_http_client(job.url)
    if job.transport == "sse":
        return sse_client(job.url)
    command, *args = job.server
    return stdio_client(StdioServerParameters(command=command, args=args, env=job.environment))


async def play(job: Job) -> None:
    """Connect, play the scenario, close."""
    async with (
        connected(job) as (reading, writing, *_),
        ClientSession(reading, writing, **callbacks(job.heard, types)) as session,
    ):
        await job.play(peer_of(session, await session.initialize()))


if __name__ == "__main__":
    main(play)
