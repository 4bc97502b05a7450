"""`cancel_race` over HTTP: every cell times every reaction on replay as server, exact at the
client; what a client that leaves says by that, cancels that overtake, and streams taken up again.
"""

from __future__ import annotations

import pytest

from mcpmock.faults.races.fault import CancelRace
from mcpmock.faults.races.grid import REACTIONS, Cell, Reaction, cells
from mcpmock.faults.races.invariants import broken
from tests.faults.races.racing_http import (
    ANSWER,
    CALL,
    ENDPOINT,
    FAILED,
    MODERN_CALL,
    PING,
    PONG,
    PRIMED,
    after_the_cancel,
    before_the_cancel,
    in_session,
    leaves,
    messages,
    modern,
    modern_post,
    on_one_stream,
    pushed,
    streaming,
    takes_up,
    told,
)
from tests.support import accepts, cancelled, get, notification, opens, post, progress, says
from tests.support.faulty import faulty, how_it_breaks, receipts, tape_of

GRID = [cell for k in range(6) for cell in cells(k)]
EVERY_REACTION = pytest.mark.parametrize("reaction", REACTIONS)
ANSWERED = ["5 200 application/json session=s1", f"5 {PONG.decode()}", "5 eof"]


def named(cell: Cell) -> dict[str, object]:
    size = {"k": cell.k} if cell.k else {}  # what has no answer is of no size
    return {"i": cell.i, "j": cell.j, **size, "cell": cell.name}


@EVERY_REACTION
def test_every_cell(reaction: Reaction) -> None:
    """In a session: the cancel is a POST, the answer is on the stream of the call's own."""
    for cell in GRID:
        wire = streaming(CancelRace(i=cell.i, j=cell.j, reaction=reaction), cell.k)
        noted = receipts(wire)

        assert before_the_cancel(cell) == wire.hears(1, in_session(3, CALL))
        got = wire.hears(2, in_session(4, cancelled(1)))
        assert ["4 202", "4 eof", *after_the_cancel(cell, reaction)] == got
        assert named(cell) == noted[-1]["drawn"]
        assert ANSWERED == wire.hears(3, in_session(5, PING))
        wire.nothing_more()
        crossed = cell.j - cell.i
        assert how_it_breaks(cell, reaction) == broken(tape_of(wire), crossed=crossed, silent=True)


@EVERY_REACTION
def test_every_cell_on_one_stream(reaction: Reaction) -> None:
    """Over HTTP+SSE: as on stdio, but for the POSTs, and a server that dies with its stream."""
    for cell in GRID:
        wire = on_one_stream(CancelRace(i=cell.i, j=cell.j, reaction=reaction), cell.k)
        noted = receipts(wire)
        said, left = messages(cell.k), messages(cell.k)[cell.j :]
        found: dict[Reaction, list[str]] = {
            "silent": [],
            "late_result": pushed([ANSWER]),
            "late_error": pushed([FAILED]),
            "late_progress": pushed(left[:-1]) or [f"1 {progress('t', cell.k + 1).decode()}"],
            "error_then_result": [f"1 {FAILED.decode()}", *pushed([ANSWER])],
            "crash": ["1 reset"],
            "close": ["1 closed"],
        }
        accepted = ["13 202 text/plain", "13 body Accepted", "13 eof"]

        assert [*accepted, *pushed(said[: cell.i])] == wire.hears(1, post(13, CALL, to=ENDPOINT))
        got = wire.hears(2, post(14, cancelled(1), to=ENDPOINT))
        reacted = found[reaction] if left else []
        assert ["14 202", "14 eof", *pushed(said[cell.i : cell.j]), *reacted] == got
        assert named(cell) == noted[-1]["drawn"]
        if left and reaction in ("crash", "close"):
            wire.hung_up()
        else:
            assert pushed([PONG]) == wire.hears(3, post(15, PING, to=ENDPOINT))[3:]
            wire.still_there().nothing_more()
            assert how_it_breaks(cell, reaction) == broken(
                tape_of(wire), crossed=cell.j - cell.i, silent=True
            )


def test_on_one_stream_the_posts_do_not_wait() -> None:
    """A call is accepted at once, also where its answer came before and is held."""
    wire = faulty(CancelRace(i=0, j=0), transport="sse")
    wire.hears(0, get(1), opens(1), post(3, CALL))

    assert [] == wire.hears(1, says(1, ANSWER))
    assert 2 == len(wire.hears(1, accepts(3)))
    assert 2 == len(wire.hears(2, post(4, cancelled(1))))
    wire.nothing_more()


def test_a_client_that_leaves_cancels() -> None:
    """From 2026-07-28 on: the cell is reached by that, and nothing is said to nobody."""
    for cell in GRID:
        wire = modern(CancelRace(i=cell.i, j=cell.j, reaction="late_result"), cell.k)
        noted = receipts(wire)
        said = messages(cell.k)
        got = wire.hears(1, modern_post(3, MODERN_CALL))

        assert [raw.decode() for raw in said[: cell.i]] == [
            line[2:] for line in got if line.startswith("3 {")
        ]
        assert [] == [line for line in wire.hears(2, leaves(3)) if line != "3 closed"]
        assert named(cell) == noted[-1]["drawn"]
        wire.nothing_more()


