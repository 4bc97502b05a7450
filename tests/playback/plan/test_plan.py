"""Parts of a plan."""

from __future__ import annotations

import json

from mcpmock.playback.plan.builder import build_plan
from mcpmock.playback.plan.plan import NO_OVERLAPS, OverlapFinder, Overlaps, ReplayPlan
from mcpmock.protocol.messages import S2C, Frame, HttpBody
from tests.support import (
    LOG,
    accepts,
    answers,
    batch,
    c,
    call,
    ends,
    error,
    get,
    in_session,
    logs,
    opens,
    over_http,
    plan_of,
    post,
    progress,
    replies,
    request,
    response,
    s,
    says,
    shown,
)


def test_what_no_exchange_carries() -> None:
    """Standard error is on no exchange: a message that nothing waits for is not answered by it."""
    whole = http(post(1, call(1, "a")), logs("x"), answers(1, response(1)))

    assert {1: [1, 2, 3]} == {x: [*at] for x, at in whole.by_exchange.items()}


def test_what_only_http_needs() -> None:
    """Heads, ends and events that only open a stream; messages are there whatever carries them."""
    whole = http(
        post(1, call(1, "a")),
        [*opens(1), *says(1, b"", id="0"), *says(1, progress(1)), *says(1, response(1)), ends(1)],
    )

    details = [one.frame for one in whole.messages if one.is_http_detail]
    assert ["1 200 text/event-stream", "1 ", "1 eof"] == shown(details)
    page = http(
        post(1, call(1, "a")), replies(1, 500), Frame(S2C, b"-", fact=HttpBody(), exchange=1)
    )
    assert all(one.is_http_detail for one in page.messages)
    bare = plan_of(c(call(1, "a")), ("stderr", "x"), s(response(1)))
    assert not any(one.is_http_detail for one in bare.messages)


def test_overlaps_of_bodies_that_came_late() -> None:
    """A request that was answered ahead of its body counts as recorded with its body."""
    requests = OverlapFinder()
    for event in (10, 5, 20, 30):
        requests.add(event)

    assert [(10, 20, 30), (20, 30)] == [requests.after(event).others for event in (5, 10)]
    assert [Overlaps(3, 4), NO_OVERLAPS] == [requests.after(event) for event in (20, 30)]
    assert Overlaps(0, 4) == requests.all()


def test_the_answers_to_a_client_event() -> None:
    """Results and errors of all calls in it, and nothing else that they brought."""
    asked = c(batch(request(1, "a", token="t"), request(2, "b")))
    whole = plan_of(asked, s(progress("t")), s(error(2)), s(response(1, {"n": 1})))
    [event] = whole.client_events.values()

    told = [json.loads(raw or b"") for raw in whole.answers(event)]
    assert [json.loads(error(2))["error"], {"n": 1}] == told


def test_what_has_its_place_in_strict_order() -> None:
    """Messages; a stream may be opened at any time."""
    assert [2] == http(get(1), post(2, call(1, "a"))).in_order


def test_an_excerpt_is_what_belongs_to_one_request() -> None:
    """For an repeat only the messages and client events of one request remain."""
    whole = plan_of(
        c(request(1, "x")),
        s(response(1)),
        c(request(2, "a", token=2)),
        c(request(3, "b")),
        s(progress(2)),
        s(request(0, "roots/list")),
        c(response(0)),
        s(response(3)),
        s(response(2)),
    )
    excerpt = whole.excerpt(2)

    assert [4, 8] == [planned.index for planned in excerpt.messages]
    assert [NO_OVERLAPS] * 2 == [planned.overlaps for planned in excerpt.messages]
    assert [2] == sorted(excerpt.client_events)


def http(*steps: Frame | list[Frame]) -> ReplayPlan:
    [episode] = over_http(in_session(2, *steps)).episodes()
    return build_plan(episode)


def test_an_excerpt_has_the_whole_exchange() -> None:
    """Over HTTP an repeat has all of the response, on whichever stream it came, and the responses
    to the client's answers within it.
    """
    whole = http(
        get(1),
        opens(1),
        post(2, call(1, "a")),
        says(1, request(0, "roots/list")),
        post(3, response(0)),
        accepts(3),
        says(1, response(1)),
        accepts(2),
    )
    excerpt = whole.excerpt(3)

    assert ["1 ", "3 202", "3 eof", "1 ", "2 202", "2 eof"] == [
        shown([planned.frame])[0].partition("{")[0] for planned in excerpt.messages
    ]
    assert [3, 6] == sorted(excerpt.client_events)


def test_an_excerpt_of_a_stream() -> None:
    """That of a GET is what it carries, as far as it waits for nothing earlier."""
    whole = http(get(1), opens(1), says(1, LOG), post(2, call(1, "a")), answers(2, response(1)))

    assert ["1 200 text/event-stream", f"1 {LOG.decode()}"] == shown(
        planned.frame for planned in whole.excerpt(0).messages
    )


def test_an_excerpt_of_a_stream_that_a_call_follows() -> None:
    """What it carries waits for that call too, and so does its end."""
    whole = http(
        get(1), opens(1), post(2, call(1, "a")), answers(2, response(1)), says(1, LOG), ends(1)
    )
    excerpt = whole.excerpt(0)

    assert [[0], [0, 3], [0, 3]] == [sorted(planned.causes) for planned in excerpt.messages]
    assert [0, 3] == [*excerpt.client_events]


def test_an_excerpt_ends_without_other_calls() -> None:
    """The end of a response that carried the answer to another call too waits for its own call."""
    whole = http(
        post(1, call(1, "a")), opens(1), says(1, response(1)),
        post(2, call(2, "b")), [*says(1, response(2)), ends(1)], accepts(2),
    )  # fmt: skip
    *_, other, end = whole.excerpt(1).messages

    assert [[1, 5], [1]] == [sorted(other.causes), sorted(end.causes)]
