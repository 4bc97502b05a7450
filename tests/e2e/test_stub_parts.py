"""A stub in the place of a real server, for the clients that people have."""

from __future__ import annotations

import json
import subprocess
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import mcpmock
from mcpmock.stubs.builder import Stub
from tests.support.every import EVERY

from .parts import CLIENTS, HTTP, drive, environment, missing, reach

pytestmark = [pytest.mark.parts, pytest.mark.e2e]
ROWS = [
    ("py2-auto", "stdio", "python"),
    ("py2-auto", HTTP, "toml"),
    ("ts1", "stdio", "toml"),
    ("ts1", HTTP, "python"),
    ("ts2-auto", "stdio", "python"),
    ("ts2-auto", HTTP, "toml"),
]
"""One client of each family, of both eras; MCPMOCK_E2E_ALL=1 runs all, with each stub."""
if EVERY:
    ROWS = [*product(CLIENTS, ("stdio", HTTP), ("python", "toml"))]


def convert(arguments: dict[str, Any]) -> dict[str, Any]:
    return {"from": arguments["time"], "to": arguments["target_timezone"]}


def clock() -> Stub:
    """The server of the scenario `time`, by hand."""
    zone = {"properties": {"timezone": {"type": "string"}}, "required": ["timezone"]}
    stub = Stub("clock")
    stub.tool("get_current_time", zone).progress(1).reply("noon")
    stub.tool("get_current_time").when(timezone="Mars/Olympus").fail("no such zone")
    stub.tool("convert_time").reply(convert)
    stub.tool("convert_time").when(time="half past ☃").error(-32602, "no such time")
    stub.tool("no_such_tool").error(-32602, "Unknown tool")
    return stub


CLOCK = """
[server]
name = "clock"
[[tool]]
name = "get_current_time"
schema = { properties = { timezone = { type = "string" } }, required = ["timezone"] }
[[tool.answer]]
progress = [1]
reply = "noon"
[[tool.answer]]
when = { timezone = "Mars/Olympus" }
fail = "no such zone"
[[tool]]
name = "convert_time"
[[tool.answer]]
reply = { from = "{{time}}", to = "{{target_timezone}}" }
[[tool.answer]]
when = { time = "half past ☃" }
error = { code = -32602, message = "no such time" }
[[tool]]
name = "no_such_tool"
error = { code = -32602, message = "Unknown tool" }
"""
"""The same server in a file."""


@pytest.mark.parametrize(("client", "transport", "written"), ROWS)
def test_clients(client: str, transport: str, written: str, tmp_path: Path) -> None:
    """Each gets what was written, over every transport and in the era that it speaks."""
    if reason := missing(client):
        pytest.skip(reason)
    file = tmp_path / "clock.toml"
    file.write_text(CLOCK, "utf-8")
    with mcpmock.serve(clock() if written == "python" else file) as server:
        command = (
            drive(client, "time", tmp_path, server.command)
            if transport == "stdio"
            else reach(client, "time", tmp_path, transport, server.url)
        )
        done = subprocess.run(
            command, env=environment(tmp_path), capture_output=True, timeout=60, check=False
        )
        assert 0 == done.returncode, done.stderr.decode()
        asked = server.requests("tools/call")

        assert [] == server.misses
        assert 7 == len(asked)
    report = json.dumps(json.loads(done.stdout))
    for told in ("noon", "America/Phoenix", "no such zone", "no such time", "Unknown tool"):
        assert told in report
