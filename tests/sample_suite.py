"""A suite as a user writes it, typed throughout: `test_sample_suite` runs it, and holds it against
`mypy --strict`.
"""

from __future__ import annotations

import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest
import trio
from mcp import Client
from mcp_types import TextContent

import mcpmock
from mcpmock import Call, Cassette, Diff, ReplayServer
from mcpmock.faults import Error, FaultControl, Latency, Match, Plan, load
from mcpmock.testing import CassetteFile, Race
from mcpmock.testing import Client as FakeClient

PLAN = Plan(
    faults=(Latency(latency="1ms", match={"tool": "get_*"}), Latency(latency=0.001)), seed=3
)
PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@asynccontextmanager
async def connected(server: ReplayServer) -> AsyncIterator[Client]:
    async with Client(server.transport(), mode="legacy") as client:
        yield client


@pytest.mark.anyio
@pytest.mark.mcpmock("weather.jsonl", faults=PLAN)
async def test_agent(mcpmock_server: ReplayServer) -> None:
    async with connected(mcpmock_server) as client:
        result = await client.call_tool("get_weather", {"city": "Oslo"})
    [content] = result.content
    assert isinstance(content, TextContent)
    assert content.text == "rain"
    calls: list[Call] = mcpmock_server.requests("tools/call")
    assert calls[0].params["arguments"] == {"city": "Oslo"}
    mcpmock_server.assert_called("tools/call", times=1, tool="get_weather")
    mcpmock_server.assert_order("initialize", "tools/call get_weather")
    assert mcpmock_server.faults.fired("latency") > 0


@pytest.mark.mcpmock("weather.jsonl", faults="slow.toml")
def test_plain(mcpmock_server: ReplayServer, mcpmock_faults: FaultControl) -> None:
    away = mcpmock_faults.add(Error(code=-1, message="away", match=Match(method="ping")))
    command: list[str] = mcpmock_server.command
    done = subprocess.run(command, input=PING, capture_output=True, check=False)
    assert b"away" in done.stdout
    assert away.fired == 1
    mcpmock_faults.remove(away)
    assert [tally["fault"] for tally in mcpmock_faults.tallies()] == ["error", "latency"]


@pytest.mark.anyio
@pytest.mark.mcpmock("slow.jsonl", races={"tool": "slow"}, reactions=["silent"], repeats="last")
async def test_races(mcpmock_server: ReplayServer, mcpmock_races: Race) -> None:
    async def shown(progress: float, total: float | None, message: str | None) -> None:
        seen.append(progress)

    async def work() -> None:
        await client.call_tool("slow", {}, progress_callback=shown)

    seen: list[float] = []
    async with connected(mcpmock_server) as client:
        async with anyio.create_task_group() as group:
            group.start_soon(work)
            await mcpmock_races.moment()
            group.cancel_scope.cancel()
        await client.list_tools()
    assert len(seen) == min(mcpmock_races.i, mcpmock_races.k - 1)
    assert mcpmock_races.reached in (mcpmock_races.cell, None)


@pytest.mark.mcpmock("weather.jsonl")
def test_server(mcpmock_client: FakeClient, mcpmock_cassette: CassetteFile) -> None:
    cassette: Cassette = mcpmock_cassette.load()
    with mcpmock.serve(cassette, order="any", seed=1) as server:
        driven = mcpmock_client.drive(url=server.url, faults=["delay:delay=1ms"])
    difference: Diff = driven.diff(ignore=["tools/list now $.result"])
    assert difference.worst is None
    assert mcpmock.diff(cassette, driven.live).worst is None


def test_without_fixtures() -> None:
    async def main() -> float:
        plan = load("slow.toml")
        async with mcpmock.replay("weather.jsonl", faults=plan) as server, server.open() as session:
            assert session is not None
        return trio.current_time()

    assert trio.run(main) > 0
    with pytest.raises(mcpmock.McpMockError):
        mcpmock.load("nowhere.jsonl")
