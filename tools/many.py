"""What `--jobs` is worth: commands over many cassettes, in one process and in several, in turns.

    python tools/many.py [--files 1000] [--jobs 2] [--rounds 3]

The files are copies of cassettes/everything.jsonl. For each command: the wall time and the CPU time
of the fastest round with one process, the same with several, and the ratios (1.0 is no gain in
time, and no cost in CPU). The ratio of the wall times says something on an idle machine only.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SAMPLE = ROOT / "cassettes" / "everything.jsonl"
COMMANDS = (("check", "-q"), ("stats", "-q"), ("scan", "-q"), ("diff", "-q"))


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure --jobs on many cassettes.")
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for number in range(options.files):
            (folder / f"{number:05}.jsonl").write_bytes(SAMPLE.read_bytes())
        print(f"{options.files} cassettes of {SAMPLE.stat().st_size:,} bytes")
        print(f"{'':8}{'1 process':>18}{f'{options.jobs} processes':>20}{'wall':>8}{'CPU':>7}")
        for words in COMMANDS:
            folders = [str(folder)] * (2 if words[0] == "diff" else 1)
            rounds = [
                [_timed(*words, "--jobs", str(jobs), *folders) for jobs in (1, options.jobs)]
                for _ in range(options.rounds)
            ]
            (wall, cpu), (shared, all_cpu) = (
                (min(w for w, _ in runs), min(c for _, c in runs))
                for runs in zip(*rounds, strict=True)
            )
            print(
                f"{words[0]:8}{wall:8.2f} s {cpu:6.2f} s {shared:9.2f} s {all_cpu:6.2f} s"
                f"{shared / wall:8.2f}{all_cpu / cpu:7.2f}",
                flush=True,
            )
    return 0


def _timed(*words: str) -> tuple[float, float]:
    """Wall and CPU seconds of a command with all its processes."""
    before, began = os.times(), time.monotonic()
    subprocess.run(
        [sys.executable, "-m", "mcpmock", *words], cwd=ROOT, stdout=subprocess.DEVNULL, check=True
    )
    after = os.times()
    cpu = after.children_user + after.children_system
    cpu -= before.children_user + before.children_system
    return time.monotonic() - began, cpu


if __name__ == "__main__":
    sys.exit(main())
