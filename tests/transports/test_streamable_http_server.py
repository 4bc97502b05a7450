"""The server's rules of Streamable HTTP: what is refused, what goes on, and which exchange is
answered how.
"""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from mcpmock.protocol.messages import C2S, S2C, Fragment, Frame, HttpRequest, HttpResponse
from mcpmock.transports.resumption import Resumption
from mcpmock.transports.streamable_http_server import StreamableHttpServer
from tests.helpers import (
    INITIALIZE,
    INITIALIZED,
    LOG,
    WELCOME,
    batch,
    call,
    cancelled,
    error,
    exits,
    hangs_up,
    logs,
    notification,
    progress,
    request,
    response,
    s2c,
)

from .wire import ACCEPT, JSON, Told, Wire, delete, fact, get, leaves, post

S = ("Mcp-Session-Id", "s1")
MODERN = "2026-07-28"
V = ("MCP-Protocol-Version", MODERN)
BAD = "=?base64?w6?="
META = {"_meta": {"io.modelcontextprotocol/protocolVersion": MODERN}}
LIST = request(1, "tools/list")


def server(*, stateless: bool = False) -> Wire:
    return Wire(StreamableHttpServer("/mcp", lambda: "s1", stateless=stateless))


def session(revision: str = "2025-11-25") -> Wire:
    """A session that agreed on this revision. Exchange 1 is used up."""
    wire = server()
    wire.client(post(1, INITIALIZE.replace(b"2025-11-25", revision.encode())))
    wire.server(s2c(WELCOME.replace(b"2025-11-25", revision.encode())))
    return wire


def modern(id_: Any, method: str, params: Any = None) -> bytes:
    return request(id_, method, {**(params or {}), **META})


def modern_post(x: int, body: bytes, name: str | None = None) -> list[Frame]:
    method = json.loads(body)["method"]
    fields = [V, ("Mcp-Method", method)]
    return post(x, body, *fields, *([("Mcp-Name", name)] if name is not None else []))


def refusal(told: list[Told]) -> tuple[int, int, Any]:
    """Status, code and id of a refusal that is all that came."""
    assert [2] * 3 == [x for x, _ in told]
    head, body, end = (what for _, what in told)
    assert "end" == end
    value = json.loads(body)
    return int(str(head).split()[0]), value["error"]["code"], value["id"]


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
    """What breaks the rules of a session is refused, and nothing of it goes on."""
    assert (status, code, None) == refusal(session().client(frames))


STATELESS = (
    ("a legacy request", post(2, LIST), 400, -32000, None),
    ("a legacy request of some session", post(2, LIST, S), 404, -32001, None),
    ("an initialize of some session", post(2, INITIALIZE, S), 404, -32001, None),
    ("a legacy notification", post(2, INITIALIZED), 400, -32000, None),
    ("GET", get(2, S), 405, -32000, None),
    ("DELETE", delete(2, S), 405, -32000, None),
    ("a batch", post(2, batch(modern(1, "tools/list"))), 400, -32600, None),
    ("an answer", post(2, response(1), V), 400, -32600, None),
    ("no headers", post(2, modern(1, "tools/list")), 400, -32020, 1),
    ("no method", post(2, modern("a", "tools/list"), V), 400, -32020, "a"),
    ("no name", modern_post(2, modern(1, "tools/call", {"name": "add"})), 400, -32020, 1),
    ("wrong name", modern_post(2, modern(1, "tools/call", {"name": "add"}), "ADD"), 400, -32020, 1),
    ("no base64", modern_post(2, modern(1, "prompts/get", {"name": "é"}), BAD), 400, -32020, 1),
)  # fmt: skip


@pytest.mark.parametrize(
    ("frames", "status", "code", "id_"), [r[1:] for r in STATELESS], ids=[r[0] for r in STATELESS]
)
def test_refused_without_sessions(frames: list[Frame], status: int, code: int, id_: Any) -> None:
    """Where no session is, only what is modern and agrees with its headers passes."""
    assert (status, code, id_) == refusal(server(stateless=True).client(frames))


def test_405_says_what_is_allowed() -> None:
    """The refusal of a method names those that are taken."""
    for stateless, allowed in ((True, "POST"), (False, "POST, GET, DELETE")):
        options = fact(C2S, 1, HttpRequest("OPTIONS", "/mcp", []))
        [[head, *_]] = server(stateless=stateless).pipeline.enter([options], 0.0)

        assert isinstance(head.fact, HttpResponse)
        assert (405, allowed) == (head.fact.status, head.fact.header("allow"))


