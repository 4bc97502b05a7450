"""The revision that a message is checked against."""

from __future__ import annotations

import pytest

from mcpmock.protocol.correlation import PendingCall
from mcpmock.protocol.messages import C2S, S2C, HttpRequest, Request, parse
from mcpmock.rules.context import Phase, ServerState, State
from mcpmock.rules.exchange import CheckedExchange
from mcpmock.rules.revisions import revision_named, revision_of, revision_of_call
from tests.rules.violations import ask, initialize, welcome
from tests.support import error, request

LIST = parse(request(1, "tools/list"))
NEW = State()
BOTH_ERAS = State("streamable-http", sessionless=True, server=ServerState(modern=True))
ONE_ERA = State(
    "streamable-http", sessionless=True, server=ServerState(modern=True, only_modern=True)
)


def settled(revision: str | None, requested: str | None = None) -> State:
    return State(phase=Phase.READY, revision=revision, requested=requested)


def named(version: str) -> CheckedExchange:
    return CheckedExchange(1, HttpRequest("GET", "/mcp", [("mcp-protocol-version", version)]))


@pytest.mark.parametrize(
    ("state", "raw", "revision"),
    [
        (NEW, ask(1, "tools/list"), "2026-07-28"),
        (settled("2025-06-18"), ask(1, "tools/list"), "2026-07-28"),
        (settled("2025-06-18"), request(1, "tools/list"), "2025-06-18"),
        (settled("2026-07-28"), request(1, "tools/list"), "2025-11-25"),
        (settled("2031-01-01"), request(1, "tools/list"), None),
        (settled(None, "2025-03-26"), request(1, "tools/list"), "2025-03-26"),
        (settled(None, "1999-01-01"), request(1, "tools/list"), "2025-11-25"),
        (NEW, initialize("2025-03-26"), "2025-03-26"),
        (NEW, initialize("1999-01-01"), "2025-11-25"),
        (NEW, request(1, "tools/list"), "2025-11-25"),
        (State(server=ServerState(modern=True)), request(1, "tools/list"), "2026-07-28"),
        (State("streamable-http", sessionless=True), request(1, "tools/list"), "2025-03-26"),
        (BOTH_ERAS, request(1, "tools/list"), "2025-03-26"),
        (ONE_ERA, request(1, "tools/list"), "2026-07-28"),
    ],
)
def test_a_request(state: State, raw: bytes, revision: str | None) -> None:
    """The revision is the one it names, else the settled one, else the likeliest."""
    assert revision == revision_of(state, C2S, parse(raw), None)


def test_a_head_says_it_too() -> None:
    """Over HTTP a head names the revision, where no handshake did, and of those we know."""
    assert "2025-06-18" == revision_of(NEW, C2S, LIST, named("2025-06-18"))
    assert "2025-06-18" == revision_named(NEW, named("2025-06-18"))
    assert "2025-11-25" == revision_named(NEW, named("nonsense"))
    assert "2025-03-26" == revision_of(settled("2025-03-26"), S2C, LIST, named("2025-06-18"))


def test_what_belongs_to_a_call() -> None:
    """It has the revision of its request; the answer to `initialize` the one that it settles."""
    opened = parse(initialize("2025-03-26"))
    assert isinstance(opened, Request)
    call = PendingCall(1, C2S, opened, None)

    assert "2025-06-18" == revision_of_call(NEW, parse(welcome("2025-06-18")), call, "2025-03-26")
    assert revision_of_call(NEW, parse(welcome("2031-01-01")), call, "2025-03-26") is None
    assert "2025-03-26" == revision_of_call(NEW, parse(error(1)), call, "2025-03-26")
    assert "2025-11-25" == revision_of_call(NEW, parse(error(1)), call, None)
