"""Events of a transport that are not messages: the facts that a `Frame` can carry.

stdio has the first five, HTTP the others. A channel ignores a fact that its transport cannot
express, and makes up one that its transport needs. `HttpRequest` describes the facts of an exchange
and their order.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Literal

import msgspec

Headers = list[tuple[str, str]]
"""Header fields as sent: names with their case, order and repetitions kept."""
SESSION_HEADER = "Mcp-Session-Id"
"""2025-03-26 to 2025-11-25 (which spells it `MCP-Session-Id`; field names are case-insensitive)."""
PROTOCOL_VERSION_HEADER = "MCP-Protocol-Version"
"""Since 2025-06-18."""
LAST_EVENT_ID_HEADER = "Last-Event-ID"
"""In a GET that resumes an event stream (WHATWG HTML, 9.2; MCP 2025-03-26 to 2025-11-25)."""
_WITH_BODY = {"POST", "PUT", "PATCH"}
REMEMBERED_HEADS = 128
"""Of how many heads it is remembered what was made of them. Clients and servers send the same ones
again and again; each may be long.
"""
_STOP_STATUSES = (128 + 1, 128 + 2, 128 + 15, 128 + 21, 0xC000013A)
"""Of SIGHUP, SIGINT and SIGTERM, which have these numbers on every machine, and of Ctrl-Break on
Windows: of a process that heeds it as mcpmock does, and of one that does not.
"""
_KILLED_STATUS = 128 + 9
REPEATING_STATUSES = {307, 308}
"""The redirects that keep method and body (RFC 9110, 15.4.8 and 15.4.9)."""
CHALLENGE_STATUSES = {401, 403}
"""With which OAuth asks for a token, or for a better one: the client sends its request again."""
RESENT_STATUSES = {*CHALLENGE_STATUSES, 408, 425, 429, 503}
"""Besides redirects, those after which a client sends its request again: with a token, or later
(RFC 9110, 15.5.9 and 15.6.4; RFC 8470, 5.2; RFC 6585, 4).
"""


class Fragment(msgspec.Struct, frozen=True, gc=False):
    """A piece of a message too long to hold, forwarded as it arrives. The last piece has `last`."""

    last: bool = False


class Stderr(msgspec.Struct, frozen=True, gc=False):
    """`raw` holds what one read from the server's standard error returned."""


class StreamEnd(msgspec.Struct, frozen=True, gc=False):
    """The sender of this direction has ended it: `eof`, `closed` (it went away) or `reset`."""

    how: str = "eof"


class StopSignal(msgspec.Struct, frozen=True, gc=False):
    """The client sent the server's process this signal. The input of the server stays open."""

    signal: int


class ProcessExit(msgspec.Struct, frozen=True, gc=False):
    """The server process ended: with an exit `code`, or by a `signal`."""

    code: int | None = None
    signal: int | None = None

    @property
    def status(self) -> int:
        """The exit status as shells report it: the code, or 128 + the signal's number."""
        return 128 + self.signal if self.signal is not None else self.code or 0

    @property
    def stopped(self) -> bool:
        """Whether a signal that asks a process to end has ended it, as its status says."""
        return self.status in _STOP_STATUSES

    @property
    def from_outside(self) -> bool:
        """Whether it was ended as a client ends it: SDKs close its input, wait, and stop or kill
        it.
        """
        return self.stopped or self.status == _KILLED_STATUS

    @property
    def failed(self) -> bool:
        """Whether it ended with an error, and not as a client ends it."""
        return self.status != 0 and not self.from_outside


NO_SESSION = 1
"""The session number of all HTTP exchanges without a session, in the cassette (`s`) too."""


def plain_path(path: str) -> str:
    """Return a path without doubled slashes, and without one at its end: clients join a base URL
    that ends in a slash and a path that begins with one.
    """
    while "//" in path:
        path = path.replace("//", "/")
    return path.rstrip("/")


