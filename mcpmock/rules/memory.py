"""Bounds on what the checker remembers: the size of open requests, the number of entries in a
mapping, and incomplete messages.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from typing import Any

import attrs

from mcpmock.protocol.messages import Direction, Frame, Message, Request
from mcpmock.protocol.raw_json import members
from mcpmock.protocol.reassembly import Reassembly

_MAX_KEPT_BYTES = 1000
"""The size up to which an id, a token or the params of a request are kept."""
_KEPT_PARAMS = {"_meta", "task"}
_NAMING_PARAMS = {"name", "uri", "cursor", "level", "taskId"}
"""Kept as well if they are short: rules that read them are silent without."""
_MAX_MESSAGE_BYTES, _MAX_INCOMPLETE_MESSAGES = 4 << 20, 16
"""The size of one reassembled message, and how many may be incomplete at a time."""


def drop_oldest(kept: OrderedDict[Any, Any], limit: int) -> bool:
    """Drop the oldest entry beyond `limit`; True if one was dropped."""
    over = len(kept) > limit
    if over:
        kept.popitem(last=False)
    return over


def slim_request(message: Message) -> Message:
    """Return the request with only the params that are read later, its name among them: its
    arguments may be megabytes.
    """
    if not isinstance(message, Request) or len(message.params or b"") <= _MAX_KEPT_BYTES:
        return message
    found = _params_of(message, _KEPT_PARAMS | _NAMING_PARAMS)
    kept = {name: raw for name, raw in found.items() if len(raw) <= _MAX_KEPT_BYTES}
    params = b",".join(b'"%b":%b' % (name.encode(), raw) for name, raw in kept.items())
    return Request(message.id, message.method, b"{%b}" % params)


def too_long(message: Message) -> bool:
    """Return whether its id or a needed param is too long to keep, so that later messages cannot be
    matched with it.
    """
    if len(getattr(message, "id", None) or b"") > _MAX_KEPT_BYTES:
        return True
    if not isinstance(message, Request) or len(message.params or b"") <= _MAX_KEPT_BYTES:
        return False
    return any(len(raw) > _MAX_KEPT_BYTES for raw in _params_of(message, _KEPT_PARAMS).values())


def _params_of(request: Request, names: Iterable[str]) -> dict[str, bytes]:
    params = request.params or b""
    spans = members(params) or {}
    return {name: params[slice(*spans[name])] for name in names if name in spans}


@attrs.define
class IncompleteMessages:
    """Messages that have arrived only in part."""

    lost: bool = False
    """A message was dropped: it was too long, or too many were incomplete."""
    _reassembly: Reassembly = attrs.field(factory=lambda: Reassembly(_MAX_MESSAGE_BYTES))

    def add_piece(self, frame: Frame) -> Frame | None:
        """Return the whole message, when this piece is its last."""
        if (
            not self._reassembly.has_begun(frame)
            and len(self._reassembly) >= _MAX_INCOMPLETE_MESSAGES
        ):
            self.lost = True
            return None
        whole = self._reassembly.add(frame)
        if whole is None:
            return None
        self.lost |= whole.too_long
        return None if whole.too_long else whole.frame

    def forget(self, exchange: int) -> None:
        """Drop the incomplete messages of an exchange that has ended."""
        for way in Direction:
            self._reassembly.cut(way, exchange)
