"""`DiffMessage`: one message of a recording as a diff sees it, with the messages that belong to it.

The pages of a list are joined into one list: a server may change where its pages end, and a tool
that moves to another page is not removed. `conversations` creates these; `normalize` defines what
is compared of a message.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import attrs

from mcpmock.matching.match_rule import Label
from mcpmock.protocol import messages as m
from mcpmock.protocol.methods import LISTS

from .normalize import ComparedKeys, Document, content_of, keys_of
from .severity import EventLocation

SingleMessage = m.Request | m.Notification | m.Response | m.Opaque


@attrs.define(eq=False)
class DiffMessage:
    """One message; a request has its answers and the messages that belong to it."""

    where: EventLocation
    rank: int
    """Its number among all messages of the conversation."""
    direction: m.Direction
    message: SingleMessage
    raw: bytes
    """Of what is no message."""
    method: str
    """Its own method, or that of the request it answers; of other messages, what they are."""
    sure: bool = False
    """Whether it certainly belongs to its call."""
    exchange: int | None = None
    abandoned: bool = False
    """Whether the client cancelled it, or left before it was answered: what the server still sends
    is then a matter of timing.
    """
    answers: Sequence[DiffMessage] = ()
    within: Sequence[DiffMessage] = ()
    _keys: ComparedKeys | None = None

    @property
    def document(self) -> Document:
        """What is compared of it; decoded on each access, or kept for a short time."""
        if isinstance(self.message, m.Opaque):
            return {"text": self.raw.decode("utf-8", "backslashreplace")}
        return content_of(self.message, self.method)

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
        if self._keys is None:
            if isinstance(self.message, m.Opaque):
                self._keys = ComparedKeys.of(self.document, self.method)
            else:
                self._keys = keys_of(self.message, self.method)
        return self._keys


def with_message(messages: Sequence[DiffMessage], one: DiffMessage) -> Sequence[DiffMessage]:
    """Return the messages with one more; most have none, and then one."""
    if not isinstance(messages, list):
        return [*messages, one] if messages else (one,)
    messages.append(one)
    return messages


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
    whole = m.Response(None, result)
    first.answers = [attrs.evolve(first.answers[0], message=whole, keys=None)]
    first.within = [*first.within, *more.within]
