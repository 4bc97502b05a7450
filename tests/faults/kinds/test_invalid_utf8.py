"""`invalid_utf8`: no text."""

from __future__ import annotations

import pytest

from mcpmock.faults.kinds.content import InvalidUtf8
from tests.faults.faulty import ANSWER, CALL, answered


def test_no_text() -> None:
    """A byte too many, in a string."""
    [said] = answered(InvalidUtf8())

    assert ANSWER == said.replace(b"\xff", b"")
    with pytest.raises(UnicodeDecodeError):
        said.decode()
    assert [b"\xffbanner"] == answered(InvalidUtf8(), CALL, b"banner")
