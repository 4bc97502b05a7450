"""HTTP+SSE: the server's responses, the client's side, and both together."""

from __future__ import annotations

import json as json_
from itertools import count

import pytest

from mcpmock.protocol.messages import (
    C2S,
    S2C,
    Direction,
    Fragment,
    Frame,
    HttpBody,
    HttpRequest,
    SseMeta,
    Stderr,
)
from mcpmock.transports.http_sse import SseClient, SseServer
from tests.support import (
    INITIALIZE,
    INITIALIZED,
    LOG,
    WELCOME,
    Script,
    batch,
    c2s,
    cancelled,
    exits,
    hangs_up,
    logs,
    progress,
    request,
    response,
    s2c,
    script,
)

from .wire import Told, Wire, answers, event, fact, get, leaves, over, post, stream

LIST = request(1, "tools/list")
MESSAGES = "/messages?sessionId=s1"


def server() -> Wire:
    return Wire(SseServer("/sse", "/messages", lambda: "s1"))


def session() -> Wire:
    """The stream is exchange 1."""
    wire = server()
    told = wire.client(get(1, target="/sse"))
    assert [(1, "200 text/event-stream"), (1, "event"), (1, MESSAGES.encode())] == told
    return wire


ACCEPTED = [(2, "202 text/plain"), (2, "text Accepted"), (2, "end")]


def test_messages_go_on() -> None:
    """A POST gets 202, and the server's messages come on the stream."""
    wire = session()

    assert [*ACCEPTED, (None, LIST)] == wire.client(post(2, LIST, target=MESSAGES))
    assert [(1, "event"), (1, response(1))] == wire.server(s2c(response(1)))
    assert [*ACCEPTED, (None, batch(LIST))] == wire.client(post(2, batch(LIST), target=MESSAGES))


def test_events_say_what_they_are() -> None:
    """The first event is `endpoint`, the others are `message`."""
    wire = Wire(SseServer("/sse", "/messages", lambda: "s1"))
    frames = wire.pipeline.enter(get(1, target="/sse"), 0.0)[0]
    frames = [*frames, *wire.pipeline.enter([s2c(LOG)], 0.0)[0]]

    assert ["endpoint", "message"] == [
        frame.fact.event for frame in frames if isinstance(frame.fact, SseMeta)
    ]


REFUSED = (
    ("no session id", post(2, LIST, target="/messages"), 400),
    ("another session", post(2, LIST, target="/messages?sessionId=s2"), 404),
    ("no JSON-RPC", post(2, b"{}", target=MESSAGES), 400),
    ("no bytes", post(2, b"", target=MESSAGES), 400),
    ("POST to the stream", post(2, LIST, target="/sse"), 405),
    ("GET of messages", get(2, target=MESSAGES), 405),
    ("another path", get(2, target="/mcp"), 404),
    ("a second stream", get(2, target="/sse/"), 409),
)


@pytest.mark.parametrize(("what", "frames", "status"), REFUSED)
def test_refused(what: str, frames: list[Frame], status: int) -> None:
    """A request that breaks the rules is refused and not passed on."""
    told = session().client(frames)

    assert [(2, f"{status} text/plain"), (2, "end")] == [told[0], told[-1]]
    assert 3 == len(told)


def test_a_body_too_long() -> None:
    """A body beyond the bound gets 413; the next request is accepted."""
    wire = session()
    head = post(2, LIST, target=MESSAGES)[0]
    for x, size in ((2, 65), (3, 1)):
        head.exchange = x
        pieces = [Frame(C2S, bytes(1 << 20), b"", Fragment(), x)] * (size - 1)
        last = Frame(C2S, LIST, b"", Fragment(last=True), x)
        told = wire.client(head, pieces, last)

        assert ((x, "413 text/plain") if x == 2 else (x, "202 text/plain")) == told[0]


def test_the_stream_is_the_session() -> None:
    """A closed stream ends the session: one StreamEnd is passed on, later POSTs get 404."""
    wire = session()

    assert [(None, "StreamEnd")] == wire.client(leaves(1))
    assert (2, "404 text/plain") == wire.client(post(2, LIST, target=MESSAGES))[0]
    assert [] == wire.server(s2c(LOG))
    assert [] == wire.client(hangs_up(C2S))


