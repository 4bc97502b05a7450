"""Each command on a terminal: what its first line says, so that none is mute while it waits, and
that Ctrl-C ends those that wait.
"""

from __future__ import annotations

import fcntl
import os
import pty
import subprocess
import termios
from pathlib import Path

import pytest

from tests.support.processes import END, MCPMOCK
from tests.support.sealed import sealed

pytestmark = pytest.mark.e2e

ON_STDIN = (
    "mcpmock: waiting for JSON-RPC on standard input: give this command to a client in place of "
    "the server's; for a URL, "
)
DRIVING = "mcpmock: playing the recorded client of s.jsonl: waiting for the server's answers"
NAMES = "mcpmock: waiting for the names of cassettes on standard input, one a line, then Ctrl-D"
WAITING = {
    "replay s.jsonl": f"{ON_STDIN}add --listen 127.0.0.1:0",
    "record -o r.jsonl -- cat": f"{ON_STDIN}use `mcpmock proxy --listen 127.0.0.1:0 --record "
    "r.jsonl -- cat`",
    "proxy -- cat": f"{ON_STDIN}add --listen 127.0.0.1:0",
    "proxy --cassette s.jsonl -- cat": f"{ON_STDIN}add --listen 127.0.0.1:0",
    "proxy --url http://127.0.0.1:9/mcp": f"{ON_STDIN}add --listen 127.0.0.1:0",
    "replay s.jsonl --listen 127.0.0.1:0": "listening on http://127.0.0.1:",
    "record -o r.jsonl --url http://127.0.0.1:9/mcp": "listening on http://127.0.0.1:",
    "proxy --listen 127.0.0.1:0 -- cat": "listening on http://127.0.0.1:",
    "drive s.jsonl -- sleep 600": DRIVING,
    "verify s.jsonl -- sleep 600": DRIVING,
    "watch s.jsonl": "listening on http://127.0.0.1:",
    "watch no.jsonl": "listening on http://127.0.0.1:",
    "show --follow no.jsonl": "mcpmock: waiting for no.jsonl, which is not there yet",
    "check -": NAMES,
    "scan -": NAMES,
    "stats -": NAMES,
}
TELLING = {
    "show s.jsonl": "take 1 ",
    "stats s.jsonl": "call ",
    "diff s.jsonl s.jsonl": "s.jsonl -> s.jsonl: no differences in",
    "check s.jsonl": "s.jsonl",
    "scan s.jsonl": "s.jsonl: ",
    "fmt s.jsonl": "mcpmock: s.jsonl: formatted 1 take",
    "report s.jsonl -o s.html": "mcpmock: ",
    "merge s.jsonl s.jsonl -o m.jsonl": "mcpmock: ",
    "convert s.jsonl -o s.har": "mcpmock: ",
    "recover s.jsonl -o m.jsonl": "mcpmock: ",
    "redact s.jsonl": "mcpmock: ",
    "faults": "`mcpmock faults KIND` explains a kind.",
    "faults drop": "The message never arrives.",
    "help": "`mcpmock help TOPIC` prints a topic of the manual:",
    "wrap --list": "mcpmock: ",
    "unwrap --all": "mcpmock: ",
    "demo -o demo": "1. Record a real client with a real server",
    "logout http://127.0.0.1:9/mcp": "mcpmock: ",
}


class AtTerminal:
    """A command that a person types: a terminal is all that it has."""

    def __init__(self, command: str, folder: Path) -> None:
        self._ours, theirs = pty.openpty()
        settings = termios.tcgetattr(theirs)
        settings[1] &= ~termios.OPOST
        termios.tcsetattr(theirs, termios.TCSANOW, settings)
        environment = {**os.environ, "HOME": str(folder), "NO_COLOR": "1", "PAGER": "cat"}
        environment.pop("COLUMNS", None)
        self.process = subprocess.Popen(
            [*MCPMOCK, *command.split()],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            cwd=folder,
            env=environment,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(theirs, termios.TIOCSCTTY, 0),
        )
        os.close(theirs)
        self._read = b""

    def line(self) -> str:
        """The next line; empty at the end."""
        while b"\n" not in self._read:
            try:
                self._read += os.read(self._ours, 1 << 16)
            except OSError:  # EIO: the last process has closed the terminal
                break
        line, _, self._read = self._read.partition(b"\n")
        return line.decode()

    def type(self, keys: bytes) -> None:
        os.write(self._ours, keys)

    def end(self) -> int:
        """Read to the end, and give the exit status."""
        while self.line():
            pass
        os.close(self._ours)
        return self.process.wait(END)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "s.jsonl").write_bytes(sealed())
    return tmp_path


@pytest.mark.parametrize("command", WAITING)
def test_what_waits_says_for_what(folder: Path, command: str) -> None:
    """In its first line; Ctrl-C ends it with 130, or as it ended the server."""
    terminal = AtTerminal(command, folder)
    line = terminal.line()
    terminal.type(b"\x03")

    assert line.startswith(WAITING[command])
    assert 130 == terminal.end()


@pytest.mark.parametrize("command", TELLING)
def test_what_ends_tells_its_result(folder: Path, command: str) -> None:
    """Nothing ends without a line."""
    terminal = AtTerminal(command, folder)
    line = terminal.line() or terminal.line()
    terminal.end()

    assert line
    assert line.startswith(TELLING[command])


def test_a_pipe_and_quiet_hear_nothing(folder: Path) -> None:
    """Who starts us as a server reads the protocol."""
    done = subprocess.run(
        [*MCPMOCK, "replay", "s.jsonl"], stdin=subprocess.DEVNULL, capture_output=True, cwd=folder
    )
    terminal = AtTerminal("replay -q s.jsonl", folder)
    terminal.type(b"\x04")

    assert (b"", b"") == (done.stdout, done.stderr)
    assert "" == terminal.line()
    assert 0 == terminal.end()
