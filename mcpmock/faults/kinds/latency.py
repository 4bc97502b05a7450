"""`latency`: messages come later."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

import attrs

from mcpmock.faults.distributions import Distribution
from mcpmock.faults.fault import Dice, Fault, Seen, Toward
from mcpmock.faults.units import Seconds, to_seconds
from mcpmock.pipeline.stage import Action, Send


@attrs.frozen(kw_only=True)
class Latency(Fault):
    """Each message comes later by `latency`, as its `distribution` has it. Nothing else waits but
    what belongs to the same call, or is held back as well.

    >>> fault = mcpmock.faults.Latency(latency="250ms", jitter="50ms", distribution="lognormal")
    """

    kind: ClassVar[str] = "latency"
    usually: ClassVar[Toward] = "client"

    latency: Seconds = attrs.field(default=0.0, converter=to_seconds)
    jitter: Seconds = attrs.field(default=0.0, converter=to_seconds)
    distribution: Distribution | None = None
    """`fixed`, or with a jitter `uniform`, where nothing is said."""
    cassette: str | None = None
    """For `empirical`: the recording whose latencies are drawn from; those of the calls that
    `match` names."""
    samples: tuple[Seconds, ...] = ()
    """The same in Python."""

    def contradictions(self) -> Iterable[str]:
        if self.distribution == "empirical" and not self.samples and self.cassette is None:
            yield "distribution: empirical needs a cassette to draw from"
        if self.cassette is not None and self.distribution != "empirical":
            yield 'cassette: only with distribution = "empirical"'

    def apply(self, seen: Seen, dice: Dice) -> Iterable[Action]:
        distribution = self.distribution or ("uniform" if self.jitter else "fixed")
        yield Send(seen.unit, dice.seconds(self.latency, self.jitter, distribution, self.samples))
