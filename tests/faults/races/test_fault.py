"""`cancel_race`: every cell, times every reaction, on replay as server. What the client gets, and
in which order, is the definition.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import attrs
import pytest

from mcpmock.cassette.model import Cassette
from mcpmock.faults.engine import FaultEngine
from mcpmock.faults.fault import PlanError
from mcpmock.faults.match import Match
from mcpmock.faults.plan import Plan
from mcpmock.faults.races.fault import CancelRace
from mcpmock.faults.races.grid import NAMES, REACTIONS, Cell, Name, Reaction, cells
from mcpmock.faults.races.invariants import broken
from mcpmock.faults.receipts import FaultRun
from mcpmock.playback.player import PlayerOptions, SessionSelection
from mcpmock.playback.session_player import SessionPlayer
from mcpmock.playback.timing import Pace
from mcpmock.protocol.messages import C2S, S2C, Frame
from tests.support import (
    OPENING,
    Script,
    c,
    cancelled,
    cassette,
    ends,
    error,
    exits,
    hangs_up,
    notification,
    opens,
    post,
    progress,
    request,
    response,
    s,
    says,
    script,
    shown,
)
from tests.support.faulty import Tape, faulty, how_it_breaks, receipts, tape_of

CALL = request(1, "tools/call", {"name": "slow"}, token="t")
ANSWER = response(1, {"content": []})
FAILED = error(1, -32800, "Request cancelled")
PING, PONG = request(9, "ping"), response(9)


def messages(k: int) -> list[bytes]:
    """What the server says: progress, and the answer last."""
    return [*(progress("t", n) for n in range(1, k)), *([ANSWER] if k else [])]


@cache
def recorded(k: int) -> Cassette:
    return cassette(*OPENING, c(CALL), *map(s, messages(k)))


def racing(fault: CancelRace, k: int) -> Script:
    """A replay of such a call, past its handshake."""
    run = FaultRun.of(Plan(faults=(attrs.evolve(fault, match=Match(tool="slow")),)))
    player = SessionPlayer(
        SessionSelection(recorded(k), PlayerOptions(pace=Pace(after_progress=0)))
    )
    wire = script(Tape(), FaultEngine(run), player)
    for _, raw in OPENING[::2]:
        wire._take(wire.pipeline.enter([Frame(C2S, raw)], 0))
    wire._out.clear()
    return wire


def reaction_to(reaction: Reaction, cell: Cell) -> list[bytes | Frame]:
    """What the client gets of what the server had not said yet."""
    left = messages(cell.k)[cell.j :]
    if not left:
        return []
    died: list[bytes | Frame] = [hangs_up(S2C), exits(1 if reaction == "crash" else 0)]
    found: dict[Reaction, list[bytes | Frame]] = {
        "silent": [],
        "late_result": [ANSWER],
        "late_error": [FAILED],
        "late_progress": [*(left[:-1] or [progress("t", cell.k + 1)])],
        "error_then_result": [FAILED, ANSWER],
        "crash": died,
        "close": died,
    }
    return found[reaction]


GRID = [cell for k in range(6) for cell in cells(k)]


@pytest.mark.parametrize("reaction", REACTIONS)
def test_every_cell(reaction: Reaction) -> None:
    """i messages before the cancel, then those up to j, then the reaction; and what comes next on
    the session works.
    """
    for cell in GRID:
        wire = racing(CancelRace(i=cell.i, j=cell.j, reaction=reaction), cell.k)
        told = receipts(wire)
        said = messages(cell.k)

        wire.at(1, client=CALL, to_client=said[: cell.i])
        wire.at(
            2, client=cancelled(1), to_client=[*said[cell.i : cell.j], *reaction_to(reaction, cell)]
        )
        size = {"k": cell.k} if cell.k else {}  # what has no answer is of no size
        assert {"i": cell.i, "j": cell.j, **size, "cell": cell.name} == told[-1]["drawn"]
        if reaction in ("crash", "close") and cell.reacts:
            wire.hung_up()
        else:
            wire.at(3, client=PING, to_client=PONG).still_there()
        wire.nothing_more()
        assert how_it_breaks(cell, reaction) == broken(
            tape_of(wire), crossed=cell.j - cell.i, silent=True
        )


@pytest.mark.parametrize("k", [3, 5])
@pytest.mark.parametrize("name", NAMES)
def test_cells_by_name(name: Name, k: int) -> None:
    """Each name leads to a cell that has it."""
    wire = racing(CancelRace(cell=name), k)
    told = receipts(wire)
    wire.pipeline.enter([Frame(C2S, CALL)], 1)
    wire.pipeline.enter([Frame(C2S, cancelled(1))], 2)

    assert name == told[-1]["drawn"]["cell"]


def test_a_dead_server_hears_nothing_more() -> None:
    """Not what was read together with the cancel, either."""
    wire = racing(CancelRace(i=0, j=0, reaction="crash"), 3)

    wire.at(1, client=CALL)
    wire.at(2, client=[cancelled(1), PING], to_client=[hangs_up(S2C), exits(1)]).hung_up()


def test_a_client_that_cancels_earlier() -> None:
    """The cell that was reached is told, never assumed."""
    wire = racing(CancelRace(i=9, j=9), 3)
    told = receipts(wire)
    wire.at(1, client=CALL, to_client=messages(3)).at(2, client=cancelled(1))

    assert {"i": 3, "j": 3, "k": 3, "cell": "cancel_after_response"} == told[-1]["drawn"]


def test_a_client_that_does_not_cancel() -> None:
    """It gets the rest when patience is over, or when it has said all itself."""
    wire = racing(CancelRace(i=1, j=1, at_most=5), 3)
    wire.at(1, client=CALL, to_client=messages(3)[:1]).at(6, to_client=messages(3)[1:])
    wire.at(7, client=PING, to_client=PONG).nothing_more()

    wire = racing(CancelRace(i=1, j=1, at_most=5), 3)
    wire.at(1, client=CALL, to_client=messages(3)[:1])
    wire.at(2, client=hangs_up(C2S), to_client=messages(3)[1:]).nothing_more()


def test_a_cancel_when_patience_is_over() -> None:
    """What came by then was given, and comes once."""
    wire = racing(CancelRace(i=1, j=1, at_most=5), 3)
    told = receipts(wire)
    wire.at(1, client=CALL, to_client=messages(3)[:1]).at(6, to_client=messages(3)[1:])

    wire.at(7, client=cancelled(1)).nothing_more()
    assert {"i": 3, "j": 3, "k": 3, "cell": "cancel_after_response"} == told[-1]["drawn"]


def test_calls_that_are_never_cancelled() -> None:
    """Of very many the newest are remembered."""
    fault = CancelRace(cell="cancel_after_response", match=Match(tool="slow"))
    wire = faulty(fault)
    told = receipts(wire)
    calls = [request(n, "tools/call", {"name": "slow"}) for n in range(1002)]
    answers = [response(n) for n in range(1002)]
    for call, answer in zip(calls, answers, strict=True):
        wire.at(0, client=call, to_server=call).at(0, server=answer, to_client=answer)

    wire.at(1, client=[cancelled(0), cancelled(1001)], to_server=cancelled(0))
    assert ["1001"] == [receipt["id"] for receipt in told if "drawn" in receipt]


def test_a_live_server_that_takes_its_time() -> None:
    """What comes behind the cancel is dealt with as it comes; the server has not heard of it."""
    wire = faulty(CancelRace(i=1, j=2, reaction="late_error", match=Match(tool="slow")))
    told = receipts(wire)
    first, second, answer = messages(3)

    wire.at(0, client=CALL, to_server=CALL).at(1, server=first, to_client=first)
    wire.at(2, client=cancelled(1)).at(3, server=second, to_client=second)
    assert {"i": 1, "j": 1, "cell": "cancel_during_work"} == told[-1]["drawn"]
    wire.at(4, client=cancelled(1)).at(5, server=answer, to_client=FAILED)
    assert {"i": 1, "j": 2, "k": 3, "cell": "cancel_crosses_progress"} == told[-1]["drawn"]
    wire.at(6, client=PING, to_server=PING).at(7, server=PONG, to_client=PONG).nothing_more()


def test_a_question_of_the_server() -> None:
    """It is the client that answers late, then."""
    asked = request(1, "sampling/createMessage", {"messages": []})
    fault = CancelRace(i=0, j=0, reaction="late_result", toward="client")
    wire = faulty(attrs.evolve(fault, match=Match(method="sampling/createMessage")))
    told = receipts(wire)

    wire.at(0, server=asked, to_client=asked).at(1, client=ANSWER)
    wire.at(2, server=cancelled(1), to_server=ANSWER).nothing_more()
    assert {"i": 0, "j": 0, "k": 1, "cell": "cancel_before_start"} == told[-1]["drawn"]


def test_only_the_call_that_is_meant() -> None:
    """Of two at once the other one answers, and can be cancelled."""
    other = request(2, "tools/call", {"name": "slow"}, token="u")
    wire = faulty(CancelRace(cell="cancel_before_start", match=Match(nth=1)))

    wire.at(0, client=[CALL, other], to_server=[CALL, other]).at(1, server=ANSWER)
    wire.at(1, server=progress("u"), to_client=progress("u"))
    wire.at(2, client=cancelled(2), to_server=cancelled(2)).at(3, client=cancelled(1))
    wire.nothing_more()


def test_what_a_subscription_is_told() -> None:
    """It is no answer and passes; so does the cancel by which a server ends it."""
    asked = request(1, "subscriptions/listen", {})
    told = {"_meta": {"io.modelcontextprotocol/subscriptionId": 1}}
    changed = notification("notifications/tools/list_changed", told)
    wire = faulty(CancelRace(i=0, j=0, match=Match(method="subscriptions/listen")))

    wire.at(0, client=asked, to_server=asked).at(1, server=changed, to_client=changed)
    wire.at(2, server=cancelled(1), to_client=cancelled(1)).at(3, server=response(1))
    wire.at(33, to_client=response(1)).nothing_more()


@pytest.mark.parametrize(
    ("reaction", "lines"),
    [
        ("silent", ["1 eof"]),
        ("late_result", ["1 " + ANSWER.decode(), "1 eof"]),
        ("late_error", ["1 " + FAILED.decode(), "1 eof"]),
        ("late_progress", ["1 " + progress("t", 2).decode(), "1 eof"]),
        ("error_then_result", ["1 " + FAILED.decode(), "1 " + ANSWER.decode(), "1 eof"]),
        ("crash", ["1 reset"]),
        ("close", ["1 closed"]),
    ],
)
def test_over_http(reaction: Reaction, lines: list[str]) -> None:
    """The cancel is accepted, and the stream of the call has what its client is to get."""
    wire = faulty(CancelRace(i=1, j=1, reaction=reaction), transport="streamable-http")
    said = messages(3)
    wire.hears(0, post(1, CALL))
    stream = [*opens(1), *(f for raw in said for f in says(1, raw)), ends(1)]

    assert shown([*opens(1), *says(1, said[0])]) == wire.hears(1, stream)
    accepted, *rest = wire.hears(2, post(2, cancelled(1)))
    assert accepted.startswith("2 202")
    assert ["2 eof", *lines] == rest[: 1 + len(lines)]


def test_over_http_a_client_that_leaves() -> None:
    """What waited for its cancel is for nobody."""
    wire = faulty(CancelRace(i=0, j=0, at_most=5), transport="streamable-http")
    wire.hears(0, post(1, CALL))
    assert [] == wire.hears(1, says(1, ANSWER))
    left = ends(1, direction=C2S)

    assert shown([left]) == wire.hears(2, [left])
    assert 2 == len(wire.hears(3, post(2, PING)))
    wire.abandon()


def test_over_http_nothing_follows_an_answer_that_crossed() -> None:
    """The race goes on until the stream of the call ends."""
    wire = faulty(CancelRace(i=0, j=2), transport="streamable-http")
    wire.hears(0, [*post(1, CALL), *post(2, cancelled(1))])
    said = [*opens(1), *says(1, progress("t")), *says(1, ANSWER)]

    assert shown(said) == wire.hears(1, said)
    assert [] == wire.hears(2, says(1, progress("t", 2)))
    assert ["1 eof"] == wire.hears(3, [ends(1)])


@pytest.mark.parametrize(
    "knobs", [{}, {"cell": NAMES[0], "i": 1, "j": 1}, {"i": 2}, {"i": 2, "j": 1}]
)
def test_what_makes_no_sense(knobs: dict[str, Any]) -> None:
    """A name or two numbers, and what was consumed had been emitted."""
    with pytest.raises(PlanError):
        CancelRace(**knobs)


def test_a_call_with_the_id_of_a_race_that_is_over() -> None:
    """It is another call, and no race."""
    wire = faulty(CancelRace(i=0, j=0, match=Match(tool="slow", nth=1)))
    wire.at(0, client=CALL, to_server=CALL).at(1, client=cancelled(1))

    wire.at(2, client=CALL, to_server=CALL).at(3, server=ANSWER, to_client=ANSWER).nothing_more()


def test_the_oldest_of_many_races_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client may leave any number of calls open: the answer of that one is kept back no more."""
    monkeypatch.setattr("mcpmock.faults.races.fault._MAX_RACES", 2)
    wire = faulty(CancelRace(i=0, j=0))
    for id_ in (1, 2, 3):
        asked = CALL.replace(b'"id":1', b'"id":%d' % id_)
        wire.at(0, client=asked, to_server=asked)

    wire.at(1, server=ANSWER, to_client=ANSWER).at(1, server=response(3))
    wire.at(2, client=cancelled(3)).nothing_more()
