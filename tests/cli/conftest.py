"""What the tests of all commands share: the command line as a user calls it, a client at its stdio,
and recordings that mean harm.
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
from mcpmock.cli import main
from mcpmock.sessions import stdio_front
from tests.support import WELCOME, cassette_bytes, dump, error, request, response

Run = Callable[..., tuple[int, str, str]]
HOSTILE = (
    "\x1b[2J\x1b]0;x\x07\x9b31m\x00\x08\x7f\x85\u202e\u2066\u200b\u2028\ufeff\r\n::error::x\n"
    "```<script>;#%%{init}end$$"
)
CONTROLS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")


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
def client(monkeypatch: pytest.MonkeyPatch) -> MemoryChannel:
    """The other end of our stdio: what is sent into it before the call is what the client says."""
    outer, stdio = memory_pair()
    monkeypatch.setattr(stdio_front, "take_stdio", lambda: stdio)
    monkeypatch.setattr(runner, "FLUSH_TIMEOUT_S", 0)  # they are read when all is over
    return outer


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


def hostile(tmp_path: Path) -> Path:
    """A cassette with the hostile string wherever one can stand."""
    names = ("recorded_at", "tool", "transport")
    header = {"mcpmock": 1, **dict.fromkeys(names, HOSTILE), "target": [HOSTILE, HOSTILE]}
    call = request(HOSTILE, "tools/call", {"name": HOSTILE, "arguments": {"a": HOSTILE}})
    content = {"content": [{"type": "text", "text": HOSTILE}]}
    data = cassette_bytes(
        ("c2s", call),
        ("s2c", request(HOSTILE, HOSTILE, {"message": HOSTILE})),
        ("s2c", response(HOSTILE, content)),
        ("s2c", error(HOSTILE, -1, HOSTILE)),
        ("s2c", HOSTILE.encode()),
        ("s2c", HOSTILE.encode() + b"\xff\x9b"),
        ("c2s", request(1, "tools/call", {"name": "\\ud800"}).replace(b"\\\\ud", b"\\ud")),
        ("stderr", HOSTILE),
        header=dump(header) + b"\n",
    )
    more = (
        {"d": "s2c", "http": {"method": HOSTILE, "target": HOSTILE, "headers": [[HOSTILE] * 2]}},
        {"d": "s2c", "sse": {"comment": HOSTILE}},
        {"d": "s2c", "body": HOSTILE},
        {"d": "s2c", "end": HOSTILE},
        {"fault": {HOSTILE: HOSTILE}},
        {"gap": {"reason": HOSTILE}},
        {"d": "s2c", "text": HOSTILE, "eol": HOSTILE},
    )
    path = tmp_path / "hostile.jsonl"
    lines = [b'{"n":%d,' % n + dump(event)[1:] + b"\n" for n, event in enumerate(more, 9)]
    path.write_bytes(data + b"".join(lines))
    return path


def hostile_and_damaged(tmp_path: Path) -> Path:
    """The same with lines that are not events, one of them with the hostile string."""
    file = tmp_path / "damaged.jsonl"
    bad = dump({"n": 1, "d": HOSTILE, "m": {}}) + b"\n" + b'{"n":"' + HOSTILE.encode() + b'"}\n'
    gap = dump({"n": 99, "gap": {"reason": HOSTILE}}) + b"\n"
    file.write_bytes(hostile(tmp_path).read_bytes() + bad + gap)
    return file


def assert_inert(*printed: str) -> None:
    """No control character, and no line that GitHub Actions takes for a command."""
    for text in printed:
        assert [] == CONTROLS.findall(text)
        assert "\n::" not in text
