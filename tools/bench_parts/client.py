"""The client that measures: blocking reads and writes, and a clock.

It must cost less than anything that it measures, so it neither parses nor uses an event loop while
the clock runs; answers are checked afterwards. `over_pipes` and `over_http` have the transports.
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

_EXIT_TIMEOUT_S = 10.0


@dataclass(frozen=True)
class Flood:
    """The figures of one `Session.flood`."""

    requests: int
    bytes: int
    """In both directions together."""
    seconds: float


class Session(ABC):
    """A process that is measured, and the client's connection to it."""

    exact = True
    """Whether answers must be byte for byte those of the server."""
    good_ends: frozenset[int] = frozenset({0})
    """The exit statuses of success."""

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
        """Do the handshake. Gives the seconds from the start of the process to its answer."""
        self._send_initialize()
        taken = time.perf_counter_ns() - self._began
        self._send_initialized()
        return taken / 1e9

    def ping_pong(self, requests: Sequence[bytes]) -> list[float]:
        """Send one request after the other. Gives the seconds that each took."""
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
        """Send all of them without waiting for answers. Raises RuntimeError if one is wrong."""

    def finish(self) -> None:
        """End the process. Raises RuntimeError unless it exits with success."""
        self.close()
        if self._process.returncode not in self.good_ends:
            raise RuntimeError(f"ended with status {self._process.returncode}")

    def close(self) -> None:
        """End the process and wait for it."""
        self._end_input()
        try:
            self._process.wait(_EXIT_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    @abstractmethod
    def _send_initialize(self) -> None: ...

    @abstractmethod
    def _send_initialized(self) -> None: ...

    @abstractmethod
    def _wire(self, request: bytes) -> bytes:
        """A request as it is sent."""

    @abstractmethod
    def _ask(self, wire: bytes) -> bytes:
        """One round trip."""

    @abstractmethod
    def _check(self, request: bytes, answer: bytes) -> None:
        """Raises RuntimeError unless this is its answer."""

    @abstractmethod
    def _end_input(self) -> None:
        """Make the process end by itself."""


@contextmanager
def limited(seconds: int) -> Iterator[None]:
    """Raises RuntimeError if the block takes longer, even in a blocking call."""

    def give_up(_signum: int, _frame: object) -> None:
        raise RuntimeError(f"not done after {seconds} s")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
