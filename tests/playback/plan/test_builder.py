"""Who waits for whom: each recorded server message and its causes."""

from __future__ import annotations

from typing import Any

import pytest

from mcpmock.playback.plan.builder import build_plan
from mcpmock.playback.plan.plan import (
    AGREED_VERSION_PATH,
    NEVER,
    NO_OVERLAPS,
    LiveValue,
    PlannedMessage,
    ReplayPlan,
)
from mcpmock.protocol.messages import C2S, S2C, Frame, ProcessExit, SseMeta, StreamEnd
from tests.support import (
    INITIALIZE,
    INITIALIZED,
    LOG,
    WELCOME,
    Line,
    accepts,
    answers,
    batch,
    bodiless,
    c,
    call,
    cancelled,
    ends,
    error,
    exits,
    get,
    hangs_up,
    in_session,
    notification,
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

SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"


def messages(*events: Line, strict: bool = False) -> list[PlannedMessage]:
    return list(plan_of(*events, strict=strict).messages)


def overlapped(plan: ReplayPlan) -> list[tuple[int, ...]]:
    """The client events that each message overlaps."""
    requests, overlaps = [*plan.request_ranks], [planned.overlaps for planned in plan.messages]
    return [(*requests[one.start : one.stop], *one.others) for one in overlaps]


def causes(*events: Line, strict: bool = False) -> list[list[int]]:
    return [sorted(planned.causes) for planned in messages(*events, strict=strict)]


def test_a_response_has_its_request() -> None:
    """A response waits for its request alone, out-of-order answers included."""
    found = messages(c(request(1, "a")), c(request(2, "b")), s(response(2)), s(response(1)))

    assert [{1}, {0}] == [set(planned.causes) for planned in found]
    assert [True, True] == [planned.answers for planned in found]


def test_overlaps_are_the_requests_that_came_before_the_answer() -> None:
    """An answer knows which later requests had arrived before it was given."""
    found = plan_of(
        c(request(1, "a")),
        c(request(2, "b")),
        s(response(1)),
        c(request(3, "c")),
        s(response(2)),
        s(response(3)),
    )

    assert [(1,), (3,), ()] == overlapped(found)


def test_notifications_overlap_nothing() -> None:
    """A notification that arrived meanwhile is nothing that an answer waits for."""
    assert [()] == overlapped(plan_of(c(request(1, "a")), c(INITIALIZED), s(response(1))))


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([s(LOG)], [[]]),
        ([("stderr", "up\n"), c(INITIALIZE), s(WELCOME)], [[], [0 + 1]]),
        ([c(INITIALIZE), s(WELCOME), c(INITIALIZED), s(LOG)], [[0], [2]]),
        ([c(request(1, "a")), c(INITIALIZED), s(LOG)], [[0]]),
        ([c(request(1, "a")), c(request(2, "b")), s(LOG)], [[1]]),
        ([c(request(1, "a")), c(b"noise"), s(b'{"id":null,"error":{}}')], [[1]]),
        ([c(b"noise"), s(LOG)], [[0]]),
        ([c(request(1, "a")), c(INITIALIZED), s(b"banner")], [[0]]),
        ([c(request(1, "a")), c(INITIALIZED), ("stderr", "x")], [[0]]),
        ([c(request(1, "a")), c(INITIALIZED), s(request(0, "roots/list"))], [[0]]),
        ([c(request(1, "a")), ("end", {"d": "s2c"}), ("end", {"exit": 7})], [[0], [0]]),
    ],
)
def test_causes_of_what_answers_nothing(events: list[Line], expected: list[list[int]]) -> None:
    """What answers nothing waits for the one open request, else for the latest client message."""
    assert expected == causes(*events)


@pytest.mark.parametrize(
    ("said", "calls"),
    [
        (s(b"noise"), ()),
        (s(b'{"neither": "this nor that"}'), ()),
        (("stderr", "x"), (0,)),
        (s(LOG), (0,)),
        (s(request(0, "roots/list")), (0,)),
        (s(response(None)), ()),
        (s(progress("unknown")), ()),
    ],
)
def test_what_belongs_to_the_open_call(said: Line, calls: tuple[int, ...]) -> None:
    """A cancel drops what belongs to a call. Noise only waits for one."""
    [found] = messages(c(request(1, "a")), said)

    assert (calls, {0}) == (found.calls, set(found.causes))


