"""`Violation`: that a rule was broken, as it is told to whoever asked for a check."""

from __future__ import annotations

import attrs

from mcpmock.errors import Level

from .known_deviations import Deviation
from .rule import Rule


@attrs.frozen
class Violation:
    """That a rule was broken: by which frame, in which revision, and how."""

    number: int
    """Of the frame, as the caller counts: of a cassette's event its `n`."""
    rule: Rule
    revision: str
    text: str
    known: Deviation | None = None
    """What explains it."""

    @property
    def level(self) -> Level:
        return self.rule.level if self.known is None else Level.NOTICE

    @property
    def cited(self) -> str:
        """Where the sentence stands: `2025-11-25 basic/lifecycle`."""
        return self.rule.cite(self.revision)
