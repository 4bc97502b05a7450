"""Real servers behind a redirect, with the clients of the official SDKs: `/mcp` is answered with a
307 to the absolute URL of `/mcp/`, as Starlette and FastMCP do. Each language, server and transport
is in a row; MCPMOCK_E2E_ALL=1 runs all.
"""

from __future__ import annotations

import json
import subprocess
from itertools import product
from pathlib import Path

import pytest

from mcpmock.cassette.file import load
from tests.support.every import EVERY
from tests.support.processes import MCPMOCK, replay

from . import parts
from .http_processes import Served, real_server, recording, replaying
from .parts import HTTP, SSE
from .test_sdk import MISSED, needs
from .test_sdk_http import told

pytestmark = [pytest.mark.e2e, pytest.mark.parts]

ROWS = [("py2-legacy", "moved-py1", HTTP), ("ts1", "moved-py2", SSE)]
if EVERY:
    CLIENTS = ("py1", "py2-legacy", "ts1", "ts2-legacy")
    OVER_SSE = [("py1", "moved-py1", SSE), ("ts1", "moved-py2", SSE)]
    ROWS = [*((*pair, HTTP) for pair in product(CLIENTS, parts.MOVED)), *OVER_SSE]


def asked(server: Served) -> list[str]:
    """What the server was asked so far."""
    return [line for line in server.lines if line.startswith("asked: ")]


@pytest.mark.parametrize(("client", "server", "transport"), ROWS)
def test_a_server_behind_a_redirect(
    client: str, server: str, transport: str, tmp_path: Path
) -> None:
    """The client cannot tell: direct, recorded, replayed at another port and over stdio, and
    through a bridge, with the URL that it has. A replay asks the server nothing.
    """
    needs(client, server)

    def play(argv: list[str]) -> list[str]:
        outcome = subprocess.run(
            argv, env=parts.environment(tmp_path), capture_output=True, timeout=90, check=False
        )
        assert outcome.returncode == 0, outcome.stderr.decode(errors="replace")[-8000:]
        assert MISSED not in outcome.stderr, outcome.stderr.decode(errors="replace")[-8000:]
        return told(outcome.stdout, but="notifications/tools/list_changed")

    def reach(url: str) -> list[str]:
        return play(parts.reach(client, "workshop", tmp_path, transport, url))

    def drive(command: list[str]) -> list[str]:
        return play(parts.drive(client, "workshop", tmp_path, command))

    cassette = tmp_path / "moved.jsonl"
    with real_server(server, transport, tmp_path) as real:
        with recording(cassette, real.url) as recorder:
            recorded = reach(recorder.url)
        assert recorder.exit_code == 0, recorder.stderr
        before = len(asked(real))
        with replaying(cassette) as player:
            assert recorded == reach(player.url)
        assert player.exit_code == 0, player.stderr
        assert recorded == drive(replay(cassette))
        assert before == len(asked(real))
        assert recorded == reach(real.url)
        bridge = [*MCPMOCK, "proxy", "--url", real.url, "--url-transport", transport]
        assert recorded == drive(bridge)

    heads = [event.http for take in load(cassette).takes for event in take.events if event.http]
    redirects = [head for head in heads if head.get("status") == 307]
    assert redirects
    assert real.url not in json.dumps(redirects)