def test_progress_waits_for_no_other_progress() -> None:
    """Unlike a log line, it names its call."""
    unknown, known = s(progress("unknown")), s(progress(1))
    found = messages(c(request(1, "a", token=1)), c(request(2, "b")), unknown, known)

    assert [((), {1}, NO_OVERLAPS), ((0,), {0}, NO_OVERLAPS)] == [
        (planned.calls, set(planned.causes), planned.overlaps) for planned in found
    ]


def test_only_progress_is_progress() -> None:
    """An answer must not follow it at once."""
    found = messages(c(request(1, "a", token=1)), s(LOG), s(progress(1)), s(response(1)))

    assert [False, True, False] == [planned.is_progress for planned in found]


def test_a_clock_that_went_back() -> None:
    """Pauses count from the latest time that a chain has seen."""
    found = messages(
        (0, "c2s", request(1, "a", token=1)),
        (5, "s2c", progress(1, 1)),
        (3, "s2c", progress(1, 2)),
        (6, "s2c", response(1)),
    )

    assert [5.0, 0.0, 1.0] == [planned.gap_s for planned in found]


def test_log_lines_of_a_long_call() -> None:
    """One that might be another call's holds up those behind it, as long as that makes sense."""
    found = plan_of(
        c(request(1, "a")), s(LOG), c(request(2, "b")), s(LOG), s(response(2)), s(LOG),
        s(response(1)), c(request(3, "c")), s(LOG),
    )  # fmt: skip

    assert [{0}, {2}, {2}, {0}, {0}, {7}] == [set(planned.causes) for planned in found.messages]
    assert [(), (), (), (2,), (2,), ()] == overlapped(found)


def test_progress_has_the_owner_of_its_token() -> None:
    """Progress waits for the request that owns its token, whatever else is open."""
    found = messages(
        c(request(1, "a", token="t")), c(request(2, "b")), s(progress("t")), s(progress("nobody"))
    )

    assert [{0}, {1}] == [set(planned.causes) for planned in found]
    assert (LiveValue(0, ("params", "progressToken"), token=True),) == found[0].live_values
    assert () == found[1].live_values


def test_ties_of_a_response() -> None:
    """A response follows the live id, and a listen's result the live subscription id too."""
    result = {"_meta": {SUBSCRIPTION: "listen-1"}}
    found = messages(
        c(request("listen-1", "subscriptions/listen")), s(response("listen-1", result))
    )

    assert (LiveValue(0, ("id",)), LiveValue(0, ("result", "_meta", SUBSCRIPTION))) == found[
        0
    ].live_values


def test_ties_of_a_handshake() -> None:
    """Its answer names the revision of the live session."""
    [found] = messages(c(INITIALIZE), s(WELCOME))

    assert [("id",), AGREED_VERSION_PATH] == [value.path for value in found.live_values]


def test_a_cancel_of_the_servers_own_request() -> None:
    """It names an id of the server's, which stays, and belongs to the call all the same."""
    asked = s(request(1, "roots/list"))
    found = messages(c(request(1, "a")), asked, s(cancelled(1)))

    assert [((0,), ()), ((0,), ())] == [(one.calls, one.live_values) for one in found]


def test_ties_of_a_subscription() -> None:
    """What a listen brings follows the live id of it, and so does the server's end of it."""
    tagged = notification("notifications/resources/updated", {"_meta": {SUBSCRIPTION: "l"}})
    found = messages(
        c(request("l", "subscriptions/listen")), c(request(2, "x")), s(tagged), s(cancelled("l"))
    )

    assert [{0}, {0}] == [set(planned.causes) for planned in found]
    assert (LiveValue(0, ("params", "_meta", SUBSCRIPTION)),) == found[0].live_values
    assert (LiveValue(0, ("params", "requestId")),) == found[1].live_values


