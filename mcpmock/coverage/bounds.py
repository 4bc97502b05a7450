"""`CoverageBounds`: how much of each kind has to be used, as a user writes it: `[KIND=]N%`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import attrs

from mcpmock.printable import did_you_mean

from .coverage import KINDS, TOTAL, Covered

_PERCENT = re.compile(r"([0-9]+(?:\.[0-9]+)?)%")


@attrs.frozen
class CoverageBounds:
    """The lowest percentage of each kind; the last one that was written counts."""

    shares: dict[str, float] = attrs.field(factory=dict)

    @classmethod
    def parse(cls, texts: Iterable[str]) -> CoverageBounds:
        """Raise ValueError, in words for the user, for a text that is not a bound."""
        shares = {}
        for text in texts:
            kind, equals, share = text.rpartition("=")
            kind = kind if equals else TOTAL
            if kind not in (*KINDS, TOTAL):
                hint = did_you_mean(kind, (*KINDS, TOTAL)) or f"; known: {', '.join(KINDS)}"
                raise ValueError(f"no kind {kind!r}{hint}")
            found = _PERCENT.fullmatch(share)
            if found is None or float(found[1]) > 100:
                raise ValueError(f"{text!r}: expected, for example, 80% or parameters=50%")
            shares[kind] = float(found[1])
        return cls(shares)

    def missed(self, counts: dict[str, Covered]) -> Iterator[str]:
        """Yield what to say of each kind that is below its bound."""
        for kind, share in self.shares.items():
            found = counts[kind]
            if not found.all:
                yield f"{kind}: nothing is listed, at least {share:g}% are to be covered"
            elif not found.reaches(share):
                yield f"{kind}: {found} are covered, at least {share:g}% are to be"
