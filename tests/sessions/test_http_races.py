"""Cancellation races on replay as server, down to the bytes: connections in memory, a clock of the
test's own.
"""

from __future__ import annotations

import json
from typing import Any

from mcpmock.faults.match import Match
from mcpmock.faults.plan import Plan
from mcpmock.faults.races.fault import CancelRace
from mcpmock.faults.races.grid import REACTIONS, Cell, Reaction, cells
from mcpmock.faults.receipts import FaultRun
from mcpmock.playback.player import PlayerOptions
from mcpmock.sessions.replay import Replay
from mcpmock.sessions.run import Setup, run_sessions
from tests.sessions.web import Web, running, web
from tests.support import (
    INITIALIZE,
    OPENING,
    c,
    cancelled,
    cassette,
    error,
    progress,
    request,
    response,
    s,
)
from tests.support.http_caller import Caller, HungUpError

__all__ = ["web"]  # a fixture

RACES = [(cell, reaction) for cell in cells(3) for reaction in REACTIONS]


def name(cell: Cell, reaction: Reaction) -> str:
    return f"{cell.i}-{cell.j}-{reaction}"


def call(id_: int, cell: Cell, reaction: Reaction) -> bytes:
    return request(id_, "tools/call", {"name": name(cell, reaction)}, token=id_)


def said(id_: int) -> list[bytes]:
    return [progress(id_, 1), progress(id_, 2), response(id_, {"content": []})]


async def race(web: Web, session: str, id_: int, cell: Cell, reaction: Reaction) -> list[Any]:
    """What the client gets on the call's own connection, and how that ends."""
    caller = web.door.client()
    await caller.post(call(id_, cell, reaction), session)
    await caller.head()
    await caller.event()  # what a client may take the stream up behind
    got = [await caller.data() for _ in range(cell.i)]
    assert 202 == (await web.posts(cancelled(id_), session)).status
    return got + await rest(caller)


async def rest(caller: Caller) -> list[Any]:
    got = []
    try:
        while (message := await caller.data()) is not None:
            got.append(message)
    except HungUpError:
        return [*got, "hung up"]
    return [*got, "end"]


def expected(id_: int, cell: Cell, reaction: Reaction) -> list[Any]:
    failed, answer = error(id_, -32800, "Request cancelled"), said(id_)[-1]
    late: dict[Reaction, list[bytes]] = {
        "late_result": [answer],
        "late_error": [failed],
        "late_progress": said(id_)[cell.j : -1] or [progress(id_, 4)],
        "error_then_result": [failed, answer],
    }
    raws = said(id_)[: cell.j] + (late.get(reaction, []) if cell.reacts else [])
    dies = cell.reacts and reaction in ("crash", "close")
    return [*map(json.loads, raws), "hung up" if dies else "end"]


async def test_every_cell(web: Web) -> None:
    """The frames that the client reads are the definition; the session goes on through all."""
    lines = [*OPENING]
    for id_, race_ in enumerate(RACES, 1):
        lines += [c(call(id_, *race_)), *map(s, said(id_))]
    faults = [
        CancelRace(i=cell.i, j=cell.j, reaction=reaction, match=Match(tool=name(cell, reaction)))
        for cell, reaction in RACES
    ]
    run = FaultRun.of(Plan(faults=tuple(faults)))
    replay = Replay(cassette(*lines), PlayerOptions(), lambda what: web.said.append(str(what)))
    setup = Setup(front=web.front(), replay=replay, faults=run, say=web.said.append)
    async with running(web, lambda: run_sessions(setup)):
        session = (await web.posts(INITIALIZE)).header("mcp-session-id") or ""
        for id_, race_ in enumerate(RACES, 1):
            assert expected(id_, *race_) == await race(web, session, id_, *race_), race_
            pong = await web.posts(request(1000 + id_, "ping"), session)
            assert response(1000 + id_) == pong.body

    assert ([], []) == (web.said, run.mistakes)
