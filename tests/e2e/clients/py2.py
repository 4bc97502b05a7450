"""The client of PyPI mcp 2.x, as its users write it.

    py2.py [--mode auto|legacy|2026-07-28] --scenario NAME --workdir DIR -- SERVER ARG..
    py2.py [--mode M] --scenario NAME --workdir DIR --transport streamable-http|sse --url URL

`auto`, the library's default, sends `server/discover` first and speaks the modern era with a
server that knows it; `legacy` is the initialize handshake; a revision is spoken without asking.
"""

from __future__ import annotations

import warnings
from typing import Any

import mcp_types
from driver import Job, OnProgress, Params, Peer, main
from mcp import Client, MCPDeprecationWarning, StdioServerParameters
from mcp.client.sse import sse_client
from sdk import callbacks, calls


def peer_of(client: Client) -> Peer:
    """Describe the connected client to the runner."""

    async def call_tool(params: Params, on_progress: OnProgress | None) -> Any:
        return await client.call_tool(
            params["name"], params["arguments"], progress_callback=on_progress
        )

    return Peer(
        server={
            "protocolVersion": client.protocol_version,
            "capabilities": client.server_capabilities,
            "serverInfo": client.server_info,
            "instructions": client.instructions,
        },
        call_tool=call_tool,
        calls=calls(client, mcp_types),
    )


def server_of(job: Job) -> Any:
    """What the command line names, in the form that the library takes."""
    if job.transport == "streamable-http":
        return job.url
    if job.transport == "sse":
        return sse_client(job.url)
    command, *args = job.server
    return StdioServerParameters(command=command, args=args, env=job.environment)


async def play(job: Job) -> None:
    """Connect, play the scenario, close."""
    listening = callbacks(job.heard, mcp_types)
    async with Client(server_of(job), mode=job.mode, **listening) as client:
        await job.play(peer_of(client))


if __name__ == "__main__":
    warnings.simplefilter("ignore", MCPDeprecationWarning)  # of what 2026-07-28 dropped
    main(play, modes=("auto", "legacy", "2026-07-28"))
