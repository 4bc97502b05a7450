"""A standard error that takes nothing changes no exit status, whichever command writes to it."""

from __future__ import annotations

import fcntl
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import click
import pytest

from mcpmock.cli.commands import cli
from tests.support import HEADER, OPENING, call, cassette_bytes, response
from tests.support.processes import END, MCPMOCK

pytestmark = pytest.mark.e2e
HOWS = ("closed", "broken pipe", "full pipe", "hung up terminal")
NOISE = "import sys; sys.stderr.write('noise ' * 50_000); sys.stdin.read(); sys.exit(7)"
SERVER = ("--", sys.executable, "-S", "-c", NOISE)
ENDING = (*SERVER[:-1], NOISE.replace("sys.stdin.read(); ", ""))
"""It ends at once: a client does not wait for its answers."""
COMMANDS: list[tuple[str, ...]] = [
    (),
    ("nosuch",),
    ("check", "nowhere.jsonl", "a.jsonl"),
    ("control",),
    ("convert", "a.jsonl", "-o", "OUT.har"),
    ("demo", "-o", "a.jsonl"),
    ("diff", "a.jsonl", "b.jsonl"),
    ("drive", "a.jsonl", *ENDING),
    ("explore", "nowhere.jsonl", *ENDING),
    ("faults", "latenzy"),
    ("fmt", "a.jsonl", "b.jsonl"),
    ("help", "nosuch"),
    ("login", "nonsense"),
    ("logout", "nonsense"),
    ("mcp", "nowhere"),
    ("merge", "a.jsonl", "b.jsonl", "-o", "OUT.jsonl"),
    ("proxy", *SERVER),
    ("record", "-o", "OUT.jsonl", "--no-redact", *SERVER),
    ("redact", "a.jsonl", "-o", "OUT.jsonl"),
    ("recover", "damaged.jsonl", "-o", "OUT.jsonl"),
    ("replay", "-v", "a.jsonl", "--fault", "drop:must_fire=true"),
    ("replay", "a.jsonl", "--listen", "127.0.0.1:0"),
    ("replay", "a.jsonl", "--fault", "latenzy"),
    ("report", "a.jsonl", "-o", "OUT.html"),
    ("review", "nowhere.rej.jsonl"),
    ("rules", "nosuch"),
    ("run", "--", "nosuch"),
    ("scan", "nowhere.jsonl"),
    ("show", "nowhere.jsonl"),
    ("stats", "a.jsonl"),
    ("unwrap", "nosuch"),
    ("verify", "a.jsonl", *ENDING),
    ("watch", "a.jsonl"),
    ("wrap", "nosuch"),
]
HANGS = 1000
ASKED = b"".join(raw + b"\n" for raw in (call(1, "other"), b"x" * 10_000, call(2, "other")))
KEPT = ("HOME", "PATH", "TMPDIR")
"""The rest is left out: PYTHONUNBUFFERED, which many containers set, hides what is tested here."""


@contextmanager
def opened(how: str) -> Iterator[int]:
    """A standard error."""
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
    turn = HOWS.index(how)
    every = "MCPMOCK_E2E_ALL" in os.environ
    return [words for n, words in enumerate(COMMANDS) if every or n % len(HOWS) == turn]


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
    with open(tmp_path / "stderr", "wb") as file:
        usual = dict(
            zip(
                COMMANDS,
                statuses(tmp_path / "file", "file", file.fileno(), COMMANDS),
                strict=True,
            )
        )
    found: dict[tuple[str, tuple[str, ...]], tuple[int, int]] = {}
    for how in HOWS:
        with opened(how) as fd:
            tried = commands(how)
            got = statuses(tmp_path / how.replace(" ", "-"), how, fd, tried)
        found |= {
            (how, words): (status, usual[words])
            for words, status in zip(tried, got, strict=True)
            if status != usual[words]
        }
    assert {} == found
    assert 7 in usual.values()
