#!/usr/bin/env python3
"""Measures how commands that read a cassette grow with it: time and memory for each event.

    tools/growth.py [--rows load,check,..] [--events 1000,10000,..] [--json]

Each figure is a process of its own, less what the same command needs for a cassette of a few
events: processor time in microseconds for each event, and the peak memory in bytes for each event
beyond the bytes of the file itself.
What takes less time than that start is in parentheses, and is not judged: it is known no better
than the start is. A row is flat if its largest cassette costs no more for each event than
MAX_GROWTH times the best of the smaller ones; exit status 1 if one is not, or if one that holds no
messages (STREAMED) needs more than MAX_BYTES beyond the file for each event of a million. The
traffic is made from a seed: calls that overlap, with progress, errors and cancels. `diff` compares
two such recordings, in which every thousandth answer differs; the events of both count.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

_REPLAY = """
import gc, sys
from pathlib import Path
from mcpmock.cassette.file import load
from mcpmock.cli.run_setup import spare_collections
from mcpmock.playback.player import PlayerOptions, SessionSelection
from mcpmock.playback.session_player import SessionPlayer

gc.disable()
selection = SessionSelection(load(Path(sys.argv[1])), PlayerOptions())
spare_collections()
gc.enable()
player, now = SessionPlayer(selection), 0.0
list(player.begin(now))
for event in selection.cassette.takes[0].events:
    if event.d == "c2s":
        now += 0.0025
        list(player.feed([event.frame], now))
        list(player.wake(now + 0.0024))
