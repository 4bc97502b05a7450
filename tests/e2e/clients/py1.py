"""The client of PyPI mcp 1.x, as its users write it.

py1.py --scenario NAME --workdir DIR -- SERVER ARG..
"""

from __future__ import annotations

from typing import Any

from driver import Job, OnProgress, Params, Peer, main
from mcp import ClientSession, StdioServerParameters, types
from mcp.client.stdio import stdio_client
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


async def play(job: Job) -> None:
    """Connect, play the scenario, close."""
    command, *args = job.server
    server = StdioServerParameters(command=command, args=args, env=job.environment)
    async with (
        stdio_client(server) as (reading, writing),
        ClientSession(reading, writing, **callbacks(job.heard, types)) as session,
    ):
        await job.play(peer_of(session, await session.initialize()))


if __name__ == "__main__":
    main(play)
