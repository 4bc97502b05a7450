"""One plan played to one session: due times and live ids."""

from __future__ import annotations

import random
from typing import Any

import pytest

from mcpmock.playback.candidates import Candidate
from mcpmock.playback.matcher import Matcher, RequestIndex
from mcpmock.playback.request_assembly import ClientMessage
from mcpmock.playback.timing import Pace, Timing
from tests.support import (
    INITIALIZE,
    INITIALIZED,
    WELCOME,
    Line,
    batch,
    c,
    c2s,
    cancelled,
    notification,
    plan_of,
    progress,
    request,
    response,
    s,
)

SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"


def performance(*events: Line, timing: str = "none") -> Candidate:
    played = Candidate(Matcher(RequestIndex(plan_of(*events))), Pace(Timing.parse(timing)))
    played.begin(0.0, speaks=True)
    return played


def hear(played: Candidate, raw: bytes, now: float = 0.0) -> None:
    match = played.matcher.find(ClientMessage(c2s(raw)))
    assert match is not None
    played.accept(match, ClientMessage(c2s(raw)), now)


def raws(played: Candidate, now: float) -> list[bytes]:
    return [frame.raw for frame in played.send_due(now)]


def test_what_waits_for_nothing_is_due_at_once() -> None:
    """Server messages before any client message go out at the beginning."""
    assert [b"banner"] == raws(performance(s(b"banner"), c(INITIALIZE), s(WELCOME)), 0.0)


def test_an_answer_is_due_when_its_request_came() -> None:
    """Nothing is due before the request, and the answer with it."""
    played = performance(c(request(1, "a")), s(response(1)))
    assert [None, []] == [played.next_due, raws(played, 5.0)]

    hear(played, request(1, "a"), 7.0)
    assert [7.0, [response(1)]] == [played.next_due, raws(played, 7.0)]
    assert [None, 1] == [played.next_due, played.answered]


@pytest.mark.parametrize("live", [7, "7", b"1.0", b"1e2", "x", b"9007199254740993", b"null"])
def test_the_live_id_as_it_is_spelled(live: Any) -> None:
    """The recorded answer carries the live id as spelled, and every other byte as recorded."""
    recorded = b'{ "result" : {"id":1,"text":"1"}, "id" : 1 , "jsonrpc":"2.0"}'
    played = performance(c(request(1, "a")), s(recorded))
    hear(played, request(live, "a"))

    [raw] = raws(played, 0.0)
    spelled = live if isinstance(live, bytes) else request(live, "a")[21:].partition(b",")[0]
    assert (
        recorded.replace(
            b'"id" : 1', b'"id" : ' + spelled.removeprefix(b'"id":').removeprefix(b":")
        )
        == raw
    )


@pytest.mark.parametrize("token", [5, "5", b"5.0"])
def test_the_live_token(token: Any) -> None:
    """Progress carries the live token, the answer comes 2 ms after it."""
    played = performance(c(request(1, "a", token="t")), s(progress("t")), s(response(1)))
    hear(played, request(2, "a", token=token), 1.0)

    assert [progress(token)] == raws(played, 1.0)
    assert 1.002 == played.next_due
    assert [response(2)] == raws(played, 1.002)


def test_progress_that_nobody_asked_for_live() -> None:
    """Where the live client gave no token, its progress is left out."""
    played = performance(c(request(1, "a", token="t")), s(progress("t")), s(response(1)))
    hear(played, request(2, "a"), 0.0)

    assert [response(2)] == raws(played, 0.002)


def test_a_subscription_follows_the_live_listen() -> None:
    """The subscription id in what a listen brings, and in its result, is the live one, type
    preserved.
    """
    tagged = notification(
        "notifications/resources/updated", {"_meta": {SUBSCRIPTION: "listen-1"}, "uri": "listen-1"}
    )
    result = response("listen-1", {"_meta": {SUBSCRIPTION: "listen-1"}})
    played = performance(c(request("listen-1", "subscriptions/listen")), s(tagged), s(result))
    hear(played, request(7, "subscriptions/listen"))

    assert [
        tagged.replace(b'Id":"listen-1"', b'Id":7'),
        result.replace(b'"listen-1"', b"7"),
    ] == raws(played, 0.0)


