"""Exit statuses of programs whose stdout or stderr is closed, full or broken."""

from __future__ import annotations

import fcntl
import io
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import pytest

from mcpmock.channels.standard_streams import write_log_line
from mcpmock.channels.unix_client import UNREACHABLE_STATUS

ROOT = Path(__file__).parents[2]
MCPMOCK = (sys.executable, "-m", "mcpmock")
DEMO_CLIENT = (sys.executable, "-m", "mcpmock.demo.client")
DEMO_SERVER = (sys.executable, "-m", "mcpmock.demo.server")
VISITOR = str(ROOT / "mcpmock" / "channels" / "unix_client.py")
IN_A_PROGRAM = "from mcpmock.channels.standard_streams import write_log_line as w; w('a'); w('b')"
LOGGING = {
    (str(Path(sys.executable).parent / "mcpmock"), "show", "nowhere.jsonl"): 3,
    DEMO_SERVER: 0,
    DEMO_CLIENT: 1,
    (*DEMO_CLIENT, "--", "/nowhere"): 127,
    (*DEMO_CLIENT, "--", *DEMO_SERVER): 0,
    (sys.executable, "-S", VISITOR, "/nowhere"): UNREACHABLE_STATUS,
    (sys.executable, "-c", IN_A_PROGRAM): 0,
}
"""Programs that write to standard error, and the exit status of each; tests/cli/test_stderr.py has
the commands of mcpmock.
"""
PRINTING = [
    (*MCPMOCK, "--help"),
    (*MCPMOCK, "show", "cassettes/time.jsonl"),
    (*MCPMOCK, "show", "--color", "always", "cassettes/time.jsonl"),
    (*MCPMOCK, "check", "--json", "cassettes/time.jsonl"),
]
"""Commands whose result is on standard output; the exit status is 0 where that can be written."""
KEPT = ("HOME", "PATH", "TMPDIR")
"""The rest is left out: PYTHONUNBUFFERED, which many containers set, hides what is tested here."""


@contextmanager
def opened(how: str) -> Iterator[int]:
    """A descriptor to write to."""
    if how == "broken":
        unread, fd = os.pipe()
        os.close(unread)
    else:
        fd = os.open("/dev/full" if how == "full" else os.devnull, os.O_WRONLY)
    yield fd
    os.close(fd)


def started(
    command: tuple[str, ...], how: str, fd: int, *, stdout: int, stderr: int
) -> subprocess.Popen[bytes]:
    """Starts a command, with the descriptor `fd` closed if that is how it is to be."""
    close = f"exec {fd}>&-; " if how == "closed" else ""
    return subprocess.Popen(
        ["/bin/sh", "-c", f'{close}exec "$@"', "sh", *command],
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=stderr,
        cwd=ROOT,
        env={name: os.environ[name] for name in KEPT if name in os.environ},
    )


@pytest.mark.e2e
@pytest.mark.parametrize("how", ["closed", "full", "broken"])
def test_a_stderr_that_takes_nothing_changes_no_exit_status(how: str) -> None:
    """Each command ends with the status that it has anyway."""
    with opened(how) as fd:
        running = {
            command: started(command, how, 2, stdout=subprocess.DEVNULL, stderr=fd)
            for command in LOGGING
        }
    assert {command: process.wait(30) for command, process in running.items()} == LOGGING


@pytest.mark.e2e
@pytest.mark.parametrize(
    ("how", "status", "log"),
    [
        ("closed", 0, ""),
        ("full", 1, "mcpmock: cannot write to standard output: No space left on device\n"),
        ("broken", 141, ""),
    ],
)
def test_a_stdout_that_takes_nothing(how: str, status: int, log: str) -> None:
    """A result that is lost is an error, except where its reader left; there is no traceback."""
    with opened(how) as fd:
        running = [
            started(command, how, 1, stdout=fd, stderr=subprocess.PIPE) for command in PRINTING
        ]
    ended = [
        (process.communicate(timeout=30)[1].decode(), process.returncode) for process in running
    ]
    assert ended == [(log, status)] * len(PRINTING)


def test_a_log_line_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pipe that nobody reads takes what it holds; the rest is dropped."""
    unread, fd = os.pipe()
    os.write(fd, b"x" * fcntl.fcntl(fd, fcntl.F_GETPIPE_SZ))
    with open(fd, "w") as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        write_log_line("late")
    held = os.read(unread, 1 << 20)
    os.close(unread)

    assert set(held) == set(b"x")


@pytest.mark.parametrize("length", [1 << 12, 1 << 14, 1 << 20])
def test_a_long_log_line_is_whole_if_its_pipe_is_read(
    monkeypatch: pytest.MonkeyPatch, length: int
) -> None:
    """`--json` prints objects of any length on standard error."""
    unread, fd = os.pipe()
    held = bytearray()

    def read_all() -> None:
        while data := os.read(unread, 1 << 16):
            held.extend(data)

    reader = Thread(target=read_all)
    reader.start()
    with open(fd, "w") as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        write_log_line("\u2603" * length)
    reader.join()
    os.close(unread)

    assert held.decode() == "\u2603" * length + "\n"


def test_a_log_line_goes_to_the_stream_of_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program may have put a stream of its own in the place of standard error."""
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    write_log_line("here")

    assert stream.getvalue() == "here\n"