@pytest.mark.parametrize(
    "accept", ["*/*", "application/*, text/*", "text/event-stream;q=1,application/json", None]
)
def test_accept_is_read_kindly(accept: str | None) -> None:
    """Ranges, parameters, and no Accept at all: the client takes both kinds."""
    fields = [JSON, S] + ([] if accept is None else [("Accept", accept)])

    assert [(None, LIST)] == session().client(post(2, LIST, *fields, plain=True))


def test_opening() -> None:
    """The answer to `initialize` carries a new session id, and so does everything after it."""
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
    """Line breaks of a pretty-printed body and a mark at its start have no place on a line."""
    body = b'\xef\xbb\xbf{\r\n"jsonrpc": "2.0",\n"id": 1,\r"method": "ping"}\n'
    line = b'{ "jsonrpc": "2.0", "id": 1, "method": "ping"}'

    assert [(None, line)] == session().client(post(2, body, S))


def test_bodies_in_pieces() -> None:
    """A long body is put together; one that is too long to hold is refused."""
    wire = session()
    head, whole = post(2, LIST, S)

    def piece(raw: bytes, *, last: bool) -> Frame:
        return Frame(C2S, raw, b"", Fragment(last=last), 2)

    assert [] == wire.client(head, piece(whole.raw[:10], last=False))
    assert [(None, LIST)] == wire.client(piece(whole.raw[10:], last=True))
    assert [] == wire.client(head, *[piece(bytes(1 << 20), last=False)] * 65)
    assert (2, "413 application/json") == wire.client(piece(b"", last=True))[0]


def test_an_answer_alone_is_json() -> None:
    """What begins with the answer is no stream."""
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
    """Ids on all events, and an event with nothing but an id first, where the revision has that."""
    wire = session(revision)
    wire.client(post(2, LIST, S))
    told = wire.server(s2c(LOG)) + wire.server(s2c(response(1)))

    expected = ["200 text/event-stream", *STREAMED[revision], response(1), "end"]
    assert expected == [what for _, what in told]
    assert {2} == {x for x, _ in told}


def test_batches() -> None:
    """Answered at once a batch is one JSON body; else a stream that ends with the last answer."""
    asked = batch(request(1, "a"), request(2, "b"))
    together = batch(response(2), response(1))
    wire = session("2025-03-26")

    assert [(None, asked)] == wire.client(post(2, asked, S))
    assert [(2, "200 application/json"), (2, together), (2, "end")] == wire.server(s2c(together))
    wire.client(post(3, asked, S))
    assert response(2) == wire.server(s2c(response(2)))[-1][1]
    assert [(3, "event 3-2"), (3, response(1)), (3, "end")] == wire.server(s2c(response(1)))


def test_a_batch_for_several_is_taken_apart() -> None:
    """Answers that a server puts together go each to its own caller."""
    wire = session()
    wire.client(post(2, request(1, "a"), S))
    wire.client(post(3, request(2, "b"), S))
    told = wire.server(s2c(batch(response(2), response(1))))

    assert [(3, response(2)), (2, response(1))] == [
        one for one in told if isinstance(one[1], bytes)
    ]


def test_the_standing_stream() -> None:
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
    """Of a thousand and five messages that nobody takes the last thousand are kept."""
    wire = session()
    for number in range(1005):
        wire.server(s2c(notification("n", {"i": number})))
    told = [what for _, what in wire.client(get(2, S)) if isinstance(what, bytes)]

    assert (1000, notification("n", {"i": 5})) == (len(told), told[0])


def test_whose_is_what() -> None:
    """Progress by its token; the rest to the only request, else to the GET, else to the oldest."""
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
    """Banners and empty lines of a server on stdio are no messages; its stderr goes by."""
    assert [] == session().server(s2c(b"Server ready!"), s2c(b""))
    assert [(None, "Stderr")] == session().server(logs("ready"))


def test_a_disconnect_says_nothing_in_a_session() -> None:
    """The request goes on; its answer has nobody to go to, and is nobody else's."""
    wire = session()
    wire.client(post(2, LIST, S), get(3, S))

    assert [] == wire.client(leaves(2))
    assert [] == wire.server(s2c(response(1)))
    assert [(None, request(1, "b"))] == wire.client(post(4, request(1, "b"), S))


