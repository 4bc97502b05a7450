"""Ctrl-C at any moment of a command's start: nothing is printed, and the exit status is 130.

At every few imports the command is forked, and the copy gets the signal there: that is every moment
of the start, whatever the machine is doing.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.processes import END
from tests.support.sealed import sealed

pytestmark = pytest.mark.e2e

FORKING = """
import json, os, signal, sys

class Forking:
    def __init__(self):
        self.imports, self.found = 0, []

    def find_spec(self, name, path=None, target=None):
        self.imports += 1
        if self.imports % STEP:
            return None
        output = os.memfd_create("output")
        child = os.fork()
        if child == 0:
            sys.meta_path.remove(self)
            os.dup2(output, 1)
            os.dup2(output, 2)
            os.kill(os.getpid(), signal.SIGINT)
            return None
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        self.found.append((name, status, os.pread(output, 10000, 0).decode()))
        os.close(output)
        return None

forking = Forking()
from mcpmock.cli import main
sys.meta_path.insert(0, forking)
STEP, command = int(sys.argv[1]), sys.argv[2:]
sys.argv = ["mcpmock", *command]
try:
    main()
finally:
    with open("found.json", "w") as file:
        json.dump(forking.found, file)
"""
COMMANDS = {
    "diff s.jsonl s.jsonl": 6,
    "show s.jsonl": 24,
    "check s.jsonl": 24,
    "stats s.jsonl": 24,
    "fmt s.jsonl": 24,
    "scan s.jsonl": 24,
    "report s.jsonl": 24,
    "convert s.jsonl -o s.har": 24,
    "replay s.jsonl": 24,
    "proxy --url http://127.0.0.1:9/mcp": 40,
    "drive s.jsonl --url http://127.0.0.1:9/mcp": 40,
    "verify s.jsonl --url http://127.0.0.1:9/mcp": 40,
    "wrap --list": 40,
    "help": 24,
    "faults": 40,
    "nosuch": 24,
}


@pytest.mark.parametrize("command", COMMANDS)
def test_ctrl_c_while_it_starts(tmp_path: Path, command: str) -> None:
    (tmp_path / "s.jsonl").write_bytes(sealed())
    subprocess.run(
        [sys.executable, "-c", FORKING, str(COMMANDS[command]), *command.split()],
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=3 * END,
    )
    found = json.loads((tmp_path / "found.json").read_text())

    assert len(found) >= 3
    assert [] == [one for one in found if one[1:] != [130, ""]]


CLOSING = """
import os, signal, sys
import click
from mcpmock.cli import main

invoke = click.Group.invoke

def interrupted(group, context):
    context.call_on_close(lambda: os.kill(os.getpid(), signal.SIGINT))
    return invoke(group, context)

click.Group.invoke = interrupted
sys.argv = ["mcpmock", *sys.argv[1:]]
main()
"""


def test_ctrl_c_after_its_last_function() -> None:
    """When only click has a word left."""
    done = subprocess.run(
        [sys.executable, "-c", CLOSING, "faults"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        timeout=END,
        check=False,
    )

    assert (130, b"") == (done.returncode, done.stderr)
