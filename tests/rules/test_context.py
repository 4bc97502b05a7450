"""What is known of a message, and of a conversation."""

from __future__ import annotations

from typing import Any

import pytest

from mcpmock.protocol.correlation import Attribution, PendingCall
from mcpmock.protocol.messages import C2S, S2C, parse
from mcpmock.rules.context import CheckedMessage, State, as_object, declared, short
from mcpmock.rules.exchange import MOST
from tests.support import error, notification, request, response


def heard(raw: bytes, note: Attribution | None = None) -> CheckedMessage:
    return CheckedMessage(S2C, parse(raw), raw, note or Attribution(), None)


def test_members() -> None:
    """Each kind has its own; what is no object is an empty one."""
    asked = request(1, "tools/call", {"name": "dig", "_meta": {"a": 1}})
    call = PendingCall(1, C2S, parse(asked), None)  # type: ignore[arg-type]

    assert {"a": 1} == heard(asked).meta
    assert {} == heard(notification("x", [1])).params
    assert (None, None, {}) == (heard(asked).result, heard(asked).error, heard(asked).asked)
    assert {"b": 2} == heard(response(1, {"b": 2})).result
    assert -5 == heard(error(1, -5)).code
    assert "dig" == heard(response(1), Attribution("tools/call", call)).asked["name"]


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
    """A path of names; of what nobody has seen nothing is missing."""
    assert there is declared(capabilities, "a.b")


def test_once() -> None:
    """A thing is said once, and of very many things none any more."""
    state = State()

    assert [True, False, True] == [state.once(what) for what in "aab"]
    assert MOST - 2 == sum(state.once(str(number)) for number in range(2 * MOST))


def test_short() -> None:
    """What comes from the wire is quoted, not repeated."""
    assert ("\ufffd", "a", 60) == (short(b"\xff"), short("a"), len(short("a" * 1000)))
    assert {} == as_object([1])
