"""The player over HTTP: a cassette played exchange for exchange."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import pytest

from mcpmock.cassette.model import Cassette
from mcpmock.playback.miss import Miss
from mcpmock.playback.player import PlayerNote, PlayerOptions, SessionSelection
from mcpmock.playback.timing import Pace, Timing
from mcpmock.protocol.messages import (
    C2S,
    S2C,
    Fragment,
    Frame,
    HttpBody,
    HttpRequest,
    HttpResponse,
)
from tests.support import (
    INITIALIZE,
    INITIALIZED,
    LOG,
    WELCOME,
    Script,
    accepts,
    answers,
    batch,
    bodiless,
    call,
    cancelled,
    ends,
    error,
    get,
    in_session,
    notification,
    opens,
    over_http,
    player_of,
    post,
    progress,
    replay_http,
    replies,
    request,
    response,
    says,
)
from tests.support.http_episodes import (
    CONCURRENT,
    ENDPOINT,
    OLDER,
    OPENING,
    POLLED,
    ROOTS,
    ROUND,
    SAMPLE,
)
from tests.support.steps import count_steps

JSON = "200 application/json"
ROOTS_LISTED = notification("notifications/roots/list_changed")
NO_ROOTS = response(1, {"roots": []})
Steps = Sequence[Frame | list[Frame]]


def session(*steps: Frame | list[Frame], **playing: Any) -> Script:
    return replay_http(over_http(in_session(2, *steps)), **playing)


def opened(*steps: Frame | list[Frame], **playing: Any) -> Script:
    """A session in which the client has said what opens one."""
    played = session(*OPENING, *steps, **playing)
    played.hears(0, post(901, INITIALIZE), post(902, INITIALIZED, session="live-1"))
    return played


def text(raw: bytes) -> str:
    return raw.decode()


def heads(frames: Sequence[Frame]) -> list[HttpResponse]:
    return [frame.fact for frame in frames if isinstance(frame.fact, HttpResponse)]


def test_a_session() -> None:
    """A client that does what was recorded gets the recorded exchanges, under a session id of its
    own and with its own ids.
    """
    played = session(*ROUND)
    live = {"session": "live-1"}

    assert [f"11 {JSON} session=live-1", f"11 {text(WELCOME)}", "11 eof"] == played.hears(
        0, post(11, INITIALIZE)
    )
    assert ["12 202", "12 eof"] == played.hears(1, post(12, INITIALIZED, **live))
    assert [
        "13 200 text/event-stream session=live-1",
        f"13 {text(request(1, 'roots/list'))}",
    ] == played.hears(2, get(13, **live))
    assert ["14 202", "14 eof"] == played.hears(3, post(14, response(1, {"x": 1}), **live))
    slow = request("s", "tools/call", {"name": "slow"}, token="t")
    assert [
        "15 200 text/event-stream",
        "15 sse id=a0 retry=100",
        "15 ",
        "15 sse id=a1",
        f"15 {text(progress('t', 1))}",
        "13 sse event=message",
        f"13 {text(LOG)}",
        "15 sse id=a2 event=message",
        f"15 {text(SAMPLE)}",
    ] == played.hears(4, post(15, slow, **live))
    assert [
        "16 202",
        "16 eof",
        f"15 {text(progress('t', 2))}",
    ] == played.hears(5, post(16, response(0, {"any": 1}), **live))
    answer = ["15 sse id=a3", f"15 {text(response('s', {'n': 1}))}", "15 eof"]
    assert answer == played.later(5.002)
    assert [f"17 {JSON}", f"17 {text(response(9, {'n': 2}))}", "17 eof"] == played.hears(
        6, post(17, call(9, "quick"), **live)
    )
    assert ["18 200", "18 eof", "13 eof"] == played.hears(7, bodiless(18, "DELETE", **live))
    assert "19 404 application/json" == played.hears(8, post(19, call(9, "late"), **live))[0]
    assert (0, []) == (player_of(played).missed, player_of(played).leftovers())


def test_older_http() -> None:
    """HTTP+SSE: the endpoint names a new session, and answers come on the stream, before the 202 if
    they were recorded so.
    """
    played = session(*OLDER)

    assert [
        "21 200 text/event-stream",
        "21 sse event=endpoint",
        "21 /message?sessionId=live-1",
    ] == played.hears(0, get(21, to="/sse"))
    to = "/message?sessionId=live-1"
    assert ["21 sse event=message", f"21 {text(WELCOME)}", "22 202", "22 eof"] == played.hears(
        1, post(22, INITIALIZE, to=to)
    )
    played.hears(2, post(23, INITIALIZED, to=to))
    assert ["24 202", "24 eof"] == played.hears(3, post(24, call("x", "a"), to=to))
    assert ["21 sse event=message", f"21 {text(response('x'))}"] == played.later(4)


@pytest.mark.parametrize("data", [response(1), b"/m?sessionId=S", b"https://elsewhere/m"])
def test_an_event_of_an_answer_that_is_named_like_an_endpoint(data: bytes) -> None:
    """It comes as recorded, and the session stays one of Streamable HTTP."""
    played = opened(
        post(3, call(1, "a"), session="S"), opens(3), says(3, data, event="endpoint"),
        [*says(3, response(1), event="message"), ends(3)],
        post(4, call(2, "b"), session="S"), answers(4, response(2)),
    )  # fmt: skip

    told = ["3 sse event=endpoint", f"3 {text(data)}"]
    rest = ["3 sse event=message", f"3 {text(response(1))}", "3 eof"]
    assert ["3 200 text/event-stream", *told, *rest] == played.hears(1, post(3, call(1, "a")))
    assert [f"4 {JSON}", f"4 {text(response(2))}", "4 eof"] == played.hears(
        2, post(4, call(2, "b"))
    )


def test_concurrent_calls() -> None:
    """Recorded concurrency is reproduced on the streams of the calls; a client that makes one call
    after the other waits for the grace, and gets head and answer together.
    """
    both = session(*CONCURRENT)
    both.hears(0, post(1, INITIALIZE), post(2, INITIALIZED))
    assert ["3 200 text/event-stream"] == both.hears(1, post(3, call(1, "a")))
    assert [f"4 {JSON}", f"4 {text(response(2))}", "4 eof", f"3 {text(response(1))}", "3 eof"] == (
        both.hears(1.01, post(4, call(2, "b")))
    )
    assert [] == both.hears(2, post(5, call(3, "c")))
    assert [f"5 {JSON}", f"5 {text(response(3))}", "5 eof"] == both.later(2.02)


def test_polling() -> None:
    """A stream that the server closed early is closed early, and its answer comes on the stream
    that resumes it.
    """
    played = session(*POLLED)
    played.hears(0, post(1, INITIALIZE), post(2, INITIALIZED))

    assert ["3 200 text/event-stream", "3 sse id=e1 retry=10", "3 ", "3 eof"] == played.hears(
        1, post(3, call(1, "long"))
    )
    assert ["4 200 text/event-stream", "4 sse id=e2", f"4 {text(response(1))}", "4 eof"] == (
        played.hears(2, get(4, last_event_id="e1"))
    )
    assert ["5 200 text/event-stream", "5 reset"] == played.hears(3, post(5, call(2, "broken")))


def test_recorded_pauses() -> None:
    """With recorded times the head, the answer and the end come when they came; nothing on an
    exchange comes before its head.
    """
    played = opened(
        post(3, call(1, "a"), session="S"), opens(3), says(3, response(1)), ends(3),
        pace=Pace(Timing("recorded")),
    )  # fmt: skip
    played.later(9)
    played.hears(10, post(3, call(1, "a")))

    assert [["3 200 text/event-stream"], [f"3 {text(response(1))}"], ["3 eof"]] == [
        played.later(now) for now in (11, 12, 13)
    ]


@pytest.mark.parametrize("media", ["stream", "json"])
def test_what_is_dropped_when_the_client_goes(media: str) -> None:
    """Of an exchange whose client went away nothing more is sent; the others go on."""
    answer = answers(3, response(1)) if media == "json" else [*opens(3), *says(3, response(1))]
    played = opened(
        post(3, call(1, "a")), answer, post(4, call(2, "b")), answers(4, response(2)),
        pace=Pace(Timing("recorded")),
    )  # fmt: skip
    played.later(9)
    played.hears(10, post(3, call(1, "a")), [ends(3, "closed", C2S)])
    assert [] == played.later(12)

    played.hears(20, post(4, call(2, "b")))
    assert [f"4 {JSON}", f"4 {text(response(2))}", "4 eof"] == played.later(21)


def test_an_answer_whose_client_left_first() -> None:
    """Where the recorded client left with its answer, a live one that does not gets the end after a
    while.
    """
    played = opened(post(3, call(1, "a")), opens(3), says(3, response(1)), ends(3, "closed", C2S))

    assert ["3 200 text/event-stream", f"3 {text(response(1))}"] == played.hears(
        1, post(3, call(1, "a"))
    )
    assert ["3 eof"] == played.later(1.02)


def test_a_cancelled_call_stays_silent() -> None:
    """A call that the recording answers and the live client cancels is not answered, and its stream
    stays open; the cancel is accepted.
    """
    played = opened(
        post(3, request(1, "x", token=1)), opens(3), says(3, progress(1)), says(3, response(1)),
        ends(3),
    )  # fmt: skip
    played.hears(1, post(3, request(1, "x", token=1)))

    assert ["4 202", "4 eof"] == played.hears(1.001, post(4, cancelled(1)))
    assert [] == played.later(5)


def test_a_recorded_cancel_binds_its_exchange() -> None:
    """The response to a recorded cancel goes out to the live one."""
    played = opened(post(3, call(1, "x")), opens(3), post(4, cancelled(1)), accepts(4, 200))
    played.hears(1, post(3, call("l", "x")))

    assert ["7 200", "7 eof"] == played.hears(2, post(7, cancelled("l")))


def test_pieces_of_a_long_request() -> None:
    """A body in pieces is received when it is complete, each exchange for itself."""
    raw, other = call(1, "a"), call(2, "b")
    played = opened(post(3, raw), answers(3, response(1)), post(4, other), answers(4, response(2)))
    heads = [post(7, raw)[0], post(8, other)[0]]
    first = [
        Frame(C2S, raw[:9], fact=Fragment(), exchange=7),
        Frame(C2S, other[:9], fact=Fragment(), exchange=8),
    ]
    last = [Frame(C2S, other[9:], fact=Fragment(last=True), exchange=8)]

    assert [] == played.hears(1, [*heads, *first])
    assert f"8 {text(response(2))}" in played.hears(1, last)


def test_a_batch_of_another_client_library() -> None:
    """The note says which message it is, as that for a single request does."""
    for wrap, name in ((batch, "a batch"), (bytes, "tools/call")):
        steps = post(3, wrap(call(1, "a")), accept="*/*"), answers(3, wrap(response(1)))
        played = session(*steps)
        notes: list[Miss | PlayerNote] = []
        player_of(played).report = notes.append
        played.hears(1, post(7, wrap(call(2, "a")), accept="application/json"))

        assert [(name, "matched in spite of other HTTP header fields")] == [
            (one.method, one.text) for one in notes if isinstance(one, PlayerNote)
        ]


def test_a_request_that_is_too_long() -> None:
    """It is refused, whatever it begins with, and answers nothing."""
    raw = call(1, "a")
    played = opened(post(3, raw), answers(3, response(1)))
    player_of(played)._assembly._reassembly.max_bytes = 100
    rest = Frame(C2S, b" " * 100, fact=Fragment(last=True), exchange=7)
    heard = played.hears(1, [post(7, raw)[0], Frame(C2S, raw, fact=Fragment(), exchange=7), rest])

    assert ("7 413 application/json", "7 eof") == (heard[0], heard[-1])
    assert f"8 {text(response(1))}" in played.hears(2, post(8, raw))


FORM = Frame(C2S, b"x=1", fact=HttpBody(unkept=True), exchange=7)
UNKNOWN = [
    (post(7, INITIALIZED), ["7 202", "7 eof"]),
    (post(7, batch(INITIALIZED)), ["7 202", "7 eof"]),
    (post(7, response(99)), ["7 202", "7 eof"]),
    (post(7, cancelled(99)), ["7 202", "7 eof"]),
    (get(7), ["7 405", "7 eof"]),
    ([post(7, b"", to="/token")[0], FORM], ["7 404", "7 eof"]),
    *((bodiless(7, method), ["7 405", "7 eof"]) for method in ("OPTIONS", "TRACE", "BREW")),
    (bodiless(7, "GET", to="/favicon.ico"), ["7 404", "7 eof"]),
    (bodiless(7, "DELETE"), ["7 200", "7 eof"]),
]


@pytest.mark.parametrize("order", ["causal", "any", "strict"])
@pytest.mark.parametrize(("live", "expected"), UNKNOWN)
def test_what_is_unknown_and_no_miss(live: list[Frame], expected: list[str], order: str) -> None:
    """What wants no JSON-RPC answer gets the response of a plain server."""
    played = session(post(1, call(1, "a")), answers(1, response(1)), order=order)

    assert expected == played.hears(0, live)
    is_message = live[-1].fact is None
    assert player_of(played).missed == int(order == "strict" and is_message)


@pytest.mark.parametrize(
    ("live", "status", "code", "missed"),
    [
        (call("q", "other"), 200, -31999, 1),
        (request("q", "server/discover"), 400, -32601, 0),
        (b"{torn", 400, -32700, 1),
        (b"", 400, -32700, 1),
        (b"[]", 400, -32700, 1),
    ],
)
def test_what_is_unknown_and_answered(live: bytes, status: int, code: int, missed: int) -> None:
    """A miss is a 200 with its error; a probe and what nobody can read are refused."""
    played = session(post(1, call(1, "a")), answers(1, response(1)))
    head, message, end = played.hears(0, post(7, live))

    assert (f"7 {status} application/json", "7 eof") == (head, end)
    assert f'"code":{code}' in message
    assert missed == player_of(played).missed


@pytest.mark.parametrize("body", [call(1, "a"), call(1, "b"), INITIALIZED, b"{torn"])
@pytest.mark.parametrize("method", ["PUT", "TRACE", "GET", "BREW"])
def test_a_message_that_is_not_posted(method: str, body: bytes) -> None:
    """Any other method than POST is refused, whatever its body says, and is no miss."""
    played = session(post(1, call(1, "a")), answers(1, response(1)))

    assert ["7 405", "7 eof"] == played.hears(0, with_method(7, method, body))
    assert 0 == player_of(played).missed


def test_a_message_that_was_recorded_with_another_method() -> None:
    """What the recorded server answered is answered so."""
    played = session(with_method(1, "PUT", call(1, "a")), answers(1, response(1)))

    assert [f"7 {JSON}", f"7 {text(response(2))}", "7 eof"] == played.hears(
        0, with_method(7, "PUT", call(2, "a"))
    )


def with_method(x: int, method: str, body: bytes) -> list[Frame]:
    """A request with a message as its body that is not a POST."""
    [head, message] = post(x, body, content_length=str(len(body)))
    assert isinstance(head.fact, HttpRequest)
    return [Frame(C2S, fact=msgspec.structs.replace(head.fact, method=method), exchange=x), message]


BATCH = batch(*[call(n, "a") for n in range(101)])


def test_a_large_batch_is_refused() -> None:
    """A batch of more than a hundred messages is refused as by the TypeScript SDK, unless it was
    recorded; it is no miss.
    """
    played = session(post(1, call(1, "a")), answers(1, response(1)))
    head, message, end = played.hears(0, post(7, BATCH))
    assert ("7 400 application/json", "7 eof") == (head, end)
    assert '"id":null' in message
    assert '"code":-32600' in message
    assert 0 == player_of(played).missed

    recorded = session(post(1, BATCH), answers(1, batch(response(1))))
    assert [f"7 {JSON}", f"7 {text(batch(response(1)))}", "7 eof"] == recorded.hears(
        0, post(7, BATCH)
    )


def test_a_ping_nobody_recorded() -> None:
    """It is answered with {}."""
    assert [f"7 {JSON}", f"7 {text(response(5))}", "7 eof"] == opened().hears(
        1, post(7, request(5, "ping"))
    )


def test_refusals_say_what_is_allowed() -> None:
    """A 405 names the method that is taken."""
    played = opened()
    [batch] = played.pipeline.enter(get(7), 1)

    assert ["POST"] == [head.header("allow") for head in heads(batch)]


def test_a_session_that_is_over() -> None:
    """After a DELETE everything unmatched is a 404, and no miss."""
    played = opened()
    played.hears(1, bodiless(7, "DELETE"))

    for live in (post(8, call(1, "x")), post(8, request(1, "ping")), post(8, INITIALIZED), get(8)):
        head, message, end = played.hears(2, live)
        assert ("8 404 application/json", "8 eof") == (head, end)
        assert '"code":-32001' in message
    assert 0 == player_of(played).missed


def test_a_session_that_is_over_with_a_server_behind_it() -> None:
    """The server says what becomes of its session, and answers pings."""
    played = opened(on_miss="live")
    player_of(played).backed = True
    assert [] == played.hears(1, post(7, request(5, "ping")))
    played.hears(1, bodiless(8, "DELETE"))
    assert [] == played.hears(2, post(9, call(1, "x")))

    assert [7, 9] == [frame.exchange for frame in player_of(played).unanswered]


@pytest.mark.parametrize("how", [{}, {"order": "strict"}])
@pytest.mark.parametrize("recorded", [[], [bodiless(9, "DELETE"), accepts(9, 200)]])
def test_a_session_that_is_over_was_played(recorded: Steps, how: dict[str, Any]) -> None:
    """By a DELETE too: of two equal ones the first was played, though it might be either."""
    twice = over_http(in_session(2, *OPENING, *recorded))
    twice.takes *= 2
    played = replay_http(twice, **how)
    played.hears(0, post(901, INITIALIZE), post(902, INITIALIZED, session="live-1"))
    past = player_of(played).selection.past

    assert set() == past.played
    played.hears(2, bodiless(7, "DELETE"))
    assert {(0, 2)} == past.played


def test_what_came_before_the_end_is_over() -> None:
    """A session that was ended answers nothing any more that was recorded before, and what was
    recorded behind it as recorded.
    """
    rest = (post(3, call(1, "a")), answers(3, response(1)))
    unrecorded = opened(*rest)
    unrecorded.hears(1, bodiless(7, "DELETE"))
    assert "8 404 application/json" == unrecorded.hears(2, post(8, call(1, "a")))[0]

    again = opened(post(3, request(1, "tools/list")), answers(3, response(1)))
    for x in (7, 8):
        assert f"{x} {JSON}" == again.hears(1, post(x, request(1, "tools/list")))[0]
    again.hears(1, bodiless(9, "DELETE"))
    assert "10 404 application/json" == again.hears(2, post(10, request(1, "tools/list")))[0]

    late = (post(5, call(1, "a")), answers(5, error(1), 410))
    recorded = opened(*rest, bodiless(4, "DELETE"), accepts(4, 200), *late)
    recorded.hears(1, bodiless(7, "DELETE"))
    assert "8 410 application/json" == recorded.hears(2, post(8, call(1, "a")))[0]
    assert "9 404 application/json" == recorded.hears(3, post(9, call(1, "a")))[0]


def test_a_refused_stream_beside_a_request() -> None:
    """All of a response that is no stream comes at once, whatever the client said in between."""
    played = opened(
        get(3), post(4, call(1, "a")), answers(3, error(b"null"), 400), answers(4, response(1))
    )

    assert [f"7 {JSON.replace('200', '400')}", f"7 {text(error(b'null'))}", "7 eof"] == (
        played.hears(1, get(7))
    )


def resumes(x: int, event: str) -> list[Frame]:
    return get(x, session="live-1", last_event_id=event)


def test_a_stream_that_nobody_knows() -> None:
    """An event of nobody's is refused as one was in the recording; one of ours is not."""
    unknown = get(6, session="S", last_event_id="?")
    played = session(*POLLED, unknown, replies(6, 400), ends(6))
    played.hears(0, post(1, INITIALIZE), post(2, INITIALIZED))
    played.hears(1, post(3, call(1, "long")))

    assert ["7 400", "7 eof"] == played.hears(2, resumes(7, "nobody's"))
    assert "8 200 text/event-stream" == played.hears(3, resumes(8, "e1"))[0]
    assert ["9 405", "9 eof"] == played.hears(4, resumes(9, "e1"))


