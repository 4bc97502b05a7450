"""The conversations of a cassette: which message belongs to which call, over any transport."""

from __future__ import annotations

import pytest

from mcpmock.cassette.model import Cassette
from mcpmock.protocol.messages import C2S, Frame
from mcpmock.semantic_diff.conversations import RecordedConversation, read_conversations
from tests.support import (
    LOG,
    OPENING,
    accepts,
    answers,
    batch,
    bodiless,
    c,
    call,
    cancelled,
    cassette,
    ends,
    get,
    in_session,
    notification,
    opens,
    over_http,
    post,
    progress,
    replies,
    request,
    response,
    s,
    says,
)


def read(recorded: Cassette, *, one_session: bool = False) -> list[RecordedConversation]:
    return read_conversations(recorded, one_session=one_session)


def told(conversation: RecordedConversation) -> list[tuple[str, int, list[str]]]:
    """Of each call its label, the number of its answers, and what came within."""
    return [
        (" ".join(one.label).strip(), len(one.answers), [w.method for w in one.within])
        for one in conversation.calls
    ]


def test_what_belongs_to_a_call() -> None:
    """Progress belongs by its token, a cancel by its id, other messages to the only open call."""
    (one,) = read(
        cassette(
            *OPENING,
            s(LOG),
            c(request(1, "tools/call", {"name": "a"}, token="t")),
            s(LOG),
            c(request(2, "tools/call", {"name": "b"})),
            s(LOG),
            s(progress("t")),
            s(request(1, "roots/list")),
            c(response(1, {"roots": []})),
            c(cancelled(2)),
            s(response(1)),
        )
    )

    log = "notifications/message"
    assert [
        ("initialize", 1, []),
        ("tools/call a", 1, [log, "notifications/progress"]),
        ("tools/call b", 0, ["notifications/cancelled"]),
    ] == told(one)
    assert ["notifications/initialized", log, log, "roots/list"] == [
        x.method for x in one.unrelated
    ]
    assert 1 == len(one.unrelated[3].answers)
    assert [False, True] == [within.sure for within in one.calls[1].within]
    assert [False, False, True] == [made.abandoned for made in one.calls]


@pytest.mark.parametrize(("rest", "abandoned"), [([], False), ([ends(1)], False),
                                                 ([ends(1, direction=C2S)], True)])  # fmt: skip
def test_only_a_client_that_leaves_abandons_its_call(rest: list[Frame], abandoned: bool) -> None:
    """Not a server that ends the stream, nor a recording that ends."""
    (one,) = read(over_http(in_session(1, post(1, call(1, "a")), opens(1), rest)))

    assert [abandoned] == [made.abandoned for made in one.calls]


def test_what_the_client_says_of_itself_belongs_to_no_call() -> None:
    """Also while one call is open; what the server says then belongs to that."""
    changed = notification("notifications/roots/list_changed")
    (one,) = read(cassette(c(call(1, "a")), c(changed), c(response(9)), s(LOG), s(response(1))))

    assert [("tools/call a", 1, ["notifications/message"])] == told(one)
    assert ["notifications/roots/list_changed", "response"] == [x.method for x in one.unrelated]


def test_a_batch_is_its_messages() -> None:
    """How they were packed does not count."""
    (one,) = read(
        cassette(c(batch(call(1, "a"), call(2, "b"))), s(batch(response(2), response(1))))
    )

    assert [("tools/call a", 1, []), ("tools/call b", 1, [])] == told(one)


def test_noise_and_answers_to_nothing() -> None:
    """Output that is not a message and responses without a request belong to no call."""
    (one,) = read(cassette(s(b"a banner"), s(response(9)), s(b'["x"]')))

    assert [{"text": "a banner"}, {"text": '["x"]'}] == [x.document for x in one.noise]
    assert ["response"] == [x.method for x in one.unrelated]