def test_a_cancel_is_a_cause_of_what_comes_after_it() -> None:
    """What the server says about a call after its cancel waits for the cancel too."""
    events = (
        c(request(1, "a", token=1)),
        s(progress(1)),
        c(cancelled(1)),
        s(progress(1)),
        s(response(1)),
    )

    assert [[0], [0, 2], [0, 2]] == causes(*events)
    assert {0: (2,)} == plan_of(*events).cancels


def test_sampling_within_a_call_gates_what_follows() -> None:
    """After the server asked the client something within a call, the rest of the call waits for the
    client's answer.
    """
    events = (
        c(request(1, "tools/call")),
        s(request(0, "sampling/createMessage")),
        c(response(0)),
        s(LOG),
        s(response(1)),
    )

    assert [[0], [0, 2], [0, 2]] == causes(*events)
    assert {b"0": (2,)} == plan_of(*events).replies


def test_a_batch_has_the_causes_of_all_its_members() -> None:
    """An answer to a batch waits for the batch; a batch of answers to several requests for all of
    them.
    """
    asked = batch(request(1, "a"), request(2, "b"))
    found = messages(c(asked), s(batch(response(2), response(1))))
    assert [[0]] == causes(c(asked), s(batch(response(2), response(1))))
    assert (LiveValue(1, ("id",), item=0), LiveValue(0, ("id",), item=1)) == found[0].live_values

    both = causes(c(request(1, "a")), c(request(2, "b")), s(batch(response(1), response(2))))
    assert [[0, 1]] == both


def test_the_end_after_the_clients_end_is_no_cue() -> None:
    """When the client closed first, the server's end is its consequence and not played."""
    events = (
        c(INITIALIZE),
        s(WELCOME),
        ("end", {"d": "c2s"}),
        ("stderr", "bye"),
        ("end", {"d": "s2c"}),
        ("end", {"exit": 0}),
    )

    assert [1, 3] == [planned.index for planned in messages(*events)]


def test_an_answer_to_nothing() -> None:
    """An answer of the client that no request of the server was for is a message as others; so is
    the cancel of an unknown call, or of what the server asked.
    """
    asked = s(request("q", "ping"))
    ignored = [c(response(9)), c(cancelled(9)), c(cancelled("q"))]
    found = plan_of(asked, c(request(1, "a")), *ignored, s(response(1)))

    assert {} == found.cancels
    assert ({}, [set(), {1}]) == (found.replies, [set(one.causes) for one in found.messages])


def test_what_ends_a_session_overlaps_all_calls() -> None:
    """The end of the process does, and that of the stream of HTTP+SSE; that of a GET waits for all
    that it carried instead.
    """
    told = says(1, response(1), event="message")
    asked = post(2, A), accepts(2), told, post(3, call(2, "b")), accepts(3)
    streams = [
        http(get(1), opens(1), says(1, b"/m", event=event), *asked, ends(1))
        for event in ("endpoint", "message")
    ]
    crash = plan_of(c(request(1, "a")), c(request(2, "b")), GONE, ("end", {"exit": 7}))
    named, unnamed = [
        http(post(1, A), opens(1), says(1, b"/m", event=event), *asked, ends(1))
        for event in ("endpoint", "message")
    ]

    assert [(0, 1), (0, 1)] == overlapped(crash)
    assert [(5, 11), ()] == [overlapped(found)[-1] for found in streams]
    assert [[0, 11], [0, 5, 11]] == [sorted(found.messages[-1].causes) for found in streams]
    assert overlapped(unnamed) == overlapped(named)
    assert [one.causes for one in unnamed.messages] == [one.causes for one in named.messages]


def test_the_end_of_a_response_waits_for_all_that_it_carried() -> None:
    """The answer to another call came there too."""
    carried = post(1, A), opens(1), says(1, response(1)), post(2, call(2, "b"))
    found = http(*carried, says(1, response(2)), ends(1))

    assert [1, 5] == sorted(found.messages[-1].causes)


