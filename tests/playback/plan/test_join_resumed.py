"""Streams whose client came back are one stream; those that the server ended are not."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from mcpmock.cassette.model import Event
from mcpmock.playback.plan.steps import resumed
from mcpmock.protocol.messages import C2S, S2C, Frame
from tests.support import (
    call,
    ends,
    exits,
    get,
    hangs_up,
    in_session,
    opens,
    over_http,
    post,
    progress,
    replies,
    response,
    says,
    shown,
)

CALL = (post(1, call(1, "a"), session="S"), opens(1), says(1, progress(1, 1), id="e1"))
LEAVES = ends(1, "closed", C2S)
COMES_BACK = (get(2, session="S", last_event_id="e1"), opens(2))
ANSWER = [*says(2, response(1), id="e2"), ends(2)]


def told(*steps: Frame | list[Frame], session: int = 2) -> list[str]:
    """What is left of these steps behind the first event."""
    [take] = over_http(in_session(session, *CALL, *steps)).takes
    return lines(resumed(take.events)[len(lines_of_call()) :])


def lines_of_call() -> list[str]:
    return lines(over_http(in_session(2, *CALL)).takes[0].events)


def lines(events: Sequence[Event]) -> list[str]:
    return shown(frame for event in events if (frame := event.frame) is not None)


def test_what_was_never_cut_stays() -> None:
    """The very same list, be it over stdio or over HTTP."""
    events = over_http(in_session(2, *CALL, says(1, response(1), id="e2"), ends(1))).takes[0].events

    assert events is resumed(events)


def test_a_client_that_came_back() -> None:
    """What came to it then came on the first exchange; that it left stays."""
    assert ["1 closed", "1 sse id=e2", f"1 {response(1).decode()}", "1 eof"] == told(
        LEAVES, *COMES_BACK, ANSWER
    )


def test_again_and_again() -> None:
    """The second time it names an event of the exchange before."""
    later = [*says(3, response(1), id="e3"), ends(3)]
    more = says(2, progress(1, 2), id="e2")
    again = (get(3, session="S", last_event_id="e2"), opens(3))

    assert ["1 closed", "1 sse id=e2", f"1 {progress(1, 2).decode()}", "1 closed"] == told(
        LEAVES, *COMES_BACK, more, ends(2, "closed", C2S), *again, later
    )[:4]
    assert ["1 sse id=e3", f"1 {response(1).decode()}", "1 eof"] == told(
        LEAVES, *COMES_BACK, more, ends(2, "closed", C2S), *again, later
    )[4:]


def test_what_was_sent_twice() -> None:
    """An event that the client may have seen counts once; one behind it that has no id stays."""
    twice = [*says(2, progress(1, 1), id="e1"), *says(2, progress(1, 2)), ends(2)]

    assert ["1 closed", f"1 {progress(1, 2).decode()}", "1 eof"] == told(LEAVES, *COMES_BACK, twice)


OTHER = (post(5, call(2, "b"), session="S"), opens(5), says(5, response(2), id="o1"), ends(5))


@pytest.mark.parametrize(
    ("again", "left"),
    [
        (says(2, response(2), id="o1"), []),
        ([*says(2, response(2), id="o1"), *says(2, response(2), id="o1")], []),
        ([*says(2, progress(1, 1), id="e1"), *says(2, response(2), id="o1")], []),
        (says(2, progress(1, 9), id="e1"), []),
        (says(2, progress(1, 9), id="o1"), ["1 sse id=o1", f"1 {progress(1, 9).decode()}"]),
        (says(2, response(2), id="o2"), ["1 sse id=o2", f"1 {response(2).decode()}"]),
        (says(2, response(2)), [f"1 {response(2).decode()}"]),
    ],
)
def test_events_of_another_stream(again: list[Frame], left: list[str]) -> None:
    """Where one stream is resumed, an event of another one with its id and its data counts once;
    one of its own does with its id alone.
    """
    before = len(told(*OTHER, LEAVES))
    found = told(*OTHER, LEAVES, *COMES_BACK, again, ANSWER)[before:]
    assert [*left, "1 sse id=e2", f"1 {response(1).decode()}", "1 eof"] == found


def test_events_without_an_id() -> None:
    """Nothing tells whether one came before: each counts, here and on another stream."""
    other = (OTHER[0], opens(5), says(5, progress(1, 2), event="message"), ends(5))
    again = says(2, progress(1, 2), event="message")
    found = told(*other, LEAVES, *COMES_BACK, again, again, ANSWER)

    assert 2 == found.count(f"1 {progress(1, 2).decode()}")


def test_events_of_another_stream_that_two_bring() -> None:
    """What two resumed streams bring of a third one, which its client lost, counts once."""
    lost = (post(5, call(2, "b"), session="S"), opens(5), says(5, progress(2, 1), id="f1"))
    stolen = says(2, response(3), id="o1")
    resumes = (get(6, session="S", last_event_id="f1"), opens(6), says(6, response(3), id="o1"))
    found = told(*lost, LEAVES, ends(5, "closed", C2S), *COMES_BACK, stolen, *resumes, ANSWER)

    assert ["1 sse id=o1"] == [line for line in found if line.endswith("id=o1")]


def test_the_end_of_the_process_stays() -> None:
    """It is none of a response: nobody had left it before."""
    last = (hangs_up(C2S), hangs_up(S2C), exits(7))

    assert 3 == len(told(*last))


def test_events_that_are_on_their_way() -> None:
    """What comes on the resumed stream first counts where it belongs."""
    late, asked, end = says(5, response(2), id="o1"), OTHER[:2], ends(5)
    again = says(2, response(2), id="o1")
    found = told(*asked, LEAVES, *COMES_BACK, again, late, end, ANSWER)
    assert ["5 sse id=o1"] == [line for line in found if line.endswith("id=o1")]


def test_streams_that_resume_nothing_repeat_what_they_like() -> None:
    """A standalone stream may send what another one sent."""
    alone = (get(6, session="S"), opens(6), says(6, response(2), id="o1"))
    found = told(*OTHER, LEAVES, *COMES_BACK, *alone, ANSWER)
    assert 2 == sum(line.endswith("sse id=o1") for line in found)


def test_an_old_connection_that_closes_late() -> None:
    """It is not the end of the stream."""
    assert ["1 sse id=e2", f"1 {response(1).decode()}", "1 eof"] == told(
        *COMES_BACK, ends(1), ANSWER
    )


def test_what_is_the_server_s_doing() -> None:
    """A stream that the server ended, a refusal, an event of nobody's, another session's: these
    stay two exchanges.
    """
    ended = told(ends(1), *COMES_BACK, ANSWER)
    refused = told(LEAVES, COMES_BACK[0], replies(2, 400, "text/event-stream"))
    unnamed = told(says(1, progress(1, 2), id=""), LEAVES, get(2, session="S"), opens(2), ANSWER)
    whole = told(LEAVES, COMES_BACK[0], replies(2, 200, "application/json"))
    unknown = told(LEAVES, get(2, session="S", last_event_id="x"), opens(2), ANSWER)
    alone = told(LEAVES, *COMES_BACK, ANSWER, session=1)

    assert ["1 eof", "2 GET /mcp", "2 200 text/event-stream", "2 sse id=e2"] == ended[:4]
    assert ["1 closed", "2 GET /mcp", "2 400 text/event-stream"] == refused
    assert ["1 closed", "2 GET /mcp", "2 200 text/event-stream", "2 sse id=e2"] == unnamed[2:6]
    assert ["1 closed", "2 GET /mcp", "2 200 application/json"] == whole
    assert ["1 closed", "2 GET /mcp", "2 200 text/event-stream", "2 sse id=e2"] == unknown[:4]
    assert unknown == alone


def test_a_poll_that_is_lost() -> None:
    """A client that polled, and lost that response too, resumes that one."""
    lost = (*COMES_BACK, ends(2, "closed", C2S))
    again = (get(3, session="S", last_event_id="e1"), opens(3), says(3, response(1), id="e2"))

    assert ["1 eof", "2 GET /mcp", "2 200 text/event-stream", "2 closed", "2 sse id=e2"] == told(
        ends(1), *lost, *again
    )[:5]


def test_what_a_poll_gave_again() -> None:
    """An event counts once too where the server ended the response behind it."""
    twice = [*says(2, progress(1, 1), id="e1"), *ANSWER]

    assert ["1 eof", "2 GET /mcp", "2 200 text/event-stream", "2 sse id=e2"] == told(
        ends(1), *COMES_BACK, twice
    )[:4]


def test_the_end_of_a_connection_that_the_client_had_left() -> None:
    """It is the recorder's own doing, and not the end of the stream."""
    assert ["1 closed", "1 sse id=e2", f"1 {response(1).decode()}", "1 eof"] == told(
        LEAVES, ends(1, "reset"), *COMES_BACK, ANSWER
    )


def test_ids_of_two_sessions() -> None:
    """Each session counts its own events."""
    other = (get(2, session="T", last_event_id="e1"), opens(2), ANSWER)
    [take] = over_http(in_session(2, *CALL, LEAVES), in_session(3, *other)).takes

    assert take.events is resumed(take.events)
