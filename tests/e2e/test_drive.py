"""The client's half of every shipped cassette against a replay of it, over each transport: the
round trip `record(drive(c) against replay(c)) == c`, with real processes and sockets.

Each cassette is in a row, each transport in several; MCPMOCK_E2E_ALL=1 runs every pair.
"""

from __future__ import annotations

import subprocess
from collections import Counter
from pathlib import Path

import pytest

from mcpmock.cassette.file import load
from mcpmock.cassette.model import Cassette
from mcpmock.playback.plan.steps import bare
from mcpmock.semantic_diff.compare import compare
from tests.support.every import EVERY
from tests.support.processes import MCPMOCK, replay

from .http_processes import replaying
from .parts import HTTP, SSE

pytestmark = pytest.mark.e2e

CASSETTES = sorted((Path(__file__).parents[2] / "cassettes").glob("*.jsonl"))
OVER = {"everything-http": HTTP, "workshop-sessions": HTTP, "everything-sse": SSE, "git": SSE}
"""Over which transport a recording is driven; the others over stdio. With MCPMOCK_E2E_ALL=1, each
is over all three.
"""
LIMIT = 60.0


def messages(cassette: Cassette) -> Counter[tuple[str, bytes]]:
    """What was said, whatever its order and its sessions: over HTTP there may be none."""
    events = [e for one in bare(cassette, one_session=False).episodes() for e in one.events]
    return Counter((event.d, event.payload) for event in events if event.d and event.payload)


def driven(cassette: Path, output: Path, *server: str) -> None:
    command = [*MCPMOCK, "drive", str(cassette), "-o", str(output), *server]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False)
    assert (0, "", "") == (done.returncode, done.stdout, done.stderr)


def assert_same(recorded: Path, again: Path) -> None:
    """To the byte, but for the order of what has nothing to do with each other; and a diff finds
    nothing.
    """
    assert messages(load(recorded)) == messages(load(again))
    assert () == compare(load(recorded), load(again)).differences


@pytest.mark.parametrize(
    "cassette",
    [cassette for cassette in CASSETTES if EVERY or cassette.stem not in OVER],
    ids=lambda path: path.stem,
)
def test_over_stdio(cassette: Path, tmp_path: Path) -> None:
    """A process for each session."""
    output = tmp_path / "b.jsonl"
    driven(cassette, output, "--", *replay(cassette, "-q"))

    assert_same(cassette, output)


@pytest.mark.parametrize(
    ("cassette", "transport"),
    [
        pytest.param(cassette, transport, id=f"{cassette.stem}-{transport}")
        for cassette in CASSETTES
        for transport in (HTTP, SSE)
        if EVERY or OVER.get(cassette.stem) == transport
    ],
)
def test_over_http(cassette: Path, transport: str, tmp_path: Path) -> None:
    """A session at the URL for each; what was recorded elsewhere is translated."""
    output = tmp_path / "b.jsonl"
    with replaying(cassette, "--transport", transport) as player:
        driven(cassette, output, "--url", player.url, "--url-transport", transport)

    assert player.exit_code == 0
    assert_same(cassette, output)
