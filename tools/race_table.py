#!/usr/bin/env python3
"""Drives the official SDKs' clients through every cancellation race, and writes down what they did.

    tools/e2e_parts.sh && .venv/bin/python tools/race_table.py [-k 0,1,2,3,4,5] [-o TABLE.md]
        [--client NAME].. [--transport stdio|streamable-http]..

All cells of k messages times all reactions, for each client over each transport: some 5,000 races,
a quarter of an hour on two cores. The cell that was reached is read from the receipts in mcpmock's
own recording. What is not reached in the first run (a busy machine may let a cancel overtake its
call) is run once more, with more time between the two. Exit status 1 if a cell was never reached
that this client can reach (`races.reachable`).
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
os.environ["PYTHONPATH"] = str(ROOT)
sys.path.insert(0, str(ROOT))

from mcpmock.faults.races.grid import NAMES, REACTIONS, cells  # noqa: E402
from tests.e2e import races  # noqa: E402
from tests.e2e.races import Entry, Outcome, Played  # noqa: E402

SECONDS_EACH = 3.0
"""How long a race may take at most, on average."""


def counted(words: Iterable[str]) -> str:
    """`cancelled` where all are, else `cancelled 30, error -32800 5`."""
    counts = Counter(words).most_common()
    if len(counts) == 1:
        return counts[0][0]
    return ", ".join(f"{word} {count}" for word, count in counts)


def entry(outcomes: Sequence[Outcome]) -> str:
    """The outcomes of these races, in a few words."""
    if not outcomes:
        return ""
    reached = sum(outcome.reached for outcome in outcomes)
    all_ = len(outcomes)
    short = f"{counted(o.saw for o in outcomes)}; next {counted(o.next for o in outcomes)}"
    if noisy := sum(bool(outcome.noise) for outcome in outcomes):
        short += f"; complained {noisy}"
    return f"{all_} {short}" if reached == all_ else f"**{reached}/{all_}** {short}"


def markdown(heads: Sequence[object], rows: Iterable[Sequence[object]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def table(results: Sequence[Played]) -> str:
    """A row for each client and transport. A column for each reaction, of the cells where there is
    one; where the answer had gone before the cancel arrived, all are alike.
    """
    columns = [*REACTIONS, *NAMES[-2:]]
    rows = [
        [f"{result.client}, {result.transport}"]
        + [entry([o for o in result.outcomes if _column(o) == column]) for column in columns]
        for result in results
    ]
    return markdown(["client", *columns], rows)


def _column(outcome: Outcome) -> str:
    cell = outcome.entry.cell
    return outcome.entry.reaction if cell.reacts else cell.name


def full_table(results: Sequence[Played]) -> str:
    """A row for each client, transport and name of a cell; a column for each reaction."""
    rows = []
    for result, name in product(results, NAMES):
        named = [o for o in result.outcomes if o.entry.cell.name == name]
        columns = [entry([o for o in named if o.entry.reaction == how]) for how in REACTIONS]
        if any(columns):
            rows.append([result.client, result.transport, name, *columns])
    return markdown(["client", "transport", "cell", *REACTIONS], rows)


def summary(results: Sequence[Played]) -> str:
    """A row for each client and transport."""
    heads = ["client", "transport", "races", "reached", "what the caller saw", "next request"]
    rows = [
        [
            result.client,
            result.transport,
            len(result.outcomes),
            sum(o.reached for o in result.outcomes),
            counted(o.saw for o in result.outcomes),
            counted(o.next for o in result.outcomes),
            sum(bool(o.noise) for o in result.outcomes),
            counted(result.beside) if result.beside else "",
        ]
        for result in results
    ]
    return markdown([*heads, "library complained", "beside"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("-k", default="0,1,2,3,4,5", help="how many messages, separated by commas")
    parser.add_argument("-o", type=Path, help="where the table goes; else to stdout")
    parser.add_argument("--client", action="append", choices=list(races.CLIENTS))
    parser.add_argument("--transport", action="append", choices=list(races.TRANSPORTS))
    args = parser.parse_args()
    entries = [
        Entry(cell, reaction)
        for k in map(int, args.k.split(","))
        for cell in cells(k)
        for reaction in REACTIONS
    ]
    pairs = [
        (client, transport)
        for client in args.client or races.CLIENTS
        for transport in args.transport or races.TRANSPORTS
        if not races.missing(client)
    ]
    began = time.monotonic()
    with TemporaryDirectory(prefix="races-") as folder, ThreadPoolExecutor(2) as pool:
        runs = [
            pool.submit(
                races.play,
                client,
                how,
                entries,
                Path(folder) / f"{client}-{how}",
                timeout=60 + SECONDS_EACH * len(entries),
            )
            for client, how in pairs
        ]
        results = [run.result() for run in runs]
    took = time.monotonic() - began
    races_run = sum(len(result.outcomes) for result in results)
    head = f"{races_run} races in {took:.0f} s. An entry: how many, what the caller saw, the next."
    text = "\n\n".join([head, summary(results), table(results), full_table(results)]) + "\n"
    if args.o:
        args.o.write_text(text, "utf-8")
    else:
        sys.stdout.write(text)
    missed = [
        f"{result.client} {result.transport} {o.entry.tool}: {o.drawn}"
        for result in results
        for o in result.outcomes
        if races.is_missed(result, o)
    ]
    sys.stderr.write("".join(f"not reached: {line}\n" for line in missed))
    sys.exit(bool(missed))


if __name__ == "__main__":
    main()
