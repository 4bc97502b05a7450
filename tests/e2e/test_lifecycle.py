"""How a recorded session ends: by its client, its server, a signal, several signals at once."""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import termios
import threading
import tty
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from mcpmock.protocol.messages import S2C
from tests.support.every import EVERY
from tests.support.processes import (
    CHILDREN,
    END,
    crossed,
    exits,
    read_line,
    ready,
    record,
    replay,
    running,
    scripted,
    started_with,
    stdin_of,
    stdout_of,
    takes,
    unlocked,
    whole_take,
    write_all,
)

from .raw_client import Close, Lines, Send, Signal, Spoken, Step, Until, talk

pytestmark = pytest.mark.e2e

PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
LIST = b'{"jsonrpc":"2.0","id":2,"method":"tools/list"}\n'


def expected_end(child: str, end: Step) -> dict[str, int] | None:
    """How the process of this child ends, as it would without us; None where it does not."""
    if child == "ignores EOF and signals":
        return None
    if isinstance(end, Signal):
        return {"signal": end.number}
    return None if child == "ignores EOF" else {"exit": 0}


def whole(file: Path) -> bool:
    """Whether the take has its footer."""
    return file.exists() and bool(takes(file)) and takes(file)[0].sealed is True


def status(end: dict[str, int]) -> int:
    """The exit status that a shell would give for it."""
    return end["exit"] if "exit" in end else 128 + end["signal"]


ENDS: list[Step] = [Close(), *map(Signal, (signal.SIGTERM, signal.SIGINT, signal.SIGHUP))]


@pytest.mark.parametrize("child", CHILDREN)
def test_every_end_is_quick_clean_and_complete(
    child: str, tmp_path: Path, nothing_left: str
) -> None:
    """Four sessions, ended in four ways: each has its child's code and a complete take, and nothing
    is left behind. A child that does not end is waited for, until the client sends SIGKILL; the
    take is complete by then, and the child ends too.
    """
    files = [tmp_path / f"{number}.jsonl" for number in range(len(ENDS))]
    argvs = [record(file, CHILDREN[child]) for file in files]
    ends = [expected_end(child, end) for end in ENDS]

    def ended(number: int) -> Spoken:
        steps: list[Step] = [Lines(1), ENDS[number]]
        if ends[number] is None:
            steps += [Until("a whole take", lambda: whole(files[number])), Signal(signal.SIGKILL)]
        return talk(argvs[number], steps)

    with ThreadPoolExecutor(len(ENDS)) as pool:
        outcomes = list(pool.map(ended, range(len(ENDS))))
    left = started_with(nothing_left)

    assert left == {} or None in ends  # a guard gives its child a second
    codes = [-signal.SIGKILL if end is None else status(end) for end in ends]
    assert [spoken.exit_code for spoken in outcomes] == codes
    assert [spoken.stderr for spoken in outcomes] == [b""] * len(ENDS)
    recorded = [exits(whole_take(file)) for file in files]
    assert recorded == [[] if end is None else [end] for end in ends]
    assert all(unlocked(file) for file in files)
    assert sorted(tmp_path.iterdir()) == files


def test_a_server_that_handles_a_signal_gives_its_own_exit_code(tmp_path: Path) -> None:
    """The signal is handed on, and a server that ignores it has its input as long as the client
    keeps it open.
    """
    server = scripted("--ignore", "TERM", "--status", "7", "echo")
    argv = record(tmp_path / "a.jsonl", server)
    steps: list[Step] = [Lines(1), Signal(signal.SIGTERM), Send(PING), Lines(2), Close()]

    assert talk(argv, steps).exit_code == 7


@pytest.mark.parametrize(
    ("words", "end"),
    [
        (("--status", "3", "quit", ""), {"exit": 3}),
        (("--status", "4", "quit", '{"jsonrpc":"2.0","id":1,"res'), {"exit": 4}),
        (("--status", "0", "quit", "bye"), {"exit": 0}),
        (("die", int(signal.SIGABRT)), {"signal": signal.SIGABRT}),
        (("die", int(signal.SIGKILL)), {"signal": signal.SIGKILL}),
    ],
)
def test_a_server_that_exits_ends_the_session_though_the_client_stays(
    words: tuple[object, ...], end: dict[str, int], tmp_path: Path
) -> None:
    """All that it still said is delivered, a torn line too, and its code is ours."""
    server = scripted(*words)
    direct = talk(server, [Lines(1), Send(PING)])
    spoken = talk(record(tmp_path / "a.jsonl", server), [Lines(1), Send(PING)])
    take = whole_take(tmp_path / "a.jsonl")

    assert spoken.exit_code == status(end)
    assert spoken.stdout.partition(b"\n")[2] == direct.stdout.partition(b"\n")[2]
    assert crossed(take, S2C) == spoken.stdout
    assert exits(take) == [end]


def test_a_client_that_closes_its_reading_end_ends_the_servers_input(tmp_path: Path) -> None:
    """Nobody reads: no traceback, the server ends with its input, what it said is recorded."""
    errors = tmp_path / "stderr"
    with running(record(tmp_path / "a.jsonl", scripted("echo")), stderr=errors) as process:
        ready(process)
        stdout_of(process).close()
        write_all(stdin_of(process), PING)

        assert process.wait(END) == 0
    assert errors.read_bytes() == b""
    assert crossed(whole_take(tmp_path / "a.jsonl"), S2C).endswith(b"\n" + PING)


def test_a_client_that_closes_its_end_of_standard_error_loses_nothing_else(tmp_path: Path) -> None:
    """What the server logs then goes nowhere; what it answers arrives."""
    unread, stderr = os.pipe()
    with running(
        record(tmp_path / "a.jsonl", scripted("--noisy", "echo")), stderr=stderr
    ) as process:
        os.close(stderr)
        os.close(unread)
        ready(process)
        for _ in range(3):
            write_all(stdin_of(process), PING)
            assert read_line(process) == PING
        stdin_of(process).close()

        assert process.wait(END) == 0


