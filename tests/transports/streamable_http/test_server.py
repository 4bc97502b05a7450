"""The server's rules of Streamable HTTP: what is refused, what goes on, and which exchange is
answered how.
"""

from __future__ import annotations

import json

import pytest

from mcpmock.protocol.messages import C2S, S2C, Fragment, Frame, HttpRequest, HttpResponse, Stderr
from tests.support import (
    INITIALIZE,
    INITIALIZED,
    LOG,
    WELCOME,
    batch,
    call,
    cancelled,
    exits,
    hangs_up,
    logs,
    notification,
    progress,
    request,
    response,
    s2c,
)
from tests.transports.serving import LIST, S, refusal, server, session
from tests.transports.wire import ACCEPT, JSON, delete, fact, get, leaves, post

IN_SESSION = (
    ("only JSON", post(2, LIST, JSON, ("Accept", JSON[1]), S, plain=True), 406, -32000),
    ("accept empty", post(2, LIST, JSON, ("Accept", ""), S, plain=True), 406, -32000),
    ("no content type", post(2, LIST, ACCEPT, S, plain=True), 415, -32000),
    ("text", post(2, LIST, ACCEPT, ("Content-Type", "text/plain"), S, plain=True), 415, -32000),
    ("no JSON", post(2, b"{", S), 400, -32700),
    ("no bytes", post(2, b"", S), 400, -32700),
    ("no JSON-RPC", post(2, b'{"foo":1}', S), 400, -32700),
    ("an empty batch", post(2, b"[]", S), 400, -32700),
    ("a batch with something else", post(2, batch(LIST, b"1"), S), 400, -32700),
    ("no session id", post(2, LIST), 400, -32000),
    ("another session id", post(2, LIST, ("mcp-session-id", "s2")), 404, -32001),
    ("a stale initialize", post(2, INITIALIZE, ("mcp-session-id", "s2")), 404, -32001),
    ("no such revision", post(2, LIST, S, ("mcp-protocol-version", "2025-01-01")), 400, -32000),
    ("a batch", post(2, batch(LIST), S), 400, -32600),
    ("GET without session id", get(2), 400, -32000),
    ("GET of another session", get(2, ("Mcp-Session-Id", "s2")), 404, -32001),
    ("DELETE without session id", delete(2), 400, -32000),
    ("DELETE of another session", delete(2, ("Mcp-Session-Id", "s2")), 404, -32001),
    ("another path", post(2, LIST, S, target="/mcp/more"), 404, -32000),
)  # fmt: skip


@pytest.mark.parametrize(
    ("frames", "status", "code"), [r[1:] for r in IN_SESSION], ids=[r[0] for r in IN_SESSION]
)
def test_refused_in_a_session(frames: list[Frame], status: int, code: int) -> None:
    """A request that breaks the rules of a session is refused and not passed on."""
    assert (status, code, None) == refusal(session().client(frames))


def test_405_says_what_is_allowed() -> None:
    """A 405 names the accepted methods in Allow."""
    for stateless, allowed in ((True, "POST"), (False, "POST, GET, DELETE")):
        options = fact(C2S, 1, HttpRequest("OPTIONS", "/mcp", []))
        [[head, *_]] = server(stateless=stateless).pipeline.enter([options], 0.0)

        assert isinstance(head.fact, HttpResponse)
        assert (405, allowed) == (head.fact.status, head.fact.header("allow"))


@pytest.mark.parametrize(
    "accept", ["*/*", "application/*, text/*", "text/event-stream;q=1,application/json", None]
)
def test_lenient_accept(accept: str | None) -> None:
    """Ranges, parameters and a missing Accept are accepted."""
    fields = [JSON, S] + ([] if accept is None else [("Accept", accept)])

    assert [(None, LIST)] == session().client(post(2, LIST, *fields, plain=True))


def test_opening() -> None:
    """The response to `initialize` and all later ones carry a new session id."""
    wire = server()

    assert [(None, INITIALIZE)] == wire.client(post(1, INITIALIZE))
    [[head, *_]] = wire.pipeline.enter([s2c(WELCOME)], 0.0)
    assert isinstance(head.fact, HttpResponse)
    assert ("s1", "application/json") == (head.fact.header("mcp-session-id"), head.fact.media_type)
    [[head, _], _] = wire.pipeline.enter(post(2, INITIALIZED, S), 0.0)
    assert isinstance(head.fact, HttpResponse)
    assert ("s1", 202) == (head.fact.header("mcp-session-id"), head.fact.status)


def test_what_wants_no_answer_is_accepted() -> None:
    """A notification, an answer to the server, and a batch of both: 202 and no body."""
    for body in (INITIALIZED, response(7), batch(INITIALIZED, response(7))):
        told = session("2025-03-26").client(post(2, body, S))

        assert [(2, "202"), (2, "end"), (None, body)] == told


