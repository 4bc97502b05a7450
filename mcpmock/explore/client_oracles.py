"""The oracles of a run of a client: what a correct client does in any schedule. Pure.

A client program is judged by the protocol's rules, by a hang and by a crash; by its exit status
only where it should have noticed nothing but time: otherwise the status is shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs

from mcpmock.cassette.model import Cassette
from mcpmock.protocol.correlation import CANCELLED
from mcpmock.protocol.messages import Notification

from .oracles import Broken, exception_in, violations_of
from .recorded_call import messages_of_events
from .variant import Variant


@attrs.frozen(kw_only=True)
class ClientRun:
    """What one run of a client left."""

    cassette: Cassette
    """What the client sent and got."""
    status: int | None
    """Its exit status; below 0 for a signal."""
    hung: bool = False
    stderr: bytes = b""
    leftover: tuple[str, ...] = ()
    misses: tuple[str, ...] = ()
    receipts: tuple[Mapping[str, Any], ...] = ()
    seconds: float = 0.0

    @property
    def outcome(self) -> str:
        """How it ended, in a word."""
        if self.hung:
            return "hang"
        return f"exit {self.status}"

    @property
    def cancels(self) -> bool:
        return any(
            isinstance(message, Notification) and message.method == CANCELLED
            for event, message in messages_of_events(self.cassette.takes[0].events)
            if event.d == "c2s"
        )


@attrs.frozen
class ClientBaseline:
    """What the client does with the recorded order, in several runs."""

    statuses: frozenset[int | None] = frozenset()
    rules: frozenset[str] = frozenset()
    cancels: bool = False
    seconds: float = 0.0

    @classmethod
    def of(cls, runs: Sequence[ClientRun]) -> ClientBaseline:
        return cls(
            frozenset(run.status for run in runs),
            frozenset(one.name for run in runs for one in violations_of(run.cassette, "c2s")),
            any(run.cancels for run in runs),
            max(run.seconds for run in runs),
        )


def judge_client(
    run: ClientRun,
    baseline: ClientBaseline | None,
    variant: Variant,
    *,
    judges_status: bool = False,
) -> list[Broken]:
    """The oracles that do not hold, the worst first. Without a baseline the run is one itself."""
    found = [*_ends(run, baseline, variant, judges_status=judges_status)]
    known = frozenset[str]() if baseline is None else baseline.rules
    found += [
        Broken(f"rule:{one.name}", one.place, one.text, cites=one.cites)
        for one in (violations_of(run.cassette, "c2s") if baseline is not None else ())
        if one.name not in known
    ]
    found += [
        Broken("leaves-process", "", f"it left a process behind: {name}") for name in run.leftover
    ]
    if variant.benign:
        found += [Broken("miss", "", text, "odd") for text in run.misses[:1]]
    return sorted(found, key=lambda one: one.verdict != "broken")


def _ends(
    run: ClientRun, baseline: ClientBaseline | None, variant: Variant, *, judges_status: bool
) -> Iterator[Broken]:
    place = variant.changes[0].place if variant.changes else ""
    exception = exception_in(run.stderr).decode(errors="replace")
    why = f": {exception}" if exception else ""
    usual = (0,) if baseline is None else baseline.statuses
    judged = judges_status or (variant.benign and not variant.ends)
    if run.hung:
        yield Broken("hang", place, "the client hangs")
    elif run.status is not None and run.status < 0:
        yield Broken("crash", place, f"the client is ended by signal {-run.status}")
    elif run.status not in usual and judged:
        yield Broken("exit-status", place, f"the client ends with exit status {run.status}{why}")
