"""The end-to-end tests' own vocabulary: mcpmock as a program, scripted servers, and what is left of
both when they have ended.

Every process that a test starts inherits `TAG` in its environment; that is how all of them are
found again, the ones in a session of their own (servers, the guard) included.
"""

from __future__ import annotations

import fcntl
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import IO

import msgspec

from mcpmock.cassette.file import load
from mcpmock.cassette.model import Take
from mcpmock.protocol.messages import Direction

MCPMOCK = (sys.executable, "-m", "mcpmock")
SCRIPTED = Path(__file__).parents[1] / "e2e" / "servers" / "scripted.py"
TAG = "MCPMOCK_E2E_TAG"
END = 30.0
"""Seconds after which a program that should end is taken for hung. How long the steps of its end
take is tested on a mock clock (tests/channels/test_process.py); a busy machine may need any time.
"""
GONE = 30.0
"""The same for the processes below one that was killed."""
_CHUNK = 1 << 16


def record(cassette: Path, server: Sequence[str], *options: str) -> list[str]:
    """The command that records `server`."""
    return [*MCPMOCK, "record", "-o", str(cassette), *options, "--", *server]


def replay(cassette: Path, *options: str) -> list[str]:
    """The command that plays the server of a cassette."""
    return [*MCPMOCK, "replay", str(cassette), *options]


def scripted(*args: object) -> list[str]:
    """The command of a server of servers/scripted.py; it says one line before anything else."""
    return [sys.executable, "-S", str(SCRIPTED), *map(str, args)]


IGNORE_ALL = ("--ignore", "TERM", "--ignore", "INT", "--ignore", "HUP")
CHILDREN = {
    "good": scripted("idle"),
    "ignores EOF": scripted("--deaf", "idle"),
    "ignores EOF and signals": scripted(*IGNORE_ALL, "--deaf", "idle"),
    "forks": scripted("--fork", "idle"),
}
"""Servers that do not make their end easy."""


def takes(cassette: Path) -> list[Take]:
    """The takes of a cassette that loads without damage."""
    return load(cassette).takes


def whole_take(cassette: Path) -> Take:
    """The one take of a cassette whose recorder closed it cleanly, with nothing missing."""
    (take,) = takes(cassette)
    assert take.sealed
    assert take.footer is not None
    assert take.footer.gaps == 0
    assert take.footer.events == len(take.events) == take.events[-1].n
    return take


def crossed(take: Take, direction: Direction) -> bytes:
    """The bytes of one direction, rebuilt from the recording."""
    frames = [event.frame for event in take.events if event.payload is not None]
    return b"".join(
        frame.raw + frame.eol for frame in frames if frame and frame.direction is direction
    )


def exits(take: Take) -> list[dict[str, int]]:
    """How the server's process ended, as recorded: once, one would hope."""
    return [event.end for event in take.events if isinstance(event.end, dict) and event.d is None]


def unlocked(path: Path) -> bool:
    """Whether nobody holds the lock of this file."""
    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


@contextmanager
def running(
    argv: Sequence[str],
    *,
    stdin: int = subprocess.PIPE,
    stdout: int = subprocess.PIPE,
    stderr: Path | int = subprocess.DEVNULL,
) -> Iterator[subprocess.Popen[bytes]]:
    """A program with unbuffered pipes, in a group of its own that does not outlive the block."""
    with stderr.open("wb") if isinstance(stderr, Path) else nullcontext(stderr) as log:
        process = subprocess.Popen(
            argv, stdin=stdin, stdout=stdout, stderr=log, start_new_session=True, bufsize=0
        )
    try:
        yield process
    finally:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass  # the usual case: all have gone
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()


def stdin_of(process: subprocess.Popen[bytes]) -> IO[bytes]:
    assert process.stdin is not None
    return process.stdin


def stdout_of(process: subprocess.Popen[bytes]) -> IO[bytes]:
    assert process.stdout is not None
    return process.stdout


def ready(process: subprocess.Popen[bytes]) -> list[int]:
    """Waits for the first line of a scripted server: its process id, and its grandchild's."""
    return pids_in(read_line(process))


def pids_in(line: bytes) -> list[int]:
    """The process ids that a scripted server says first."""
    pids: list[int] = msgspec.json.decode(line)["params"]["pids"]
    return pids


def read_line(process: subprocess.Popen[bytes]) -> bytes:
    """One line of a program's output, and not a byte more."""
    line = stdout_of(process).readline()  # unbuffered: byte by byte
    assert line.endswith(b"\n"), f"the output ended after {line!r}"
    return line


def reads(pipe: IO[bytes]) -> Iterator[bytes]:
    """What comes out of a pipe, read by read, to its end."""
    while data := pipe.read(_CHUNK):
        yield data


@contextmanager
def feeding(pipe: IO[bytes], chunks: Iterable[bytes], *, close: bool = True) -> Iterator[None]:
    """Writes to a pipe beside what the block does, until all is written or nobody reads."""

    def feed() -> None:
        try:
            for chunk in chunks:
                write_all(pipe, chunk)
            if close:
                pipe.close()
        except (BrokenPipeError, ValueError):
            pass  # the reader was killed, or the pipe closed under us, which some tests are about

    thread = threading.Thread(target=feed)
    thread.start()
    try:
        yield
    finally:
        thread.join()


def write_all(pipe: IO[bytes], data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[pipe.write(view) or 0 :]


def peak_memory(pid: int) -> int:
    """The most bytes that a living process ever had in memory."""
    status = Path(f"/proc/{pid}/status").read_text("ascii")
    return next(int(row.split()[1]) for row in status.splitlines() if "VmHWM" in row) << 10


def started_with(tag: str) -> dict[int, str]:
    """Every living process with this tag in its environment: its id and its command."""
    found = {}
    wanted = f"{TAG}={tag}".encode()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if wanted in (folder / "environ").read_bytes().split(b"\0"):
                command = (folder / "cmdline").read_bytes().replace(b"\0", b" ")
                found[int(folder.name)] = command.decode(errors="replace")
        except OSError:
            pass  # it has just ended, or was never ours
    return found


def gone(pids: Iterable[int], within: float) -> bool:
    """Whether all these processes end within so many seconds; zombies have ended."""
    deadline = time.monotonic() + within
    return all(_ends(pid, deadline) for pid in pids)


def _ends(pid: int, deadline: float) -> bool:
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        left = max(0.0, deadline - time.monotonic())
        return bool(select.select([fd], [], [], left)[0])
    finally:
        os.close(fd)
