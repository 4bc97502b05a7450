"""`FakeServers`: the fake servers that an agent starts with `mcpmock mcp --allow-replay`."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from itertools import count, islice
from pathlib import Path
from threading import Lock

import attrs
import msgspec

from mcpmock.api.log import Call
from mcpmock.api.server import ReplayServer, serve
from mcpmock.cassette.model import Cassette
from mcpmock.errors import McpMockError
from mcpmock.faults.plan import read_plan
from mcpmock.playback.miss import Miss
from mcpmock.redaction.redactor import Redactor
from mcpmock.view.miss_report import miss_lines

from .folder import ReadCassette
from .pages import LogItem

MAX_FAKE_SERVERS = 8


class NoFakeServer(McpMockError):
    """There is no fake server of this number, or no room for another."""


@attrs.frozen
class RunningServer:
    """A fake server on loopback."""

    name: str
    """The cassette that it plays."""
    server: ReplayServer

    def log(self, offset: int, limit: int) -> tuple[int, list[LogItem]]:
        """Return how many entries its log has, and some of them: the calls, and behind them what
        is missing.
        """
        calls, misses = list(self.server.log.calls), list(self.server.misses)
        every = islice(self._entries(calls, misses), offset, offset + limit)
        return len(calls) + len(misses), list(every)

    def _entries(self, calls: Sequence[Call], misses: Sequence[Miss]) -> Iterator[LogItem]:
        redactor = Redactor()  # what a client sends is nowhere recorded
        for call in calls:
            params = redactor.json(msgspec.json.encode(call.params)).decode("utf-8", "replace")
            yield LogItem("call", call.method, params)
        for miss in misses:
            yield LogItem("miss", miss.method, "\n".join(miss_lines(miss, Path(self.name))))


@attrs.define
class FakeServers:
    """Fake servers by their numbers. `close` stops all."""

    load: Callable[[str], Cassette]
    """Reads a cassette from which a fault draws."""
    _running: dict[int, RunningServer] = attrs.field(factory=dict)
    _stacks: dict[int, ExitStack] = attrs.field(factory=dict)
    _numbers: count[int] = attrs.field(factory=lambda: count(1))
    _changing: Lock = attrs.field(factory=Lock)

    def start(self, found: ReadCassette, faults: Sequence[str]) -> tuple[int, str]:
        """Return the number and the URL of a new one. Raises NoFakeServer, PlanError and
        CassetteError.
        """
        with self._changing, ExitStack() as stack:
            if len(self._running) >= MAX_FAKE_SERVERS:
                raise NoFakeServer(f"{MAX_FAKE_SERVERS} fake servers run already: stop one first")
            plan = read_plan("", "", faults)
            drawn = tuple(fault.with_samples(self.load) for fault in plan.faults)
            plan = attrs.evolve(plan, faults=drawn)
            server = stack.enter_context(serve(found.cassette, faults=plan, misses="allow"))
            number, url = next(self._numbers), server.url
            self._running[number] = RunningServer(found.name, server)
            self._stacks[number] = stack.pop_all()
        return number, url

    def running(self, number: int) -> RunningServer:
        """Raise NoFakeServer if it does not run."""
        try:
            return self._running[number]
        except KeyError:
            known = ", ".join(map(str, self._running)) or "none"
            raise NoFakeServer(f"no fake server {number} runs; running: {known}") from None

    def stop(self, number: int) -> list[str]:
        """Return the faults that never fired, and why. Raises NoFakeServer if it does not run."""
        with self._changing:
            idle = list(self.running(number).server.faults.never_fired())
            del self._running[number]
            with warnings.catch_warnings(action="ignore"):  # of what is returned
                self._stacks.pop(number).close()
        return idle

    def close(self) -> None:
        """Stop all."""
        for number in list(self._running):
            self.stop(number)
