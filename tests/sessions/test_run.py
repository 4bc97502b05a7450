"""What a pipeline is composed of, and in which order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import trio
from msgspec import structs
from trio.testing import MockClock

from mcpmock.cassette.file import load
from mcpmock.cassette.model import Cassette
from mcpmock.faults.engine import FaultEngine
from mcpmock.faults.event_order import EventOrder
from mcpmock.faults.fault import Fault
from mcpmock.faults.kinds.http import HttpStatus
from mcpmock.faults.kinds.loss import Drop
from mcpmock.faults.kinds.timing import Latency
from mcpmock.faults.match import Match
from mcpmock.faults.plan import Plan
from mcpmock.faults.receipts import FaultRun
from mcpmock.pipeline.stage import Stage
from mcpmock.playback.fallback import Fallback
from mcpmock.playback.player import Player, PlayerOptions
from mcpmock.playback.session_player import SessionPlayer
from mcpmock.playback.timing import Pace
from mcpmock.recording.recorder import Ledger, Recorder
from mcpmock.sessions.drive import drive_front
from mcpmock.sessions.replay import Replay, scheduled
from mcpmock.sessions.run import Conversation, Setup, compose, run_sessions
from mcpmock.sessions.take import Recording
from mcpmock.sessions.url_server import Url
from mcpmock.stubs.script import StubScript
from mcpmock.stubs.stage import StubStage
from tests.sessions.test_drive import SERVER, TWO, Plays, plays
from tests.sessions.web import URL, Web, running, web
from tests.support import (
    OPENING,
    answers,
    c,
    c2s,
    call,
    cassette,
    in_session,
    over_http,
    post,
    request,
    response,
    s,
    s2c,
    script,
)
from tests.support.tape import Tape

__all__ = ["plays", "web"]  # fixtures


SILENT = Setup(say=lambda _line: None)


def run_of(*faults: Fault) -> FaultRun:
    return FaultRun.of(Plan(faults=faults))


def stages_of(setup: Setup, recorder: Recorder | None = None) -> list[Stage]:
    """What stands between a client of the second session and its server."""
    replay = setup.replay
    player = None if replay is None else replay.bare_player()
    conversation = Conversation(number=2, player=player)
    return [*compose(setup, conversation, recorder).stages]


def test_nothing_stands_between_the_ends_unless_it_is_wanted() -> None:
    """No plan, no recording, no observer: no stage."""
    assert [] == stages_of(SILENT)


def test_the_order_of_stages() -> None:
    """From the client: observers, the recorder, faults, the player."""
    asked: list[object] = []
    watcher, recorder = Stage(), Recorder(Ledger(Tape().append))

    def observe(number: int, player: Player | None) -> Stage:
        asked.append((number, player))
        return watcher

    setup = Setup(
        observers=[lambda _number, _player: None, observe],
        faults=run_of(Drop()),
        replay=replay_of(cassette(*OPENING)),
        say=print,
    )
    first, second, third, last = stages_of(setup, recorder)

    assert ([watcher, recorder], [(2, last)]) == ([first, second], asked)
    assert (FaultEngine, SessionPlayer) == (type(third), type(last))


def replay_of(recorded: Cassette, **options: Any) -> Replay:
    return Replay(recorded, PlayerOptions(**options), lambda _what: None)


def test_a_stub_in_front_of_a_recording() -> None:
    """The stub stands in front of the player, which asks it before a miss, at the player's pace."""
    replay = replay_of(cassette(*OPENING), pace=Pace(after_progress=0.5))
    stubs, player = stages_of(
        structs.replace(SILENT, replay=structs.replace(replay, stub=StubScript()))
    )

    assert isinstance(stubs, StubStage)
    assert isinstance(player, Player)
    assert (False, 0.5) == (stubs.alone, stubs.breath)
    assert Fallback(stubs.answer, stubs.near) == player.fallback
    [alone] = stages_of(structs.replace(SILENT, replay=replay))
    assert isinstance(alone, Player)
    assert Fallback() == alone.fallback


@pytest.mark.parametrize(
    ("schedule", "events"),
    [
        (None, 5),
        (EventOrder(), 5),
        (EventOrder(keep=(1, 2)), 2),
        (EventOrder(order=("3 before 2",)), 5),
    ],
)
def test_a_recording_in_another_order(schedule: EventOrder | None, events: int) -> None:
    """That of the plan, if it has any; else the recording is as it was."""
    recorded = cassette(*OPENING, c(call(1, "x")), s(response(1)))
    found = scheduled(recorded, FaultRun.of(Plan(schedule=schedule)))

    assert recorded is scheduled(recorded, None)
    assert (found is recorded) is (schedule in (None, EventOrder()))
    assert events == len(found.takes[0].events)


def test_a_stub_alone() -> None:
    """A cassette without takes is no recording to fall back on."""
    nothing = cassette()
    nothing.takes.clear()
    replay = structs.replace(replay_of(nothing), stub=StubScript())
    [stubs, _] = stages_of(structs.replace(SILENT, replay=replay))

    assert isinstance(stubs, StubStage)
    assert stubs.alone


def test_the_recording_has_what_the_client_got_and_a_receipt() -> None:
    """The receipt stands in front of what the fault changed."""
    tape = Tape()
    setup = structs.replace(SILENT, faults=run_of(Drop()))
    wire = script(*stages_of(setup, Recorder(Ledger(tape.append), session=2)))
    wire.at(0, client=call(1, "x"), to_server=call(1, "x")).at(1, server=response(1))

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
    wire = script(*stages_of(structs.replace(SILENT, faults=run_of(Drop())), Recorder(ledger)))
    wire.at(0, server=response(1)).nothing_more()

    assert 1 == ledger.lost
    tape.full = False
    wire.at(1, client=c2s(b"{}"), to_server=b"{}").at(2, server=s2c(b"[]"))
    assert [(1, 0)] == tape.gaps()


async def test_a_recorded_url(web: Web, tmp_path: Path, autojump_clock: MockClock) -> None:
    """One call is slow, to the last bit of the clock; another is not, and both are recorded."""
    file = tmp_path / "a.jsonl"
    run = FaultRun.of(Plan(faults=(Latency(latency=2.5, match=Match(id=1)),)))

    setup = Setup(
        front=web.front(),
        back=Url.parse(URL),
        faults=run,
        recording=Recording(output=file),
        say=web.said.append,
    )

    times = []
    async with running(web, lambda: run_sessions(setup)) as statuses:
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

    setup = Setup(front=web.front(), replay=replay_of(recorded), faults=run, say=web.said.append)

    async with running(web, lambda: run_sessions(setup)):
        said = [await web.posts(call(n, "x")) for n in (1, 2)]

    assert [(429, b""), (200, response(2))] == [(answer.status, answer.body) for answer in said]


async def test_driving(plays: Plays) -> None:
    """Faults stand next to the client that is played."""
    run = FaultRun.of(
        Plan(faults=(Drop(toward="server", must_fire=True, match=Match(method="x")),))
    )

    plays(TWO)

    setup = Setup(front=drive_front(TWO), back=SERVER, faults=run, say=lambda _line: None)
    assert 0 == await run_sessions(setup)
    assert 1 == len(run.owing())
