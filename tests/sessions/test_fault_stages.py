"""Where faults stand in a session."""

from __future__ import annotations

from pathlib import Path

import trio
from trio.testing import MockClock

from mcpmock.cassette.file import load
from mcpmock.faults.engine import FaultEngine
from mcpmock.faults.kinds.drop import Drop
from mcpmock.faults.kinds.http_status import HttpStatus
from mcpmock.faults.kinds.latency import Latency
from mcpmock.faults.match import Match
from mcpmock.faults.plan import Plan
from mcpmock.faults.receipts import FaultRun
from mcpmock.playback.player import ReplayOptions
from mcpmock.recording.recorder import Ledger, Recorder
from mcpmock.sessions.drive import DriveOptions, drive
from mcpmock.sessions.ends import Url
from mcpmock.sessions.fault_stages import with_faults
from mcpmock.sessions.http import record_url, replay_listening
from mcpmock.sessions.take_recording import Recording
from tests.recording.test_recorder import Tape
from tests.sessions.test_drive import SERVER, TWO, Plays, plays
from tests.sessions.test_http import URL, Web, running, web
from tests.support import (
    answers,
    c2s,
    call,
    in_session,
    over_http,
    post,
    request,
    response,
    s2c,
    script,
)

__all__ = ["plays", "web"]  # fixtures


def test_without_a_plan_there_are_none() -> None:
    """The recorders alone."""
    recorder = Recorder(Ledger(Tape().append))

    assert [recorder] == with_faults([recorder], None)


def test_the_recording_has_what_the_client_got_and_a_receipt() -> None:
    """In front of what came of it."""
    tape = Tape()
    run = FaultRun.of(Plan(faults=(Drop(),)))
    stages = with_faults([Recorder(Ledger(tape.append), session=2)], run, session=2)
    wire = script(*stages)
    wire.at(0, client=call(1, "x"), to_server=call(1, "x")).at(1, server=response(1))

    assert isinstance(stages[1], FaultEngine)
    events = tape.events()
    assert [call(1, "x"), None] == [event.payload for event in events]
    assert (2, 2, "s2c", {"kind": "drop", "fired": 1, "on": "response"}) == (
        events[1].n,
        events[1].s,
        events[1].d,
        {key: events[1].fault[key] for key in ("kind", "fired", "on")},
    )


def test_a_full_disk_is_a_gap() -> None:
    """The fault happens all the same, and the receipt is counted as lost."""
    tape = Tape(full=True)
    ledger = Ledger(tape.append)
    wire = script(*with_faults([Recorder(ledger)], FaultRun.of(Plan(faults=(Drop(),)))))
    wire.at(0, server=response(1)).nothing_more()

    assert 1 == ledger.lost
    tape.full = False
    wire.at(1, client=c2s(b"{}"), to_server=b"{}").at(2, server=s2c(b"[]"))
    assert [(1, 0)] == tape.gaps()


async def test_a_recorded_url(web: Web, tmp_path: Path, autojump_clock: MockClock) -> None:
    """One call is slow, to the last bit of the clock; another is not, and both are recorded."""
    file = tmp_path / "a.jsonl"
    run = FaultRun.of(Plan(faults=(Latency(latency=2.5, match=Match(id=1)),)))

    async def mode() -> int:
        recording = Recording(output=file)
        return await record_url(Url.parse(URL), recording, web.listening(), web.said.append, run)

    times = []
    async with running(web, mode) as statuses:
        for number in (1, 2):
            began = trio.current_time()
            answer = await web.posts(request(number, "ping"))
            times.append((answer.status, trio.current_time() - began))
    [take] = load(file).takes

    assert ([(200, 2.5), (200, 0.0)], [0]) == (times, statuses)
    assert ["latency"] == [e.fault["kind"] for e in take.events if isinstance(e.fault, dict)]


async def test_a_replay_over_http(web: Web) -> None:
    """A refusal for one exchange; the others are as they were without a plan."""
    recorded = over_http(
        in_session(
            1, *(part for n in (1, 2) for part in (post(n, call(n, "x")), answers(n, response(n))))
        )
    )
    run = FaultRun.of(Plan(faults=(HttpStatus(status=429, match=Match(nth=1)),)))

    async def mode() -> int:
        return await replay_listening(
            recorded,
            ReplayOptions(),
            lambda _what: None,
            web.listening(),
            recording=None,
            say=web.said.append,
            faults=run,
        )

    async with running(web, mode):
        said = [await web.posts(call(n, "x")) for n in (1, 2)]

    assert [(429, b""), (200, response(2))] == [(answer.status, answer.body) for answer in said]


async def test_driving(plays: Plays) -> None:
    """Faults stand next to the client that is played."""
    run = FaultRun.of(
        Plan(faults=(Drop(toward="server", must_fire=True, match=Match(method="x")),))
    )

    plays(TWO)

    assert 0 == await drive(TWO, DriveOptions(SERVER, faults=run), lambda _line: None)
    assert 1 == len(run.owing())
