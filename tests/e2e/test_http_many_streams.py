"""Two hundred event streams, open at once: a reader that does not read holds up nobody else, and
all of them end when we do.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import trio

from mcpmock.channels.channel import MAX_HELD_BYTES
from mcpmock.protocol.messages import S2C
from tests.support import notification
from tests.support.http_caller import TOGETHER, calling
from tests.support.http_upstream import Asked, Reply, upstream
from tests.support.processes import END, whole_take

from .http_processes import FORWARDING, Served, forwarding, recording, replaying

pytestmark = pytest.mark.e2e

STREAMS = 200
STALLED = STREAMS // 10
FLOODS = 5
EVENTS = 5
FILLER = "x" * 60_000
FLOOD = 200
"""Fillers that are sent in one go: more than a socket and we hold together."""


def said(n: int, filler: str) -> bytes:
    return notification("notifications/message", {"level": "info", "data": n, "filler": filler})


def texts(asked: Asked) -> list[str]:
    return [FILLER] * FLOOD if asked.header("mcp-name") == "flood" else [asked.target]


class Crowd:
    """The clients: most of them listen, and say of whom they hear; some never read, and of these
    a few ask for a flood.
    """

    def __init__(self) -> None:
        self.heard: list[tuple[int, int, str]] = []
        """Who has heard which event, and what it says."""
        self.turns = [trio.Event() for _ in range(EVENTS + 1)]
        """The first is set when all streams are open, each other one when everybody has heard the
        event before.
        """
        self._open = 0

    async def answer(self, asked: Asked, reply: Reply) -> None:
        """A script: on each stream, at every turn, an event with its target, or the flood."""
        await reply.open()
        self._open += 1
        if self._open == STREAMS:
            self.turns[0].set()
        for n, turn in enumerate(self.turns[:-1]):
            await turn.wait()
            for text in texts(asked):
                await reply.event(said(n, text))
        await reply.left()

    async def visit(self, front: Served) -> None:
        """All of them come, and hear all events; then SIGTERM ends it all."""
        with trio.fail_after(TOGETHER):
            async with trio.open_nursery() as nursery:
                for nth in range(STREAMS):
                    if nth < STALLED:
                        await nursery.start(self._stall, front.url, nth)
                    else:
                        nursery.start_soon(self._listen, front.url, nth)
                await self.turns[EVENTS].wait()
                front.process.terminate()
                front.process.wait(END)

    async def _stall(self, url: str, nth: int, task_status: trio.TaskStatus[None]) -> None:
        kind = "flood" if nth < FLOODS else "events"
        async with calling(url, window=4096) as caller:
            await caller.ask("GET", f"{caller.target}?{nth}", [("Mcp-Name", kind)])
            task_status.started()
            await self.turns[EVENTS].wait()

    async def _listen(self, url: str, nth: int) -> None:
        async with calling(url) as caller:
            await caller.ask("GET", f"{caller.target}?{nth}", [("Mcp-Name", "events")])
            assert await caller.head() == 200
            for n in range(EVENTS):
                params = (await caller.data())["params"]
                assert params["data"] == n
                self.heard.append((nth, n, params["filler"]))
                if len(self.heard) == (n + 1) * (STREAMS - STALLED):
                    self.turns[n + 1].set()
            await caller.ended()


@pytest.mark.parametrize("how", FORWARDING)
async def test_many_streams(tmp_path: Path, how: str) -> None:
    """Each hears its own events, in lockstep with all the others, beside twenty that never read and
    a few of those that are sent far more than we hold for them. SIGTERM ends it all, and
    the cassette is whole: it has every event that was heard.
    """
    crowd = Crowd()
    async with upstream(crowd.answer) as server:
        with forwarding(how, tmp_path / "a.jsonl", server.url) as front:
            await crowd.visit(front)

    said = 2 if how == "record" else 1  # a recorder says how much it has recorded
    assert (front.exit_code, front.stderr.count("\n")) == (0, said)
    assert sorted(crowd.heard) == [
        (nth, n, f"/mcp?{nth}") for nth in range(STALLED, STREAMS) for n in range(EVENTS)
    ]
    if how == "record":
        assert set(crowd.heard) <= recorded(tmp_path / "a.jsonl")
        assert (tmp_path / "a.jsonl").stat().st_size < FLOODS * 2 * MAX_HELD_BYTES


def recorded(cassette: Path) -> set[tuple[int, int, str]]:
    found = set()
    for event in whole_take(cassette).events:
        if event.payload and event.d == S2C.value and FILLER.encode() not in event.payload:
            params = json.loads(event.payload)["params"]
            found.add((int(params["filler"].partition("?")[2]), params["data"], params["filler"]))
    return found


async def test_many_replayed_streams(tmp_path: Path) -> None:
    """One recorded stream is played to all of them at once, beside those that do not read, and
    stays open; SIGTERM ends it all.
    """

    async def script(asked: Asked, reply: Reply) -> None:
        await reply.open()
        for n in range(EVENTS):
            for text in texts(asked):
                await reply.event(said(n, text))
        await reply.left()

    cassette = tmp_path / "a.jsonl"
    async with upstream(script) as server:
        with recording(cassette, server.url) as recorder:
            for kind, count in (("events", EVENTS), ("flood", FLOOD)):
                async with calling(recorder.url) as caller:
                    await caller.ask("GET", headers=[("Mcp-Name", kind)])
                    await caller.head()
                    for _ in range(count):
                        await caller.event()
    crowd = Crowd()
    with replaying(cassette) as player:
        await crowd.visit(player)

    assert (player.exit_code, player.stderr.count("\n")) == (0, 1)
    assert sorted(crowd.heard) == [
        (nth, n, "/mcp") for nth in range(STALLED, STREAMS) for n in range(EVENTS)
    ]
