"""`Load`: the figures of many sessions of played clients, by method and tool, and `LatencyLimit`.

Pure: `sessions.load` plays the clients and says what came of their calls, the faces print it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import NamedTuple

import attrs

from mcpmock.histogram import Histogram
from mcpmock.printable import excerpt
from mcpmock.protocol.messages import Request, Response, parse_items
from mcpmock.redaction.masks import masked_text

from .driver import Driver
from .script import ClientScript

_MAX_FAILURES_NAMED = 100
_MAX_REASON_CHARS = 200
_MAX_REASON_BYTES = 8000
"""How much of an answer is read for its reason. A secret that is cut there is not shown."""


class CallKind(NamedTuple):
    """The method of a call and, of `tools/call`, the tool."""

    method: str
    tool: str | None = None

    def __str__(self) -> str:
        return self.method if self.tool is None else f"{self.method} {self.tool}"


@attrs.define
class LoadCalls:
    """The calls of one kind that are over."""

    count: int = 0
    errors: int = 0
    """Those that were answered with an error where none was recorded, not answered where an answer
    was recorded, or not made because the session had broken off.
    """
    cancelled: int = 0
    latencies: Histogram = attrs.field(factory=Histogram)
    """Microseconds, of the calls that were answered as recorded."""
    longest: int | None = None
    """The longest of the latencies, to the microsecond; None without any."""

    def percentile(self, share: float) -> int | None:
        """Return the latency that this share of the calls does not exceed; None without
        latencies.
        """
        found = self.latencies.percentile(share)
        return found if self.longest is None or found is None else min(found, self.longest)


@attrs.define
class Load:
    """The figures so far. Times are in seconds."""

    calls: dict[CallKind, LoadCalls] = attrs.field(factory=dict)
    sessions: int = 0
    """Those that are over; of a session that was interrupted only the answered calls count."""
    broken: int = 0
    """The sessions in which the server did not send what the client waited for."""
    unstarted: int = 0
    """The sessions that were due and could not be started before the time was over."""
    seconds: float = 0.0
    latest_start: float = 0.0
    """The longest time by which a session was started too late."""
    failures: Counter[str] = attrs.field(factory=Counter)
    """What the servers did not do, each with the number of times."""

    @property
    def count(self) -> int:
        """How many calls are over."""
        return sum(calls.count for calls in self.calls.values())

    @property
    def errors(self) -> int:
        """How many calls failed."""
        return sum(calls.errors for calls in self.calls.values())

    @property
    def answered(self) -> bool:
        """Whether any call went as recorded."""
        return any(calls.longest is not None for calls in self.calls.values())

    def fail(self, line: str) -> None:
        """Take a line that a driver reports."""
        if line in self.failures or len(self.failures) < _MAX_FAILURES_NAMED:
            self.failures[line] += 1

    def calls_of(self, script: ClientScript) -> tuple[LoadCalls, ...]:
        """Return where each call of a script counts."""
        items = (item for line in script.lines for item in parse_items(line.frame.raw))
        kinds = (CallKind(item.method, item.tool) for item in items if isinstance(item, Request))
        return tuple(self.calls.setdefault(kind, LoadCalls()) for kind in kinds)


@attrs.define
class LoadSession:
    """Counts the calls of one session. `delay` is the time by which it was started too late: its
    calls would have been made so much earlier, so their latencies count from then.
    """

    # Coordinated omission: a client that waits for a slow server makes fewer calls while it is
    # slow, and a latency that counts from the call says nothing of those that had to wait.

    load: Load
    script: ClientScript
    calls: Sequence[LoadCalls]
    delay: float = 0.0

    def answered(self, call: int, answer: Response, seconds: float) -> None:
        """Count an answer that came so long after the call."""
        counted = self.calls[call]
        counted.count += 1
        if answer.failed and call not in self.script.errors:
            counted.errors += 1
            event = next(line.n for line in self.script.lines if call in line.calls)
            reason = _shown((answer.error or answer.result or b"")[:_MAX_REASON_BYTES])
            self.load.fail(f"the request in event {event} was answered with an error: {reason}")
            return
        microseconds = round((seconds + self.delay) * 1_000_000)
        counted.latencies.add(microseconds)
        counted.longest = max(counted.longest or 0, microseconds)

    def finish(self, driver: Driver) -> None:
        """End the session."""
        self.load.sessions += 1
        self.load.broken += driver.failed > 0
        for call in driver.cancelled:
            self.calls[call].count += 1
            self.calls[call].cancelled += 1
        for call in driver.unanswered():
            self.calls[call].count += 1
            self.calls[call].errors += 1


@attrs.frozen
class LatencyLimit:
    """The highest 99th percentile of the latencies, in seconds, of each kind of call that fits the
    globs.
    """

    text: str
    """As the user wrote it."""
    seconds: float
    method: str = "*"
    tool: str | None = None

    def fits(self, kind: CallKind) -> bool:
        """Return whether the limit is one for this kind of call."""
        if self.tool is not None and not (kind.tool and fnmatchcase(kind.tool, self.tool)):
            return False
        return fnmatchcase(kind.method, self.method)


@attrs.frozen
class LoadLimits:
    """What a load has to keep to; `errors` is the highest share of the calls that fail."""

    latencies: Sequence[LatencyLimit] = ()
    errors: float = 0.0

    def exceeded(self, load: Load) -> list[tuple[CallKind, int, LatencyLimit]]:
        """Return the kinds of calls that were too slow, with their 99th percentile in
        microseconds.
        """
        return [
            (kind, p99, limit)
            for kind, calls in load.calls.items()
            if (p99 := calls.percentile(0.99)) is not None
            for limit in self.latencies
            if limit.fits(kind) and p99 > limit.seconds * 1_000_000
        ]

    def too_many_errors(self, load: Load) -> bool:
        """Return whether too many of the calls failed."""
        return load.errors > self.errors * load.count


# speed: 0.2 us for an answer as before, without 126 (python -m timeit)
@lru_cache(maxsize=_MAX_FAILURES_NAMED)
def _shown(answer: bytes) -> str:
    """Return how an answer begins, without secrets."""
    return excerpt(masked_text(answer.decode("utf-8", "backslashreplace")), _MAX_REASON_CHARS)
