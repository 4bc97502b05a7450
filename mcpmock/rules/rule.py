"""`Rule`: one sentence of the specification that traffic can break; `Breach`: one case of that;
`Violation`: a breach as it is reported to the user.

`specification` has the rules.
"""

from __future__ import annotations

from typing import NamedTuple

import attrs

from mcpmock.errors import Level
from mcpmock.protocol.methods import FIRST, LATEST

from .known_deviations import Deviation

_MOVED = {(FIRST, "basic/index"): "basic/messages"}
"""Pages that have another path in a revision, with the same sentences."""


@attrs.frozen
class Rule:
    """One row: `since` and `until` are the first and the last revision in which it holds."""

    name: str
    level: Level
    section: str
    """The page of the specification, below the revision."""
    sentence: str
    """The sentence, verbatim; from a list, its introduction and the item."""
    since: str = FIRST
    until: str = LATEST

    def cite(self, revision: str) -> str:
        """Return the revision and page of the sentence: `2025-11-25 basic/lifecycle`."""
        return f"{revision} {_MOVED.get((revision, self.section), self.section)}"


class Breach(NamedTuple):
    """A breach of the rule of this name; `text` describes it."""

    rule: str
    text: str


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