class _Head:
    """What is asked of both heads. Nothing changes a head, so what was read of it is kept with it:
    an exchange asks for twenty fields, and the heads of one client are one value (`http1`).
    """

    headers: Headers

    def header(self, name: str) -> str | None:
        """Return the value of the first field of this name, in any case, without white space around
        it.
        """
        found = self._values.get(name.lower())
        return None if found is None else found[0]

    def values(self, name: str) -> Sequence[str]:
        """Return the values of all fields of this name, as `header` does."""
        return self._values.get(name.lower(), ())

    @cached_property
    def _values(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for name, value in self.headers:
            found.setdefault(name.lower(), []).append(value.strip(" \t"))
        return found

    @cached_property
    def _hash(self) -> int:
        return hash((*self.headers,))

    def __hash__(self) -> int:
        return self._hash


class HttpRequest(_Head, msgspec.Struct, frozen=True, dict=True):
    """The head of an HTTP request.

    The frames of an exchange have the same `exchange` and come in this order:

    * to the server, `HttpRequest`; then, if `has_body`, the body: one message frame (perhaps of
      zero bytes), one `HttpBody` (a long one in pieces, all but the last with `more`), or a message
      in `Fragment` pieces; and `ExchangeEnd` only if the client closes before the response is over.
    * to the client, `HttpResponse`; then the body: one message frame or its pieces (JSON), any
      number of `SseMeta` and message frames (an event stream), or any number of `HttpBody`
      (anything else); and `ExchangeEnd` last, unless the client has closed.
    """

    method: str
    target: str
    headers: Headers

    @cached_property
    def path(self) -> str:
        """The target without its query."""
        return self.target.partition("?")[0]

    @cached_property
    def has_body(self) -> bool:
        """Whether the frames of a body follow, perhaps of zero bytes."""
        length = self.header("content-length")
        sized = length is not None and length != "0"
        return self.method in _WITH_BODY or sized or self.header("transfer-encoding") is not None


class HttpResponse(_Head, msgspec.Struct, frozen=True, dict=True):
    """The head of an HTTP response."""

    status: int
    reason: str
    headers: Headers

    @property
    def repeats_request(self) -> bool:
        """Whether it says to send the same request again, somewhere else: nothing came of it."""
        return self.status in REPEATING_STATUSES

    @cached_property
    def media_type(self) -> str:
        """`application/json`, `text/event-stream`, ...; empty if there is no `Content-Type`."""
        return (self.header("content-type") or "").partition(";")[0].strip().lower()


class HttpBody(msgspec.Struct, frozen=True, gc=False):
    """`raw` holds a body that is not MCP, or a piece of one: an error page, an OAuth answer.

    `unkept`: it is forwarded and not recorded, because its exchange is not MCP's or the body
    exceeds the bound. `more`: another piece of the request's body follows. `unframed`: it is
    written as it is, without a chunk header, for faults. `undecoded`: the content codings that
    could not be decoded; such a body is forwarded, and is missing in a recording.
    """

    unkept: bool = False
    more: bool = False
    unframed: bool = False
    undecoded: str = ""


class SseMeta(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """The fields of a server-sent event besides its data, which is the message frame that follows.

    An event with data only has none, or an empty one if the event before it has no data: otherwise
    its data would be taken for that event's.
    """

    id: str | None = None
    event: str | None = None
    retry: int | None = None
    comment: str | None = None


class ExchangeEnd(msgspec.Struct, frozen=True, gc=False):
    """An HTTP exchange is over: `eof`, `closed` or `reset`."""

    how: str = "eof"


class RestartStep(msgspec.Struct, frozen=True, gc=False):
    """A step in the restart of a server, said between the end that has its processes and
    `transports.server_restart`; nothing else sees it. `text` says which files changed (`due`), or
    why there is no server (`failed`).
    """

    step: Literal["due", "begin", "started", "failed"]
    text: str = ""


Fact = (
    Fragment
    | Stderr
    | StreamEnd
    | StopSignal
    | ProcessExit
    | HttpRequest
    | HttpResponse
    | HttpBody
    | SseMeta
    | ExchangeEnd
    | RestartStep
)
