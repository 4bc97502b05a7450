"""Floods without bound: all requests are written as fast as they are taken, and answers are read as
they come, so that every call overlaps with those behind it; first recorded, then replayed.
"""

from __future__ import annotations

import os
import select
import subprocess
import time
from collections.abc import Sequence

from bench_parts.client import limited
from bench_parts.over_pipes import PipeSession
from bench_parts.rows import Row, Workshop
from bench_parts.traffic import Traffic

CALLS = 50_000
_TIMEOUT_S = 120
_MAX_READ = 1 << 16
_FIRST_ID = 5_000_000


def unbounded(
    shop: Workshop, rows: Sequence[Row], traffic: Traffic, calls: int
) -> dict[str, float]:
    """Messages a second, by row; a row that fails or is too slow is left out."""
    data = b"".join(group.data for group in traffic.grouped(_FIRST_ID, calls))
    found = {}
    for row in rows:
        file = shop.folder / f"unbounded-{row.plays or row.name}.json"
        try:
            with limited(_TIMEOUT_S), row.open(file, shop) as session:
                assert isinstance(session, PipeSession)
                session.initialize()
                found[row.name] = 2 * calls / flood_without_bound(session, data, calls)
        except (RuntimeError, OSError, subprocess.SubprocessError):
            continue
    return found


def flood_without_bound(session: PipeSession, data: bytes, calls: int) -> float:
    """Write requests as fast as they are taken. Gives the seconds until the last answer."""
    source, target = session.descriptors
    os.set_blocking(target, False)
    left, answered = memoryview(data), 0
    poll = select.poll()
    poll.register(source, select.POLLIN)
    poll.register(target, select.POLLOUT)
    began = time.perf_counter()
    while answered < calls:
        for fd, _ in poll.poll():
            if fd == source:
                read = os.read(source, _MAX_READ)
                if not read:
                    raise RuntimeError("ended without an answer")
                answered += read.count(b"\n")
            else:
                left = left[os.write(target, left[:_MAX_READ]) :]
                if not left:
                    poll.unregister(target)
    taken = time.perf_counter() - began
    os.set_blocking(target, True)
    return taken
