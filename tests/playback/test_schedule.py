"""When the messages of a plan leave: pauses, the order of what is due, and endings."""

from __future__ import annotations

import pytest

from mcpmock.playback.timing import Pace, Timing
from tests.support import (
    INITIALIZE,
    LOG,
    Line,
    accepts,
    answers,
    bodiless,
    c,
    call,
    cancelled,
    ends,
    exits,
    get,
    in_session,
    opens,
    over_http,
    play,
    post,
    progress,
    replay_http,
    request,
    response,
    s,
    says,
)
from tests.support.http_episodes import OPENING

RECORDED = Pace(Timing("recorded"))
ONE, TWO = call(1, "a"), call(2, "b")
TOLD = request(1, "a", token=1)


def test_what_was_recorded_together_comes_together() -> None:
    """Whatever the sums of the times are: 0.2 and 0.1 are 0.3."""
    events: list[Line] = [(0.0, "c2s", ONE), (0.2, "c2s", TWO)]
    events += [(0.3, "s2c", response(2)), (0.3, "s2c", response(1))]
    played = play(*events, pace=RECORDED).at(0, client=ONE)

    played.at(0.2, client=TWO).at(0.3, to_client=[response(2), response(1)]).nothing_more()


def test_a_cap_keeps_the_order() -> None:
    """A pause that it shortens is shortened again for what came after it."""
    events: list[Line] = [(0.0, "c2s", ONE), (5.0, "s2c", response(1))]
    events += [(5.5, "c2s", TWO), (6.0, "s2c", response(2)), (6.0, "s2c", LOG)]
    together = [response(1), response(2)]

    played = play(*events, pace=Pace(Timing.parse("cap:1000")))
    played.at(0, client=[ONE, TWO]).at(0.5, to_client=[*together, LOG]).nothing_more()
    played = play(*events, pace=RECORDED).at(0, client=[ONE, TWO])
    played.at(0.5, to_client=[response(2), LOG]).at(5, to_client=response(1)).nothing_more()


def test_an_ending_waits_for_no_cancelled_call() -> None:
    """The server ends behind the last answer, and at the same time where that is not wanted."""
    events = c(TOLD), s(progress(1)), s(response(1)), ("end", {"exit": 3})

    played = play(*events).at(0, client=TOLD, to_client=progress(1))
    played.at(0.002, to_client=[response(1), exits(3)]).nothing_more()
    played = play(*events).at(0, client=TOLD, to_client=progress(1))
    played.at(0.001, client=cancelled(1)).at(0.002, to_client=exits(3)).nothing_more()


def test_nothing_on_an_exchange_comes_before_its_head() -> None:
    """Though the pause before it is shorter."""
    first = get(3, session="S"), post(5, TWO, session="S"), answers(5, response(2)), opens(3)
    then = post(4, ONE, session="S"), says(3, LOG), answers(4, response(1))
    played = replay_http(over_http(in_session(2, *OPENING, *first, *then)), pace=RECORDED)
    played.hears(0, post(1, INITIALIZE))
    played.later(20)
    played.hears(20, get(13, session="live-1"), post(14, ONE, session="live-1"))

    assert [(23, "13 200"), (23, '13 {"j'), (24, "14 200"), (24, '14 {"j'), (24, "14 eof")] == [
        (now, line[:6]) for now in range(20, 30) for line in played.later(now)
    ]


@pytest.mark.parametrize("before", [True, False])
def test_the_end_of_a_session_ends_its_streams(before: bool) -> None:
    """Also where the end of a stream waits for what will not come any more."""
    ended = [ends(3)] if before else []
    steps = get(3, session="S"), opens(3), post(4, ONE, session="S"), says(3, LOG)
    deleted = bodiless(7, "DELETE", session="S"), accepts(7, 200)
    recorded = *steps, answers(4, response(1)), post(5, TWO, session="S"), answers(5, response(2))
    last = [] if before else [ends(3)]
    recording = over_http(in_session(2, *OPENING, *recorded, *ended, *deleted, *last))
    played = replay_http(recording)
    played.hears(0, post(1, INITIALIZE))
    played.hears(1, get(13, session="live-1"))
    played.hears(2, post(14, TWO, session="live-1"))
    played.later(3)

    said = played.hears(3, bodiless(18, "DELETE", session="live-1"))
    assert ["13 eof", "18 200", "18 eof"] == sorted(said)
