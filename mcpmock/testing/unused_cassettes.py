"""What tests left over of their cassettes, added up over all tests of one cassette.

A recorded request is left over if no test that played its session asked it. A cassette is judged
when the run is over, and only if all of its tests passed: one that was skipped or deselected, that
failed or crashed, may have been the one that asks. `controller` hears of them, from the workers of
xdist too, so what is told here is plain values; `unused` has what a test tells.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypedDict

import attrs

IGNORE, WARN, FAIL = UNUSED = ("ignore", "warn", "fail")
"""What is done about recorded requests that never came."""


class Told(TypedDict):
    """What a test that passed tells of its cassette."""

    cassette: str
    """The path of the file."""
    shown: str
    """The same as a user would type it."""
    unused: str
    left: list[tuple[str, dict[str, str]]]
    """By session, the methods of the requests that this test did not ask, by their numbers."""


@attrs.frozen
class UnusedVerdict:
    """A cassette of which something is left over; `test` is the last that passed with it."""

    test: str
    unused: str
    text: str


@attrs.define
class _Cassette:
    waiting: set[str] = attrs.field(factory=set)
    """The tests that have not passed yet."""
    left: dict[str, dict[str, str]] = attrs.field(factory=dict)
    """The methods of what no test has asked, by its number, by session."""
    unused: str = IGNORE
    blamed: str = ""
    shown: str = ""


@attrs.define
class UnusedTally:
    """All cassettes of a run."""

    _cassettes: dict[str, _Cassette] = attrs.field(factory=dict)

    def expect(self, cassette: str, test: str) -> None:
        """This test uses it, in this run or not."""
        self._cassettes.setdefault(cassette, _Cassette()).waiting.add(test)

    @property
    def expected(self) -> dict[str, list[str]]:
        """All that was expected, to be told by a worker."""
        return {path: sorted(one.waiting) for path, one in self._cassettes.items()}

    def passed(self, test: str, told: Told) -> None:
        """It passed, and this is what it has to tell."""
        one = self._cassettes.setdefault(told["cassette"], _Cassette())
        for session, left in told["left"]:
            known = one.left.get(session, left)
            one.left[session] = {n: left[n] for n in known if n in left}
        one.waiting.discard(test)
        if UNUSED.index(told["unused"]) >= UNUSED.index(one.unused):
            one.unused, one.blamed, one.shown = told["unused"], test, told["shown"]

    def verdicts(self) -> Iterator[UnusedVerdict]:
        """Those cassettes that a warning or a failure is wanted of, when the run is over."""
        for one in self._cassettes.values():
            methods = [method for left in one.left.values() for method in left.values()]
            if methods and not one.waiting and one.unused != IGNORE:
                names = ", ".join(sorted(set(methods)))
                text = f"{len(methods)} recorded requests of {one.shown} never came: {names}"
                yield UnusedVerdict(one.blamed, one.unused, f"mcpmock: {text}")
