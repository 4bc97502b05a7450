"""`initialize_error`: no handshake."""

from __future__ import annotations

from mcpmock.faults.kinds.errors import InitializeError
from tests.faults.faulty import ANSWER, CALL, answered, on_stdio
from tests.support import INITIALIZE, error


def test_the_handshake_is_refused() -> None:
    """And nothing else."""
    assert [error(0, -32602).replace(b'"no"', b'"Unsupported protocol version"')] == answered(
        InitializeError(), INITIALIZE, b""
    )[:1]
    assert ([CALL], [ANSWER]) == on_stdio(InitializeError())
