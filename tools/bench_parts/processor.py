"""Processor time: what each program uses itself, its threads but not its children. All take turns
in each round, and the median counts. Waiting for a busy machine is no part of it.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from bench_parts.client import Session, limited
from bench_parts.over_http import FLOOD_CONNECTIONS
from bench_parts.over_pipes import PipeSession
from bench_parts.rows import Row, Workshop, http_rows, stdio_rows
from bench_parts.traffic import Group, Traffic
from bench_parts.unbounded import flood_without_bound

MEMBERS = {
    "location": b'"here"',
    "description": b'"a thing"',
    "key": b'"alpha"',
    "nextPageToken": b'"abc"',
}
"""Names that end as names of secrets do, or nearly: a recorder looks closely at some of them."""
_TIMEOUT_S = 30
_FIRST_ID = 7_000_000
_TRIPS = 400
_HTTP_TRIPS = 150
_FIRST_TRIPS = 20
"""Trips before those that count: what is only needed once is made in them."""
_FLOODED = ("trio", "record", "mcp-rec", "replay", "mcp-rec-replay")
_ONE_BY_ONE = ("trio", "record", "mcp-rec", "mcp-cassette", "replay", "mcp-rec-replay")
_HTTP = (
    *("http-relay", "http-record", "http-mcp-cassette"),
    *("http-replay", "http-mcp-cassette-replay"),
)
# A server that notes how much its parent has used when the first request comes.
_SERVER = """
import sys
from pathlib import Path
sys.path[0] = sys.argv[1]
from bench_parts.processor import used
import os
sys.stdin.readline()
Path(sys.argv[2]).write_text(str(used(os.getppid())))
"""

Run = Callable[[], Iterator[tuple[str, float]]]


@dataclass
class Processor:
    """Figures of all rounds, by what was measured and by program."""

    found: dict[str, dict[str, list[float]]] = field(default_factory=dict)

    def add(self, what: str, program: str, value: float) -> None:
        self.found.setdefault(what, {}).setdefault(program, []).append(value)

    @property
    def medians(self) -> dict[str, dict[str, float]]:
        return {
            what: {name: statistics.median(values) for name, values in by_program.items()}
            for what, by_program in self.found.items()
        }

    def text(self) -> Iterator[str]:
        for what, by_program in self.medians.items():
            shown = ", ".join(f"{name} {value:.4g}" for name, value in by_program.items())
            yield f"{what}: {shown}"


def used(pid: int) -> float:
    """Seconds of processor time that a process has used, without its children."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9


def measure_processor(
    shops: Mapping[str, Workshop], traffic: Traffic, port: int, rounds: int, calls: int
) -> Processor:
    """Measure the mcpmock of each of these workshops, and everything else once a round."""
    processor = Processor()
    flood = b"".join(group.data for group in traffic.grouped(_FIRST_ID, calls))
    trips = traffic.small(_FIRST_ID + calls, _TRIPS)
    for _ in range(rounds):
        every = [_runs(shop, flood, trips, traffic, port, calls) for shop in shops.values()]
        for together in zip(*every, strict=True):
            for name, (what, program, run) in zip(shops, together, strict=True):
                if program == "mcpmock":
                    _add(processor, what, name, run)
                elif name == next(iter(shops)):
                    _add(processor, what, program, run)
        processor.add("start, ms", "import trio, msgspec", _import(next(iter(shops.values()))))
    return processor


def _add(processor: Processor, what: str, program: str, run: Run) -> None:
    try:
        with limited(_TIMEOUT_S):
            for unit, value in run():
                processor.add(f"{what}, {unit}", program, value)
    except (RuntimeError, OSError, subprocess.SubprocessError) as error:
        print(f"bench: {what}: {program}: {error}", file=sys.stderr)