def test_bodies_become_lines() -> None:
    """A body becomes one line, without a byte order mark."""
    body = b'\xef\xbb\xbf{\r\n"jsonrpc": "2.0",\n"id": 1,\r"method": "ping"}\n'
    line = b'{ "jsonrpc": "2.0", "id": 1, "method": "ping"}'

    assert [(None, line)] == session().client(post(2, body, S))


def test_bodies_in_pieces() -> None:
    """A body in pieces is joined; one beyond the bound is refused with 413."""
    wire = session()
    head, whole = post(2, LIST, S)

    def piece(raw: bytes, *, last: bool) -> Frame:
        return Frame(C2S, raw, b"", Fragment(last=last), 2)

    assert [] == wire.client(head, piece(whole.raw[:10], last=False))
    assert [(None, LIST)] == wire.client(piece(whole.raw[10:], last=True))
    assert [] == wire.client(head, *[piece(bytes(1 << 20), last=False)] * 65)
    assert (2, "413 application/json") == wire.client(piece(b"", last=True))[0]


def test_an_answer_alone_is_json() -> None:
    """A response whose first message is the answer is one JSON body."""
    wire = session()
    wire.client(post(2, LIST, S))

    assert [(2, "200 application/json"), (2, response(1)), (2, "end")] == wire.server(
        s2c(response(1))
    )


STREAMED = {
    "2025-11-25": ["event 2-0", b"", "event 2-1", LOG, "event 2-2"],
    "2025-06-18": ["event 2-1", LOG, "event 2-2"],
    "2025-03-26": ["event 2-1", LOG, "event 2-2"],
}


@pytest.mark.parametrize("revision", STREAMED)
def test_an_answer_behind_something_else_is_streamed(revision: str) -> None:
    """All events have ids; 2025-11-25 begins with an event of an id alone."""
    wire = session(revision)
    wire.client(post(2, LIST, S))
    told = wire.server(s2c(LOG)) + wire.server(s2c(response(1)))

    expected = ["200 text/event-stream", *STREAMED[revision], response(1), "end"]
    assert expected == [what for _, what in told]
    assert {2} == {x for x, _ in told}


def test_batches() -> None:
    """A batch answered at once is one JSON body, else a stream until the last answer."""
    asked = batch(request(1, "a"), request(2, "b"))
    together = batch(response(2), response(1))
    wire = session("2025-03-26")

    assert [(None, asked)] == wire.client(post(2, asked, S))
    assert [(2, "200 application/json"), (2, together), (2, "end")] == wire.server(s2c(together))
    wire.client(post(3, asked, S))
    assert response(2) == wire.server(s2c(response(2)))[-1][1]
    assert [(3, "event 3-2"), (3, response(1)), (3, "end")] == wire.server(s2c(response(1)))


def test_a_batch_for_several_is_taken_apart() -> None:
    """The answers in a batch go to their own callers."""
    wire = session()
    wire.client(post(2, request(1, "a"), S))
    wire.client(post(3, request(2, "b"), S))
    told = wire.server(s2c(batch(response(2), response(1))))

    assert [(3, response(2)), (2, response(1))] == [
        one for one in told if isinstance(one[1], bytes)
    ]


def test_the_standalone_stream() -> None:
    """What nobody asked for waits for a GET, goes to the newest one, and waits again when it is
    closed.
    """
    wire = session()
    assert [] == wire.server(s2c(LOG))
    assert [(2, "200 text/event-stream"), (2, "event 2-1"), (2, LOG)] == wire.client(get(2, S))
    assert [(3, "200 text/event-stream")] == wire.client(get(3, S))
    assert [(3, "event 3-1"), (3, LOG)] == wire.server(s2c(LOG))
    assert [] == wire.client(leaves(3))
    assert [(2, "event 2-2"), (2, LOG)] == wire.server(s2c(LOG))
    assert [] == wire.client(leaves(2)) + wire.server(s2c(LOG))
    assert (4, LOG) == wire.client(get(4, S))[-1]


def test_what_waits_is_bounded() -> None:
    """Of 1005 messages held for a stream the last 1000 are kept."""
    wire = session()
    for number in range(1005):
        wire.server(s2c(notification("n", {"i": number})))
    told = [what for _, what in wire.client(get(2, S)) if isinstance(what, bytes)]

    assert (1000, notification("n", {"i": 5})) == (len(told), told[0])


