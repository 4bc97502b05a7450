"""The demo server in memory, explored with a recording of its short tour."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import attrs
import trio
from trio.testing import MockClock

from mcpmock.cassette.file import load
from mcpmock.channels.channel import ConversationEnd, memory_pair
from mcpmock.channels.http.client import HttpClientChannel
from mcpmock.demo.bugs import BUGS, HTTP_BUGS
from mcpmock.demo.http_server import serve_http
from mcpmock.demo.routes import DemoServer
from mcpmock.explore.enumeration import Space
from mcpmock.explore.fault_set import chosen_kinds
from mcpmock.explore.results import Exploration, ExploredRow, JudgedRun
from mcpmock.explore.variant import variant_of
from mcpmock.faults.plan import load_plan
from mcpmock.pipeline.pipeline import Pipeline
from mcpmock.pipeline.stage import PASS, Action, Hangup, Send, Stage, Wake
from mcpmock.protocol.messages import S2C, Frame, ProcessExit, StreamEnd
from mcpmock.runner import LiveSession, run
from mcpmock.sessions.explore import Explorer, Limits, play_again
from mcpmock.sessions.explore_server import ExploredServer
from mcpmock.sessions.http_front import HttpFront, OpenedPort
from mcpmock.sessions.servers import Reach, Server
from mcpmock.sessions.url_server import Url
from mcpmock.transports.headers import Upstream
from mcpmock.transports.session_router import TransportKind
from tests.support.memory_listener import PORT, Door

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


@attrs.frozen(kw_only=True)
class DemoOverHttp(Url):
    """The demo server behind a listener in memory, with one session for each of ours."""

    door: Door

    @classmethod
    def behind(cls, door: Door) -> DemoOverHttp:
        upstream = Upstream.parse(f"http://127.0.0.1:{PORT}/mcp")
        return cls(upstream=upstream, transport=TransportKind.STREAMABLE_HTTP, door=door)

    async def open(self, reach: Reach, front: object = None) -> ConversationEnd:
        async def connect() -> trio.abc.Stream:
            await trio.lowlevel.checkpoint()
            return self.door.connect()

        return HttpClientChannel(connect, self.upstream)


@asynccontextmanager
async def demo_server(bug: str | None, *, http: bool) -> AsyncIterator[Server]:
    """The demo server with this bug, in memory."""
    if not http:
        yield DemoInMemory(bug)
        return
    door, stop = Door(), trio.Event()
    opened = OpenedPort([door], PORT, None)  # type: ignore[list-item]
    make = DemoServer if bug is None else BUGS.get(bug, DemoServer)
    front = HttpFront(opened=opened)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(serve_http, make, HTTP_BUGS.get(bug or ""), front, stop)
        yield DemoOverHttp.behind(door)
        stop.set()


def explored(
    folder: Path,
    bug: str | None = None,
    kinds: str = "none",
    only: Any = None,
    *,
    http: bool = False,
    **limits: Any,
) -> tuple[Exploration, list[ExploredRow]]:
    """Explores the demo server on a clock of its own: what was found, and the rows as told."""
    cassette, rows = load(RECORDED), list[ExploredRow]()
    space = Space(
        side="server",
        events=cassette.takes[0].events,
        kinds=chosen_kinds(kinds, "server"),
        only=only,
        resumes=http,
    )

    async def explore() -> Exploration:
        async with demo_server(bug, http=http) as server:
            explorer = Explorer(
                peer=ExploredServer(cassette=cassette, server=server, words=("--", "demo")),
                space=space,
                limits=Limits(**limits),
                output=folder / "found",
                tell=rows.append,
            )
            return await explorer.explore(trio.Event())

    return trio.run(explore, clock=MockClock(autojump_threshold=0)), rows


def shown_again(plan_file: str, bug: str | None, *, http: bool = False) -> str | None:
    """The oracle that the plan of a failure breaks in a server with this bug."""
    plan = load_plan(Path(plan_file))
    schedule = plan.schedule
    assert schedule is not None

    async def play() -> JudgedRun:
        async with demo_server(bug, http=http) as server:
            keep = schedule.keep
            subject = ExploredServer(cassette=load(RECORDED), server=server, keep=keep)
            return await play_again(subject, variant_of(plan))

    broken = trio.run(play, clock=MockClock(autojump_threshold=0)).broken
    return broken[0].oracle if broken else None
