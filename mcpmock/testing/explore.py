"""`explore=` of the marker: the test is a client, and its body runs once for each variant of the
recorded session, each time with a fake server of its own. `mcpmock.explore` has the variants.

The body is judged by its exceptions where a correct client notices nothing but time, and by the
rules of the protocol everywhere. Fixtures other than `mcpmock_server` are kept between the runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import pytest

from mcpmock.api.cassettes import load
from mcpmock.cassette.model import event_line
from mcpmock.explore.client_oracles import (
    CLIENT_ORACLES,
    ClientBaseline,
    ClientRun,
    JudgedClient,
    RaceKey,
    race_key,
    reference_race,
)
from mcpmock.explore.enumeration import RACE_TIMEOUT_S, Space
from mcpmock.explore.fault_set import chosen_kinds
from mcpmock.explore.recorded_call import richest
from mcpmock.explore.results import recorded_run
from mcpmock.explore.shrink import Shrinking, shrink
from mcpmock.explore.variant import Variant
from mcpmock.playback.plan.steps import bare_take
from mcpmock.printable import printable
from mcpmock.protocol.messages import Frame
from mcpmock.trials import search
from mcpmock.trials.oracle import Broken

from .explored_body import EndlessBody, ExploredBody
from .failure import SessionLog
from .servers import ServerUse, using

if TYPE_CHECKING:
    from .cassette_store import CassetteStore
    from .settings import Settings

_VIRTUAL_RACE_TIMEOUT_S = 600.0
"""How long a race waits for the client's cancel, which may be a timeout of its own."""
_KINDS = (
    "latency,slicer,coalesce,delay,list_changed_storm,progress_after_response,progress_decreasing,"
    "progress_unknown_token,duplicate,respond_twice,unsolicited_response,error,tool_error"
)
"""Not those that withhold an answer: a test without a timeout of its own would wait for ever."""


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
        """Note a message: called for each."""
        bare = Frame(frame.direction, frame.raw, frame.eol, frame.fact)
        self.lines.append(event_line(len(self.lines) + 1, 0, bare, session=session))

    def client_run(
        self, receipts: tuple[Mapping[str, Any], ...] = (), *, hung: bool = False
    ) -> ClientRun:
        """Return the run that it was, for the oracles."""
        return ClientRun(cassette=recorded_run(self.lines), status=0, hung=hung, receipts=receipts)


@attrs.frozen
class BodyRun:
    """One run of the body: what its client did, and what it raised."""

    client: ClientRun
    use: ServerUse
    error: BaseException | None = None

    @property
    def exception(self) -> Broken | None:
        """What it raised, as the oracle that does not hold."""
        if self.error is None or isinstance(self.error, EndlessBody):
            return None
        error = innermost(self.error)
        text = f"{type(error).__name__}: {error}".splitlines()[0]
        return Broken("exception", f"{type(error).__name__} at {raised_at(error)}", text)


