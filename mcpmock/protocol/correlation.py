"""Who awaits what in one session, as pure state: each message goes in, and out comes what it
belongs to.

`Correlation.note` is given every message of a session in order and says which request a response
answers, which call a progress notification reports on, what is cancelled, and whether it comes
late. It never refuses: real peers answer twice, never, late and with ids nobody used. It holds only
what is still open (of very many the newest) plus a short memory of what was closed.

Used by whoever needs more than one message at a time: replay (who waits for whom), `show`, the
protocol's rules.
"""

from __future__ import annotations

from collections import OrderedDict

import attrs

from .messages import C2S, Direction, Message, Notification, Request, Response, member, same_id

PROGRESS = "notifications/progress"
CANCELLED = "notifications/cancelled"
TOKEN_PATH = ("_meta", "progressToken")
SUBSCRIPTION_PATH = ("_meta", "io.modelcontextprotocol/subscriptionId")
_REMEMBERED = 1000
_MOST_OPEN = 100_000


@attrs.frozen
class PendingCall:
    """A request that was made: `index` is the caller's number for the message that made it."""

    index: int
    direction: Direction
    request: Request
    token: bytes | None
    """The progress token it gave, as spelled."""


@attrs.frozen
class Attribution:
    """What one message belongs to."""

    method: str | None = None
    """Its own method; of a response the method it answers."""
    call: PendingCall | None = None
    """The request it answers, reports on, cancels or (a request) is."""
    late: bool = False
    """It answers or reports on a request that was already answered or cancelled."""


@attrs.define
class Correlation:
    """The open and lately closed calls of both directions: client id 1 and server id 1 are
    different calls.
    """

    _open: dict[tuple[Direction, bytes], PendingCall] = attrs.field(factory=dict)
    _closed: OrderedDict[tuple[Direction, bytes], PendingCall] = attrs.field(factory=OrderedDict)
    _tokens: dict[tuple[Direction, bytes], PendingCall] = attrs.field(factory=dict)

    def note(self, direction: Direction, message: Message, index: int) -> Attribution:
        """Takes in the next message, numbered `index` by the caller, and says what it
        belongs to.
        """
        match message:
            case Request():
                return self._note_request(direction, message, index)
            case Response():
                return self._note_response(direction, message)
            case Notification():
                return self._note_notification(direction, message)
            case _:
                return Attribution()

    def open_call(self, direction: Direction, id_: bytes) -> PendingCall | None:
        """The request of this very id, sent this way, if nobody has answered or cancelled it."""
        return self._open.get((direction, id_))

    def open_calls(self, direction: Direction) -> list[PendingCall]:
        """The requests sent this way that nobody has answered or cancelled, oldest first."""
        return [call for (way, _), call in self._open.items() if way is direction]

    def _note_request(self, direction: Direction, request: Request, index: int) -> Attribution:
        token = member(request.params, *TOKEN_PATH)
        call = PendingCall(index, direction, request, token)
        self._open[direction, request.id] = call
        if len(self._open) > _MOST_OPEN:
            self._forget(self._open.pop(next(iter(self._open))))
        if token is not None:
            self._tokens[direction, token] = call
        return Attribution(request.method, call)

    def _note_response(self, direction: Direction, response: Response) -> Attribution:
        if response.id is None:
            return Attribution()
        asked = direction.back
        call = self._find(self._open, asked, response.id)
        if call is not None:
            self._close(call)
            return Attribution(call.request.method, call)
        call = self._find(self._closed, asked, response.id)
        return Attribution(call.request.method if call else None, call, late=True)

    def _note_notification(self, direction: Direction, notification: Notification) -> Attribution:
        call = None
        if notification.method == PROGRESS:
            token = member(notification.params, "progressToken")
            call = None if token is None else self._tokens.get((direction.back, token))
            late = call is not None and (call.direction, call.request.id) not in self._open
            return Attribution(notification.method, call, late)
        if notification.method == CANCELLED:
            call = self._cancelled(direction, member(notification.params, "requestId"))
        elif (tag := member(notification.params, *SUBSCRIPTION_PATH)) is not None:
            call = self._find(self._open, C2S, tag)
        return Attribution(notification.method, call)

    def _cancelled(self, direction: Direction, id_: bytes | None) -> PendingCall | None:
        """A side cancels its own requests; the server of 2026-07-28 also ends a client's listen
        that way.
        """
        if id_ is None:
            return None
        call = self._find(self._open, direction, id_)
        if call is not None:
            self._close(call)
            return call
        return self._find(self._open, direction.back, id_) or self._find(
            self._closed, direction, id_
        )

    def _find(
        self, calls: dict[tuple[Direction, bytes], PendingCall], direction: Direction, id_: bytes
    ) -> PendingCall | None:
        """By spelling first; else by meaning, for peers that answer `1` to `1.0`."""
        call = calls.get((direction, id_))
        if call is None:
            alike = (c for (way, key), c in calls.items() if way is direction and same_id(key, id_))
            call = next(alike, None)
        return call

    def _close(self, call: PendingCall) -> None:
        key = (call.direction, call.request.id)
        del self._open[key]
        self._closed.pop(key, None)
        self._closed[key] = call
        if len(self._closed) > _REMEMBERED:
            self._forget(self._closed.popitem(last=False)[1])

    def _forget(self, call: PendingCall) -> None:
        """Its token too, unless a later call was given the same."""
        token = (call.direction, call.token or b"")
        if self._tokens.get(token) is call:
            del self._tokens[token]
