"""Resumed streams: no gap, no event twice, and never an event of another stream."""

from __future__ import annotations

from typing import Any

import pytest

from mcpmock.protocol.messages import C2S, S2C, Fragment, Frame, HttpBody, HttpResponse, SseMeta
from mcpmock.transports.streamable_http.resumption import Resumption
from mcpmock.transports.streamable_http.server import StreamableHttpServer
from tests.support import (
    INITIALIZE,
    LOG,
    WELCOME,
    logs,
    notification,
    progress,
    request,
    response,
    s2c,
)
from tests.transports.wire import Told, Wire, event, fact, get, json, leaves, over, post, stream

S = ("Mcp-Session-Id", "s1")


def after(x: int, id_: str, *fields: tuple[str, str]) -> list[Frame]:
    return get(x, ("last-event-id", id_), *fields)


def resumption(**bounds: Any) -> Wire:
    return Wire(Resumption(**bounds))


def streaming(**bounds: Any) -> Wire:
    """A POST as exchange 1, answered by a stream with the events `a` and `b` so far."""
    wire = resumption(**bounds)
    wire.client(post(1, request(1, "x")))
    wire.server(stream(1), event(1, b"", "a"), event(1, LOG, "b"))
    return wire


def test_whole_exchanges_pass_unchanged() -> None:
    """Exchanges that do not break pass unchanged."""
    wire = resumption()
    asked = post(1, request(1, "x"))
    streamed = [*stream(1), *event(1, LOG, "a"), *over(1)]

    assert [(1, "POST /mcp"), (1, request(1, "x"))] == wire.client(asked)
    assert [(1, "200 text/event-stream"), (1, "event a"), (1, LOG), (1, "end")] == wire.server(
        streamed
    )
    assert 3 == len(wire.server(json(2, response(1))))
    assert [(None, "Stderr")] == wire.server(logs("x"))
    assert [(None, b"x")] == wire.client(Frame(C2S, b"x"))


def test_the_rest_of_a_stream() -> None:
    """The GET gets the missed events, then the new ones."""
    wire = streaming()

    assert [] == wire.client(leaves(1))
    assert [] == wire.server(event(1, LOG, "c"))
    assert [(2, "200 text/event-stream"), (2, "event c"), (2, LOG)] == wire.client(after(2, "b"))
    assert [(2, "event d"), (2, LOG), (2, "end")] == wire.server(event(1, LOG, "d"), over(1))
    assert [(3, "GET /mcp")] == wire.client(after(3, "d"))


def test_a_stream_that_ended_meanwhile() -> None:
    """The rest of a stream that ended meanwhile is sent, then the end."""
    wire = streaming()
    wire.client(leaves(1))
    assert [] == wire.server(event(1, response(1), "c"), over(1))

    rest = [(2, "200 text/event-stream"), (2, "event c"), (2, response(1)), (2, "end")]
    assert rest == wire.client(after(2, "b"))
    assert [(3, "event b"), (3, LOG), (3, "event c")] == wire.client(after(3, "a"))[1:4]


def test_left_and_taken_up_again_and_again() -> None:
    """Each GET takes the stream over from the one before."""
    wire = streaming()
    wire.client(leaves(1))
    for x, (seen, new) in enumerate((("b", "c"), ("c", "d"), ("d", "e")), 2):
        assert [(x, "200 text/event-stream")] == wire.client(after(x, seen))
        assert [(x, f"event {new}"), (x, LOG)] == wire.server(event(1, LOG, new))
        assert [] == wire.client(leaves(x))

    assert [] == wire.server(event(1, LOG, "f"))


def test_a_client_that_comes_back_before_it_left() -> None:
    """A GET for a stream that is still open ends the old exchange."""
    wire = streaming()

    assert [(1, "end"), (2, "200 text/event-stream")] == wire.client(after(2, "b"))
    assert [(2, "event c"), (2, LOG)] == wire.server(event(1, LOG, "c"))
    assert [] == wire.client(leaves(1))
    assert [(2, "end"), (3, "200 text/event-stream")] == wire.client(after(3, "c"))
    assert [(3, "end")] == wire.server(over(1))


def test_the_head_is_the_original_one() -> None:
    """The resumed response has the original fields and the events' original bytes."""
    wire = resumption()
    wire.client(post(1, request(1, "x")))
    head = stream(1, S)
    written = event(1, LOG, "a")
    written[1].wire = b"id:a\rdata:...\r\r"
    wire.server(head, written, event(1, LOG, "b"))
    [_, [resumed, *_]] = [[], *wire.pipeline.enter([*leaves(1), *after(2, "a")], 0.0)]

    assert resumed.fact == head[0].fact
    again = [f for frames in wire.pipeline.enter(after(3, "a"), 0.0) for f in frames]
    assert isinstance(again[1].fact, HttpResponse)


WHERE_NOT = (
    ("an unknown event", after(2, "z")),
    ("no event", get(2)),
    ("no GET", post(2, b"{}", ("Last-Event-ID", "b"))),
    ("the modern era", after(2, "b", ("MCP-Protocol-Version", "2026-07-28"))),
)


