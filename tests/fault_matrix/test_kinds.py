"""Every kind of fault, through every mode and over every transport that it exists on: what comes of
it at the other side, and that nothing else is touched.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from mcpmock.faults.registry import KINDS, THEMES

from . import rows_bytes, rows_http, rows_mcp, rows_messages
from .row import Row, judge
from .running import EVERYWHERE, base, running

ROWS = [*rows_bytes.ROWS, *rows_http.ROWS, *rows_messages.ROWS, *rows_mcp.ROWS]


def test_every_kind_has_a_row() -> None:
    """A new one needs one too. Those of a login act outside of sessions: tests/authorization."""
    assert set(KINDS) - set(THEMES["auth"]) == {row.fault.kind for row in ROWS}


def cases() -> Iterator[object]:
    for row in ROWS:
        for transport, mode in EVERYWHERE:
            if row.is_shown(transport, mode):
                yield pytest.param(row, transport, mode, id=f"{row.id}-{transport}-{mode}")


@pytest.mark.parametrize(("row", "transport", "mode"), list(cases()))
def test_a_kind(row: Row, transport: str, mode: str) -> None:
    """Its row says what comes; all else is as without it."""
    run = running(transport, mode, row.plan(transport))
    judge(row.at(transport, mode), run, base(transport, mode))
