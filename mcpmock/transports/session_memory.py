"""What a client has told and asked a session, for another one in its place: the server has
forgotten it or was started anew, and the client is not to notice.

The client rules of Streamable HTTP and `server_restart` stand above: they send what this gives, and
swallow the answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import attrs
import msgspec

from mcpmock.protocol.correlation import CANCELLED, PROGRESS
from mcpmock.protocol.messages import (
    Message,
    Notification,
    Request,
    Response,
    decode,
    member,
)

MAX_KEPT_SUBSCRIPTIONS = 1000
"""How many subscriptions are made again."""
MAX_PAGES = 50
"""How many pages of a list are compared."""
_LISTS = {
    "tools/list": "notifications/tools/list_changed",
    "prompts/list": "notifications/prompts/list_changed",
    "resources/list": "notifications/resources/list_changed",
    "resources/templates/list": "notifications/resources/list_changed",
}
"""What tells a client that the answer to a method is another one now."""
_SET_LEVEL = "logging/setLevel"
_SUBSCRIBE, _UNSUBSCRIBE = "resources/subscribe", "resources/unsubscribe"
_NOT_COMPARED = ("nextCursor", "_meta")
_encode = msgspec.json.Encoder(order="sorted").encode


@attrs.frozen
class ListProbe:
    """The question whether a page of a list is what the client knows."""

    method: str
    page: int = 0
    params: Mapping[str, object] = attrs.field(factory=dict)

    @property
    def raw(self) -> bytes:
        """The request."""
        params = {"params": self.params} if self.params else {}
        id_ = f"mcpmock-{self.method}-{self.page}"
        return _encode({"jsonrpc": "2.0", "id": id_, "method": self.method, **params})


@attrs.define
class _KnownList:
    """A list as the client was given it."""

    params: Mapping[str, object]
    """What it asked with, besides the cursor: since 2026-07-28 each request has its `_meta`."""
    pages: list[bytes] = attrs.field(factory=list)


@attrs.define
class SessionMemory:
    """What has to be said again in another session. `handshake` is the request that began it,
    `initialize`; since 2026-07-28 there may be none.
    """

    handshake: bytes | None = None
    initialized: bytes | None = None
    _settings: dict[tuple[str, bytes | None], bytes] = attrs.field(factory=dict)
    """The latest level for logging, and the subscriptions, as they were asked for."""
    _lists: dict[str, _KnownList] = attrs.field(factory=dict)
    """By method."""

    def note_message(self, message: Message, raw: bytes) -> None:
        """Look at a message of the client."""
        match message:
            case Notification(method="notifications/initialized"):
                self.initialized = raw
            case Request(method=method) if method == _SET_LEVEL:
                self._settings[method, None] = raw
            case Request(method=method, params=params) if method == _SUBSCRIBE:
                if len(self._settings) < MAX_KEPT_SUBSCRIPTIONS:
                    self._settings[method, member(params, "uri")] = raw
            case Request(method=method, params=params) if method == _UNSUBSCRIBE:
                self._settings.pop((_SUBSCRIBE, member(params, "uri")), None)
            case _:
                pass

    def note_answer(self, asked: Message | None, answer: Message) -> None:
        """Look at the answer to a request of the client."""
        if not isinstance(asked, Request) or asked.method not in _LISTS:
            return
        if not isinstance(answer, Response) or answer.result is None:
            return
        if member(asked.params, "cursor") in (None, b"null"):
            self._lists[asked.method] = _KnownList(_params_of(asked))
        known = self._lists.get(asked.method)
        if known is not None and len(known.pages) < MAX_PAGES:
            known.pages.append(_page(answer.result))

    @property
    def settings(self) -> Sequence[bytes]:
        """The requests that the other session begins with."""
        return [*self._settings.values()]

    def probes(self) -> Iterator[ListProbe]:
        """Yield a question for each list that the client knows."""
        for method, known in self._lists.items():
            yield ListProbe(method, params=known.params)

    def compare(self, probe: ListProbe, answer: Message) -> ListProbe | bytes | None:
        """Return what the answer to a probe leads to: the next question, the notification for
        the client where the list is another one, or nothing where it is not.
        """
        result = answer.result if isinstance(answer, Response) else None
        known, here = self._lists.get(probe.method), probe.page
        if known is None or here >= len(known.pages):
            return None  # the client has begun anew, or asked for the list again meanwhile
        cursor = None if result is None else decode(member(result, "nextCursor") or b"null")
        goes_on = here + 1 < len(known.pages)
        if result is None or _page(result) != known.pages[here] or (goes_on and cursor is None):
            return _encode({"jsonrpc": "2.0", "method": _LISTS[probe.method]})
        params = {**known.params, "cursor": cursor}
        return ListProbe(probe.method, here + 1, params) if goes_on else None


def is_sent_again(message: Message) -> bool:
    """Return whether a message that a forgotten session refused means something in another one: not
    what belongs to a request of the old one.
    """
    if isinstance(message, Notification):
        return message.method not in (CANCELLED, PROGRESS, "notifications/initialized")
    return not isinstance(message, Response)


def _params_of(asked: Request) -> Mapping[str, object]:
    params = decode(asked.params or b"null")
    if not isinstance(params, dict):
        return {}
    meta = params.get("_meta")
    if isinstance(meta, dict):  # its progress is reported to the client
        params["_meta"] = {name: one for name, one in meta.items() if name != "progressToken"}
    return {name: one for name, one in params.items() if name != "cursor" and one != {}}


def _page(result: bytes) -> bytes:
    """Return what of a page is compared: a cursor may be another one for the same list."""
    value = decode(result)
    if not isinstance(value, dict):
        return result
    return _encode({name: one for name, one in value.items() if name not in _NOT_COMPARED})
