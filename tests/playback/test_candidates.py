"""One plan played to one session: due times and live ids."""

from __future__ import annotations

from typing import Any

import pytest

from mcpmock.playback.candidates import Candidate, Candidates
from mcpmock.playback.echo import Variables
from mcpmock.playback.matcher import Matcher, RequestIndex
from mcpmock.playback.plan.builder import build_plan
from mcpmock.playback.request_assembly import ClientMessage
from mcpmock.playback.timing import Pace, Timing
from mcpmock.protocol.messages import HttpRequest
from tests.support import (
    INITIALIZED,
    Line,
    answers,
    batch,
    c,
    c2s,
    cancelled,
    get,
    in_session,
    notification,
    opens,
    over_http,
    plan_of,
    post,
    progress,
    request,
    response,
    s,
    says,
    shown,
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


def test_an_answer_whose_id_is_a_text_of_the_number() -> None:
    """Clients take it for the answer, so it gets the live id."""
    played = performance(c(request(1, "a")), s(response("1")))
    hear(played, request(5, "a"))

    assert [response(5)] == raws(played, 0.0)


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


def test_who_knows_a_request_only_loosely_is_ruled_out() -> None:
    """By one who knows it exactly, whoever led before."""
    asked = {
        level: request(1, "a", {"_meta": {"io.modelcontextprotocol/logLevel": level}})
        for level in ("info", "debug")
    }
    both = Candidates([performance(c(raw), s(response(1))) for raw in asked.values()])
    loose, exact = both.all
    live = ClientMessage(c2s(asked["debug"]))

    assert 0 == both.accept_request(live, 1.0, keep=False)
    assert ([exact], {0: 1.0}, {}) == (both.all, exact.matcher.happened, loose.matcher.happened)


def test_a_reply_releases_what_waited_for_it() -> None:
    """For the id of just that request, as a number or its text, each recorded reply once; a reply
    to nothing is none of ours.
    """
    events: list[Line] = [c(request(1, "a"))]
    for id_ in (7, 8, 8):
        events += [s(request(id_, "roots/list")), c(response(id_)), s(notification(f"n{id_}"))]
    played = performance(*events)
    hear(played, request(1, "a"))
    raws(played, 0.0)

    def accepts(raw: bytes) -> tuple[bool, list[bytes]]:
        accepted = played.accept_reply(ClientMessage(c2s(raw)), 0.0)
        return accepted, [raw for raw in raws(played, 0.0) if b'"n' in raw]

    for other in (response(9), response(b"null"), notification("n"), b"noise"):
        assert (False, []) == accepts(other)
    assert (True, [notification("n7")]) == accepts(response(7))
    assert (False, []) == accepts(response(7))
    assert (True, [notification("n8")]) == accepts(response("8"))
    assert (True, [notification("n8")]) == accepts(response(8))


def test_a_reply_to_what_another_call_asked() -> None:
    """What plays the answer to one call once more does not take it."""
    plan = plan_of(
        c(request(1, "a")),
        s(request(7, "roots/list")),
        c(response(7)),
        s(response(1)),
        c(request(2, "b")),
        s(response(2)),
    )
    reply = ClientMessage(c2s(response(7)))

    assert [True, False] == [
        Candidate(Matcher(RequestIndex(plan.excerpt(event)))).accept_reply(reply, 0.0)
        for event in (0, 4)
    ]


def test_a_call_that_is_cancelled_twice() -> None:
    """What was recorded after each cancel comes after each; of the call itself nothing more."""
    played = performance(
        c(request(1, "a", token=1)),
        s(progress(1)),
        c(cancelled(1)),
        s(notification("n1")),
        c(cancelled(1)),
        s(notification("n2")),
        s(response(1)),
    )
    hear(played, request(5, "a", token=5))

    def cancels(id_: int) -> tuple[bool, list[bytes]]:
        accepted = played.accept_cancel(ClientMessage(c2s(cancelled(id_))), 0.0)
        return accepted, raws(played, 1.0)

    assert (False, []) == (played.accept_cancel(ClientMessage(c2s(cancelled(9))), 0.0), [])
    assert (True, [notification("n1")]) == cancels(5)
    assert (True, [notification("n2"), response(5)]) == cancels(5)
    assert (True, []) == cancels(5)
    assert [0, 2, 4] == [*played.matcher.happened]


def test_a_client_that_will_send_nothing_more() -> None:
    """No answer waits for a request that came before it in the recording."""
    a, b = request(1, "a"), request(2, "b")
    played = performance(c(a), c(b), s(response(1)), s(response(2)))
    follower = Candidate(Matcher(RequestIndex(played.plan)))
    follower.begin(0.0, speaks=False)
    for one in (played, follower):
        hear(one, a)
        assert [] == raws(one, 0.0)
        one.stop_waiting(0.0)

    assert [[response(1)], []] == [raws(one, 0.0) for one in (played, follower)]


def test_a_text_that_is_wanted_back() -> None:
    """Until the client has given another one, it comes as it was recorded."""
    hole = "mcpmock:secret:token:1"
    played = performance(s(notification("n", {"k": hole})), c(request(1, "a", {"k": hole})))
    played.matcher.index.variables = Variables({hole: "old"})

    assert [notification("n", {"k": "old"})] == raws(played, 0.0)


def test_what_a_former_lead_still_owes() -> None:
    """The answer to a call that the new lead does not know, if it was not sent; nothing else."""
    note = notification("n")
    events = (c(INITIALIZED), s(note), c(request(1, "a")), s(response(1)))

    def former() -> Candidate:
        played = performance(*events)
        hear(played, INITIALIZED)
        hear(played, request(5, "a"))
        return played

    lead, played, sent = performance(c(request(2, "b")), s(response(2))), former(), former()
    knows = former()
    raws(sent, 0.0)

    assert [True, False, False] == [
        played.yield_to(lead),
        sent.yield_to(lead),
        played.yield_to(knows),
    ]
    again = former()
    again.yield_to(lead)
    assert [[], [response(5)]] == [raws(one, 0.0) for one in (sent, again)]


def test_a_notification_changes_no_lead() -> None:
    """Whoever knows it follows, and the lead goes on."""
    both = Candidates(
        [performance(c(request(1, "a"))), performance(c(INITIALIZED), s(notification("n")))]
    )
    first, second = both.all

    assert both.accept_any(ClientMessage(c2s(INITIALIZED)), 1.0)
    assert not both.accept_any(ClientMessage(c2s(notification("other"))), 1.0)
    assert [first, second] == both.all
    assert [{}, {0: 1.0}] == [one.matcher.happened for one in both.all]


def test_a_lead_that_stays_goes_on_as_before() -> None:
    """What is under way comes when it was due."""
    a, b = request(1, "a", token=1), request(2, "b")
    events = (c(a), s(progress(1)), s(response(1)), c(b), s(response(2)))
    both = Candidates([performance(*events), performance(*events[:3])])
    [lead, _] = both.all
    both.accept_request(ClientMessage(c2s(a)), 1.0, keep=False)
    assert [progress(1)] == raws(lead, 1.0)
    both.accept_request(ClientMessage(c2s(b)), 1.001, keep=False)

    assert ([lead], []) == (both.all, both.owing)
    assert [[response(2)], [response(1)]] == [raws(lead, now) for now in (1.001, 1.002)]


def test_what_was_left_over_of_exchanges() -> None:
    """Only messages count, on streams that the live client opened."""
    tape = over_http(
        in_session(
            1,
            post(1, request(1, "a")),
            answers(1, response(1)),
            get(2),
            [*opens(2), *says(2, notification("n"))],
        )
    )
    [episode] = tape.episodes()
    played = Candidate(Matcher(RequestIndex(build_plan(episode))))
    played.begin(0.0, speaks=True)
    found = []
    for frames in (post(7, request(5, "a")), get(8)):
        head = frames[0].fact
        assert isinstance(head, HttpRequest)
        live = ClientMessage(frames[-1], head)
        match = played.matcher.find(live)
        assert match is not None
        played.accept(match, live, 0.0)
        found.append([planned.frame.raw for planned in played.unsent])

    assert [[response(1)], [response(1), notification("n")]] == found
    raws(played, 0.0)
    assert [] == played.unsent


def test_a_new_lead_says_what_waits_for_nothing() -> None:
    """Unless the former one has said as much; what is equal counts first."""
    banner, other = notification("n", {"pid": 1}), notification("n", {"pid": 2})
    answered = c(request(1, "a")), s(response(1))

    def said(first: list[Line], second: list[Line]) -> list[bytes]:
        plans = plan_of(*first, *answered), plan_of(*second, c(request(2, "b")), s(response(2)))
        both = Candidates([Candidate(Matcher(RequestIndex(plan))) for plan in plans])
        both.begin(0.0)
        raws(both.all[0], 0.0)
        both.accept_request(ClientMessage(c2s(request(2, "b"))), 1.0, keep=False)
        [lead] = both.all
        return raws(lead, 1.0)

    assert [banner, response(2)] == said([], [s(banner)])
    assert [response(2)] == said([s(other)], [s(banner)])
    assert [other, response(2)] == said([s(banner)], [s(other), s(banner)])


@pytest.mark.parametrize("over", ["stdio", "http"])
def test_a_new_lead_goes_on_with_the_calls_under_way(over: str) -> None:
    """For each call as much counts as sent as was sent for it, and the head of its response."""
    a, d = request(1, "a", token=1), request(2, "d", token=2)
    first = [(1, a, [progress(1, 1), progress(1, 2)]), (2, d, [])]
    second = [(1, a, [progress(1, 3)]), (2, d, [progress(2, 4)])]
    both = Candidates(
        [_under_way(first, over), _under_way([*second, (3, request(3, "b"), [])], over)]
    )
    both.begin(0.0)

    def hears(x: int, raw: bytes) -> list[str]:
        live = ClientMessage(c2s(raw))
        if over == "http":
            head, message = post(x, raw)
            assert isinstance(head.fact, HttpRequest)
            live = ClientMessage(message, head.fact)
        both.accept_request(live, 1.0, keep=False)
        assert both.lead is not None
        return [line.partition(" ")[2] for line in shown(both.lead.send_due(1.0))]

    head = ["200 text/event-stream"] if over == "http" else []
    assert [*head, *map(bytes.decode, (progress(7, 1), progress(7, 2)))] == hears(
        7, request(7, "a", token=7)
    )
    assert head == hears(8, request(8, "d", token=8))
    assert sorted([*head, progress(8, 4).decode()]) == sorted(hears(9, request(9, "b")))


def _under_way(calls: list[tuple[int, bytes, list[bytes]]], over: str) -> Candidate:
    """A candidate of calls of which nothing but this was said."""
    if over == "stdio":
        events = [line for _, raw, told in calls for line in (c(raw), *map(s, told))]
        return Candidate(Matcher(RequestIndex(plan_of(*events))))
    steps = [
        step
        for x, raw, told in calls
        for step in (post(x, raw), opens(x), *(says(x, one) for one in told))
    ]
    [episode] = over_http(in_session(2, *steps)).episodes()
    return Candidate(Matcher(RequestIndex(build_plan(episode))))
