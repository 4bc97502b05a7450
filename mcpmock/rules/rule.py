"""`Rule`: one sentence of the specification that traffic can break, and `Breach`: that it was.

A rule whose words or whose place changed from revision to revision has several rows, like a method
in `protocol.methods`. The rows stand in the modules that watch for them; `book` gathers them.
"""

from __future__ import annotations

from typing import NamedTuple

import attrs

from mcpmock.errors import Level
from mcpmock.protocol.methods import FIRST, LATEST

_MOVED = {(FIRST, "basic/index"): "basic/messages"}
"""Pages that stood elsewhere in a revision, with the same words."""


@attrs.frozen
class Rule:
    """One row: `since` and `until` are the first and the last revision in which it holds."""

    name: str
    level: Level
    section: str
    """The page of the specification, below the revision."""
    sentence: str
    """What it says there; of a list its head and the point."""
    since: str = FIRST
    until: str = LATEST

    def cite(self, revision: str) -> str:
        """`2025-11-25 basic/lifecycle`: where the sentence stands."""
        return f"{revision} {_MOVED.get((revision, self.section), self.section)}"


class Breach(NamedTuple):
    """The rule of this name was broken; `text` says by what."""

    rule: str
    text: str


def must(
    name: str, section: str, sentence: str, *, since: str = FIRST, until: str = LATEST
) -> Rule:
    """A rule that is an error to break: the sentence says MUST."""
    return Rule(name, Level.ERROR, section, sentence, since, until)


def should(
    name: str, section: str, sentence: str, *, since: str = FIRST, until: str = LATEST
) -> Rule:
    """A rule that is a warning to break: the sentence says SHOULD, or two messages that crossed on
    the wire look the same.
    """
    return Rule(name, Level.WARNING, section, sentence, since, until)