def test_a_delete_that_was_refused() -> None:
    """Where the recorded server refused to end the session, it goes on."""
    played = opened(bodiless(3, "DELETE"), accepts(3, 405))

    assert ["7 405", "7 eof"] == played.hears(1, bodiless(7, "DELETE"))
    assert ["8 202", "8 eof"] == played.hears(2, post(8, INITIALIZED))


def test_an_exchange_recorded_without_a_response() -> None:
    """A notification that the recording lost sight of is accepted all the same."""
    played = session(post(1, INITIALIZE), answers(1, WELCOME), post(2, INITIALIZED))
    played.hears(0, post(1, INITIALIZE))

    assert ["2 202", "2 eof"] == played.hears(1, post(2, INITIALIZED))


STANDING = (
    get(3), opens(3),
    post(4, call(1, "a")), post(5, call(2, "b")), says(3, LOG, id="e1"),
    answers(4, response(1)), answers(5, response(2)),
    post(6, call(3, "c")), answers(6, response(3)),
)  # fmt: skip
"""The event on the standing stream waits for the call of b."""


@pytest.mark.parametrize("recorded", [[ends(3)], [bodiless(7, "DELETE"), accepts(7, 200), ends(3)]])
def test_the_end_of_a_standing_stream_waits_for_its_events(recorded: Steps) -> None:
    """Where calls come in another order than recorded, the stream does not end before its last
    event.
    """
    played = opened(*STANDING, *recorded)
    played.hears(1, get(13))
    played.later(1.5)
    for x, name in ((14, "a"), (15, "c")):
        lines = [*played.hears(x, post(x, call(x, name))), *played.later(x + 0.5)]
        assert f"{x} eof" in lines
        assert [] == [line for line in lines if line[:2] == "13"]

    event = ["13 sse id=e1", f"13 {text(LOG)}"]
    end = ["13 eof"] if len(recorded) == 1 else []
    lines = [*played.hears(17, post(17, call(17, "b"))), *played.later(17.9)]
    assert [*event, *end] == [line for line in lines if line[:2] == "13"]
    if not end:
        assert ["18 200", "18 eof", "13 eof"] == played.hears(18, bodiless(18, "DELETE"))


