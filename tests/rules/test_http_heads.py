"""Heads of Streamable HTTP."""

from __future__ import annotations

from typing import Any

import pytest

from mcpmock.protocol.messages import C2S, S2C, Frame, HttpBody, HttpRequest
from mcpmock.protocol.methods import LATEST
from mcpmock.rules.context import ServerState
from tests.rules.violations import (
    HINTS,
    HTTP,
    Planted,
    Step,
    ask,
    asked,
    discovered,
    done,
    got,
    initialize,
    modern_http,
    names,
    opening_http,
    posted,
    violations,
    welcome,
)
from tests.support import (
    INITIALIZED,
    accepts,
    answers,
    bodiless,
    ends,
    error,
    get,
    notification,
    opens,
    post,
    replies,
    request,
    response,
    says,
)

HEAD: Any = {"session": "s-1", "mcp_protocol_version": "2025-11-25"}
ACCEPTED = Frame(S2C, b"Accepted", fact=HttpBody(), exchange=3)
PING, PONG = request(1, "ping"), response(1)
ROOTS = notification("notifications/roots/list_changed")


def pinged(version: str | None = "2025-11-25", **fields: Any) -> list[Step]:
    """A request in exchange 3 and its answer."""
    return [posted(3, PING, version, **fields), answers(3, PONG)]


def deleted(x: int, status: int = 200) -> list[Step]:
    """The session is ended by its client."""
    return [bodiless(x, "DELETE", **HEAD), accepts(x, status)]


def opened(revision: str = "2025-11-25", *steps: Step, rule: str, of: int = 2) -> Planted:
    return Planted(rule, [*opening_http(revision), *steps], HTTP, of)


CALL = ask(1, "tools/call", {"name": "dig"})
READ = ask(1, "resources/read", {"uri": "file:///\u2603"})
WRAPPED = "=?base64?ZmlsZTovLy/imIM=?="


def called(raw: bytes = CALL, method: str = "tools/call", **fields: Any) -> list[Step]:
    heads = {"name": "dig", **fields}
    return [*modern_http(), asked(2, raw, method, **heads)]


def refused(code: int, status: int, raw: bytes = CALL) -> list[Step]:
    return [*called(raw), answers(2, error(1, code), status)]


BARE = CALL.replace(b"io.modelcontextprotocol/protocolVersion", b"version")