@attrs.define
class ItemExplorer:
    """The runs of one test, whose body passed with the recorded order."""

    item: pytest.Function
    use: ServerUse
    store: CassetteStore
    body: ExploredBody
    baseline: ClientBaseline = attrs.field(factory=ClientBaseline)
    failing: ServerUse = attrs.field(default=attrs.Factory(lambda self: self.use, takes_self=True))
    """The server of the run that fails the test; while there is none, of that which passed."""
    _references: dict[RaceKey, BodyRun] = attrs.field(factory=dict)

    @property
    def settings(self) -> Settings:
        return self.use.settings

    def explore(self, usual: ClientRun) -> None:
        """Fail the test for the first variant that breaks it, with the marker that repeats it."""
        self.baseline = ClientBaseline.of([usual])
        server = self.item.funcargs["mcpmock_server"]
        try:
            self._choose_clock()
            self._run_all()
        finally:
            self.item.funcargs["mcpmock_server"] = server

    def _choose_clock(self) -> None:
        """Choose the mock clock, if the recorded order passes on it too."""
        usual = self.body.seconds
        if self.body.is_trio:
            self.body.use_mock_clock()
            run = self._run(Variant())
            if run.error is None and self.body.on_mock_clock:
                return
        self.body.use_real_clock(usual)

    def _run_all(self) -> None:
        space, wanted, count = self._space(), self.settings.explore, 0
        for number, variant in self._chosen(space):
            run = self._run_met(variant)
            if run is None:
                continue
            broken = self._judge(run, variant)
            if broken is not None:
                self._report(space, number, variant, broken, run)
            count += 1
            if count == wanted:
                return

    def _space(self) -> Space:
        cassette = load(self.settings.path)
        sessions = [
            (number, episode.events[0].s, episode.events)
            for number, take in enumerate(cassette.takes, 1)
            for episode in bare_take(take, one_session=False).episodes()
        ]
        take, session, events = sessions[richest([one[2] for one in sessions])]
        return Space(
            side="client",
            events=events,
            kinds=chosen_kinds(_KINDS, "client"),
            take=take,
            session=session,
            race_timeout=_VIRTUAL_RACE_TIMEOUT_S if self.body.virtual else RACE_TIMEOUT_S,
        )

    def _chosen(self, space: Space) -> Iterator[tuple[int, Variant]]:
        """Yield the variants with their numbers, from 1."""
        wanted, singles = self.settings.explore, list(space.variants())
        every = enumerate(chain(singles, space.pairs(singles, self._seed)), 1)
        if isinstance(wanted, int):
            yield from every
        elif wanted:
            yield from (one for one in islice(every, max(wanted)) if one[0] in wanted)

    @property
    def _seed(self) -> int:
        return self.settings.seed or 0

    def _run_met(self, variant: Variant) -> BodyRun | None:
        """Return the run of a variant; None for a race with a client that does not cancel."""
        for change in variant.changes:
            key = race_key(change)
            if key is None:
                continue
            if key not in self._references:
                if self._never_cancels:
                    return None
                self._references[key] = self._run(reference_race(variant, change))
            if key not in self.baseline.cancelled and not self._references[key].client.met:
                return None
        return self._run(variant)

    @property
    def _never_cancels(self) -> bool:
        """On the real clock two seconds for each request are too much to ask one that has not
        cancelled anything.
        """
        known = (run.client.met for run in self._references.values())
        unmet = bool(self._references) and not any(known)
        return not self.body.virtual and not self.baseline.cancelled and unmet

    def _run(self, variant: Variant) -> BodyRun:
        """Return one run of the body, with a server of its own."""
        settings = self.settings
        if variant.changes:
            plan = variant.plan(self._seed)
            settings = attrs.evolve(settings, faults=(*settings.faults, plan))
        with using(settings, self.item.nodeid, self.store) as use:
            listening = Listening.to(use)
            if self.use.live is not None:
                use.live = SessionLog(use.server.log, use.server.fault_run)
            self.item.funcargs["mcpmock_server"] = use.server
            error = self.body.run(use.server.close, self._seed)
            if self.body.virtual and use.server.serves:
                # It waited for another thread, which takes time that a mock clock does not see.
                self.body.on_mock_clock = False
            receipts = tuple(use.server.faults.receipts)
            client = listening.client_run(receipts, hung=not self.body.ended)
            return BodyRun(client, use, error)

    def _judge(self, run: BodyRun, variant: Variant) -> Broken | None:
        found = CLIENT_ORACLES.judge(JudgedClient(run.client, variant, self.baseline))
        exception = run.exception
        if exception is not None and variant.benign and not variant.ends:
            keys = map(race_key, variant.changes)
            plain = [self._references[key].exception for key in keys if key is not None]
            # A body that reports a timeout in the plainest race may report it in all.
            if all(one is None or one.cause != exception.cause for one in plain):
                found.insert(0, exception)
        return next((one for one in found if one.verdict == "broken"), None)

    def _report(
        self, space: Space, number: int, variant: Variant, broken: Broken, run: BodyRun
    ) -> None:
        """Fail the test: which variant, how often it fails again, how to repeat it."""

        self.failing = run.use

        def fails(variant: Variant) -> Broken | None:
            run = self._run_met(variant)
            found = None if run is None else self._judge(run, variant)
            if run is None or found is None or found.cause != broken.cause:
                return None
            self.failing = run.use
            return found

        reruns: search.Reruns[Variant, Broken] = search.run_again(variant)
        came = search.run_in_turn(reruns, fails)
        again = sum(one is not None for one in came)
        if again:  # the session is as long as the test makes it
            fewer: Shrinking[Broken] = shrink(variant, (), ())
            left, shrunk = search.run_in_turn(fewer, fails)
            if shrunk is not None:
                changes = [single.changes for single in space.variants()]
                number, variant = changes.index(left.changes) + 1, left
        where = self.settings.shown
        hung = isinstance(run.error, EndlessBody)
        lines = [
            f"schedule {number}: {variant.text}",
            f"mcpmock: {self.body.limit_text if hung else broken.text}",
            *([f"mcpmock: {broken.cites}"] if broken.cites else []),
            f"mcpmock: run again: {again} of {len(came)}",
            f'mcpmock: repeat it alone: @pytest.mark.mcpmock("{where}", explore=[{number}])',
        ]
        if run.error is not None and not hung:
            run.error.add_note("\n".join(["mcpmock: " + lines[0], *lines[2:]]))
            raise run.error
        pytest.fail("\n".join(map(printable, ["mcpmock: " + lines[0], *lines[1:]])), pytrace=False)


def innermost(error: BaseException) -> BaseException:
    """Return the first that was raised of a group: task groups wrap what is raised in them."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def raised_at(error: BaseException) -> str:
    """Return the file and the line that raised it."""
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    if traceback is None:
        return "an unknown place"
    return f"{Path(traceback.tb_frame.f_code.co_filename).name}:{traceback.tb_lineno}"
