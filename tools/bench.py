"""Measures mcpmock against a direct connection, bare relays and other recorders.

    python tools/bench.py [--rows NAME,..] [--rounds N] [--quick] [--json]
    python tools/bench.py --processor [--before CHECKOUT] [--rounds N] [--quick] [--json]

Every row is a client and a server with something in between. Over stdio: nothing (`direct`), a
relay in C, a bare relay on trio, `mcpmock record`, a peer that records; or a player of what was
recorded (`replay`). Over Streamable HTTP, all named `http-..`: nothing, a bare reverse proxy on
trio and h11, `mcpmock record --url`, `mcpmock replay --listen`, and peers. Rows named `..-faults`
have a fault plan that matches no message. Absolute figures depend on the machine; the ratios and
the bars below them count. `--starts` adds the start of real servers in Node and Python,
`--unbounded` a flood of 50,000 overlapping calls, `--watched` a recording of 10,000 events a second
that a page follows; `--bars` draws the figures for the manual. `--processor` measures the processor
time of each program instead: floods (of traffic with members that are named nearly as secrets are,
too), calls one by one, over HTTP, and starts; of another checkout of mcpmock as well. Exit
status 1 if a bar is missed or a row of ours fails. Needs a C compiler; `tools/e2e_parts.sh peers`
installs the peers. `mcp-rec-replay` and `mcp-cassette-replay` run only if `--rows` names them.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from bench_parts.endurance import endure
from bench_parts.over_http import HttpSession
from bench_parts.processor import Processor, measure_processor
from bench_parts.real_starts import real_starts
from bench_parts.report import Results, Section
from bench_parts.rounds import HTTP, HTTP_QUICK, QUICK, Effort, Rounds
from bench_parts.rows import ROOT, Row, Workshop, http_rows, stdio_rows
from bench_parts.traffic import Traffic
from bench_parts.unbounded import CALLS, unbounded
from bench_parts.watched import SECONDS, watched

ROWS = (
    "direct,relay,trio,record,record-faults,replay,replay-faults,mcp-rec,mcp-cassette,"
    "http-direct,http-relay,http-record,http-record-faults,http-replay,http-replay-workers,"
    "http-replay-faults,"
    "http-mcp-cassette,http-mcp-cassette-replay,http-mcp-recorder,http-mcp-recorder-replay"
)


_FLOODED = ("record", "replay", "mcp-rec", "mcp-rec-replay")


def main() -> int:
    options = _options()
    if options.processor:
        processor = _measure_processor(options)
        print(json.dumps(processor.medians) if options.json else "\n".join(processor.text()))
        return 0
    with tempfile.TemporaryDirectory(prefix="mcpmock-bench-") as name:
        results = _measure_all(options, Path(name))
    if options.json:
        print(json.dumps(results.as_json()))
    else:
        print(*results.drawn() if options.bars else results.text(), sep="\n")
    return int(not results.met)


def _measure_all(options: argparse.Namespace, folder: Path) -> Results:
    bodies = folder / "bodies.jsonl"
    traffic = Traffic(bodies)
    shop = Workshop(folder, bodies)
    sections: list[Section] = []
    with HttpSession(shop.http_server, shop.env) as upstream:
        every = [*stdio_rows(shop), *http_rows(shop, upstream.listening())]
        chosen = _choose_rows(every, options.rows.split(","))
        for http, quick, full in ((False, QUICK, Effort()), (True, HTTP_QUICK, HTTP)):
            if rows := [row for row in chosen if row.http is http]:
                effort = quick if options.quick else full
                effort = replace(effort, rounds=options.rounds or effort.rounds)
                sections.append(_measure(shop, rows, effort, traffic))
    flooded = [row for row in chosen if row.name in _FLOODED]
    calls = CALLS // 10 if options.quick else CALLS
    floods = unbounded(shop, flooded, traffic, calls) if options.unbounded else {}
    starts = real_starts(shop, 3 if options.quick else 11) if options.starts else {}
    rounds, seconds = (1, 2) if options.quick else (options.rounds or 3, SECONDS)
    record = next(row for row in every if row.name == "record")
    pages = watched(shop, record, traffic, rounds, seconds) if options.watched else None
    return Results(sections, floods, starts, pages)


def _measure_processor(options: argparse.Namespace) -> Processor:
    with tempfile.TemporaryDirectory(prefix="mcpmock-bench-") as name:
        bodies = Path(name) / "bodies.jsonl"
        traffic, shops = Traffic(bodies), dict[str, Workshop]()
        for program, checkout in (("mcpmock", ROOT), ("before", options.before)):
            if checkout is not None:
                folder = Path(name) / program
                folder.mkdir()
                shops[program] = Workshop(folder, bodies, checkout)
        shop = shops["mcpmock"]
        with HttpSession(shop.http_server, shop.env) as upstream:
            rounds = options.rounds or (1 if options.quick else 5)
            calls = CALLS // 10 if options.quick else CALLS
            return measure_processor(shops, traffic, upstream.listening(), rounds, calls)


def _measure(shop: Workshop, rows: Sequence[Row], effort: Effort, traffic: Traffic) -> Section:
    rounds = Rounds(shop, rows, effort, traffic)
    rounds.warm_up()
    rounds.run()
    section, named = Section(rows, rounds), {row.name: row for row in rows}
    if {"record", "replay"} <= named.keys():
        record, replay = named["record"], named["replay"]
        try:
            section.endurance = endure(shop, record, replay, traffic, effort.exchanges)
        except (RuntimeError, OSError, subprocess.CalledProcessError) as error:
            section.failed["endurance"] = str(error)
    return section


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure mcpmock against others.")
    parser.add_argument("--rows", default=ROWS, metavar="NAMES", help=f"default: {ROWS}")
    parser.add_argument("--rounds", type=int, help="number of rounds")
    parser.add_argument("--quick", action="store_true", help="measure less: rough figures")
    parser.add_argument("--starts", action="store_true", help="also time starts of real servers")
    parser.add_argument("--unbounded", action="store_true", help="also flood without bound")
    parser.add_argument("--watched", action="store_true", help="also record beside a live page")
    parser.add_argument("--bars", action="store_true", help="print bars, for the manual")
    parser.add_argument("--processor", action="store_true", help="measure processor time instead")
    parser.add_argument("--before", type=Path, metavar="CHECKOUT", help="mcpmock to compare with")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return parser.parse_args()


def _choose_rows(rows: Sequence[Row], names: Sequence[str]) -> list[Row]:
    """The named rows whose programs are installed, and those whose recordings they play."""
    known = {row.name: row for row in rows}
    unknown = [name for name in names if name not in known]
    if unknown:
        sys.exit(f"bench: no such row: {', '.join(unknown)}; there are {', '.join(known)}")
    wanted = {known[name].plays or name for name in names} | {*names}
    for row in rows:
        if row.name in wanted and row.missing:
            hint = "not installed; tools/e2e_parts.sh peers"
            print(f"bench: {row.name} skipped: {hint}", file=sys.stderr)
    return [row for row in rows if row.name in wanted and not row.missing]


if __name__ == "__main__":
    sys.exit(main())
