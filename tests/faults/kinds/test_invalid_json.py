"""`invalid_json`: no JSON."""

from __future__ import annotations

import json

import pytest

from mcpmock.faults.kinds.content import InvalidJson
from tests.faults.faulty import ANSWER, answered


def test_no_json() -> None:
    """A comma too many."""
    [said] = answered(InvalidJson())

    assert ANSWER == said.replace(b",,", b"")
    with pytest.raises(json.JSONDecodeError):
        json.loads(said)
