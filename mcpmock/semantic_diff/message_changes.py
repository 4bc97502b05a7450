"""The messages around the calls of two recordings, compared: notifications, progress, what the
server asked and the client answered, and output that is no message.

Those of one call are held against those of the call that stands for it, in their order; what
belonged to a call by guess may belong elsewhere in the other recording, and is then looked for
everywhere. Only what is found nowhere is a difference. `diff` gives the pairs of calls.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator

import attrs

from mcpmock.protocol.correlation import CANCELLED
from mcpmock.protocol.messages import C2S, S2C, Notification, Request
from mcpmock.redaction.redactor import PLACEHOLDER

from .conversations import RecordedConversation
from .findings import Findings
from .ignore_rules import Label
from .message import DiffMessage
from .normalize import Document, Namings
from .pairing import by_key
from .severity import ABSENT, Change
from .value_changes import Measure, edits

_NO_CALL: Label = ("", "")


@attrs.frozen(eq=False)
class MessagePlace:
    """A message, and where it stands."""

    saying: DiffMessage
    home: int
    """The number of the pair of conversations."""
    call: int | None
    """The number of the pair of calls that it belongs to."""
    label: Label


@attrs.frozen
class Counterparts:
    """Two conversations that stand for each other, or what is left of one."""

    old: RecordedConversation | None
    new: RecordedConversation | None
    namings: Namings = attrs.field(factory=Namings)

    @property
    def alike(self) -> bool:
        """Whether both came over the same transport."""
        one, other = self.old, self.new
        return one is None or other is None or one.transport == other.transport


@attrs.define
class Messages:
    """Takes in all messages of both sides, and says then what has no counterpart."""

    findings: Findings
    counterparts: list[Counterparts]
    _old: list[MessagePlace] = attrs.field(factory=list)
    _new: list[MessagePlace] = attrs.field(factory=list)
    _calls: int = 0

    def within(self, old: DiffMessage, new: DiffMessage, home: int) -> None:
        """The messages of two calls that stand for each other."""
        self._calls += 1
        if not old.within and not new.within:
            return
        ours, theirs = (
            [
                place
                for one in call.within
                if (place := self._place(one, home, self._calls, call.label)) is not None
            ]
            for call in (old, new)
        )
        if [*map(_same, ours)] == [*map(_same, theirs)] and _before(old) == _before(new):
            self._equal(zip(ours, theirs, strict=True))
            return
        pairs, old_rest, new_rest = by_key(ours, theirs, _same)
        self._equal(pairs)
        if old.given_up or new.given_up:
            old_rest, new_rest = ([*filter(_counts, rest)] for rest in (old_rest, new_rest))
        elif _out_of_order(pairs, old, new):
            both = self.counterparts[home]
            measure = self.findings.measure(old, new, old.label, both.namings)
            told = [[_named(p) for p in row] for row in (ours, theirs)]
            change = Change("messages-reordered", (), *told)
            self.findings.add(change, measure, old=old.where, new=new.where)
        self._old += old_rest
        self._new += new_rest

    def loose(self, sayings: Iterable[DiffMessage], home: int, *, new: bool) -> None:
        """What belongs to no call, or to one that nothing stands for."""
        places = (self._place(one, home, None, _NO_CALL) for one in sayings)
        (self._new if new else self._old).extend(place for place in places if place is not None)

    def finish(self) -> None:
        """What is left is looked for ever farther away; first the same, then the like."""
        self._equal(self._matched(lambda place: (place.home, *_same(place))))
        self._equal(self._matched(_same))
        for key in (_of_call, _of_conversation, _of_kind):
            for old, new in self._matched(key):
                self._changed(old, new)
        for place in self._old:
            self._alone(place, new=False)
        for place in self._new:
            self._alone(place, new=True)

    def _place(
        self, saying: DiffMessage, home: int, call: int | None, label: Label
    ) -> MessagePlace | None:
        """None for what one transport says otherwise than the other: on HTTP a client of 2026
        cancels by leaving.
        """
        unlike = not self.counterparts[home].alike
        if unlike and (saying.method == CANCELLED and saying.direction is C2S):
            return None
        if unlike and not saying.method:
            return None
        return MessagePlace(saying, home, call, label)

    def _matched(
        self, key: Callable[[MessagePlace], Hashable]
    ) -> list[tuple[MessagePlace, MessagePlace]]:
        pairs, self._old, self._new = by_key(self._old, self._new, key)
        return pairs

    def _equal(self, pairs: Iterable[tuple[MessagePlace, MessagePlace]]) -> None:
        """Those that say the same: but perhaps of another, and the client may answer otherwise."""
        for old, new in pairs:
            if PLACEHOLDER in old.saying.key:
                self._changed(old, new)
            elif isinstance(old.saying.message, Request):
                self._answered(old, new)

    def _changed(self, old: MessagePlace, new: MessagePlace) -> None:
        one, other = old.saying, new.saying
        measure = self.findings.measure(one, other, old.label, self._namings(old, new))
        rule = f"{_family(one)}-changed"
        for edit in edits(one.document, other.document, (), measure):
            change = Change(rule, edit.path, edit.old, edit.new)
            self.findings.add(change, measure, old=one.where, new=other.where)
        if isinstance(one.message, Request):
            self._answered(old, new)

    def _answered(self, old: MessagePlace, new: MessagePlace) -> None:
        """What the client answered to a question."""
        answers, others = old.saying.answers, new.saying.answers
        for one, other in zip(answers, others, strict=False):
            measure = self.findings.measure(one, other, old.label, self._namings(old, new))
            for change in _said(one.document, other.document, measure):
                self.findings.add(change, measure, old=one.where, new=other.where)
        for one in answers[len(others) :]:
            measure = self.findings.measure(one, None, old.label, Namings())
            self.findings.add(Change("said-missing", (), _told(one)), measure, old=one.where)
        for other in others[len(answers) :]:
            measure = self.findings.measure(None, other, old.label, Namings())
            change = Change("said-added", (), ABSENT, _told(other))
            self.findings.add(change, measure, new=other.where)

    def _alone(self, place: MessagePlace, *, new: bool) -> None:
        saying, both = place.saying, self.counterparts[place.home]
        if self._lost(place, both, new=new):
            return
        family = _family(saying)
        if new:
            measure = self.findings.measure(None, saying, place.label, both.namings)
            change = Change(f"{family}-added", (), ABSENT, _told(saying))
            self.findings.add(change, measure, new=saying.where)
        else:
            measure = self.findings.measure(saying, None, place.label, both.namings)
            change = Change(f"{family}-missing", (), _told(saying))
            self.findings.add(change, measure, old=saying.where)

    def _lost(self, place: MessagePlace, both: Counterparts, *, new: bool) -> bool:
        """On Streamable HTTP what a server says to no request is lost while no stream is open for
        it; on other transports nothing is.
        """
        lacking = both.old if new else both.new
        unasked = place.saying.direction is S2C and not place.saying.sure
        if both.alike or not unasked or not isinstance(place.saying.message, Notification):
            return False
        return lacking is not None and lacking.transport == "streamable-http"

    def _namings(self, old: MessagePlace, new: MessagePlace) -> Namings:
        """Names are those of two conversations."""
        return self.counterparts[old.home].namings if old.home == new.home else Namings()


def _same(place: MessagePlace) -> tuple[Hashable, ...]:
    return (*_of_kind(place), place.saying.key)


def _of_kind(place: MessagePlace) -> tuple[Hashable, ...]:
    saying = place.saying
    return saying.direction, type(saying.message), saying.method


def _of_conversation(place: MessagePlace) -> Hashable:
    return (place.home, *_of_kind(place))


def _of_call(place: MessagePlace) -> Hashable:
    return (place.home, place.call, *_of_kind(place))


def _counts(place: MessagePlace) -> bool:
    """Whether it counts though the call was given up."""
    told = place.saying.direction is S2C and isinstance(place.saying.message, Notification)
    return not told


def _before(call: DiffMessage) -> int:
    """How much came before the first answer."""
    end = call.answers[0].rank if call.answers else math.inf
    return sum(saying.rank < end for saying in call.within)


def _out_of_order(
    pairs: Iterable[tuple[MessagePlace, MessagePlace]], old: DiffMessage, new: DiffMessage
) -> bool:
    """Whether messages that surely belong to a call came in another order, its first answer among
    them; of others only those of one method have an order.
    """
    ranks = [(one.saying, one.saying.rank, other.saying.rank) for one, other in pairs]
    sure = {id(one.saying) for one, other in pairs if one.saying.sure and other.saying.sure}
    rows: dict[Hashable, list[tuple[int, int]]] = {}
    for saying, rank, other_rank in ranks:
        rows.setdefault(saying.method, []).append((rank, other_rank))
        if id(saying) in sure:
            rows.setdefault(None, []).append((rank, other_rank))
    if old.answers and new.answers:
        rows.setdefault(None, []).append((old.answers[0].rank, new.answers[0].rank))
    return any(_disordered(row) for row in rows.values())


def _disordered(row: list[tuple[int, int]]) -> bool:
    others = [other for _, other in sorted(row)]
    return others != sorted(others)


def _said(old: Document, new: Document, measure: Measure) -> Iterator[Change]:
    """What a client answered otherwise."""
    if old.keys() != new.keys():
        yield Change("said-changed", (), *(next(iter(one.values()), None) for one in (old, new)))
        return
    for edit in edits(old, new, (), measure):
        yield Change("said-changed", edit.path, edit.old, edit.new)


def _family(saying: DiffMessage) -> str:
    """What the rules call it."""
    if saying.direction is C2S:
        return "said"
    if isinstance(saying.message, Request):
        return "question"
    return "notification" if isinstance(saying.message, Notification) else "noise"


def _told(saying: DiffMessage) -> object:
    return next(iter(saying.document.values()), None)


def _named(place: MessagePlace) -> str:
    return place.saying.method