def test_a_body_that_never_came() -> None:
    """A client that leaves in the middle of its request has not said anything."""
    assert [] == session().client(post(2, LIST, S)[:1], leaves(2))


def test_delete() -> None:
    """The session ends: streams close, the server is told once, and nobody comes in again."""
    wire = session()
    wire.client(get(2, S), post(3, LIST, S))

    assert [(4, "200"), (4, "end"), (2, "end"), (None, "StreamEnd")] == wire.client(delete(4, S))
    assert (3, response(1)) in wire.server(s2c(response(1)))
    assert (404, -32001, None) == refusal(wire.client(post(2, LIST, S)))
    assert [] == wire.client(hangs_up(C2S))


def test_the_server_ends() -> None:
    """Streams end, requests without an answer are told why, and the session is gone."""
    wire = session("2025-03-26")
    wire.client(get(2, S), post(3, request(1, "a", token=1), S), post(4, batch(LIST, LIST), S))
    wire.client(post(5, request(9, "b"), S))
    wire.server(s2c(progress(1)))
    told = wire.server(exits(1))

    assert [(2, "end"), (3, "end"), (4, "502 application/json")] == told[:3]
    assert (None, "ProcessExit") == told[-1]
    errors = [json.loads(what) for _, what in told if isinstance(what, bytes)]
    assert [1, 1] == [one["id"] for one in errors[0]]
    assert (9, -32000) == (errors[1]["id"], errors[1]["error"]["code"])
    assert (404, -32001, None) == refusal(wire.client(post(2, LIST, S)))


def test_modern_requests() -> None:
    """No session, no ids on events, and only what belongs to the caller on its stream."""
    wire = server(stateless=True)
    asked = modern(1, "tools/call", {"name": "add"})
    assert [(None, asked)] == wire.client(modern_post(2, asked, "add"))
    assert [(2, "200 text/event-stream"), (2, "event"), (2, LOG)] == wire.server(s2c(LOG))
    assert [(2, "event"), (2, response(1)), (2, "end")] == wire.server(s2c(response(1)))
    assert [] == wire.server(s2c(LOG), s2c(progress(5)), s2c(response(1)))


def test_a_probe_needs_no_version() -> None:
    """`server/discover` is modern by its name; what it lacks the server says itself."""
    probe = request("probe", "server/discover")

    assert [(None, probe)] == server(stateless=True).client(
        post(1, probe, ("Mcp-Method", "server/discover"))
    )


def test_names_are_decoded_and_trimmed() -> None:
    """Base64 for what is no plain ASCII; white space around a value counts for nothing."""
    wire = server(stateless=True)
    for x, (name, field) in enumerate((("café", "=?base64?Y2Fmw6k=?="), ("a b", "  a b\t"))):
        asked = modern(x, "tools/call", {"name": name})

        assert [(None, asked)] == wire.client(modern_post(x, asked, field))


STATUSES = {-32601: 404, -32602: 400, -32020: 400, -32021: 400, -32022: 400, -32603: 200, -1: 200}


@pytest.mark.parametrize(("code", "status"), STATUSES.items())
def test_modern_errors_have_a_status(code: int, status: int) -> None:
    """In the modern era some errors show in the status, unless the stream has begun; in a session
    none does.
    """
    for wire, asked, expected in (
        (server(stateless=True), modern_post(2, modern(1, "a")), status),
        (session(), post(2, LIST, S), 200),
    ):
        wire.client(asked)

        assert (2, f"{expected} application/json") == wire.server(s2c(error(1, code)))[0]


def test_modern_disconnect_is_cancel() -> None:
    """To close the exchange is to cancel; a late answer goes nowhere."""
    wire = server(stateless=True)
    wire.client(modern_post(2, modern(1, "a")), modern_post(3, modern(1, "b")))

    assert [(None, cancelled("mcpmock-1"))] == wire.client(leaves(3))
    assert [(None, cancelled(1))] == wire.client(leaves(2))
    assert [] == wire.server(s2c(response(1)), s2c(response("mcpmock-1")), s2c(LOG))


