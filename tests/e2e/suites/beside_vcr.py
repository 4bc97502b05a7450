"""A cassette of vcrpy for the agent's other HTTP, and one of ours for MCP, in one test."""

import asyncio
import json
import urllib.request

import pytest
from mcp import Client


@pytest.fixture(scope="module")
def vcr_config():
    return {"ignore_localhost": True}


@pytest.mark.vcr("other.yaml")
@pytest.mark.mcpmock("weather.jsonl")
@pytest.mark.parametrize("way", ["memory", "url"])
def test_both(mcpmock_server, way):
    async def agent():
        to = mcpmock_server.transport() if way == "memory" else mcpmock_server.url
        async with Client(to) as client:
            return await client.call_tool("get_weather", {"city": "Oslo"})

    with urllib.request.urlopen("http://city.example/home", timeout=5) as answer:
        assert json.load(answer) == {"city": "Oslo"}
    assert asyncio.run(agent()).content[0].text == "rain"


@pytest.mark.block_network
@pytest.mark.mcpmock("weather.jsonl")
def test_no_network_is_needed_in_memory(mcpmock_server):
    async def agent():
        async with Client(mcpmock_server.transport()) as client:
            return await client.list_tools()

    assert asyncio.run(agent()).tools[0].name == "get_weather"
