"""Cassettes over HTTP as bare messages."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import UNSET
from msgspec.structs import replace

from mcpmock.cassette.model import Cassette
from mcpmock.playback.plan.steps import bare, bare_take
from mcpmock.protocol.messages import C2S, S2C, Frame
from tests.support import (
    INITIALIZE,
    INITIALIZED,
    JSON_HEADER,
    STREAM,
    WELCOME,
    accepts,
    answers,
    bodiless,
    c,
    call,
    cancelled,
    cassette,
    ends,
    error,
    exits,
    get,
    hangs_up,
    in_session,
    logs,
    opens,
    over_http,
    post,
    replay,
    replies,
    request,
    response,
    s,
    says,
)
from tests.support.http_episodes import OLDER, ROUND

PROBE = request("p", "server/discover")
MODERN = request(1, "a", {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}})


def told(found: Cassette) -> list[tuple[int, str | None, bytes | None]]:
    return [(e.s, e.d, e.payload) for take in found.takes for e in take.events]


def test_what_was_recorded_over_stdio_stays() -> None:
    """Other takes are the same, byte for byte."""
    recorded = cassette(c(INITIALIZE), s(WELCOME), ("stderr", "x"), ("end", {"exit": 0}))

    assert recorded == bare(recorded, one_session=False)


def test_only_messages_are_left() -> None:
    """Heads, metas, ends and empty events are gone; order, times and exchanges stay."""
    found = bare(over_http(in_session(2, *ROUND)), one_session=False)
    [take] = found.takes
    kept = [event for event in over_http(in_session(2, *ROUND)).takes[0].events if event.payload]

    assert "stdio" == take.transport
    assert [(e.n, e.t, e.x, e.s) for e in kept] == [(e.n, e.t, e.x, e.s) for e in take.events]
    assert all(event.frame and event.frame.eol == b"\n" for event in take.events)


def test_standard_error_stays() -> None:
    """It belongs to no exchange."""
    recorded = over_http(in_session(2, post(1, call(1, "a")), logs("x"), answers(1, response(1))))
    frames = [event.frame for event in bare(recorded, one_session=False).takes[0].events]

    assert [call(1, "a"), b"x", response(1)] == [one.raw for one in frames if one is not None]


@pytest.mark.parametrize(
    ("fields", "stays"),
    [
        ({}, True),
        ({"accept": "text/html"}, False),
        ({"accept": None}, False),
        ({"last_event_id": "7"}, False),
    ],
)
def test_the_opening_of_a_stream_stays_where_it_is_wanted(
    fields: dict[str, Any], stays: bool
) -> None:
    """A page is none, nor is a stream that goes on, nor what asks for nothing."""
    asked = bodiless(9, "GET", session="s", to="/mcp", **{"accept": STREAM, **fields})
    steps = post(1, INITIALIZE), answers(1, WELCOME), asked, opens(9)
    [take] = over_http(in_session(2, *steps)).takes
    heads = [
        [event.x for event in found.events if event.http is not UNSET]
        for found in (
            bare_take(take, one_session=False, keep_streams=True),
            bare_take(take, one_session=False),
        )
    ]

    assert [[None] * stays, []] == heads


def test_the_stream_of_the_older_transport() -> None:
    """It carries the answers: where those are bare messages it is no stream beside them."""
    header = JSON_HEADER.replace(b"streamable-http", b"sse")
    [take] = over_http(in_session(2, *OLDER), header=header).takes
    found = bare_take(take, one_session=False, keep_streams=True)

    assert [] == [event.x for event in found.events if event.http is not UNSET]


def test_ends_and_notes_behind_http() -> None:
    """The ends of the streams of a process are its transport's; its exit stays, and so does what is
    no frame.
    """
    recorded = over_http(in_session(2, *ROUND, hangs_up(C2S), hangs_up(S2C), exits(0)))
    [take] = recorded.takes
    note = replace(take.events[-1], end=UNSET, x=ROUND[0][0].exchange, fault={})
    found = bare_take(replace(take, events=[*take.events, note]), one_session=False)

    assert [{"exit": 0}, UNSET] == [e.end for e in found.events if e.d is None]
    assert [] == [e for e in found.events if e.end == "eof"]


def test_the_endpoint_is_no_message() -> None:
    """What HTTP+SSE says about itself is left out."""
    found = bare(over_http(in_session(2, *OLDER)), one_session=False)

    assert [INITIALIZE, WELCOME, INITIALIZED] == [event.payload for event in found.takes[0].events][
        :3
    ]


def test_pretty_printed_messages() -> None:
    """Line breaks in a message become spaces."""
    pretty = json.dumps(json.loads(INITIALIZE), indent=1).encode()
    found = bare(over_http(in_session(2, post(1, pretty), answers(1, WELCOME))), one_session=False)

    assert (2, "c2s", pretty.replace(b"\n", b" ")) == told(found)[0]


def test_refusals_become_errors() -> None:
    """A request that was refused without a message gets an error as its answer."""
    refused = [replies(1, 404, "text/plain"), accepts(1)[-1]]
    found = bare(over_http(in_session(2, post(1, call(7, "x")), refused)), one_session=False)
    answer = json.loads(found.takes[0].events[-1].payload or b"")

    assert (7, -32000, "HTTP 404") == (
        answer["id"],
        answer["error"]["code"],
        answer["error"]["message"],
    )


def test_an_answer_without_an_id_gets_one() -> None:
    """The client on another transport could not tell what a null id answers."""
    steps = post(1, call(7, "x")), answers(1, error(b"null"), 400)
    found = bare(over_http(in_session(2, *steps)), one_session=False)

    assert error(7) == found.takes[0].events[-1].payload


def probed() -> Cassette:
    return over_http(
        in_session(1, post(1, PROBE), answers(1, error("p", -32601), 400)),
        in_session(2, post(2, INITIALIZE), answers(2, WELCOME)),
        in_session(3, post(3, INITIALIZE), answers(3, WELCOME)),
    )


def test_one_session_for_everything() -> None:
    """What belonged to no session becomes part of each."""
    assert [(n, d) for n in (2, 3) for d in ("c2s", "s2c") for _ in (1, 2)] == sorted(
        (n, d) for n, d, _ in told(bare(probed(), one_session=True))
    )
    assert {1, 2, 3} == {n for n, _, _ in told(bare(probed(), one_session=False))}


@pytest.mark.parametrize(
    ("asked", "answered", "kept"),
    [
        ([PROBE, PROBE], [error("p"), error("p")], 1),
        ([PROBE, PROBE], [error("p"), response("p")], 2),
        ([PROBE, request("q", "server/discover")], [error("p"), error("q")], 2),
        ([call(1, "x"), call(1, "x")], [response(1), response(1)], 2),
    ],
)
def test_equal_probes_of_several_sessions(
    asked: list[bytes], answered: list[bytes], kept: int
) -> None:
    """Each session began with one, so each gets one: with all of them, most would never come."""
    own = [
        in_session(1, post(x, one), answers(x, other))
        for x, (one, other) in enumerate(zip(asked, answered, strict=True), 1)
    ]
    sessions = [in_session(n, post(n + 9, INITIALIZE), answers(n + 9, WELCOME)) for n in (2, 3)]
    together, alone = (
        told(bare(over_http(*own, *those), one_session=True)) for those in (sessions, sessions[:1])
    )

    for n in (2, 3):
        assert kept == sum(line[:2] == (n, "c2s") and line[2] in asked for line in together)
    assert 2 == sum(line[2] in asked for line in alone)


def test_a_probe_that_a_session_sent_too() -> None:
    """Only those that belong to no session are given to each, so only they are counted."""
    asked = [post(1, PROBE), answers(1, error("p"))]
    sessions = [
        in_session(2, *asked, post(9, INITIALIZE), answers(9, WELCOME)),
        in_session(1, post(3, PROBE), answers(3, error("p"))),
        in_session(3, post(4, INITIALIZE), answers(4, WELCOME)),
    ]
    found = told(bare(over_http(*sessions), one_session=True))

    assert [2, 2, 3] == sorted(n for n, _, raw in found if raw == PROBE)


def test_equal_answers_of_the_client() -> None:
    """They ask nothing, so each stays."""
    own = [in_session(1, post(x, response(7)), accepts(x)) for x in (1, 2)]
    sessions = [in_session(n, post(n + 9, INITIALIZE), answers(n + 9, WELCOME)) for n in (2, 3)]
    found = told(bare(over_http(*own, *sessions), one_session=True))

    assert [2, 2, 3, 3] == sorted(n for n, _, raw in found if raw == response(7))


def test_one_session_where_there_is_none() -> None:
    """Exchanges of no session alone stay as they are."""
    found = bare(
        over_http(in_session(1, post(1, PROBE), answers(1, response("p")))), one_session=True
    )

    assert [(1, "c2s", PROBE), (1, "s2c", response("p"))] == told(found)


def test_playing_to_a_client_on_stdio() -> None:
    """A client on stdio gets the probe's answer and the session's in one go."""
    played = replay(bare(probed(), one_session=True))

    assert [error("p", -32601)] == played.heard(PROBE)
    assert [WELCOME] == played.heard(INITIALIZE)


def test_the_hint_of_an_exchange() -> None:
    """A message on the stream of a call goes with that call, also where others are open."""
    steps = (
        post(1, call(1, "a")), opens(1), post(2, call(2, "b")), opens(2),
        says(1, b'{"jsonrpc":"2.0","method":"n"}'), get(3),
    )  # fmt: skip
    played = replay(bare(over_http(in_session(2, *steps)), one_session=True))

    assert [b'{"jsonrpc":"2.0","method":"n"}'] == played.heard(call(5, "a"))


def test_what_is_no_message_stays_noise() -> None:
    """Bodies nobody can read are kept as they are; empty ones and cut ones are not."""
    cut = [post(2, b"")[0], Frame(C2S, b"{", exchange=2)]
    found = bare(over_http(in_session(2, post(1, b""), cut)), one_session=False)

    assert [(2, "c2s", b"{")] == told(found)


@pytest.mark.parametrize(
    ("asked", "transport", "expected"),
    [
        (MODERN, "streamable-http", [cancelled(1)]),
        (call(1, "a"), "streamable-http", []),
        (MODERN, "sse", []),
    ],
)
def test_a_client_that_left(asked: bytes, transport: str, expected: list[bytes]) -> None:
    """In the era without sessions that is a cancel; over HTTP+SSE answers come elsewhere."""
    header = JSON_HEADER.replace(b"streamable-http", transport.encode())
    left = [*opens(1), ends(1, "closed", C2S)]
    recorded = over_http(in_session(1, post(1, asked), left), header=header)

    assert [asked, *expected] == [
        payload for _, _, payload in told(bare(recorded, one_session=False))
    ]


def test_a_client_that_left_with_its_answer() -> None:
    """Nothing was left to cancel."""
    recorded = over_http(
        in_session(1, post(1, MODERN), opens(1), says(1, response(1)), ends(1, "closed", C2S))
    )

    assert [MODERN, response(1)] == [
        payload for _, _, payload in told(bare(recorded, one_session=False))
    ]


PING, OTHER = request(1, "ping"), request(1, "tools/list")


@pytest.mark.parametrize(
    ("status", "location", "followed", "asked"),
    [
        (307, "/v2", post(2, PING, to="/v2"), [PING]),
        (308, "/v2?key=1", post(2, PING, to="/v2?key=1"), [PING]),
        (307, "http://127.0.0.1:8000/v2", post(2, PING, to="/v2"), [PING]),
        (302, "/v2", post(2, PING, to="/v2"), [PING, PING]),
        (307, "/v2", post(2, PING, to="/v3"), [PING, PING]),
        (307, "/v2", post(2, OTHER, to="/v2"), [PING, OTHER]),
        (307, None, post(2, PING), [PING, PING]),
    ],
)
def test_redirects(
    status: int, location: str | None, followed: list[Frame], asked: list[bytes]
) -> None:
    """A request that is sent again where a redirect leads is one request; any other is another."""
    fields = {} if location is None else {"location": location}
    moved = [replies(1, status, **fields), ends(1), ends(1, "closed", C2S)]
    recorded = over_http(in_session(2, post(1, PING), moved, followed, answers(2, response(1))))

    [take] = bare(recorded, one_session=False).takes
    assert asked == [event.payload for event in take.events if event.d == "c2s"]


def test_a_redirect_whose_request_is_not_recorded() -> None:
    """It repeats nothing."""
    moved = [replies(9, 307, location="/mcp"), ends(9)]
    recorded = over_http(in_session(2, moved, post(1, PING), answers(1, response(1))))

    [take] = bare(recorded, one_session=False).takes
    assert [PING, response(1)] == [event.payload for event in take.events]
