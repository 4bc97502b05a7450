"""Known deviations of the official SDKs."""

from __future__ import annotations

import pytest

from mcpmock.rules.context import State
from mcpmock.rules.known_deviations import DEVIATIONS, Deviation, find_deviation
from mcpmock.rules.specification import RULES
from tests.rules.violations import HTTP, got, opening, opening_http, posted, violations
from tests.support import answers, c2s, error, notification, opens, request, s2c, says

PYTHON = {
    "tools": {"listChanged": False},
    "resources": {"subscribe": False, "listChanged": False},
    "prompts": {"listChanged": False},
}
LOG = s2c(notification("notifications/message", {"level": "info", "data": "x"}))
UPDATED = s2c(notification("notifications/resources/updated", {"uri": "a:b"}))


@pytest.mark.parametrize("deviation", DEVIATIONS, ids=lambda one: f"{one.rule}: {one.what}")
def test_a_deviation_is_one_from_a_rule(deviation: Deviation) -> None:
    """It names a rule that there is, and reads as a sentence."""
    assert deviation.rule in {rule.name for rule in RULES}
    assert deviation.words == f"known of {deviation.of}: {deviation.what}"


def test_the_python_sdk_is_told_by_what_it_declares() -> None:
    """Its servers declare three features and nothing else, and send more; in others that is an
    error.
    """
    told = violations(*opening(server=PYTHON), LOG, UPDATED)
    others = violations(*opening(server={"tools": {}}), LOG, UPDATED)

    assert ["notice", "notice"] == [one.level.value for one in told]
    assert ["error", "error"] == [one.level.value for one in others]


def test_a_level_is_set_on_any_server() -> None:
    """Clients do so; other methods without their capability are errors."""
    asks = [c2s(request(1, "logging/setLevel", {"level": "info"})), c2s(request(2, "tools/list"))]

    assert ["notice", "error"] == [
        one.level.value for one in violations(*opening(server={}), *asks)
    ]


def test_an_error_for_nobody() -> None:
    """Python servers answer a request refused for its head with an id of their own."""
    asks = posted(3, request(1, "ping"))
    [told] = violations(
        *opening_http(), asks, answers(3, error("server-error", -32600), 400), transport=HTTP
    )

    assert ("answers-nothing", "notice") == (told.rule.name, told.level.value)


def test_events_with_nothing_in_them() -> None:
    """A blank line and an empty object are known deviations; other such messages are errors."""
    stream = [got(3), opens(3), says(3, b"{}", event="message"), says(3, b"[]", event="message")]
    told = violations(*opening_http(), *stream, transport=HTTP)
    lines = violations(*opening(), s2c(b""), s2c(b"ready"))

    assert ["notice", "error"] == [one.level.value for one in told]
    assert ["notice", "error"] == [one.level.value for one in lines]


def test_a_breach_without_a_known_deviation() -> None:
    """Most breaches have no explanation."""
    assert find_deviation("id-null", None, None, State()) is None
