"""MCP Inspector in a real browser: a page of another origin as the client of a replay."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from mcpmock.cassette.model import event_line
from tests.support import (
    INITIALIZE,
    INITIALIZED,
    JSON_HEADER,
    accepts,
    answers,
    post,
    request,
    response,
)
from tests.support.weather import HELLO

from .http_processes import replaying
from .parts import PARTS, not_installed
from .test_report_page import BROWSER

pytestmark = [pytest.mark.e2e, pytest.mark.parts]
TEXT = "4 degrees, snow"
TOOL = {
    "name": "forecast",
    "inputSchema": {"type": "object", "properties": {"city": {"type": "string"}}},
}
RECORDED = [
    (post(1, INITIALIZE), answers(1, HELLO, mcp_session_id="old")),
    (post(2, INITIALIZED, session="old"), accepts(2)),
    (post(3, request(1, "tools/list"), session="old"), answers(3, response(1, {"tools": [TOOL]}))),
    (
        post(
            4,
            request(2, "tools/call", {"name": "forecast", "arguments": {"city": "Oslo"}}),
            session="old",
        ),
        answers(4, response(2, {"content": [{"type": "text", "text": TEXT}]})),
    ),
]


@pytest.mark.timeout(120)
@pytest.mark.parametrize("auth", [("--auth", "oauth"), ()], ids=["login", "no login"])
def test_inspector_connects_directly(tmp_path: Path, auth: Sequence[str]) -> None:
    """It logs in where that is needed, lists the tools and calls one, though the recording is not
    one of a browser.
    """
    python = PARTS / "browser" / "bin" / "python"
    if BROWSER is None or not python.exists() or not_installed("inspector", "Inspector"):
        pytest.skip("there is no Chromium here, or no part `browser` or `inspector`")
    frames = [frame for exchange in RECORDED for step in exchange for frame in step]
    lines = [event_line(n, n, frame, session=2) for n, frame in enumerate(frames, 1)]
    played = tmp_path / "played.jsonl"
    played.write_bytes(JSON_HEADER + b"".join(lines))

    with replaying(played, *auth) as player:
        run = subprocess.run(
            [
                python,
                Path(__file__).parent / "browser" / "inspector.py",
                BROWSER,
                PARTS / "inspector" / "package" / "dist",
                player.url,
                tmp_path / "end.png",
            ],
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )

    assert run.returncode == 0, run.stderr
    visited, told = map(json.loads, run.stdout.splitlines())
    assert visited == (["/", "/authorize", "/oauth/callback"] if auth else ["/"])
    assert TEXT in told
