#!/usr/bin/env python3
"""Kills a recorder under load hundreds of times, and looks for a frame that is missing afterwards.

    tools/kill_loop.py N [--seed S]

Round k has the seed S + k; a round that fails names it, and `kill_loop.py 1 --seed THAT` repeats
its load and its moment (not the scheduler's). The test is tests/e2e/test_kill.py.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
TEST = "tests/e2e/test_kill.py::test_kill_9_under_load_loses_no_frame"


def main() -> None:
    parser = argparse.ArgumentParser(description="kill -9 of `mcpmock record` under load")
    parser.add_argument("rounds", type=int, metavar="N")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    os.environ["MCPMOCK_E2E_KILLS"] = str(args.rounds)
    os.environ["MCPMOCK_E2E_SEED"] = str(args.seed)
    print(f"{args.rounds} rounds, seeds from {args.seed}", flush=True)
    os.chdir(ROOT)
    os.execv(sys.executable, [sys.executable, "-m", "pytest", "-q", TEST])


if __name__ == "__main__":
    main()