def test_batches_follow_member_by_member() -> None:
    """In a batch of answers each member gets the live id of its own request."""
    asked = batch(request(1, "a"), request(2, "b"))
    played = performance(c(asked), s(batch(response(2, {"x": 2}), response(1, {"x": 1}))))
    hear(played, batch(request("one", "a"), request("two", "b")))

    assert [batch(response("two", {"x": 2}), response("one", {"x": 1}))] == raws(played, 0.0)


def overlapping() -> Candidate:
    return performance(c(request(1, "a")), c(request(2, "b")), s(response(2)), s(response(1)))


def test_an_overlap_is_waited_for() -> None:
    """An answer waits for the request that overlapped it, and both come in recorded order."""
    played = overlapping()
    hear(played, request(1, "a"), 1.0)
    assert [] == raws(played, 1.01)

    hear(played, request(2, "b"), 1.01)
    assert [response(2), response(1)] == raws(played, 1.01)


def test_a_sequential_client_is_not_stuck() -> None:
    """After 20 ms of quiet the answer comes without the overlap, exactly then."""
    played = overlapping()
    hear(played, request(1, "a"), 0.0)

    assert 0.02 == played.next_due
    assert [] == raws(played, 0.0199)
    assert [response(1)] == raws(played, 0.02)
    hear(played, request(2, "b"), 3.0)
    assert [response(2)] == raws(played, 3.0)


def test_a_session_that_is_not_quiet() -> None:
    """Whatever is heard starts the 20 ms anew, but the answer waits 100 ms at most."""
    played = overlapping()
    hear(played, request(1, "a"), 0.0)
    for now in (0.015, 0.03, 0.045, 0.06, 0.075, 0.09):
        played.note_activity(now)
        assert [] == raws(played, now)

    assert 0.1 == played.next_due
    assert [response(1)] == raws(played, 0.1)


def test_no_more_client_no_more_waiting() -> None:
    """When the client is done, held answers are due at once."""
    played = overlapping()
    hear(played, request(1, "a"), 0.0)
    played.stop_waiting(0.001)

    assert [response(1)] == raws(played, 0.001)


def test_one_slow_answer_holds_up_nothing_else() -> None:
    """Recorded pauses are per request, from the cause."""
    events: list[Line] = [
        (0.0, "c2s", request(1, "slow")),
        (0.1, "c2s", request(2, "ping")),
        (0.2, "s2c", response(2)),
        (5.0, "s2c", response(1)),
    ]
    played = performance(*events, timing="recorded")
    hear(played, request(1, "slow"), 10.0)
    hear(played, request(2, "ping"), 10.5)

    assert 10.5 + 0.1 == played.next_due
    assert [response(2)] == raws(played, 10.5 + 0.1)
    assert [response(1)] == raws(played, 20.0)


def test_a_cap_keeps_the_order() -> None:
    """Of two pauses that are both cut the first recorded one still ends first, though its call came
    later; what was asked alone waits for neither.
    """
    slow, quick = request(1, "slow"), request(2, "quick")
    events = (c(slow), c(quick), (3, "s2c", response(2)), (40, "s2c", response(1)))
    played = performance(*events, timing="cap:100")
    hear(played, slow, 5.0)
    hear(played, quick, 5.01)

    assert [] == raws(played, 5.09)
    assert [response(2), response(1)] == raws(played, 5.1)


def test_a_cap_and_progress() -> None:
    """An answer that is taken along still comes behind its progress, and not in one read with
    it.
    """
    a, b = request(1, "a", token=1), request(2, "b")
    first, last = (3, "s2c", progress(1)), (9, "s2c", response(1))
    events = (c(a), c(b), first, last, (9.01, "s2c", response(2)))
    played = performance(*events, timing="cap:100")
    hear(played, a, 0.0)
    hear(played, b, 0.0)

    assert [progress(1), response(2)] == raws(played, 0.1)
    assert played.next_due == 0.1 + 0.002
    assert [response(1)] == raws(played, 0.1 + 0.002)


def test_pauses_within_a_call_add_up() -> None:
    """Messages of one call follow each other as far apart as recorded."""
    events: list[Line] = [
        (0.0, "c2s", request(1, "a", token=1)),
        (1.0, "s2c", progress(1, 1)),
        (1.5, "s2c", progress(1, 2)),
        (3.5, "s2c", response(1)),
    ]
    played = performance(*events, timing="recorded")
    hear(played, request(1, "a", token=1), 0.0)

    assert [[], [progress(1, 1)], [progress(1, 2)], [], [response(1)]] == [
        raws(played, now) for now in (0.999, 1.0, 1.5, 3.499, 3.5)
    ]


