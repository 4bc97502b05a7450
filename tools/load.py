#!/usr/bin/env python3
"""Loads a fake server and a real one with the same recorded clients, and looks for crossed answers.

    python tools/load.py [--sessions 500] [--concurrency 50] [--workers 2] [--server NAME]

Twenty clients that differ in every argument are played to a real server (`tools/e2e_parts.sh py2`
installs it) and recorded: calls that overlap, progress, a cancel and, in the sessions of the legacy
era, an answer to a question of the server. That recording is the load, on the real server and on a
replay of it, for each era. Each load runs twice: for the figures, and recorded. In the recording
every answer has to be that of its own session, call and exchange. Exit status 1 if a call failed or
an answer crossed.

The replay of the modern era, which has no sessions, is loaded in one process and in `--workers`. On
a machine with few cores the client takes what the second process would need, so the calls/s say
little. What workers are worth is the processor time of the busiest of them against that of one
process for the same calls: the last line has the ratio, N where N workers share evenly.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import mcpmock  # noqa: E402
from mcpmock.protocol.messages import C2S, Request, Response, decode, member  # noqa: E402
from mcpmock.protocol.transport_facts import SESSION_HEADER, HttpRequest  # noqa: E402
from tests.e2e.http_processes import real_server, replaying  # noqa: E402
from tests.e2e.parts import HTTP  # noqa: E402
from tests.support import (  # noqa: E402
    INITIALIZED,
    WELCOME,
    Line,
    c,
    cancelled,
    cassette_bytes,
    request,
    response,
    s,
)
from tests.support.processes import MCPMOCK  # noqa: E402

CLIENTS = 20
ABOUT = {"name": "load", "version": "1"}
OPENING = (
    c(
        request(
            0,
            "initialize",
            {
                "protocolVersion": "2025-11-25",
                "capabilities": {"sampling": {}},
                "clientInfo": ABOUT,
            },
        )
    ),
    s(WELCOME),
    c(INITIALIZED),
)
MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": ABOUT,
    "io.modelcontextprotocol/clientCapabilities": {},
}


def calls(client: int, meta: dict[str, Any]) -> Iterator[Line]:
    """What a client does in either era. The sum of `add` is no other call's."""

    def call(id_: int, tool: str, **arguments: Any) -> bytes:
        params = {"name": tool, "arguments": arguments}
        about = {**meta, "progressToken": id_} if tool == "countdown" else meta
        return request(id_, "tools/call", {**params, "_meta": about} if about else params)

    first, second = (call(id_, "add", a=client * 1000, b=id_) for id_ in (1, 2))
    yield from (c(first), c(second), s(response(2)), s(response(1)))
    yield from (c(call(3, "countdown", start=2)), s(response(3)))
    yield from (c(call(4, "add", a=client * 1000, b=4)), s(response(4)))
    yield from (c(call(5, "hold", gate=f"gate {client}")), c(cancelled(5)))


def question(client: int) -> Iterator[Line]:
    """The server asks, and its answer holds what it was told."""
    text = f"client {client}"
    message = {"role": "user", "content": {"type": "text", "text": text}}
    told = {"role": "assistant", "model": "m", "content": {"type": "text", "text": text}}
    yield c(request(6, "tools/call", {"name": "ask_model", "arguments": {"text": text}}))
    yield s(request(7, "sampling/createMessage", {"messages": [message], "maxTokens": 20}))
    yield c(response(7, told))
    yield s(response(6))


def clients(*, modern: bool) -> bytes:
    """The sessions as a cassette whose answers nobody reads: it is driven, not replayed."""
    lines: list[Line] = []
    for client in range(CLIENTS):
        lines += [("take", None)] if client else []
        lines += [] if modern else OPENING
        lines += calls(client, MODERN if modern else {})
        lines += [] if modern else question(client)
    return cassette_bytes(*lines)


def drive(cassette: Path, url: str, *options: str) -> dict[str, Any]:
    argv = [*MCPMOCK, "drive", str(cassette), "--url", url, "--json", *options]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    sys.stderr.write(done.stderr)
    if done.returncode not in (0, 1):
        raise SystemExit(f"{' '.join(argv)}: exit status {done.returncode}")
    figures: dict[str, Any] = json.loads(done.stdout or "{}")
    return figures


