"""`.transport()` in every record mode, for each client that is installed. A real server is a
process or at a URL.
"""

import os
import sys

import pytest
from mcp import ClientSession

import mcpmock

COMMAND = [sys.executable, "-m", "mcpmock.demo.server"]
RESULT = {"city": "Oslo", "celsius": 4, "sky": "snow"}
pytestmark = [getattr(pytest.mark, os.environ["LOOP"])]


async def by_session(transport):
    async with transport as streams, ClientSession(*streams) as session:
        await session.initialize()
        await session.call_tool("weather", {"city": "Oslo"})


async def by_sdk(transport):
    from mcp import Client

    async with Client(transport) as client:
        await client.call_tool("weather", {"city": "Oslo"})


async def by_fastmcp(transport):
    from fastmcp import Client

    client = Client(transport)
    for _ in range(2):  # it may connect again
        async with client:
            await client.call_tool("weather", {"city": "Oslo"})


CLIENTS = {"session": by_session, "sdk": by_sdk, "fastmcp": by_fastmcp}


@pytest.fixture(params=["command", "url"])
def server(request, mcpmock_serve, client):
    stub = mcpmock.Stub().tool("weather").reply(RESULT)
    real = {
        "command": lambda: {"server": COMMAND},
        "url": lambda: {"url": mcpmock_serve(stub=stub).url},
    }
    return mcpmock_serve(f"{client}-{request.param}.jsonl", **real[request.param]())


@pytest.fixture(params=os.environ["CLIENTS"].split())
def client(request):
    if request.param == "fastmcp":
        import fastmcp  # noqa: F401 (users import it before they ask for a transport)
    return request.param


async def test_the_transport(server, client):
    await CLIENTS[client](server.transport())
    times = 2 if client == "fastmcp" else 1
    server.assert_called("tools/call", times=times, tool="weather")
