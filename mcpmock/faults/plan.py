"""`Plan`: the faults of a run, and the seed of all its random decisions.

In Python it is made of the classes as they are; `plan_parser` makes it from TOML and shorthands.
"""

from __future__ import annotations

import attrs

from .fault import Fault, Load


@attrs.frozen(kw_only=True)
class Plan:
    """The faults of a run. The same plan, seed and input give the same bytes.

    >>> rarely = mcpmock.faults.Drop(match={"probability": 0.1})
    >>> plan = mcpmock.faults.Plan(faults=(rarely,), seed=7)
    """

    faults: tuple[Fault, ...] = ()
    seed: int = 0

    def with_samples(self, load: Load) -> Plan:
        """The plan with the latencies of the cassettes that it names. Raises CassetteError, and
        PlanError where a cassette has nothing to draw from.
        """
        return attrs.evolve(self, faults=tuple(fault.with_samples(load) for fault in self.faults))
