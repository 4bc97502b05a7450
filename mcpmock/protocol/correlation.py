"""Which call a message belongs to.

`Correlation` takes all messages of one id space in order. It keeps the open requests and a bounded
number of closed ones, and answers two questions:

* `note`: which request does this message *name*? A response names it by its id, progress by its
  token, a cancel by `requestId`, a notification of a subscription by its `subscriptionId`.
* `related`: which of the client's calls was a server message sent for? That is the call it names;
  else the call on whose HTTP exchange it came; else the only call that is open.

    >>> from mcpmock.protocol.messages import C2S, S2C, parse
    >>> calls = Correlation()
    >>> call = calls.note(C2S, parse(b'{"id":1,"method":"tools/call"}'), 0).call
    >>> question = parse(b'{"id":1,"method":"roots/list"}')  # the server's own id 1
    >>> asked = calls.note(S2C, question, 1)
    >>> asked.call.index, calls.related(question, asked) is call
    (1, True)
    >>> answer = calls.note(S2C, parse(b'{"id":1,"result":{}}'), 2)
    >>> answer.method, answer.call is call, answer.late
    ('tools/call', True, False)
    >>> calls.note(S2C, parse(b'{"id":1,"result":{}}'), 3).late  # a second answer
    True

No message is refused: real peers answer twice, never, late, and with ids that were never used.

A message costs one dictionary lookup, two on HTTP. Pure and bounded. An id is unique within a
session, and outside any session within one HTTP exchange: `id_space` is the key under which the
caller keeps its `Correlation`.
"""

from __future__ import annotations

import msgspec
from msgspec import Struct, field

from .id_table import IdTable
from .messages import (
    C2S,
    Direction,
    Message,
    Notification,
    Request,
    Response,
    answers_id,
    member,
    number_meant,
)
from .transport_facts import NO_SESSION

PROGRESS = "notifications/progress"
CANCELLED = "notifications/cancelled"
LISTEN = "subscriptions/listen"
"""The request that stays open, since 2026-07-28."""
TOKEN_PATH = ("_meta", "progressToken")
SUBSCRIPTION_PATH = ("_meta", "io.modelcontextprotocol/subscriptionId")
MAX_OPEN_CALLS = 100_000
MAX_CLOSED_CALLS = 1000


def id_space(session: int, exchange: int | None) -> tuple[int, int | None]:
    """Return the id space of a message: its session. Each exchange outside any session has its own:
    it may come from another client.
    """
    return session, exchange if session == NO_SESSION else None


# Structs, because one or two are made for every message: a frozen attrs class sets each field by
# object.__setattr__.
class PendingCall(msgspec.Struct, frozen=True, eq=False):
    """A request that was sent; `index` is the caller's number for its message."""

    index: int
    direction: Direction
    request: Request
    token: bytes | None = None
    """The progress token in it, as spelled."""
    exchange: int | None = None
    """The HTTP exchange that carried it."""
    within: PendingCall | None = None
    """For a server request, the client's call that it was sent for."""


class Attribution(msgspec.Struct, frozen=True):
    """What one message names."""

    method: str | None = None
    """Its own method; for a response, the method it answers."""
    call: PendingCall | None = None
    """The request that it answers, reports on or cancels; for a request, the request itself."""
    late: bool = False
    """It answers or reports on a request that was already answered or cancelled."""


_NAMES_NO_CALL = Attribution()
_ANSWERS_NO_CALL = Attribution(late=True)


class _Sender(Struct, eq=False):
    """The calls that one side made."""

    open: IdTable[PendingCall] = field(default_factory=IdTable)
    closed: IdTable[PendingCall] = field(default_factory=IdTable)
    by_token: IdTable[PendingCall] = field(default_factory=IdTable)
    by_exchange: dict[int, list[PendingCall]] = field(default_factory=dict)

    def add(self, call: PendingCall) -> None:
        self._forget(self.open.pop(call.request.id))
        self.open.set(call.request.id, call)
        if len(self.open) > MAX_OPEN_CALLS:
            self._forget(self.open.pop_oldest())
        if call.token is not None:
            self.by_token.set(call.token, call)
        if call.exchange is not None:
            self.by_exchange.setdefault(call.exchange, []).append(call)
            if len(self.by_exchange) > MAX_OPEN_CALLS:
                del self.by_exchange[next(iter(self.by_exchange))]

    def close(self, call: PendingCall) -> None:
        id_ = call.request.id
        self.open.pop(id_)
        self._forget(self.closed.pop(id_))
        self.closed.set(id_, call)
        if len(self.closed) > MAX_CLOSED_CALLS:
            self._forget(self.closed.pop_oldest())

    def _forget(self, call: PendingCall | None) -> None:
        """Remove the token of a call, unless a later call has the same."""
        token = None if call is None else call.token
        if token is not None and self.by_token.exact.get(token) is call:
            self.by_token.pop(token)


