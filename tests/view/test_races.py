"""What a recording shows of a cancellation race."""

from __future__ import annotations

from typing import Any

from mcpmock.cassette.model import Event
from mcpmock.view.races import SeenRace, drawing, seen_races
from mcpmock.view.timeline import timeline
from tests.support import Line, call, cancelled, cassette, error, progress, request, response

CALL = ("c2s", request(1, "tools/call", {"name": "slow"}, token=1))
ANSWER = ("s2c", response(1, {"content": []}))
CANCEL = ("c2s", cancelled(1))


def race_of(*events: Line) -> SeenRace:
    (found,) = seen_races(timeline(cassette(*events)))
    return found


def fitting(race: SeenRace) -> list[tuple[int, int]]:
    return [(i, j) for i, j, _, fits in race.grid() if fits]


def test_the_cells_that_fit_what_the_recorder_saw() -> None:
    """One of two messages had passed: the client had received at most one, the server sent at
    least one.
    """
    race = race_of(CALL, ("s2c", progress(1)), CANCEL, ANSWER)

    assert [(0, 1), (0, 2), (1, 1), (1, 2)] == fitting(race)
    assert race.summary == (
        "As seen at the recorder: 1 of 2 messages had passed when the cancel did."
        " After the cancel: result."
    )


def test_a_silent_server() -> None:
    """Nothing after the cancel is what the protocol asks for."""
    assert "silent" == race_of(CALL, ("s2c", progress(1)), CANCEL).reaction


def test_reactions_are_counted() -> None:
    """Runs of one kind are told once."""
    late = (("s2c", progress(1, n)) for n in range(3))

    assert "3 x progress, then error" == race_of(CALL, CANCEL, *late, ("s2c", error(1))).reaction


def test_a_receipt_names_the_cell() -> None:
    """With a `cancel_race` fault the cell and the reaction are exact."""
    drawn: dict[str, Any] = {"cell": "cancel_crosses_response", "i": 0, "j": 1, "k": 1}
    fault = {"kind": "cancel_race", "id": "1", "drawn": drawn, "reaction": "late_result"}
    recorded = cassette(CALL, CANCEL, ANSWER)
    recorded.takes[0].events = [*recorded.takes[0].events, Event(n=4, fault=fault)]
    (race,) = seen_races(timeline(recorded))

    assert [(0, 1)] == fitting(race)
    assert "Cell cancel_crosses_response (i = 0, j = 1). Reaction: late_result." == race.summary


def test_calls_that_were_not_cancelled_have_no_race() -> None:
    """A cancel of an unknown call is none either."""
    events: tuple[Line, ...] = (("c2s", call(1, "add")), ANSWER, ("c2s", cancelled(9)))

    assert [] == seen_races(timeline(cassette(*events)))


def test_the_drawing_has_a_line_for_each_message_and_the_cancel() -> None:
    """A long call is drawn up to a bound, and has no grid."""
    short = drawing(race_of(CALL, ("s2c", progress(1)), CANCEL, ANSWER))
    long = race_of(CALL, *(("s2c", progress(1, n)) for n in range(100)), CANCEL)

    assert 2 == sum(tag == "circle" and of["class"] != "cancel" for tag, of, _ in short["shapes"])
    assert 1 == sum(tag == "polyline" for tag, _, _ in short["shapes"])
    assert 24 == sum(tag == "circle" and of["r"] == 3 for tag, of, _ in drawing(long)["shapes"])
    assert [] == long.grid()
