"""A table of endings: each way in which a client ends, times each way in which a server does.

Recorded, a session ends as it does without us: the client is told the same and has the same exit
status, the server hears the same of its end, nothing is left, and the cassette is whole.

The SDKs' ladders (end of input, 2 s, SIGTERM, 2 s, SIGKILL) are their own, and so are the seconds
that the servers take (servers/endings.py): the cells of a test run at once. Of the SDKs, one of
each language runs by default, all with MCPMOCK_E2E_ALL=1.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import attrs
import pytest

from mcpmock.protocol.messages import S2C
from tests.support.every import EVERY
from tests.support.processes import (
    END,
    MCPMOCK,
    crossed,
    gone,
    read_line,
    record,
    running,
    stdin_of,
    stdout_of,
    whole_take,
    write_all,
)

from . import parts
from .servers.endings import WAYS

pytestmark = pytest.mark.e2e

SDKS = {"py1": "py1", "py2": "py2", "ts1": "npm", "ts2": "npm"}
"""The client -> the part it is in."""
BY_DEFAULT = ("py2", "ts1")
HERE = Path(__file__).parent
CALLS = b"".join(
    json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"
    for message in (
        {
            "id": 1,
            "method": "initialize",
            "params": {
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": {"name": "shell", "version": "1"},
            },
        },
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": {"name": "work", "arguments": {}}},
    )
)
ANSWER = b"done"


@attrs.frozen
class Cell:
    """A client and one way of a server, with us or without."""

    client: str
    way: str
    recorded: bool
    folder: Path

    @property
    def name(self) -> str:
        return f"{self.way} {'recorded' if self.recorded else 'direct'}"

    @property
    def cassette(self) -> Path:
        return self.folder / f"{self.way}.jsonl"

    @property
    def log(self) -> Path:
        return self.folder / f"{self.name}.log"

    @property
    def command(self) -> list[str]:
        script = HERE / "servers" / "endings.py"
        # SDK 1.x for Python fails on what comes while it closes.
        last = ["last"] if self.client in SHELL else []
        server = [sys.executable, "-S", str(script), self.way, str(self.log), *last]
        return record(self.cassette, server) if self.recorded else server

    def heard(self) -> list[str]:
        """What the server noted of its end, once it and its grandchild have ended."""
        pids, *notes = self.log.read_text("ascii").splitlines()
        assert gone(json.loads(pids), END)
        return notes


Outcome = tuple[Any, int]
"""What the client was told, and its exit status as a shell says it."""


def piped(cell: Cell) -> Outcome:
    """`echo CALLS | SERVER`."""
    argv = ["bash", "-c", 'printf %s "$0" | "$@"', CALLS.decode(), *cell.command]
    done = subprocess.run(argv, stdout=subprocess.PIPE, timeout=END, check=False)
    return done.stdout, shell_status(done.returncode)


def told(process: subprocess.Popen[bytes], way: str) -> bytes:
    """What came until the call was answered; where the server is late, until it was heard."""
    said = read_line(process) + read_line(process)
    return said if WAYS[way].late else said + read_line(process)


def interrupted(cell: Cell) -> Outcome:
    """Ctrl-C, which a terminal sends to all that a shell started."""
    with running(["bash", "-c", 'cat | "$@"', "bash", *cell.command]) as shell:
        write_all(stdin_of(shell), CALLS)
        said = told(shell, cell.way)
        os.killpg(shell.pid, signal.SIGINT)
        said += stdout_of(shell).read()
        return said, shell_status(shell.wait(END))


HOLDING = """
import os, subprocess, sys
calls, *command = sys.argv[1:]
server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
os.write(1, b"%d\\n" % server.pid)
server.stdin.write(calls.encode())
while line := server.stdout.readline():
    os.write(1, line)
"""


def killed(cell: Cell) -> Outcome:
    """A client that is gone from one moment to the next, its pipes with it."""
    with running([sys.executable, "-S", "-c", HOLDING, CALLS.decode(), *cell.command]) as client:
        server = int(read_line(client))
        said = told(client, cell.way)
        client.kill()
        assert gone([server], END)
        return said, shell_status(client.wait(END))


def shell_status(returncode: int) -> int:
    return 128 - returncode if returncode < 0 else returncode


def sdk_outcomes(client: str, folder: Path, cells: list[Cell]) -> list[Outcome]:
    """One program of an SDK, with a session for each cell at once."""
    job = folder / "job.json"
    job.write_text(json.dumps({cell.name: cell.command for cell in cells}), "utf-8")
    scripts = HERE / "clients"
    if SDKS[client] == "npm":
        argv = ["node", str(scripts / "endings.mjs"), client, str(job)]
    else:
        python = parts.PARTS / SDKS[client] / "bin" / "python"
        argv = [str(python), str(scripts / "endings.py"), str(job)]
    done = subprocess.run(argv, stdout=subprocess.PIPE, timeout=3 * END, check=False)
    said = json.loads(done.stdout)
    return [(said[cell.name], done.returncode) for cell in cells]


SHELL: dict[str, Callable[[Cell], Outcome]] = {
    "pipe": piped,
    "Ctrl-C": interrupted,
    "killed": killed,
}


def outcomes(client: str, folder: Path) -> dict[Cell, tuple[Outcome, list[str]]]:
    """What each cell of a row comes to."""
    folder.mkdir()
    cells = [Cell(client, way, recorded, folder) for recorded in (False, True) for way in WAYS]
    if client in SHELL:
        with ThreadPoolExecutor(len(cells)) as pool:
            found = list(pool.map(SHELL[client], cells))
    else:
        found = sdk_outcomes(client, folder, cells)
    return {cell: (outcome, cell.heard()) for cell, outcome in zip(cells, found, strict=True)}


@pytest.mark.parametrize(
    "clients",
    [tuple(SHELL), *(pytest.param((client,), marks=pytest.mark.parts) for client in SDKS)],
    ids=["shell", *SDKS],
)
def test_recorded_as_direct(clients: tuple[str, ...], tmp_path: Path) -> None:
    for client in SDKS.keys() & clients:
        if client not in BY_DEFAULT and not EVERY:
            pytest.skip("of the SDKs one for each language; MCPMOCK_E2E_ALL=1 runs all")
        if reason := parts.not_installed(SDKS[client], client):
            pytest.skip(reason)
    with ThreadPoolExecutor(len(clients)) as pool:
        rows = list(pool.map(lambda client: outcomes(client, tmp_path / client), clients))
    table = {cell: outcome for row in rows for cell, outcome in row.items()}
    recorded = [cell for cell in table if cell.recorded]

    for cell in recorded:
        assert (cell, table[attrs.evolve(cell, recorded=False)]) == (cell, table[cell])
        answered = ANSWER in crossed(whole_take(cell.cassette), S2C)
        assert answered or (cell.client == "Ctrl-C" and WAYS[cell.way].late)
    check = [*MCPMOCK, "check", *(str(cell.cassette) for cell in recorded)]
    assert 0 == subprocess.run(check, check=False).returncode
