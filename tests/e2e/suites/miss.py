"""An agent that asks what was never recorded, after a call that the server complained of."""

import os
from contextlib import suppress

import pytest
from mcp import Client


@pytest.mark.asyncio
@pytest.mark.mcpmock("time.jsonl", faults="latency:latency=1ms,tool=get_current_time", seed=7)
async def test_the_agent(mcpmock_server):
    way = os.environ["WAY"]
    to = mcpmock_server.transport() if way == "memory" else getattr(mcpmock_server, way)
    async with Client(to) as client:
        with suppress(Exception):
            await client.call_tool("get_current_time", {"timezone": "Mars/Olympus"})
        await client.call_tool("get_current_time", {"timezone": "Asia/Kyoto"})