def test_the_end_of_the_stream_of_older_http_waits_for_overlapping_requests() -> None:
    """HTTP+SSE: the stream that the server ended after its last answer ends after it in a replay
    whose requests come in another order.
    """
    *recorded, _left = OLDER
    played = session(*recorded, ends(1))
    played.hears(0, get(21, to="/sse"))
    to = "/message?sessionId=live-1"
    played.hears(1, post(22, INITIALIZE, to=to), post(23, INITIALIZED, to=to))

    assert f"21 {text(response(2))}" == played.hears(2, post(24, call(2, "b"), to=to))[1]
    lines = [*played.hears(2.01, post(25, call(1, "a"), to=to)), *played.later(3)]
    assert {f"21 {text(response(1))}", "21 eof"} < set(lines)


def test_a_server_of_older_http_that_crashes_in_a_call() -> None:
    """HTTP+SSE: it crashes in that call too where the client has skipped an earlier one."""
    recorded = OLDER[: OLDER.index(accepts(3)) + 1]
    posted, to = {"to": ENDPOINT.decode()}, "/message?sessionId=live-1"
    first = post(4, call(1, "a"), **posted), accepts(4), says(1, response(1), event="message")
    played = session(*recorded, *first, post(5, call(2, "b"), **posted), accepts(5), ends(1))
    played.hears(0, get(21, to="/sse"))
    played.hears(1, post(22, INITIALIZE, to=to), post(23, INITIALIZED, to=to))
    lines = [*played.hears(2, post(24, call(2, "b"), to=to)), *played.later(5)]

    assert ["24 202", "24 eof", "21 eof"] == lines