def test_unrelated_messages() -> None:
    """Progress follows its token; the rest goes to the only request, the GET or the oldest."""
    wire = session()

    def goes_to(raw: bytes) -> int | None:
        return wire.server(s2c(raw))[-1][0]

    wire.client(post(2, request(1, "a", token="t1"), S))
    assert 2 == goes_to(LOG)
    wire.client(post(3, request(2, "b", token="t2"), S))
    assert 2 == goes_to(request(1, "roots/list"))
    assert 3 == goes_to(progress("t2"))
    wire.client(get(4, S))
    assert 4 == goes_to(LOG)
    assert 2 == goes_to(progress("t1"))
    assert 2 == goes_to(response(1))
    assert 3 == goes_to(LOG)
    assert 3 == goes_to(response(2))
    assert 4 == goes_to(progress("t2"))


def test_noise_stays() -> None:
    """Banners and empty lines on stdout are dropped; standard error passes."""
    assert [] == session().server(s2c(b"Server ready!"), s2c(b""))
    assert [(None, "Stderr")] == session().server(logs("ready"))


def test_a_disconnect_says_nothing_in_a_session() -> None:
    """A disconnect cancels nothing, and the late answer is dropped."""
    wire = session()
    wire.client(post(2, LIST, S), get(3, S))

    assert [] == wire.client(leaves(2))
    assert [] == wire.server(s2c(response(1)))
    assert [(None, request(1, "b"))] == wire.client(post(4, request(1, "b"), S))


def test_a_body_that_never_came() -> None:
    """A request that is cut off is dropped."""
    assert [] == session().client(post(2, LIST, S)[:1], leaves(2))


def test_delete() -> None:
    """DELETE ends the streams, passes one StreamEnd on, and later requests get 404. What waits for
    an answer may still get it, on a stream.
    """
    wire = session("2025-06-18")
    wire.client(get(2, S), post(3, LIST, S))
    ends = [(4, "200"), (4, "end"), (2, "end"), (3, "200 text/event-stream"), (None, "StreamEnd")]

    assert ends == wire.client(delete(4, S))
    assert (3, response(1)) in wire.server(s2c(response(1)))
    assert (404, -32001, None) == refusal(wire.client(post(2, LIST, S)))
    assert [] == wire.client(hangs_up(C2S))


def test_the_server_ends() -> None:
    """Open requests get errors, streams end, and later requests get 404."""
    wire = session("2025-03-26")
    wire.client(get(2, S), post(3, request(1, "a", token=1), S), post(4, batch(LIST, LIST), S))
    wire.client(post(5, request(9, "b"), S))
    wire.server(s2c(progress(1)))
    told = wire.server(exits(1))

    said = [(x, what) for x, what in told if isinstance(what, str)]
    assert [(2, "end"), (3, "event 3-2"), (3, "end"), (4, "502 application/json")] == said[:4]
    assert (None, "ProcessExit") == told[-1]
    errors = [json.loads(what) for _, what in told if isinstance(what, bytes)]
    assert (1, -32000) == (errors[0]["id"], errors[0]["error"]["code"])
    assert [1, 1] == [one["id"] for one in errors[1]]
    assert (9, -32000) == (errors[2]["id"], errors[2]["error"]["code"])
    assert (404, -32001, None) == refusal(wire.client(post(2, LIST, S)))


def test_cancels_in_a_session() -> None:
    """A cancel goes on with the id that went on; the server's own cancels are for its own
    requests.
    """
    wire = session()
    wire.client(post(2, LIST, S), post(3, LIST, S))
    wire.server(s2c(response(1)))

    assert (None, cancelled("mcpmock-1")) == wire.client(post(4, cancelled(1), S))[-1]
    assert (3, cancelled(1)) == wire.server(s2c(cancelled(1)))[-1]
    assert (3, response(1)) == wire.server(s2c(response("mcpmock-1")))[-2]


def test_a_tool_call_in_a_session_needs_no_header() -> None:
    """In a session `tools/call` is accepted without the headers of the modern era."""
    assert [(None, call(1, "add"))] == session().client(post(2, call(1, "add"), S))


def test_facts_pass() -> None:
    """The end of the wire is passed on, once."""
    wire = session()

    assert [(None, "StreamEnd")] == wire.client(hangs_up(C2S), hangs_up(C2S))
    assert [(None, "StreamEnd")] == wire.server(hangs_up(S2C))


def test_long_messages_of_the_server_in_pieces() -> None:
    """A message in pieces is joined before it is routed."""
    wire = session()
    wire.client(post(2, LIST, S))
    answer = response(1, {"text": "x" * 100})

    assert [] == wire.server(Frame(S2C, answer[:50], b"", Fragment()))
    told = wire.server(Frame(S2C, answer[50:], b"\n", Fragment(last=True)))
    assert [(2, "200 application/json"), (2, answer), (2, "end")] == told


def test_frames_of_no_request_are_nothing() -> None:
    """A body without a head is dropped; a fact of no exchange passes."""
    assert [] == session().client(Frame(C2S, LIST, exchange=9))
    assert [(None, "Stderr")] == session().client(fact(C2S, None, Stderr()))
