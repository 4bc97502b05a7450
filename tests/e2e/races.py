"""Real clients through the grid of cancellation races: what each is given, the run, and what came
of it. Used by test_races.py (a sample) and tools/race_table.py (all of it).

Every cell with its reaction is a tool of its own, so a receipt that names the tool says which race
it is about. One process of a client runs many sessions.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from msgspec import UNSET

from mcpmock.cassette.file import load
from mcpmock.faults.races.grid import Cell, Reaction
from tests.support import (
    Line,
    c,
    cassette_bytes,
    dump,
    notification,
    progress,
    request,
    response,
    s,
)
from tests.support.processes import replay

from . import parts
from .http_processes import replaying
from .parts import HTTP

LEGACY, MODERN = "2025-11-25", "2026-07-28"
CLIENTS: dict[str, tuple[str, ...]] = {
    "py2": ("py2", "races.py"),
    "py1": ("py1", "races.py"),
    "ts1": ("npm", "races.mjs", "ts1"),
    "ts2": ("npm", "races.mjs", "ts2"),
    "py1-own": ("py1", "races.py"),
    "py2-modern": ("py2", "races.py"),
    "ts2-modern": ("npm", "races.mjs", "ts2"),
}
"""Client name -> the part it is in, its script and the script's arguments. The modern ones speak
2026-07-28, where a client over HTTP cancels by leaving the response.
"""
MODES: dict[str, Any] = {"py2-modern": MODERN, "ts2-modern": {"pin": MODERN}}
"""How a library is told to speak another era than that of sessions."""
TRANSPORTS = ("stdio", HTTP)
BY_HAND = ("py1",)
"""Clients whose library says nothing when a call is cancelled: the notification is sent by hand,
and the call goes on. `py1-own` leaves it at what the library does.
"""
PATIENCE = 2.0
"""Seconds that an answer waits for a cancel that never comes."""


@dataclass(frozen=True)
class Entry:
    """One race to run."""

    cell: Cell
    reaction: Reaction

    @property
    def tool(self) -> str:
        return f"{self.cell.i}-{self.cell.j}-of-{self.cell.k}-{self.reaction}"

    def answered(self, transport: str) -> bool:
        """Whether something comes for a call that goes on behind its cancel."""
        answers = ("late_result", "late_error", "error_then_result")
        ended = self.reaction in ("crash", "close") and transport != HTTP
        said = not self.cell.reacts or self.reaction in answers or ended
        return self.cell.k > 0 and said


@dataclass
class Outcome:
    """What came of it: what the caller saw, whether the session went on, what else the library
    said, and the receipts' cell; None where no cancel came.
    """

    entry: Entry
    saw: str = "not run"
    next: str = ""
    noise: Sequence[str] = ()
    drawn: dict[str, Any] | None = None

    @property
    def reached(self) -> bool:
        cell = self.entry.cell
        drawn = self.drawn or {}  # without k: it was never answered
        return (cell.i, cell.j, cell.k) == (drawn.get("i"), drawn.get("j"), drawn.get("k", 0))


@dataclass
class Played:
    """All outcomes of one client over one transport, and what went wrong beside them."""

    client: str
    transport: str
    outcomes: list[Outcome]
    beside: list[str] = field(default_factory=list)
    stderr: str = ""


def command(client: str) -> list[str]:
    part, script, *arguments = CLIENTS[client]
    program = "node" if part == "npm" else str(parts.PARTS / part / "bin" / "python")
    return [program, str(Path(__file__).parent / "clients" / script), *arguments]


def reachable(client: str, transport: str, cell: Cell) -> bool:
    """Whether this client cancels there at all."""
    after = cell.i == cell.k > 0
    if client == "py1-own":
        return after
    # With the response it has left: no way is left to cancel, and none is needed.
    return not (after and client == "py2-modern" and transport == HTTP)


def missing(client: str) -> str | None:
    """Why it cannot run here."""
    names = {"py2": "py2-auto", "py1": "py1", "ts1": "ts1", "ts2": "ts2-legacy"}
    return parts.missing(names[client.partition("-")[0]])


WHO = {"clientInfo": {"name": "recorded", "version": "1"}}
SERVER = {"name": "races", "version": "1"}
META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "recorded", "version": "1"},
}
WHOLE = {"resultType": "complete", "_meta": {"io.modelcontextprotocol/serverInfo": SERVER}}
KEPT = {"ttlMs": 0, "cacheScope": "private"}
TOOL = {"name": "after", "inputSchema": {"type": "object"}}


def recorded(entries: Iterable[Entry], *, modern: bool) -> bytes:
    """A cassette in which every race's call is answered."""
    offered: dict[str, Any] = {"capabilities": {"tools": {}}}
    meta, whole, kept = (META, WHOLE, KEPT) if modern else ({}, {}, {})
    asked = {"_meta": meta} if modern else None
    lines: list[Line] = [
        c(request(0, "server/discover", asked)),
        s(response(0, {**whole, **kept, "supportedVersions": [MODERN], **offered})),
    ]
    if not modern:
        lines = [
            c(request(0, "initialize", {"protocolVersion": LEGACY, "capabilities": {}, **WHO})),
            s(response(0, {"protocolVersion": LEGACY, **offered, "serverInfo": SERVER})),
            c(notification("notifications/initialized")),
        ]
    lines += [
        c(request(1, "tools/list", asked)),
        s(response(1, {**whole, **kept, "tools": [TOOL]})),
        *_call(2, "after", 1, meta, whole),
    ]
    for id_, entry in enumerate(entries, 3):
        lines += _call(id_, entry.tool, entry.cell.k, meta, whole)
    return cassette_bytes(*lines)


