"""What tests left over of their cassettes, added up over all tests of one cassette.

A recorded request is left over if no test that played its session asked it. Only the last test of a
cassette is held to that, and only if all of them passed: a test that was skipped or failed may have
been the one that asks. Over xdist each worker knows its own tests, so there only a cassette of one
test is judged.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import attrs

from mcpmock.api.log import Log
from mcpmock.cassette.keys import asked_of

Session = tuple[int, int, str]
"""The line of a take, a session in it, and how it was played."""


@attrs.define
class _Cassette:
    waiting: set[str]
    """The tests that have not passed yet."""
    left: dict[Session, dict[int, str]] = attrs.field(factory=dict)
    """The methods of what no test has asked, by its number."""


@attrs.define
class Leftovers:
    """All cassettes of a run."""

    _cassettes: dict[Path, _Cassette] = attrs.field(factory=dict)

    def expect(self, path: Path, test: str) -> None:
        """This test is going to use it."""
        self._cassettes.setdefault(path, _Cassette(set())).waiting.add(test)

    def passed(self, path: Path, test: str, log: Log) -> list[str]:
        """Gives the methods that are left over for good, if that can be said now."""
        self.expect(path, test)
        cassette = self._cassettes[path]
        for session, left in _left(log):
            known = cassette.left.get(session, left)
            cassette.left[session] = {n: left[n] for n in known if n in left}
        cassette.waiting.discard(test)
        if cassette.waiting:
            return []
        return [method for left in cassette.left.values() for method in left.values()]


def _left(log: Log) -> Iterable[tuple[Session, dict[int, str]]]:
    for player in log.players:
        lead = player.leading
        if lead is None or not lead.answered:
            continue
        take, events = lead.score.episode.take, lead.score.episode.events
        asked = {event.index: asked_of(event.frame) for event in lead.unused}
        methods = {index: what.method for index, what in asked.items() if what is not None}
        yield (take.line, events[0].s, take.transport), methods
