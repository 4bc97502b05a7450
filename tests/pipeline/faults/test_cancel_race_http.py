"""`cancel_race` over HTTP: every cell times every reaction on replay as server, exact at the
client; what a client that leaves says by that, cancels that overtake, and streams taken up again.
"""

from __future__ import annotations

import pytest

from mcpmock.pipeline.faults.cancel_race import CancelRace
from mcpmock.pipeline.faults.races import REACTIONS, Cell, Reaction, cells
from tests.helpers import cancelled, post
from tests.pipeline.faults.faulty import receipts
from tests.pipeline.faults.racing_http import (
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

GRID = [cell for k in range(6) for cell in cells(k)]
EVERY_CELL = pytest.mark.parametrize("cell", GRID, ids=lambda c: f"{c.i}-{c.j}-of-{c.k}")
EVERY_REACTION = pytest.mark.parametrize("reaction", REACTIONS)
ANSWERED = ["5 200 application/json session=s1", f"5 {PONG.decode()}", "5 eof"]


def named(cell: Cell) -> dict[str, object]:
    return {"i": cell.i, "j": cell.j, "k": cell.k, "cell": cell.name}


@EVERY_REACTION
@EVERY_CELL
def test_every_cell(cell: Cell, reaction: Reaction) -> None:
    """In a session: the cancel is a POST, the answer is on the stream of the call's own."""
    wire = streaming(CancelRace(i=cell.i, j=cell.j, reaction=reaction), cell.k)
    noted = receipts(wire)

    assert before_the_cancel(cell) == wire.hears(1, in_session(3, CALL))
    got = wire.hears(2, in_session(4, cancelled(1)))
    assert ["4 202", "4 eof", *after_the_cancel(cell, reaction)] == got
    assert named(cell) == noted[-1]["drawn"]
    assert ANSWERED == wire.hears(3, in_session(5, PING))
    wire.nothing_more()


@EVERY_REACTION
@EVERY_CELL
def test_every_cell_on_one_stream(cell: Cell, reaction: Reaction) -> None:
    """Over HTTP+SSE: as on stdio, but for the POSTs, and a server that dies with its stream."""
    wire = on_one_stream(CancelRace(i=cell.i, j=cell.j, reaction=reaction), cell.k)
    noted = receipts(wire)
    said, left = messages(cell.k), messages(cell.k)[cell.j :]
    found: dict[Reaction, list[str]] = {
        "silent": [],
        "late_result": pushed([ANSWER]),
        "late_error": pushed([FAILED]),
        "late_progress": pushed(left[:-1]),
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