def _call(id_: int, tool: str, k: int, meta: dict[str, Any], whole: dict[str, Any]) -> list[Line]:
    token = f"t{id_}"
    answer = response(id_, {**whole, "content": [{"type": "text", "text": tool}]})
    params = {"name": tool, "arguments": {}, "_meta": {"progressToken": token, **meta}}
    return [
        c(request(id_, "tools/call", params)),
        *(s(progress(token, n)) for n in range(1, k)),
        *([s(answer)] if k else []),
    ]


def plan(entries: Iterable[Entry]) -> str:
    """A race for each of them."""
    faults = []
    for entry in entries:
        cell = entry.cell
        faults.append(
            f'[[fault]]\nname = "{entry.tool}"\nkind = "cancel_race"\n'
            f'match = {{ tool = "{entry.tool}" }}\ni = {cell.i}\nj = {cell.j}\n'
            f'reaction = "{entry.reaction}"\npatience = "{PATIENCE}s"\n'
        )
    return "\n".join(faults)


def play(
    client: str,
    transport: str,
    entries: Sequence[Entry],
    folder: Path,
    *,
    timeout: float = 60.0,
) -> Played:
    """Runs a client through these races."""
    folder.mkdir(parents=True)
    tape, faults, records = folder / "races.jsonl", folder / "plan.toml", folder / "records"
    tape.write_bytes(recorded(entries, modern=client in MODES))
    faults.write_text(plan(entries), "utf-8")
    records.mkdir()
    options = ["-q", "--repeats", "last", "--faults", str(faults)]
    job: dict[str, Any] = {
        "transport": transport,
        "mode": MODES.get(client, "legacy"),
        "record": str(records / ("http.jsonl" if transport == HTTP else "$N.jsonl")),
        "by_hand": client in BY_HAND,
        "session": 1 if transport == HTTP else 24,
        "cells": [
            {"tool": e.tool, "i": e.cell.i, "k": e.cell.k, "answered": e.answered(transport)}
            for e in entries
        ],
    }
    with ExitStack() as stack:
        if transport == HTTP:
            server = stack.enter_context(replaying(tape, *options, "--record", job["record"]))
            job["url"] = server.url
        else:
            job["command"] = replay(tape, *options, "--record", job["record"])
        told = folder / "job.json"
        told.write_bytes(dump(job))
        try:
            done = subprocess.run(
                [*command(client), str(told)],
                capture_output=True,
                check=False,
                timeout=timeout,
            )
            out, err = done.stdout, done.stderr
        except subprocess.TimeoutExpired as late:
            out, err = late.stdout or b"", (late.stderr or b"") + b"\n(out of time)"
    played = Played(client, transport, _outcomes(entries, out), stderr=err.decode()[-2000:])
    lines = [json.loads(line) for line in out.splitlines()]
    played.beside = [dump(line).decode() for line in lines if "tool" not in line]
    _add_receipts(played, records)
    return played


def is_missed(played: Played, outcome: Outcome) -> bool:
    """Whether the cell was not reached, and this client can."""
    return not outcome.reached and reachable(played.client, played.transport, outcome.entry.cell)


def _outcomes(entries: Iterable[Entry], out: bytes) -> list[Outcome]:
    told = {line["tool"]: line for line in map(json.loads, out.splitlines()) if "tool" in line}
    outcomes = []
    for entry in entries:
        line = dict(told.get(entry.tool, {}))
        line.pop("tool", None)
        outcomes.append(Outcome(entry, **line))
    return outcomes


def _add_receipts(played: Played, records: Path) -> None:
    drawn = {
        event.fault["name"]: event.fault["drawn"]
        for file in records.iterdir()
        for take in load(file).takes
        for event in take.events
        if event.fault is not UNSET and "drawn" in event.fault
    }
    for outcome in played.outcomes:
        outcome.drawn = drawn.get(outcome.entry.tool)
