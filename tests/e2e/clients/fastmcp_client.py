"""The client of PyPI fastmcp 4, as its users write it.

    fastmcp_client.py --scenario NAME --workdir DIR -- SERVER ARG..
    fastmcp_client.py --scenario NAME --workdir DIR --transport streamable-http|sse --url URL

The name is not fastmcp.py, which would hide the library.
"""

from __future__ import annotations

import warnings
from typing import Any

import mcp_types
from driver import Heard, Job, OnProgress, Params, Peer, main
from fastmcp import Client
from fastmcp.client.elicitation import ElicitResult
from fastmcp.client.transports import (
    ClientTransport,
    SSETransport,
    StdioTransport,
    StreamableHttpTransport,
)
from mcp import MCPDeprecationWarning
from sdk import calls, reference


def handlers(heard: Heard) -> dict[str, Any]:
    """The client's side of the conversation; an exception in a handler is an error answer."""

    async def sample(_messages: Any, params: Any, _context: Any) -> Any:
        answer = heard.ask("sampling/createMessage", params)
        return mcp_types.CreateMessageResult.model_validate(answer)

    async def elicit(_message: str, _type: Any, params: Any, _context: Any) -> Any:
        return ElicitResult(**heard.ask("elicitation/create", params))

    async def list_roots(_context: Any) -> Any:
        answer = heard.ask("roots/list", {})
        return mcp_types.ListRootsResult.model_validate(answer).roots

    return {
        "sampling_handler": sample,
        "elicitation_handler": elicit,
        "roots": list_roots,
        "log_handler": heard.log,
        "message_handler": heard.message,
    }


def peer_of(client: Client[Any]) -> Peer:
    """Describe the connected client to the runner."""

    async def call_tool(params: Params, on_progress: OnProgress | None) -> Any:
        answer = await client.call_tool(
            params["name"],
            params["arguments"],
            progress_handler=on_progress,
            raise_on_error=False,
        )
        return {  # without .data, the structured content again, in a class made at run time
            "content": answer.content,
            "structuredContent": answer.structured_content,
            "isError": answer.is_error,
            "_meta": answer.meta,
        }

    return Peer(
        server={
            "protocolVersion": client.protocol_version,
            "capabilities": client.server_capabilities,
            "serverInfo": client.server_info,
            "instructions": client.instructions,
        },
        call_tool=call_tool,
        calls={
            **calls(client, mcp_types),
            "ping": lambda _: client.ping(),
            "resources/subscribe": lambda p: client.session.subscribe_resource(p["uri"]),
            "resources/unsubscribe": lambda p: client.session.unsubscribe_resource(p["uri"]),
            "completion/complete": lambda p: client.complete(
                reference(mcp_types, p["ref"]),
                p["argument"],
                p.get("context", {}).get("arguments"),
            ),
        },
    )


def transport_of(job: Job) -> ClientTransport:
    """The client's end of the transport that the command line names."""
    if job.transport == "streamable-http":
        return StreamableHttpTransport(job.url)
    if job.transport == "sse":
        return SSETransport(job.url)
    command, *args = job.server
    return StdioTransport(command, args, env=job.environment, keep_alive=False)


async def play(job: Job) -> None:
    """Connect, play the scenario, close."""
    async with Client(transport_of(job), **handlers(job.heard)) as client:
        await job.play(peer_of(client))


if __name__ == "__main__":
    warnings.simplefilter("ignore", MCPDeprecationWarning)  # of what 2026-07-28 dropped
    main(play)