def test_callers_do_not_meet() -> None:
    """An id and a token that another caller is using are replaced on the way on and put back on the
    way out.
    """
    wire = server(stateless=True)
    asked = request(1, "a", {"_meta": {**META["_meta"], "progressToken": 1}})
    wire.client(modern_post(2, asked))
    [(_, changed)] = wire.client(modern_post(3, asked))

    assert isinstance(changed, bytes)
    sent = json.loads(changed)
    id_, token = sent["id"], sent["params"]["_meta"]["progressToken"]
    assert (3, progress(1)) == wire.server(s2c(progress(token)))[-1]
    assert (2, progress(1)) == wire.server(s2c(progress(1)))[-1]
    assert [(3, response(1)), (3, "end")] == wire.server(s2c(response(id_)))[-2:]
    assert [(2, response(1)), (2, "end")] == wire.server(s2c(response(1)))[-2:]


def test_listening() -> None:
    """What carries a subscription's id goes to that listener, in its own words; what does not goes
    to somebody who asks for something; and the server may end it by a cancel.
    """
    wire = server(stateless=True)
    listen = modern(1, "subscriptions/listen")
    wire.client(modern_post(2, listen), modern_post(3, listen))

    def tagged(id_: Any) -> bytes:
        meta = {"_meta": {"io.modelcontextprotocol/subscriptionId": id_}}
        return notification("notifications/tools/list_changed", meta)

    assert (3, tagged(1)) == wire.server(s2c(tagged("mcpmock-1")))[-1]
    assert (2, tagged(1)) == wire.server(s2c(tagged(1)))[-1]
    assert [] == wire.server(s2c(tagged(2)))
    wire.client(modern_post(4, modern(5, "a")))
    assert 4 == wire.server(s2c(LOG))[-1][0]
    assert [(2, cancelled(1)), (2, "end")] == wire.server(s2c(cancelled(1)))[-2:]
    assert (4, LOG) == wire.server(s2c(LOG))[-1]


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


def test_a_cancel_that_may_be_anybodys_goes_nowhere() -> None:
    """Where two callers use one id, a POSTed cancel of it could hit the wrong one."""
    wire = server(stateless=True)
    wire.client(modern_post(2, modern(1, "a")), modern_post(3, modern(1, "b")))

    assert [(4, "202"), (4, "end")] == wire.client(post(4, cancelled(1), V))


def test_a_tool_call_in_a_session_needs_no_header() -> None:
    """The standard headers are the modern era's."""
    assert [(None, call(1, "add"))] == session().client(post(2, call(1, "add"), S))


def test_facts_pass() -> None:
    """The end of the wire is passed on, once."""
    wire = session()

    assert [(None, "StreamEnd")] == wire.client(hangs_up(C2S), hangs_up(C2S))
    assert [(None, "StreamEnd")] == wire.server(hangs_up(S2C))


@pytest.mark.parametrize("seed", range(60))
def test_any_mix_gives_whole_exchanges(seed: int) -> None:
    """Callers come, ask and leave as they like, a server says what it likes: each response has one
    head first and one end last, and nothing comes for who has left or never was.
    """
    dice = random.Random(seed)
    stateless = seed % 2 == 0
    rules = StreamableHttpServer("/mcp", lambda: "s1", stateless=stateless)
    wire = Wire(*[Resumption()] * (seed % 3 == 0), rules)
    told = wire.client(post(1, INITIALIZE)) + wire.server(s2c(WELCOME))
    left: dict[int, int] = {}
    for x in range(2, 60):
        asked = [dice.randrange(6) for _ in range(dice.choice([1, 1, 1, 2]))]
        raws = [modern(n, dice.choice(["a", "subscriptions/listen"])) for n in asked]
        body = raws[0] if len(raws) == 1 else batch(*raws)
        told += wire.client(dice.choice([modern_post(x, raws[0]), post(x, body, S), get(x, S)]))
        if dice.random() < 0.4 and (gone := dice.randrange(2, x + 1)) not in left:
            left[gone] = len(told)
            told += wire.client(leaves(gone))
        number = dice.choice([*range(6), *(f"mcpmock-{n}" for n in range(1, 9))])
        said = [response(number), LOG, progress(number), cancelled(number), error(number, -32601)]
        told += wire.server(s2c(dice.choice([*said, batch(*dice.sample(said, 2))])))
    told += wire.server(exits(0))

    for x in range(1, 60):
        mine = [what for who, what in told if who == x and not isinstance(what, bytes)]
        heads = [what for what in mine if str(what)[:3].isdigit()]
        if x in left:
            seen_later = [what for who, what in told[left[x] :] if who == x]
            assert [] == [w for w in seen_later if w != "end closed"]
            continue
        assert (heads, ["end"]) == (mine[:1], [w for w in mine if w == "end"])
        assert "end" == mine[-1]
