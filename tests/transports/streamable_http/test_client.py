"""The client's rules of Streamable HTTP: what is sent when, with which fields, and what becomes of
answers, streams that break, and the end.
"""

from __future__ import annotations

import json as json_
from itertools import count
from typing import Any

import pytest

from mcpmock.protocol.messages import C2S, S2C, Fragment, Frame, HttpBody, HttpRequest, ProcessExit
from mcpmock.protocol.transport_facts import Headers
from mcpmock.transports.streamable_http.client import StreamableHttpClient
from tests.support import (
    INITIALIZE,
    INITIALIZED,
    LOG,
    WELCOME,
    batch,
    c2s,
    call,
    cancelled,
    exits,
    hangs_up,
    request,
    response,
)
from tests.transports.wire import Told, Wire, answers, event, fact, json, over, stream

S = ("Mcp-Session-Id", "s1")
MODERN = "2026-07-28"
META = {"_meta": {"io.modelcontextprotocol/protocolVersion": MODERN}}
LIST = request(1, "tools/list")


def client(*headers: tuple[str, str]) -> Wire:
    return Wire(StreamableHttpClient("/mcp?x=1", list(headers), count(1)))


def welcome(x: int, *fields: tuple[str, str]) -> list[Frame]:
    return [*stream(x, *fields), *event(x, WELCOME), *over(x)]


def session() -> Wire:
    """A session after exchanges 1 and 2, with exchange 3 as its standalone stream."""
    wire = client()
    wire.client(c2s(INITIALIZE))
    wire.server(welcome(1, S))
    wire.client(c2s(INITIALIZED))
    assert [(3, "GET /mcp?x=1")] == wire.server(answers(2, 202, "Accepted"))
    return wire


def ask(wire: Wire, *raws: bytes) -> list[Told]:
    return wire.client([c2s(raw) for raw in raws])


def head_of(wire: Wire, raw: bytes) -> HttpRequest:
    """The head of the POST that a message becomes."""
    [[head, body]] = wire.pipeline.enter([c2s(raw)], 0.0)
    assert isinstance(head.fact, HttpRequest)
    assert (raw, head.exchange) == (body.raw, body.exchange)
    return head.fact


def fields(headers: Headers) -> dict[str, str]:
    assert len(headers) == len({name for name, _ in headers})
    return dict(headers)


def errors(told: list[Told]) -> list[tuple[Any, str]]:
    values = [json_.loads(raw) for _, raw in told if isinstance(raw, bytes)]
    return [(value["id"], value["error"]["message"]) for value in values]


def modern(id_: Any, method: str, params: Any = None) -> bytes:
    return request(id_, method, {**(params or {}), **META})


def test_headers_of_the_legacy_era() -> None:
    """Accept lists both types; session id and revision are sent once they are known."""
    wire = client(("Authorization", "Bearer x"), ("accept", "mine"))
    usual = {
        "Authorization": "Bearer x",
        "accept": "mine",
        "Content-Type": "application/json",
        "Content-Length": str(len(INITIALIZE)),
    }

    assert usual == fields(head_of(wire, INITIALIZE).headers)
    wire.server(welcome(1, S))
    known = {**usual, "Mcp-Session-Id": "s1", "MCP-Protocol-Version": "2025-11-25"}
    assert {**known, "Content-Length": str(len(LIST))} == fields(head_of(wire, LIST).headers)
    again = head_of(wire, INITIALIZE)
    assert usual == fields(again.headers)


def test_headers_of_the_modern_era() -> None:
    """The headers repeat the method, name and revision of the message; no session id is sent."""
    wire = client()
    asked = modern(1, "tools/call", {"name": "café"})
    expected = {
        "Accept": "application/json, text/event-stream",
        "Content-Type": "application/json",
        "Content-Length": str(len(asked)),
        "MCP-Protocol-Version": MODERN,
        "Mcp-Method": "tools/call",
        "Mcp-Name": "=?base64?Y2Fmw6k=?=",
    }

    assert expected == fields(head_of(wire, asked).headers)
    reported = head_of(wire, INITIALIZED)
    assert (MODERN, "notifications/initialized") == (
        reported.header("mcp-protocol-version"),
        reported.header("mcp-method"),
    )


