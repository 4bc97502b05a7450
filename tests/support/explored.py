"""The demo server in memory, explored with a recording of its short tour."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import attrs
import trio
from trio.testing import MockClock

from mcpmock.cassette.file import load
from mcpmock.channels.channel import ConversationEnd, memory_pair
from mcpmock.demo.bugs import BUGS
from mcpmock.demo.conversation import DemoServer
from mcpmock.explore.enumeration import Space
from mcpmock.explore.fault_set import chosen_kinds
from mcpmock.explore.results import Exploration, ExploredRow
from mcpmock.pipeline.pipeline import Pipeline
from mcpmock.pipeline.stage import PASS, Action, Hangup, Send, Stage, Wake
from mcpmock.protocol.messages import S2C, Frame, ProcessExit, StreamEnd
from mcpmock.runner import LiveSession, run
from mcpmock.sessions.explore import Explorer, Limits
from mcpmock.sessions.explore_server import ExploredServer
from mcpmock.sessions.servers import Reach, Server

RECORDED = Path(__file__).parents[1] / "explore" / "demo-short.jsonl"
PATIENCE_S = 2.0


@attrs.define
class Ladder(Stage):
    """Ends a server that does not end with its input, as a process is ended."""

    def feed(self, seen: Sequence[Frame], now: float) -> Iterable[Action]:
        if isinstance(seen[-1].fact, StreamEnd):
            return (Wake(now + PATIENCE_S), Send(seen))
        return PASS

    def wake(self, now: float) -> Iterable[Action]:
        return (Send([Frame(S2C, b"", b"", ProcessExit(signal=15))]), Hangup("killed"))


@attrs.frozen
class DemoInMemory(Server):
    """A demo server of its own for each session."""

    bug: str | None = None

    @property
    def described(self) -> str:
        return "memory"

    async def open(self, reach: Reach, front: object = None) -> ConversationEnd:
        theirs, ours = memory_pair()
        demo = DemoServer() if self.bug is None else BUGS[self.bug]()

        async def serve() -> None:
            try:
                await run(LiveSession(Pipeline([Ladder(), demo]), theirs, None))
            except* KeyError:
                await theirs.aclose()  # it crashed

        trio.lowlevel.spawn_system_task(serve)
        return ours


def explored(
    folder: Path, bug: str | None = None, kinds: str = "none", only: Any = None, **limits: Any
) -> tuple[Exploration, list[ExploredRow]]:
    """Explores the demo server on a clock of its own: what was found, and the rows as told."""
    cassette, rows = load(RECORDED), list[ExploredRow]()
    space = Space(
        side="server",
        events=cassette.takes[0].events,
        kinds=chosen_kinds(kinds, "server"),
        only=only,
    )
    explorer = Explorer(
        subject=ExploredServer(cassette=cassette, server=DemoInMemory(bug), words=("--", "demo")),
        space=space,
        limits=Limits(**limits),
        output=folder / "found",
        tell=rows.append,
    )

    async def explore() -> Exploration:
        return await explorer.explore(trio.Event())

    return trio.run(explore, clock=MockClock(autojump_threshold=0)), rows
