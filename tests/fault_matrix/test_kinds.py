"""Every kind of fault, through every mode and over every transport that it exists on: what comes of
it at the other side, and that nothing else is touched.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from mcpmock.faults.registry import KINDS, THEMES
from tests.support.every import EVERY

from . import rows_bytes, rows_http, rows_mcp, rows_messages
from .row import Row, judge
from .running import EVERYWHERE, MODES, TRANSPORTS, base, running

ROWS = [*rows_bytes.ROWS, *rows_http.ROWS, *rows_messages.ROWS, *rows_mcp.ROWS]


def test_every_kind_has_a_row() -> None:
    """A new one needs one too. Those of a login act outside of sessions: tests/authorization."""
    assert set(KINDS) - set(THEMES["auth"]) == {row.fault.kind for row in ROWS}


def cases() -> Iterator[object]:
    """Over HTTP, where a row says the same of both modes and transports, it is live over one and
    replayed over the other, in turns; with MCPMOCK_E2E_ALL=1 both over both.
    """
    for number, row in enumerate(ROWS):
        both = EVERY or bool({*MODES} & set(" ".join([*row.on, *row.elsewhere]).split()))
        both |= len({*row.fault.transports} - {"stdio"}) < 2
        for transport, mode in EVERYWHERE:
            turn = MODES[(number + TRANSPORTS.index(transport)) % 2]
            if row.is_shown(transport, mode) and (both or transport == "stdio" or mode == turn):
                yield pytest.param(row, transport, mode, id=f"{row.id}-{transport}-{mode}")


@pytest.mark.parametrize(("row", "transport", "mode"), list(cases()))
def test_a_kind(row: Row, transport: str, mode: str) -> None:
    """Its row says what comes; all else is as without it."""
    run = running(transport, mode, row.plan(transport))
    judge(row.at(transport, mode), run, base(transport, mode))
