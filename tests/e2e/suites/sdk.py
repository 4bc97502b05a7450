"""The official SDK 2 on an agent's own event loop: pytest-asyncio in strict mode, or anyio on both.

Copied as a test module of a user's; `LOOP` in its environment names the marker.
"""

import os

import pytest
from mcp import Client

pytestmark = [getattr(pytest.mark, os.environ["LOOP"]), pytest.mark.mcpmock("weather.jsonl")]


@pytest.mark.parametrize("way", ["memory", "stdio", "url"])
async def test_the_weather(mcpmock_server, way):
    to = mcpmock_server.transport() if way == "memory" else getattr(mcpmock_server, way)
    async with Client(to) as client:
        result = await client.call_tool("get_weather", {"city": "Oslo"})

    assert result.content[0].text == "rain"
    mcpmock_server.assert_called("tools/call", times=1, tool="get_weather")
    mcpmock_server.assert_order("initialize", "tools/call get_weather")


async def test_two_clients_of_one_server(mcpmock_server):
    async with Client(mcpmock_server.transport()) as here, Client(mcpmock_server.url) as there:
        for client in (here, there):
            await client.call_tool("get_weather", {"city": "Oslo"})

    assert len({call.session for call in mcpmock_server.requests("tools/call")}) == 2
