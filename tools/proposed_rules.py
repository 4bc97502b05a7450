"""Replays generated sessions that differ from their recording, and follows what misses propose.

    python tools/proposed_rules.py [COUNT] [--seed N]

Every proposal has to change the outcome, and following them has to end without a miss in at most as
many rounds as the session differs in places. Prints the first session that breaks this, with its
seed; exit status 1 then.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.support.generated_sessions import broken_promise, generate_session, play_session


def main() -> int:
    parser = argparse.ArgumentParser(description="Follow the proposals of generated misses.")
    parser.add_argument("count", nargs="?", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    began, missed = time.process_time(), 0
    for seed in range(options.seed, options.seed + options.count):
        session = generate_session(Random(seed))
        if broken := broken_promise(session):
            print(f"seed {seed}: {broken}")
            return 1
        missed += bool(play_session(session).misses)
    taken = time.process_time() - began
    print(f"{options.count} sessions, {missed} with misses, {taken:.1f} s CPU: all kept")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
