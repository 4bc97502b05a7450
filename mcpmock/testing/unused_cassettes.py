"""Unused recorded requests, added up over all tests of a cassette.

A recorded request is unused if no test that played its session sent it. A cassette is judged when
the run is over, and only if all of its tests passed: a test that was skipped, deselected or that
failed might have sent the request. `plugin_session` collects the reports, also those of xdist
workers, so they are plain values; `unused_events` makes the report of one test.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypedDict

import attrs

IGNORE, WARN, FAIL = UNUSED = ("ignore", "warn", "fail")
"""How recorded requests are treated that no test sent."""


class CassetteUse(TypedDict):
    """How a test that passed used its cassette."""

    cassette: str
    """The path of the file."""
    shown: str
    """The same path as a user types it."""
    unused: str
    left: list[tuple[str, dict[str, str]]]
    """By session, the methods of the requests that this test did not send, by event number."""


@attrs.frozen
class UnusedVerdict:
    """A cassette with unused requests; `test` is the last one that passed with it."""

    test: str
    unused: str
    text: str


@attrs.define
class _Cassette:
    waiting: set[str] = attrs.field(factory=set)
    """The tests that have not passed yet."""
    left: dict[str, dict[str, str]] = attrs.field(factory=dict)
    """The methods of what no test has sent, by session and event number."""
    unused: str = IGNORE
    blamed: str = ""
    shown: str = ""


@attrs.define
class UnusedTally:
    """All cassettes of a run."""

    _cassettes: dict[str, _Cassette] = attrs.field(factory=dict)

    def expect(self, cassette: str, test: str) -> None:
        """This test uses the cassette, whether it runs or not."""
        self._cassettes.setdefault(cassette, _Cassette()).waiting.add(test)

    @property
    def expected(self) -> dict[str, list[str]]:
        """All expected tests by cassette, for the report of a worker."""
        return {path: sorted(one.waiting) for path, one in self._cassettes.items()}

    def passed(self, test: str, use: CassetteUse) -> None:
        """This test passed."""
        one = self._cassettes.setdefault(use["cassette"], _Cassette())
        for session, left in use["left"]:
            known = one.left.get(session, left)
            one.left[session] = {n: left[n] for n in known if n in left}
        one.waiting.discard(test)
        if UNUSED.index(use["unused"]) >= UNUSED.index(one.unused):
            one.unused, one.blamed, one.shown = use["unused"], test, use["shown"]

    def verdicts(self) -> Iterator[UnusedVerdict]:
        """The cassettes to warn about or to fail, when the run is over."""
        for one in self._cassettes.values():
            methods = [method for left in one.left.values() for method in left.values()]
            if methods and not one.waiting and one.unused != IGNORE:
                names = ", ".join(sorted(set(methods)))
                text = f"{len(methods)} recorded requests of {one.shown} were not sent: {names}"
                yield UnusedVerdict(one.blamed, one.unused, f"mcpmock: {text}")
