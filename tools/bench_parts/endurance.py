"""Memory over many exchanges, and loading the cassette that they leave."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from bench_parts.client import limited
from bench_parts.rows import ROOT, Row, Workshop
from bench_parts.traffic import Traffic

_TIMEOUT_S = 90
_LOAD = """
import json, sys, time
from pathlib import Path
sys.path[0] = sys.argv[2]
from mcpmock.cassette.file import load
began = time.perf_counter()
cassette = load(Path(sys.argv[1]))
taken = time.perf_counter() - began
print(json.dumps([taken, sum(len(take.events) for take in cassette.takes)]))
"""


@dataclass(frozen=True)
class Endurance:
    """Memory in KiB, times in seconds."""

    exchanges: int
    early: int
    """Peak resident memory after a tenth of the exchanges."""
    late: int
    """The same after all of them."""
    events: int
    megabytes: float
    load: float
    replay_start: float

    @property
    def growth(self) -> int:
        return self.late - self.early


def endure(shop: Workshop, record: Row, replay: Row, traffic: Traffic, exchanges: int) -> Endurance:
    """Record so many exchanges, and load a cassette of as many events."""
    file = shop.folder / "endurance.jsonl"
    early, late = _record(shop, record, traffic, exchanges, file)
    with file.open("rb") as whole:
        lines = [next(whole) for _ in range(exchanges + 1)]
    part = shop.folder / "part.jsonl"
    part.write_bytes(b"".join(lines))
    command = [sys.executable, "-c", _LOAD, str(part), str(ROOT)]
    printed = subprocess.run(command, env=shop.env, check=True, stdout=subprocess.PIPE).stdout
    load, events = json.loads(printed)
    with limited(_TIMEOUT_S), replay.open(part, shop) as opened:
        start = opened.initialize()
        opened.finish()
    return Endurance(
        exchanges, early, late, int(events), part.stat().st_size / 1e6, float(load), start
    )


def _record(
    shop: Workshop, row: Row, traffic: Traffic, exchanges: int, file: Path
) -> tuple[int, int]:
    tenth = exchanges // 10
    with limited(_TIMEOUT_S), row.open(file, shop) as opened:
        opened.initialize()
        opened.flood(traffic.grouped(1, tenth))
        early = _peak_kib(opened.pid)
        for part in range(1, 10):
            opened.flood(traffic.grouped(1 + part * tenth, tenth))
        late = _peak_kib(opened.pid)
        opened.finish()
    return early, late


def _peak_kib(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1])
    return 0
