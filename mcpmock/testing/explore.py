"""`explore=` of the marker: the test is a client, and its body runs once for each variant of the
recorded session, each time with a fake server of its own. `mcpmock.explore` has the variants.

The body is judged by its exceptions where a correct client notices nothing but time, and by the
rules of the protocol everywhere. Fixtures other than `mcpmock_server` are kept between the runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

import attrs
import msgspec
import pytest

from mcpmock.api.cassettes import load
from mcpmock.cassette.model import FORMAT, Header, event_line
from mcpmock.cassette.parser import read
from mcpmock.explore.client_oracles import ClientBaseline, ClientRun, judge_client
from mcpmock.explore.enumeration import Space
from mcpmock.explore.fault_set import chosen_kinds
from mcpmock.explore.oracles import Broken
from mcpmock.explore.recorded_call import richest
from mcpmock.explore.variant import Variant
from mcpmock.faults.races.fault import CancelRace
from mcpmock.playback.plan.flatten_http import bare_take
from mcpmock.protocol.messages import Frame

from .servers import ServerUse, fail, using

if TYPE_CHECKING:
    from .cassette_store import CassetteStore
    from .settings import Settings

RERUNS = 5
_KINDS = (
    "latency,delay,list_changed_storm,progress_after_response,progress_decreasing,"
    "progress_unknown_token,duplicate,respond_twice,unsolicited_response,error,tool_error"
)
"""Not those that withhold an answer: a test without a timeout of its own would wait for ever. Nor
those that cut bytes, of which there are none in memory.
"""


@attrs.define
class Listening:
    """What the clients of one server sent and got."""

    lines: list[bytes] = attrs.field(factory=list)

    @classmethod
    def to(cls, use: ServerUse) -> Listening:
        listening = cls()
        use.server.log.listeners.append(listening.note)
        return listening

    def note(self, session: int, frame: Frame) -> None:
        """Called for each message."""
        bare = Frame(frame.direction, frame.raw, frame.eol, frame.fact)
        self.lines.append(event_line(len(self.lines) + 1, 0, bare, session=session))

    def client_run(self, error: BaseException | None) -> ClientRun:
        """The run that it was, for the oracles."""
        header = Header(mcpmock=FORMAT, tool="mcpmock explore", transport="stdio")
        data = msgspec.json.encode(header) + b"\n" + b"".join(self.lines)
        cassette = read("run", data)
        return ClientRun(cassette=cassette, status=0 if error is None else 1)


@attrs.define
class ItemExplorer:
    """The runs of one test, whose body passed with the recorded order."""

    item: pytest.Function
    settings: Settings
    store: CassetteStore
    baseline: ClientBaseline = attrs.field(factory=ClientBaseline)

    def explore(self, usual: ClientRun) -> None:
        """Fails the test for the first variant that breaks it, with the marker that repeats it."""
        self.baseline = ClientBaseline.of([usual])
        server = self.item.funcargs["mcpmock_server"]
        try:
            for number, variant in self._chosen():
                if self._is_pointless(variant):
                    continue
                run, error = self._run(variant)
                broken = self._judge(run, error, variant)
                if broken is not None:
                    self._report(number, variant, broken, error)
        finally:
            self.item.funcargs["mcpmock_server"] = server

    def _space(self) -> Space:
        cassette = load(self.settings.path)
        sessions = [
            (number, episode.events[0].s, episode.events)
            for number, take in enumerate(cassette.takes, 1)
            for episode in bare_take(take, one_session=False).episodes()
        ]
        take, session, events = sessions[richest([one[2] for one in sessions])]
        kinds = chosen_kinds(_KINDS, "client")
        return Space(side="client", events=events, kinds=kinds, take=take, session=session)

    def _chosen(self) -> Iterator[tuple[int, Variant]]:
        """The variants with their numbers, from 1."""
        wanted, space = self.settings.explore, self._space()
        singles = list(space.variants())

        def every() -> Iterator[Variant]:
            yield from singles
            yield from space.pairs(singles, self.settings.seed or 0)

        if isinstance(wanted, int):
            yield from enumerate(islice(every(), wanted), 1)
        elif wanted:
            numbered = enumerate(islice(every(), max(wanted)), 1)
            yield from (pair for pair in numbered if pair[0] in wanted)

    def _is_pointless(self, variant: Variant) -> bool:
        """A race with a client that never cancels."""
        races = any(isinstance(change.fault, CancelRace) for change in variant.changes)
        return races and not self.baseline.cancels

    def _run(self, variant: Variant) -> tuple[ClientRun, BaseException | None]:
        """One run of the body, with a server of its own."""
        plan = variant.plan(self.settings.seed or 0)
        settings = attrs.evolve(self.settings, faults=(*self.settings.faults, plan))
        error: BaseException | None = None
        with using(settings, self.item.nodeid, self.store) as use:
            listening = Listening.to(use)
            self.item.funcargs["mcpmock_server"] = use.server
            try:
                self.item.ihook.pytest_pyfunc_call(pyfuncitem=self.item)
            except Exception as raised:  # noqa: BLE001 (it is judged, and raised again)
                error = raised
        return listening.client_run(error), error

    def _judge(
        self, run: ClientRun, error: BaseException | None, variant: Variant
    ) -> Broken | None:
        found = judge_client(run, self.baseline, variant)
        if error is not None and variant.benign and not variant.ends:
            text = f"{type(error).__name__}: {error}".splitlines()[0]
            found.insert(0, Broken("exception", "", text))
        return next((one for one in found if one.verdict == "broken"), None)

    def _report(
        self, number: int, variant: Variant, broken: Broken, error: BaseException | None
    ) -> None:
        """Fails the test: which variant, how often it fails again, how to repeat it."""
        again = 0
        for _ in range(RERUNS):
            run, raised = self._run(variant)
            found = self._judge(run, raised, variant)
            again += found is not None and found.cause == broken.cause
        where = self.settings.shown
        lines = [
            f"schedule {number}: {variant.text}",
            f"mcpmock: {broken.text}",
            *([f"mcpmock: {broken.cites}"] if broken.cites else []),
            f"mcpmock: run again: {again} of {RERUNS}",
            f'mcpmock: repeat it alone: @pytest.mark.mcpmock("{where}", explore=[{number}])',
        ]
        if error is not None:
            error.add_note("\n".join(["mcpmock: " + lines[0], *lines[2:]]))
            raise error
        fail("\n".join(lines))
