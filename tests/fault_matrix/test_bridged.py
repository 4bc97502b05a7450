"""Faults where exchanges are made up: clients over HTTP, and what was recorded over stdio."""

from __future__ import annotations

from functools import cache

import pytest

from mcpmock.faults.receipts import FaultRun
from mcpmock.transports.session_router import TransportKind

from . import over_http
from .hearing import Run
from .row import Row, judge
from .running import recorded
from .test_kinds import ROWS

TRANSPORTS = ("streamable-http", "sse")
SHOWN = {
    "drop",
    "inject-to-server",
    "respond_twice-to-server",
    "unsolicited_response-to-server",
    "error-to-client",
    "limit_data-to-server",
    "reset_peer-to-server",
    "exit",
}
"""Those that need exchanges of their own, or end some."""


def bridged(transport: str, faults: FaultRun | None) -> Run:
    return over_http.replayed(TransportKind(transport), recorded("stdio"), faults)


@cache
def base(transport: str) -> Run:
    return bridged(transport, None)


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("row", [row for row in ROWS if row.id in SHOWN], ids=lambda row: row.id)
def test_a_kind(row: Row, transport: str) -> None:
    """It does what it does where exchanges pass as they are."""
    run = bridged(transport, row.plan(transport))

    judge(row.at(transport, "replay"), run, base(transport))