def test_the_server_ends() -> None:
    """The end of the server ends the stream."""
    wire = session()

    assert [(1, "end"), (None, "ProcessExit")] == wire.server(exits(0))
    assert (2, "404 text/plain") == wire.client(post(2, LIST, target=MESSAGES))[0]


def test_what_comes_before_the_stream_waits() -> None:
    """Messages are held until the stream is open; noise and standard error are not sent on it."""
    wire = server()
    assert [] == wire.server(s2c(b"ready!"), s2c(LOG))
    assert [(None, "Stderr")] == wire.server(logs("x"))

    assert [(1, "event"), (1, LOG)] == wire.client(get(1, target="/sse"))[-2:]
    assert [] == wire.server(s2c(b"ready!"))


def client(endpoint: bytes | None = MESSAGES.encode()) -> Wire:
    """The stream is exchange 1."""
    wire = Wire(SseClient("/sse?k=1", [("Authorization", "x")], count(1)))
    assert [(1, "GET /sse?k=1")] == wire.began
    wire.server(stream(1))
    if endpoint is not None:
        assert [] == wire.server(names(endpoint))
    return wire


def names(endpoint: bytes) -> list[Frame]:
    return [fact(S2C, 1, SseMeta(event="endpoint")), Frame(S2C, endpoint, exchange=1)]


def errors(told: list[Told]) -> list[tuple[int, str]]:
    values = [json_.loads(raw) for _, raw in told if isinstance(raw, bytes)]
    return [(value["id"], value["error"]["message"]) for value in values]


def test_messages_wait_for_the_endpoint() -> None:
    """Messages wait for the `endpoint` event, then are posted in order with the given headers."""
    wire = client(None)

    assert [] == wire.client(c2s(INITIALIZE), c2s(b""), c2s(INITIALIZED))
    [frames] = wire.pipeline.enter(names(MESSAGES.encode()), 0.0)
    assert [INITIALIZE, INITIALIZED] == [frame.raw for frame in frames if frame.fact is None]
    heads = [frame.fact for frame in frames if isinstance(frame.fact, HttpRequest)]
    expected = [
        ("Authorization", "x"),
        ("Content-Type", "application/json"),
        ("Content-Length", str(len(INITIALIZE))),
    ]
    assert (MESSAGES, expected) == (heads[0].target, heads[0].headers)


@pytest.mark.parametrize(
    ("endpoint", "target"),
    [
        (b"/m?a=1", "/m?a=1"),
        (b"m/?a=1", "/m/?a=1"),
        (b"http://127.0.0.1:9/m?a=1", "/m?a=1"),
    ],
)
def test_endpoints_are_read_as_uris(endpoint: bytes, target: str) -> None:
    """Of a relative or absolute endpoint the path and query are used."""
    assert (2, f"POST {target}") == client(endpoint).client(c2s(LIST))[0]


def test_answers_come_on_the_stream() -> None:
    """The response to a POST gives no message, unless it is a refusal."""
    wire = client()
    wire.client(c2s(LIST), c2s(request(2, "b")), c2s(INITIALIZED))
    body = fact(S2C, 3, HttpBody())
    body.raw = b"No such session"

    assert [] == wire.server(
        answers(2, 202, "Accepted", fact(S2C, 2, HttpBody()), kind="text/plain")
    )
    assert [(None, response(1))] == wire.server(event(1, response(1)))
    assert [(2, "HTTP 404 Not Found: No such session")] == errors(
        wire.server(answers(3, 404, "Not Found", body, kind="text/plain"))
    )
    assert [] == wire.server(answers(4, 500, "Oops"))


def test_the_end_of_the_stream_is_the_end() -> None:
    """After the end of the stream nothing is posted."""
    wire = client()

    assert [(None, "StreamEnd")] == wire.server(over(1, "reset"))
    assert [] == wire.client(c2s(LIST))


@pytest.mark.parametrize(
    ("refused", "why"),
    [
        (answers(1, 404, "Not Found"), "HTTP 404 Not Found"),
        (over(1), "HTTP 200 OK: the event stream ended without an endpoint"),
    ],
)
def test_no_stream(refused: list[Frame], why: str) -> None:
    """Without a stream held requests get an error with the reason."""
    wire = client(None)
    wire.client(c2s(LIST))
    told = wire.server(refused)

    assert [(1, why)] == errors(told[:1])
    assert [(None, "StreamEnd")] == told[1:]
    assert wire.pipeline.hung_up is not None


