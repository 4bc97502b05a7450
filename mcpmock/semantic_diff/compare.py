"""`compare`: the differences in meaning between two recordings, each judged by a named rule.

    comparison = compare(old, new, IgnoreRules.parse(ignore=["tools/call now $.result"]))
    comparison.worst      # Verdict.BREAKING, or None if there is no difference

Pure. Ids, tokens, sessions, times, the order of members and the transport are ignored
(`normalize`, `conversations`). Calls are paired by method and params (`pairing`); their answers are
compared by `answer_changes`, all other messages by `message_changes`. `severity` is the table of
the rules and their verdicts, `ignore_rules` the rules of the user. `mcpmock diff` and
`mcpmock verify` stand above.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import attrs

from mcpmock.cassette.model import Cassette
from mcpmock.matching.match_rule import Label
from mcpmock.printable import printable
from mcpmock.protocol.messages import Response
from mcpmock.redaction.redactor import PLACEHOLDER
from mcpmock.redaction.skill_files import with_true_digests

from .answer_changes import answer_changes
from .conversations import RecordedConversation, read_conversations
from .findings import Findings
from .ignore_rules import IgnoreRules
from .message import DiffMessage
from .message_changes import MessageChanges
from .normalize import Namings, forget_contents
from .pairing import ConversationPair, pair_all_calls
from .severity import ABSENT, Change, Difference, Verdict

__all__ = ["Diff", "Difference", "IgnoreRules", "Progress", "Verdict", "compare"]

Progress = Callable[[int, int], None]
"""Progress callback: (done, total)."""
_EVENTS_PER_REPORT = 500
_HTTP_ERROR = 400


@attrs.frozen(kw_only=True, repr=False)
class Diff:
    """The result of comparing two recordings: true if anything differs, and readable as text.

    >>> diff = mcpmock.diff("weather.jsonl", "snow.jsonl")
    >>> diff.old, diff.new, diff.worst, len(diff.differences), bool(diff)
    ('weather.jsonl', 'snow.jsonl', <Verdict.RISKY: 2>, 1, True)
    >>> print(diff)
    weather.jsonl -> snow.jsonl: 1 risky
    risky result-text-changed: tools/call get_weather $.result.content[0].text: "rain" -> "snow"
    >>> assert not mcpmock.diff("weather.jsonl", "weather.jsonl")
    """

    old: str
    """The file as the user wrote it."""
    new: str
    differences: tuple[Difference, ...]
    """The worst first. Those beyond `findings.MAX_DIFFERENCES` are only counted."""
    counts: dict[Verdict, int]
    """How many differences there are of each verdict."""
    calls: dict[Label, int]
    """How many calls of each label were compared, or made in one recording only."""
    ignored: int
    """How many changes the user's rules ignore."""

    @property
    def worst(self) -> Verdict | None:
        """The worst verdict; None if nothing differs."""
        return max(self.counts, default=None)

    def __bool__(self) -> bool:
        return bool(self.counts)

    def __repr__(self) -> str:
        return f"<Diff {'; '.join(str(self).splitlines())}>"  # as pytest shows a failed assertion

    def __str__(self) -> str:
        counts = [f"{self.counts[verdict]} {verdict.word}" for verdict in sorted(self.counts)[::-1]]
        lines = [f"{self.old} -> {self.new}: {', '.join(counts) or 'no differences'}"]
        for found in self.differences:
            values = " -> ".join("absent" if one is None else one for one in (found.old, found.new))
            place = f"{found.call or found.method} {found.path}"
            lines.append(f"{found.verdict.word} {found.rule.name}: {place}: {values}")
        return "\n".join(map(printable, lines))


def compare(
    old: Cassette, new: Cassette, rules: IgnoreRules | None = None, progress: Progress | None = None
) -> Diff:
    """Return the differences from the old recording to the new one."""
    old, new = with_true_digests(old), with_true_digests(new)
    kinds = [{take.transport for take in cassette.takes} for cassette in (old, new)]
    work = _Work.of(old, new, progress)
    sides = [
        read_conversations(cassette, one_session=kinds[0] != kinds[1], count=work.add)
        for cassette in (old, new)
    ]
    findings = Findings(rules or IgnoreRules())
    comparer = _Comparer(findings, work)
    comparer.run(*sides)
    forget_contents()
    return Diff(
        old=old.name,
        new=new.name,
        differences=findings.differences(),
        counts=dict(findings.counts),
        calls=dict(comparer.calls),
        ignored=findings.ignored,
    )


@attrs.define
class _Work:
    """Counts the work done: each event is read, and the comparison counts as much again."""

    total: int
    progress: Progress | None
    done: int = 0

    @classmethod
    def of(cls, old: Cassette, new: Cassette, progress: Progress | None) -> _Work:
        events = sum(len(take.events) for one in (old, new) for take in one.takes)
        return cls(2 * events, progress)

    def add(self, more: int) -> None:
        self.done += more
        if self.progress is not None:
            self.progress(min(self.done, self.total), self.total)