def test_the_end_of_a_session_ends_its_streams() -> None:
    """A stream whose last event was never due ends with the session all the same."""
    played = opened(*STANDING, bodiless(7, "DELETE"), accepts(7, 200), ends(3))
    played.hears(1, get(13))
    played.hears(2, post(14, call(1, "a")))
    played.later(3)

    assert ["18 200", "18 eof", "13 eof"] == played.hears(18, bodiless(18, "DELETE"))


def test_a_connection_torn_down_behind_the_client() -> None:
    """The end of a response that was recorded after its client had left is not the server's: a live
    client that stays gets the end of a whole response.
    """
    left = [ends(3, "closed", C2S), ends(3, "reset")]
    played = opened(post(3, call(1, "a")), opens(3), says(3, response(1)), left)
    played.hears(1, post(3, call(1, "a")))

    assert ["3 eof"] == played.later(1.02)


def test_stubs() -> None:
    """In any order every exchange is answered by its key, again and again."""
    played = session(*ROUND, order="any")
    for now in (0, 1):
        assert f"{now} {text(response(now, {'n': 2}))}" in played.hears(
            now, post(now, call(now, "quick"))
        )
    assert ["7 202", "7 eof"] == played.hears(2, post(7, INITIALIZED))
    assert f"8 {JSON} session=live-1" in played.hears(3, post(8, INITIALIZE))
    assert ["9 200", "9 eof"] == played.hears(4, bodiless(9, "DELETE"))


