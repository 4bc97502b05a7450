"""`version_mismatch`: another revision."""

from __future__ import annotations

from mcpmock.faults.kinds.mcp import VersionMismatch
from tests.faults.faulty import ANSWER, answered
from tests.support import INITIALIZE, WELCOME


def test_another_revision() -> None:
    """In the answer to the handshake, and nowhere else."""
    assert [WELCOME.replace(b"2025-11-25", b"1999-12-31")] == answered(
        VersionMismatch(), INITIALIZE, WELCOME
    )
    assert [ANSWER] == answered(VersionMismatch())
