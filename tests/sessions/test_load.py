"""A load on a server in memory, on a clock that only moves where everybody waits: figures are
exact.
"""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from mcpmock.cassette.file import load as load_cassette
from mcpmock.channels.channel import MemoryChannel, memory_pair
from mcpmock.channels.fd import borrow, log_queue
from mcpmock.pipeline.pipeline import Pipeline
from mcpmock.playback.client.load import CallKind, Load
from mcpmock.playback.player import PlayerOptions, SessionSelection
from mcpmock.playback.session_player import SessionPlayer
from mcpmock.playback.timing import Pace, Timing
from mcpmock.runner import LiveSession, run
from mcpmock.sessions import load as load_module
from mcpmock.sessions import servers
from mcpmock.sessions.drive import drive_front
from mcpmock.sessions.load import LoadPace, load_front
from mcpmock.sessions.run import Run, Setup, run_sessions
from mcpmock.sessions.servers import Command, Server
from mcpmock.sessions.take import Recording
from mcpmock.sessions.url_server import Url
from tests.sessions.web import URL, Web, web
from tests.support import INITIALIZE, WELCOME, c, call, cassette, response, s
from tests.support.http_upstream import Asked, Reply

__all__ = ["web"]

ADD = CallKind("tools/call", "add")
SLOW = cassette((0.0, "c2s", call(1, "add")), (2.25, "s2c", response(1)))
"""A session of 2.25 s."""
Starts = list[float]


@pytest.fixture
def starts(monkeypatch: pytest.MonkeyPatch, nursery: trio.Nursery) -> Starts:
    """Every process replays `SLOW` at the speed of the recording. The times at which one starts."""
    found: Starts = []
    selection = SessionSelection(SLOW, PlayerOptions(pace=Pace(Timing("recorded"))))

    async def start(_command: Sequence[str]) -> MemoryChannel:
        found.append(trio.current_time())
        process, client = memory_pair()
        nursery.start_soon(run, LiveSession(Pipeline([SessionPlayer(selection)]), client, None))
        return process

    monkeypatch.setattr(servers, "start_process", start)
    return found


async def loaded(
    progress: Callable[[Load], None] | None = None, status: int = 0, **pace: Any
) -> Load:
    front = load_front(drive_front(SLOW), LoadPace(**pace), progress)
    setup = Setup(front=front, back=Command(["python"]), say=print)
    assert status == await run_sessions(setup)
    return front.load


async def test_sessions_follow_one_another(starts: Starts, autojump_clock: MockClock) -> None:
    """In a closed loop as many are open as may be, until all were."""
    load = await loaded(sessions=5, concurrency=2)

    assert [0, 0, 2.25, 2.25, 4.5] == starts
    assert (5, 5, 6.75, 0.0) == (load.sessions, load.count, load.seconds, load.latest_start)
    assert {2_250_000: 5} == load.calls[ADD].latencies.buckets


@pytest.mark.parametrize(("back", "raised"), [(Command(["python"]), 0), (Url.parse(URL), 1)])
async def test_the_limit_of_descriptors(
    starts: Starts, web: Web, monkeypatch: pytest.MonkeyPatch, back: Server, raised: int
) -> None:
    """It is raised for a server at a URL; a process would inherit it."""
    calls: list[None] = []
    monkeypatch.setattr(load_module, "raise_descriptor_limit", lambda: calls.append(None))
    front = load_front(drive_front(SLOW), LoadPace(sessions=1))
    await run_sessions(Setup(front=front, back=back, say=print))

    assert raised == len(calls)


async def test_sessions_at_a_rate(starts: Starts, autojump_clock: MockClock) -> None:
    """They are started when they are due, whether others are over or not."""
    load = await loaded(sessions=4, rate=2.0, concurrency=1000)

    assert [0, 0.5, 1, 1.5] == starts
    assert {2_250_000: 4} == load.calls[ADD].latencies.buckets


