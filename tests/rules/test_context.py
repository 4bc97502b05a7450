"""The context of a message, and the state of a conversation."""

from __future__ import annotations

from typing import Any

import pytest

from mcpmock.protocol.correlation import Attribution, PendingCall
from mcpmock.protocol.messages import C2S, S2C, parse
from mcpmock.rules.context import CheckedMessage, State, as_object, declared, short
from mcpmock.rules.exchange import MAX_REMEMBERED
from tests.support import error, notification, request, response


def checked_message(raw: bytes, attribution: Attribution | None = None) -> CheckedMessage:
    return CheckedMessage(S2C, parse(raw), raw, attribution or Attribution(), None)


def test_members() -> None:
    """Each type of message has its own members; one that is not an object is empty."""
    asked = request(1, "tools/call", {"name": "dig", "_meta": {"a": 1}})
    call = PendingCall(1, C2S, parse(asked), None)  # type: ignore[arg-type]

    assert {"a": 1} == checked_message(asked).meta
    assert {} == checked_message(notification("x", [1])).params
    assert (None, None, {}) == (
        checked_message(asked).result,
        checked_message(asked).error,
        checked_message(asked).call_params,
    )
    assert {"b": 2} == checked_message(response(1, {"b": 2})).result
    assert -5 == checked_message(error(1, -5)).code
    assert (
        "dig" == checked_message(response(1), Attribution("tools/call", call)).call_params["name"]
    )


@pytest.mark.parametrize(
    ("capabilities", "there"),
    [
        (None, True),
        ({}, False),
        ({"a": None}, False),
        ({"a": {}}, False),
        ({"a": True}, False),
        ({"a": {"b": False}}, False),
        ({"a": {"b": {}}}, True),
        ({"a": {"b": True}}, True),
    ],
)
def test_declared(capabilities: Any, there: bool) -> None:
    """A path of names; without a declaration every capability counts as declared."""
    assert there is declared(capabilities, "a.b")


def test_once() -> None:
    """Each key is true once; beyond the bound none is."""
    state = State()

    assert [True, False, True] == [state.once(what) for what in "aab"]
    assert MAX_REMEMBERED - 2 == sum(
        state.once(str(number)) for number in range(2 * MAX_REMEMBERED)
    )


def test_short() -> None:
    """A value from the wire is decoded leniently and shortened."""
    assert ("\ufffd", "a", 60) == (short(b"\xff"), short("a"), len(short("a" * 1000)))
    assert {} == as_object([1])
