"""Exploring client programs: a real process in each run, a fake server in this one."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from mcpmock.cli.commands import cli
from tests.support.explored import RECORDED

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(120)]

STRICT_CLIENT = """
import json, subprocess, sys
server = subprocess.Popen(sys.argv[1:], stdin=-1, stdout=-1)
def ask(id_, method, params):
    message = {"jsonrpc": "2.0", "id": id_, "method": method, "params": params}
    server.stdin.write(json.dumps(message).encode() + b"\\n")
    server.stdin.flush()
    while (answer := json.loads(server.stdout.readline())).get("id") != id_:
        if id_ != 2:
            sys.exit(3)  # it expects no progress
ask(1, "initialize", {"protocolVersion": "2025-11-25", "capabilities": {},
                      "clientInfo": {"name": "strict", "version": "1"}})
ask(2, "tools/call", {"name": "countdown", "arguments": {"steps": 3, "pause": 0.02},
                      "_meta": {"progressToken": "three"}})
ask(3, "tools/list", {})
server.stdin.close()
"""


def run(*words: str) -> int:
    status = cli([*words], prog_name="mcpmock", standalone_mode=False)
    assert isinstance(status, int)
    return status


def test_a_client_is_explored(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It gives up on progress behind an answer, which a correct client ignores: found, and shown
    again by the printed plan.
    """
    client, found = tmp_path / "client.py", tmp_path / "found"
    client.write_text(STRICT_CLIENT)
    options = ["--client", "--request", "3", "--jobs", "1"]
    words = ["--", sys.executable, str(client), "{command}"]
    kinds = ["--faults", "progress_after_response,latency"]

    assert 1 == run("explore", str(RECORDED), *options, *kinds, "-o", str(found), *words)
    told = capsys.readouterr().out
    assert "the client ends with exit status 3" in told
    assert "progress_after_response at the answer to tools/call countdown #3" in told
    assert "run again: 5 of 5" in told

    again = ["--client", "--faults", str(found / "failure-1.toml")]
    assert 1 == run("explore", str(RECORDED), *again, *words)
    assert "exit status 3" in capsys.readouterr().out
