"""What a command was started with goes on to the server that it starts, and nothing else does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mcpmock.channels import inherited
from tests.support import OPENING, cassette_bytes, request, response
from tests.support.processes import MCPMOCK

pytestmark = pytest.mark.e2e

SERVER = """
import json, os, stat, sys
kinds = {}
for fd in range(3, 64):
    try:
        kinds[fd] = stat.S_IFMT(os.fstat(fd).st_mode)
    except OSError:
        pass
secret = os.read(int(sys.argv[1]), 100).decode()
with open(sys.argv[2], "a") as file:
    print(json.dumps([secret, sorted(kinds)]), file=file)
"""
"""It reads the file that it is given by its number, and notes what else is open."""


@pytest.mark.parametrize(
    "command",
    [
        ("record", "-o", "b.jsonl"),
        ("record", "-o", "b.jsonl", "--new"),
        ("proxy",),
        ("proxy", "--record", "c.jsonl"),
        ("drive", "a.jsonl"),
        ("verify", "a.jsonl"),
        ("explore", "a.jsonl", "--max-runs", "1"),
    ],
    ids=" ".join,
)
def test_an_inherited_descriptor(tmp_path: Path, command: tuple[str, ...]) -> None:
    """Started early or when it is needed, the server has what we had, at its number, and none of
    ours.
    """
    played = cassette_bytes(*OPENING, ("c2s", request(1, "ping")), ("s2c", response(1)))
    (tmp_path / "a.jsonl").write_bytes(played)
    ours, theirs = os.pipe()
    os.write(theirs, b"from a shell")
    os.close(theirs)
    seen = tmp_path / "seen"
    words = [sys.executable, "-c", SERVER, str(ours), str(seen)]
    subprocess.run(
        [*MCPMOCK, *command, "--", *words],
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        pass_fds=[ours],
        timeout=60,
        check=False,
    )
    os.close(ours)
    assert f'["from a shell", [{ours}]]' == seen.read_text().splitlines()[0]


def test_what_is_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a child gets, but for the standard descriptors."""
    monkeypatch.setattr(inherited, "descriptors", [])
    private, passed = (os.open(os.devnull, os.O_RDONLY) for _ in range(2))
    os.set_inheritable(passed, True)
    inherited.note_descriptors()

    assert passed in inherited.descriptors
    assert {0, 1, 2, private}.isdisjoint(inherited.descriptors)
    os.close(private)
    os.close(passed)
