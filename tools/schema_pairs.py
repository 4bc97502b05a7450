"""Holds what the diff says of random pairs of JSON Schemas against validation.

    .venv/bin/python tools/schema_pairs.py --pairs 500 --instances 3000

Exits with 1 for a false "same": a change that the diff calls compatible, and an instance that it
breaks. Prints the false alarms: changes that it calls worse, without such an instance. With
`--write FILE` the instances that are hard to find are kept for the tests.
"""

from __future__ import annotations

import argparse
import json
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.support.json_schemas import EASY, SEED, JudgedPair


def judge(
    number: int, instances: int, known: dict[str, object]
) -> tuple[int, str, object, list[str]]:
    pair = JudgedPair.random(number)
    found = pair.broken_by(instances)
    if found is None and pair.is_broken_by(known.get(str(number))):
        found = known[str(number)]
    if found is None and pair.breaks:
        found = pair.broken_by(10 * instances)
    if pair.by_choice:
        return number, "by choice", found, sorted(pair.rules)
    if not pair.breaks:
        return number, "same" if found is None else "FALSE SAME", found, sorted(pair.rules)
    return number, "alarm" if found is None else "breaks", found, sorted(pair.rules)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=500)
    parser.add_argument("--instances", type=int, default=3000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--write", type=Path)
    given = parser.parse_args()
    known = json.loads(given.write.read_text()) if given.write and given.write.exists() else {}
    print(f"seed {SEED}, pairs {given.first} to {given.first + given.pairs - 1}")
    counts: dict[str, int] = {}
    hard: dict[str, object] = {}
    with ProcessPoolExecutor() as executor:
        numbers = range(given.first, given.first + given.pairs)
        for number, verdict, found, rules in executor.map(
            partial(judge, instances=given.instances, known=known), numbers, chunksize=5
        ):
            counts[verdict] = counts.get(verdict, 0) + 1
            if verdict in ("alarm", "FALSE SAME"):
                print(verdict, number, json.dumps(found), *rules)
            if verdict == "breaks" and JudgedPair.random(number).broken_by(EASY) is None:
                hard[str(number)] = found
    print(counts)
    if given.write is not None:
        rows = ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in hard.items())
        given.write.write_text(f"{{\n{rows}\n}}\n")
    return int("FALSE SAME" in counts)


if __name__ == "__main__":
    sys.exit(main())
