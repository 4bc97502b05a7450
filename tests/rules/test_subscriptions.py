"""Notifications of modern servers."""

from __future__ import annotations

from typing import Any

import pytest

from mcpmock.protocol.messages import Frame
from mcpmock.rules import subscriptions as module
from tests.rules.violations import (
    HTTP,
    PREFIX,
    Planted,
    ask,
    asked,
    done,
    modern,
    modern_http,
    names,
)
from tests.support import c2s, cancelled, notification, opens, s2c, says

ID = f"{PREFIX}subscriptionId"
LISTEN = ask(1, "subscriptions/listen", {"notifications": {"toolsListChanged": True}})
LISTENS = c2s(LISTEN)
LOG = notification("notifications/message", {"level": "info", "data": "x"})
CALL, LEVEL = c2s(ask(2, "tools/call")), c2s(ask(2, "tools/call", logLevel="info"))


def told(kind: str = "tools/list_changed", id_: Any = 1) -> bytes:
    """A notification on a listen."""
    return notification(f"notifications/{kind}", {"_meta": {ID: id_}})


ACKNOWLEDGED: Frame = s2c(told("subscriptions/acknowledged"))
PLANTED = [
    Planted(
        "subscription-id",
        [*modern(), LISTENS, ACKNOWLEDGED, s2c(notification("notifications/tools/list_changed"))],
    ),
    Planted("subscription-unknown", [*modern(), LISTENS, ACKNOWLEDGED, s2c(told(id_="1"))]),
    Planted("subscription-unknown", [*modern(), CALL, s2c(told(id_=2))]),
    Planted("subscription-acknowledged", [*modern(), LISTENS, s2c(told())]),
    Planted(
        "subscription-unasked",
        [*modern(), LISTENS, ACKNOWLEDGED, s2c(told("prompts/list_changed"))],
    ),
    Planted("log-level", [*modern(), CALL, s2c(LOG)]),
    Planted("log-level", [*modern(), LEVEL, s2c(done(2)), s2c(LOG)]),
    Planted("log-stream", [*modern(), LISTENS, ACKNOWLEDGED, s2c(LOG)]),
    Planted(
        "log-stream",
        [
            *modern_http(),
            asked(2, LISTEN, "subscriptions/listen"),
            opens(2),
            says(2, ACKNOWLEDGED.raw),
            says(2, LOG),
        ],
        HTTP,
    ),
]


def test_a_listen() -> None:
    """A listen is acknowledged, notified of what it requested, and ended by either side."""
    listened = [*modern(), LISTENS, ACKNOWLEDGED, s2c(told()), s2c(told())]

    assert [] == names(*listened, c2s(cancelled(1)))
    assert [] == names(*listened, s2c(cancelled(1)))
    assert [] == names(*listened, s2c(done(1)))


def test_log_messages_for_whoever_set_a_level() -> None:
    """On stdio any request that is open will do."""
    assert [] == names(*modern(), CALL, c2s(ask(3, "tools/call", logLevel="debug")), s2c(LOG))


def test_the_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of very many listens the latest are remembered."""
    monkeypatch.setattr(module, "MAX_REMEMBERED", 3)
    listens = [c2s(ask(number, "subscriptions/listen", {})) for number in range(1, 9)]
    late = s2c(told("subscriptions/acknowledged", 8))

    assert [] == names(*modern(), *listens, late)
    assert ["subscription-unknown"] == names(*modern(), *listens, ACKNOWLEDGED)
