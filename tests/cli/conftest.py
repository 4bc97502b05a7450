"""What the tests of all commands share: the command line as a user calls it, a client at its
stdio.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import trio

from mcpmock import runner
from mcpmock.channels.channel import MemoryChannel, memory_pair
from mcpmock.cli import early_start, interrupts, main
from mcpmock.sessions import stdio_front
from tests.support import WELCOME
from tests.support.sealed import sealed

Run = Callable[..., tuple[int, str, str]]
CONTROLS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")


class Terminal:
    """Standard error that says it is one."""

    def __init__(self) -> None:
        self.text = ""

    def write(self, text: str) -> int:
        self.text += text
        return len(text)

    def flush(self) -> None:
        pass

    def isatty(self) -> bool:
        return True


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]) -> Run:
    """The command line as a user calls it: status, stdout, stderr."""
    monkeypatch.setenv("COLUMNS", "80")
    for name in ("FORCE_COLOR", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)

    def call(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["mcpmock", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsysbinary.readouterr()
        assert isinstance(ended.value.code, int)
        return ended.value.code, out.decode(), err.decode()

    return call


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A whole cassette."""
    path = tmp_path / "s.jsonl"
    path.write_bytes(sealed())
    return path


@pytest.fixture(autouse=True)
def no_early_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """Servers start when they are needed, where the tests have theirs."""
    monkeypatch.setattr(early_start, "start_server", lambda _arguments: None)


@pytest.fixture(autouse=True)
def no_interrupts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The signals are those of pytest."""
    for name in ("raise_interrupts", "ignore_interrupts"):
        monkeypatch.setattr(interrupts, name, lambda: None)


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> MemoryChannel:
    """The other end of our stdio: what is sent into it before the call is what the client says."""
    outer, stdio = memory_pair()
    monkeypatch.setattr(stdio_front, "take_stdio", lambda: stdio)
    monkeypatch.setattr(runner, "FLUSH_TIMEOUT_S", 0)  # they are read when all is over
    return outer


def said_of(outcome: tuple[int, str, str]) -> str:
    """What is said of wrong usage: the usage, and one line. It acts on no terminal."""
    status, out, err = outcome
    assert not CONTROLS.search(err)
    *usage, line = err.splitlines()
    assert (2, "") == (status, out)
    assert usage[0].startswith("Usage: mcpmock ")
    assert len(usage) <= 3
    return line


def heard(client: MemoryChannel) -> list[bytes]:
    """What the client got besides the answer to its opening."""

    async def listen() -> list[bytes]:
        found: list[bytes] = []
        while True:
            try:
                frames = await client.receive()
            except trio.EndOfChannel:
                return [raw for raw in found if raw != WELCOME]
            found += [frame.raw for frame in frames if frame.fact is None]

    return trio.run(listen)
