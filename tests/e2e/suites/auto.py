"""The official SDK 2 under pytest-asyncio in auto mode, or pytest-trio in trio mode: no marker."""

import pytest
from mcp import Client


@pytest.fixture
async def city():
    return "Oslo"


@pytest.mark.mcpmock("weather.jsonl", unused="fail")
async def test_the_weather(mcpmock_server, city):
    async with Client(mcpmock_server.url) as client:
        await client.list_tools()
        result = await client.call_tool("get_weather", {"city": city})

    assert result.content[0].text == "rain"
    mcpmock_server.assert_called("tools/list")
