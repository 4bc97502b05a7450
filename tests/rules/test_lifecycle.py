"""The handshake of the legacy era."""

from __future__ import annotations

from mcpmock.protocol.messages import Frame
from mcpmock.protocol.methods import LATEST
from tests.rules.violations import (
    SSE,
    Planted,
    ask,
    got,
    initialize,
    names,
    opening,
    opening_http,
    opening_sse,
    posted,
    violations,
    welcome,
)
from tests.support import INITIALIZED, accepts, c2s, error, post, request, response, s2c

LIST, ROOTS = request(1, "tools/list"), request(1, "roots/list")
EMPTY = request("opening", "initialize", {"protocolVersion": "2025-11-25"})
PLANTED = [
    Planted("handshake-first", [c2s(LIST)]),
    Planted(
        "handshake-first", [*opening_sse()[:3], post(2, LIST, to="/messages"), accepts(2)], SSE, 2
    ),
    Planted("handshake-twice", [*opening(), c2s(initialize(id_=2))]),
    Planted("request-before-answer", [c2s(initialize()), c2s(LIST)]),
    Planted("request-before-initialized", [*opening()[:2], s2c(ROOTS)]),
    Planted("initialized-missing", [*opening()[:2], c2s(LIST)]),
    Planted("initialize-params", [c2s(EMPTY), s2c(welcome()), c2s(INITIALIZED)]),
    Planted(
        "initialize-result",
        [c2s(initialize()), s2c(response("opening", {"protocolVersion": "2025-11-25"}))],
    ),
    Planted("handshake-modern", [c2s(initialize()), s2c(welcome(LATEST)), c2s(INITIALIZED)]),
]


def test_a_ping_is_always_welcome() -> None:
    """Both sides may ping before the handshake is over, and the server may log."""
    pings = [c2s(request(7, "ping")), s2c(response(7)), s2c(request(7, "ping")), c2s(response(7))]
    asks, answers, done = opening()

    assert [] == names(*pings, asks, *_renamed(pings, 8), answers, *_renamed(pings, 9), done)


def _renamed(frames: list[Frame], id_: int) -> list[Frame]:
    return [Frame(f.direction, f.raw.replace(b"7", b"%d" % id_)) for f in frames]


def test_a_client_may_ask_which_era_it_is() -> None:
    """A probe with `server/discover` that a legacy server refuses is followed by `initialize`, and
    all is as if it had not been.
    """
    probe = ask(1, "server/discover")

    assert [] == names(c2s(probe), s2c(error(1, -32601)), *opening(), c2s(request(2, "ping")))
    assert [] == names(c2s(probe), s2c(error(1, -32602)), *opening(), c2s(request(2, "ping")))


def test_what_was_refused_may_be_tried_again() -> None:
    """After an error there was no handshake."""
    refused = [c2s(initialize()), s2c(error("opening"))]
    again = [c2s(initialize(id_=2)), s2c(welcome().replace(b'"opening"', b"2")), c2s(INITIALIZED)]

    assert [] == names(*refused, *again, c2s(LIST))


def test_it_is_told_once() -> None:
    """A missing `initialized` is reported at the first request."""
    asks = [c2s(request(number, "tools/list")) for number in range(5)]

    assert ["initialized-missing"] == names(*opening()[:2], *asks)


def test_initialized_may_cross_a_request_over_http() -> None:
    """Two connections have no order; a second request without it is one too many."""
    asks = [posted(x, request(x, "tools/list")) for x in (5, 6, 7)]

    assert [] == names(*opening_http()[:2], *asks[:1], transport="streamable-http")
    assert ["initialized-missing"] == names(*opening_http()[:2], *asks, transport="streamable-http")


def test_a_session_may_be_older_than_its_recording() -> None:
    """A session with an id may have begun before the recording."""
    assert [] == names(posted(1, LIST), got(2), transport="streamable-http")


def test_an_unknown_revision_is_not_checked() -> None:
    """After an answer that settles an unknown revision no rule is checked."""
    late = [c2s(initialize("2031-01-01")), s2c(welcome("2031-01-01")), c2s(INITIALIZED)]

    assert [] == names(*late, c2s(request(None, "ping")))


def test_the_revision_is_the_one_that_was_settled() -> None:
    """The revision in the server's answer counts, not the one that the client requested."""
    opened = [c2s(initialize("1999-01-01")), s2c(welcome("2025-03-26")), c2s(INITIALIZED)]
    [told] = violations(*opened, s2c(request(1, "elicitation/create", {})))

    assert ("2025-03-26", "method-revision") == (told.revision, told.rule.name)
    assert [] == names(*opening_http(), transport="streamable-http")


def test_an_answer_that_is_nested_too_deep() -> None:
    """What it declares is read besides."""
    asks, answers, done = opening()
    deep = b"[" * 20_000 + b"]" * 20_000
    answers = s2c(answers.raw.replace(b'"result":{', b'"result":{"deep":' + deep + b","))

    assert [] == names(asks, answers, done, c2s(LIST), s2c(response(1, {"tools": []})))