def test_nothing_overtakes_the_opening() -> None:
    """Messages are held until `initialize` is answered, then posted in order."""
    wire = client()

    assert [(1, "POST /mcp?x=1"), (1, INITIALIZE)] == ask(wire, INITIALIZE, INITIALIZED, LIST)
    assert [] == wire.server(stream(1, S))
    posts = [(2, "POST /mcp?x=1"), (2, INITIALIZED), (3, "POST /mcp?x=1"), (3, LIST)]
    assert [(None, WELCOME), *posts] == wire.server(event(1, WELCOME))


def test_an_opening_that_fails_lets_the_rest_try() -> None:
    """An error that answers `initialize` releases the held messages too."""
    wire = client()
    ask(wire, INITIALIZE, LIST)
    refused = answers(1, 401, "Unauthorized", fact(S2C, 1, HttpBody()))
    told = wire.server(refused)

    assert [(0, "HTTP 401 Unauthorized")] == errors(told[:1])
    assert (2, LIST) == told[-1]


def test_what_waits_for_the_opening_is_bounded() -> None:
    """Beyond the bounds messages are posted although `initialize` has no answer yet."""
    wire = client()
    ask(wire, INITIALIZE)

    assert [] == ask(wire, *[LIST] * 1000)
    assert 2 == len(ask(wire, LIST))


def test_answers_become_messages() -> None:
    """JSON bodies and all events of streams become messages."""
    wire = session()
    ask(wire, LIST, request(2, "b"))

    assert [(None, response(1))] == wire.server(json(4, response(1)))
    told = wire.server(
        stream(5), event(5, b"", "a"), event(5, LOG, "b"), event(5, response(2)), over(5)
    )
    assert [(None, LOG), (None, response(2))] == told
    assert [(None, LOG)] == wire.server(stream(3), event(3, LOG))


def test_batches_are_one_post() -> None:
    """A batch is posted as one body, and a batch that answers it stays one."""
    wire, asked = session(), batch(LIST, INITIALIZED)

    assert [(4, "POST /mcp?x=1"), (4, asked)] == ask(wire, asked)
    assert [(None, batch(response(1)))] == wire.server(json(4, batch(response(1))))[:1]


def test_refusals_become_errors() -> None:
    """A refused request gets an error that quotes the response; a notification gets none."""
    wire = session()
    ask(wire, LIST, INITIALIZED)
    gone = fact(S2C, 4, HttpBody())
    gone.raw = b"<h1>gone\n away</h1>"

    assert [(1, "HTTP 404 Not Found: <h1>gone away</h1>")] == errors(
        wire.server(answers(4, 404, "Not Found", gone, kind="text/html"))
    )
    assert [] == wire.server(answers(5, 500, "Oops"))


def test_a_server_that_says_nothing() -> None:
    """A request whose exchange ends without an answer gets an error."""
    wire = session()
    ask(wire, LIST, request(2, "b"), request(3, "c"))

    why = "HTTP 202 Accepted: not an answer"
    assert [(1, why)] == errors(wire.server(answers(4, 202, "Accepted")))
    why = "mcpmock: the connection was reset before a response came"
    assert [(2, why)] == errors(wire.server(over(5, "reset")))
    why = "HTTP 200 OK: the connection was reset before an answer came"
    assert [(3, why)] == errors(wire.server(stream(6), event(6, LOG), over(6, "reset"))[1:])


def test_the_standalone_stream_is_opened_again() -> None:
    """A standalone stream is reopened after the server's `retry`, from the last event."""
    wire = session()
    wire.server(stream(3), event(3, LOG, "e7", retry=250))
    assert [] == wire.client(over(3), now=10.0)
    assert 10.25 == wire.pipeline.next_due
    assert [] == wire.at(10.2)
    [[head]] = wire.pipeline.advance(10.25)
    assert isinstance(head.fact, HttpRequest)
    assert ("e7", "s1", "2025-11-25", "text/event-stream") == tuple(
        head.fact.header(name)
        for name in ("Last-Event-ID", "Mcp-Session-Id", "MCP-Protocol-Version", "Accept")
    )


