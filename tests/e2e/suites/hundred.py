"""A hundred tests of one recorded session: in memory, or over the URL, as `WAY` says."""

import os

import pytest
from mcp import Client

pytestmark = [pytest.mark.asyncio, pytest.mark.mcpmock("time.jsonl")]


@pytest.mark.parametrize("n", range(100))
async def test_the_time(mcpmock_server, n):
    to = mcpmock_server.url if os.environ["WAY"] == "url" else mcpmock_server.transport()
    async with Client(to) as client:
        result = await client.call_tool("get_current_time", {"timezone": "Asia/Tokyo"})

    assert "Asia/Tokyo" in result.content[0].text
    mcpmock_server.assert_called("tools/call", times=1)
