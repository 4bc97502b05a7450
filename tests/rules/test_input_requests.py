"""Multi round-trip requests."""

from __future__ import annotations

from typing import Any

import pytest

from mcpmock.rules import input_requests as module
from mcpmock.rules import rounds
from tests.rules.violations import (
    HTTP,
    Planted,
    ask,
    asked,
    done,
    modern,
    modern_http,
    names,
)
from tests.support import answers, c2s, s2c

CALL = c2s(ask(1, "tools/call", {"name": "dig"}))
SAMPLE = {"method": "sampling/createMessage", "params": {}}


def wants(id_: int = 1, **result: Any) -> Any:
    """A result that asks for input."""
    return s2c(done(id_, {"resultType": "input_required", **result}))


def again(id_: int, **params: Any) -> Any:
    return c2s(ask(id_, "tools/call", {"name": "dig", **params}))


def with_state(state: str, **params: Any) -> Any:
    return again(2, requestState=state, **params)


GIVEN_B = again(2, inputResponses={"b": {}})


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
    Planted("input-missing", [*modern(), CALL, wants(inputRequests={"a": SAMPLE}), GIVEN_B]),
    Planted(
        "input-missing",
        [*modern(), CALL, wants(inputRequests={"a": SAMPLE}, requestState="s"), with_state("s")],
    ),
    Planted(
        "input-missing",
        [*modern(), CALL, wants(inputRequests={"a": SAMPLE, "b": SAMPLE}), GIVEN_B],
    ),
    Planted(
        "input-missing",  # told by its state, though its arguments differ
        [
            *modern(),
            CALL,
            wants(inputRequests={"a": SAMPLE}, requestState="s"),
            with_state("s", arguments={"x": 1}),
        ],
    ),
    Planted(
        "state-dropped",
        [
            *modern(),
            CALL,
            wants(inputRequests={"a": SAMPLE}, requestState="s"),
            again(2, inputResponses={"a": {}}),
        ],
    ),
    Planted("state-dropped", [*modern(), CALL, wants(requestState="s"), again(2)]),
    Planted(
        "state-dropped",
        [
            *modern_http(),
            asked(2, CALL.raw, "tools/call", "dig"),
            answers(2, wants(inputRequests={"a": SAMPLE}, requestState="s").raw),
            asked(3, again(2, inputResponses={"a": {}}).raw, "tools/call", "dig"),
        ],
        HTTP,
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


OPEN = [*modern(), CALL, wants(inputRequests={"a": SAMPLE}, requestState="s")]
FINE = {
    "an answer to each": [*OPEN, with_state("s", inputResponses={"a": {}})],
    "more answers": [*OPEN, with_state("s", inputResponses={"a": {}, "b": {}})],
    "a call of its own": [*OPEN, again(2, arguments={"x": 1})],
    "the same call again": [*OPEN, again(2)],
    "another method": [*OPEN, c2s(ask(2, "prompts/get", {"name": "dig"}))],
    "only the state": [*modern(), CALL, wants(requestState="s"), with_state("s")],
    "two at once": [
        *OPEN,
        again(5),
        wants(5, inputRequests={"b": SAMPLE}, requestState="t"),
        with_state("t", inputResponses={"b": {}}),
        again(3, requestState="s", inputResponses={"a": {}}),
    ],
    "a retry after a retry": [
        *OPEN,
        with_state("s", inputResponses={"a": {}}),
        s2c(done(2)),
        again(3),
    ],
    "redacted": [
        *modern(),
        CALL,
        wants(inputRequests={"a": SAMPLE}, requestState="mcpmock:secret:state:1"),
        with_state("mcpmock:secret:state:1", inputResponses={"a": {}}),
    ],
}


@pytest.mark.parametrize("steps", FINE.values(), ids=FINE)
def test_these_rounds_are_right(steps: list[Any]) -> None:
    """Each is much like one that is wrong."""
    assert [] == names(*steps)


def test_rounds_meet_over_http() -> None:
    """Each request of a round is an exchange of its own, and may come from another caller."""
    steps = [
        *modern_http(),
        asked(2, CALL.raw, "tools/call", "dig"),
        answers(2, wants(inputRequests={"a": SAMPLE}, requestState="s").raw),
        asked(3, with_state("s").raw, "tools/call", "dig"),
    ]

    assert ["input-missing"] == names(*steps, transport=HTTP, sessionless=True)


def test_memory_of_rounds_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The latest are remembered, and long input requests only by their names."""
    monkeypatch.setattr(rounds, "MAX_REMEMBERED", 2)
    monkeypatch.setattr(rounds, "_MAX_REQUESTS_BYTES", 1)
    found = rounds.Rounds()
    for name in "abcd":
        found.begin(name.encode(), {name: SAMPLE}, name, {})

    assert found.take(b"a", {"requestState": "a"}) is None
    last = found.take(b"d", {"requestState": "d"})
    assert last is not None
    assert (("d",), {}) == (last.keys, last.requests)


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