@pytest.mark.parametrize(("what", "asked"), WHERE_NOT)
def test_what_is_not_answered_here(what: str, asked: list[Frame]) -> None:
    """Every request but a GET with a known event id passes."""
    wire = streaming()
    wire.client(leaves(1))

    assert len(asked) == len(wire.client(asked))


def test_what_cannot_be_resumed_ends_with_its_client() -> None:
    """JSON to come, streams without ids, the modern era, and the stream of HTTP+SSE: whoever
    stands behind hears that the client left.
    """
    endpoint = [fact(S2C, 1, SseMeta(event="endpoint", id="a")), Frame(S2C, b"/m", exchange=1)]
    modern = ("MCP-Protocol-Version", "2026-07-28")
    for asked, answered in (
        (post(1, b"x"), []),
        (post(1, b"x"), [*stream(1), *event(1, LOG)]),
        (post(1, b"x", modern), [*stream(1), *event(1, LOG, "a")]),
        (get(1), [*stream(1), *endpoint, *event(1, LOG, "b")]),
    ):
        wire = resumption()
        wire.client(asked)
        if answered:
            wire.server(answered)

        assert [(1, "end closed")] == wire.client(leaves(1))


def test_events_without_ids_are_not_repeated() -> None:
    """Events without ids are sent once."""
    wire = streaming()
    wire.server(event(1, progress(1)))
    wire.client(leaves(1))
    wire.server(event(1, progress(2)))
    told = wire.client(after(2, "b"))

    assert [(2, "200 text/event-stream"), (2, progress(2))] == told


def test_comments_and_tails_belong_to_the_stream() -> None:
    """Comments, bytes and messages in pieces are kept in order while the client is away."""
    wire = streaming()
    wire.client(leaves(1))
    pieces = [
        Frame(S2C, b"{", fact=Fragment(), exchange=1),
        Frame(S2C, b"}", fact=Fragment(last=True), exchange=1),
    ]
    tail = Frame(S2C, b"data: {", fact=HttpBody(), exchange=1)
    wire.server(event(1, None, "c"), event(1, None, "d"), pieces, tail, over(1))
    told = wire.client(after(2, "c"))

    assert ["200 text/event-stream", "event d", "Fragment", "Fragment", "text data: {", "end"] == [
        what for _, what in told
    ]


def test_memory_is_bounded() -> None:
    """The oldest events are dropped, and a GET from one of them passes."""
    for bounds, size in (({"most": 3}, 1), ({"most_bytes": 3000}, 990)):
        wire = streaming(**bounds)
        wire.client(leaves(1))
        for number in range(5):
            wire.server(event(1, bytes(size), f"e{number}"))

        assert 1 == len(wire.client(after(2, "e1")))
        assert ["event e3", "event e4"] == [
            what for _, what in wire.client(after(3, "e2")) if str(what).startswith("event ")
        ]


def test_an_event_larger_than_all_memory() -> None:
    """An event beyond the bound passes and is not kept."""
    wire = streaming(most_bytes=100)
    big = [Frame(S2C, bytes(60), b"", Fragment(last=n == 9), 1) for n in range(10)]
    assert 11 == len(wire.server(fact(S2C, 1, SseMeta(id="big")), big))
    wire.client(leaves(1))
    assert 1 == len(wire.client(after(2, "big")))
    wire.server(event(1, b"x", "c"), event(1, b"y", "d"))

    assert [(3, "200 text/event-stream"), (3, "event d"), (3, b"y")] == wire.client(after(3, "c"))


CUTS = [
    (sent, seen, back)
    for sent in range(1, 6)
    for seen in range(sent + 1)
    for back in range(sent, 7)
]


@pytest.mark.parametrize(("sent", "seen", "back"), CUTS)
def test_cut_anywhere(sent: int, seen: int, back: int) -> None:
    """Calls and pushes at once. The connection of one call dies when `sent` messages were sent,
    its client has seen event number `seen`, and comes back when there are `back` messages: it has
    all of them once, in order, and nothing else.
    """
    wire = Wire(Resumption(), StreamableHttpServer("/mcp", lambda: "s1", stateless=False))
    wire.client(post(1, INITIALIZE))
    wire.server(s2c(WELCOME))
    mine, other = (request(id_, "x", token=id_) for id_ in ("a", "b"))
    wire.client(get(2, S), post(3, mine, S), post(4, other, S))
    says = [*(progress("a", n) for n in range(5)), response("a")]

    def say(messages: list[bytes]) -> list[Told]:
        noise = s2c(progress("b")), s2c(notification("push"))
        return [one for raw in messages for one in wire.server(*noise, s2c(raw), *noise)]

    before = [one for one in say(says[:sent]) if one[0] == 3]
    cut = before.index((3, f"event 3-{seen}")) + 2
    wire.client(leaves(3))
    assert {2, 4} >= {x for x, _ in say(says[sent:back])}
    resumed = wire.client(after(5, f"3-{seen}", S))
    rest = [one for one in say(says[back:]) if one[0] not in {2, 4}]

    got = [what for _, what in [*before[:cut], *resumed[1:], *rest]]
    assert says == [what for what in got if isinstance(what, bytes) and what]
    assert [f"event 3-{n}" for n in range(7)] == [w for w in got if str(w).startswith("event")]
    assert {5} == {x for x, _ in [*resumed, *rest]}
    assert "end" == got[-1]
