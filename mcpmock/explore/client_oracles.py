"""The oracles of a run of a client: what a correct client does in any schedule. Pure.

A client program is judged by the protocol's rules, by a hang and by a crash; by its exit status
only where it should have noticed nothing but time: otherwise the status is shown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs

from mcpmock.cassette.model import Cassette
from mcpmock.faults.races.fault import CancelRace
from mcpmock.trials.oracle import Broken, Oracle, Oracles

from .oracles import exception_in, left_behind, violations_of, without_details
from .recorded_call import requests_of
from .variant import Variant, VariantChange

RaceKey = tuple[str, int]
"""A request that a race is about: its method, and its number among those of the method, from 1."""

_TIMEOUTS = (
    '2025-11-25 basic/lifecycle: "Implementations SHOULD establish timeouts for all sent requests"'
)


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
    def cancelled(self) -> frozenset[RaceKey]:
        """The requests that the client cancelled."""
        counts, found = Counter[str](), set[RaceKey]()
        for request in requests_of(self.cassette.takes[0].events):
            counts[request.method] += 1
            if request.cancelled:
                found.add((request.method, counts[request.method]))
        return frozenset(found)

    @property
    def met(self) -> bool:
        """Whether the client cancelled the request of a race."""
        races = (one for one in self.receipts if one.get("kind") == CancelRace.kind)
        return any("i" in (one.get("drawn") or {}) for one in races)


@attrs.frozen
class ClientBaseline:
    """What the client does with the recorded order, in several runs."""

    statuses: frozenset[int | None] = frozenset()
    rules: frozenset[str] = frozenset()
    cancelled: frozenset[RaceKey] = frozenset()
    seconds: float = 0.0

    @classmethod
    def of(cls, runs: Sequence[ClientRun]) -> ClientBaseline:
        return cls(
            frozenset(run.status for run in runs),
            frozenset(one.name for run in runs for one in violations_of(run.cassette, "c2s")),
            frozenset[RaceKey]().union(*(run.cancelled for run in runs)),
            max(run.seconds for run in runs),
        )

    def with_reference(self, reference: ClientRun) -> ClientBaseline:
        """Return the baseline of a race, beside the run of its plainest cell: a program that
        reports a timeout there may report it in all.
        """
        return attrs.evolve(self, statuses=self.statuses | {reference.status})


def race_key(change: VariantChange) -> RaceKey | None:
    """Return which request a change races for; None for another change."""
    fault = change.fault
    if not isinstance(fault, CancelRace):
        return None
    method = fault.match.method
    return (method if isinstance(method, str) else "", fault.match.nth or 1)


def reference_race(variant: Variant, change: VariantChange) -> Variant:
    """Return the plainest race for the same request: the server gives nothing, the client cancels,
    and that is all.
    """
    assert isinstance(change.fault, CancelRace)
    plain = attrs.evolve(change.fault, cell=None, i=0, j=0, reaction="silent")
    return attrs.evolve(variant, changes=(attrs.evolve(change, fault=plain, reaction="silent"),))


@attrs.frozen
class JudgedClient:
    """What the oracles look at. Without a baseline the run is one itself."""

    run: ClientRun
    variant: Variant
    baseline: ClientBaseline | None = None
    judges_status: bool = False
    """Whether the exit status counts also where a correct client may notice something."""

    @property
    def place(self) -> str:
        """The call that the variant is about."""
        return self.variant.changes[0].place if self.variant.changes else ""


def _ends(judged: JudgedClient) -> Iterator[Broken]:
    run, baseline, variant, place = judged.run, judged.baseline, judged.variant, judged.place
    exception = exception_in(run.stderr).decode(errors="replace")
    why = f": {exception}" if exception else ""
    usual = (0,) if baseline is None else baseline.statuses
    counts = judged.judges_status or (variant.benign and not variant.ends)
    counts = counts and not variant.breaks_handshake
    if run.hung:
        yield _hang(run, place, variant)
    elif run.status is not None and run.status < 0:
        yield Broken("crash", place, f"the client is ended by signal {-run.status}")
    elif run.status not in usual and counts:
        text = f"the client ends with exit status {run.status}{why}"
        same = without_details(exception_in(run.stderr))
        yield Broken("exit-status", place, text, exception=same)


def _connects(judged: JudgedClient) -> Iterator[Broken]:
    """Yield, of the recorded order, that there is nothing to explore."""
    run = judged.run
    if judged.baseline is None and not requests_of(run.cassette.takes[0].events):
        said = run.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        how = "it hangs" if run.hung else f"it ends with exit status {run.status}"
        text = f"the client never connected: {how}{': ' if said else ''}{said}"
        yield Broken("never-connects", "", text)


def _hang(run: ClientRun, place: str, variant: Variant) -> Broken:
    """Tell a wait for an answer, which a longer timeout may end, from a client that hangs."""
    waits = [one for one in requests_of(run.cassette.takes[0].events) if not one.answered]
    if variant.spoils or any(not one.cancelled for one in waits):
        text = "the client waits for an answer that never comes, longer than --timeout"
        return Broken("waits-for-ever", place, text, "odd", _TIMEOUTS)
    return Broken("hang", place, "the client hangs")


def _rules(judged: JudgedClient) -> Iterator[Broken]:
    if judged.baseline is not None:
        for one in violations_of(judged.run.cassette, "c2s", judged.variant):
            if one.name not in judged.baseline.rules:
                yield Broken(f"rule:{one.name}", one.place, one.text, cites=one.cites)


def _misses(judged: JudgedClient) -> Iterator[Broken]:
    if judged.variant.benign:
        yield from (Broken("miss", "", text, "odd") for text in judged.run.misses[:1])


CLIENT_ORACLES = Oracles(
    (
        Oracle("never-connects", _connects),
        Oracle("hang", _ends, waits=True, timed=True),
        Oracle("waits-for-ever", _ends, waits=True, timed=True),
        Oracle("crash", _ends),
        Oracle("exit-status", _ends),
        Oracle("rule", _rules),
        Oracle("leaves-process", lambda it: left_behind(it.run.leftover), timed=True, ending=True),
        Oracle("miss", _misses),
    )
)
"""What must hold of a client (`mcpmock help explore`)."""
