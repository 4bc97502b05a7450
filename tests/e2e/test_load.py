"""A load on one fake server, with real processes and sockets."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from mcpmock.cassette.file import load
from mcpmock.protocol.messages import Request, Response, decode, member
from tests.support import INITIALIZE, WELCOME, Line, c, call, cassette_bytes, response, s
from tests.support.processes import MCPMOCK

from .http_processes import replaying

CLIENTS, SESSIONS = 5, 25


def client(number: int) -> list[Line]:
    """Two calls that overlap, and one behind them; no other client has the same."""
    calls = [call(n, "echo", text=f"{number}.{n}") for n in (1, 2, 3)]
    answers = [
        response(n, {"content": [{"type": "text", "text": f"{number}.{n}"}]}) for n in (1, 2, 3)
    ]
    opening: list[Line] = [c(INITIALIZE), s(WELCOME)]
    first = [c(calls[0]), c(calls[1]), s(answers[1]), s(answers[0])]
    return [*opening, *first, c(calls[2]), s(answers[2]), ("take", None)]


@pytest.mark.e2e
def test_no_answer_crosses(tmp_path: Path) -> None:
    """Each of the sessions that run at once gets the answers of its own calls, in time."""
    lines = [line for number in range(CLIENTS) for line in client(number)]
    cassette, recorded = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    cassette.write_bytes(cassette_bytes(*lines[:-1]))
    load_of = ["--sessions", str(SESSIONS), "--concurrency", "10", "--max-p99", "tool=echo,1min"]
    with replaying(cassette) as server:
        argv = [*MCPMOCK, "drive", str(cassette), "--url", server.url, "-o", str(recorded)]
        done = subprocess.run(
            [*argv, *load_of, "--json"], capture_output=True, text=True, timeout=60, check=False
        )
    assert (0, "") == (done.returncode, done.stderr)
    figures = json.loads(done.stdout)
    assert [("initialize", SESSIONS, 0), ("tools/call", 3 * SESSIONS, 0)] == [
        (calls["method"], calls["n"], calls["errors"]) for calls in figures["calls"]
    ]

    asked: dict[tuple[int | None, bytes | None], object] = {}
    answered = 0
    for event in load(recorded).takes[0].events:
        content = None if event.frame is None else event.frame.content
        if isinstance(content, Request) and content.tool is not None:
            asked[event.x, content.id] = decode(member(content.params, "arguments", "text") or b"")
        elif isinstance(content, Response) and (event.x, content.id) in asked:
            answered += 1
            text = decode(content.result or b"")["content"][0]["text"]
            assert asked[event.x, content.id] == text
    assert 3 * SESSIONS == answered
