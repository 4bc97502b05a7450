"""Two recordings compared by what they mean: typed differences, each judged by a rule with a name.

    comparison = compare(old, new, Rules.parse(ignore=["tools/call now $.result"]))
    comparison.worst      # Verdict.BREAKING, or None if there is no difference

Pure. Ids, tokens, sessions, times, the order of members and the transport do not count (`masks`,
`conversations`); calls stand for each other by what they ask (`pairing`). What a server offers and
answers is compared by `answer_changes`, everything around that by `message_changes`; rules and
verdicts are one table (`judgement`), what a user lets pass is `leeway`. `mcpmock diff` and `verify`
stand above.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import attrs

from mcpmock.cassette.model import Cassette
from mcpmock.protocol.messages import Response
from mcpmock.redaction.redactor import PLACEHOLDER

from .answer_changes import answer_changes
from .conversations import RecordedConversation, conversations
from .findings import Findings
from .ignore_rules import Label, Rules
from .message import DiffMessage
from .message_changes import Counterparts, Messages
from .normalize import Namings
from .pairing import Pairs, pair_calls, pair_conversations
from .severity import ABSENT, Change, Difference, Verdict
from .value_changes import edits

__all__ = ["Comparison", "Difference", "Progress", "Rules", "Verdict", "compare"]

Progress = Callable[[int, int], None]
"""Is told, now and then, how much is done of how much."""
_EVERY = 500
_HTTP_ERROR = 400


@attrs.frozen(kw_only=True)
class Comparison:
    """What came of comparing two recordings.

    >>> diff = mcpmock.diff("weather.jsonl", "snow.jsonl")
    >>> diff.old, diff.new, diff.worst, len(diff.differences)
    ('weather.jsonl', 'snow.jsonl', <Verdict.RISKY: 2>, 1)
    """

    old: str
    """The file as the user wrote it."""
    new: str
    differences: tuple[Difference, ...]
    """The worst first. Beyond `findings.MOST` they are counted only."""
    counts: dict[Verdict, int]
    """How many there are of each verdict."""
    calls: dict[Label, int]
    """How many calls of each kind were compared, and asked for on one side only."""
    ignored: int
    """How many changes the rules let pass."""

    @property
    def worst(self) -> Verdict | None:
        """The worst verdict; None if nothing differs."""
        return max(self.counts, default=None)


def compare(
    old: Cassette, new: Cassette, rules: Rules | None = None, progress: Progress | None = None
) -> Comparison:
    """What differs from the old recording to the new one."""
    kinds = [{take.transport for take in cassette.takes} for cassette in (old, new)]
    work = _Work.of(old, new, progress)
    sides = [
        conversations(cassette, one_session=kinds[0] != kinds[1], count=work.did)
        for cassette in (old, new)
    ]
    findings = Findings(rules or Rules())
    comparer = _Comparer(findings, work)
    comparer.run(*sides)
    return Comparison(
        old=old.name,
        new=new.name,
        differences=findings.differences(),
        counts=dict(findings.counts),
        calls=dict(comparer.calls),
        ignored=findings.ignored,
    )


@attrs.define
class _Work:
    """How much is done: each event is read, and then as many again are compared."""

    total: int
    progress: Progress | None
    done: int = 0

    @classmethod
    def of(cls, old: Cassette, new: Cassette, progress: Progress | None) -> _Work:
        events = sum(len(take.events) for one in (old, new) for take in one.takes)
        return cls(2 * events, progress)

    def did(self, more: int) -> None:
        self.done += more
        if self.progress is not None:
            self.progress(min(self.done, self.total), self.total)


@attrs.define
class _Pairing:
    """The calls of two conversations."""

    both: Counterparts
    pairs: Pairs[DiffMessage] = attrs.field(factory=list)
    old: list[DiffMessage] = attrs.field(factory=list)
    new: list[DiffMessage] = attrs.field(factory=list)


@attrs.define
class _Comparer:
    findings: Findings
    work: _Work
    calls: Counter[Label] = attrs.field(factory=Counter)

    def run(self, old: Sequence[RecordedConversation], new: Sequence[RecordedConversation]) -> None:
        pairings = _paired(old, new)
        messages = Messages(self.findings, [pairing.both for pairing in pairings])
        total = sum(len(pairing.pairs) for pairing in pairings) or 1
        share, left = self.work.total - self.work.done, 0.0
        for home, pairing in enumerate(pairings):
            for number, (one, other) in enumerate(pairing.pairs):
                self._call(one, other, pairing.both)
                messages.within(one, other, home)
                left += share / total
                if not number % _EVERY:
                    self.work.did(int(left))
                    left -= int(left)
            self._unpaired(pairing, messages, home)
            self._around(pairing.both, messages, home)
        messages.finish()
        self.work.did(self.work.total)

    def _call(self, old: DiffMessage, new: DiffMessage, both: Counterparts) -> None:
        """Two calls that stand for each other, and their answers."""
        label = new.label
        self.calls[label] += 1
        if old.key != new.key or PLACEHOLDER in old.key:
            measure = self.findings.measure(old, new, label, both.namings)
            for edit in edits(old.document, new.document, (), measure):
                change = Change("request-changed", edit.path, edit.old, edit.new)
                self.findings.add(change, measure, old=old.where, new=new.where)
        same = [
            self._answer(one, other, label, both.namings)
            for one, other in zip(old.answers, new.answers, strict=False)
        ]
        same += [self._unanswered(old, new, label)]
        if all(same) and both.old is not None and both.new is not None:
            statuses = [
                one.statuses.get(call.exchange or 0, ("", 0))[1]
                for one, call in ((both.old, old), (both.new, new))
            ]
            self._status(old, new, label, statuses, both)

    def _answer(self, old: DiffMessage, new: DiffMessage, label: Label, namings: Namings) -> bool:
        """Whether two answers are the same."""
        one, other = old.message, new.message
        assert isinstance(one, Response)
        assert isinstance(other, Response)
        equal = one.result == other.result and one.error == other.error
        if equal and PLACEHOLDER not in (one.result or one.error or b""):
            return True
        measure = self.findings.measure(old, new, label, namings)
        same = True
        for change in answer_changes(old.method, old.document, new.document, measure):
            self.findings.add(change, measure, old=old.where, new=new.where)
            same = False
        return same

    def _unanswered(self, old: DiffMessage, new: DiffMessage, label: Label) -> bool:
        """Whether there are as many answers as there were, where the client waited for them."""
        if old.given_up or new.given_up:
            return len(old.answers) == len(new.answers)
        for answer in old.answers[len(new.answers) :]:
            measure = self.findings.measure(answer, None, label, Namings())
            told = next(iter(answer.document.values()))
            change = Change("answer-missing", (), told)
            self.findings.add(change, measure, old=answer.where, new=new.where)
        for answer in new.answers[len(old.answers) :]:
            measure = self.findings.measure(None, answer, label, Namings())
            change = Change("answer-added", (), ABSENT, next(iter(answer.document.values())))
            self.findings.add(change, measure, old=old.where, new=answer.where)
        return len(old.answers) == len(new.answers)

    def _status(
        self,
        old: DiffMessage,
        new: DiffMessage,
        label: Label,
        statuses: list[int],
        both: Counterparts,
    ) -> None:
        """The status that HTTP gave to the same answer: its class counts."""
        if both.alike and all(statuses) and len({status // 100 for status in statuses}) > 1:
            measure = self.findings.measure(old, new, label, both.namings)
            change = Change(_status_rule(*statuses), (), *statuses)
            self.findings.add(change, measure, old=old.where, new=new.where)

    def _unpaired(self, pairing: _Pairing, messages: Messages, home: int) -> None:
        """Calls that only one side made. What surely belongs to them went with them."""
        for call in pairing.old:
            self.calls[call.label] += 1
            measure = self.findings.measure(call, None, call.label, Namings())
            change = Change("request-missing", (), call.document["params"])
            self.findings.add(change, measure, old=call.where)
        for call in pairing.new:
            self.calls[call.label] += 1
            measure = self.findings.measure(None, call, call.label, Namings())
            change = Change("request-added", (), ABSENT, call.document["params"])
            self.findings.add(change, measure, new=call.where)
        for calls, new in ((pairing.old, False), (pairing.new, True)):
            strays = [one for call in calls for one in call.within if not one.sure]
            messages.loose(strays, home, new=new)

    def _around(self, both: Counterparts, messages: Messages, home: int) -> None:
        """What belongs to no call."""
        for conversation, new in ((both.old, False), (both.new, True)):
            if conversation is not None:
                messages.loose(conversation.loose, home, new=new)
                messages.loose(conversation.noise, home, new=new)
        if both.old is not None and both.new is not None and both.alike:
            self._failure(both.old, both.new)
            for verb, *statuses in _other_statuses(both.old, both.new):
                measure = self.findings.measure(None, None, ("", ""), both.namings)
                change = Change(_status_rule(*statuses), (), *statuses)
                self.findings.add(change, measure, method=f"HTTP {verb}")

    def _failure(self, old: RecordedConversation, new: RecordedConversation) -> None:
        if old.failure == new.failure:
            return
        told = [ABSENT if one.failure is None else one.failure for one in (old, new)]
        rule = "server-survived" if new.failure is None else "server-failed"
        measure = self.findings.measure(None, None, ("", ""), Namings())
        where = {"old": old.failed_at, "new": new.failed_at}
        self.findings.add(Change(rule, (), *told), measure, method="exit", **where)


def _paired(
    old: Sequence[RecordedConversation], new: Sequence[RecordedConversation]
) -> list[_Pairing]:
    """The calls of both sides. Clients make sessions as they like, so what a conversation lacks is
    looked for in the others before it is compared with what is merely similar.
    """
    pairings = []
    for one, other in pair_conversations(old, new):
        found = pair_calls(one.calls if one else [], other.calls if other else [], exactly=True)
        pairings.append(_Pairing(Counterparts(one, other), found.pairs, found.old, found.new))
    if len(pairings) > 1:
        pairings.append(_strays(pairings))
    for pairing in pairings:
        found = pair_calls(pairing.old, pairing.new)
        pairing.pairs = sorted(pairing.pairs + found.pairs, key=lambda pair: pair[0].rank)
        pairing.old, pairing.new = found.old, found.new
    return pairings


def _strays(pairings: list[_Pairing]) -> _Pairing:
    """The calls that were made in another conversation."""
    found = pair_calls(
        [call for pairing in pairings for call in pairing.old],
        [call for pairing in pairings for call in pairing.new],
        exactly=True,
    )
    taken = {id(call) for pair in found.pairs for call in pair}
    for pairing in pairings:
        pairing.old = [call for call in pairing.old if id(call) not in taken]
        pairing.new = [call for call in pairing.new if id(call) not in taken]
    return _Pairing(Counterparts(None, None), found.pairs)


def _other_statuses(
    old: RecordedConversation, new: RecordedConversation
) -> Iterator[tuple[str, int, int]]:
    """The statuses of requests that ask nothing (streams opened, sessions ended, messages handed
    in), by verb, where no class of them is common to both.
    """
    sides: list[dict[str, dict[int, int]]] = []
    for one in (old, new):
        asked = {call.exchange for call in one.calls}
        classes: dict[str, dict[int, int]] = {}
        for x, (verb, status) in one.statuses.items():
            if x not in asked:
                classes.setdefault(verb, {}).setdefault(status // 100, status)
        sides.append(classes)
    for verb, before in sides[0].items():
        after = sides[1].get(verb, {})
        if after and not before.keys() & after.keys():
            yield verb, next(iter(before.values())), next(iter(after.values()))


def _status_rule(old: int, new: int) -> str:
    return "status-error" if old < _HTTP_ERROR <= new else "status-changed"