def _runs(
    shop: Workshop, flood: bytes, trips: Sequence[bytes], traffic: Traffic, port: int, calls: int
) -> Iterator[tuple[str, str, Run]]:
    """Everything that is measured: what, of which program, and how. Players come behind the
    recorders that they play.
    """
    rows = {row.name: row for row in (*stdio_rows(shop), *http_rows(shop, port))}
    rows = {name: row for name, row in rows.items() if not row.missing}
    for name in filter(rows.__contains__, _FLOODED):
        what, program = _named(rows[name])
        yield f"{what} flooded", program, partial(_flood, shop, rows[name], flood, calls)
    for member, value in MEMBERS.items():
        named = flood.replace(b'"query":', b'"%b":%b,"query":' % (member.encode(), value))
        run = partial(_flood, shop, rows["record"], named, calls, member)
        yield f'record flooded, with "{member}"', "mcpmock", run
    for name in filter(rows.__contains__, _ONE_BY_ONE):
        what, program = _named(rows[name])
        yield f"{what} one by one", program, partial(_trips, shop, rows[name], trips, "stdio")
    first = _FIRST_ID + calls + _TRIPS
    follows = traffic.follows(first, _HTTP_TRIPS)
    floods = [traffic.mixed(first + n * _TRIPS, _TRIPS) for n in (1, 2)]
    for name in filter(rows.__contains__, _HTTP):
        what, program = _named(rows[name])
        for kind, asked in (("JSON", trips[:_HTTP_TRIPS]), ("stream", follows)):
            run = partial(_trips, shop, rows[name], asked, kind)
            yield f"{what} over HTTP, {kind}", program, run
        run = partial(_at_once, shop, rows[name], floods)
        yield f"{what} over HTTP, {FLOOD_CONNECTIONS} at once", program, run
    proxy = Row("proxy", [*shop.mcpmock, "proxy", "--", *shop.server])
    for row in (rows["record"], proxy, rows["replay"]):
        yield f"start of {row.name} to its first answer", "mcpmock", partial(_start, shop, row)
    for command in ("drive", "verify"):
        run = partial(_start_of_client, shop, command)
        yield f"start of {command} to its first request", "mcpmock", run


def _named(row: Row) -> tuple[str, str]:
    """What a row does, and by which program."""
    if row.peer:
        return "replay" if row.plays else "record", row.peer
    if "relay" in row.name or row.name == "trio":
        return "record", "bare relay"  # nothing that records costs less
    return row.name.removeprefix("http-"), "mcpmock"


def _open(shop: Workshop, row: Row, label: str) -> Session:
    file = shop.folder / f"processor-{row.plays or row.name}-{label}.jsonl"
    if not row.plays:
        file.unlink(missing_ok=True)
    session = row.open(file, shop)
    session.exact = row.peer_role != "replay"
    return session


def _flood(
    shop: Workshop, row: Row, data: bytes, calls: int, label: str = ""
) -> Iterator[tuple[str, float]]:
    with _open(shop, row, f"flood{label}") as session:
        assert isinstance(session, PipeSession)
        session.initialize()
        before = used(session.pid)
        seconds = flood_without_bound(session, data, calls)
        yield "us a call", (used(session.pid) - before) / calls * 1e6
    if not label:
        yield "us elapsed a call", seconds / calls * 1e6


def _trips(
    shop: Workshop, row: Row, requests: Sequence[bytes], label: str
) -> Iterator[tuple[str, float]]:
    with _open(shop, row, label) as session:
        session.initialize()
        session.ping_pong(requests[:_FIRST_TRIPS])
        before = used(session.pid)
        times = session.ping_pong(requests[_FIRST_TRIPS:])
        yield "us a call", (used(session.pid) - before) / len(times) * 1e6
    if not row.http:
        yield "p50 us", statistics.median(times) * 1e6


def _at_once(
    shop: Workshop, row: Row, floods: Sequence[Sequence[Group]]
) -> Iterator[tuple[str, float]]:
    with _open(shop, row, "flood") as session:
        session.initialize()
        for flood in floods:  # the last one counts
            before = used(session.pid)
            requests = session.flood(flood).requests
        yield "us a call", (used(session.pid) - before) / requests * 1e6


def _start(shop: Workshop, row: Row) -> Iterator[tuple[str, float]]:
    with _open(shop, row, "stdio" if row.plays else "start") as session:
        session.initialize()
        yield "ms", used(session.pid) * 1e3


def _start_of_client(shop: Workshop, command: str) -> Iterator[tuple[str, float]]:
    recorded = shop.folder / "processor-record-stdio.jsonl"
    noted = shop.folder / "processor-noted"
    noted.unlink(missing_ok=True)
    tools = str(Path(__file__).resolve().parents[1])
    server = [sys.executable, "-c", _SERVER, tools, str(noted)]
    subprocess.run(
        [*shop.mcpmock, command, str(recorded), "--", *server], env=shop.env, check=False,
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    yield "ms", float(noted.read_text()) * 1e3


def _import(shop: Workshop) -> float:
    code = (
        "import trio, msgspec, time; print(time.clock_gettime(time.CLOCK_PROCESS_CPUTIME_ID) * 1e3)"
    )
    command = [sys.executable, "-c", code]
    return float(subprocess.run(command, env=shop.env, check=True, stdout=subprocess.PIPE).stdout)
