"""Faults in processes of their own: the same bytes every time, and a status that tells."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import INITIALIZED, OPENING, call, cassette_bytes, response

pytestmark = pytest.mark.e2e
ASKED = b"".join(
    raw + b"\n" for raw in (OPENING[0][1], INITIALIZED, *(call(n, "x") for n in range(1, 30)))
)


def replay(file: Path, *faults: str) -> tuple[int, bytes, bytes]:
    """What a client reads that has said all at once."""
    words = [word for fault in faults for word in ("--fault", fault)]
    command = [sys.executable, "-m", "mcpmock", "replay", str(file), "--seed", "5", *words]
    done = subprocess.run(command, input=ASKED, capture_output=True, timeout=60, check=False)
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.jsonl"
    calls = [line for n in range(1, 30) for line in (("c2s", call(n, "x")), ("s2c", response(n)))]
    path.write_bytes(cassette_bytes(*OPENING, *calls))
    return path


def test_two_processes_give_the_same_bytes(file: Path) -> None:
    """Whatever is drawn; and with no probability, those of no plan."""
    plan = (
        "corrupt:tool=x,probability=0.3",
        "truncate:tool=x,every=5",
        "drop:tool=x,probability=0.2",
    )
    once, again = replay(file, *plan), replay(file, *plan)

    assert once == again
    assert 0 == once[0]
    none, never = replay(file), replay(file, "drop:probability=0")
    assert none[:2] == never[:2]
    assert none[1] != once[1]


def test_the_server_dies(file: Path) -> None:
    """With the status that is told, and not before its time."""
    status, said, told = replay(file, "exit:code=7,tool=x,nth=3,stderr=panic")

    assert (7, [1, 2]) == (status, [n for n in range(1, 30) if response(n) + b"\n" in said])
    assert told.startswith(b"panic\n")
