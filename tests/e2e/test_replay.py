"""A replay over real pipes: it ends as the recorded server did, and reaches for nothing."""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support.processes import SCRIPTED, record, replay, scripted

from .raw_client import Answer, Close, Lines, Spoken, Step, line, talk

pytestmark = pytest.mark.e2e

MISSED = 1
HELLO = line({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}})
LIST = line({"jsonrpc": "2.0", "id": 2, "method": "tools/list"})
CALL = line({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "none"}})
SESSION: list[Step] = [Lines(1), HELLO, Answer(1), LIST, Answer(2), Close()]


def recorded(
    tmp_path: Path, *server: object, steps: Sequence[Step] = SESSION
) -> tuple[Path, Spoken]:
    """A fresh recording of a scripted server, and what the client saw of it."""
    cassette = tmp_path / "a.jsonl"
    return cassette, talk(record(cassette, scripted(*server)), steps)


def test_a_replay_is_the_server_again(tmp_path: Path) -> None:
    """The same bytes on both outputs, and the same exit code."""
    cassette, spoken = recorded(tmp_path, "--noisy", "rpc")

    assert talk(replay(cassette), SESSION) == spoken


@pytest.mark.parametrize(
    "server",
    [
        ("--status", "3", "quit", '{"jsonrpc":"2.0","id":1,"res'),
        ("--status", "0", "quit", "bye"),
        ("die", int(signal.SIGSEGV)),
    ],
)
def test_a_recorded_crash_is_replayed(server: tuple[object, ...], tmp_path: Path) -> None:
    """The last torn words come, and the recorded exit code, with the client still there."""
    steps: list[Step] = [Lines(1), HELLO]
    cassette, spoken = recorded(tmp_path, *server, steps=steps)

    assert talk(replay(cassette), steps) == spoken


def test_a_replay_touches_no_network_and_no_process(tmp_path: Path) -> None:
    """Under an audit hook: nothing is dialled, bound, started or executed."""
    cassette, spoken = recorded(tmp_path, "rpc")
    audited = [sys.executable, str(SCRIPTED.parent / "audited.py"), str(tmp_path / "audit")]
    heard = talk([*audited, *replay(cassette)[3:]], SESSION)

    assert heard == spoken
    assert (tmp_path / "audit").read_text() == ""
