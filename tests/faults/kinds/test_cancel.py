"""`cancel`: what goes out, and when; odd targets, and calls within calls.

The server is played by the test: what a server makes of it is its own affair, and whether all calls
end as they must is what `oracles` says of the tape.
"""

from __future__ import annotations

import pytest

from mcpmock.faults.engine import FaultEngine
from mcpmock.faults.kinds.cancel import Cancel, Target
from mcpmock.faults.match import Match
from mcpmock.faults.plan import Plan
from mcpmock.faults.races.invariants import broken
from mcpmock.faults.receipts import FaultRun
from mcpmock.playback.player import PlayerOptions, SessionSelection
from mcpmock.playback.session_player import SessionPlayer
from mcpmock.playback.timing import Pace
from tests.support import (
    INITIALIZE,
    INITIALIZED,
    OPENING,
    WELCOME,
    c,
    c2s,
    call,
    cancelled,
    cassette,
    error,
    notification,
    progress,
    request,
    response,
    s,
    s2c,
    script,
)
from tests.support.faulty import ANSWER, CALL, Tape, faulty, receipts, taped

QUESTION = request(1, "sampling/createMessage", {"messages": []})
SAID = response(1, {"role": "assistant"})
PING, PONG = request(9, "ping"), response(9)
TOOL = Match(method="tools/call")


def test_right_behind_the_request() -> None:
    """With nothing consumed."""
    wire = faulty(Cancel())

    wire.at(0, client=CALL, to_server=[CALL, cancelled(1)]).at(1, server=ANSWER, to_client=ANSWER)
    wire.nothing_more()


def test_behind_so_many_messages() -> None:
    """Progress and the answer count; other calls do not."""
    wire = faulty(Cancel(i=2))
    told = receipts(wire)

    wire.at(0, client=CALL, to_server=CALL).at(1, server=progress("t"), to_client=progress("t"))
    wire.at(1, server=response(8), to_client=response(8))
    wire.at(2, server=ANSWER, to_client=ANSWER, to_server=cancelled(1)).nothing_more()
    assert {"i": 2} == told[-1]["drawn"]


@pytest.mark.parametrize("i", range(4))
def test_in_a_replay_without_pauses(i: int) -> None:
    """The client gets as many messages as come before the cancellation, and none behind it."""
    said = [progress("t", 1), progress("t", 2), progress("t", 3), ANSWER]
    run = FaultRun.of(Plan(faults=(Cancel(i=i, match=TOOL),)))
    recorded = cassette(*OPENING, c(CALL), *map(s, said))
    player = SessionPlayer(SessionSelection(recorded, PlayerOptions(pace=Pace(after_progress=0))))
    tape = Tape()
    wire = script(FaultEngine(run, replayed=True), tape, player)
    for raw in (INITIALIZE, INITIALIZED, CALL):
        wire._take(wire.pipeline.enter([c2s(raw)], 0))

    assert [WELCOME, *said[:i]] == [frame.raw for frame in wire._out]
    assert cancelled(1) in [frame.raw for frame in tape.frames]
    wire.abandon()


def test_a_call_that_ends_before() -> None:
    """It is not cancelled."""
    wire = faulty(Cancel(i=2))

    wire.at(0, client=CALL, to_server=CALL).at(1, server=ANSWER, to_client=ANSWER)
    wire.at(2, server=progress("t"), to_client=progress("t")).nothing_more()


@pytest.mark.parametrize(
    ("target", "cancels"),
    [
        ("twice", [cancelled(1)] * 2),
        ("unknown", [cancelled("mcpmock-unknown")]),
        ("other_type", [cancelled("1")]),
        ("no_id", [notification("notifications/cancelled", {})]),
        ("initialize", [cancelled(0)]),
    ],
)
def test_odd_targets(target: Target, cancels: list[bytes]) -> None:
    """Of nothing, of something else, or twice: a server that ignores it answers, and goes on."""
    wire, tape = taped(Cancel(target=target, match=TOOL))

    wire.at(0, client=CALL, to_server=[CALL, *cancels])
    if target != "twice":
        wire.at(1, server=ANSWER, to_client=ANSWER)
    wire.at(2, client=PING, to_server=PING).at(3, server=PONG, to_client=PONG)
    assert [] == broken(tape, silent=True)


