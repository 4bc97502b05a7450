"""What happens to a transport besides messages: the facts that a `Frame` can carry.

Stdio has the first four, HTTP the others. An end that has no use for a fact ignores it; an end that
lacks one makes it up. What the facts of one HTTP exchange are, and in which order, is written at
`HttpRequest`. `messages` stands above and makes them part of `Content`.
"""

from __future__ import annotations

import msgspec

Headers = list[tuple[str, str]]
"""Header fields as sent: names with their case, order and repetitions kept."""
SESSION_HEADER = "Mcp-Session-Id"
"""2025-03-26 to 2025-11-25; the last of them spells it `MCP-Session-Id`, and names have no case."""
PROTOCOL_VERSION_HEADER = "MCP-Protocol-Version"
"""From 2025-06-18 on."""
METHOD_HEADER, NAME_HEADER = "Mcp-Method", "Mcp-Name"
"""From 2026-07-28 on: they repeat what the body says, for proxies that route by the head alone."""
LAST_EVENT_ID_HEADER = "Last-Event-ID"
"""Of a GET that resumes an event stream (WHATWG HTML, 9.2; MCP 2025-03-26 to 2025-11-25)."""
_WITH_BODY = {"POST", "PUT", "PATCH"}


class Fragment(msgspec.Struct, frozen=True, gc=False):
    """A piece of a line too long to hold; the piece with `last` ends it. Pieces are forwarded as
    they come.
    """

    last: bool = False


class Stderr(msgspec.Struct, frozen=True, gc=False):
    """`raw` holds what the server wrote to standard error in one go."""


class StreamEnd(msgspec.Struct, frozen=True, gc=False):
    """Nothing more comes from this direction's sender: `eof`, `closed` (it went away) or
    `reset`.
    """

    how: str = "eof"


class ProcessExit(msgspec.Struct, frozen=True, gc=False):
    """The server process ended: with an exit `code`, or by a `signal`."""

    code: int | None = None
    signal: int | None = None

    @property
    def status(self) -> int:
        """As a shell counts: the code, or 128 + the signal's number."""
        return 128 + self.signal if self.signal is not None else self.code or 0


def header(headers: Headers, name: str) -> str | None:
    """The value of the first field of this name (any case), without white space around it; None
    where there is none.
    """
    name = name.lower()
    for field, value in headers:
        if field.lower() == name:
            return value.strip(" \t")
    return None


NO_SESSION = 1
"""The number of the conversation of all exchanges that belong to no session, over HTTP; and so of
the session that a cassette notes them in.
"""


class HttpRequest(msgspec.Struct, frozen=True, gc=False):
    """The head of an HTTP request.

    An exchange is numbered by the frame's `exchange`. Its frames, in this order:

    * to the server `HttpRequest`; then, if `has_body`, the body: one message frame (also of zero
      bytes), one `HttpBody` (a long one in pieces, all but the last with `more`), or a message in
      `Fragment` pieces; and `ExchangeEnd` only if the client goes away before the response is
      over.
    * to the client `HttpResponse`; then the body: one message frame or its pieces (JSON), any
      number of `SseMeta` and message frames (an event stream), any number of `HttpBody` (the rest);
      then `ExchangeEnd`, always, unless the client went away. Nothing comes behind it.
    """

    method: str
    target: str
    headers: Headers

    def header(self, name: str) -> str | None:
        return header(self.headers, name)

    @property
    def path(self) -> str:
        """The target without its query."""
        return self.target.partition("?")[0]

    @property
    def has_body(self) -> bool:
        """Whether the frames of a body follow, be it of zero bytes."""
        length = self.header("content-length")
        sized = length is not None and length != "0"
        return self.method in _WITH_BODY or sized or self.header("transfer-encoding") is not None


class HttpResponse(msgspec.Struct, frozen=True, gc=False):
    """The head of an HTTP response."""

    status: int
    reason: str
    headers: Headers

    def header(self, name: str) -> str | None:
        return header(self.headers, name)

    @property
    def media_type(self) -> str:
        """`application/json`, `text/event-stream`, ...; empty where nothing is said."""
        return (self.header("content-type") or "").partition(";")[0].strip().lower()


class HttpBody(msgspec.Struct, frozen=True, gc=False):
    """`raw` holds (a piece of) a body that is not MCP: an error page, an OAuth answer.

    What is `unkept` passes and is never recorded: the bodies of exchanges that are none of MCP's,
    and what is beyond the bound of the others. `more`: the next piece of a request's body follows.
    `unframed`: it is written as it is, in no chunk; only faults want that.
    """

    unkept: bool = False
    more: bool = False
    unframed: bool = False


class SseMeta(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """What a server-sent event carried besides its data. The data, if any, is the message frame
    that follows directly.

    An event that has nothing but data needs none; behind one that has no data it gets an empty one,
    to tell them apart.
    """

    id: str | None = None
    event: str | None = None
    retry: int | None = None
    comment: str | None = None


class ExchangeEnd(msgspec.Struct, frozen=True, gc=False):
    """An HTTP exchange is over: `eof`, `closed` or `reset`."""

    how: str = "eof"


Fact = (
    Fragment
    | Stderr
    | StreamEnd
    | ProcessExit
    | HttpRequest
    | HttpResponse
    | HttpBody
    | SseMeta
    | ExchangeEnd
)