@pytest.mark.parametrize(("status", "tries"), [(405, 0), (404, 0), (200, 0), (503, 5)])
def test_a_server_without_standalone_stream(status: int, tries: int) -> None:
    """A refusal is final; a server error is retried MAX_RESUME_FAILURES times."""
    wire = session()
    now, times = 0.0, 0
    told = wire.server(answers(3, status, "No"))
    while wire.pipeline.next_due is not None:
        now += 1
        told = wire.at(now)
        assert [(4 + times, "GET /mcp?x=1")] == told
        assert [] == wire.client(answers(4 + times, status, "No"), now=now)
        times += 1

    assert tries == times


def test_no_session_no_standalone_stream() -> None:
    """A server without session ids gets no GET."""
    wire = client()
    ask(wire, INITIALIZE)
    wire.server(welcome(1))
    ask(wire, INITIALIZED)

    assert [] == wire.server(answers(2, 202, "Accepted"))


def test_a_broken_answer_is_resumed() -> None:
    """A broken stream is resumed by GET until the answer has come."""
    wire = session()
    ask(wire, LIST)
    wire.server(stream(4), event(4, b"", "p", retry=100))
    assert [] == wire.server(over(4))
    assert [(5, "GET /mcp?x=1")] == wire.at(0.1)
    told = wire.client(stream(5), event(5, LOG, "q"), over(5, "reset"), now=0.2)
    assert [(None, LOG)] == told
    [[head]] = wire.pipeline.advance(1.0)
    assert isinstance(head.fact, HttpRequest)
    assert "q" == head.fact.header("last-event-id")
    told = wire.client(stream(6), event(6, response(1), "r"), over(6), now=1.0)
    assert [(None, response(1))] == told
    assert None is wire.pipeline.next_due


@pytest.mark.parametrize(
    ("status", "tries", "why"),
    [
        (404, 1, "HTTP 404 No"),
        (405, 1, "HTTP 405 No"),
        (502, 6, "HTTP 502 No"),
    ],
)
def test_an_answer_that_is_lost(status: int, tries: int, why: str) -> None:
    """A request whose stream cannot be resumed gets an error with the reason."""
    wire = session()
    ask(wire, LIST)
    wire.server(stream(4), event(4, None, "p"), over(4))
    told: list[Told] = []
    now = 0.0
    for x in range(tries):
        assert [] == told
        now += 1
        assert [(5 + x, "GET /mcp?x=1")] == wire.at(now)
        told = wire.client(answers(5 + x, status, "No"), now=now)

    assert [(1, why)] == errors(told)
    assert None is wire.pipeline.next_due


def test_cancel_in_a_session() -> None:
    """A cancel is posted like any message, and its request is no longer open."""
    wire = session()
    ask(wire, LIST)

    assert [(5, "POST /mcp?x=1"), (5, cancelled(1))] == ask(wire, cancelled(1))
    assert [] == wire.server(stream(4), event(4, None, "p"), over(4))
    assert None is wire.pipeline.next_due


def test_cancel_of_what_is_to_be_resumed() -> None:
    """A broken stream is not resumed for a cancelled request."""
    wire = session()
    ask(wire, LIST)
    wire.server(stream(4), event(4, None, "p"), over(4))

    assert [(5, "POST /mcp?x=1"), (5, cancelled(1))] == ask(wire, cancelled(1))
    assert [] == wire.at(1.0)


def test_cancel_in_the_modern_era() -> None:
    """A cancel closes the exchange and is not posted, also if the request was answered."""
    wire = client()
    ask(wire, modern(1, "a"), modern(2, "b"))

    assert [(2, "end closed")] == ask(wire, cancelled(2))
    assert [] == ask(wire, cancelled(2))
    assert [(None, response(1))] == wire.server(json(1, response(1)))
    assert [] == wire.server(json(2, response(2)))


def test_a_broken_modern_answer_is_lost() -> None:
    """A modern stream is not resumed: its request gets an error."""
    wire = client()
    ask(wire, modern(1, "a"))
    told = wire.server(stream(1), event(1, LOG, "e1"), over(1, "reset"))

    assert (None, LOG) == told[0]
    why = "HTTP 200 OK: the connection was reset before an answer came"
    assert [(1, why)] == errors(told[1:])


