"""`DiffMessage`: one message of a recording as a diff sees it, with the messages that belong to it.

The pages of a list are joined into one list: a server may change where its pages end, and a tool
that moves to another page is not removed. `conversations` creates these; `normalize` defines what
is compared of a message.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import attrs
import msgspec

from mcpmock.cassette.model import Event, frame_at
from mcpmock.matching.match_rule import Label
from mcpmock.protocol import messages as m
from mcpmock.protocol.methods import LISTS
from mcpmock.protocol.raw_json import items

from .normalize import ComparedKeys, Document, content_of
from .severity import EventLocation

_T = TypeVar("_T")
SingleMessage = m.Request | m.Notification | m.Response | m.Opaque


@attrs.define(eq=False)
class SessionMessages:
    """Where the messages of one session are in the events of its take; they are read anew each
    time, so that a large recording is not held in memory.
    """

    take: int
    """The number of the take, from 1."""
    events: Sequence[Event]
    _places: array[int] = attrs.field(factory=lambda: array("I"))
    """By the rank of a message, the place of its event."""
    versions: dict[int, Any] = attrs.field(factory=dict)
    """By the rank of a message, its `jsonrpc` where that is not "2.0"."""
    _joined: dict[int, m.Response] = attrs.field(factory=dict)
    """By the rank of the first page of a list, an answer with all pages."""

    def __len__(self) -> int:
        return len(self._places)

    def add(self, place: int, message: SingleMessage, raw: bytes) -> int:
        """Add the next message, which is in this event, and return its rank."""
        rank = len(self._places)
        self._places.append(place)
        if not isinstance(message, m.Opaque) and (version := m.version_of(raw)) != "2.0":
            self.versions[rank] = version
        return rank

    def read(self, rank: int) -> tuple[SingleMessage, bytes]:
        """Return a message, or the bytes of anything else."""
        if rank in self._joined:
            return self._joined[rank], b""
        place = self._places[rank]
        frame = frame_at(self.events, place)
        assert frame is not None
        found = messages_in(frame)
        return found[0] if len(found) == 1 else found[rank - bisect_left(self._places, place)]

    def join(self, rank: int, whole: m.Response) -> None:
        """Put an answer with all pages of a list in the place of its first page."""
        self._joined[rank] = whole

    def where(self, rank: int) -> EventLocation:
        return EventLocation(self.take, self.events[self._places[rank]].n)


def messages_in(frame: m.Frame) -> Sequence[tuple[SingleMessage, bytes]]:
    """Return the message of a frame, or the members of a batch: a diff ignores the packing."""
    content = frame.content
    if isinstance(content, (m.Request, m.Notification, m.Response, m.Opaque)):
        return [(content, frame.raw)]
    both = zip(m.parse_items(frame.raw), items(frame.raw) or (), strict=True)
    return [
        (item, raw)
        for item, raw in both
        if isinstance(item, (m.Request, m.Notification, m.Response, m.Opaque))
    ]


# A Struct, because there is one for each message but answers: it takes the least memory.
class DiffMessage(msgspec.Struct, eq=False, gc=False):
    """One message; a request has its answers and the messages that belong to it."""

    messages: SessionMessages
    rank: int
    """Its number among all messages of the conversation."""
    direction: m.Direction
    kind: type[SingleMessage]
    method: str
    """Its own method, or that of the request it answers; of other messages, what they are."""
    sure: bool = False
    """Whether it certainly belongs to its call."""
    exchange: int | None = None
    abandoned: bool = False
    """Whether the client cancelled it, or left before it was answered: what the server still sends
    is then a matter of timing.
    """
    answer_ranks: Sequence[int] = ()
    within: Sequence[DiffMessage] = ()
    keys: ComparedKeys | None = None
    """None until they are first needed."""

    @property
    def where(self) -> EventLocation:
        return self.messages.where(self.rank)

    @property
    def version(self) -> Any:
        """What it says in `jsonrpc`; None if it says nothing."""
        return self.messages.versions.get(self.rank, "2.0")

    @property
    def message(self) -> SingleMessage:
        return self.messages.read(self.rank)[0]

    @property
    def answers(self) -> list[DiffMessage]:
        """The answers to a request; made on each access."""
        back = self.direction.back
        return [
            DiffMessage(self.messages, rank, back, m.Response, self.method, sure=True)
            for rank in self.answer_ranks
        ]

    @property
    def document(self) -> Document:
        """What is compared of it; decoded on each access, or kept for a short time."""
        message, raw = self.messages.read(self.rank)
        if isinstance(message, m.Opaque):
            return {"text": raw.decode("utf-8", "backslashreplace")}
        return content_of(message, self.method)

    @property
    def key(self) -> bytes:
        """Equal for messages of one type and method with the same content."""
        return self._read_keys.key

    @property
    def bare_key(self) -> bytes:
        """As `key`, without what is the client's own in the `_meta` of a request."""
        return self._read_keys.bare_key

    @property
    def gist(self) -> object:
        """What a report shows of a message without a counterpart: its params, result or error."""
        return next(iter(self.document.values()), None)

    @property
    def label(self) -> Label:
        """The method, and the name of the tool, prompt or resource."""
        return self.method, self._read_keys.name

    @property
    def _read_keys(self) -> ComparedKeys:
        if self.keys is None:
            self.keys = ComparedKeys.of(self.document, self.method)
        return self.keys


def with_one_more(items: Sequence[_T], one: _T) -> Sequence[_T]:
    """Return the items with one more; most have none, and then one."""
    if not isinstance(items, list):
        return [*items, one] if items else (one,)
    items.append(one)
    return items


def join_pages(calls: Iterable[DiffMessage]) -> list[DiffMessage]:
    """Return the calls, with all pages of a list in the answer to the first; without the calls for
    the other pages.
    """
    kept: list[DiffMessage] = []
    awaited: dict[tuple[str, str], DiffMessage] = {}
    """The first call for a list, by the method and the cursor of its next page."""
    for call in calls:
        if call.method not in LISTS:
            kept.append(call)
            continue
        first = awaited.pop((call.method, str(_member(call, "params", "cursor"))), None)
        if first is None or not _is_page(call):
            kept.append(call)
            first = call
        else:
            _join(first, call)
        cursor = _member(call.answers[0], "result", "nextCursor") if _is_page(call) else None
        if cursor is not None:
            awaited[call.method, str(cursor)] = first
    return kept


def _is_page(call: DiffMessage) -> bool:
    found = [_member(answer, "result", LISTS[call.method]) for answer in call.answers]
    return len(found) == 1 and isinstance(found[0], list)


def _member(message: DiffMessage, *path: str) -> object:
    value: object = message.document
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _join(first: DiffMessage, more: DiffMessage) -> None:
    """Add a page. The members beside the list are those of the last page."""
    name = LISTS[first.method]
    one, other = (call.answers[0].document["result"] for call in (first, more))
    result = m.encode({**other, name: [*one[name], *other[name]]})
    first.messages.join(first.answer_ranks[0], m.Response(None, result))
    first.within = [*first.within, *more.within]
