"""Prints how clients of the SDKs log in, as Markdown.

    python tools/login_table.py faults        # at our fake server, with each of its faults
    python tools/login_table.py conformance   # the official suite's verdicts, and those with ours

An exclamation mark is where a client does not do what the specification says. `conformance` exits
with 1 where a verdict with our server is another one than with the suite's. Needs the parts py1,
py2, npm and conformance of tools/e2e_parts.sh.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.e2e.logins import (
    FAULT_ROWS,
    NOT_OURS,
    SCENARIO_ROWS,
    SUBJECTS,
    is_missing,
    log_in,
    suite_verdict,
    versions,
)


def main() -> int:
    parser = argparse.ArgumentParser(description="Print how clients of the SDKs log in.")
    parser.add_argument("what", choices=["faults", "conformance"])
    what = parser.parse_args().what
    if is_missing("py1", "py2", "npm", *(["conformance"] if what == "conformance" else [])):
        print("not installed: run tools/e2e_parts.sh py1 py2 npm conformance", file=sys.stderr)
        return 2
    return faults() if what == "faults" else conformance()


def heading(first: str, second: str) -> None:
    names = [f"{name} {version}" for name, version in versions().items()]
    print(f"| {first} | {second} | {' | '.join(names)} |")
    print("|---" * (len(names) + 2) + "|")


def faults() -> int:
    heading("fault", "correct")
    for row in FAULT_ROWS:
        cells = []
        for client in SUBJECTS:
            outcome = log_in(client, "oauth:scope=a", *row.faults)
            cells.append(outcome.word if row.correct(outcome) else f"{outcome.word} (!)")
            if outcome.error:
                print(f"{row.name}, {client}: {outcome.error}", file=sys.stderr)
        print(f"| {row.name or 'none'} | {row.expected} | {' | '.join(cells)} |", flush=True)
    return 0


def conformance() -> int:
    heading("scenario", "our server")
    differ = 0
    for row in SCENARIO_ROWS:
        cells = []
        for client in SUBJECTS:
            outcome = log_in(client, row.auth, *row.faults, document=row.document)
            ours = row.correct(outcome)
            with TemporaryDirectory() as folder:
                suite, bad = suite_verdict(client, row, Path(folder))
            differ += ours is not suite
            verdicts = " / ".join("pass" if one else "fail" for one in (suite, ours))
            cells.append(verdicts + (" (!)" if ours is not suite else ""))
            if not (ours and suite):
                print(
                    f"{row.name}, {client}: {outcome.word}; {outcome.error}; {bad}", file=sys.stderr
                )
        setup = " ".join([row.auth, *row.faults])
        print(f"| {row.name} | `{setup}` | {' | '.join(cells)} |", flush=True)
    print("\nVerdict at the suite's servers / at ours. Not compared:\n")
    for names, why in NOT_OURS.items():
        print(f"* {names}: {why}")
    return int(differ > 0)


if __name__ == "__main__":
    sys.exit(main())
