"""`Findings`: collects the differences of a diff: judges, shortens and counts them.

Changes that the user's rules ignore are only counted. The same change at the same path of the same
kind of call is one difference, however often it occurs. Beyond MAX_DIFFERENCES differences are
only counted.
`compare` and `message_changes` stand above.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import attrs

from mcpmock.matching.match_rule import Label
from mcpmock.playback.request_key import is_own_meta
from mcpmock.printable import excerpt
from mcpmock.printable import excerpts as printable_excerpts
from mcpmock.protocol.messages import encode
from mcpmock.redaction.redactor import PLACEHOLDER

from .ignore_rules import IgnoreRules, Leeway
from .message import DiffMessage
from .normalize import Namings, with_meta
from .severity import (
    ABSENT,
    RULES,
    Change,
    Difference,
    EventLocation,
    ValuePath,
    Verdict,
    to_jsonpath,
)
from .value_changes import Measure, edits

MAX_DIFFERENCES = 10_000
MAX_EXCERPT_CHARS = 160
_OF_REQUESTS = {"request-changed", "question-changed", "said-changed"}


@attrs.define
class Findings:
    """The differences found so far."""

    rules: IgnoreRules
    counts: Counter[Verdict] = attrs.field(factory=Counter)
    """How many differences there are of each verdict."""
    ignored: int = 0
    """How many changes the user's rules ignore."""
    _found: dict[tuple[str | None, ...], Difference] = attrs.field(factory=dict)

    def measure(
        self, old: DiffMessage | None, new: DiffMessage | None, call: Label, namings: Namings
    ) -> Measure:
        """Return the measure for two messages of this call."""
        one, other = (None if message is None else message.document for message in (old, new))
        method = (old or new).method if old or new else ""  # type: ignore[union-attr]
        return Measure(Leeway(self.rules, method, call, one, other), namings)

    def add_event(
        self,
        change: Change,
        method: str,
        *,
        old: EventLocation | None = None,
        new: EventLocation | None = None,
    ) -> None:
        """Add a change of something that is not a message; `method` is its name in rules."""
        leeway = Leeway(self.rules, method, ("", ""), None, None)
        self.add(change, Measure(leeway, Namings()), old=old, new=new)

    def add(
        self,
        change: Change,
        measure: Measure,
        *,
        old: EventLocation | None = None,
        new: EventLocation | None = None,
    ) -> None:
        """Add a change within two messages, or that a message is missing or added."""
        leeway = measure.leeway
        if leeway.allows(change.path):
            self.ignored += 1
            return
        before, after = excerpts(change.old, change.new)
        call = " ".join(part for part in leeway.call if part) or None
        path, method = to_jsonpath(change.path), leeway.method
        # Missing or added messages of one label are one difference, whatever their content.
        values = (before, after) if change.path else ()
        key = (change.rule, method, call, path, *values)
        known = self._found.get(key)
        if known is not None:
            self._found[key] = attrs.evolve(known, times=known.times + 1)
            return
        rule = RULES[change.rule]
        self.counts[rule.verdict] += 1
        if len(self._found) < MAX_DIFFERENCES:
            self._found[key] = Difference(
                rule=rule,
                method=method,
                call=call,
                path=path,
                old=before,
                new=after,
                old_event=old,
                new_event=new,
                ignore=leeway.rule_for(change.path),
            )

    def compare_documents(
        self, rule: str, old: DiffMessage, new: DiffMessage, call: Label, namings: Namings
    ) -> None:
        """Add each difference of two messages under one rule. Messages with equal keys may still
        differ in which placeholder stands where.
        """
        self.compare_versions(old, new, call)
        if old.key == new.key and PLACEHOLDER not in old.key:
            return
        measure = self.measure(old, new, call, namings)
        for edit in edits(with_meta(old.document), with_meta(new.document), (), measure):
            change = Change(_meta_rule(rule, edit.path), edit.path, edit.old, edit.new)
            self.add(change, measure, old=old.where, new=new.where)

    def compare_versions(self, old: DiffMessage, new: DiffMessage, call: Label) -> None:
        """Add a difference if only one of two messages says that it is JSON-RPC 2.0."""
        before, after = old.version, new.version
        if (before == "2.0") is (after == "2.0"):
            return
        rule = "jsonrpc-removed" if before == "2.0" else "jsonrpc-added"
        one, other = ({} if said is None else {"jsonrpc": said} for said in (before, after))
        measure = Measure(Leeway(self.rules, new.method, call, one, other), Namings())
        values = (said.get("jsonrpc", ABSENT) for said in (one, other))
        self.add(Change(rule, ("jsonrpc",), *values), measure, old=old.where, new=new.where)

    def only_in_old(
        self, family: str, message: DiffMessage, call: Label, *, new: EventLocation | None = None
    ) -> None:
        """Add a message that the new recording lacks; `new` is where it would belong."""
        measure = self.measure(message, None, call, Namings())
        change = Change(f"{family}-missing", (), message.gist)
        self.add(change, measure, old=message.where, new=new)

    def only_in_new(
        self, family: str, message: DiffMessage, call: Label, *, old: EventLocation | None = None
    ) -> None:
        """Add a message that the old recording lacks; `old` is where it would belong."""
        measure = self.measure(None, message, call, Namings())
        change = Change(f"{family}-added", (), ABSENT, message.gist)
        self.add(change, measure, old=old, new=message.where)

    def differences(self) -> tuple[Difference, ...]:
        """Return the worst first, and those equally bad as they were found."""
        return tuple(sorted(self._found.values(), key=lambda found: -found.verdict))


def _meta_rule(rule: str, path: ValuePath) -> str:
    """Return the rule for a request: what is undefined in its `_meta` is the sender's own."""
    match path:
        case ("params", "_meta", str(name), *_) if is_own_meta(name) and rule in _OF_REQUESTS:
            return "meta-changed"
        case _:
            return rule


def excerpts(old: Any, new: Any) -> tuple[str | None, str | None]:
    """Return two values as shortened JSON, from shortly before their first difference."""
    one, other = (None if value is ABSENT else encode(value).decode() for value in (old, new))
    if one is None or other is None:
        old, new = (text and excerpt(text, MAX_EXCERPT_CHARS) for text in (one, other))
        return old, new
    return printable_excerpts(one, other, MAX_EXCERPT_CHARS)