def test_streams_of_stubs_that_clients_leave() -> None:
    """Nothing of them is kept."""
    played = session(*ROUND, order="any")
    for x in range(1, 6):
        played.hears(x, get(x), [ends(x, "closed", C2S)])

    assert [] == player_of(played)._repeats.playing


def test_stubs_of_older_http() -> None:
    """In any order too, answers come on the stream that the client opened."""
    played = session(*OLDER, order="any")
    played.hears(0, get(1, to="/sse"))

    for x in (2, 3):
        came = played.hears(x, post(x, call(x, "a"), to="/message"))
        assert {f"{x} 202", f"{x} eof", f"1 {text(response(x))}"} < set(came)


def two_sessions(*last: Steps) -> Cassette:
    """Sessions that begin alike and go on differently."""
    return over_http(*(in_session(n, *OPENING, *steps) for n, steps in enumerate(last, 2)))


def test_a_change_of_the_lead_answers_no_exchange_twice() -> None:
    """What one candidate sent on an exchange is not sent again by the one that takes over, and what
    it had not is.
    """
    one = [post(3, call(1, "x")), opens(3), says(3, b"", id="1"), post(4, call(2, "y"))]
    two = [
        post(3, call(1, "x")), opens(3), says(3, b"", id="9"), post(4, call(2, "z")),
        [*says(3, response(1)), ends(3)], answers(4, response(2)),
    ]  # fmt: skip
    played = replay_http(two_sessions(one, two))
    came = played.hears(0, post(1, INITIALIZE), post(2, INITIALIZED), post(3, call(1, "x")))
    assert ["3 200 text/event-stream", "3 sse id=1", "3 "] == came[-3:]

    assert [
        f"3 {text(response(1))}", "3 eof", f"4 {JSON}", f"4 {text(response(2))}", "4 eof"
    ] == played.hears(1, post(4, call(2, "z")))  # fmt: skip