@attrs.define
class _Comparer:
    findings: Findings
    work: _Work
    calls: Counter[Label] = attrs.field(factory=Counter)

    def run(self, old: Sequence[RecordedConversation], new: Sequence[RecordedConversation]) -> None:
        conversation_pairs = pair_all_calls(old, new, self.findings.rules.places)
        messages = MessageChanges(self.findings)
        total = sum(len(conversations.calls) for conversations in conversation_pairs) or 1
        share, left = self.work.total - self.work.done, 0.0
        for conversations in conversation_pairs:
            for number, (one, other) in enumerate(conversations.calls):
                self._compare_calls(one, other, conversations)
                messages.add_calls(one, other, conversations)
                left += share / total
                if not number % _EVENTS_PER_REPORT:
                    self.work.add(int(left))
                    left -= int(left)
            for call in conversations.old_calls:
                self.calls[call.label] += 1
                self.findings.only_in_old("request", call, call.label)
            for call in conversations.new_calls:
                self.calls[call.label] += 1
                self.findings.only_in_new("request", call, call.label)
            messages.add_unrelated(conversations)
            self._compare_endings(conversations)
        messages.finish()
        self.work.add(self.work.total)

    def _compare_calls(
        self, old: DiffMessage, new: DiffMessage, conversations: ConversationPair
    ) -> None:
        """Compare two paired calls and their answers."""
        label, namings = new.label, conversations.namings
        self.calls[label] += 1
        self.findings.compare_documents("request-changed", old, new, label, namings)
        ours, theirs = old.answers, new.answers
        same = [
            self._compare_answers(one, other, label, namings)
            for one, other in zip(ours, theirs, strict=False)
        ]
        # Whether an abandoned call is still answered is a matter of timing.
        abandoned = old.abandoned or new.abandoned
        for answer in () if abandoned else ours[len(theirs) :]:
            self.findings.only_in_old("answer", answer, label, new=new.where)
        for answer in () if abandoned else theirs[len(ours) :]:
            self.findings.only_in_new("answer", answer, label, old=old.where)
        if all(same) and len(ours) == len(theirs):
            self._compare_statuses(old, new, conversations)

    def _compare_answers(
        self, old: DiffMessage, new: DiffMessage, label: Label, namings: Namings
    ) -> bool:
        """Compare two answers; True if they are the same."""
        self.findings.compare_versions(old, new, label)
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

    def _compare_statuses(
        self, old: DiffMessage, new: DiffMessage, conversations: ConversationPair
    ) -> None:
        """Compare the HTTP statuses of two equal answers: only their class (2xx, 4xx) counts."""
        if conversations.old is None or conversations.new is None or not conversations.alike:
            return
        _, before = conversations.old.statuses.get(old.exchange or 0, ("", 0))
        _, after = conversations.new.statuses.get(new.exchange or 0, ("", 0))
        if before and after and before // 100 != after // 100:
            measure = self.findings.measure(old, new, new.label, conversations.namings)
            change = Change(_status_rule(before, after), (), before, after)
            self.findings.add(change, measure, old=old.where, new=new.where)

    def _compare_endings(self, conversations: ConversationPair) -> None:
        """Compare how the server ended, and the statuses of exchanges without a call."""
        old, new = conversations.old, conversations.new
        if old is None or new is None or not conversations.alike:
            return
        if old.failure != new.failure:
            rule = "server-survived" if new.failure is None else "server-failed"
            failures = [ABSENT if one.failure is None else one.failure for one in (old, new)]
            where = {"old": old.failed_at, "new": new.failed_at}
            self.findings.add_event(Change(rule, (), *failures), "exit", **where)
        for verb, *statuses in _other_statuses(old, new):
            change = Change(_status_rule(*statuses), (), *statuses)
            self.findings.add_event(change, f"HTTP {verb}")


def _other_statuses(
    old: RecordedConversation, new: RecordedConversation
) -> Iterator[tuple[str, int, int]]:
    """Yield the old and the new status of exchanges without a call (streams opened, sessions ended,
    notifications posted), by verb, where both recordings have no class of status in common.
    """
    sides: list[dict[str, dict[int, int]]] = []
    for one in (old, new):
        with_call = {call.exchange for call in one.calls}
        classes: dict[str, dict[int, int]] = {}
        for x, (verb, status) in one.statuses.items():
            if x not in with_call:
                classes.setdefault(verb, {}).setdefault(status // 100, status)
        sides.append(classes)
    for verb, before in sides[0].items():
        after = sides[1].get(verb, {})
        if after and not before.keys() & after.keys():
            yield verb, next(iter(before.values())), next(iter(after.values()))


def _status_rule(old: int, new: int) -> str:
    return "status-error" if old < _HTTP_ERROR <= new else "status-changed"
