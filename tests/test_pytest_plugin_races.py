"""`mcpmock_races`, by runs of pytest inside: agents with a planted cancel bug fail where it is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mcpmock.faults.races.grid import REACTIONS, cells
from mcpmock.testing.races import Raced, list_races
from tests.support.slow_call import CASSETTE
from tests.test_pytest_plugin import PLUGIN

GRID = list(list_races(3, REACTIONS))
MARKED = """
import pytest
pytestmark = [
    pytest.mark.anyio,
    pytest.mark.mcpmock("slow.jsonl", races={"tool": "slow"}),
]

@pytest.fixture
def anyio_backend():
    return BACKEND
"""
BY_HAND = """
import json
import anyio
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter as adapter

HELLO = {"protocolVersion": "2025-11-25", "capabilities": {},
         "clientInfo": {"name": "t", "version": "1"}}

class Agent:
    '''Calls tools, and may be stopped. The bug: it forgets a call that it cancels.'''

    def __init__(self, read, write):
        self.read, self.write, self.pending, self.gone = read, write, {}, anyio.Event()

    async def listen(self):
        async for item in self.read:
            message = json.loads(item.message.model_dump_json(by_alias=True, exclude_unset=True))
            if "method" in message:
                continue
            answered = self.pending.pop(message["id"])  # KeyError: nobody waits for this
            answered.set()
        self.gone.set()

    async def send(self, message):
        raw = json.dumps({"jsonrpc": "2.0", **message})
        await self.write.send(SessionMessage(adapter.validate_json(raw)))

    async def ask(self, id, method, **params):
        answered = self.pending[id] = anyio.Event()
        await self.send({"id": id, "method": method, "params": params})
        return answered

    async def cancel(self, id):
        self.pending.pop(id, None)
        await self.send({"method": "notifications/cancelled", "params": {"requestId": id}})

async def test_agent(mcpmock_server, mcpmock_races):
    async with mcpmock_server.transport() as streams, anyio.create_task_group() as group:
        agent = Agent(*streams)
        group.start_soon(agent.listen)
        await (await agent.ask(0, "initialize", **HELLO)).wait()
        await agent.send({"method": "notifications/initialized"})
        await agent.ask(7, "tools/call", name="slow", arguments={}, _meta={"progressToken": "p"})
        await mcpmock_races.moment()
        assert 7 == mcpmock_races.request_id
        await agent.cancel(7)
        over = agent.gone if mcpmock_races.ends else await agent.ask(8, "ping")
        await over.wait()
        assert mcpmock_races.cell == mcpmock_races.reached
        group.cancel_scope.cancel()
"""

WITH_THE_SDK = """
import anyio
from mcp import Client

class Agent:
    '''Calls a slow tool, and may be stopped. The bug: it says where, though it may know none.'''

    def __init__(self, client):
        self.client, self.scope, self.seen = client, anyio.CancelScope(), []

    async def progress(self, progress, total, message):
        self.seen.append(int(progress))

    async def work(self):
        with self.scope:
            await self.client.call_tool("slow", {}, progress_callback=self.progress)
        self.told = f"stopped at {self.seen[-1]}" if self.scope.cancelled_caught else "done"

async def test_agent(mcpmock_server, mcpmock_races):
    race = mcpmock_races
    async with Client(mcpmock_server.transport(), mode="legacy") as client:
        agent = Agent(client)
        async with anyio.create_task_group() as group:
            group.start_soon(agent.work)
            await race.moment()
            agent.scope.cancel()
        if race.i < race.k:
            assert [1, 2][:race.i] == agent.seen
            assert f"stopped at {race.i}" == agent.told
            if not race.ends:
                await client.send_ping()
                assert race.cell == race.reached
        else:
            assert "done" == agent.told
            assert race.reached is None
"""


def late_answer(race: Raced) -> bool:
    """Where an answer comes behind the cancel."""
    late = race.reaction in ("late_result", "late_error", "error_then_result")
    return late if race.cell.reacts else race.cell.i < race.cell.k


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A suite with the recording of a slow call."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))
    (pytester.path / "slow.jsonl").write_bytes(CASSETTE)
    return pytester


def outcomes(run: pytest.Pytester, source: str, backend: str) -> tuple[set[str], set[str]]:
    """The ids of the tests that failed, and of those that passed."""
    run.makepyfile(test_a=MARKED.replace("BACKEND", repr(backend)) + source)
    result = run.runpytest_inprocess(*PLUGIN, "-p", "anyio", "-rA", "--tb=no")
    found = re.findall(
        r"^(PASSED|FAILED) test_a\.py::test_agent\[(\S+)\]", str(result.stdout), re.M
    )
    told = {word: {id_ for said, id_ in found if said == word} for word in ("FAILED", "PASSED")}
    return told["FAILED"], told["PASSED"]


def test_the_grid() -> None:
    """Every cell, and every reaction that differs there."""
    assert 46 == len(GRID) == len({race.id for race in GRID})
    assert set(cells(3)) == {race.cell for race in GRID}
    assert "cancel_crosses_response-i1-j3-silent" in {race.id for race in GRID}


@pytest.mark.e2e
@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_client_by_hand(run: pytest.Pytester, backend: str) -> None:
    """It fails where an answer crosses its cancel, and nowhere else; every cell is reached."""
    pytest.importorskip("mcp.client")
    failed, passed = outcomes(run, BY_HAND, backend)

    assert {race.id for race in GRID if late_answer(race)} == failed
    assert {race.id for race in GRID if not late_answer(race)} == passed


@pytest.mark.e2e
@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_an_agent_with_the_sdk(run: pytest.Pytester, backend: str) -> None:
    """It fails where it is stopped before anything came, and nowhere else."""
    pytest.importorskip("mcp.client")
    failed, passed = outcomes(run, WITH_THE_SDK, backend)

    assert {race.id for race in GRID if race.cell.i == 0} == failed
    assert {race.id for race in GRID if race.cell.i > 0} == passed
