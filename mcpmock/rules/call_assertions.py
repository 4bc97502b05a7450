"""`CallAssertions`: what a user expects of the calls in recordings: `--expect-tool`,
`--forbid-tool` and `--max-duration` of `mcpmock check`.

Read over one take after another; what is asserted of several files together adds up above.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase

import attrs
from msgspec import UNSET

from mcpmock.cassette.model import Cassette, Event, Take
from mcpmock.protocol import messages as m
from mcpmock.protocol.call_outcomes import CallOutcome, CallOutcomes
from mcpmock.protocol.correlation import LISTEN

from .context import short

EXPECT, FORBID, MAX_DURATION = OPTIONS = ("expect-tool", "forbid-tool", "max-duration")
_MICROSECONDS = 1_000_000


@attrs.frozen
class DurationLimit:
    """The longest time from a request to its answer, in seconds; of calls of the tools that fit the
    glob, or of all requests.
    """

    text: str
    """As the user wrote it."""
    seconds: float
    tool: str | None = None

    def fits(self, request: m.Request) -> bool:
        """Return whether the limit is one for this request. A subscription stays open."""
        if self.tool is None:
            return request.method != LISTEN
        return request.tool is not None and fnmatchcase(request.tool, self.tool)


@attrs.frozen
class AssertionCase:
    """A call that an assertion is about: `ok` says whether it is as expected."""

    option: str
    value: str
    ok: bool
    event: int
    """The number of the event that has the call."""
    take: int
    text: str
    line: int = 0


@attrs.frozen
class CallAssertions:
    """What the user expects."""

    expected: Sequence[str] = ()
    forbidden: Sequence[str] = ()
    limits: Sequence[DurationLimit] = ()

    def __bool__(self) -> bool:
        return bool(self.expected or self.forbidden or self.limits)

    @property
    def all(self) -> list[tuple[str, str]]:
        """Each option that was given, with its value."""
        return [
            *((EXPECT, glob) for glob in self.expected),
            *((FORBID, glob) for glob in self.forbidden),
            *((MAX_DURATION, limit.text) for limit in self.limits),
        ]

    def judge(self, cassette: Cassette) -> JudgedCalls:
        """Return the cases in a recording, in the order of its events."""
        found = JudgedCalls()
        if self:
            for number, take in enumerate(cassette.takes, 1):
                _TakeJudge(self, number, take, found, incomplete=bool(cassette.damage)).judge()
        found.cases.sort(key=lambda case: (case.take, case.event))
        return found


@attrs.define
class JudgedCalls:
    """The outcome for one recording."""

    cases: list[AssertionCase] = attrs.field(factory=list)
    """What is not as expected; and of each `--expect-tool` the first call that fits."""
    tools: set[str] = attrs.field(factory=set)
    """The tools that were called."""
    had: set[str] = attrs.field(factory=set)
    """Of the tools that are expected, those that had a result."""
    untimed: int = 0
    """How many takes have no times, so that no duration can be judged."""


@attrs.define
class _TakeJudge:
    assertions: CallAssertions
    number: int
    take: Take
    found: JudgedCalls
    incomplete: bool
    """Part of the take was not recorded: an answer may be in it."""
    _outcomes: CallOutcomes = attrs.field(factory=CallOutcomes)
    _timed: bool = False

    def judge(self) -> None:
        events = self.take.events
        self._timed = any(event.t for event in events)
        self.found.untimed += bool(self.assertions.limits) and not self._timed and bool(events)
        for event in events:
            self.incomplete |= event.gap is not UNSET or event.oversize is not None
            frame = event.frame
            if frame is None:
                continue
            if frame.fact is None:
                for message in m.parse_items(frame.raw):
                    self._note(event, frame, message)
            elif isinstance(frame.fact, m.HttpResponse) and frame.exchange is not None:
                self._end_refused(event, frame.fact, frame.exchange)
        for outcome in () if self.incomplete else self._outcomes.unanswered():
            self._judge_duration(outcome, events[-1], "had no answer after")

    def _note(self, event: Event, frame: m.Frame, message: m.Message) -> None:
        if isinstance(message, m.Request) and frame.direction is m.C2S:
            self._note_call(event, message)
        outcome = self._outcomes.note(event.s, event.x, frame.direction, message, event)
        if outcome is None:
            return
        verb = "took" if outcome.response is not None else "was cancelled after"
        self._judge_duration(outcome, event, verb)
        tool = outcome.request.tool
        if tool is not None and outcome.response is not None and not outcome.response.failed:
            for glob in _fitting(self.assertions.expected, tool):
                if glob not in self.found.had:
                    self.found.had.add(glob)
                    self._add(EXPECT, glob, outcome.mark, outcome.request, "had a result", ok=True)

    def _note_call(self, event: Event, request: m.Request) -> None:
        tool = request.tool
        if tool is None:
            return
        self.found.tools.add(tool)
        for glob in _fitting(self.assertions.forbidden, tool):
            self._add(FORBID, glob, event, request, "was called")

    def _end_refused(self, event: Event, head: m.HttpResponse, exchange: int) -> None:
        """End the requests of an exchange that failed. One that is repeated is another one."""
        if head.repeats_request or head.status >= 400:
            for outcome in self._outcomes.refuse(exchange):
                if not head.repeats_request:
                    self._judge_duration(outcome, event, "was refused after")

    def _judge_duration(self, outcome: CallOutcome, end: Event, verb: str) -> None:
        asked: Event = outcome.mark
        seconds = max(end.t - asked.t, 0) / _MICROSECONDS
        for limit in self.assertions.limits if self._timed else ():
            if limit.fits(outcome.request) and seconds > limit.seconds:
                words = f"{verb} {_seconds(seconds)}"
                self._add(MAX_DURATION, limit.text, asked, outcome.request, words)

    def _add(
        self,
        option: str,
        value: str,
        event: Event,
        request: m.Request,
        words: str,
        ok: bool = False,
    ) -> None:
        name = short(request.method if request.tool is None else f"tools/call {request.tool}")
        text = f"{name} #{short(request.id)} {words}"
        self.found.cases.append(AssertionCase(option, value, ok, event.n, self.number, text))


def _fitting(globs: Sequence[str], tool: str) -> Iterator[str]:
    return (glob for glob in globs if fnmatchcase(tool, glob))


def _seconds(seconds: float) -> str:
    return f"{seconds:.3g}s" if seconds < 100 else f"{seconds:.0f}s"
