"""Wraps and unwraps a server in generated configuration files of both formats.

    python tools/wrap_configs.py [COUNT] [--seed N]
    python tools/wrap_configs.py COUNT --pairs

Prints how many files of each format kept every promise of `mcpmock wrap`, and the first that broke
one. With --pairs two processes each time wrap two servers of one file, on a disk that takes 20 ms
for each fsync, and then take both back: no change may be lost. Exit status 1 if a promise was
broken.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.e2e.wraps import broken_by_pair
from tests.support.generated_configs import broken_promises, generate_config


def main() -> int:
    parser = argparse.ArgumentParser(description="Wrap and unwrap generated configurations.")
    parser.add_argument("count", nargs="?", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--pairs", action="store_true")
    options = parser.parse_args()
    if options.pairs:
        return run_pairs(options.count)
    kept: Counter[str] = Counter()
    began = time.process_time()
    for seed in range(options.seed, options.seed + options.count):
        config = generate_config(Random(seed))
        if broken := list(broken_promises(config)):
            print(f"seed {seed}: broken: {'; '.join(broken)}\n{config.text!r}")
            return 1
        kept[config.file.partition(".")[2]] += 1
    taken = time.process_time() - began
    counts = ", ".join(f"{count} {kind}" for kind, count in sorted(kept.items()))
    print(f"{options.count} files ({counts}), {taken:.1f} s CPU: no promise broken")
    return 0


def run_pairs(count: int) -> int:
    for number in range(count):
        with TemporaryDirectory() as folder:
            if broken := broken_by_pair(Path(folder)):
                print(f"pair {number}: {broken}")
                return 1
    print(f"{count} pairs at once: nothing lost")
    return 0


if __name__ == "__main__":
    sys.exit(main())
