"""The client over stdio: an answer is a line."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path

from bench_parts.client import Flood, Session
from bench_parts.traffic import INITIALIZE, INITIALIZED, Group, check

_MAX_READ = 1 << 16
# 5 groups of 8 KB. With more than the 64 KB that a pipe holds, peers deadlock that write all to one
# side before they read the other.
_WINDOW_GROUPS = 5


class PipeSession(Session):
    """A process with pipes to its stdin and stdout."""

    def __init__(self, command: Sequence[str], env: dict[str, str], log: Path) -> None:
        began = time.perf_counter_ns()
        with log.open("ab") as stderr:
            process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, env=env,
                bufsize=0,
            )  # fmt: skip
        super().__init__(process, began)
        assert process.stdin is not None
        assert process.stdout is not None
        self._stdin, self._stdout = process.stdin, process.stdout
        self._in, self._out = process.stdin.fileno(), process.stdout.fileno()

    @property
    def descriptors(self) -> tuple[int, int]:
        """Its output, and its input."""
        return self._out, self._in

    def flood(self, groups: Sequence[Group]) -> Flood:
        read, write = self._read, os.write
        received = answered = asked = 0
        ends = [*accumulate(group.count for group in groups)]
        began = time.perf_counter()
        for i, group in enumerate(groups):
            while i >= _WINDOW_GROUPS and answered < ends[i - _WINDOW_GROUPS]:
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

    def close(self) -> None:
        super().close()
        self._stdout.close()

    def _send_initialize(self) -> None:
        self._ask(INITIALIZE)

    def _send_initialized(self) -> None:
        os.write(self._in, INITIALIZED)

    def _wire(self, request: bytes) -> bytes:
        return request

    def _ask(self, wire: bytes) -> bytes:
        os.write(self._in, wire)
        answer = self._read()
        while answer[-1:] != b"\n":
            answer += self._read()
        return answer

    def _check(self, request: bytes, answer: bytes) -> None:
        check(request, [answer])

    def _end_input(self) -> None:
        self._stdin.close()

    def _read(self) -> bytes:
        data = os.read(self._out, _MAX_READ)
        if not data:
            raise RuntimeError("ended without an answer")
        return data
