"""Multi round-trip requests."""

from __future__ import annotations

from typing import Any

import pytest

from mcpmock.rules import input_requests as module
from tests.rules.violations import Planted, ask, done, modern, names
from tests.support import c2s, s2c

CALL = c2s(ask(1, "tools/call", {"name": "dig"}))
SAMPLE = {"method": "sampling/createMessage", "params": {}}


def wants(id_: int = 1, **result: Any) -> Any:
    """A result that asks for input."""
    return s2c(done(id_, {"resultType": "input_required", **result}))


def again(id_: int, **params: Any) -> Any:
    return c2s(ask(id_, "tools/call", {"name": "dig", **params}))


def asks_for(capabilities: Any, method: str, **params: Any) -> list[Any]:
    """A server asks a client with these capabilities for this."""
    call = c2s(ask(1, "tools/call", {"name": "dig"}, clientCapabilities=capabilities))
    return [*modern(), call, wants(inputRequests={"a": {"method": method, "params": params}})]


def elicits(modes: Any, **params: Any) -> list[Any]:
    asked = {"message": "go", **params}
    return asks_for({"elicitation": modes}, "elicitation/create", **asked)


PLANTED = [
    Planted(
        "input-where",
        [*modern(), c2s(ask(1, "tools/list")), wants(requestState="s")],
    ),
    Planted("input-empty", [*modern(), CALL, wants()]),
    Planted("input-kind", [*modern(), CALL, wants(inputRequests={"a": {"method": "ping"}})]),
    Planted(
        "input-undeclared",
        [*modern(), CALL, wants(inputRequests={"a": {"method": "elicitation/create"}})],
    ),
    Planted(
        "request-state", [*modern(), CALL, wants(requestState="s"), again(2, requestState="t")]
    ),
    Planted("elicitation-mode", elicits({"form": {}}, mode="url")),
    Planted("elicitation-mode", elicits({}, mode="url")),
    Planted("elicitation-mode", elicits({"url": {}})),
    Planted("sampling-tools", asks_for({"sampling": {}}, "sampling/createMessage", tools=[])),
    Planted("retry-id", [*modern(), CALL, wants(requestState="s"), again(1, requestState="s")]),
]


def test_rounds() -> None:
    """A client answers two rounds of input requests and echoes the state."""
    rounds = [
        wants(inputRequests={"a": SAMPLE}, requestState="s"),
        again(2, inputResponses={"a": {}}, requestState="s"),
        wants(2, inputRequests={"b": SAMPLE}, requestState="t"),
        again(3, inputResponses={"b": {}}, requestState="t"),
    ]

    assert [] == names(*modern(), CALL, *rounds)


def test_modes_and_tools_that_were_declared() -> None:
    """A form needs no more than `elicitation`."""
    assert [] == names(*elicits({}))
    assert [] == names(*elicits({"form": {}}, mode="form"))
    assert [] == names(*elicits({"url": {}}, mode="url"))
    tools: Any = {"sampling": {"tools": {}}}
    assert [] == names(*asks_for(tools, "sampling/createMessage", tools=[]))


def test_a_state_may_be_older_than_the_recording() -> None:
    """Without a known state, any may have been issued before the recording."""
    assert [] == names(*modern(), again(1, requestState="s"))


def test_the_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once states were dropped, an unknown one may be one of them."""
    monkeypatch.setattr(module, "MAX_REMEMBERED", 3)
    rounds = [wants(1, requestState=str(number)) for number in range(9)]

    assert ["answered-twice"] * 8 == names(*modern(), CALL, *rounds, again(2, requestState="0"))