class Correlation(Struct, eq=False):
    """The open and the lately closed calls of both sides, in one id space."""

    # Each side numbers its own requests: the client's id 0 and the server's id 0 are regularly open
    # at the same time.
    _client: _Sender = field(default_factory=_Sender)
    _server: _Sender = field(default_factory=_Sender)

    def note(
        self, direction: Direction, message: Message, index: int, exchange: int | None = None
    ) -> Attribution:
        """Take the next message and return what it names. `index` is the caller's number for it,
        `exchange` the HTTP exchange that carries it, None where one stream carries everything.
        """
        match message:
            case Response():
                return self._note_response(self._sent(direction.back), message)
            case Notification():
                return self._note_notification(direction, message)
            case Request():
                return self._note_request(direction, message, index, exchange)
            case _:
                return _NAMES_NO_CALL

    def related(
        self,
        message: object,
        named: Attribution,
        exchange: int | None = None,
        *,
        guess: bool = True,
    ) -> PendingCall | None:
        """Return the client's call that a server message was sent for. `named` is what `note`
        returned.

        With `guess`, a message that neither names a call nor came on the exchange of one belongs to
        the only open call.
        """
        posted = self.posted(exchange)
        if posted and isinstance(message, Response) and message.id is not None:
            for own in posted:
                if answers_id(own.request.id, message.id):
                    return own
        call = named.call
        if call is not None:
            if call.direction is C2S:
                return call
            if named.method == CANCELLED:
                return call.within
        if posted:
            return posted[0]
        if isinstance(message, Response) or named.method in (PROGRESS, CANCELLED):
            return None  # it names a call that is not known
        # stdio and HTTP+SSE have one stream for all messages, so there is no other way to know. Of
        # the GET stream of Streamable HTTP 2025-11-25 says (basic/transports, "Listening for
        # Messages from the Server"): "These messages SHOULD be unrelated to any
        # concurrently-running JSON-RPC request from the client." Servers send related ones there
        # all the same, so a replay, which must not play them too early, guesses there too; a diff
        # does not.
        return self.only_open_call() if guess else None

    def posted(self, exchange: int | None) -> list[PendingCall]:
        """Return the client's requests that this HTTP exchange carried, answered or not."""
        return [] if exchange is None else self._client.by_exchange.get(exchange, [])

    def end_exchange(self, exchange: int) -> None:
        """Forget the requests of an exchange that has ended."""
        self._client.by_exchange.pop(exchange, None)

    def open_call(self, direction: Direction, id_: bytes) -> PendingCall | None:
        """Return the open request with exactly this id, sent this way."""
        return self._sent(direction).open.exact.get(id_)

    def open_calls(self, direction: Direction) -> list[PendingCall]:
        """Return the requests sent this way that are neither answered nor cancelled, oldest
        first.
        """
        return list(self._sent(direction).open.exact.values())

    def only_open_call(self) -> PendingCall | None:
        """Return the client's open call, if there is exactly one."""
        calls = self._client.open.exact
        return next(iter(calls.values())) if len(calls) == 1 else None

    def _sent(self, direction: Direction) -> _Sender:
        return self._client if direction is C2S else self._server

    def _note_request(
        self, direction: Direction, request: Request, index: int, exchange: int | None
    ) -> Attribution:
        token = member(request.params, *TOKEN_PATH)
        carried = exchange if direction is C2S else None
        within = None if direction is C2S else self.related(request, _NAMES_NO_CALL, exchange)
        call = PendingCall(index, direction, request, token, carried, within)
        self._sent(direction).add(call)
        return Attribution(request.method, call)

    def _note_response(self, requester: _Sender, response: Response) -> Attribution:
        id_ = response.id
        if id_ is None:
            return _NAMES_NO_CALL
        while id_ is not None:
            call = requester.open.find(id_)
            if call is not None:
                requester.close(call)
                return Attribution(call.request.method, call)
            call = requester.closed.find(id_)
            if call is not None:
                return Attribution(call.request.method, call, True)
            id_ = number_meant(id_)
        return _ANSWERS_NO_CALL

    def _note_notification(self, direction: Direction, notification: Notification) -> Attribution:
        call = None
        if notification.method == PROGRESS:
            token = member(notification.params, "progressToken")
            requester = self._sent(direction.back)
            call = None if token is None else requester.by_token.find(token)
            late = call is not None and call.request.id not in requester.open.exact
            return Attribution(notification.method, call, late)
        if notification.method == CANCELLED:
            call = self._cancelled(direction, member(notification.params, "requestId"))
        elif (subscription := member(notification.params, *SUBSCRIPTION_PATH)) is not None:
            call = self._client.open.find(subscription)
        return Attribution(notification.method, call)

    def _cancelled(self, direction: Direction, id_: bytes | None) -> PendingCall | None:
        if id_ is None:
            return None
        own = self._sent(direction)
        call = own.open.find(id_)
        if call is not None:
            own.close(call)
            return call
        # A side cancels its own requests, and in 2026-07-28 the server also a client's
        # `subscriptions/listen`. That stays open: of its end the Cancellation page says that the
        # server MUST send `notifications/cancelled`, the Subscriptions page that it SHOULD answer.
        other = self._sent(direction.back)
        return other.open.find(id_) or own.closed.find(id_)
