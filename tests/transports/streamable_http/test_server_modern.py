"""The server's rules of Streamable HTTP where many callers meet: the modern era, which has no
sessions.
"""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from mcpmock.protocol.messages import Frame
from mcpmock.transports.streamable_http.resumption import Resumption
from mcpmock.transports.streamable_http.server import StreamableHttpServer
from tests.support import (
    INITIALIZE,
    INITIALIZED,
    LOG,
    WELCOME,
    batch,
    cancelled,
    error,
    exits,
    notification,
    progress,
    request,
    response,
    s2c,
)
from tests.transports.serving import (
    BAD,
    LIST,
    META,
    S,
    V,
    modern,
    modern_post,
    refusal,
    server,
    session,
)
from tests.transports.wire import Wire, delete, get, leaves, post

JSON_OK = "200 application/json"
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
    """Without sessions only modern requests that agree with their headers pass."""
    assert (status, code, id_) == refusal(server(stateless=True).client(frames))


def test_modern_requests() -> None:
    """Responses have no session id, events no ids, and a stream only its caller's messages."""
    wire = server(stateless=True)
    asked = modern(1, "tools/call", {"name": "add"})
    assert [(None, asked)] == wire.client(modern_post(2, asked, "add"))
    assert [(2, "200 text/event-stream"), (2, "event"), (2, LOG)] == wire.server(s2c(LOG))
    assert [(2, "event"), (2, response(1)), (2, "end")] == wire.server(s2c(response(1)))
    assert [] == wire.server(s2c(LOG), s2c(progress(5)), s2c(response(1)))


def test_a_listener_without_sessions_takes_every_revision() -> None:
    """A legacy caller gets no session id, needs none, and gets the statuses of its revision; what
    belongs to one of several callers, nobody says to which, goes to none.
    """
    wire = server(stateless=True, sessions=False)
    assert [(None, INITIALIZE)] == wire.client(post(1, INITIALIZE))
    assert [(1, JSON_OK), (1, WELCOME), (1, "end")] == wire.server(s2c(WELCOME))
    assert [(2, "202"), (2, "end"), (None, INITIALIZED)] == wire.client(post(2, INITIALIZED))

    wire.client(post(3, LIST))
    wire.client(post(4, request(2, "a")))
    assert [] == wire.server(s2c(LOG), s2c(request(1, "roots/list")))
    assert [(3, JSON_OK), (3, error(1)), (3, "end")] == wire.server(s2c(error(1)))


def test_a_probe_needs_no_version() -> None:
    """`server/discover` passes without a version, whose absence the server reports itself."""
    probe = request("probe", "server/discover")

    assert [(None, probe)] == server(stateless=True).client(
        post(1, probe, ("Mcp-Method", "server/discover"))
    )


def test_names_are_decoded_and_trimmed() -> None:
    """Base64 names are decoded, and white space around a name is ignored."""
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
    """A closed exchange becomes a cancel, and its late answer is dropped."""
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


def test_a_cancel_that_may_be_anybodys_goes_nowhere() -> None:
    """A POSTed cancel is dropped if two callers use its id."""
    wire = server(stateless=True)
    wire.client(modern_post(2, modern(1, "a")), modern_post(3, modern(1, "b")))

    assert [(4, "202"), (4, "end")] == wire.client(post(4, cancelled(1), V))


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