def test_a_stream_that_breaks() -> None:
    """A broken stream answers open requests with errors and ends the session."""
    wire = client()
    wire.client(c2s(LIST))
    assert wire.pipeline.hung_up is None

    told = wire.server(over(1, "reset"))
    assert [1] == [id_ for id_, _ in errors(told[:1])]
    assert [(None, "StreamEnd")] == told[1:]
    assert wire.pipeline.hung_up is not None


def test_input_end_closes_the_stream() -> None:
    """The stream is closed as soon as nothing is open, or half a second later."""
    assert [(1, "end closed"), (None, "StreamEnd")] == client().client(hangs_up(C2S))

    wire = client()
    assert [(2, f"POST {MESSAGES}"), (2, LIST)] == wire.client(c2s(LIST), hangs_up(C2S))
    ends = [(1, "end closed"), (2, "end closed"), (None, "StreamEnd")]
    assert [(None, response(1)), *ends] == wire.server(event(1, response(1)))
    assert [] == wire.at(9.0)

    wire = client()
    wire.client(c2s(LIST), hangs_up(C2S))
    assert ([], ends) == (wire.at(0.4), wire.at(0.5))

    wire = client()
    wire.client(c2s(LIST), c2s(cancelled(1)))
    assert (None, "StreamEnd") == wire.client(hangs_up(C2S))[-1]


def pair() -> Script:
    return script(SseClient("/sse", [], count(1)), SseServer("/sse", "/messages", lambda: "s1"))


def test_both_sides_pass_everything_unchanged() -> None:
    """Calls, progress, pushes, requests of the server's, cancels, batches, both ends."""
    asked = request(1, "a", token=b"1.0")
    pair().at(0, client=INITIALIZE, to_server=INITIALIZE).at(
        1, server=WELCOME, to_client=WELCOME
    ).at(2, client=[INITIALIZED, asked], to_server=[INITIALIZED, asked]).at(
        3, server=progress(b"1.0"), to_client=progress(b"1.0")
    ).at(4, server=LOG, to_client=LOG).at(5, client=response(0), to_server=response(0)).at(
        6, server=batch(LOG, response(1)), to_client=batch(LOG, response(1))
    ).at(7, client=hangs_up(C2S), to_server=[hangs_up(C2S, "closed")]).nothing_more()


def test_the_servers_end_passes() -> None:
    """The end of the server passes as the end of the stream and as the fact itself."""
    ended = pair().at(0).pipeline.enter([exits(1)], 0.0)

    assert ["StreamEnd", "ProcessExit"] == [type(f.fact).__name__ for fs in ended for f in fs]


def test_long_messages_in_pieces() -> None:
    """Messages in pieces are joined in both directions."""
    answer = response(1, {"text": "x" * 100})

    def pieces(direction: Direction, raw: bytes) -> list[Frame]:
        head = Frame(direction, raw[:9], b"", Fragment())
        return [head, Frame(direction, raw[9:], b"\n", Fragment(last=True))]

    assert [(1, "event"), (1, answer)] == session().server(pieces(S2C, answer))
    assert [(2, f"POST {MESSAGES}"), (2, LIST)] == client().client(pieces(C2S, LIST))


def test_what_is_of_no_exchange_goes_by() -> None:
    """Frames of no exchange pass; frames of unknown exchanges are dropped."""
    for wire in (session(), client()):
        assert [(None, "Stderr")] == wire.client(fact(C2S, None, Stderr()))
        assert [(None, "Stderr")] == wire.server(logs("x"))
    assert [] == session().client(Frame(C2S, LIST, exchange=9))
    assert [] == client().server(event(9, LOG))


def test_a_batch_among_refusals() -> None:
    """Messages in a refusal pass; after the stream is closed nothing does."""
    wire = client()
    wire.client(c2s(LIST))
    told = wire.server(answers(2, 400, "Bad", Frame(S2C, batch(LOG), exchange=2)))
    assert [batch(LOG), 1] == [told[0][1], *(id_ for id_, _ in errors(told[1:]))]
    wire.client(hangs_up(C2S))
    assert [] == wire.server(event(1, LOG))
