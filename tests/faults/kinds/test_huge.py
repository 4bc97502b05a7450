"""`huge`: long messages."""

from __future__ import annotations

import json

from mcpmock.faults.kinds.content import Huge
from tests.faults.faulty import ANSWER, CALL, answered, on_stdio
from tests.support import error


def test_it_is_longer() -> None:
    """By a member that a result may have, and otherwise the same."""
    [long] = answered(Huge(size=1000))
    value = json.loads(long)

    assert 1000 == len(value["result"].pop("mcpmock"))
    assert json.loads(ANSWER) == value


def test_requests_and_errors() -> None:
    """In the params, or at the top."""
    [long] = on_stdio(Huge(size=9, toward="server"))[0]
    assert "x" * 9 == json.loads(long)["params"]["mcpmock"]

    [long] = answered(Huge(size=9), CALL, error(1))
    assert "x" * 9 == json.loads(long)["mcpmock"]
