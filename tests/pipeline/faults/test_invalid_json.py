"""`invalid_json`: no JSON."""

from __future__ import annotations

import json

import pytest

from mcpmock.pipeline.faults.invalid_json import InvalidJson
from tests.pipeline.faults.faulty import ANSWER, answered


def test_no_json() -> None:
    """A comma too many."""
    [said] = answered(InvalidJson())

    assert ANSWER == said.replace(b",,", b"")
    with pytest.raises(json.JSONDecodeError):
        json.loads(said)
