"""Which conversation an exchange belongs to, over both transports."""

from __future__ import annotations

import pytest

from mcpmock.protocol.messages import S2C, ExchangeEnd, Frame, HttpRequest, HttpResponse, SseMeta
from mcpmock.protocol.transport_facts import NO_SESSION, Headers
from mcpmock.transports.session_router import SessionRouter, TransportKind
from tests.support import INITIALIZE, INITIALIZED, batch, notification, request

PING = request(1, "ping")


def streamable() -> SessionRouter:
    return SessionRouter(TransportKind.STREAMABLE_HTTP, "/mcp")


def sse() -> SessionRouter:
    return SessionRouter(TransportKind.SSE, "/sse")


def asks(
    router: SessionRouter,
    method: str = "POST",
    target: str = "/mcp",
    body: bytes = b"",
    session: str | None = None,
) -> int:
    headers = [] if session is None else [("Mcp-Session-Id", session)]
    return router.conversation(HttpRequest(method, target, headers), body)


def welcome(session: str | None) -> Frame:
    headers: Headers = [] if session is None else [("mcp-session-ID", f" {session} ")]
    return Frame(S2C, fact=HttpResponse(200, "OK", headers), exchange=1)


def opened(router: SessionRouter, session: str) -> int:
    conversation = asks(router, body=INITIALIZE)
    router.learn(conversation, [welcome(session)])
    return conversation


def endpoint(uri: str) -> list[Frame]:
    wire = f"event: endpoint\ndata: {uri}\n\n".encode()
    meta = Frame(S2C, fact=SseMeta(event="endpoint"), exchange=1)
    return [meta, Frame(S2C, uri.encode(), exchange=1, wire=wire)]


def listens(router: SessionRouter, uri: str, target: str = "/sse") -> int:
    conversation = asks(router, "GET", target)
    router.learn(conversation, [welcome(None), *endpoint(uri)])
    return conversation


def test_without_sessions() -> None:
    """Where there are no sessions an `initialize` opens none."""
    router = SessionRouter(TransportKind.STREAMABLE_HTTP, "/mcp", sessions=False)

    assert NO_SESSION == asks(router, body=INITIALIZE)


def test_paths_known_before() -> None:
    """Where messages are posted to may be known before a stream says so."""
    router = SessionRouter(TransportKind.SSE, "/sse", posts={"/messages"})

    assert [True, False] == [
        router.is_mcp(HttpRequest("POST", target, [])) for target in ("/messages?sid=1", "/m")
    ]


def test_kinds_are_called_as_in_cassettes() -> None:
    """The values are the names that a cassette's header has."""
    assert ["streamable-http", "sse"] == [kind.value for kind in TransportKind]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (INITIALIZE, 2),
        (b" \n" + INITIALIZE, 2),
        (batch(INITIALIZE), 2),
        (batch(PING, INITIALIZE), 2),
        (rb'{"id":1,"method":"initi\u0061lize"}', 2),
        (PING, 1),
        (batch(PING), 1),
        (request(1, "server/discover"), 1),
        (request(1, "tools/call", {"name": "initialize"}), 1),
        (INITIALIZED, 1),
        (notification("initialize"), 1),
        (INITIALIZE[:-1], 1),
        (b"[" + INITIALIZE, 1),
        (b"[" * 100_000, 1),
        (b"", 1),
        (b"\xff", 1),
    ],
)
def test_initialize_opens_a_conversation(body: bytes, expected: int) -> None:
    """A POST of `initialize`, alone or in a batch, opens a conversation; anything else is in 1."""
    assert expected == asks(streamable(), body=body)


@pytest.mark.parametrize(
    ("piece", "expected"), [(INITIALIZE[:-9], 2), (PING[:-1], 1), (INITIALIZE[:9], 1)]
)
def test_the_first_piece_of_a_long_one(piece: bytes, expected: int) -> None:
    """Where the rest of a body is still to come, the method has to be in what is there."""
    head = HttpRequest("POST", "/mcp", [])

    assert expected == streamable().conversation(head, piece, whole=False)


@pytest.mark.parametrize(
    ("method", "target", "session"),
    [
        ("GET", "/mcp", None),
        ("PUT", "/mcp", None),
        ("POST", "/", None),
        ("POST", "/mcp/more", None),
        ("POST", "/MCP", None),
        ("POST", "/token?to=/mcp", None),
        ("POST", "/mcp", "unknown"),
    ],
)
def test_what_opens_none(method: str, target: str, session: str | None) -> None:
    """Other methods, other paths and unknown sessions belong to conversation 1."""
    assert 1 == asks(streamable(), method, target, INITIALIZE, session)


def test_sessions() -> None:
    """Each session has its conversation, which all of its exchanges belong to."""
    router = streamable()
    first, second = opened(router, "a"), opened(router, "b")

    assert (2, 3) == (first, second)
    for method in ("POST", "GET", "DELETE"):
        assert [2, 3, 1] == [asks(router, method, session=name) for name in ("a", "b", "c")]
    assert 2 == asks(router, "POST", "/mcp?x=1", PING, "a")
    assert 2 == asks(router, "POST", "/mcp", INITIALIZE, "a")
    assert 1 == asks(router, "POST", "/other", PING, "a")
    assert 1 == asks(router, "POST", "/mcp", PING)
    assert 4 == asks(router, "POST", "/mcp", INITIALIZE, "")


