"""Explores the demo server with each of its bugs, over stdio and HTTP, and holds it to its bars.

    python tools/explore_bugs.py                          # everything: an hour on two cores
    python tools/explore_bugs.py --seeds 0 --bug swaps-progress-tokens --transport http
    python tools/explore_bugs.py --part sound --part leftovers --part figures

    bugs       each is found with each seed in less than a minute and shrunk to at most two changes;
               the printed command fails again, and passes on the server without bugs
    sound      that server passes everything: all single changes and some pairs, with each seed
    leftovers  1,000 runs leave no process, no descriptor and no file behind
    figures    how many schedules there are, and how many run in a second; the same seed twice

Exit status 1 if any bar is missed. Seconds are only worth something on an idle machine.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import attrs

sys.path.insert(0, str(Path(__file__).parents[1]))
from mcpmock.demo.bugs import BUGS, HTTP_BUGS
from mcpmock.faults.plan import load_plan
from tests.support.explored import explored

PYTHON, MCPMOCK = sys.executable, [sys.executable, "-m", "mcpmock"]
SERVER = [PYTHON, "-m", "mcpmock.demo.server"]
TRANSPORTS = ("stdio", "http")
PARTS = ("bugs", "sound", "leftovers", "figures")
NOT_SEEN = {("http", "leaks-task-per-cancel"), ("stdio", "forgets-session-on-resume")}
"""Over HTTP the server outlives its sessions, and what leaks in it is not to be seen from outside;
stdio has nothing to resume.
"""
MAX_SECONDS, MAX_CHANGES = 60.0, 2
MARK = f"MCPMOCK_EXPLORE_BUGS={os.getpid()}"
"""In the environment of each process that is started here."""
BUG_RUNS, SOUND_RUNS, MANY_RUNS = 60, 320, 1000


@attrs.define
class Told:
    """What `explore --json` said, and when."""

    status: int = 0
    seconds: float = 0.0
    found_at: float = 0.0
    """When the first broken row came."""
    rows: list[dict[str, Any]] = attrs.field(factory=list)
    failures: list[dict[str, Any]] = attrs.field(factory=list)
    summary: dict[str, Any] = attrs.field(factory=dict)


def explore(cassette: Path, output: Path, options: Sequence[str], server: Sequence[str]) -> Told:
    command = [*MCPMOCK, "explore", str(cassette), "--json", "-o", str(output), *options, *server]
    told, began = Told(), time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            value = json.loads(line)
            match value["type"]:
                case "row":
                    told.rows.append(value)
                    if value["verdict"] == "broken" and not told.found_at:
                        told.found_at = time.monotonic() - began
                case "failure":
                    told.failures.append(value)
                case "summary":
                    told.summary = value
    told.status, told.seconds = process.returncode, time.monotonic() - began
    return told


@contextmanager
def serving(transport: str, bug: str | None) -> Iterator[tuple[list[str], int]]:
    """How the demo server is named on the command line, and its process, if it is one for all."""
    words = [*SERVER, *([] if bug is None else ["--bug", bug])]
    if transport == "stdio":
        yield ["--", *words], 0
        return
    listening = [*words, "--listen", "127.0.0.1:0"]
    with subprocess.Popen(listening, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            url = process.stderr.readline().split()[-1]
            yield ["--url", url], process.pid
        finally:
            process.terminate()
            process.stderr.read()


def show(*cells: object) -> None:
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)


def hunt(cassette: Path, bug: str, transport: str, seed: int, folder: Path) -> bool:
    """One bug with one seed: a row of the table. Gives whether every bar is met."""
    options = ["--seed", str(seed), "--max-runs", str(BUG_RUNS)]
    options += ["--strict"] if bug == "answers-after-cancel" else []
    with serving(transport, bug) as (server, _):
        told = explore(cassette, folder / "found", options, server)
        failures = [one for one in told.failures if one["confirmed"]]
        changes = [_changes(one) for one in failures]
        command = shlex.split(failures[0]["command"])[1:] if failures else []
        again = _status([*MCPMOCK, *command]) if failures else None
    with serving(transport, None) as (sound, _):
        mended = [*command[: command.index(server[0])], *sound] if failures else []
        passes = _status([*MCPMOCK, *mended]) if failures else None
    good = bool(failures) and told.seconds < MAX_SECONDS and max(changes) <= MAX_CHANGES
    good = good and (again, passes) == (1, 0)
    times = f"{told.found_at:.0f}", f"{told.seconds:.0f}"
    runs = told.summary.get("runs", 0) + told.summary.get("reruns", 0)
    found = f"{len(failures)}: {failures[0]['oracle']}" if failures else "nothing"
    most = max(changes, default=0)
    show(bug, transport, seed, *times, runs, found, most, again, passes, "" if good else "MISSED")
    return good


def _changes(failure: dict[str, Any]) -> int:
    plan = load_plan(Path(failure["plan"]))
    assert plan.schedule is not None
    return len(plan.faults) + len(plan.schedule.order) + len(plan.schedule.disconnect)


def _status(command: Sequence[str]) -> int:
    return subprocess.run(command, capture_output=True, check=False).returncode


def bugs(cassette: Path, args: argparse.Namespace, folder: Path) -> bool:
    show(
        "bug",
        "over",
        "seed",
        "found, s",
        "all, s",
        "runs",
        "failures",
        "changes",
        "again",
        "mended",
        "",
    )
    show(*["---"] * 11)
    good = True
    for transport in args.transport:
        for bug in args.bug:
            for seed in args.seeds if (transport, bug) not in NOT_SEEN else ():
                with TemporaryDirectory(dir=folder) as each:
                    good = hunt(cassette, bug, transport, seed, Path(each)) and good
    return good


def sound(cassette: Path, args: argparse.Namespace, folder: Path) -> bool:
    """The server without bugs passes everything."""
    good = True
    for transport in args.transport:
        for seed in args.seeds:
            options = ["--strict", "--seed", str(seed), "--max-runs", str(SOUND_RUNS)]
            with serving(transport, None) as (server, _):
                told = explore(cassette, folder / "none", options, server)
            good = good and told.status == 0
            wrong = [one["text"] for one in told.failures]
            show("no bug", transport, seed, f"{told.seconds:.0f} s", told.summary, wrong or "")
    return good


def leftovers(cassette: Path, args: argparse.Namespace, folder: Path) -> bool:
    """What 1,000 runs leave behind."""
    good = True
    for transport in args.transport:
        with serving(transport, None) as (server, pid):
            explore(cassette, folder / "none", ["--max-runs", "3"], server)
            before = _there(folder, pid)
            told = explore(cassette, folder / "none", ["--max-runs", str(MANY_RUNS)], server)
            # The server's sessions are over a second after their DELETE.
            subprocess.run(["sleep", "2"], check=True)
            after = _there(folder, pid)
        clean = all(after[what] <= before[what] for what in before)
        good = good and clean and told.summary["runs"] == MANY_RUNS
        for what in before:
            show(f"{MANY_RUNS} runs, {transport}", what, before[what], after[what])
    return good


def _there(folder: Path, pid: int) -> dict[str, int]:
    """How many processes of ours there are, what the server holds open, and files."""
    processes = [p for p in Path("/proc").iterdir() if p.name.isdigit() and _is_ours(p)]
    held = len(os.listdir(f"/proc/{pid}/fd")) if pid else 0
    temporary = sum(name.startswith("mcpmock") for name in os.listdir("/tmp"))
    files = sum(1 for _ in folder.rglob("*"))
    return {"processes": len(processes), "descriptors": held, "files": files + temporary}


def _is_ours(process: Path) -> bool:
    try:
        return MARK.encode() in (process / "environ").read_bytes()
    except OSError:
        return False  # it ended meanwhile


def figures(cassette: Path, args: argparse.Namespace, folder: Path) -> bool:
    """How large the space is and how quickly it is run; twice, with the same seed."""
    good = True
    for transport in ("memory", *args.transport):
        runs = []
        for _ in range(2):
            if transport == "memory":
                began = time.monotonic()
                found, rows = explored(folder, kinds="all", seed=7, runs=SOUND_RUNS)
                summary, seconds = found.summary(), time.monotonic() - began
                runs.append([row.value() for row in rows])
            else:
                options = ["--seed", "7", "--max-runs", str(SOUND_RUNS)]
                with serving(transport, None) as (server, _):
                    told = explore(cassette, folder / "none", options, server)
                summary, seconds = told.summary, told.seconds
                runs.append(
                    [
                        {**row, "reached": 0, "reaction": 0, "verdict": row["verdict"] == "broken"}
                        for row in told.rows
                    ]
                )
        planned = summary["planned"]
        pairs = planned * (planned - 1) // 2
        good = good and runs[0] == runs[1]
        rate = f"{SOUND_RUNS / seconds:.1f} runs a second"
        show(
            transport,
            f"{planned} single changes",
            f"{pairs} pairs",
            f"{SOUND_RUNS} run",
            rate,
            "same twice" if runs[0] == runs[1] else "DIFFERENT",
        )
    return good


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--bug", action="append", choices=[*BUGS, *HTTP_BUGS])
    parser.add_argument("--transport", action="append", choices=TRANSPORTS)
    parser.add_argument("--part", action="append", choices=PARTS)
    parser.add_argument("--seeds", type=int, nargs="+", default=range(11))
    args = parser.parse_args()
    variable, _, value = MARK.partition("=")
    os.environ[variable] = value
    args.bug, args.transport = args.bug or [*BUGS, *HTTP_BUGS], args.transport or TRANSPORTS
    with TemporaryDirectory() as name:
        folder, cassette = Path(name), Path(name) / "short.jsonl"
        recorder = [*MCPMOCK, "record", "-q", "-o", str(cassette), "--", *SERVER]
        client = [PYTHON, "-m", "mcpmock.demo.client", "--short", "--", *recorder]
        subprocess.run(client, check=True, capture_output=True)
        results = [globals()[part](cassette, args, folder) for part in args.part or PARTS]
    sys.exit(not all(results))


if __name__ == "__main__":
    main()