def test_strict_waits_for_all_before() -> None:
    """In strict order every planned waits for the last thing the client did before it."""
    events = (
        s(LOG),
        c(request(1, "a")),
        c(request(2, "b")),
        s(response(1)),
        c(INITIALIZED),
        s(response(2)),
    )

    assert [[], [2], [4]] == causes(*events, strict=True)
    assert [(), (), ()] == overlapped(plan_of(*events, strict=True))


def test_gaps_are_paced_per_request_from_the_cause() -> None:
    """A gap is the time since the cause or since what came before in the same call, whichever is
    later.
    """
    found = messages(
        (1.0, "c2s", request(1, "a", token=1)),
        (1.5, "c2s", request(2, "b")),
        (2.0, "s2c", progress(1)),
        (2.5, "s2c", response(2)),
        (4.0, "s2c", response(1)),
    )

    assert [1.0, 1.0, 2.0] == [planned.gap_s for planned in found]


def test_strict_gaps_are_paced_in_one_row() -> None:
    """In strict order a gap is the time since anything happened."""
    found = messages(
        (1.0, "c2s", request(1, "a")),
        (1.5, "c2s", request(2, "b")),
        (2.0, "s2c", response(2)),
        (2.5, "s2c", response(1)),
        strict=True,
    )

    assert [0.5, 0.5] == [planned.gap_s for planned in found]


def test_ids_are_told_apart() -> None:
    """The client's and the server's ids, and ids of several types, do not mix."""
    events = (
        c(request(0, "a")),
        c(request("0", "b")),
        s(request(0, "roots/list")),
        s(response("0")),
        c(response(0)),
        s(response(0)),
    )
    found = messages(*events)

    assert [{1}, {1}, {0}] == [set(planned.causes) for planned in found]


def test_double_and_late_answers_are_cues() -> None:
    """A second answer to a request is played like the first."""
    found = messages(c(request(1, "a")), s(response(1)), s(response(1)))

    assert [{0}, {0}] == [set(planned.causes) for planned in found]
    assert [1, 1] == [len(planned.live_values) for planned in found]


def http(*steps: Frame | list[Frame], session: int = 2, strict: bool = False) -> ReplayPlan:
    """The plan of one session over HTTP."""
    [episode] = over_http(in_session(session, *steps)).episodes()
    return build_plan(episode, strict=strict)


A = call(1, "a")


def test_a_client_event_is_a_whole_request() -> None:
    """A request is its head and its body, and stands where the body came."""
    found = http(post(1, A), answers(1, response(1)), get(2), accepts(2, 405))

    assert [(1, A, "POST", 200), (5, b"", "GET", 405)] == [
        (event.index, event.frame.raw, event.head and event.head.method, event.status)
        for event in found.client_events.values()
    ]


def test_all_of_a_response_waits_for_the_request() -> None:
    """Head, message and end of a response wait for the request of their exchange."""
    assert [{1}] * 3 == [
        set(planned.causes) for planned in http(post(1, A), answers(1, response(1))).messages
    ]


def test_an_event_and_its_data_are_one_cue() -> None:
    """What a server-sent event carries besides its data goes with the data; one without data is a
    planned of its own.
    """
    found = http(
        post(1, A),
        opens(1),
        [Frame(S2C, fact=SseMeta(comment="hi"), exchange=1), *says(1, LOG, id="1")],
        [*says(1, response(1)), ends(1)],
    )

    heads = [shown([planned.frame])[0][:9] for planned in found.messages]
    assert ["1 200 tex", "1 sse com", '1 {"jsonr', '1 {"jsonr', "1 eof"] == heads
    assert [None, None, SseMeta(id="1"), None, None] == [
        planned.meta and planned.meta.fact for planned in found.messages
    ]


def test_answers_on_another_stream_wait_for_both() -> None:
    """HTTP+SSE: an answer comes on the GET, waits for it and for the request, and may come before
    the 202.
    """
    found = http(
        get(1),
        opens(1),
        says(1, b"/m?s=1", event="endpoint"),
        post(2, A),
        says(1, response(1)),
        accepts(2),
    )

    assert [[0], [0], [0, 5], [5], [5]] == [sorted(planned.causes) for planned in found.messages]
    assert [False, False, True, False, False] == [planned.answers for planned in found.messages]


