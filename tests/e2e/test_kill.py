"""What kill -9 leaves of a recorded session: every frame that anybody saw, and no process."""

from __future__ import annotations

import os
import random
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path

import pytest

from mcpmock.cassette.file import load
from mcpmock.protocol.messages import C2S, S2C
from tests.support.processes import (
    CHILDREN,
    GONE,
    crossed,
    feeding,
    gone,
    pids_in,
    read_line,
    ready,
    record,
    running,
    scripted,
    started_with,
    stdin_of,
    stdout_of,
    takes,
    unlocked,
)

from .raw_client import Close, Lines, talk

pytestmark = pytest.mark.e2e

Kill = Callable[[subprocess.Popen[bytes]], None]
ROUNDS = int(os.environ.get("MCPMOCK_E2E_KILLS", "12"))
BATCH = 12
FIRST_SEED = int(os.environ.get("MCPMOCK_E2E_SEED", "0"))


def kill_it(process: subprocess.Popen[bytes]) -> None:
    process.kill()


def kill_its_group(process: subprocess.Popen[bytes]) -> None:
    os.killpg(process.pid, signal.SIGKILL)


KILLS: list[Kill] = [kill_it, kill_its_group]


@pytest.mark.parametrize("kill", KILLS)
def test_kill_9_leaves_no_process(kill: Kill, tmp_path: Path, nothing_left: str) -> None:
    """However mcpmock is killed, every kind of child, its children and the guard end within 2 s."""
    with ExitStack() as stack:
        sessions = [
            stack.enter_context(running(record(tmp_path / f"{name}.jsonl", server)))
            for name, server in CHILDREN.items()
        ]
        children = [pid for process in sessions for pid in ready(process)]
        for process in sessions:
            kill(process)

        assert gone([*children, *started_with(nothing_left)], GONE)
        assert {process.wait() for process in sessions} == {-signal.SIGKILL}


def test_after_kill_9_the_next_recorder_has_the_file(tmp_path: Path) -> None:
    """No lock is left: the next start appends its take to the same file."""
    cassette = tmp_path / "a.jsonl"
    with running(record(cassette, scripted("idle"))) as process:
        ready(process)
        process.kill()
        process.wait()

        assert unlocked(cassette)
        assert talk(record(cassette, scripted("idle")), [Lines(1), Close()]).stderr == b""
    killed, complete = takes(cassette)
    assert killed.footer is None
    assert complete.sealed


def load_of(seed: int) -> Iterator[bytes]:
    """Lines without end, of all sizes, some longer than what is held in one piece."""
    dice = random.Random(seed)
    for number in count(1):
        size = dice.choice([10, 100, 100, 100, 1000, 10_000])
        if not dice.randrange(400):
            size = 2_500_000
        yield b'{"jsonrpc":"2.0","id":%d,"method":"m","params":{"s":"%b"}}\n' % (
            number,
            b"x" * size,
        )


def whole_lines(data: bytes | bytearray) -> bytes:
    """Without the torn line at the end."""
    return bytes(data[: data.rfind(b"\n") + 1])


@pytest.mark.parametrize("first", range(FIRST_SEED, FIRST_SEED + ROUNDS, BATCH))
def test_kill_9_under_load_loses_no_frame(first: int, tmp_path: Path) -> None:
    """Every frame that reached the other side before the kill is in the cassette, which loads."""
    for seed in range(first, min(first + BATCH, FIRST_SEED + ROUNDS)):
        print(f"seed {seed}")
        folder = tmp_path / str(seed)
        folder.mkdir()
        check_round(seed, folder / "a.jsonl", folder / "log")


def check_round(seed: int, cassette: Path, log: Path) -> None:
    """One session, killed when its client had received so much; both sides tell what they got."""
    dice = random.Random(seed)
    enough = dice.randrange(1 << dice.randrange(1, 24))
    kill = dice.choice(KILLS)
    with running(record(cassette, scripted("--log", log, "echo"))) as process:
        received = bytearray(read_line(process))
        children = pids_in(bytes(received))
        with feeding(stdin_of(process), load_of(seed)):
            while len(received) < enough:
                received += stdout_of(process).read(1 << 16)
            kill(process)
            received += stdout_of(process).read()
        assert gone(children, GONE)

    recorded = load(cassette)
    (take,) = recorded.takes
    assert crossed(take, C2S).startswith(whole_lines(log.read_bytes()))
    assert crossed(take, S2C).startswith(whole_lines(received))
    assert sum("torn" in notice.text for notice in recorded.notices) <= 1
