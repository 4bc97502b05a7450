"""`Histogram`: how often values of each size came, in bounded memory.

Latencies are kept as one wherever there may be millions of them: in `view.stats` those of
cassettes, in `sessions` those of a load. Below it is nothing.
"""

from __future__ import annotations

from math import ceil

import attrs

_DIGITS = 3


@attrs.define
class Histogram:
    """Counts of whole numbers from 0, such as microseconds; two of them add up.

    The bounds of the buckets are the numbers of three digits and noughts, as HdrHistogram's at a
    precision of two digits: 900 for each power of ten, of which those that hold a value are kept. A
    percentile is exact up to 1000, and above it less than 1 % too high.

    >>> latencies = Histogram()
    >>> for latency in (7, 1234, 98_765):
    ...     latencies.add(latency)
    >>> latencies.buckets, latencies.percentile(0.5)
    ({7: 1, 1240: 1, 98800: 1}, 1240)
    """

    buckets: dict[int, int] = attrs.field(factory=dict)
    """How many values are at most each upper bound and above the bound before it, in any order.
    1, 2, 5, 10, 20.. are bounds, so that wider buckets can be made of these without error.
    """

    def add(self, value: int, times: int = 1) -> None:
        """Count a value."""
        step = 10 ** max(len(str(value)) - _DIGITS, 0)
        bound = -(-value // step) * step
        self.buckets[bound] = self.buckets.get(bound, 0) + times

    def include(self, other: Histogram) -> None:
        """Count what another one has counted."""
        for bound, count in other.buckets.items():
            self.buckets[bound] = self.buckets.get(bound, 0) + count

    @property
    def count(self) -> int:
        """How many values were counted."""
        return sum(self.buckets.values())

    def percentile(self, share: float) -> int | None:
        """Return the lowest bound that this share of the values does not exceed (nearest rank);
        None without values.
        """
        left = max(ceil(share * self.count), 1)
        for bound in sorted(self.buckets):
            left -= self.buckets[bound]
            if left <= 0:
                return bound
        return None
