"""A run of the conversation over any transport, live or replayed, with a plan or without."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from mcpmock.cassette.file import load
from mcpmock.cassette.model import Cassette
from mcpmock.faults.fault import Fault
from mcpmock.faults.plan import Plan
from mcpmock.faults.receipts import FaultRun
from mcpmock.transports.session_router import TransportKind

from . import over_http, over_stdio
from .hearing import Run

TRANSPORTS = ("stdio", "streamable-http", "sse")
MODES = ("live", "replay")
EVERYWHERE = [(transport, mode) for transport in TRANSPORTS for mode in MODES]


@cache
def recorded(transport: str) -> Cassette:
    """The conversation, recorded without faults."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "a.jsonl"
        if transport == "stdio":
            over_stdio.taken(file)
        else:
            over_http.taken(TransportKind(transport), file)
        return load(file)


def running(transport: str, mode: str, faults: FaultRun | None) -> Run:
    """The conversation with these faults."""
    if transport == "stdio":
        if mode == "live":
            return over_stdio.live(faults)
        return over_stdio.replayed(recorded(transport), faults)
    if mode == "live":
        return over_http.live(TransportKind(transport), faults)
    return over_http.replayed(TransportKind(transport), recorded(transport), faults)


def with_faults(transport: str, mode: str, *faults: Fault, seed: int = 7) -> Run:
    return running(transport, mode, FaultRun.of(Plan(faults=faults, seed=seed)))


@cache
def base(transport: str, mode: str) -> Run:
    """The conversation without a plan."""
    return running(transport, mode, None)
