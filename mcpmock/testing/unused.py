"""Unused recorded requests, added up over all tests of a cassette.

A recorded request is unused if no test that played its session sent it; a cassette, if no client
sent anything in any of its tests. A cassette is judged when the run is over, and only if all of its
tests passed: a test that was skipped, deselected, not collected or that failed might have sent the
request. `unused_requests` are those of one test; `plugin_session` collects the reports, also those
of xdist workers, so they are plain values.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypedDict

import attrs

from mcpmock.printable import first_of

if TYPE_CHECKING:
    import pytest

    from mcpmock.api.log import Log
    from mcpmock.cassette.model import Cassette

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
    """By session, the requests that this test did not send: method, tool, arguments and event, by
    their place in the session.
    """
    idle: str
    """Why no client sent anything, though the recording has requests; empty if one did."""


def why_idle(log: Log, cassette: Cassette) -> str:
    """Return why no client sent anything to the replay of a recording with requests; else empty."""
    from mcpmock.protocol.messages import C2S, Request, parse_items

    frames = (event.frame for take in cassette.takes for event in take.events)
    asked = (frame.raw for frame in frames if frame is not None and frame.direction is C2S)
    if log.calls or not any(isinstance(one, Request) for raw in asked for one in parse_items(raw)):
        return ""
    return "the client sent nothing" if log.players else "no client connected"


def unused_requests(log: Log) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the requests that a test did not send, by session (the start and line of its take, its
    number and transport) and place in it. Exchanges without a session are played from all takes at
    once, but listed take by take: another test may have played one of them alone.
    """
    # Not at the top: the process that adds the tests up does not need it.
    from mcpmock.playback.unused import unused_requests as unused_of

    for player in log.players:
        lead = player.leading_candidate()
        if lead is None or not lead.answered:
            continue
        whole = lead.plan.episode
        parts = whole.parts or [(0, whole)]
        ends = [*(start for start, _ in parts[1:]), len(whole.events)]
        unused = unused_of(lead)
        for (start, episode), end in zip(parts, ends, strict=True):
            take = episode.take
            # Takes of several files may begin in the same line.
            name = f"{take.header.recorded_at}/{take.line}"
            yield (
                f"{name}/{episode.events[0].s}/{take.transport}",
                {str(index - start): unused[index] for index in unused if start <= index < end},
            )


@attrs.frozen
class UnusedVerdict:
    """A cassette with unused requests; `test` is the last one that passed with it."""

    test: str
    unused: str
    text: str


@attrs.define
class _CassetteTally:
    waiting: set[str] = attrs.field(factory=set)
    """The tests that have not passed yet."""
    left: dict[str, dict[str, str]] = attrs.field(factory=dict)
    """The requests that no test has sent, by session and place."""
    unused: str = IGNORE
    idle: str | None = None
    """Why no client sent anything in any of the tests; empty if one did."""
    blamed: str = ""
    shown: str = ""

    @property
    def requests(self) -> list[str]:
        return [request for left in self.left.values() for request in left.values()]

    @property
    def is_unused(self) -> bool:
        """Whether there is something to judge: unused requests, or no client in any test."""
        return self.unused != IGNORE and bool(self.requests or self.idle)

    def describe(self) -> str:
        """Return what is unused in a line."""
        from mcpmock.playback.unused import list_requests
        from mcpmock.printable import many, printable

        requests = self.requests
        if not requests:
            return printable(f"mcpmock: {self.shown} was not replayed: {self.idle}")
        text = f"{many(len(requests), 'recorded request')} of {self.shown} not sent: "
        return printable(f"mcpmock: {text}{list_requests(requests)}")


@attrs.define
class UnusedTally:
    """All cassettes of a run."""

    _cassettes: dict[str, _CassetteTally] = attrs.field(factory=dict)

    def expect(self, cassette: str, test: str) -> None:
        """Note that this test uses the cassette, whether it runs or not."""
        self._cassettes.setdefault(cassette, _CassetteTally()).waiting.add(test)

    @property
    def expected(self) -> dict[str, list[str]]:
        """All expected tests by cassette, for the report of a worker."""
        return {path: sorted(one.waiting) for path, one in self._cassettes.items()}

    def passed(self, test: str, use: CassetteUse) -> None:
        """Note that this test passed."""
        one = self._cassettes.setdefault(use["cassette"], _CassetteTally())
        for session, left in use["left"]:
            known = one.left.get(session, left)
            one.left[session] = {n: left[n] for n in known if n in left}
        one.waiting.discard(test)
        if one.idle != "":
            one.idle = use["idle"]
        if UNUSED.index(use["unused"]) >= UNUSED.index(one.unused):
            one.unused, one.blamed, one.shown = use["unused"], test, use["shown"]

    def verdicts(self) -> Iterator[UnusedVerdict]:
        """Yield the cassettes to warn about or to fail, when the run is over."""
        for one in self._cassettes.values():
            if one.is_unused and not one.waiting:
                yield UnusedVerdict(one.blamed, one.unused, one.describe())

    def unjudged(self) -> Iterator[str]:
        """Yield a line for each cassette with unused requests that is not judged, because not all
        of its tests passed.
        """
        for one in self._cassettes.values():
            if one.is_unused and one.waiting:
                tests = first_of(sorted(one.waiting), 1)
                why = f"not judged, because tests did not run or did not pass: {tests}"
                yield f"{one.describe()}; {why}"


def siblings_of(
    item: pytest.Item, items: Sequence[pytest.Item], ids: Sequence[str]
) -> Iterator[str]:
    """Yield the names of tests in the same module that use the same cassette and were not
    collected, because the run selects single tests by their `ids`: they may send the requests that
    seem unused. `[...]` stands for other parameters of this test, which are not known.
    """
    import pytest

    function = item if isinstance(item, pytest.Function) else None
    module = None if function is None else function.module
    marks = [mark for mark in item.iter_markers("mcpmock") if _find_cassette([mark]) is not None]
    cassette = _find_cassette(marks[:1])
    if function is None or module is None or cassette is None:
        return
    chosen = {other.originalname for other in items if isinstance(other, pytest.Function)}
    shared = _list_marks(module)
    for name, found in vars(module).items():
        if name.startswith("test") and callable(found):
            if name not in chosen and cassette == _find_cassette([*_list_marks(found), *shared]):
                yield name
        elif name.startswith("Test") and isinstance(found, type):
            of_all = [*_list_marks(found), *shared]
            for inner, method in vars(found).items():
                named = callable(method) and _find_cassette([*_list_marks(method), *of_all])
                if inner.startswith("test") and inner not in chosen and cassette == named:
                    yield f"{name}::{inner}"
    if any(id_.endswith(f"::{function.name}") for id_ in ids) and "[" in function.name:
        yield f"{function.originalname}[...]"


def _list_marks(owner: Any) -> list[pytest.Mark]:
    """Return the markers of a function, class or module, the nearest first."""
    given: Any = getattr(owner, "pytestmark", [])
    marks: list[Any] = given if isinstance(given, list) else [given]
    return [mark for mark in (getattr(one, "mark", one) for one in marks) if mark.name == "mcpmock"]


def _find_cassette(marks: Sequence[pytest.Mark]) -> object:
    """Return the cassette that the nearest of these markers names."""
    for mark in marks:
        named = mark.args[0] if mark.args else mark.kwargs.get("cassette")
        if named is not None:
            return str(named)
    return None
