"""`replay --workers`: one port, several processes, one end."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from mcpmock.protocol.transport_facts import SESSION_HEADER
from tests.support import INITIALIZE, request
from tests.support.http_caller import Caller, calling
from tests.support.processes import END, GONE, gone
from tests.support.weather import write_weather

from .http_processes import Served, replaying

pytestmark = pytest.mark.e2e

WORKERS = ("--order", "any", "--workers", "2")
CLIENTS = 60
"""So many that one of two processes gets all of them once in 2**59 runs."""
ARGUMENTS = {"name": "get_weather", "arguments": {"city": "Oslo"}}


@asynccontextmanager
async def crowd(served: Served) -> AsyncIterator[list[Caller]]:
    """Clients that each had an answer, none of them a session: all workers run."""
    async with AsyncExitStack() as stack:
        callers = [await stack.enter_async_context(calling(served.url)) for _ in range(CLIENTS)]
        for caller in callers:
            await caller.post(INITIALIZE)
        for caller in callers:
            answer = await caller.answer()
            assert SESSION_HEADER not in {name.lower() for name, _ in answer.headers}
        yield callers


def workers_of(served: Served) -> list[int]:
    pid = served.process.pid
    return [int(p) for p in Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii").split()]


async def test_clients_share_the_workers(tmp_path: Path) -> None:
    """Both processes have clients, and each client gets its own answer."""
    with replaying(write_weather(tmp_path / "a.jsonl"), *WORKERS) as served:
        async with crowd(served) as callers:
            for nth, caller in enumerate(callers):
                await caller.post(request(nth, "tools/call", ARGUMENTS))
            found = [[m["id"] for m in await caller.messages() if "id" in m] for caller in callers]
            connected = [len(os.listdir(f"/proc/{pid}/fd")) for pid in workers_of(served)]

    assert [[nth] for nth in range(CLIENTS)] == found
    assert max(connected) < min(connected) + CLIENTS
    assert 0 == served.exit_code


async def test_all_end_together(tmp_path: Path) -> None:
    """A worker that is killed ends the others and the command; with the command they end too."""
    cassette = write_weather(tmp_path / "a.jsonl")
    with replaying(cassette, *WORKERS) as served:
        async with crowd(served):
            os.kill(workers_of(served)[0], signal.SIGKILL)
            assert 137 == served.process.wait(END)
    assert "mcpmock: a worker has ended with status 137, and so do all others" in served.stderr

    with replaying(cassette, *WORKERS) as served:
        async with crowd(served):
            left = workers_of(served)
            served.process.kill()
            assert gone(left, GONE)