def test_a_change_of_the_lead_ends_a_stream() -> None:
    """Whose call the former lead had answered, and which it had not ended."""
    asked, answered = post(3, call(1, "x")), [*opens(3), *says(3, response(1))]
    one = [asked, answered, post(4, call(2, "y")), answers(4, response(2))]
    two = [asked, answered, [ends(3)], post(4, call(2, "z")), answers(4, response(2))]
    played = replay_http(two_sessions(one, two))
    came = played.hears(0, post(1, INITIALIZE), post(2, INITIALIZED), post(3, call(1, "x")))
    assert f"3 {text(response(1))}" == came[-1]

    assert "3 eof" == played.hears(0.001, post(4, call(2, "z")))[0]


def test_a_candidate_that_knows_the_stream_leads() -> None:
    """A stream that only a later candidate knows is opened, and answers are still found in both."""
    one = [post(3, call(1, "x")), answers(3, response(1, {"n": 1}))]
    two = [get(3), opens(3), says(3, LOG), post(4, call(1, "z")), answers(4, response(1))]
    played = replay_http(two_sessions(one, two))
    played.hears(0, post(1, INITIALIZE), post(2, INITIALIZED))

    assert ["7 200 text/event-stream", f"7 {text(LOG)}"] == played.hears(1, get(7))
    assert f"8 {text(response(5, {'n': 1}))}" in played.hears(2, post(8, call(5, "x")))
    assert 0 == player_of(played).missed


