"""Which recordings several processes can replay, and what the others are refused for."""

from __future__ import annotations

import re

import pytest

from mcpmock.errors import McpMockError
from mcpmock.options.replay import Order
from mcpmock.playback.player import PlayerOptions
from mcpmock.sessions.replay import Replay
from mcpmock.sessions.workers import check_stateless
from mcpmock.transports.session_router import TransportKind
from tests.support import INITIALIZE, WELCOME, Line, c, cassette, request, s
from tests.transports.serving import modern

HTTP, SSE = TransportKind.STREAMABLE_HTTP, TransportKind.SSE
LEGACY = (c(INITIALIZE), s(WELCOME))
ASKING = (*LEGACY, s(request(1, "sampling/createMessage")))
MODERN = (c(modern(1, "tools/list")),)


def check(order: Order, kind: TransportKind, *events: Line) -> None:
    replay = Replay(cassette(*events), PlayerOptions(order=order), lambda _event: None)
    check_stateless(replay, kind)


def test_what_needs_no_session() -> None:
    """Stubs of any revision, and recordings of the one without sessions."""
    check("any", HTTP, *LEGACY)
    check("any", HTTP, *LEGACY, c(request(1, "tools/call", {"name": "sampling/createMessage"})))
    check("causal", HTTP, *MODERN)


@pytest.mark.parametrize(
    ("order", "kind", "events", "reason"),
    [
        ("causal", HTTP, LEGACY, "a revision before 2026-07-28 has sessions; add --order any"),
        ("any", SSE, LEGACY, "HTTP+SSE has sessions; add --transport streamable-http"),
        ("any", HTTP, ASKING, "in event 3 the server asks the client, whose answer may"),
    ],
)
def test_what_needs_one(order: Order, kind: TransportKind, events: list[Line], reason: str) -> None:
    """It is refused, with the option that would do."""
    with pytest.raises(
        McpMockError, match=f"^--workers: the processes share no sessions, but {re.escape(reason)}"
    ):
        check(order, kind, *events)
