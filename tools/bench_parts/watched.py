"""Recording while a page follows: 10,000 events a second through `mcpmock record`, in turn alone
and with `mcpmock watch` and a reader of its event stream beside it.
"""

from __future__ import annotations

import os
import resource
import select
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bench_parts.client import limited
from bench_parts.over_pipes import PipeSession
from bench_parts.rows import Row, Workshop
from bench_parts.traffic import Traffic

SECONDS = 10
CALLS_A_SECOND = 5000
"""Each is two events."""
_TICK_S = 0.01
_TIMEOUT_S = 90
_LAST_ROWS_S = 2.0
_MAX_READ = 1 << 16
_FIRST_ID = 7_000_000
_READER = """
import json, sys, urllib.request
url, _, token = sys.argv[1].partition("#token=")
asked = urllib.request.Request(url + "events?file=0", headers={"Mcpmock-Token": token})
rows = 0
for line in urllib.request.urlopen(asked):
    if line.startswith(b"data: "):
        rows += line.count(b'"n":') and len(json.loads(line[6:])["rows"]["n"])
        print(rows, flush=True)
"""


@dataclass
class Watched:
    """What the recorder did, alone and beside a page, by round."""

    speeds: dict[str, list[float]] = field(default_factory=dict)
    """Events a second."""
    waits: dict[str, list[float]] = field(default_factory=dict)
    """Seconds from the write of calls to their last answer: the median of a round."""
    work: dict[str, list[float]] = field(default_factory=dict)
    """Seconds of processor time of the recorder and its server."""
    shown: list[int] = field(default_factory=list)
    """How many of the events the page had at the end of a round."""
    events: int = 0

    def ratio(self, what: dict[str, list[float]]) -> float:
        """Beside a page, by alone."""
        return statistics.median(
            page / alone for alone, page in zip(what["alone"], what["page"], strict=True)
        )


def watched(shop: Workshop, row: Row, traffic: Traffic, rounds: int, seconds: int) -> Watched:
    """So many rounds of both; raises RuntimeError if the recorder fails."""
    found = Watched(events=2 * CALLS_A_SECOND * seconds)
    calls = traffic.small(_FIRST_ID, CALLS_A_SECOND * seconds)
    for number in range(rounds):
        for way in ("alone", "page"):
            file = shop.folder / f"watched-{number}-{way}.jsonl"
            _round(shop, row, file, calls, way, found)
    return found


def _round(
    shop: Workshop, row: Row, file: Path, calls: list[bytes], way: str, found: Watched
) -> None:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with limited(_TIMEOUT_S), _page(shop, file, way == "page") as page:
        with row.open(file, shop) as session:
            assert isinstance(session, PipeSession)
            session.initialize()
            taken, waits = _play(session, calls)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        found.speeds.setdefault(way, []).append(2 * len(calls) / taken)
        found.waits.setdefault(way, []).append(statistics.median(waits))
        spent = (after.ru_utime - before.ru_utime) + (after.ru_stime - before.ru_stime)
        found.work.setdefault(way, []).append(spent)
        if page is not None:
            found.shown.append(_shown(page, found.events))


def _play(session: PipeSession, calls: list[bytes]) -> tuple[float, list[float]]:
    """Send the calls at their pace; the seconds until the last answer, and those of each tick."""
    source, target = session.descriptors
    a_tick = round(CALLS_A_SECOND * _TICK_S)
    waits: list[float] = []
    began = time.perf_counter()
    for tick, first in enumerate(range(0, len(calls), a_tick)):
        due = began + tick * _TICK_S - time.perf_counter()
        if due > 0:
            _pause(due)
        sent, some = time.perf_counter(), calls[first : first + a_tick]
        os.write(target, b"".join(some))
        answered = 0
        while answered < len(some):
            read = os.read(source, _MAX_READ)
            if not read:
                raise RuntimeError("ended without an answer")
            answered += read.count(b"\n")
        waits.append(time.perf_counter() - sent)
    return time.perf_counter() - began, waits


def _shown(page: Path, events: int) -> int:
    """How many rows the page has once the last events are there, or none came for a while."""
    until, shown = time.perf_counter() + _LAST_ROWS_S, 0
    while shown < events and time.perf_counter() < until:
        _pause(_TICK_S)
        found = int((page.read_text().split("\n")[:-1] or ["0"])[-1])
        if found > shown:
            until, shown = time.perf_counter() + _LAST_ROWS_S, found
    return shown


def _pause(seconds: float) -> None:
    select.select([], [], [], seconds)


@contextmanager
def _page(shop: Workshop, file: Path, wanted: bool) -> Iterator[Path | None]:
    """A page that follows the file: what its reader prints, the number of rows at each update."""
    if not wanted:
        yield None
        return
    told, printed = file.with_suffix(".url"), file.with_suffix(".rows")
    with told.open("wb") as errors, printed.open("wb") as rows:
        watch = subprocess.Popen([*shop.mcpmock, "watch", str(file)], stderr=errors, env=shop.env)
        try:
            while not (url := told.read_text()).endswith("\n"):
                _pause(_TICK_S)
            command = [sys.executable, "-c", _READER, url.split()[-1]]
            reader = subprocess.Popen(command, stdout=rows, env=shop.env)
            try:
                yield printed
            finally:
                reader.kill()
                reader.wait()
        finally:
            watch.terminate()
            watch.wait()