sys.exit(2 * player.missed)
"""
"""The player alone and a client that does what was recorded: no process, no pipe."""
ROWS = {
    "load": ["-c", "import sys, mcpmock; mcpmock.load(sys.argv[1])", "{old}"],
    "replay": ["-c", _REPLAY, "{old}"],
    "check": ["-m", "mcpmock", "check", "{old}"],
    "stats": ["-m", "mcpmock", "stats", "{old}"],
    "show": ["-m", "mcpmock", "show", "{old}"],
    "diff": ["-m", "mcpmock", "diff", "{old}", "{new}"],
}
"""What Python is called with. `load` is what the others begin with."""
FILES = {"diff": 2}
"""How many cassettes of a size are read, if not one."""
EVENTS = (1000, 10_000, 100_000, 1_000_000)
MAX_GROWTH = 1.25
STREAMED = ("load", "check", "stats", "show", "diff")
MAX_BYTES = 300
_FEW = 10
_OVERLAP = 6
_TEXT = "find all the callers of handle in this file and say what each of them passes to it. "


@dataclass
class Figure:
    """What one process used."""

    seconds: float
    """Of the processor, in user mode and in the kernel."""
    peak: int
    """Bytes; of what a row is judged by, those beyond the file."""
    judged: bool = True
    """Whether it is well above what a start takes."""


def lines(events: int, *, changed: bool) -> Iterator[str]:
    """The lines of a session with so many events."""
    dice = random.Random(20261123)
    target = ["python", "server.py"]
    yield json.dumps(
        {
            "mcpmock": 1,
            "recorded_at": "2026-11-23T10:00:00.000Z",
            "transport": "stdio",
            "target": target,
        }
    )
    now = 0
    for n, (way, message) in enumerate(_messages(dice, changed=changed), 1):
        if n > events:
            return
        now += dice.randrange(50, 2000)
        yield f'{{"n":{n},"t":{now},"d":"{way}","m":{json.dumps(message, separators=(",", ":"))}}}'


def _messages(dice: random.Random, *, changed: bool) -> Iterator[tuple[str, dict[str, object]]]:
    """Both sides of a session without an end: (direction, message)."""
    agreed: dict[str, object] = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}}
    client: object = {"name": "client", "version": "1"}
    server: object = {"name": "server", "version": "1"}
    yield "c2s", _request(0, "initialize", agreed | {"capabilities": {}, "clientInfo": client})
    yield "s2c", _answer(0, result=agreed | {"serverInfo": server})
    yield "c2s", _notification("notifications/initialized", {})
    open_calls: list[int] = []
    id_ = 0
    while True:
        while len(open_calls) < _OVERLAP:
            id_ += 1
            yield "c2s", _request(id_, "tools/call", _params(id_, dice))
            open_calls.append(id_)
        call = open_calls.pop(dice.randrange(_OVERLAP))
        if call % 8 == 0:
            progress: dict[str, object] = {"progressToken": call, "progress": 1, "total": 2}
            yield "s2c", _notification("notifications/progress", progress)
        if call % 100 == 3:
            yield "c2s", _notification("notifications/cancelled", {"requestId": call})
        elif call % 50 == 7:
            yield "s2c", _answer(call, error={"code": -32602, "message": "no such file"})
        else:
            word = "new" if changed and call % 1000 == 11 else "old"
            content = [{"type": "text", "text": f"{word} {call}: {_TEXT * 2}"}]
            yield "s2c", _answer(call, result={"content": content, "isError": False})


def _params(id_: int, dice: random.Random) -> dict[str, object]:
    arguments = {
        "path": f"src/package_{id_ % 977}/module_{id_}.py",
        "query": _TEXT[: dice.randrange(40, 80)],
    }
    meta = {"_meta": {"progressToken": id_}} if id_ % 8 == 0 else {}
    return {"name": f"tool_{id_ % 5}", "arguments": arguments, **meta}


def _request(id_: int, method: str, params: dict[str, object]) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": id_, "method": method, "params": params}


def _answer(id_: int, **outcome: object) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": id_, **outcome}


def _notification(method: str, params: dict[str, object]) -> dict[str, object]:
    return {"jsonrpc": "2.0", "method": method, "params": params}


def write(path: Path, events: int, *, changed: bool = False) -> Path:
    with path.open("w") as file:
        file.writelines(f"{line}\n" for line in lines(events, changed=changed))
    return path


def run(arguments: Sequence[str]) -> Figure:
    """Runs Python to its end and takes what the kernel says of it."""
    command = [sys.executable, *arguments]
    quiet = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_WRONLY, 0) for fd in (1, 2)]
    pid = os.posix_spawn(sys.executable, command, os.environ, file_actions=quiet)
    _, status, used = os.wait4(pid, 0)
    if os.waitstatus_to_exitcode(status) not in (0, 1):  # 1: `diff` found differences
        sys.exit(f"{' '.join(command)}: exit status {os.waitstatus_to_exitcode(status)}")
    return Figure(used.ru_utime + used.ru_stime, used.ru_maxrss * 1024)


def measure(rows: Sequence[str], sizes: Sequence[int], folder: Path) -> dict[str, list[Figure]]:
    """For each row and size, what an event costs."""
    found: dict[str, list[Figure]] = {row: [] for row in rows}
    floor: dict[str, Figure] = {}
    for size in (_FEW, *sizes):
        files = {
            "old": str(write(folder / "old.jsonl", size)),
            "new": str(write(folder / "new.jsonl", size, changed=True)),
        }
        for row in rows:
            arguments = [part.format_map(files) for part in ROWS[row]]
            # Small ones are measured often: what starting Python costs differs by milliseconds.
            again = [run(arguments) for _ in range(max(1, min(15, 30_000 // size)))]
            best = Figure(min(one.seconds for one in again), min(one.peak for one in again))
            if size == _FEW:
                floor[row] = best
                continue
            seconds, peak = best.seconds - floor[row].seconds, best.peak - floor[row].peak
            peak -= sum(
                Path(files[name]).stat().st_size for name in list(files)[: FILES.get(row, 1)]
            )
            events, judged = size * FILES.get(row, 1), seconds > floor[row].seconds
            found[row].append(Figure(seconds / events, round(peak / events), judged))
    return found


def grows(row: Sequence[Figure]) -> bool:
    judged = [figure.seconds for figure in row if figure.judged]
    return len(judged) > 1 and judged[-1] > MAX_GROWTH * min(judged[:-1])


def is_large(row: str, figures: Sequence[Figure], sizes: Sequence[int]) -> bool:
    return row in STREAMED and sizes[-1] == EVENTS[-1] and figures[-1].peak > MAX_BYTES


def table(found: dict[str, list[Figure]], sizes: Sequence[int]) -> Iterator[str]:
    heads = "".join(f"{size:>20,}" for size in sizes)
    yield f"{'for each event':16}{heads}"
    for row, figures in found.items():
        texts = (f"{one.seconds * 1e6:.1f} us, {one.peak:,} B" for one in figures)
        cells = (
            text if one.judged else f"({text})" for text, one in zip(texts, figures, strict=True)
        )
        verdict = "  grows" if grows(figures) else ""
        verdict += f"  more than {MAX_BYTES} B" if is_large(row, figures, sizes) else ""
        yield f"{row:16}{''.join(f'{cell:>20}' for cell in cells)}{verdict}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", default=",".join(ROWS), help="of " + ", ".join(ROWS))
    parser.add_argument("--events", default=",".join(map(str, EVENTS)))
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = options.rows.split(",")
    sizes = [int(size) for size in options.events.split(",")]
    with tempfile.TemporaryDirectory() as folder:
        found = measure(rows, sizes, Path(folder))
    if options.json:
        cells = {
            row: [
                {
                    "events": size,
                    "us": one.seconds * 1e6,
                    "bytes": one.peak,
                    "judged": one.judged,
                }
                for size, one in zip(sizes, figures, strict=True)
            ]
            for row, figures in found.items()
        }
        print(json.dumps(cells))
    else:
        print(*table(found, sizes), sep="\n")
    large = any(is_large(row, figures, sizes) for row, figures in found.items())
    return int(large or any(map(grows, found.values())))


if __name__ == "__main__":
    sys.exit(main())
