"""The official SDK 1, on the event loop that the marker `LOOP` in its environment stands for."""

import os

import pytest
from mcp import ClientSession
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

pytestmark = [getattr(pytest.mark, os.environ["LOOP"]), pytest.mark.mcpmock("weather.jsonl")]


@pytest.mark.parametrize("way", ["memory", "stdio", "url"])
async def test_the_weather(mcpmock_server, way):
    if way == "memory":
        transport = mcpmock_server.transport()
    elif way == "stdio":
        transport = stdio_client(mcpmock_server.stdio)
    else:
        transport = streamable_http_client(mcpmock_server.url)
    async with transport as streams, ClientSession(streams[0], streams[1]) as session:
        await session.initialize()
        result = await session.call_tool("get_weather", {"city": "Oslo"})

    assert result.content[0].text == "rain"
    mcpmock_server.assert_order("initialize", "tools/call get_weather")