def test_what_names_nothing_belongs_to_the_request_of_its_stream() -> None:
    """A log message on the stream of a POST belongs to what was posted, however much is open; on
    that of a GET to the one open request, else to the latest message.
    """
    both = [post(1, A), post(2, call(2, "b")), opens(1)]
    found = http(*both, says(1, LOG), get(3), opens(3), says(3, LOG))

    assert [[1], [1], [6], [3, 6]] == [sorted(planned.causes) for planned in found.messages]


@pytest.mark.parametrize(("x", "calls"), [(1, ()), (2, (0,))])
def test_noise_on_a_stream(x: int, calls: tuple[int, ...]) -> None:
    """It belongs to a call on the response to that alone; elsewhere it only waits for it."""
    found = http(get(1), opens(1), post(2, A), opens(2), says(x, b"noise"))
    [noise] = [one for one in found.messages if one.frame.raw == b"noise"]

    assert (calls, True) == (noise.calls, 3 in noise.causes)


def test_what_follows_an_answer_to_the_server_waits_for_it() -> None:
    """All of a response that comes after the client's answer waits for that too, the head
    included.
    """
    found = http(
        get(1),
        opens(1),
        post(2, A),
        says(1, request(0, "sampling/createMessage")),
        post(3, response(0)),
        accepts(3),
        answers(2, response(1)),
    )

    assert [[0], [0, 3], [6], [6], *[[3, 6]] * 3] == [
        sorted(planned.causes) for planned in found.messages
    ]


def test_an_overlapped_answer_keeps_its_head() -> None:
    """In JSON the head waits for the same overlapping requests as the answer: they were sent
    together. The head of a stream does not; its end does.
    """
    asked = [post(1, A), post(2, call(2, "b"))]
    json = http(*asked, answers(1, response(1)))
    stream = http(*asked, opens(1), says(1, response(1)), ends(1))

    assert [(3,), (3,), ()] == overlapped(json)
    assert [(), (3,), (3,)] == overlapped(stream)


def test_the_end_of_a_stream_overlaps_what_its_answer_did() -> None:
    """It comes with the answer; behind a log line it waits for nothing that this gave time."""
    unowned = [get(3), opens(3), post(2, call(2, "b")), says(3, LOG)]
    *_, log, end = http(post(1, A), opens(1), *unowned, says(1, LOG), ends(1)).messages

    assert (6,) == log.overlaps.others
    assert NO_OVERLAPS == end.overlaps


def test_streams_are_paced_each_for_itself() -> None:
    """What comes on a stream of no call counts from what came on it before."""
    streams = [get(1), opens(1), get(2), opens(2)]
    found = http(post(9, INITIALIZED), accepts(9), *streams, says(1, LOG), says(2, LOG))

    assert [3.0, 2.0] == [one.gap_s for one in found.messages if one.frame.raw == LOG]


def test_a_batch_on_an_exchange() -> None:
    """Head and end of its response belong to all that was posted, and wait for their cancels."""
    both = batch(request(1, "a"), request(2, "b"))
    found = http(post(1, both), post(2, cancelled(2)), accepts(2), accepts(1))

    assert [((0, 1), [1, 3])] * 2 == [
        (one.calls, sorted(one.causes)) for one in found.messages if one.exchange == 1
    ]


def test_streams_that_end_with_the_session() -> None:
    """The stream of a GET, and that of a call nobody answered, end for what the client did last;
    one whose call is answered elsewhere, or here, for its own request.
    """
    over = http(get(1), opens(1), post(2, A), opens(2), bodiless(3, "DELETE"), ends(1), ends(2))
    resumed = (get(3), opens(3), says(3, response(1)))
    polled = http(post(1, A), opens(1), post(2, INITIALIZED), ends(1), *resumed)

    assert [[0, 5], [3, 5]] == [sorted(planned.causes) for planned in over.messages[2:]]
    assert [1] == sorted(polled.messages[1].causes)


