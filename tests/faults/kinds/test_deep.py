"""`deep`: deep messages."""

from __future__ import annotations

import json

from mcpmock.faults.kinds.content import Deep
from tests.faults.faulty import ANSWER, answered


def test_it_is_deeper() -> None:
    """By a member that a result may have."""
    [deep] = answered(Deep(depth=3))

    assert {"content": [], "mcpmock": [[[]]]} == json.loads(deep)["result"]
    assert 20_000 + len(ANSWER) < len(answered(Deep())[0])
