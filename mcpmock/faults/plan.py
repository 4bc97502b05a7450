"""`Plan`: the faults of a run, and the seed that all its chances come from.

In Python it is made of the classes as they are; `structure` makes it of what people wrote.
"""

from __future__ import annotations

from collections.abc import Callable

import attrs

from mcpmock.cassette.model import Cassette
from mcpmock.faults.kinds.latency import Latency
from mcpmock.protocol.messages import C2S, Frame

from .distributions import latencies
from .fault import Fault, PlanError
from .match import Match, MatchPlace, Subject, fits

Load = Callable[[str], Cassette]
"""Loads a cassette that a plan names."""


@attrs.frozen(kw_only=True)
class Plan:
    """What is to go wrong. The same plan, seed and input give the same bytes.

    >>> rarely = mcpmock.faults.Drop(match={"probability": 0.1})
    >>> plan = mcpmock.faults.Plan(faults=(rarely,), seed=7)
    """

    faults: tuple[Fault, ...] = ()
    seed: int = 0

    def with_samples(self, load: Load) -> Plan:
        """With the latencies of the cassettes that it names. Raises CassetteError, and PlanError
        where one has nothing to draw from.
        """
        return attrs.evolve(self, faults=tuple(_sampled(fault, load) for fault in self.faults))


def _sampled(fault: Fault, load: Load) -> Fault:
    if not isinstance(fault, Latency) or fault.cassette is None:
        return fault
    called = attrs.evolve(Match(), method=fault.match.method, tool=fault.match.tool)
    samples = tuple(
        seconds
        for call, seconds in latencies(load(fault.cassette))
        if fits(called, Subject(Frame(C2S), call.request, call.request.method, call), MatchPlace())
    )
    if not samples:
        raise PlanError([f"{fault.title}: {fault.cassette} has no answered call that matches"])
    return attrs.evolve(fault, samples=samples)
