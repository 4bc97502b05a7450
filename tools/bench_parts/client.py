"""The client that measures: blocking reads and writes, and a clock.

It must cost less than anything that it measures, so it neither parses nor waits on an event loop
while the clock runs; whether the answers were right is looked at afterwards. How it talks is for
`over_pipes` and `over_http`.
"""

from __future__ import annotations

import signal
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Self

from bench_parts.traffic import Group

_CLOSING = 10.0


@dataclass(frozen=True)
class Flood:
    """What `Session.flood` got through; bytes and seconds."""

    requests: int
    bytes: int
    """Both ways together."""
    seconds: float


class Session(ABC):
    """A server, or what stands before one, and our end of the talk with it."""

    exact = True
    """Whether answers must have the very bytes that the server sent."""
    good_ends: frozenset[int] = frozenset({0})
    """The statuses with which a process ends that is well."""

    def __init__(self, process: subprocess.Popen[bytes], began: int) -> None:
        self._process, self._began = process, began

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    @property
    def pid(self) -> int:
        return self._process.pid

    def initialize(self) -> float:
        """Shakes hands; seconds from before the process was started until it answered."""
        self._ask_to_initialize()
        taken = time.perf_counter_ns() - self._began
        self._say_initialized()
        return taken / 1e9

    def ping_pong(self, requests: Sequence[bytes]) -> list[float]:
        """One after the other; the seconds that each took."""
        wires = [self._wire(request) for request in requests]
        clock, ask = time.perf_counter_ns, self._ask
        times, answers = [], []
        for wire in wires:
            began = clock()
            answer = ask(wire)
            times.append((clock() - began) / 1e9)
            answers.append(answer)
        for request, answer in zip(requests, answers, strict=True):
            self._check(request, answer)
        return times

    @abstractmethod
    def flood(self, groups: Sequence[Group]) -> Flood:
        """All of them, as quickly as they are taken; raises if not just their answers come back."""

    def finish(self) -> None:
        """Has the process end; raises unless it ends well."""
        self.close()
        if self._process.returncode not in self.good_ends:
            raise RuntimeError(f"ended with status {self._process.returncode}")

    def close(self) -> None:
        """Has the process end and waits for it."""
        self._part()
        try:
            self._process.wait(_CLOSING)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    @abstractmethod
    def _ask_to_initialize(self) -> None: ...

    @abstractmethod
    def _say_initialized(self) -> None: ...

    @abstractmethod
    def _wire(self, request: bytes) -> bytes:
        """A request as it is sent."""

    @abstractmethod
    def _ask(self, wire: bytes) -> bytes:
        """One round trip."""

    @abstractmethod
    def _check(self, request: bytes, answer: bytes) -> None:
        """Raises unless this is its answer."""

    @abstractmethod
    def _part(self) -> None:
        """Lets the process know that it is over, once."""


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