def test_other_type_of_a_text() -> None:
    """The number in it; of any other text there is none."""
    for id_, other in (("7", 7), ("a", 0)):
        call = request(id_, "tools/call", {"name": "x"})
        wire = faulty(Cancel(target="other_type"))
        wire.at(0, client=call, to_server=[call, cancelled(other)])


def test_a_finished_call() -> None:
    """Behind its answer, however many messages there were."""
    wire, tape = taped(Cancel(target="finished", match=TOOL))

    wire.at(0, client=CALL, to_server=CALL).at(1, server=progress("t"), to_client=progress("t"))
    wire.at(2, server=ANSWER, to_client=ANSWER, to_server=cancelled(1))
    wire.at(3, client=PING, to_server=PING).at(4, server=PONG, to_client=PONG)
    assert [] == broken(tape, silent=True)


def test_the_id_of_the_other_direction() -> None:
    """What the server asked is not ours to cancel, and its id may be one of ours: here the call's
    own, and its server stops.
    """
    wire, tape = taped(Cancel(target="other_direction", match=TOOL))

    wire.at(0, client=CALL, to_server=CALL)
    wire.at(1, server=QUESTION, to_client=QUESTION, to_server=cancelled(1))
    wire.at(2, client=SAID, to_server=SAID)
    wire.at(3, client=PING, to_server=PING).at(4, server=PONG, to_client=PONG)
    assert [] == broken(tape, silent=True)


def test_initialize() -> None:
    """By the id that it had: in the handshake itself, and from a call later on."""
    named = INITIALIZE.replace(b'"id":0', b'"id":"i"')
    welcome = WELCOME.replace(b'"id":0', b'"id":"i"')
    wire, tape = taped(Cancel(target="initialize", match=TOOL))
    wire.at(0, client=named, to_server=named).at(1, server=welcome, to_client=welcome)
    wire.at(2, client=[INITIALIZED, CALL], to_server=[INITIALIZED, CALL, cancelled("i")])
    wire.at(3, server=ANSWER, to_client=ANSWER)
    assert [] == broken(tape, silent=True)

    wire = faulty(Cancel(target="initialize", match=Match(method="initialize")))
    wire.at(0, client=named, to_server=[named, cancelled("i")])


def test_during_the_handshake() -> None:
    """Behind `initialize`, of nothing that anybody knows; the handshake goes on."""
    wire, tape = taped(Cancel(target="unknown", match=Match(method="initialize")))
    odd = cancelled("mcpmock-unknown")

    wire.at(0, client=INITIALIZE, to_server=[INITIALIZE, odd])
    wire.at(1, server=WELCOME, to_client=WELCOME)
    wire.at(2, client=[INITIALIZED, PING], to_server=[INITIALIZED, PING])
    wire.at(3, server=PONG, to_client=PONG)
    assert [] == broken(tape, silent=True)


def test_a_ping() -> None:
    """It is a request like another."""
    wire, tape = taped(Cancel(match=Match(method="ping", nth=1)))

    wire.at(0, client=PING, to_server=[PING, cancelled(9)])
    again = request(10, "ping")
    wire.at(1, client=again, to_server=again).at(2, server=response(10), to_client=response(10))
    assert [] == broken(tape, silent=True)


def test_requests_of_the_server() -> None:
    """The server cancels what it asked, with a reason."""
    asked = request(5, "sampling/createMessage")
    told = notification("notifications/cancelled", {"reason": "no", "requestId": 5})
    wire = faulty(Cancel(reason="no", toward="client"))

    wire.at(0, server=asked, to_client=[asked, told]).at(
        1, client=response(5), to_server=response(5)
    )


OUTER = Cancel(behind="question", i=1, match=TOOL)
INNER = Cancel(match=Match(method="sampling/createMessage"))


def test_the_outer_while_its_question_is_open() -> None:
    """The question is another call, of the other direction, though it has the same id: it is
    answered all the same.
    """
    wire, tape = taped(OUTER)
    told = receipts(wire)

    wire.at(0, client=CALL, to_server=CALL)
    wire.at(1, server=QUESTION, to_client=QUESTION, to_server=cancelled(1))
    wire.at(2, client=SAID, to_server=SAID)
    wire.at(3, client=PING, to_server=PING).at(4, server=PONG, to_client=PONG)
    assert {"i": 1} == told[-1]["drawn"]
    assert [] == broken(tape, silent=True)