LISTING = [asked(2, ask(1, "tools/list"), "tools/list"), answers(2, done(1, HINTS))]
TOLD = [asked(2, notification("vendor/note"), "vendor/note")]
PAGE = Frame(S2C, b"Accepted", fact=HttpBody(), exchange=2)
PLANTED = [
    opened("2025-03-26", *pinged(None, accept="application/json"), rule="accept"),
    opened("2025-11-25", *pinged(accept="text/event-stream"), rule="accept"),
    Planted(
        "accept",
        [*modern_http(), asked(2, ask(1, "tools/list"), "tools/list", accept="text/html")],
        HTTP,
    ),
    opened("2025-11-25", bodiless(3, "GET", **HEAD), opens(3), rule="accept-get"),
    opened("2025-11-25", posted(3, ROOTS), accepts(3, 200), rule="accepted-status"),
    opened("2025-11-25", posted(3, ROOTS), replies(3, 202), ACCEPTED, rule="accepted-body"),
    opened("2025-06-18", *pinged("2025-06-18")[:1], accepts(3, 204), rule="answer-type"),
    opened("2025-11-25", *pinged()[:1], accepts(3, 202), rule="answer-type"),
    opened("2025-11-25", got(3), replies(3, 200, "application/json"), ends(3), rule="get-type"),
    Planted(
        "session-characters",
        [post(1, initialize()), answers(1, welcome(), mcp_session_id="s 1")],
        HTTP,
        2,
    ),
    opened("2025-11-25", *deleted(3), posted(4, PING), accepts(4, 500), rule="session-ended"),
    opened("2025-11-25", *pinged()[:1], accepts(3, 404), got(4), rule="session-lost"),
    opened(
        "2025-06-18",
        *pinged("2025-06-18")[:1],
        accepts(3, 404),
        got(4, "2025-06-18"),
        rule="session-lost",
    ),
    opened("2025-06-18", *pinged(None), rule="version-missing"),
    opened("2025-11-25", got(3, None), accepts(3, 405), rule="version-missing"),
    opened("2025-11-25", *pinged("2025-06-18"), rule="version-differs"),
    Planted("version-invalid", pinged("latest"), HTTP, 2),
    Planted("accepted-status", [*modern_http(), *TOLD[:1], accepts(2, 200)], HTTP),
    Planted("accepted-body", [*modern_http(), *TOLD[:1], replies(2, 202), PAGE], HTTP),
    Planted("answer-type", [*modern_http(), LISTING[0], accepts(2, 202)], HTTP),
    Planted(
        "session-minted",
        [*modern_http(), LISTING[0], answers(2, done(1, HINTS), mcp_session_id="s-9")],
        HTTP,
    ),
    Planted(
        "get-modern",
        [*modern_http(), get(2, mcp_protocol_version=LATEST), opens(2)],
        HTTP,
    ),
    Planted("header-version", called(mcp_protocol_version=None), HTTP),
    Planted("header-version-match", called(mcp_protocol_version="2025-11-25"), HTTP),
    Planted("header-method", called(mcp_method=None), HTTP),
    Planted("header-method-match", called(method="tools/list"), HTTP),
    Planted("header-name", called(name=None), HTTP),
    Planted("header-name-match", called(name="Dig"), HTTP),
    Planted("header-name-match", called(READ, "resources/read", name="file:///"), HTTP),
    Planted(
        "header-accepted",
        [*called(name="Dig"), answers(2, done(1))],
        HTTP,
        also=("header-name-match",),
    ),
    Planted("status-not-found", refused(-32601, 200), HTTP),
    Planted("status-bad-request", refused(-32020, 200), HTTP),
    Planted("status-bad-request", refused(-32021, 403), HTTP),
    Planted(
        "status-meta",
        refused(-32602, 200, BARE),
        HTTP,
        also=("meta-required",),
    ),
]


def test_a_request_without_the_session_id() -> None:
    """A server that gives out session ids wants to see them; a modern request needs none."""
    server = ServerState()
    violations(*opening_http(), transport=HTTP, server=server)
    stray = [post(9, PING, mcp_protocol_version="2025-11-25"), accepts(9, 400)]
    [told] = violations(*stray, transport=HTTP, sessionless=True, server=server)
    probe = asked(10, ask("opening", "server/discover"), "server/discover")

    assert ("session-missing", "error") == (told.rule.name, told.level.value)
    assert [] == violations(
        probe, answers(10, discovered()), transport=HTTP, sessionless=True, server=server
    )


def test_a_question_in_the_handshake() -> None:
    """It came before the revision: its answer need not name it, others must."""
    begun = [post(1, initialize()), opens(1, mcp_session_id="s-1")]
    begun += [says(1, request(7, "ping")), says(1, welcome()), [ends(1)]]
    begun += [posted(2, INITIALIZED), accepts(2)]
    for id_, told in ((7, []), (8, ["version-missing", "answers-nothing"])):
        late = [posted(3, response(id_), None), accepts(3)]
        assert told == names(*begun, *late, transport=HTTP)


def test_a_handshake_that_no_client_can_read() -> None:
    """Behind an answer in HTML the client knows no revision."""
    head = replies(1, 200, "text/html", mcp_session_id="s-1")
    answer = [[head, *says(1, welcome()), ends(1)]]
    begun = [post(1, initialize()), *answer]
    end = [bodiless(2, "DELETE", session="s-1"), accepts(2, 200)]

    assert ["answer-type"] == names(*begun, *end, transport=HTTP)


@pytest.mark.parametrize(
    ("fields", "rules"),
    [
        (["application/json", "text/event-stream"], []),
        (["Text/Event-Stream;q=0.5,application/json"], []),
        (["application/*, text/*"], []),
        (["*/*;q=0.1"], []),
        (["application/json-seq, text/event-stream"], ["accept"]),
        (["application/json", "text/*, image/png"], []),
        (["text/event-stream", "text/html"], ["accept"]),
        ([""], ["accept"]),
    ],
)
def test_what_is_accepted(fields: list[str], rules: list[str]) -> None:
    """Each type is in one of the fields, by itself or in a range."""
    head, body = posted(3, PING, accept=None)
    assert isinstance(head.fact, HttpRequest)
    more = [("accept", field) for field in fields]
    whole = Frame(C2S, fact=HttpRequest("POST", "/mcp", [*head.fact.headers, *more]), exchange=3)

    assert rules == names(*opening_http(), whole, body, answers(3, response(1)), transport=HTTP)


