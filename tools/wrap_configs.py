"""Wraps and unwraps a server in generated configuration files of both formats.

    python tools/wrap_configs.py [COUNT] [--seed N]

Prints how many files of each format kept every promise of `mcpmock wrap`, and the first that broke
one. Exit status 1 if any did.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.support.generated_configs import broken_promises, generate_config


def main() -> int:
    parser = argparse.ArgumentParser(description="Wrap and unwrap generated configurations.")
    parser.add_argument("count", nargs="?", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
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


if __name__ == "__main__":
    sys.exit(main())