def crossed(recording: Path) -> tuple[int, int]:
    """How many answers of `add` and `ask_model` there are, and how many of them are another call's,
    do not come, or how many sessions share an id.
    """
    answers = wrong = 0
    expected: dict[tuple[int | None, bytes], str] = {}
    ids: set[tuple[int, str]] = set()
    for event in (event for take in mcpmock.load(recording).takes for event in take.events):
        frame = event.frame
        if frame is None:
            continue
        content = frame.content
        if isinstance(content, HttpRequest) and (id_ := content.header(SESSION_HEADER)):
            ids.add((event.s, id_))
        elif isinstance(content, Request) and frame.direction is C2S:
            arguments = decode(member(content.params, "arguments") or b"{}")
            if content.tool == "add":
                expected[event.x, content.id] = f"{arguments['a'] + arguments['b']:.1f}"
            elif content.tool == "ask_model":
                expected[event.x, content.id] = f"m: {arguments['text']}"
        elif isinstance(content, Response) and frame.direction is not C2S:
            want = expected.pop((event.x, content.id or b""), None)
            if want is not None:
                answers += 1
                result = decode(content.result or b"{}")
                wrong += [block["text"] for block in result.get("content", ())] != [want]
    shared = len(ids) - min(len({session for session, _ in ids}), len({id_ for _, id_ in ids}))
    return answers, wrong + len(expected) + shared


def run(name: str, cassette: Path, url: str, load: Sequence[str], folder: Path) -> bool:
    """Prints a row. Gives whether all went well."""
    figures = drive(cassette, url, *load)
    recording = folder / f"{name.replace(' ', '-')}.jsonl"
    again = drive(cassette, url, *load, "-o", str(recording))
    answers, wrong = crossed(recording)
    errors = sum(call["errors"] for call in (*figures["calls"], *again["calls"]))
    count = sum(call["n"] for call in figures["calls"])
    [add] = (call for call in figures["calls"] if call["tool"] == "add")
    print(
        f"{name:<24} {figures['sessions']:>6} sessions {figures['seconds']:>7.2f} s "
        f"{count / figures['seconds']:>7,.0f} calls/s   add p50 {add['p50_ms']:>6.1f} ms, "
        f"p99 {add['p99_ms']:>6.1f} ms   {errors} errors, {wrong} of {answers} crossed",
        flush=True,
    )
    return bool(errors == wrong == 0 < answers)


def processor_seconds(pid: int) -> list[float]:
    """What each worker of a replay has used so far; of a replay without workers, it alone."""
    workers = Path(f"/proc/{pid}/task/{pid}/children").read_text().split() or [str(pid)]
    stats = (Path(f"/proc/{worker}/stat").read_text().rpartition(")")[2] for worker in workers)
    ticks = (sum(map(int, stat.split()[11:13])) for stat in stats)  # utime and stime
    return [one / os.sysconf("SC_CLK_TCK") for one in ticks]


def main() -> int:
    options = _options()
    well = True
    with tempfile.TemporaryDirectory(prefix="mcpmock-load-") as name:
        folder = Path(name)
        for era in ("legacy", "modern"):
            # Without sessions, all clients of a recording are one.
            sessions = options.sessions if era == "legacy" else -(-options.sessions // CLIENTS)
            load = ("--sessions", str(sessions), "--concurrency", str(options.concurrency))
            script, recorded = folder / f"{era}.jsonl", folder / f"recorded-{era}.jsonl"
            script.write_bytes(clients(modern=era == "modern"))
            with real_server(options.server, HTTP, folder / f"work-{era}") as server:
                drive(script, server.url, "-o", str(recorded))
                well &= run(f"{options.server} {era}", recorded, server.url, load, folder)
            spent: list[Sequence[float]] = []
            for workers in (1, options.workers) if era == "modern" else (1,):
                share = ("--workers", str(workers)) if workers > 1 else ()
                with replaying(recorded, "-q", *share) as fake:
                    words = f"replay {era}" + (f" x{workers}" if workers > 1 else "")
                    before = processor_seconds(fake.process.pid)
                    well &= run(words, recorded, fake.url, load, folder)
                    after = processor_seconds(fake.process.pid)
                # A worker may start after the first look.
                pairs = zip_longest(after, before, fillvalue=0.0)
                spent.append([now - then for now, then in pairs])
    [alone], each = spent
    shares = " + ".join(f"{seconds:.2f}" for seconds in each)
    print(f"processor time: {alone:.2f} s in one process, {shares} s in {len(each)}: ", end="")
    print(f"{alone / max(each):.2f} x the calls, where each has a core")
    return int(not well)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sessions", type=int, default=500)
    parser.add_argument("--concurrency", type=int, default=50)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--server", default="workshop-py2")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
