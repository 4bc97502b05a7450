#!/usr/bin/env python3
"""Shows that a long line costs time in proportion to its length, through `mcpmock record`.

    tools/long_lines.py [MEGABYTES..]       (25 50 100 200)

Each line goes to an echoing server and back. Prints seconds, MB/s, peak memory, and how the time
compares with that of the line before: 2.0 is linear where the length doubles.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.support.processes import (
    feeding,
    peak_memory,
    reads,
    ready,
    record,
    running,
    scripted,
    stdin_of,
    stdout_of,
)

MIB = 1 << 20


def measure(megabytes: int, folder: Path) -> tuple[float, int]:
    """Seconds for one line there and back, and the bytes of memory it took at most."""
    line = b'{"jsonrpc":"2.0","method":"m","params":"' + b"x" * (megabytes * MIB) + b'"}\n'
    with running(record(folder / f"{megabytes}.jsonl", scripted("echo"))) as process:
        ready(process)
        began = time.monotonic()
        with feeding(stdin_of(process), [line], close=False):
            for data in reads(stdout_of(process)):
                if data.endswith(b"\n"):
                    break
        seconds = time.monotonic() - began
        return seconds, peak_memory(process.pid)


def main() -> None:
    sizes = [int(size) for size in sys.argv[1:]] or [25, 50, 100, 200]
    before = 0.0
    with tempfile.TemporaryDirectory() as folder:
        for size in sizes:
            seconds, peak = measure(size, Path(folder))
            ratio = f"{seconds / before:.2f} x" if before else ""
            speed = size * MIB / seconds / 1e6
            print(f"{size:5} MiB {seconds:7.2f} s {speed:6.0f} MB/s {peak // MIB:5} MiB  {ratio}")
            before = seconds


if __name__ == "__main__":
    main()