def test_conversation_1_learns_nothing() -> None:
    """A session id given to somebody who opened nothing (Python servers do) is not known."""
    router = streamable()
    router.learn(1, [welcome("a")])

    assert 1 == asks(router, session="a")


def test_a_session_id_given_twice() -> None:
    """Of a server that has one session id for all, the newest conversation gets the exchanges."""
    router = streamable()
    opened(router, "a")
    opened(router, "a")
    router.learn(2, [welcome("a")])

    assert 3 == asks(router, session="a")


def test_an_initialize_without_a_session() -> None:
    """A server without sessions leaves what follows in conversation 1."""
    router = streamable()
    router.learn(asks(router, body=INITIALIZE), [welcome(None), Frame(S2C, b"{}")])

    assert 1 == asks(router, body=INITIALIZED)


def test_no_more_sessions_than_the_bound() -> None:
    """The oldest session is forgotten for a new one, and belongs to conversation 1 then."""
    router = SessionRouter(TransportKind.STREAMABLE_HTTP, "/mcp", remembered=2)
    for session in ("a", "b", "a", "c"):
        opened(router, session)

    assert [4, 1, 5] == [asks(router, session=name) for name in ("a", "b", "c")]


@pytest.mark.parametrize("router", [streamable(), sse()])
def test_is_mcp(router: SessionRouter) -> None:
    """MCP is spoken on one path, with any query and with or without a slash behind it."""
    path = router.path
    targets = [path, path + "?x=1", path + "/", path + "/x", path + "x", "/", "*", "/favicon.ico"]

    assert [True, True, True, False, False, False, False, False] == [
        router.is_mcp(HttpRequest("POST", target, [])) for target in targets
    ]


def test_the_root_as_path() -> None:
    """MCP may be spoken on the root, and is then spoken nowhere else."""
    router = SessionRouter(TransportKind.STREAMABLE_HTTP, "/")

    assert [True, True, False] == [
        router.is_mcp(HttpRequest("POST", target, [])) for target in ("/", "/?a", "/mcp")
    ]


def test_every_event_stream_is_a_conversation() -> None:
    """Over HTTP+SSE each GET opens a conversation, and a POST belongs to the one whose endpoint it
    goes to.
    """
    router = sse()
    first = listens(router, "/messages?session_id=1")
    second = listens(router, "http://127.0.0.1:9/messages?session_id=2", "/sse?x=1")

    assert (2, 3) == (first, second)
    assert [2, 3, 1, 1] == [
        asks(router, target=target, body=PING)
        for target in ("/messages?session_id=1", "/messages?session_id=2",
                       "/messages?session_id=3", "/messages")
    ]  # fmt: skip
    assert 1 == asks(router, "GET", "/messages?session_id=1")
    assert 1 == asks(router, "GET", "/favicon.ico")
    assert 1 == asks(router, "POST", "/sse", INITIALIZE)
    assert 4 == asks(router, "GET", "/sse")


def test_endpoints_are_mcp() -> None:
    """The path of an endpoint is one where MCP is spoken, once it is known."""
    router = SessionRouter(TransportKind.SSE, "/a/sse", remembered=2)
    post = HttpRequest("POST", "/a/messages/?session_id=7", [])
    assert not router.is_mcp(post)

    listens(router, "messages/?session_id=1", "/a/sse")
    listens(router, "messages/?session_id=2", "/a/sse")
    listens(router, "/other", "/a/sse")
    assert router.is_mcp(post)

    listens(router, "/another", "/a/sse")
    assert not router.is_mcp(post)
    assert 1 == router.conversation(HttpRequest("POST", "/a/messages/?session_id=2", []), PING)


def test_the_endpoint_in_two_parts() -> None:
    """The name and the data of the endpoint event may come apart, and other streams between."""
    router = sse()
    first, second = asks(router, "GET", "/sse"), asks(router, "GET", "/sse")
    meta, data = endpoint("/m?1")
    router.learn(first, [meta])
    router.learn(second, [Frame(S2C, b"/m?2")])
    router.learn(first, [data, Frame(S2C, b"/m?3")])

    assert [2, 1, 1] == [asks(router, target=target) for target in ("/m?1", "/m?2", "/m?3")]


@pytest.mark.parametrize("fact", [SseMeta(id="1"), ExchangeEnd()])
def test_an_endpoint_without_data(fact: SseMeta | ExchangeEnd) -> None:
    """An endpoint event without data names nothing."""
    router = sse()
    first = asks(router, "GET", "/sse")
    router.learn(first, [endpoint("")[0], Frame(S2C, fact=fact), Frame(S2C, b"/m")])

    assert 1 == asks(router, target="/m")


def test_an_endpoint_that_is_no_text() -> None:
    """Whatever a server calls its endpoint, nothing breaks."""
    router = sse()
    first = asks(router, "GET", "/sse")
    for raw in (b"\xff\xfe", b"", b"//[", b"\x01//["):
        router.learn(first, [endpoint("")[0], Frame(S2C, raw)])

    assert 1 == asks(router, target="/m")
