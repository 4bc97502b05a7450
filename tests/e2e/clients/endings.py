"""The clients of PyPI mcp 1.x and 2.x, calling one tool of each of several servers at once, and
closing as their libraries do: what endings.mjs is for Node.

    endings.py JOB

JOB is a JSON file: a name for each server and its command. Prints what each said, by name.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import anyio
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

PATIENCE = 60.0  # seconds for everything


async def call(command: str, *args: str) -> str:
    server = StdioServerParameters(command=command, args=list(args), env=dict(os.environ))
    async with stdio_client(server) as streams, ClientSession(*streams) as session:
        await session.initialize()
        return (await session.call_tool("work", {})).content[0].text


async def main(job: dict[str, list[str]]) -> None:
    said = {}

    async def note(name: str, command: list[str]) -> None:
        said[name] = await call(*command)

    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as group:
            for name, command in job.items():
                group.start_soon(note, name, command)
    print(json.dumps(said))


if __name__ == "__main__":
    anyio.run(main, json.loads(Path(sys.argv[1]).read_bytes()))