@pytest.mark.parametrize(
    ("ends_", "failure"),
    [
        ([("end", {"exit": 3})], "exit 3"),
        ([("end", {"signal": 11})], "signal 11"),
        ([("end", {"exit": 0})], None),
        ([("end", {"signal": 15})], None),
        ([("end", {"exit": 143})], None),
        ([("end", {"signal": 9})], None),
        ([("end", {"exit": 137})], None),
        ([("end", {"exit": 139})], "exit 139"),
        ([("end", {"exit": 255})], "exit 255"),
        ([("end", {"exit": 0xC0000005})], "exit 3221225477"),
        ([("end", {"exit": 0xC000013A})], None),
        ([("end", {"d": "c2s"}), ("end", {"exit": 3})], None),
        ([("end", {"d": "s2c"}), ("end", {"exit": 3})], "exit 3"),
        ([("end", {"d": "c2s", "signal": 2}), ("end", {"exit": 3})], None),
        ([("end", {"d": "c2s", "signal": 15}), c(call(1, "a")), ("end", {"signal": 6})], None),
        (
            [
                ("end", {"d": "c2s", "signal": 2}),
                c(call(1, "a")),
                s(response(1)),
                ("end", {"exit": 3}),
            ],
            "exit 3",
        ),
    ],
)
def test_a_server_that_ends_by_itself(ends_: list[tuple[str, object]], failure: str) -> None:
    """With an error, and before its client: else it was sent away."""
    (one,) = read(cassette(*OPENING, *ends_))

    assert failure == one.failure
    assert (one.failed_at is None) is (failure is None)


def test_each_take_and_each_session_is_one() -> None:
    """In the order they began."""
    over = over_http(
        in_session(1, post(1, call(1, "a")), answers(1, response(1))),
        in_session(2, post(2, call(1, "b"), session="s"), answers(2, response(1))),
    )

    twice = cassette(*OPENING, ("take", None), c(call(1, "a")))
    assert [1, 2] == [one.messages.take for one in read(twice)]
    assert ["a", "b"] == [one.calls[0].label[1] for one in read(over)]
    (joined,) = read(over, one_session=True)
    assert ["a", "b"] == [one.label[1] for one in joined.calls]


def test_over_http_a_stream_tells_what_belongs_to_a_call() -> None:
    """Calls of callers without a session keep apart, though their ids are the same; statuses are
    kept, and who left.
    """
    (one,) = read(
        over_http(
            in_session(
                1,
                post(1, call(1, "a")),
                post(2, call(1, "b")),
                opens(2),
                says(2, LOG),
                says(2, response(1)),
                ends(2),
                answers(1, response(1), status=400),
                post(3, call(1, "c")),
                opens(3),
                ends(3, direction=C2S),
                get(4),
                replies(4, 405),
                ends(4),
            )
        )
    )

    assert [
        ("tools/call a", 1, []),
        ("tools/call b", 1, ["notifications/message"]),
        ("tools/call c", 0, []),
    ] == told(one)
    assert one.calls[1].within[0].sure
    assert [False, False, True] == [made.abandoned for made in one.calls]
    assert {1: ("POST", 400), 2: ("POST", 200), 3: ("POST", 200), 4: ("GET", 405)} == one.statuses


def test_responses_without_a_request() -> None:
    """A recording may begin in the middle of an exchange, or hold no message of a session."""
    (one,) = read(
        over_http(
            in_session(1, accepts(7, 500), post(8, call(1, "a")), answers(8, response(1))),
            in_session(2, get(9), replies(9, 405), ends(9)),
            in_session(3, bodiless(10, "DELETE"), get(11), opens(11), ends(11), accepts(10)),
        )
    )

    assert {8: ("POST", 200)} == one.statuses


def test_what_came_on_another_stream_belongs_to_no_call() -> None:
    """Messages on a GET stream are unrelated to calls."""
    (one,) = read(
        over_http(
            in_session(
                2,
                get(1, session="s"),
                opens(1),
                post(2, call(1, "a"), session="s"),
                says(1, LOG),
                answers(2, response(1)),
                post(3, LOG, session="s"),
                accepts(3),
            )
        )
    )

    assert [("tools/call a", 1, [])] == told(one)
    assert 2 == len(one.unrelated)


def test_what_holds_no_message_is_no_conversation() -> None:
    """A session of which there are heads only."""
    assert [] == read(over_http(in_session(2, get(1), replies(1, 405), ends(1))))


def test_how_far_we_are() -> None:
    """Progress is reported every thousand events."""
    counts: list[int] = []
    read_conversations(cassette(*[s(LOG)] * 2500), one_session=False, count=counts.append)

    assert [1000, 1000, 500] == counts