def test_the_inner_only() -> None:
    """The server takes its question back; the call goes on and is answered."""
    wire, tape = taped(INNER)

    wire.at(0, client=CALL, to_server=CALL)
    wire.at(1, server=QUESTION, to_client=[QUESTION, cancelled(1)])
    wire.at(2, server=ANSWER, to_client=ANSWER)
    wire.at(3, client=PING, to_server=PING).at(4, server=PONG, to_client=PONG)
    # The tape is at the server's side of the fault, where its cancel does not pass.
    assert [] == broken([*tape[:2], s2c(cancelled(1)), *tape[2:]], silent=True)


def test_both_at_once() -> None:
    """Nobody answers anything, and the session goes on."""
    wire, tape = taped(INNER, OUTER)

    wire.at(0, client=CALL, to_server=CALL)
    wire.at(1, server=QUESTION, to_client=[QUESTION, cancelled(1)], to_server=cancelled(1))
    wire.at(2, client=PING, to_server=PING).at(3, server=PONG, to_client=PONG)
    assert [] == broken([*tape[:2], s2c(cancelled(1)), *tape[2:]], silent=True)


@pytest.mark.parametrize("nth", [2, None])
def test_one_of_several_and_all(nth: int | None) -> None:
    """The others are answered, out of order as they like; ids never cross."""
    calls = [request(n, "tools/call", {"name": "x"}) for n in (1, 2, 3)]
    wire, tape = taped(Cancel(match=Match(method="tools/call", nth=nth)))
    gone = [2] if nth else [1, 2, 3]
    sent = [[call, *([cancelled(n)] if n in gone else [])] for n, call in enumerate(calls, 1)]

    wire.at(0, client=calls, to_server=[raw for raws in sent for raw in raws])
    for n in (3, 1):
        if n not in gone:
            wire.at(1, server=response(n), to_client=response(n))
    wire.at(2, client=PING, to_server=PING).at(3, server=PONG, to_client=PONG)
    assert [] == broken(tape, silent=True)


def test_an_id_that_is_used_again() -> None:
    """Behind its cancel it is another call, with an answer of its own."""
    wire, tape = taped(Cancel(match=Match(method="tools/call", nth=1)))

    wire.at(0, client=CALL, to_server=[CALL, cancelled(1)])
    wire.at(1, client=CALL, to_server=CALL).at(2, server=ANSWER, to_client=ANSWER)
    assert [] == broken(tape, silent=True)


def test_another_call_is_no_question() -> None:
    """It goes the same way."""
    other = call(2, "x")
    wire = faulty(OUTER).at(0, client=CALL, to_server=CALL)

    wire.at(1, client=other, to_server=other).nothing_more()


def test_several_questions() -> None:
    """Behind the second one."""
    again = request(2, "roots/list")
    wire = faulty(Cancel(behind="question", i=2, match=TOOL))

    wire.at(0, client=CALL, to_server=CALL).at(1, server=QUESTION, to_client=QUESTION)
    wire.at(2, server=again, to_client=again, to_server=cancelled(1)).nothing_more()
    faulty(Cancel(behind="question", match=TOOL)).at(0, client=CALL, to_server=[CALL, cancelled(1)])


def test_what_is_asked_of_an_answered_call() -> None:
    """It is over: nothing is cancelled any more."""
    wire = faulty(OUTER)
    wire.at(0, client=CALL, to_server=CALL).at(1, server=error(1), to_client=error(1))

    wire.at(2, server=QUESTION, to_client=QUESTION).nothing_more()


def test_what_the_client_cancels_itself() -> None:
    """It is no message that comes back."""
    wire = faulty(Cancel(i=1, match=TOOL))
    wire.at(0, client=CALL, to_server=CALL).at(1, client=cancelled(1), to_server=cancelled(1))

    wire.at(2, server=ANSWER, to_client=ANSWER, to_server=cancelled(1)).nothing_more()