@pytest.mark.parametrize("version", ["2025-03-26", "2025-06-18"])
def test_the_candidate_that_knows_the_stream_best_leads(version: str) -> None:
    """The one whose head is equal, whichever was recorded first."""
    one, two = (
        [get(3, mcp_protocol_version=of), opens(3), says(3, notification(of))]
        for of in ("2025-03-26", "2025-06-18")
    )
    played = replay_http(two_sessions(one, two))
    played.hears(0, post(1, INITIALIZE), post(2, INITIALIZED))

    assert ["7 200 text/event-stream", f"7 {text(notification(version))}"] == played.hears(
        1, get(7, mcp_protocol_version=version)
    )


def test_strict_order() -> None:
    """In strict order a message out of its place is a miss; a stream or a DELETE never is."""
    steps = (get(3), opens(3), post(4, call(1, "a")), answers(4, response(1)))
    played = session(*OPENING, *steps, order="strict")
    assert [] == played.hears(0, get(13))
    played.hears(1, post(11, INITIALIZE))
    assert '"code":-31999' in played.hears(2, post(14, call(1, "a")))[1]

    opened = ["13 200 text/event-stream", "12 202", "12 eof"]
    assert sorted(opened) == sorted(played.hears(3, post(12, INITIALIZED)))
    assert f"15 {text(response(1))}" in played.hears(4, post(15, call(1, "a")))
    assert ["16 200", "16 eof"] == played.hears(5, bodiless(16, "DELETE"))
    assert 1 == player_of(played).missed