def test_a_stream_that_ends_behind_a_poll() -> None:
    """That a client takes up a stream is no cause: when it loses one is chance."""
    asked = (post(2, A), opens(2), says(2, b"", id="a"), ends(2))
    found = http(get(1), opens(1), *asked, get(3, last_event_id="a"), opens(3), ends(1))

    assert [0, 3] == sorted(found.messages[-1].causes)


@pytest.mark.parametrize("session", [1, 2])
def test_a_stream_that_ends_for_another_reason(session: int) -> None:
    """One that began before the client did anything, or that belongs to no session, waits for
    nothing more than itself.
    """
    alone = http(opens(7), ends(7), session=session)
    beside = http(get(1), opens(1), post(2, A), answers(2, response(1)), ends(1), session=session)

    assert [NEVER] == sorted(alone.messages[-1].causes)
    assert ([0] if session == 1 else [0, 3]) == sorted(beside.messages[-1].causes)


@pytest.mark.parametrize("left", [[], [ends(1, "closed", C2S)]])
def test_an_answer_that_never_ended(left: list[Frame]) -> None:
    """Where the client left with its answer, or the recording stops, the end is made up; not so
    that of a stream that had more to say.
    """
    whole = http(post(1, A), opens(1), says(1, response(1)), left)
    open_ = http(post(1, A), opens(1), says(1, LOG), left)

    assert [False, False, True] == [planned.made_up for planned in whole.messages]
    assert [1.0 if left else 0.0] == [
        planned.gap_s for planned in whole.messages if planned.made_up
    ]
    assert [False, False] == [planned.made_up for planned in open_.messages]


def test_an_end_that_is_made_up_has_its_place() -> None:
    """It stands behind the last message of its response, and ahead of what came later."""
    found = http(
        post(1, A), opens(1), says(1, response(1)), post(2, call(2, "b")), answers(2, response(2))
    )

    assert [False, False, True, False, False, False] == [one.made_up for one in found.messages]


def test_without_a_session_ids_belong_to_their_exchange() -> None:
    """Two exchanges may use one id at the same time, and nobody's message is the latest."""
    found = http(
        post(1, A), post(2, A), answers(2, response(1)), get(3), opens(3), says(3, LOG), session=1
    )

    assert [[3], [3], [3], [7], [7]] == [sorted(planned.causes) for planned in found.messages]
    assert [1, 1, 1] == [planned.calls[0] for planned in found.messages[:3]]


def test_an_exchange_whose_request_is_lost() -> None:
    """What an unknown request was answered with can never be played."""
    assert [[NEVER]] * 2 == [
        sorted(planned.causes) for planned in http(accepts(7), post(8, INITIALIZED)).messages
    ]


def test_a_response_whose_head_is_lost() -> None:
    """Its answer and its end are planned as others, and change nothing about other responses."""
    asked = [post(1, A), post(2, call(2, "b"))]
    found = http(*asked, answers(1, response(1)), says(2, response(2)), ends(2))

    assert [(3,), (3,), (), (), ()] == overlapped(found)
    assert [[3], [3]] == [sorted(planned.causes) for planned in found.messages[3:]]


def test_an_answer_without_an_id() -> None:
    """A response whose id is null belongs to what was posted, and its id stays null."""
    found = http(post(1, A), answers(1, error(b"null"), 400))

    assert (True, ()) == (found.messages[1].answers, found.messages[1].live_values)


def test_an_answer_with_an_id_of_its_own() -> None:
    """An id that is not the request's was made up by the server, and stays as it is."""
    found = http(post(1, A), answers(1, error("server-error"), 400))

    assert (True, ()) == (found.messages[1].answers, found.messages[1].live_values)


def test_the_body_of_a_refused_stream() -> None:
    """It waits for its own request, whatever the client has said since."""
    found = http(
        post(1, INITIALIZE), answers(1, WELCOME),
        get(2), post(3, A), answers(2, error(b"null"), 400), answers(3, response(1)),
    )  # fmt: skip
    refused = [planned for planned in found.messages if planned.exchange == 2]

    assert 3 == len(refused)
    assert {frozenset({5})} == {planned.causes for planned in refused}


