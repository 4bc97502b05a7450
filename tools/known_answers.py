#!/usr/bin/env python3
"""Plays generated conversations twice, with a plan and without, and compares all that comes of it.

    tools/known_answers.py [CONVERSATIONS] [--first SEED] [--jobs N]

What `tests/laws/test_known_answers.py` does with 2,000 of them; every other one is over HTTP.
Prints the seeds that differ; exit status 1 if there are any.
"""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.support.conversations import Conversation, Planned
from tests.support.http_conversations import HttpConversation

_CHUNK = 500


def _play(seeds: range) -> tuple[list[int], int, int]:
    """Return the seeds that differ, and how many sessions were answered without a player, and in
    how many one took over.
    """
    different, known, taken_over = [], 0, 0
    for seed in seeds:
        kind = HttpConversation if seed % 2 else Conversation
        played = kind(seed)
        if kind(seed, Planned).play() != played.play():
            different.append(seed)
        known += played.known
        taken_over += played.taken_over
    return different, known, taken_over


def main() -> int:
    parser = argparse.ArgumentParser(description="Compare known answers with the player.")
    parser.add_argument("conversations", type=int, nargs="?", default=100_000)
    parser.add_argument("--first", type=int, default=0, metavar="SEED")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    end = options.first + options.conversations
    chunks = [range(at, min(at + _CHUNK, end)) for at in range(options.first, end, _CHUNK)]
    with ProcessPoolExecutor(options.jobs) as pool:
        results = [*pool.map(_play, chunks)]
    different = [seed for seeds, _, _ in results for seed in seeds]
    known, taken_over = sum(one[1] for one in results), sum(one[2] for one in results)
    print(f"{known} sessions without a player, {taken_over} where one took over")
    print(f"{len(different)} of {options.conversations} conversations differ: {different[:20]}")
    return int(bool(different))


if __name__ == "__main__":
    sys.exit(main())
