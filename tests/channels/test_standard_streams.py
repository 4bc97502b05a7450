"""Exit statuses of programs whose stdout or stderr is closed, full or broken."""

from __future__ import annotations

import fcntl
import io
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from mcpmock.channels.standard_streams import guard_standard_streams, write_log_line
from mcpmock.channels.unix_client import UNREACHABLE_STATUS
from mcpmock.errors import OutputLost
from tests.support.every import EVERY

ROOT = Path(__file__).parents[2]
MCPMOCK = (sys.executable, "-m", "mcpmock")
DEMO_CLIENT = (sys.executable, "-m", "mcpmock.demo.client")
DEMO_SERVER = (sys.executable, "-m", "mcpmock.demo.server")
VISITOR = str(ROOT / "mcpmock" / "channels" / "unix_client.py")
IN_A_PROGRAM = "from mcpmock.channels.standard_streams import write_log_line as w; w('a'); w('b')"
HOWS = ("closed", "full", "broken")
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
@pytest.mark.parametrize("how", HOWS)
def test_a_stderr_that_takes_nothing_changes_no_exit_status(how: str) -> None:
    """Each program ends with the status that it has anyway. In turns, a third of them; with
    MCPMOCK_E2E_ALL, each.
    """
    turn = HOWS.index(how)
    statuses = {
        command: status
        for number, (command, status) in enumerate(LOGGING.items())
        if EVERY or number % len(HOWS) == turn
    }
    with opened(how) as fd:
        running = {
            command: started(command, how, 2, stdout=subprocess.DEVNULL, stderr=fd)
            for command in statuses
        }
    assert {command: process.wait(30) for command, process in running.items()} == statuses


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

    buffer = io.BytesIO()
    monkeypatch.setattr(sys, "stderr", io.TextIOWrapper(buffer))
    write_log_line("at once")

    assert buffer.getvalue() == b"at once\n"


@pytest.fixture
def one(monkeypatch: pytest.MonkeyPatch) -> Callable[..., io.TextIOWrapper]:
    """Makes both standard streams such a one."""

    def become(**how: Any) -> io.TextIOWrapper:
        stream = io.TextIOWrapper(io.BytesIO(), "latin-1", "replace", **how)
        for name in ("stdout", "stderr"):
            monkeypatch.setattr(sys, name, stream)
            monkeypatch.setattr(sys, f"__{name}__", stream)
        return stream

    return become


@pytest.mark.parametrize(
    ("how", "at_once"),
    [({}, False), ({"line_buffering": True}, True), ({"write_through": True}, True)],
)
def test_the_settings_of_a_stream(
    one: Callable[..., io.TextIOWrapper], how: dict[str, bool], at_once: bool
) -> None:
    """They are those that it had, with lines written at once where they were."""
    before = one(**how)
    guard_standard_streams()
    for stream in (sys.stdout, sys.stderr):
        assert isinstance(stream, io.TextIOWrapper)
        assert stream is not before
        assert ("latin-1", "replace", at_once) == (
            stream.encoding,
            stream.errors,
            stream.line_buffering,
        )


def test_streams_of_the_caller(
    one: Callable[..., io.TextIOWrapper], monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are left to it; there may be none."""
    one()
    out, err = io.StringIO(), io.StringIO()
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    guard_standard_streams()
    assert (out, err) == (sys.stdout, sys.stderr)

    monkeypatch.setattr(sys, "stderr", None)
    monkeypatch.setattr(sys, "__stderr__", None)
    guard_standard_streams()
    assert isinstance(sys.stderr, io.TextIOWrapper)
    assert ("utf-8", "backslashreplace") == (sys.stderr.encoding, sys.stderr.errors)


@contextmanager
def in_the_place_of(number: int) -> Iterator[None]:
    """Lets a standard descriptor be replaced."""
    kept = os.dup(number)
    try:
        yield
    finally:
        os.dup2(kept, number)
        os.close(kept)


def test_a_closed_descriptor_is_opened() -> None:
    """Nothing else can have its number."""
    before = len(os.listdir("/proc/self/fd"))
    with in_the_place_of(0):
        os.close(0)
        guard_standard_streams()

        assert os.stat(os.devnull).st_rdev == os.fstat(0).st_rdev
    assert before >= len(os.listdir("/proc/self/fd"))


@pytest.mark.parametrize("how", ["broken", "full"])
def test_a_result_that_cannot_be_written(one: Callable[..., io.TextIOWrapper], how: str) -> None:
    """It is told once; the exit of the interpreter, which writes again, meets no error."""
    before = len(os.listdir("/proc/self/fd"))
    one()
    with in_the_place_of(1):
        with opened(how) as fd:
            os.dup2(fd, 1)
        guard_standard_streams()
        sys.stdout.write("x")
        with pytest.raises(OutputLost) as lost:
            sys.stdout.flush()
        sys.stdout.flush()

    assert lost.value.reader_left is (how == "broken")
    assert before >= len(os.listdir("/proc/self/fd"))
