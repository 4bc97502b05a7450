"""A fake server for any caller: in memory, over stdio, over HTTP."""

from __future__ import annotations

import subprocess
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock

import mcpmock
from mcpmock.errors import CassetteError, McpMockError
from tests.support import INITIALIZE, c2s, request
from tests.support.weather import ASK, HELLO, TOLD, exchange


async def test_in_memory(weather: Path, autojump_clock: MockClock) -> None:
    """A session of frames; recorded pauses cost nothing on a mock clock."""
    async with mcpmock.replay(weather, timing="recorded") as server:
        channel = server.open()
        began = trio.current_time()

        assert [HELLO] == await exchange(channel, c2s(INITIALIZE))
        assert 1.0 == trio.current_time() - began
        channel.send_nowait([c2s(ASK)])
        heard: list[bytes] = []
        while TOLD not in heard:
            heard += [frame.raw for frame in await channel.receive()]
        server.assert_order("initialize", "tools/call get_weather")
        assert "Oslo" == server.requests("tools/call")[0].params["arguments"]["city"]
        assert [] == server.misses
    with pytest.raises(RuntimeError, match="only works inside"):
        server.open()


@pytest.mark.e2e
def test_over_stdio(weather: Path) -> None:
    """The command is a server to whoever starts it; a miss is told, and makes its status 1."""
    with mcpmock.serve(weather, misses="allow") as server:
        lines = b"\n".join([INITIALIZE, request(5, "prompts/list"), b""])
        done = subprocess.run(
            server.command, input=lines, capture_output=True, timeout=20, check=False
        )

        assert HELLO == done.stdout.splitlines()[0]
        assert b"-31999" in done.stdout.splitlines()[1]
        assert (1, b"") == (done.returncode, done.stderr)
        assert ["prompts/list"] == [miss.method for miss in server.misses]


@pytest.mark.e2e
def test_over_http(weather: Path) -> None:
    """From plain code; the same log."""
    with mcpmock.serve(weather) as server:
        head = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        post = urllib.request.Request(server.url, INITIALIZE, head)
        with urllib.request.urlopen(post, timeout=20) as answer:
            assert b'"protocolVersion":"2025-11-25"' in answer.read()
        server.assert_called("initialize", times=1)


def test_a_login(weather: Path) -> None:
    """Clients log in over HTTP; the other ways in are refused with what to use instead."""
    with mcpmock.serve(weather, auth="oauth") as server:
        post = urllib.request.Request(server.url, INITIALIZE, {"Content-Type": "application/json"})
        with pytest.raises(urllib.error.HTTPError, match="401") as refused:
            urllib.request.urlopen(post, timeout=20)
        refused.value.close()
        with pytest.raises(RuntimeError, match=r"over HTTP only: use \.url"):
            print(server.command)
        with pytest.raises(McpMockError, match=r"use mcpmock\.serve and \.url"):
            server.transport()
        assert [] == server.requests()


def test_what_cannot_be_played(tmp_path: Path, weather: Path) -> None:
    """It is said before anything runs."""
    with pytest.raises(CassetteError, match="no such file"), mcpmock.serve(tmp_path / "none.jsonl"):
        pass
    with pytest.raises(McpMockError, match="timing"), mcpmock.serve(weather, timing="soon"):
        pass
    with pytest.raises(TypeError, match="speed"), mcpmock.serve(weather, speed=2):
        pass


@pytest.mark.parametrize(
    ("how", "words"),
    [({"order": "x"}, "order 'x': choose"), ({"timing": None}, "timing None: say"),
     ({"stub": "x"}, "stub='x': give a mcpmock.Stub"), ({"seed": "x"}, "seed 'x': say"),
     ({"auth": "basic"}, "'basic': expected oauth"), ({"ordr": "any"}, "no option 'ordr'")],
)  # fmt: skip
def test_what_it_does_not_take(weather: Path, how: dict[str, Any], words: str) -> None:
    """It is said before anything starts."""
    with (
        pytest.raises((mcpmock.McpMockError, TypeError), match=words),
        mcpmock.serve(weather, **how),
    ):
        pass
