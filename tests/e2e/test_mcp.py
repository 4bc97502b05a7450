"""`mcpmock mcp` as a process: recorded, verified and checked; asked while it works; gone with its
client.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support import INITIALIZE, INITIALIZED, c, cassette_bytes, request, response, s
from tests.support.weather import write_weather

pytestmark = pytest.mark.e2e

MCPMOCK = [sys.executable, "-m", "mcpmock"]
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "agent", "version": "1"},
}
HELLO = request(
    0,
    "initialize",
    {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "agent", "version": "1"},
    },
)
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("list_cassettes", {}),
    ("show_events", {"file": "weather.jsonl", "filter": "kind=response", "limit": 2}),
    ("show_call", {"file": "weather.jsonl", "id": 2}),
    ("explain_miss", {"file": "weather.jsonl", "method": "tools/call", "params": {"name": "x"}}),
    ("check_cassette", {"file": "weather.jsonl"}),
    ("diff_cassettes", {"old": "weather.jsonl", "new": "weather.jsonl"}),
    ("count_calls", {"files": ["weather.jsonl"]}),
    ("list_faults", {"about": "latency"}),
    ("read_help", {}),
    ("show_events", {"file": "../weather.jsonl"}),
]


def asked(*, modern: bool) -> list[bytes]:
    """A session that uses every tool."""
    meta = {"_meta": META} if modern else {}
    others: list[tuple[str, dict[str, Any]]] = [
        ("tools/list", {}),
        ("resources/list", {}),
        ("resources/templates/list", {}),
    ]
    read = ("resources/read", {"uri": "cassette:///weather.jsonl"})
    calls = [("tools/call", {"name": name, "arguments": given}) for name, given in CALLS]
    hello = [request(0, "server/discover", meta)] if modern else [HELLO, INITIALIZED]
    rest = [
        request(n, method, {**params, **meta})
        for n, (method, params) in enumerate([*others, read, *calls], 1)
    ]
    return [*hello, *rest]


def talk(command: list[str], messages: list[bytes]) -> dict[Any, dict[str, Any]]:
    """Send one message after the other was answered; the answers by id."""
    found = {}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for message in messages:
            process.stdin.write(message + b"\n")
            process.stdin.flush()
            if b'"id"' in message:
                answer = json.loads(process.stdout.readline())
                found[answer["id"]] = answer
        process.stdin.close()
        assert process.wait(20) == 0
    return found


@pytest.mark.parametrize("modern", [False, True])
def test_recorded_verified_and_checked(tmp_path: Path, modern: bool) -> None:
    """mcpmock has nothing to say of its own server."""
    folder, cassette = tmp_path / "runs", tmp_path / "own.jsonl"
    write_weather(folder / "weather.jsonl")
    server = [*MCPMOCK, "mcp", str(folder)]
    answers = talk(
        [*MCPMOCK, "record", "-q", "-o", str(cassette), "--", *server], asked(modern=modern)
    )
    assert all("result" in answer for answer in answers.values())

    for command in (["check", "--json"], ["verify", "--json"]):
        behind = ["--", *server] if command[0] == "verify" else []
        done = subprocess.run(
            [*MCPMOCK, *command, str(cassette), *behind], capture_output=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        assert not [one for one in lines if one["type"] in ("violation", "finding")], lines
        assert lines[-1].get("verdict", "same") == "same", lines


def test_a_long_call_holds_up_nobody(tmp_path: Path) -> None:
    """A ping is answered while a cassette of many events is read, and the end of the input ends the
    process, whatever still works.
    """
    lines = [c(request(n, "ping")) if n % 2 else s(response(n - 1)) for n in range(1, 60_001)]
    (tmp_path / "many.jsonl").write_bytes(cassette_bytes(*lines))
    slow = request(1, "tools/call", {"name": "count_calls", "arguments": {"files": ["many.jsonl"]}})
    with subprocess.Popen(
        [*MCPMOCK, "mcp", str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        messages = [INITIALIZE, INITIALIZED, slow, request(2, "ping")]
        process.stdin.write(b"".join(message + b"\n" for message in messages))
        process.stdin.flush()
        ids = [json.loads(process.stdout.readline())["id"] for _ in range(2)]
        process.stdin.close()
        assert process.wait(20) == 0
        assert ids == [0, 2]
