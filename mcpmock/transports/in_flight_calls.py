"""Many callers, one server: whose request is whose, and ids that two of them use at once.

Over HTTP each exchange has its own ids, as has each server that takes the place of another;
what answers them has but one space for them. So an id or a progress token that is still in
flight is replaced on the way on by a fresh one, and put back, by path and never by text, in what
comes back. All others stay as they are, byte for byte. Used by `streamable_http` and
`server_restart`; it knows nothing of HTTP.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal, InvalidOperation
from typing import Literal

import attrs

from mcpmock.protocol.correlation import CANCELLED, PROGRESS, SUBSCRIPTION_PATH, TOKEN_PATH
from mcpmock.protocol.messages import (
    Message,
    Notification,
    Request,
    Response,
    decode,
    member,
    number_meant,
    parse,
)
from mcpmock.protocol.raw_json import elements, locate, splice

MAX_CALLS = 10_000
"""How many calls are remembered; beyond, the oldest is forgotten."""
_ID_PATHS = (
    ("id",),
    ("params", "requestId"),
    ("params", *SUBSCRIPTION_PATH),
    ("result", *SUBSCRIPTION_PATH),
)
_REQUEST_TOKEN = ("params", *TOKEN_PATH)
_PROGRESS_TOKEN = ("params", "progressToken")
_Key = tuple[Literal["id", "token"], str | Decimal | bytes]


@attrs.define(eq=False)
class InFlightCall:
    """A request on its way. What its caller wrote, and what went on instead of it."""

    exchange: int
    method: str
    id: bytes
    sent: bytes
    token: bytes | None = None
    sent_token: bytes | None = None


@attrs.define
class InFlightCalls:
    """The calls without an answer, oldest first."""

    _calls: dict[_Key, InFlightCall] = attrs.field(factory=dict)
    _fresh: int = 0

    def ask(self, exchange: int, raw: bytes) -> tuple[bytes, list[InFlightCall]]:
        """Note a message with requests that goes on: what goes on, and the calls in it."""
        spans = elements(raw)
        if spans is None:
            raw, call = self._ask_one(exchange, raw)
            return raw, [call] if call else []
        asked = [(span, self._ask_one(exchange, raw[span.start : span.end])) for span in spans]
        calls = [call for _, (_, call) in asked if call is not None]
        return splice(raw, ((span, item) for span, (item, _) in asked)), calls

    def of(self, message: Message, *, cancels: bool) -> InFlightCall | None:
        """Return the call that a message of the server belongs to. `cancels`: its cancels name
        calls of the client's, as in the modern era, where the server has none of its own.
        """
        match message:
            case Response(id=id_):
                id_ = id_ or b"null"
                return self._find("id", id_) or self._find("id", number_meant(id_))
            case Notification(method, params) if method == PROGRESS:
                return self._find("token", member(params, "progressToken"))
            case Notification(method, params) if method == CANCELLED and cancels:
                return self._find("id", member(params, "requestId"))
            case Notification(params=params):
                return self._find("id", member(params, *SUBSCRIPTION_PATH))
            case _:
                return None

    def meant(self, id_: bytes) -> list[InFlightCall]:
        """Return the calls whose callers gave them this id."""
        key = _key("id", id_)
        return [c for k, c in self._calls.items() if k[0] == "id" and _key("id", c.id) == key]

    def of_exchange(self, exchange: int) -> list[InFlightCall]:
        """Return the calls that came on this exchange, oldest first."""
        return [c for k, c in self._calls.items() if k[0] == "id" and c.exchange == exchange]

    def put_back(self, raw: bytes, call: InFlightCall) -> bytes:
        """Return a message of the server's in the words of the call's own caller."""
        replaced: list[tuple[Iterable[tuple[str, ...]], bytes, bytes]] = []
        if call.sent != call.id:
            replaced.append((_ID_PATHS, call.sent, call.id))
        if call.token is not None and call.sent_token is not None and call.token != call.sent_token:
            replaced.append(((_PROGRESS_TOKEN,), call.sent_token, call.token))
        spans = [
            (span, own)
            for paths, sent, own in replaced
            for path in paths
            if (span := locate(raw, path)) is not None and raw[slice(*span)] == sent
        ]
        return splice(raw, spans)

    def forget(self, call: InFlightCall) -> None:
        """Forget a call that is answered, or cannot be any more."""
        for key in (_key("id", call.sent), _key("token", call.sent_token)):
            if self._calls.get(key) is call:
                del self._calls[key]

    def _ask_one(self, exchange: int, raw: bytes) -> tuple[bytes, InFlightCall | None]:
        message = parse(raw)
        if not isinstance(message, Request):
            return raw, None
        call = InFlightCall(exchange, message.method, message.id, message.id)
        call.token = call.sent_token = member(message.params, *TOKEN_PATH)
        spans = []
        if self._taken("id", call.id) and (span := locate(raw, ("id",))) is not None:
            call.sent = self._mint()
            spans.append((span, call.sent))
        if (
            call.token is not None
            and self._taken("token", call.token)
            and (span := locate(raw, _REQUEST_TOKEN)) is not None
        ):
            call.sent_token = self._mint()
            spans.append((span, call.sent_token))
        self._remember(call)
        return splice(raw, spans), call

    def _remember(self, call: InFlightCall) -> None:
        self._calls[_key("id", call.sent)] = call
        if call.sent_token is not None:
            self._calls[_key("token", call.sent_token)] = call
        if len(self._calls) > MAX_CALLS:
            self.forget(next(iter(self._calls.values())))

    def _taken(self, space: Literal["id", "token"], spelled: bytes) -> bool:
        return _key(space, spelled) in self._calls

    def _mint(self) -> bytes:
        while True:
            self._fresh += 1
            fresh = b'"mcpmock-%d"' % self._fresh
            if not ({_key("id", fresh), _key("token", fresh)} & self._calls.keys()):
                return fresh

    def _find(self, space: Literal["id", "token"], spelled: bytes | None) -> InFlightCall | None:
        return None if spelled is None else self._calls.get(_key(space, spelled))


def _key(space: Literal["id", "token"], spelled: bytes | None) -> _Key:
    """Take all spellings for one: peers answer `1` to `1.0`, and `"a"` to `"\\u0061"`."""
    if spelled is None:
        return space, b""
    if spelled[:1] == b'"':
        text = decode(spelled)
        return space, text if isinstance(text, str) else spelled
    try:
        number = Decimal(spelled.decode())
    except (InvalidOperation, UnicodeDecodeError):
        return space, spelled
    return space, number if number.is_finite() else spelled