def test_a_cancel_silences_what_was_recorded_as_answered() -> None:
    """A call that the live client cancels and the recorded one did not is not answered any more."""
    played = performance(c(request(1, "a", token=1)), s(progress(1)), s(response(1)))
    hear(played, request("x", "a", token=1), 0.0)
    raws(played, 0.0)

    assert True is played.accept_cancel(ClientMessage(c2s(cancelled("x"))), 0.001)
    assert [] == raws(played, 1.0)


def test_a_recorded_cancel_is_answered_as_recorded() -> None:
    """Where the server answered late after the cancel, it does so again."""
    played = performance(c(request(1, "a")), c(cancelled(1)), s(response(1)))
    hear(played, request(5, "a"), 0.0)
    assert [] == raws(played, 1.0)

    assert True is played.accept_cancel(ClientMessage(c2s(cancelled(5))), 2.0)
    assert [response(5)] == raws(played, 2.0)


@pytest.mark.parametrize(
    "raw", [cancelled(99), cancelled("1"), notification("notifications/cancelled")]
)
def test_cancels_of_nothing(raw: bytes) -> None:
    """A cancel of what nobody asked, of another type or of nothing is ignored."""
    played = performance(c(request(1, "a")), s(response(1)))
    hear(played, request(1, "a"))

    assert False is played.accept_cancel(ClientMessage(c2s(raw)), 0.0)
    assert [response(1)] == raws(played, 0.0)


def test_sampling_within_a_call_gates_the_rest_of_it() -> None:
    """After the server asked the client something in a call, its answer waits for the client's."""
    played = performance(
        c(request(1, "tools/call")),
        s(request(0, "sampling/createMessage")),
        c(response(0)),
        s(response(1)),
    )
    hear(played, request(1, "tools/call"))
    assert [request(0, "sampling/createMessage")] == raws(played, 1.0)

    assert False is played.accept_reply(ClientMessage(c2s(response(5))), 2.0)
    assert True is played.accept_reply(ClientMessage(c2s(response(0, {"any": "answer"}))), 2.0)
    assert [response(1)] == raws(played, 2.0)


def test_bound_values_come_back() -> None:
    """A response gives back the live value of a placeholder, escaped for JSON; one that nothing
    bound stays.
    """
    hole = "mcpmock:secret:token:1"
    played = performance(
        c(request(1, "a", {"key": hole})),
        s(response(1, {"text": f"got {hole} and mcpmock:secret:token:2"})),
    )
    hear(played, request(1, "a", {"key": 'h"ü\n2'}))

    assert [response(1, {"text": 'got h"ü\n2 and mcpmock:secret:token:2'})] == raws(played, 0.0)


def test_what_was_left_over() -> None:
    """Requests that never came are unused, and messages that were never due are unplayed."""
    played = performance(
        c(request(1, "a")),
        s(response(1)),
        c(request(2, "b")),
        s(response(2)),
        c(INITIALIZED),
        s(b"late"),
    )
    hear(played, request(1, "a"))

    assert [2] == [event.index for event in played.unused]
    assert [response(1), b"late"] == [planned.frame.raw for planned in played.unsent]
    raws(played, 0.0)
    assert [b"late"] == [planned.frame.raw for planned in played.unsent]


@pytest.mark.parametrize("seed", range(50))
def test_next_due_is_never_early(seed: int) -> None:
    """At the time that it names, something is played, and before it nothing."""
    dice = random.Random(seed)
    events: list[Line] = [
        (number * 0.001, "c2s", request(number, "a", {"n": number})) for number in range(5)
    ]
    events += [(round(dice.uniform(0.01, 3), 3), "s2c", response(number)) for number in range(5)]
    played = performance(*events, timing="recorded")
    for number in range(5):
        hear(played, request(number, "a", {"n": number}), round(dice.uniform(0, 2), 3))
    for _ in range(5):
        due = played.next_due
        if due is None:
            break
        assert [] != raws(played, due)
    assert 5 == played.answered
