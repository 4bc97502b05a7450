"""How much of what was heard is kept: of requests what later messages are held against, of messages
in pieces as many and as much as is bearable.
"""

from __future__ import annotations

import attrs

from mcpmock.protocol.messages import Direction, Frame, Message, Request
from mcpmock.protocol.raw_json import members
from mcpmock.protocol.reassembly import Reassembly

_LONG = 1000
"""Bytes beyond which an id, a token and the params of a request are not kept."""
_KEPT = {"_meta", "task"}
_LONGEST, _MOST = 4 << 20, 16
"""Bytes of a message in pieces, and how many of these there may be at a time."""


def slim(message: Message) -> Message:
    """What is kept of a request as long as it is open: its arguments may be megabytes."""
    if not isinstance(message, Request) or len(message.params or b"") <= _LONG:
        return message
    kept = {name: raw for name, raw in _members(message).items() if len(raw) <= _LONG}
    params = b",".join(b'"%b":%b' % (name.encode(), raw) for name, raw in kept.items())
    return Request(message.id, message.method, b"{%b}" % params)


def too_long(message: Message) -> bool:
    """Whether not even its id and its `_meta` can be kept: what belongs to it will not be known."""
    if len(getattr(message, "id", None) or b"") > _LONG:
        return True
    if not isinstance(message, Request) or len(message.params or b"") <= _LONG:
        return False
    return any(len(raw) > _LONG for raw in _members(message).values())


def _members(request: Request) -> dict[str, bytes]:
    """Of the params, those that rules ask for later."""
    raw = request.params or b""
    spans = members(raw) or {}
    return {name: raw[slice(*spans[name])] for name in _KEPT & spans.keys()}


@attrs.define
class IncompleteMessages:
    """Messages of which only pieces have come."""

    lost: bool = False
    """One was too long, or there were too many."""
    _reassembly: Reassembly = attrs.field(factory=lambda: Reassembly(_LONGEST))

    def whole(self, frame: Frame) -> Frame | None:
        """The message that this piece is the last of."""
        if not self._reassembly.has_begun(frame) and len(self._reassembly) >= _MOST:
            self.lost = True
            return None
        whole = self._reassembly.add(frame)
        if whole is None:
            return None
        self.lost |= whole.too_long
        return None if whole.too_long else whole.frame

    def forget(self, exchange: int) -> None:
        """What has not come by the end of its exchange will not."""
        for way in Direction:
            self._reassembly.cut(way, exchange)
