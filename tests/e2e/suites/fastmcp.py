"""FastMCP 4, which runs on asyncio."""

import pytest
from fastmcp import Client
from fastmcp.client.transports import StdioTransport

pytestmark = [pytest.mark.asyncio, pytest.mark.mcpmock("weather.jsonl")]


@pytest.mark.parametrize("way", ["memory", "stdio", "url"])
async def test_the_weather(mcpmock_server, way):
    if way == "stdio":
        program, *arguments = mcpmock_server.command
        to = StdioTransport(program, arguments, keep_alive=False)
    else:
        to = mcpmock_server.transport() if way == "memory" else mcpmock_server.url
    async with Client(to) as client:
        result = await client.call_tool("get_weather", {"city": "Oslo"})

    assert result.content[0].text == "rain"
    mcpmock_server.assert_called("tools/call", times=1, tool="get_weather")
