"""`Violation`: a broken rule, as it is reported to the user."""

from __future__ import annotations

import attrs

from mcpmock.errors import Level

from .known_deviations import Deviation
from .rule import Rule


@attrs.frozen
class Violation:
    """A broken rule: by which frame, in which revision, and how."""

    number: int
    """The number of the frame, as the caller counts; in a cassette, the `n` of the event."""
    rule: Rule
    revision: str
    text: str
    known: Deviation | None = None
    """The known deviation of an SDK that explains it."""

    @property
    def level(self) -> Level:
        return self.rule.level if self.known is None else Level.NOTICE

    @property
    def cited(self) -> str:
        """The revision and page of the sentence: `2025-11-25 basic/lifecycle`."""
        return self.rule.cite(self.revision)
