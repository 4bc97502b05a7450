"""A standard error that takes nothing changes no exit status, whichever command writes to it."""

from __future__ import annotations

import fcntl
import os
import pty
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import click
import pytest

from mcpmock.cli.commands import cli
from tests.support import HEADER, OPENING, call, cassette_bytes, response
from tests.support.every import EVERY
from tests.support.processes import END, MCPMOCK

pytestmark = pytest.mark.e2e
HOWS = ("closed", "broken pipe", "full pipe", "hung up terminal", *(["file"] if EVERY else []))
NOISE = "import sys; sys.stderr.write('noise ' * 50_000); sys.stdin.read(); sys.exit(7)"
SERVER = ("--", sys.executable, "-S", "-c", NOISE)
ENDING = (*SERVER[:-1], NOISE.replace("sys.stdin.read(); ", ""))
"""It ends at once: a client does not wait for its answers."""
COMMANDS: dict[tuple[str, ...], int] = {
    (): 2,
    ("nosuch",): 2,
    ("check", "nowhere.jsonl", "a.jsonl"): 3,
    ("control",): 2,
    ("convert", "a.jsonl", "-o", "OUT.har"): 0,
    ("demo", "-o", "a.jsonl"): 3,
    ("diff", "a.jsonl", "b.jsonl"): 1,
    ("drive", "a.jsonl", *ENDING): 1,
    ("explore", "nowhere.jsonl", *ENDING): 3,
    ("faults", "latenzy"): 0,
    ("fmt", "a.jsonl", "b.jsonl"): 0,
    ("help", "nosuch"): 2,
    ("login", "nonsense"): 2,
    ("logout", "nonsense"): 1,
    ("mcp", "nowhere"): 2,
    ("merge", "a.jsonl", "b.jsonl", "-o", "OUT.jsonl"): 0,
    ("proxy", *SERVER): 7,
    ("record", "-o", "OUT.jsonl", "--no-redact", *SERVER): 7,
    ("redact", "a.jsonl", "-o", "OUT.jsonl"): 0,
    ("recover", "damaged.jsonl", "-o", "OUT.jsonl"): 0,
    ("replay", "-v", "a.jsonl", "--fault", "drop:must_fire=true"): 1,
    ("replay", "a.jsonl", "--listen", "127.0.0.1:0"): 0,
    ("replay", "a.jsonl", "--fault", "latenzy"): 3,
    ("report", "a.jsonl", "-o", "OUT.html"): 0,
    ("review", "nowhere.rej.jsonl"): 3,
    ("rules", "nosuch"): 2,
    ("run", "--", "nosuch"): 2,
    ("scan", "nowhere.jsonl"): 3,
    ("show", "nowhere.jsonl"): 3,
    ("stats", "a.jsonl"): 0,
    ("unwrap", "nosuch"): 1,
    ("verify", "a.jsonl", *ENDING): 1,
    ("watch", "a.jsonl"): 0,
    ("wrap", "nosuch"): 1,
}
"""With the exit status of each, which it has where its standard error is a file."""
HANGS = 1000
ASKED = b"".join(raw + b"\n" for raw in (call(1, "other"), b"x" * 10_000, call(2, "other")))
KEPT = ("HOME", "PATH", "TMPDIR")
"""The rest is left out: PYTHONUNBUFFERED, which many containers set, hides what is tested here."""


@contextmanager
def opened(how: str) -> Iterator[int]:
    """A standard error. The file takes what comes: that is how it is usually."""
    if how == "file":
        with tempfile.TemporaryFile() as file:
            yield file.fileno()
        return
    read, fd = pty.openpty() if how == "hung up terminal" else os.pipe()
    if how == "full pipe":
        os.write(fd, b"x" * fcntl.fcntl(fd, fcntl.F_GETPIPE_SZ))
    else:
        os.close(read)
    yield fd
    os.close(fd)
    if how == "full pipe":
        os.close(read)


def write_files(folder: Path) -> None:
    folder.mkdir(parents=True)
    asked = (("c2s", call(1, "a")), ("s2c", response(1)))
    (folder / "a.jsonl").write_bytes(cassette_bytes(*OPENING, *asked))
    (folder / "b.jsonl").write_bytes(cassette_bytes(*OPENING, *asked, *asked))
    (folder / "damaged.jsonl").write_bytes(HEADER + b"oops\n" + cassette_bytes(*OPENING))


def commands(how: str) -> list[tuple[str, ...]]:
    """The commands that are run so: in turns, a quarter of them; with MCPMOCK_E2E_ALL, each."""
    if EVERY:
        return [*COMMANDS]
    return [words for n, words in enumerate(COMMANDS) if n % len(HOWS) == HOWS.index(how)]


def statuses(folder: Path, how: str, stderr: int, commands: Sequence[tuple[str, ...]]) -> list[int]:
    """The exit status of each command; all run at once, each in a folder of its own. SIGTERM ends
    listeners.
    """
    close = "exec 2>&-; " if how == "closed" else ""
    with ExitStack() as stack:
        running = _start(folder, close, stderr, stack, commands)
        return [_status(process) for process in running]


def _start(
    folder: Path,
    close: str,
    stderr: int,
    stack: ExitStack,
    commands: Sequence[tuple[str, ...]],
) -> list[subprocess.Popen[bytes]]:
    running = []
    for number, words in enumerate(commands):
        write_files(folder / str(number))
        process = subprocess.Popen(
            ["/bin/sh", "-c", f'{close}exec "$@"', "sh", *MCPMOCK, *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
            cwd=folder / str(number),
            env={name: os.environ[name] for name in KEPT if name in os.environ},
        )
        stack.callback(_kill, process)
        running.append(process)
    for process in running:
        assert process.stdin is not None
        for step in (lambda pipe=process.stdin: pipe.write(ASKED), process.stdin.close):
            with suppress(BrokenPipeError):  # it has ended
                step()
    for words, process in zip(commands, running, strict=True):
        if "--listen" in words or "watch" in words:
            _end(process)
    return running


def _kill(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.kill()
        process.wait()


def _status(process: subprocess.Popen[bytes]) -> int:
    try:
        return process.wait(END)
    except subprocess.TimeoutExpired:
        return HANGS


def _end(process: subprocess.Popen[bytes]) -> None:
    """SIGTERM, as soon as there is a handler for it."""
    status = Path(f"/proc/{process.pid}/status")
    bit = 1 << (signal.SIGTERM - 1)
    while process.poll() is None:
        caught = next(line for line in status.read_text().splitlines() if line[:6] == "SigCgt")
        if int(caught.split()[1], 16) & bit:
            process.terminate()
            return


def test_every_command_is_here() -> None:
    """A new command needs a line here."""
    assert isinstance(cli, click.Group)
    known = cli.list_commands(click.Context(cli))
    assert {*known} <= {words[0] for words in COMMANDS if words}


def test_a_standard_error_that_takes_nothing_changes_no_exit_status(tmp_path: Path) -> None:
    """The status is the one that the command has where its standard error is a file."""
    found: dict[tuple[str, tuple[str, ...]], int] = {}
    for how in HOWS:
        with opened(how) as fd:
            tried = commands(how)
            got = statuses(tmp_path / how.replace(" ", "-"), how, fd, tried)
        found |= {(how, words): status for words, status in zip(tried, got, strict=True)}

    assert found == {(how, words): COMMANDS[words] for how, words in found}
    assert {words for _, words in found} == COMMANDS.keys()