def test_what_follows_when_its_client_has_left() -> None:
    """It gives a live client the time to leave there too, and does not wait for ever."""
    found = http(post(1, A), opens(1), ends(1, "closed", C2S), says(1, response(1)), ends(1))

    assert [(), (NEVER,), (NEVER,)] == overlapped(found)


def test_streams_by_the_ids_of_their_events() -> None:
    """So that a client which names an event finds the stream."""
    found = http(
        post(1, A), opens(1), says(1, b"", id="a"), get(2), opens(2), says(2, LOG, id="b")
    )  # fmt: skip

    assert {"a": 1, "b": 2} == found.streams


def test_the_stream_of_a_poll() -> None:
    """A client that names an event of a response which took a stream up finds where that began."""
    asked = post(1, A), opens(1), says(1, b"", id="a"), says(1, LOG, event="message"), ends(1)
    polls = get(2, last_event_id="a"), opens(2), says(2, LOG, id="b"), ends(2)
    found = http(*asked, *polls, get(3, last_event_id="b"), opens(3), says(3, LOG, id="c"))

    assert {"a": 1, "b": 1, "c": 1} == found.streams


def test_strict_leaves_streams_alone() -> None:
    """In strict order messages have their place, and streams may be opened at any time."""
    found = http(post(1, INITIALIZE), get(2), answers(1, WELCOME), opens(2), strict=True)

    assert [True, False] == [event.in_order for event in found.client_events.values()]
    assert [[1], [1], [1], [1, 2]] == [sorted(planned.causes) for planned in found.messages]


@pytest.mark.parametrize(
    ("given", "ids"),
    [({"mcp_session_id": "S"}, {"S"}), ({"mcp_session_id": ""}, set()), ({}, set())],
)
def test_session_ids(given: dict[str, Any], ids: set[str]) -> None:
    """The plan knows which session ids the server gave."""
    assert ids == http(post(1, INITIALIZE), answers(1, WELCOME, **given)).session_ids


def test_bare_messages_keep_the_hint_of_their_exchange() -> None:
    """Without heads, what came on the stream of a request still belongs to it, and goes out on
    no exchange.
    """
    frames = [Frame(C2S, A, exchange=1), Frame(C2S, call(2, "b"), exchange=2)]
    found = http(frames, Frame(S2C, LOG, exchange=1), Frame(S2C, response(2), exchange=2))

    assert [[0], [1]] == [sorted(planned.causes) for planned in found.messages]
    assert [(None, None)] * 2 == [
        (planned.exchange, planned.frame.exchange) for planned in found.messages
    ]


def test_bare_messages_on_an_exchange_of_nobody() -> None:
    """Without heads, what came where no call was posted waits for the latest message; an end is no
    one's.
    """
    said = [Frame(C2S, INITIALIZED, exchange=1), Frame(C2S, INITIALIZED, exchange=2)]
    found = http(said, Frame(S2C, LOG, exchange=1), Frame(S2C, LOG, exchange=9), ends(9))

    assert [[0, 1], [1], []] == [sorted(planned.causes) for planned in found.messages]


ASKED = (c(request(1, "a")),)
ANSWERED = (*ASKED, s(response(1)))
STOPPED = ("end", {"d": "c2s", "signal": 15})
GONE = ("end", {"d": "s2c"})
LISTENING = c(request("s", "subscriptions/listen"))


