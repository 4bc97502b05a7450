"""`mcpmock proxy --restart-on` in front of real servers whose files change while clients call: a
client hears of a restart by `list_changed` alone.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from mcpmock.cassette.file import load
from tests.support.processes import END, MCPMOCK

from . import parts

pytestmark = pytest.mark.e2e

RESTARTS = int(os.environ.get("MCPMOCK_E2E_RESTARTS", "5"))
CHANGED = "notifications/tools/list_changed"
IN_FLIGHT = 4
SERVER = """
import json, sys, time
VERSION = 0
TOOL = {"name": "version", "description": str(VERSION), "inputSchema": {"type": "object"}}
ANSWERS = {
    "initialize": {
        "protocolVersion": "2025-06-18",
        "capabilities": {"tools": {}, "logging": {}},
        "serverInfo": {"name": "e2e", "version": str(VERSION)},
    },
    "tools/list": {"tools": [TOOL]},
    "tools/call": {"content": [{"type": "text", "text": str(VERSION)}]},
}
for line in sys.stdin:
    asked = json.loads(line)
    if asked["method"] == "tools/call":
        time.sleep(0.01)
    if "id" in asked:
        answer = {"jsonrpc": "2.0", "id": asked["id"], "result": ANSWERS.get(asked["method"], {})}
        print(json.dumps(answer), flush=True)
"""
SDK_SERVER = """
from mcp.server.mcpserver import MCPServer
server = MCPServer("e2e", version="0")

@server.tool()
def version() -> str:
    return "0"

server.run()
"""


@dataclass
class Client:
    """What a client over stdio says and hears."""

    process: subprocess.Popen[bytes]
    unasked: list[str] = field(default_factory=list)
    _asked: int = 0

    def say(self, method: str, params: Any = None, **more: Any) -> None:
        message = {"jsonrpc": "2.0", **more, "method": method, "params": params or {}}
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, method: str, params: Any = None) -> int:
        self._asked += 1
        self.say(method, params, id=self._asked)
        return self._asked

    def hear(self) -> Any:
        """The next answer."""
        assert self.process.stdout is not None
        while "method" in (message := json.loads(self.process.stdout.readline())):
            self.unasked.append(message["method"])
        return message

    def answer(self, method: str, params: Any = None) -> Any:
        asked = self.ask(method, params)
        heard = self.hear()
        assert asked == heard["id"]
        return heard


@contextmanager
def restarting(server: Path, python: str, cassette: Path, *options: str) -> Iterator[Client]:
    ours = [*MCPMOCK, "proxy", "--restart-on", str(server), *options, "--record", str(cassette)]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [*ours, "--", python, str(server)], stdin=pipe, stdout=pipe, stderr=pipe
    ) as process:
        client = Client(process)
        info = {"name": "e2e", "version": "1"}
        opening = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info}
        welcome = client.answer("initialize", opening)["result"]
        assert welcome["capabilities"]["tools"]["listChanged"]
        client.say("notifications/initialized")
        client.answer("tools/list")
        yield client
        _, stderr = process.communicate(timeout=END)
        assert process.returncode == 0, stderr


def write(server: Path, text: str, version: int) -> None:
    """In one step: a busy machine may leave a file empty for longer than a change has to settle."""
    new = server.with_suffix(".new")
    new.write_text(text.replace("VERSION = 0", f"VERSION = {version}"))
    new.replace(server)


def called(answer: Any) -> tuple[int, int]:
    """The id of a call and the version of the server that answered it."""
    assert "result" in answer, answer
    return answer["id"], int(answer["result"]["content"][0]["text"])


def mcpmock(*arguments: str) -> None:
    done = subprocess.run([*MCPMOCK, *arguments], capture_output=True, check=False, timeout=END)
    assert done.returncode == 0, done


def test_restarts_under_calls(tmp_path: Path) -> None:
    """Each call has one answer, from the server that there is then; the recording holds what the
    client heard, names each restart, follows the rules and replays.
    """
    server, cassette = tmp_path / "server.py", tmp_path / "calls.jsonl"
    server.write_text(SERVER)
    heard: list[tuple[int, int]] = []
    with restarting(server, sys.executable, cassette) as client:
        open_calls = {client.ask("tools/call", {"name": "version"}) for _ in range(IN_FLIGHT)}
        for version in range(1, RESTARTS + 1):
            write(server, SERVER, version)
            while not heard or heard[-1][1] < version:
                answer = client.hear()
                open_calls.remove(answer["id"])
                heard.append(called(answer))
                open_calls.add(client.ask("tools/call", {"name": "version"}))
        while open_calls:
            answer = client.hear()
            open_calls.remove(answer["id"])
            heard.append(called(answer))
        told = client.answer("tools/list")
        assert told["result"]["tools"][0]["description"] == str(RESTARTS)
    assert heard == sorted(heard)
    assert [version for _, version in heard] == sorted(version for _, version in heard)
    assert client.unasked == [CHANGED] * RESTARTS

    [take] = load(cassette).takes
    stderr = b"".join(frame.raw for event in take.events if (frame := event.frame) is not None)
    assert stderr.count(b"server.py changed; the server was restarted\n") == RESTARTS
    mcpmock("check", str(cassette))
    mcpmock("verify", str(cassette), "--", *MCPMOCK, "replay", str(cassette))


@pytest.mark.parts
def test_a_server_of_the_sdk(tmp_path: Path) -> None:
    """A mistake in the file is what calls are answered with, and the next change mends it."""
    if reason := parts.not_installed("py2", "PyPI mcp"):
        pytest.skip(reason)
    server, cassette = tmp_path / "server.py", tmp_path / "sdk.jsonl"
    python = str(parts.PARTS / "py2" / "bin" / "python")
    server.write_text(SDK_SERVER)
    with restarting(server, python, cassette) as client:

        def call_until(expected: str) -> None:
            while expected not in json.dumps(client.answer("tools/call", {"name": "version"})):
                pass

        call_until('"text": "0"')
        server.write_text(SDK_SERVER.replace("def version", "def"))
        call_until("SyntaxError: invalid syntax; it is started again when a file changes")
        server.write_text(SDK_SERVER.replace('return "0"', 'return "1"'))
        call_until('"text": "1"')
    assert client.unasked == []
    mcpmock("check", str(cassette))