def test_a_session_from_end_to_end() -> None:
    """A session is opened, used and deleted; later requests get a 404."""
    used = [*pinged(), got(4), opens(4), posted(5, ROOTS), accepts(5), *deleted(6)]
    late = [posted(7, request(2, "ping")), accepts(7, 404), *deleted(8, 404)]

    assert [] == names(*opening_http(), *used, *late, transport=HTTP)


def test_servers_may_refuse() -> None:
    """A server may answer 405 to a GET and a DELETE, and 4xx to a message."""
    refused = [got(3), accepts(3, 405), posted(4, ROOTS), accepts(4, 400), *deleted(5, 405)]

    assert [] == names(*opening_http(), *refused, transport=HTTP)


def test_a_400_for_a_session_that_is_over_is_known() -> None:
    """It is a notice that names the server."""
    late = [*deleted(3), posted(4, PING), accepts(4, 400)]
    [told] = violations(*opening_http(), *late, transport=HTTP)

    assert ("session-ended", "notice") == (told.rule.name, told.level.value)


def test_the_body_may_be_noted_behind_the_answer() -> None:
    """The body of a POST may be recorded after the head of its response."""
    head, body = posted(3, ROOTS)
    answer = accepts(3, 200)

    assert ["accepted-status"] == names(
        *opening_http(), head, answer[0], body, answer[1], transport=HTTP
    )


def test_browsers_ask_first() -> None:
    """The OPTIONS of a browser has none of the fields."""
    asks: list[Step] = [*opening_http(), bodiless(3, "OPTIONS"), accepts(3, 204)]

    assert [] == names(*asks, transport=HTTP)


def test_other_paths_have_other_rules() -> None:
    """Metadata and tokens are none of the protocol's."""
    other = [
        bodiless(3, "GET", to="/.well-known/oauth-protected-resource"),
        answers(3, b'{"issuer":"x"}'),
        post(4, b"grant_type=code", to="/token", accept="*/*"),
        answers(4, b'{"access_token":"x"}'),
    ]

    assert [] == names(*modern_http(), *other, transport=HTTP, sessionless=True)


def test_a_server_of_both_eras_may_stream_to_a_get() -> None:
    """A server that supports legacy revisions too may answer a GET as they do."""
    both = discovered().replace(
        b'["%b"]' % LATEST.encode(), b'["%b","2025-11-25"]' % LATEST.encode()
    )
    asks = [asked(1, ask("opening", "server/discover"), "server/discover"), answers(1, both)]
    stream = [get(2, mcp_protocol_version=LATEST), opens(2)]

    assert [] == names(*asks, *stream, transport=HTTP, sessionless=True)


def test_what_is_no_ascii_is_wrapped() -> None:
    """A name in a Base64 wrapper is compared unwrapped."""
    asks = called(READ, "resources/read", name=WRAPPED)

    assert [] == names(*asks, answers(2, done(1, HINTS)), transport=HTTP, sessionless=True)


def test_what_was_redacted_is_not_compared() -> None:
    """A redacted value cannot be compared."""
    asks = called(READ, "resources/read", name="mcpmock:secret:token:1")

    assert [] == names(*asks, transport=HTTP, sessionless=True)


def test_errors_with_their_statuses() -> None:
    """A refusal has the status 400 or 404, a tool's own error 200."""
    fine = [(-32601, 404), (-32020, 400), (-32602, 200), (-32603, 200)]

    for code, status in fine:
        assert [] == names(*refused(code, status), transport=HTTP, sessionless=True)


def test_the_legacy_era_repeats_nothing() -> None:
    """Its heads have no such fields."""
    asks = posted(3, b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"dig"}}')

    assert [] == names(*opening_http(), asks, answers(3, error(1, -32601)), transport=HTTP)
