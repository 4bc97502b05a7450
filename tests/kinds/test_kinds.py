"""Every kind of fault, through every mode and over every transport that it exists on: what comes of
it at the other side, and that nothing else is touched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from mcpmock.cassette.file import load
from mcpmock.cassette.model import Cassette
from mcpmock.pipeline.faults.kinds import KINDS
from mcpmock.pipeline.faults.receipts import FaultRun
from mcpmock.transports.reception import Kind

from . import over_http, over_stdio, rows_bytes, rows_http, rows_mcp, rows_messages
from .hearing import Run
from .row import Row, judge

ROWS = [*rows_bytes.ROWS, *rows_http.ROWS, *rows_messages.ROWS, *rows_mcp.ROWS]
TRANSPORTS = ("stdio", "streamable-http", "sse")
MODES = ("live", "replay")


def test_every_kind_has_a_row() -> None:
    """A new one needs one too."""
    assert set(KINDS) == {row.fault.kind for row in ROWS}


@cache
def recorded(transport: str) -> Cassette:
    with TemporaryDirectory() as folder:
        file = Path(folder) / "a.jsonl"
        if transport == "stdio":
            over_stdio.taken(file)
        else:
            over_http.taken(Kind(transport), file)
        return load(file)


def running(transport: str, mode: str, faults: FaultRun | None) -> Run:
    if transport == "stdio":
        replayed: Callable[..., Run] = over_stdio.replayed
        return over_stdio.live(faults) if mode == "live" else replayed(recorded(transport), faults)
    kind = Kind(transport)
    if mode == "live":
        return over_http.live(kind, faults)
    return over_http.replayed(kind, recorded(transport), faults)


@cache
def base(transport: str, mode: str) -> Run:
    """What is heard without a plan."""
    return running(transport, mode, None)


def cases() -> Iterator[object]:
    for row in ROWS:
        for transport in TRANSPORTS:
            for mode in MODES:
                if row.is_shown(transport, mode):
                    yield pytest.param(row, transport, mode, id=f"{row.id}-{transport}-{mode}")


@pytest.mark.parametrize(("row", "transport", "mode"), list(cases()))
def test_a_kind(row: Row, transport: str, mode: str) -> None:
    """Its row says what comes; all else is as without it."""
    run = running(transport, mode, row.plan(transport))
    judge(row.at(transport, mode), run, base(transport, mode))