def test_sessions_are_dealt() -> None:
    """Sessions that look alike are dealt in recorded order; each has an id of its own."""
    cassette = over_http(
        *(
            in_session(
                n, post(10 * n, INITIALIZE), answers(10 * n, WELCOME, mcp_session_id=f"S{n}"),
                post(10 * n + 1, call(1, "x")), answers(10 * n + 1, response(1, {"n": n})),
            )
            for n in (2, 3)
        )
    )  # fmt: skip
    selection = SessionSelection(cassette, PlayerOptions())
    for n in (2, 3, 2):
        played = replay_http(selection)
        assert f"1 {JSON} session=live-1" in played.hears(0, post(1, INITIALIZE))
        assert f"2 {text(response(4, {'n': n}))}" in played.hears(1, post(2, call(4, "x")))


def test_redacted_values_in_headers() -> None:
    """A redacted value that comes in a header binds its placeholder like one in a message."""
    hole = "mcpmock:secret:token:1"
    played = session(
        post(1, call(1, "x", key=hole), mcp_param_key=hole),
        answers(1, response(1, {"got": hole}), x_echo=hole),
    )
    [batch] = played.pipeline.enter(post(7, call(1, "x", key="k"), mcp_param_key=" k "), 0)

    assert ["k"] == [head.header("x-echo") for head in heads(batch)]
    assert response(1, {"got": "k"}) == batch[1].raw


def test_heads_are_rendered() -> None:
    """What is about the recorded connection and its time is left out of heads, and all else stays
    as it was, order and case included.
    """
    head = replies(1, 200, "application/json", Date="x", X_Own="1", content_length="5",
                   Transfer_Encoding="chunked", connection="close", Keep_Alive="t")  # fmt: skip
    played = session(post(1, call(1, "a")), [head, *says(1, response(1)), ends(1)])
    [batch] = played.pipeline.enter(post(7, call(1, "a")), 0)

    [found] = heads(batch)
    assert [("content-type", "application/json"), ("X-Own", "1")] == found.headers


def test_error_bodies() -> None:
    """A body that is no message comes as it was recorded."""
    page = Frame(S2C, b"<h1>", fact=HttpBody(), exchange=1)
    played = session(post(1, call(1, "a")), [replies(1, 500, "text/html"), page, ends(1)])

    assert ["7 500 text/html", "7 body <h1>", "7 eof"] == played.hears(0, post(7, call(1, "a")))


@pytest.mark.parametrize(
    ("recorded", "said"),
    [
        (lambda x: [get(x, session="S"), accepts(x, 405)], lambda x: get(x, session="live-1")),
        (
            lambda x: [post(x, ROOTS_LISTED, session="S"), accepts(x)],
            lambda x: post(x, ROOTS_LISTED, session="live-1"),
        ),
        (
            lambda x: [says(3, ROOTS), post(x, NO_ROOTS, session="S"), accepts(x)],
            lambda x: post(x, NO_ROOTS, session="live-1"),
        ),
    ],
)
def test_what_comes_again_and_again(
    recorded: Callable[[int], list[Frame | list[Frame]]], said: Callable[[int], list[Frame]]
) -> None:
    """The last of many equal ones takes no more steps than the first."""
    steps = [step for x in range(10, 410) for step in recorded(x)]
    played = opened(get(3, session="S"), opens(3), *steps)
    played.hears(1, get(903, session="live-1"))

    def steps_of(x: int) -> int:
        return count_steps(lambda: played.hears(x, said(x)))

    taken = [steps_of(x) for x in range(1000, 1400)]

    assert min(taken[300:]) <= max(taken[:100])
