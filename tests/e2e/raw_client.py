"""A client of bytes: say exactly this to a stdio program, keep exactly what it says.

The end-to-end tests run one conversation with a server directly and through `mcpmock record`,
and compare all three outcomes: the bytes of stdout, of stderr, and the exit code.

    spoken = talk(argv, [line({"jsonrpc": "2.0", "id": 1, "method": "ping"}), Answer(1), Close()])

After the last step it waits for the program's exit.  Every wait has an end: `TalkError` tells
what was waited for, and what had come.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any


@dataclass(frozen=True)
class Send:
    """Write these bytes, no more and no less, in one piece where the pipe takes it."""

    data: bytes


@dataclass(frozen=True)
class Answer:
    """Wait for a line that answers the request of this id; 1 and "1" are two ids."""

    id: int | str


@dataclass(frozen=True)
class Lines:
    """Wait until the program has written so many lines to stdout since its start."""

    count: int


@dataclass(frozen=True)
class Signal:
    """Send a signal to the program, not to its children."""

    number: int


@dataclass(frozen=True)
class Close:
    """Close the program's input."""


@dataclass(frozen=True)
class Until:
    """Wait until something else has happened."""

    what: str
    come: Callable[[], bool]


Step = Send | Answer | Lines | Signal | Close | Until


@dataclass(frozen=True)
class Spoken:
    """All that the program let out."""

    stdout: bytes
    stderr: bytes
    exit_code: int
    """Negative: the signal that ended it, as in `subprocess`."""


class TalkError(Exception):
    """The program did not do what a step waits for."""


def line(message: object) -> Send:
    """Send a JSON value on a line of its own, in the compact form of the SDKs."""
    return Send(json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")


def talk(
    argv: list[str],
    steps: Iterable[Step],
    *,
    timeout: float = 60.0,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> Spoken:
    """Run `argv`, do the steps in order, wait for its exit; `timeout` is for all of it."""
    deadline = time.monotonic() + timeout
    with _running(argv, env, cwd) as program:
        for step in steps:
            program.do(step, deadline)
        return program.end(deadline)


@dataclass
class _Program:
    """A running program, and a thread for each of its two outputs."""

    process: subprocess.Popen[bytes]
    stdin: IO[bytes]
    came: threading.Condition = field(default_factory=threading.Condition)
    stdout: bytearray = field(default_factory=bytearray)
    stderr: bytearray = field(default_factory=bytearray)
    readers: list[threading.Thread] = field(default_factory=list)

    def listen(self, pipe: IO[bytes], into: bytearray) -> None:
        """Keep what comes through a pipe, in a thread, until its end."""

        def read() -> None:
            with pipe:
                while chunk := os.read(pipe.fileno(), 65536):
                    with self.came:
                        into.extend(chunk)
                        self.came.notify_all()
            with self.came:
                self.came.notify_all()

        thread = threading.Thread(target=read, daemon=True)
        self.readers.append(thread)
        thread.start()

    def do(self, step: Step, deadline: float) -> None:
        """Do one step of the conversation."""
        match step:
            case Send(data):
                self.send(data, deadline)
            case Answer(id_):
                self.wait(f"an answer to id {id_!r}", lambda: self.answered(id_), deadline)
            case Lines(count):
                self.wait(f"{count} lines", lambda: len(self.lines()) >= count, deadline)
            case Signal(number):
                self.process.send_signal(number)
            case Close():
                self.stdin.close()
            case Until(what, come):
                self.wait(what, come, deadline)

    def lines(self) -> list[bytes]:
        """The whole lines of stdout so far."""
        return bytes(self.stdout).split(b"\n")[:-1]

    def answered(self, id_: int | str) -> bool:
        """Whether a line so far answers the request of this id."""
        return any(_answer_id(text) == (type(id_), id_) for text in self.lines())

    def send(self, data: bytes, deadline: float) -> None:
        """Write the bytes; a program that does not read is waited for no longer than anything."""
        fd = self.stdin.fileno()
        os.set_blocking(fd, False)
        while data:
            _, writable, _ = select.select([], [fd], [], max(0.0, deadline - time.monotonic()))
            if not writable:
                raise self.error(f"the program to read {len(data)} more bytes")
            try:
                data = data[os.write(fd, data) :]
            except BrokenPipeError as error:
                raise self.error(f"the program to read {len(data)} more bytes") from error

    def wait(self, what: str, come: Callable[[], bool], deadline: float) -> None:
        """Wait for output that makes `come()` true; the end of stdout is the end of hope."""
        with self.came:
            while not come():
                left = deadline - time.monotonic()
                if left <= 0 or not self.readers[0].is_alive():
                    break
                self.came.wait(min(left, 0.1))
            else:
                return
        raise self.error(what)

    def end(self, deadline: float) -> Spoken:
        """Wait for the exit and for the end of both outputs, which a grandchild may hold."""
        try:
            exit_code = self.process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            raise self.error("the program to exit") from None
        for reader in self.readers:
            reader.join(max(0.0, deadline - time.monotonic()))
            if reader.is_alive():
                raise self.error("the end of its output (does a child of it live on?)")
        return Spoken(bytes(self.stdout), bytes(self.stderr), exit_code)

    def error(self, waited_for: str) -> TalkError:
        """Say what was waited for in vain, and what came instead."""
        for reader in self.readers:
            reader.join(0.1)  # a program that has just died: its last words are under way
        code = self.process.poll()
        state = "still runs" if code is None else f"has exited with {code}"
        return TalkError(
            f"waited for {waited_for}; the program {state}\n"
            f"stdout so far: {_shown(self.stdout)}\nstderr so far: {_shown(self.stderr)}"
        )


@contextmanager
def _running(
    argv: list[str], env: Mapping[str, str] | None, cwd: Path | None
) -> Iterator[_Program]:
    """Start the program in a group of its own, and leave nothing of the group behind."""
    pipe = subprocess.PIPE
    process = subprocess.Popen(
        argv, stdin=pipe, stdout=pipe, stderr=pipe, env=env, cwd=cwd, start_new_session=True
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    program = _Program(process, process.stdin)
    program.listen(process.stdout, program.stdout)
    program.listen(process.stderr, program.stderr)
    try:
        yield program
    finally:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass  # the usual case: all have gone
        process.wait()
        process.stdin.close()


def _answer_id(text: bytes) -> tuple[type, Any] | None:
    """The id of a response, with its type: True == 1 == 1.0 in Python."""
    try:
        message = json.loads(text)
    except ValueError:
        return None
    if not isinstance(message, dict) or "method" in message or "id" not in message:
        return None
    return type(message["id"]), message["id"]


def _shown(output: bytearray, most: int = 2000) -> str:
    """The last bytes of an output, for an error message."""
    cut = f"({len(output) - most} bytes before) " if len(output) > most else ""
    return f"{cut}{bytes(output[-most:])!r}"
