"""Events put together to steps."""

from __future__ import annotations

import pytest

from mcpmock.cassette.model import Cassette, event_line
from mcpmock.cassette.parser import read
from mcpmock.playback.plan.steps import EpisodeStep, merged, steps
from mcpmock.protocol.messages import C2S, Frame, HttpBody, SseMeta
from tests.support import (
    JSON_HEADER,
    LOG,
    accepts,
    answers,
    c,
    call,
    cassette,
    ends,
    get,
    in_session,
    opens,
    over_http,
    post,
    response,
    s,
    says,
    shown,
)

A, B = post(1, call(1, "a")), post(2, call(2, "b"))


def of(*frames: Frame | list[Frame]) -> list[EpisodeStep]:
    return list(steps(over_http(in_session(2, *frames)).takes[0].events))


def told(*frames: Frame | list[Frame]) -> list[tuple[int, str]]:
    return [(step.place, shown([step.frame])[0][:5]) for step in of(*frames)]


def test_stdio() -> None:
    """Over stdio an event is a step."""
    [episode] = cassette(c(b"a"), ("stderr", "x"), s(b"b")).episodes()

    assert [(0, b"a"), (1, b"x"), (2, b"b")] == [
        (step.place, step.frame.raw) for step in steps(episode.events)
    ]


def test_a_request_is_its_head_and_its_body() -> None:
    """Whatever comes between them."""
    [one, other] = of([A[0], B[0], B[1], A[1]])

    assert [(2, 2, "POST"), (3, 1, "POST")] == [
        (step.place, step.frame.exchange, step.head and step.head.method) for step in (one, other)
    ]


def test_a_request_without_a_body() -> None:
    """A head alone is a step: of a GET, of what is none of MCP's, of a torn recording."""
    other = Frame(C2S, b"x=1", fact=HttpBody(), exchange=3)

    assert [(0, "1 GET"), (1, "3 POS"), (2, "3 bod")] == told(get(1), [post(3, b"")[0], other])
    assert [(0, "1 POS")] == told(A[:1])


def test_an_answer_ahead_of_the_body() -> None:
    """A server that answers early has read enough: the request stands ahead of its answer."""
    head, message, end = answers(1, response(1), 413)

    assert [(2, '1 {"j'), (1, "1 413"), (3, '1 {"j'), (4, "1 eof")] == told(
        [A[0], head, A[1], message, end]
    )


def test_a_note_ahead_of_the_body() -> None:
    """A line that is none of the wire, such as that of a fault, is no body."""
    lines = [event_line(n, 0, frame, session=2) for n, frame in enumerate(A, 1)]
    note = b'{"n":3,"t":0,"s":2,"x":1,"fault":{}}\n'
    loaded = read("test.jsonl", b"".join([JSON_HEADER, lines[0], note, lines[1]]))

    assert [(2, A[1].raw)] == [(one.place, one.frame.raw) for one in steps(loaded.takes[0].events)]


@pytest.mark.parametrize("body", [b"{", b"\xff"])
def test_a_body_that_cannot_be_read(body: bytes) -> None:
    """Text and bytes that are no message belong to their head too."""
    assert [1] == [step.place for step in of(post(1, body))]


def test_events_and_their_data() -> None:
    """What an event carries stands with its data; without data it is a step of its own."""
    lone, pair = says(1, b"", comment="x")[0], says(1, LOG, id="1")
    found = of(A, [*opens(1), lone, *pair, *says(1, b"2"), lone, ends(1)])

    assert [None, None, None, SseMeta(id="1"), None, None, None] == [
        step.meta and step.meta.fact for step in found
    ]
    assert [1, 2, 3, 5, 6, 7, 8] == [step.place for step in found]


def test_events_of_two_streams() -> None:
    """What another exchange says between an event and its data changes nothing."""
    meta, data = says(1, LOG, id="1")
    found = of(A, B, [meta, *says(2, b"x"), data])

    assert [(5, None), (6, SseMeta(id="1"))] == [
        (step.place, step.meta and step.meta.fact) for step in found[2:]
    ]


def of_takes(*cassettes: Cassette) -> list[tuple[int, int | None, int]]:
    whole = merged(episode for one in cassettes for episode in one.episodes())
    return [(event.s, event.x, event.t) for event in whole.events]


def test_merging() -> None:
    """Exchanges of several takes keep apart, and time goes on."""
    one = over_http(in_session(1, get(7), accepts(7)))

    assert [
        (1, 7, 0), (1, 7, 1_000_000), (1, 7, 1_000_000),
        (1, 14, 1_000_000), (1, 14, 2_000_000), (1, 14, 2_000_000),
    ] == of_takes(one, one)  # fmt: skip


def test_merging_processes() -> None:
    """Takes over stdio become sessions of their own, without their ends, in the first take."""
    one = cassette(c(b"a"), s(b"b"), ("end", {"d": "c2s"}), ("end", {"exit": 1}))
    other = cassette(c(b"a"))

    whole = merged([*one.episodes(), *other.episodes()])

    assert one.takes[0] is whole.take
    assert [0, 2] == [start for start, _ in whole.parts]
    assert [(2, None), (2, None), (3, None), (3, None)] == [e[:2] for e in of_takes(one, one)]
    assert [] == of_takes()
    assert [] == merged([]).take.events
