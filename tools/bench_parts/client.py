"""The client that measures: blocking reads and writes on two pipes, and a clock.

It must cost less than anything that it measures, so it neither parses nor waits on an event loop:
an answer is a line, and what was asked is known by heart.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Self

from bench_parts.traffic import INITIALIZE, INITIALIZED, Group

_CHUNK = 1 << 16
_WINDOW = 5
"""Groups under way at once: 40 KB. More than 64 KB, what a pipe holds, stops peers for good that
wait for one side to take all before they read the other.
"""
_CLOSING = 10.0


@dataclass(frozen=True)
class Flood:
    """What `Session.flood` got through; bytes and seconds."""

    requests: int
    bytes: int
    """Both ways together."""
    seconds: float


class Session:
    """A server, or what stands before one, with its stdin and stdout at our end."""

    exact = True
    """Whether answers must have the very bytes that the server sent."""

    def __init__(self, command: Sequence[str], env: dict[str, str], log: Path) -> None:
        with log.open("ab") as stderr:
            self._began = time.perf_counter_ns()
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, env=env,
                bufsize=0,
            )  # fmt: skip
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._in, self._out = self._process.stdin.fileno(), self._process.stdout.fileno()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    @property
    def pid(self) -> int:
        return self._process.pid

    def initialize(self) -> float:
        """Shakes hands; seconds from before the process was started until it answered."""
        self.ask(INITIALIZE)
        taken = time.perf_counter_ns() - self._began
        os.write(self._in, INITIALIZED)
        return taken / 1e9

    def ask(self, request: bytes) -> bytes:
        """One round trip."""
        os.write(self._in, request)
        answer = self._read()
        while answer[-1:] != b"\n":
            answer += self._read()
        return answer

    def ping_pong(self, requests: Sequence[bytes], first: int) -> list[float]:
        """One after the other; the seconds that each took. `first` is the id of the first."""
        clock, ask = time.perf_counter_ns, self.ask
        times, answers = [], []
        for request in requests:
            began = clock()
            answer = ask(request)
            times.append((clock() - began) / 1e9)
            answers.append(answer)
        for id_, answer in enumerate(answers, first):
            if b'"id":%d,' % id_ not in answer and b'"id": %d' % id_ not in answer:
                raise RuntimeError(f"asked {id_}, got {answer[:200]!r}")
        return times

    def flood(self, groups: Sequence[Group]) -> Flood:
        """All of them, as quickly as they are taken; raises if not just their answers come back."""
        read, write = self._read, os.write
        received = answered = asked = 0
        ends = [*accumulate(group.count for group in groups)]
        began = time.perf_counter()
        for i, group in enumerate(groups):
            while i >= _WINDOW and answered < ends[i - _WINDOW]:
                data = read()
                received += len(data)
                answered += data.count(b"\n")
            asked += write(self._in, group.data)
        while answered < ends[-1]:
            data = read()
            received += len(data)
            answered += data.count(b"\n")
        taken = time.perf_counter() - began
        expected = sum(group.answers for group in groups)
        if received != expected and self.exact:
            raise RuntimeError(f"{received} bytes came back, not {expected}")
        return Flood(ends[-1], asked + received, taken)

    def finish(self) -> None:
        """Ends the input; raises unless the process then ends well."""
        self.close()
        if self._process.returncode:
            raise RuntimeError(f"ended with status {self._process.returncode}")

    def close(self) -> None:
        """Ends the input and waits for the end."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(_CLOSING)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()

    def _read(self) -> bytes:
        data = os.read(self._out, _CHUNK)
        if not data:
            raise RuntimeError("ended without an answer")
        return data


@contextmanager
def limited(seconds: int) -> Iterator[None]:
    """Raises RuntimeError where it is not over in time, even while blocked."""

    def give_up(_signum: int, _frame: object) -> None:
        raise RuntimeError(f"not done after {seconds} s")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
