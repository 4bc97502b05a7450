"""What the official SDKs are known to do against the specification: it is named, and lowered to a
notice, wherever it is seen.

Nothing on the wire says which SDK wrote a message, so a deviation is known by what it is, not by
who does it: as narrow as that can be told.
"""

from __future__ import annotations

from collections.abc import Callable

import attrs

from .exchange import Exchange
from .heard import Heard

When = Callable[[Heard | None, Exchange | None], bool]


@attrs.frozen
class Deviation:
    """`of` does `what`, which breaks `rule`."""

    rule: str
    of: str
    what: str
    when: When = lambda _heard, _exchange: True

    @property
    def words(self) -> str:
        return f"known of {self.of}: {self.what}"


DEVIATIONS: tuple[Deviation, ...] = ()


def known(rule: str, heard: Heard | None, exchange: Exchange | None) -> Deviation | None:
    """The deviation that explains this breach, if there is one."""
    candidates = (one for one in DEVIATIONS if one.rule == rule)
    return next((one for one in candidates if one.when(heard, exchange)), None)