def test_input_end_deletes_the_session() -> None:
    """The session is deleted and every exchange closed; the StreamEnd follows the response."""
    wire = session()
    wire.server(stream(3))

    assert [(4, "DELETE /mcp?x=1"), (3, "end closed")] == wire.client(hangs_up(C2S))
    assert [] == ask(wire, LIST)
    assert [(None, "StreamEnd")] == wire.server(answers(4, 200, "OK"))
    assert [] == wire.at(9.0)


def test_delete_without_a_response() -> None:
    """The StreamEnd waits DELETE_TIMEOUT_S for the response to the DELETE."""
    wire = session()
    wire.client(hangs_up(C2S), now=5.0)

    assert [] == wire.at(5.9)
    assert [(4, "end closed"), (None, "StreamEnd")] == wire.at(6.0)
    assert [] == wire.server(answers(4, 200, "OK"))


def test_input_end_without_a_session() -> None:
    """Without a session open exchanges are closed and no DELETE is sent."""
    wire = client()
    ask(wire, modern(1, "subscriptions/listen"))

    assert [] == wire.client(hangs_up(C2S))
    assert [(1, "end closed"), (None, "StreamEnd")] == wire.at(0.5)


def test_a_script_gets_its_answers() -> None:
    """Requests of an input that ends at once get INPUT_END_TIMEOUT_S for their answers."""
    wire = client()
    ask(wire, INITIALIZE, INITIALIZED, LIST)
    wire.client(hangs_up(C2S))
    wire.server(welcome(1, S))
    told = wire.server(json(3, response(1)))

    assert [(None, response(1)), (4, "DELETE /mcp?x=1"), (2, "end closed")] == told


def test_in_order() -> None:
    """What is sent behind a notification waits until that was accepted; behind a request nothing
    waits, for its head may come with the answer.
    """
    wire = Wire(StreamableHttpClient("/mcp", [], count(1), in_order=True))
    wire.client(c2s(INITIALIZE))
    assert [(2, "POST /mcp"), (2, INITIALIZED)] == [
        *wire.client(c2s(INITIALIZED), c2s(LIST)),
        *wire.server(welcome(1, S)),
    ][-2:]
    told = wire.server(answers(2, 202, "Accepted"))
    assert [(3, "GET /mcp"), (4, "POST /mcp"), (4, LIST)] == told

    told = ask(wire, cancelled(1), request(2, "ping"))
    assert [(5, "POST /mcp"), (5, cancelled(1))] == told
    assert [(6, "POST /mcp"), (6, request(2, "ping"))] == wire.server(answers(5, 202, "Accepted"))


def test_input_end_stops_resumption() -> None:
    """At the end of the input a broken stream is not resumed."""
    wire = session()
    wire.server(stream(3), over(3))
    wire.client(hangs_up(C2S))
    wire.server(answers(4, 200, "OK"))

    assert [] == wire.at(60.0)


def test_a_second_opening() -> None:
    """A second `initialize` closes the standalone stream of the first session."""
    wire = session()
    assert [(3, "end closed"), (4, "POST /mcp?x=1"), (4, INITIALIZE)] == ask(wire, INITIALIZE)


def test_noise_and_pieces() -> None:
    """Empty lines are dropped; a line in pieces is posted as one body."""
    wire = session()
    pieces = [
        Frame(C2S, LIST[:9], b"", Fragment()),
        Frame(C2S, LIST[9:], b"\n", Fragment(last=True)),
    ]

    assert [] == ask(wire, b"", b" \r")
    assert [(4, "POST /mcp?x=1"), (4, LIST)] == wire.client(pieces)


def test_facts_pass() -> None:
    """Frames of no exchange pass; frames of unknown exchanges are dropped."""
    wire = session()

    assert [(None, "ProcessExit")] == wire.server(exits(0))
    assert [] == wire.server(json(77, response(1)))
    assert [(None, "ProcessExit")] == wire.client(fact(C2S, None, ProcessExit(0)))


def test_legacy_calls_need_no_standard_headers() -> None:
    """A legacy `tools/call` is posted without the headers of the modern era."""
    assert None is head_of(session(), call(1, "add")).header("mcp-name")
