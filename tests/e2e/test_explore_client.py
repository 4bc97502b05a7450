"""Exploring client programs: a real process in each run, a fake server in this one."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from mcpmock.cli.commands import cli
from tests.support import INITIALIZE, INITIALIZED, cassette_bytes, request, response
from tests.support.explored import RECORDED
from tests.support.weather import HELLO

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


IMPATIENT_CLIENT = """
import json, subprocess, sys
server = subprocess.Popen(sys.argv[1:], stdin=-1, stdout=-1)
answered = []
def send(**message):
    server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\\n")
    server.stdin.flush()
def wait_for(id_):
    while id_ not in answered:
        answered.append(json.loads(server.stdout.readline()).get("id"))
send(id=1, method="initialize", params={"protocolVersion": "2025-11-25", "capabilities": {},
                                        "clientInfo": {"name": "impatient", "version": "1"}})
wait_for(1)
send(method="notifications/initialized")
send(id=2, method="tools/call", params={"name": "slow", "arguments": {}})
send(id=3, method="ping")
wait_for(3)
status = 0
if 2 not in answered:
    send(method="notifications/cancelled", params={"requestId": 2})
    send(id=4, method="ping")
    wait_for(4)
    status = 1 if 2 in answered else 3  # 3: it says that it has cancelled
server.stdin.close()
sys.exit(status)
"""


def rows(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    lines = map(json.loads, capsys.readouterr().out.splitlines())
    return [line for line in lines if line["type"] == "row"]


def test_a_client_that_cancels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It may say so in every race, for it does in the plainest one; what a late answer breaks is
    found. Same seed, same rows.
    """
    client, recorded = tmp_path / "client.py", tmp_path / "recorded.jsonl"
    client.write_text(IMPATIENT_CLIENT)
    called = request(2, "tools/call", {"name": "slow", "arguments": {}})
    recorded.write_bytes(
        cassette_bytes(
            *[("c2s", INITIALIZE), ("s2c", HELLO), ("c2s", INITIALIZED)],
            *[("c2s", called), ("s2c", response(2, {"content": []}))],
            *[("c2s", request(3, "ping")), ("s2c", response(3))],
        )
    )
    options = ["--client", "--faults", "none", "--json", "-o", str(tmp_path / "found")]
    words = ["explore", str(recorded), *options, "--", sys.executable, str(client), "{command}"]

    assert 1 == run(*words)
    one = rows(capsys)
    silent = {row["verdict"] for row in one if row["reaction"] == "exit 3"}
    assert {"ok"} == silent
    broken = [row for row in one if row["verdict"] == "broken"]
    assert {"exit-status"} == {row["oracle"] for row in broken}
    assert {"exit 1"} == {row["reaction"] for row in broken}

    assert 1 == run(*words)
    assert one == rows(capsys)


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
