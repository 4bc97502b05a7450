"""Compares the messages other than calls and answers: notifications, progress, server requests and
the client's answers to them, and output that is not a message.

The messages of a call are compared with those of its counterpart, in order. A message that only
presumably belongs to its call may belong to another one in the other recording, so the rest is
paired in ever wider scopes. Only what then has no counterpart is a difference. `compare` passes in
the pairs of calls.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator

import attrs

from mcpmock.matching.match_rule import Label
from mcpmock.protocol import messages as m
from mcpmock.protocol.correlation import CANCELLED

from .conversations import RecordedConversation
from .findings import Findings
from .message import DiffMessage
from .normalize import Document, Namings
from .pairing import ConversationPair, by_key
from .severity import Change
from .value_changes import Measure, edits

_NO_CALL: Label = ("", "")


@attrs.frozen(eq=False)
class PlacedMessage:
    """A message, and the call and conversation that it belongs to."""

    message: DiffMessage
    conversations: ConversationPair
    call: int | None
    """The number of the pair of calls that it belongs to."""
    label: Label
    of_unpaired_call: bool = False
    """Whether it presumably belongs to a call that only one recording has."""


@attrs.define
class MessageChanges:
    """Takes all messages of both sides; `finish` reports those without a counterpart."""

    findings: Findings
    _old: list[PlacedMessage] = attrs.field(factory=list)
    _new: list[PlacedMessage] = attrs.field(factory=list)
    _calls: int = 0

    def add_calls(
        self, old: DiffMessage, new: DiffMessage, conversations: ConversationPair
    ) -> None:
        """Compare the messages of two paired calls."""
        if not (old.within or new.within):
            return
        self._calls += 1
        ours, theirs = (
            [*_placed(call.within, conversations, self._calls, call.label)] for call in (old, new)
        )
        pairs, old_rest, new_rest = by_key(ours, theirs, _content)
        self._compare(pairs)
        if old.abandoned or new.abandoned:
            old_rest, new_rest = (
                [placed for placed in rest if _counts_if_abandoned(placed, call)]
                for rest, call in ((old_rest, old), (new_rest, new))
            )
        elif _out_of_order(pairs, old, new):
            measure = self.findings.measure(old, new, old.label, conversations.namings)
            orders = [[placed.message.method for placed in row] for row in (ours, theirs)]
            change = Change("messages-reordered", (), *orders)
            self.findings.add(change, measure, old=old.where, new=new.where)
        self._old += old_rest
        self._new += new_rest

    def add_unrelated(self, conversations: ConversationPair) -> None:
        """Add the messages that belong to no call, and those that presumably belong to a call
        without a counterpart. Those that certainly do are part of that difference.
        """
        for one, calls, rest in (
            (conversations.old, conversations.old_calls, self._old),
            (conversations.new, conversations.new_calls, self._new),
        ):
            presumed = [inner for call in calls for inner in call.within if not inner.sure]
            for placed in _placed(presumed, conversations, None, _NO_CALL):
                rest.append(attrs.evolve(placed, of_unpaired_call=True))
            unrelated = [] if one is None else [*one.unrelated, *one.noise]
            rest += _placed(unrelated, conversations, None, _NO_CALL)

    def finish(self) -> None:
        """Pair the rest in ever wider scopes: first equal messages, then those of one kind."""
        for key in (_content_in_conversation, _content, _of_call, _of_conversation, _of_kind):
            pairs, self._old, self._new = by_key(self._old, self._new, key)
            self._compare(pairs)
        for placed in self._old:
            old, new = placed.conversations.old, placed.conversations.new
            if not placed.of_unpaired_call and not _may_be_lost(placed, old, new):
                family = _family(placed.message)
                self.findings.only_in_old(family, placed.message, placed.label)
        for placed in self._new:
            old, new = placed.conversations.old, placed.conversations.new
            if not placed.of_unpaired_call and not _may_be_lost(placed, new, old):
                family = _family(placed.message)
                self.findings.only_in_new(family, placed.message, placed.label)

    def _compare(self, pairs: Iterable[tuple[PlacedMessage, PlacedMessage]]) -> None:
        for old, new in pairs:
            one, other = old.message, new.message
            # Placeholders are numbered per conversation, so across two of them none is known.
            within_one = old.conversations is new.conversations
            namings = old.conversations.namings if within_one else Namings()
            rule = f"{_family(one)}-changed"
            self.findings.compare_documents(rule, one, other, old.label, namings)
            self._compare_answers(one, other, old.label, namings)

    def _compare_answers(
        self, old: DiffMessage, new: DiffMessage, label: Label, namings: Namings
    ) -> None:
        """Compare the answers to a server request; other messages have none."""
        for one, other in zip(old.answers, new.answers, strict=False):
            self.findings.compare_versions(one, other, label)
            measure = self.findings.measure(one, other, label, namings)
            for change in _answer_changes(one.document, other.document, measure):
                self.findings.add(change, measure, old=one.where, new=other.where)
        for one in old.answers[len(new.answers) :]:
            self.findings.only_in_old("said", one, label)
        for other in new.answers[len(old.answers) :]:
            self.findings.only_in_new("said", other, label)


def _placed(
    messages: Iterable[DiffMessage], conversations: ConversationPair, call: int | None, label: Label
) -> Iterator[PlacedMessage]:
    """Place the messages; between transports, without those that only one of them has."""
    for message in messages:
        # 2026-07-28 basic/patterns/cancellation: on Streamable HTTP "Closing the SSE response
        # stream is the cancellation signal." Output that is not a message exists on stdio only.
        cancel = message.method == CANCELLED and message.direction is m.C2S
        if conversations.alike or not (cancel or message.kind in (m.Opaque, m.Response)):
            yield PlacedMessage(message, conversations, call, label)


def _may_be_lost(
    placed: PlacedMessage, own: RecordedConversation | None, lacking: RecordedConversation | None
) -> bool:
    """Return whether chance decided that only its own conversation has it."""
    # On Streamable HTTP a notification that belongs to no request is lost while the client has no
    # GET stream open. The first `tools/list_changed` of server-everything arrive on stdio only, and
    # on HTTP if the GET reaches the server before the `initialized` that was sent beside it.
    message = placed.message
    if lacking is None or lacking.transport != "streamable-http":
        return False
    if message.kind is not m.Notification or message.direction is m.C2S or message.sure:
        return False
    return not placed.conversations.alike or (own is not None and message.where.n in own.at_opening)


def _content(placed: PlacedMessage) -> tuple[Hashable, ...]:
    return (*_of_kind(placed), placed.message.key)


def _content_in_conversation(placed: PlacedMessage) -> Hashable:
    return (placed.conversations, *_content(placed))


def _of_kind(placed: PlacedMessage) -> tuple[Hashable, ...]:
    message = placed.message
    return message.direction, message.kind, message.method


def _of_conversation(placed: PlacedMessage) -> Hashable:
    return (placed.conversations, *_of_kind(placed))


def _of_call(placed: PlacedMessage) -> Hashable:
    return (placed.conversations, placed.call, *_of_kind(placed))


def _counts_if_abandoned(placed: PlacedMessage, call: DiffMessage) -> bool:
    """Leave out what timing decides: late notifications, and a cancel that beats the answer."""
    message = placed.message
    if message.method == CANCELLED and call.answer_ranks:
        return False
    return message.direction is m.C2S or message.kind is not m.Notification


def _out_of_order(
    pairs: Iterable[tuple[PlacedMessage, PlacedMessage]], old: DiffMessage, new: DiffMessage
) -> bool:
    """Return whether the messages that certainly belong to a call, and its first answer, came in
    another order. Other messages have an order only among those of one method.
    """
    rows: dict[str | None, list[tuple[int, int]]] = {}
    for one, other in pairs:
        ranks = one.message.rank, other.message.rank
        rows.setdefault(one.message.method, []).append(ranks)
        if one.message.sure and other.message.sure:
            rows.setdefault(None, []).append(ranks)
    if old.answer_ranks and new.answer_ranks:
        rows.setdefault(None, []).append((old.answer_ranks[0], new.answer_ranks[0]))
    return any(_disordered(row) for row in rows.values())


def _disordered(row: list[tuple[int, int]]) -> bool:
    others = [other for _, other in sorted(row)]
    return others != sorted(others)


def _answer_changes(old: Document, new: Document, measure: Measure) -> Iterator[Change]:
    if old.keys() != new.keys():
        yield Change("said-changed", (), *(next(iter(one.values()), None) for one in (old, new)))
        return
    for edit in edits(old, new, (), measure):
        yield Change("said-changed", edit.path, edit.old, edit.new)


def _family(message: DiffMessage) -> str:
    """Return the first word of the names of its rules."""
    if message.direction is m.C2S:
        return "said"
    if message.kind is m.Request:
        return "question"
    return "notification" if message.kind is m.Notification else "noise"