async def test_sessions_that_are_started_too_late(
    starts: Starts, autojump_clock: MockClock
) -> None:
    """Their latencies count from when they were due: a client that waits for a slow server must not
    hide how slow it is.
    """
    load = await loaded(sessions=3, rate=1.0, concurrency=1)

    assert [0, 2.25, 4.5] == starts
    assert [2_250_000, 3_500_000, 4_750_000] == sorted(load.calls[ADD].latencies.buckets)
    assert 2.5 == load.latest_start


async def test_no_session_is_started_after_the_time(
    starts: Starts, autojump_clock: MockClock
) -> None:
    """Those that run are played to their end; those that were due and did not run are counted."""
    load = await loaded(duration=4.0, concurrency=1)
    assert ([0, 2.25], 2, 0) == (starts, load.sessions, load.unstarted)

    load = await loaded(duration=4.0, rate=1.0, concurrency=1)
    assert (2, 2) == (load.sessions, load.unstarted)


async def test_a_signal_ends_it(starts: Starts, autojump_clock: MockClock) -> None:
    """What was counted until then stays."""

    def stop(load: Load) -> None:
        if load.seconds >= 4:
            signal.raise_signal(signal.SIGINT)

    load = await loaded(stop, status=130, duration=60.0)

    assert (1, 1, 4.0) == (load.sessions, load.count, load.seconds)
    assert [0, 2.25] == starts


async def test_a_signal_before_the_first_session(starts: Starts) -> None:
    """Nothing is started: the file of a recording may have been waited for."""
    front = load_front(drive_front(SLOW), LoadPace(sessions=1))
    stderr = log_queue(borrow(2, os.O_WRONLY))
    drive = front.drive(Run(Setup(front=front, back=Command(["python"]), say=print)), stderr)
    drive.stopped_by = signal.SIGINT
    await drive.play()
    stderr.close()

    assert ([], 0) == (starts, front.load.sessions)


async def test_progress(starts: Starts, autojump_clock: MockClock) -> None:
    """It is told every second."""
    told: list[tuple[float, int]] = []
    await loaded(lambda load: told.append((load.seconds, load.sessions)), sessions=2)

    assert [(1, 0), (2, 0), (3, 1), (4, 1)] == told


async def test_sessions_at_a_url(web: Web, autojump_clock: MockClock, tmp_path: Path) -> None:
    """Those that run at once have connections and sessions of their own, and all are in one
    recording.
    """
    ids = count(1)
    calling: Counter[str | None] = Counter()

    async def answer(what: Asked, reply: Reply) -> None:
        if what.method == "DELETE":
            await reply.whole(status=405)
        elif what.message["method"] == "initialize":
            await reply.whole(WELCOME, mcp_session_id=f"live {next(ids)}")
        else:
            calling[what.header("mcp-session-id")] += 1
            await trio.sleep(1)
            await reply.whole(response(1))

    web.server.script = answer
    server = Url.parse(URL)
    recorded = cassette(c(INITIALIZE), s(WELCOME), c(call(1, "add")), s(response(1)))
    front = load_front(drive_front(recorded, kind=server.kind), LoadPace(sessions=6, concurrency=3))
    recording, say = Recording(output=tmp_path / "b.jsonl"), web.said.append
    setup = Setup(front=front, back=server, recording=recording, say=say)
    assert (0, []) == (await run_sessions(setup), web.said)

    assert (6, 12, 2.0) == (front.load.sessions, front.load.count, front.load.seconds)
    assert {f"live {n}": 1 for n in range(1, 7)} == calling
    [take] = load_cassette(recording.output).takes
    assert {*range(2, 8)} == {event.s for event in take.events}


async def test_without_a_server(web: Web, autojump_clock: MockClock) -> None:
    """It ends with the sessions that found none: further ones would only add errors."""
    web.down = "Connection refused"
    server = Url.parse(URL)
    front = load_front(
        drive_front(SLOW, kind=server.kind), LoadPace(duration=3600.0, concurrency=2)
    )
    assert 4 == await run_sessions(Setup(front=front, back=server, say=web.said.append))

    assert (2, 2, 1) == (front.load.sessions, front.load.errors, len(web.said))