@pytest.mark.parametrize(
    ("events", "crashes"),
    [
        # The signal was noted: what the server did then is the client's doing.
        ([*ANSWERED, STOPPED, GONE, ("end", {"signal": 15})], False),
        ([*ANSWERED, STOPPED, GONE, ("end", {"exit": 0})], False),
        ([*ANSWERED, STOPPED, ("end", {"exit": 3})], False),
        (
            [*ANSWERED, ("end", {"d": "c2s", "signal": 2}), STOPPED, GONE, ("end", {"exit": 1})],
            False,
        ),
        ([*ANSWERED, STOPPED, ("end", {"d": "c2s"}), GONE, ("end", {"signal": 9})], False),
        ([*ASKED, STOPPED, GONE, ("end", {"signal": 15})], False),
        ([*ASKED, STOPPED, s(response(1)), GONE, ("end", {"exit": 0})], False),
        ([c(INITIALIZED), *ASKED, STOPPED, s(response(1)), GONE, ("end", {"exit": 0})], False),
        ([*ANSWERED, STOPPED, c(request(2, "b")), GONE, ("end", {"exit": 143})], False),
        # The server went on after it, and crashed later.
        ([STOPPED, *ANSWERED, c(request(2, "b")), GONE, ("end", {"exit": 7})], True),
        ([STOPPED, *ANSWERED, GONE, ("end", {"exit": 7})], True),
        # The server had begun to end before.
        ([*ANSWERED, GONE, STOPPED, ("end", {"exit": 7})], True),
        # A signal that nobody noted, with no call open.
        ([*ANSWERED, GONE, ("end", {"signal": 1})], False),
        ([*ANSWERED, GONE, ("end", {"signal": 2})], False),
        ([*ANSWERED, GONE, ("stderr", "bye\n"), ("end", {"signal": 15})], False),
        ([*ANSWERED, GONE, ("end", {"exit": 129})], False),
        ([*ANSWERED, ("end", {"exit": 130})], False),
        ([*ANSWERED, GONE, c(request(2, "b")), ("end", {"exit": 143})], False),
        ([*ASKED, c(cancelled(1)), GONE, ("end", {"signal": 15})], False),
        ([LISTENING, GONE, ("end", {"signal": 15})], False),
        ([*ASKED, GONE, ("end", {"signal": 15})], True),
        ([*ANSWERED, c(request(2, "b")), GONE, ("end", {"exit": 143})], True),
        # All else is the server's own end.
        ([*ANSWERED, GONE, ("end", {"signal": 9})], True),
        ([*ANSWERED, GONE, ("end", {"signal": 11})], True),
        ([*ANSWERED, GONE, ("end", {"exit": 15})], True),
        ([*ANSWERED, GONE, ("end", {"exit": 0})], True),
        ([*ANSWERED, GONE], True),
    ],
)
def test_an_end_that_the_client_asked_for_is_none_of_the_plan(
    events: list[Line], crashes: bool
) -> None:
    """A client may end its server by a signal. The player ends when its own client ends it."""
    planned = plan_of(*events).messages
    ends_ = [one for one in planned if isinstance(one.frame.fact, StreamEnd | ProcessExit)]

    assert crashes == bool(ends_)


CALLED = [post(1, call(1, "a"), session="s"), answers(1, response(1))]
OPEN = post(2, call(2, "b"), session="s")
DELETED = [bodiless(9, "DELETE", session="s"), [replies(9, 200), ends(9)]]


@pytest.mark.parametrize(
    ("steps", "crashes"),
    [
        ([*CALLED, *DELETED, hangs_up(S2C), exits(0)], False),
        ([*CALLED, *DELETED, hangs_up(S2C), exits(1)], False),
        ([*CALLED, *DELETED, get(10), accepts(10, 404), hangs_up(S2C), exits(1)], False),
        ([*CALLED, get(10), opens(10), hangs_up(S2C), exits(1)], True),
        ([*CALLED, hangs_up(S2C), exits(0)], False),
        ([*CALLED, hangs_up(S2C), exits(143)], False),
        ([*CALLED, hangs_up(S2C), exits(1)], True),
        ([*CALLED, OPEN, hangs_up(S2C), exits(0)], True),
    ],
)
def test_the_end_of_a_process_behind_http(steps: list[Frame | list[Frame]], crashes: bool) -> None:
    """A client ends its session by a DELETE, and the recorder the process of one that sent none."""
    [episode] = over_http(in_session(2, *steps)).episodes()
    own = [one for one in build_plan(episode).messages if one.exchange is None]

    assert crashes == any(isinstance(one.frame.fact, ProcessExit) for one in own)
