"""`stdout_noise`: prints."""

from __future__ import annotations

from mcpmock.faults.kinds.process import StdoutNoise
from tests.faults.faulty import ANSWER, answered, body


def test_a_line_in_front() -> None:
    """Which is no message."""
    assert [b"hello", ANSWER] == answered(StdoutNoise(text="hello"))
    assert ["1 200 application/json", "1 " + ANSWER.decode(), "1 eof"] == body(StdoutNoise())