def test_a_client_that_never_reads_cannot_keep_us(tmp_path: Path) -> None:
    """With a client that takes nothing and a server that has much to say, SIGTERM is the end."""
    argv = record(tmp_path / "a.jsonl", scripted("flood", 16 << 20))
    with running(argv) as process:
        ready(process)
        process.terminate()

        assert process.wait(END) == 128 + signal.SIGTERM
    assert exits(whole_take(tmp_path / "a.jsonl")) == [{"signal": signal.SIGTERM}]


@pytest.mark.parametrize(
    ("seed", "child"),
    [(0, "good"), (1, "ignores EOF"), *([(2, "good"), (3, "ignores EOF")] if EVERY else [])],
)
def test_a_storm_of_signals_is_one_end(seed: int, child: str, tmp_path: Path) -> None:
    """Fifty mixed signals in a tenth of a second: one recorded end, no traceback."""
    errors = tmp_path / "stderr"
    dice = random.Random(seed)
    kinds = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    with running(record(tmp_path / "a.jsonl", CHILDREN[child]), stderr=errors) as process:
        ready(process)
        for _ in range(50):
            process.send_signal(dice.choice(kinds))
            threading.Event().wait(0.002)
        code = process.wait(END)

    ends = exits(whole_take(tmp_path / "a.jsonl"))
    assert errors.read_bytes() == b""
    assert ends in [[{"signal": kind}] for kind in kinds]
    assert abs(code) % 128 in kinds


@pytest.mark.parametrize("ignored", [(), ("--ignore", "INT")])
def test_a_client_that_ends_its_server_by_signals_records_no_crash(
    ignored: tuple[str, ...], tmp_path: Path
) -> None:
    """The replay of what it recorded stays until its own client ends it, with the status of that
    signal: 1 if there was a miss.
    """
    file = tmp_path / "a.jsonl"
    asked: list[Step] = [Lines(1), Send(PING), Lines(2)]
    ended: list[Step] = [Signal(signal.SIGINT), Signal(signal.SIGTERM)]
    talk(record(file, scripted(*ignored, "rpc")), [*asked, *(ended if ignored else ended[:1])])
    noted = [event.end for event in whole_take(file).events if event.d == "c2s" and event.end]
    assert noted == [{"signal": 2}, {"signal": 15}][: len(noted)]

    steps: list[Step] = [*asked, Send(PING), Lines(3)]
    missed: list[Step] = [Send(LIST), Lines(4)]
    interrupted: list[tuple[list[Step], int]] = [
        ([Signal(signal.SIGINT)], 130),
        ([*missed, Signal(signal.SIGTERM)], 1),
    ]
    others: list[tuple[list[Step], int]] = [
        ([Signal(signal.SIGTERM)], 143),
        ([Close()], 0),
        ([*missed, Close()], 1),
    ]
    for end, code in [
        *(interrupted if EVERY or not ignored else []),
        *(others if EVERY or ignored else []),
    ]:
        assert talk(replay(file), [*steps, *end]).exit_code == code


@dataclass
class Stdio:
    """Descriptors as a client hands them out: our ends, and theirs, which we keep open too."""

    write: int
    read: int
    theirs: tuple[int, int, int]


@contextmanager
def pipes() -> Iterator[Stdio]:
    """What most clients give: three pipes."""
    (stdin, write), (read, stdout), (errors, stderr) = (os.pipe() for _ in range(3))
    yield Stdio(write, read, (stdin, stdout, stderr))
    for fd in (stdin, write, read, stdout, errors, stderr):
        os.close(fd)


@contextmanager
def sockets() -> Iterator[Stdio]:
    """What node gives: three pairs of sockets."""
    with ExitStack() as stack:
        pairs = [[stack.enter_context(end) for end in socket.socketpair()] for _ in range(3)]
        (mine_in, stdin), (mine_out, stdout), (_, stderr) = pairs
        theirs = (stdin.fileno(), stdout.fileno(), stderr.fileno())
        yield Stdio(mine_in.fileno(), mine_out.fileno(), theirs)


@contextmanager
def terminal() -> Iterator[Stdio]:
    """What a shell gives: one terminal, three times; its modes must stay as they are too."""
    mine, theirs = os.openpty()
    tty.setraw(theirs)
    modes = termios.tcgetattr(theirs)
    yield Stdio(mine, mine, (theirs, theirs, theirs))
    assert termios.tcgetattr(theirs) == modes
    os.close(mine)
    os.close(theirs)


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("kind", [pipes, sockets, terminal])
def test_the_callers_descriptors_stay_blocking(
    kind: Callable[[], AbstractContextManager[Stdio]], end: signal.Signals, tmp_path: Path
) -> None:
    """O_NONBLOCK is set on no description that we share, neither meanwhile nor after kill -9."""
    argv = record(tmp_path / "a.jsonl", scripted("echo"))
    with kind() as stdio:
        stdin, stdout, stderr = stdio.theirs
        process = subprocess.Popen(argv, stdin=stdin, stdout=stdout, stderr=stderr)
        os.write(stdio.write, PING)
        said = b""
        while not said.endswith(b"\n" + PING):
            said += os.read(stdio.read, 65536)
        meanwhile = [os.get_blocking(fd) for fd in stdio.theirs]
        process.send_signal(end)
        process.wait(END)
        after = [os.get_blocking(fd) for fd in stdio.theirs]

    assert meanwhile == [True, True, True]
    assert after == [True, True, True]
