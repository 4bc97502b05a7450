"""Everything that must hold before a commit: format, lint, types, tests; one line each.

    python tools/check.py [--fast]

`--fast` leaves out the end-to-end tests. The output of a step is shown only where the step failed;
every step runs, whatever became of those before it. Exit status 1 if any failed.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Step:
    """`arguments` are those of Python; `slow` steps are left out by --fast."""

    name: str
    arguments: tuple[str, ...]
    slow: bool = False


def types_of(platform: str) -> tuple[str, ...]:
    """Return the arguments of mypy for the package on another platform, where what is left out by a
    test of `sys.platform` is unreachable. The tests and tools are for Linux.
    """
    # A cache of its own: mypy throws away what it has of another platform.
    cache = f"--cache-dir=.mypy_cache/{platform}"
    return (f"--platform={platform}", cache, "--no-warn-unreachable", "mcpmock")


TESTS = ("-m", "pytest", "-q", "-n", "auto", "-m")
STEPS = (
    Step("format", ("-m", "ruff", "format", "--check", ".")),
    Step("lint", ("-m", "ruff", "check", ".")),
    Step("types", ("-m", "mypy")),
    *(
        Step(f"types, {platform}", ("-m", "mypy", *types_of(platform)))
        for platform in ("darwin", "win32")
    ),
    Step("unit tests", (*TESTS, "not e2e and not parts")),
    Step("e2e tests", (*TESTS, "e2e or parts"), slow=True),
)


def main() -> int:
    parser = argparse.ArgumentParser(description="Format, lint, types and tests in one command.")
    parser.add_argument("--fast", action="store_true", help="without the end-to-end tests")
    fast = parser.parse_args().fast
    done = [_run(step) for step in STEPS if not (fast and step.slow)]
    return int(not all(done))


def _run(step: Step) -> bool:
    began = time.monotonic()
    ran = subprocess.run(
        [sys.executable, *step.arguments],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    good = ran.returncode == 0
    taken = time.monotonic() - began
    last = (ran.stdout.strip().splitlines() or [""])[-1].strip("= ")
    print(f"{'ok' if good else 'FAILED':6} {step.name:13} {taken:6.1f} s  {last}", flush=True)
    if not good:
        print(ran.stdout, flush=True)
    return good


if __name__ == "__main__":
    sys.exit(main())
