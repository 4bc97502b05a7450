"""Who waits for whom: each recorded server message and its causes."""

from __future__ import annotations

import pytest

from mcpmock.cassette.score import Cue, Tie
from tests.helpers import (
    INITIALIZE,
    INITIALIZED,
    LOG,
    WELCOME,
    Line,
    batch,
    c,
    cancelled,
    notification,
    progress,
    request,
    response,
    s,
    score,
)

SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"


def cues(*events: Line, strict: bool = False) -> list[Cue]:
    return list(score(*events, strict=strict).cues)


def causes(*events: Line, strict: bool = False) -> list[list[int]]:
    return [sorted(cue.causes) for cue in cues(*events, strict=strict)]


def test_a_response_has_its_request() -> None:
    """A response waits for its request alone, out-of-order answers included."""
    found = cues(c(request(1, "a")), c(request(2, "b")), s(response(2)), s(response(1)))

    assert [{1}, {0}] == [set(cue.causes) for cue in found]
    assert [True, True] == [cue.answers for cue in found]


def test_overlaps_are_the_requests_that_came_before_the_answer() -> None:
    """An answer knows which later requests had arrived before it was given."""
    found = cues(
        c(request(1, "a")),
        c(request(2, "b")),
        s(response(1)),
        c(request(3, "c")),
        s(response(2)),
        s(response(3)),
    )

    assert [(1,), (3,), ()] == [cue.overlaps for cue in found]


def test_notifications_overlap_nothing() -> None:
    """A notification that arrived meanwhile is nothing that an answer waits for."""
    assert [()] == [
        cue.overlaps for cue in cues(c(request(1, "a")), c(INITIALIZED), s(response(1)))
    ]


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


def test_progress_has_the_owner_of_its_token() -> None:
    """Progress waits for the request that owns its token, whatever else is open."""
    found = cues(
        c(request(1, "a", token="t")), c(request(2, "b")), s(progress("t")), s(progress("nobody"))
    )

    assert [{0}, {1}] == [set(cue.causes) for cue in found]
    assert (Tie(0, ("params", "progressToken"), token=True),) == found[0].ties
    assert () == found[1].ties


def test_ties_of_a_response() -> None:
    """A response follows the live id, and a listen's result the live subscription id too."""
    result = {"_meta": {SUBSCRIPTION: "listen-1"}}
    found = cues(c(request("listen-1", "subscriptions/listen")), s(response("listen-1", result)))

    assert (Tie(0, ("id",)), Tie(0, ("result", "_meta", SUBSCRIPTION))) == found[0].ties


def test_ties_of_a_subscription() -> None:
    """What a listen brings follows the live id of it, and so does the server's end of it."""
    tagged = notification("notifications/resources/updated", {"_meta": {SUBSCRIPTION: "l"}})
    found = cues(
        c(request("l", "subscriptions/listen")), c(request(2, "x")), s(tagged), s(cancelled("l"))
    )

    assert [{0}, {0}] == [set(cue.causes) for cue in found]
    assert (Tie(0, ("params", "_meta", SUBSCRIPTION)),) == found[0].ties
    assert (Tie(0, ("params", "requestId")),) == found[1].ties


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
    assert {0: (2,)} == score(*events).cancels


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
    assert {b"0": (2,)} == score(*events).replies


def test_a_batch_has_the_causes_of_all_its_members() -> None:
    """An answer to a batch waits for the batch; a batch of answers to several requests for all of
    them.
    """
    asked = batch(request(1, "a"), request(2, "b"))
    found = cues(c(asked), s(batch(response(2), response(1))))
    assert [[0]] == causes(c(asked), s(batch(response(2), response(1))))
    assert (Tie(1, ("id",), item=0), Tie(0, ("id",), item=1)) == found[0].ties

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

    assert [1, 3] == [cue.index for cue in cues(*events)]


def test_strict_waits_for_all_before() -> None:
    """In strict order every cue waits for the last thing the client did before it."""
    events = (
        s(LOG),
        c(request(1, "a")),
        c(request(2, "b")),
        s(response(1)),
        c(INITIALIZED),
        s(response(2)),
    )

    assert [[], [2], [4]] == causes(*events, strict=True)
    assert [(), (), ()] == [cue.overlaps for cue in cues(*events, strict=True)]


def test_gaps_are_paced_per_request_from_the_cause() -> None:
    """A gap is the time since the cause or since what came before in the same call, whichever is
    later.
    """
    found = cues(
        (1.0, "c2s", request(1, "a", token=1)),
        (1.5, "c2s", request(2, "b")),
        (2.0, "s2c", progress(1)),
        (2.5, "s2c", response(2)),
        (4.0, "s2c", response(1)),
    )

    assert [1.0, 1.0, 2.0] == [cue.gap for cue in found]


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
    found = cues(*events)

    assert [{1}, {1}, {0}] == [set(cue.causes) for cue in found]


def test_double_and_late_answers_are_cues() -> None:
    """A second answer to a request is played like the first."""
    found = cues(c(request(1, "a")), s(response(1)), s(response(1)))

    assert [{0}, {0}] == [set(cue.causes) for cue in found]
    assert [1, 1] == [len(cue.ties) for cue in found]


def test_an_excerpt_is_what_belongs_to_one_request() -> None:
    """For an encore only the cues and client events of one request remain."""
    whole = score(
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
    part = whole.excerpt(2)

    assert [4, 8] == [cue.index for cue in part.cues]
    assert [()] * 2 == [cue.overlaps for cue in part.cues]
    assert [2] == sorted(part.client)
