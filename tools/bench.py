"""What mcpmock costs, beside what standing in between must cost and what others cost.

    python tools/bench.py [--rows NAME,..] [--rounds N] [--quick] [--json]

Every row is a client and a server with something in between. Over stdio: nothing (`direct`), a
relay in C, a bare relay on trio, `mcpmock record`, a peer that records; or a player of what was
recorded (`replay`). Over Streamable HTTP, all named `http-..`: nothing, a bare reverse proxy on
trio and h11, `mcpmock record --url`, `mcpmock replay --listen`, and what peers have of these. What
is named `..-faults` has a plan of faults besides, which is for nothing that is said. The rounds
take all rows of a transport in turn. Absolute figures are this machine's; the ratios and the bars
below them are what counts. Exit status 1 if a bar is missed or a row of ours fails. Peers are
installed by `tools/e2e_parts.sh peers`; `mcp-rec-replay` and `mcp-cassette-replay` are rows for the
asking.
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

from bench_parts.endurance import Endurance, endure
from bench_parts.http_report import HttpSection
from bench_parts.http_rows import http_rows, upstream
from bench_parts.report import Results, Section
from bench_parts.rounds import HTTP, HTTP_QUICK, QUICK, Effort, Rounds
from bench_parts.rows import Row, Workshop, set_up, stdio_rows
from bench_parts.stdio_report import StdioSection
from bench_parts.traffic import Traffic

ROWS = (
    "direct,relay,trio,record,record-faults,replay,replay-faults,mcp-rec,mcp-cassette,"
    "http-direct,http-relay,http-record,http-record-faults,http-replay,http-replay-faults,"
    "http-mcp-cassette,http-mcp-cassette-replay,http-mcp-recorder,http-mcp-recorder-replay"
)


def main() -> int:
    options = _options()
    with tempfile.TemporaryDirectory(prefix="mcpmock-bench-") as name:
        results = Results(_sections(options, Path(name)))
    if options.json:
        print(json.dumps(results.as_json()))
    else:
        print(*results.text(), sep="\n")
    return int(not results.met)


def _sections(options: argparse.Namespace, folder: Path) -> list[Section]:
    bodies = folder / "bodies.jsonl"
    traffic = Traffic(bodies)
    shop = set_up(folder, bodies)
    sections: list[Section] = []
    with upstream(shop) as port:
        rows = _chosen([*stdio_rows(shop), *http_rows(shop, port)], options.rows.split(","))
        if piped := [row for row in rows if not row.http]:
            effort = QUICK if options.quick else Effort()
            rounds = _measured(shop, piped, effort, traffic, options.rounds)
            endurance = _endurance(shop, piped, traffic, effort)
            sections.append(StdioSection(piped, rounds, endurance))
        if networked := [row for row in rows if row.http]:
            effort = HTTP_QUICK if options.quick else HTTP
            rounds = _measured(shop, networked, effort, traffic, options.rounds)
            sections.append(HttpSection(networked, rounds))
    return sections


def _measured(
    shop: Workshop, rows: Sequence[Row], effort: Effort, traffic: Traffic, turns: int | None
) -> Rounds:
    rounds = Rounds(shop, rows, replace(effort, rounds=turns or effort.rounds), traffic)
    rounds.warm_up()
    rounds.run()
    return rounds


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="What mcpmock costs, beside others.")
    parser.add_argument("--rows", default=ROWS, metavar="NAMES", help=f"default: {ROWS}")
    parser.add_argument("--rounds", type=int, help="how often each row has its turn")
    parser.add_argument("--quick", action="store_true", help="rough figures, quickly")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    return parser.parse_args()


def _chosen(rows: Sequence[Row], names: Sequence[str]) -> list[Row]:
    """The rows asked for that this machine has, with those whose recordings they play."""
    known = {row.name: row for row in rows}
    unknown = [name for name in names if name not in known]
    if unknown:
        sys.exit(f"bench: no such row: {', '.join(unknown)}; there are {', '.join(known)}")
    wanted = {known[name].plays or name for name in names} | {*names}
    for row in rows:
        if row.name in wanted and row.missing is not None:
            print(f"bench: {row.name} skipped: {row.missing}", file=sys.stderr)
    return [row for row in rows if row.name in wanted and row.missing is None]


def _endurance(
    shop: Workshop, rows: Sequence[Row], traffic: Traffic, effort: Effort
) -> Endurance | str | None:
    """What it found, or why it failed; None without the rows that it needs."""
    named = {row.name: row for row in rows}
    if "record" not in named or "replay" not in named:
        return None
    try:
        return endure(shop, named["record"], named["replay"], traffic, effort.exchanges)
    except (RuntimeError, OSError, subprocess.CalledProcessError) as error:
        return str(error)


if __name__ == "__main__":
    sys.exit(main())