@pytest.mark.parametrize("i", [0, 1, 2])
def test_a_client_that_leaves_says_nothing(i: int) -> None:
    """Up to 2025-11-25: the race goes on, and the cancel that comes then is the cancel."""
    wire = streaming(CancelRace(i=i, j=2, reaction="late_result"), 3)
    noted = receipts(wire)
    wire.hears(1, in_session(3, CALL))

    assert [] == wire.hears(2, leaves(3))
    assert "drawn" not in noted[-1]
    assert ["4 202", "4 eof"] == wire.hears(3, in_session(4, cancelled(1)))
    assert named(Cell(i, 2, 3)) == noted[-1]["drawn"]
    assert ANSWERED == wire.hears(4, in_session(5, PING))
    wire.nothing_more()


@EVERY_REACTION
def test_a_cancel_that_overtakes_its_call(reaction: Reaction) -> None:
    """Of an id that nobody knows yet: the cell with nothing in it. What comes of the call is the
    reaction: a server that never knew of it gives the result.
    """
    wire = streaming(CancelRace(i=1, j=2, reaction=reaction), 3)
    noted = receipts(wire)

    assert ["4 202 session=s1", "4 eof"] == wire.hears(1, in_session(4, cancelled(1)))
    got = wire.hears(2, in_session(3, CALL))
    assert [*PRIMED, *after_the_cancel(Cell(0, 0, 3), reaction)] == got
    assert {**named(Cell(0, 0, 3)), "overtaken": True} == noted[-1]["drawn"]
    assert noted[-1]["drawn"] == {**noted[0]["drawn"], "k": 3}  # told before the response, too
    assert ANSWERED == wire.hears(3, in_session(5, PING))
    wire.nothing_more()


def test_only_its_own_call_is_overtaken() -> None:
    """A cancel of something else changes nothing, and the call may be cancelled later."""
    wire = streaming(CancelRace(i=1, j=1), 3)
    noted = receipts(wire)
    wire.hears(1, in_session(4, cancelled(77)))
    wire.hears(1, in_session(7, notification("notifications/cancelled", {})))

    assert [*PRIMED, *told(messages(3)[:1])] == wire.hears(2, in_session(3, CALL))
    other = in_session(8, notification("notifications/roots/list_changed"))
    assert ["8 202 session=s1", "8 eof"] == wire.hears(2, other)
    assert ["6 202", "6 eof", "3 eof"] == wire.hears(3, in_session(6, cancelled(1)))
    assert named(Cell(1, 1, 3)) == noted[-1]["drawn"]


REST: dict[Reaction, list[str]] = {
    "silent": [],
    "late_result": told([ANSWER], 4, 6, 3),
    "late_error": told([FAILED], 4, 6, 3),
    "late_progress": told(messages(4)[2:3], 3, 6, 3),
    "error_then_result": [f"6 {FAILED.decode()}", *told([ANSWER], 4, 6, 3)],
    "crash": ["6 reset"],
    "close": ["6 closed"],
}
OPEN_AGAIN = "6 200 text/event-stream session=s1"


@pytest.mark.parametrize("leaves_first", [False, True])
@EVERY_REACTION
def test_a_stream_taken_up_behind_the_cancel(reaction: Reaction, leaves_first: bool) -> None:
    """It has what crossed the cancel and the reaction, as often as it is asked for; of the answer
    that was never given it knows nothing.
    """
    wire = streaming(CancelRace(i=1, j=2, reaction=reaction), 4)
    wire.hears(1, in_session(3, CALL))
    if leaves_first:
        wire.hears(2, leaves(3))
    wire.hears(3, in_session(4, cancelled(1)))
    end = [] if reaction in ("crash", "close") else ["6 eof"]
    crossed = told(messages(4)[1:2], 2, 6, 3)

    for x in (6, 7):
        got = [line.replace(f"{x} ", "6 ", 1) for line in wire.hears(x, takes_up(x, "3-1"))]
        assert [OPEN_AGAIN, *crossed, *REST[reaction], *end] == got
    assert ANSWERED == wire.hears(8, in_session(5, PING))
    wire.nothing_more()


def test_a_stream_taken_up_before_the_cancel() -> None:
    """What waits goes on waiting, for the exchange on which the client is now."""
    wire = streaming(CancelRace(i=2, j=3, reaction="late_error"), 4)
    noted = receipts(wire)
    wire.hears(1, in_session(3, CALL))
    wire.hears(2, leaves(3))

    seen_again = told(messages(4)[1:2], 2, 6, 3)
    assert [OPEN_AGAIN, *seen_again] == wire.hears(3, takes_up(6, "3-1"))
    got = wire.hears(4, in_session(4, cancelled(1)))
    crossed = [*told(messages(4)[2:3], 3, 6, 3), *told([FAILED], 4, 6, 3)]
    assert ["4 202", "4 eof", *crossed, "6 eof"] == got
    assert named(Cell(2, 3, 4)) == noted[-1]["drawn"]
    wire.nothing_more()
