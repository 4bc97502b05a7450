"""Which conversation an HTTP exchange belongs to.

HTTP has no conversations, MCP does: a session (Streamable HTTP) or an event stream (HTTP+SSE). Each
gets a number and a channel of its own, so that two clients with the same ids never see each other's
answers. Conversation 1 is all that belongs to none: revisions without sessions, unknown sessions,
other paths. Nothing here answers or refuses anything; the listener in `channels/` stands above.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from enum import Enum

import attrs

from mcpmock.lazy_pattern import lazy_pattern
from mcpmock.protocol.messages import (
    Batch,
    ExchangeEnd,
    Frame,
    HttpRequest,
    HttpResponse,
    Message,
    Request,
    SseMeta,
    parse,
    parse_items,
)
from mcpmock.protocol.transport_facts import NO_SESSION, SESSION_HEADER, plain_path

from .headers import path_and_query
from .locations import MAX_REDIRECTS, leads_here

MAX_SESSIONS = 10_000
"""How many sessions are known at the same time; the oldest is forgotten for a new one."""
_OPENING = lazy_pattern(rb'"method"\s*:\s*"initialize"')


class TransportKind(Enum):
    """The two transports over HTTP; the values are those of the cassette's `transport`."""

    STREAMABLE_HTTP = "streamable-http"
    SSE = "sse"


@attrs.define(eq=False, repr=False)
class SessionRouter:
    """What one listener knows of its conversations. `path` is where MCP is spoken; one slash more
    or less at its end makes no difference, as servers redirect from one to the other.
    """

    kind: TransportKind
    path: str
    remembered: int = MAX_SESSIONS
    posts: Collection[str] = ()
    """Where messages are posted to, as far as that is known before an endpoint event says so."""
    same_path: Callable[[str], object] | None = None
    """Says whether a path is this one where the recorded one has placeholders."""
    sessions: bool = True
    """Whether an `initialize` opens a session; without, all exchanges are one conversation."""
    _last: int = attrs.field(default=NO_SESSION, init=False)
    _known: dict[str, int] = attrs.field(factory=dict, init=False)
    """Session ids, or the targets of endpoint events, oldest first."""
    _paths: dict[str, int] = attrs.field(factory=dict, init=False)
    """The paths of those targets, and how many have each."""
    _moved: set[str] = attrs.field(factory=set, init=False)
    """The paths that redirects lead to, without a slash at their end."""
    _naming: set[int] = attrs.field(factory=set, init=False)
    """Conversations whose next message is the data of an endpoint event."""

    def is_mcp(self, head: HttpRequest) -> bool:
        """Return whether the request goes to where MCP is spoken."""
        return self._is_path(head.path) or head.path in self._paths or head.path in self.posts

    def conversation(self, head: HttpRequest, body: bytes, *, whole: bool = True) -> int:
        """Return the conversation of an exchange that begins so; a new number if it opens one.
        `body` is the whole body or its first piece.
        """
        if self.kind is TransportKind.SSE:
            if head.method == "GET" and self._is_path(head.path):
                return self._begin()
            return self._known.get(head.target, NO_SESSION) if head.method == "POST" else NO_SESSION
        if not self._is_path(head.path):
            return NO_SESSION
        if session := head.header(SESSION_HEADER):
            return self._known.get(session, NO_SESSION)
        opens = self.sessions and head.method == "POST" and _is_initialize(body, whole=whole)
        return self._begin() if opens else NO_SESSION

    def learn(self, conversation: int, frames: Sequence[Frame]) -> bool:
        """Look at what goes to the client for what names the conversation: a session id, or an
        endpoint. True if it found a name.
        """
        if conversation == NO_SESSION:
            return False
        if self.kind is TransportKind.SSE:
            return self._learn_endpoint(conversation, frames)
        named = False
        for frame in frames:
            fact = frame.fact
            if type(fact) is HttpResponse and (session := fact.header(SESSION_HEADER)):
                self._remember(session, conversation)
                named = True
        return named

    def learn_redirect(self, head: HttpRequest, answer: HttpResponse) -> None:
        """Look at the answer to a request for a redirect from where MCP is spoken to another path
        of ours: it is spoken there too.
        """
        path = leads_here(answer, head)
        if path is None or self._is_path(path) or not self._is_path(head.path):
            return
        if len(self._moved) < MAX_REDIRECTS:
            self._moved.add(plain_path(path))

    def ends_session(self, head: HttpRequest, answer: Sequence[Frame]) -> bool:
        """Return whether this answer to a DELETE says that its session has ended."""
        first = answer[0].fact
        deletes = head.method == "DELETE" and head.header(SESSION_HEADER) is not None
        return deletes and type(first) is HttpResponse and 200 <= first.status < 300

    def _learn_endpoint(self, conversation: int, frames: Sequence[Frame]) -> bool:
        named = False
        for frame in frames:
            fact = frame.fact
            if fact is None:
                if self._naming and conversation in self._naming:
                    self._naming.discard(conversation)
                    uri = frame.raw.decode("utf-8", "replace")
                    self._remember(path_and_query(uri, self.path), conversation)
                    named = True
            elif type(fact) is SseMeta and fact.event == "endpoint":
                self._naming.add(conversation)
            elif type(fact) is SseMeta or type(fact) is ExchangeEnd:
                self._naming.discard(conversation)
        return named

    def _begin(self) -> int:
        self._last += 1
        return self._last

    def _remember(self, name: str, conversation: int) -> None:
        """Remember a name. One given twice (servers that have but one) goes to the newest
        conversation, and stays there when an older one is heard again.
        """
        if self._known.get(name, NO_SESSION) >= conversation:
            return
        self._forget(name)
        if len(self._known) >= self.remembered:
            self._forget(next(iter(self._known)))
        self._known[name] = conversation
        if self.kind is TransportKind.SSE:
            path = name.partition("?")[0]
            self._paths[path] = self._paths.get(path, 0) + 1

    def _forget(self, name: str) -> None:
        path = name.partition("?")[0]
        if self._known.pop(name, None) is None or self.kind is not TransportKind.SSE:
            return
        self._paths[path] -= 1
        if not self._paths[path]:
            del self._paths[path]

    def _is_path(self, path: str) -> bool:
        if path == self.path:
            return True
        path = plain_path(path)
        moved = path in self._moved
        return (
            path == plain_path(self.path) or moved or bool(self.same_path and self.same_path(path))
        )


def _is_initialize(body: bytes, *, whole: bool) -> bool:
    if not whole:  # no decoder takes a piece
        return _OPENING.search(body) is not None
    message = parse(body)
    if type(message) is Batch:
        return any(_opens(item) for item in parse_items(body))
    return _opens(message)


def _opens(message: Message) -> bool:
    return type(message) is Request and message.method == "initialize"
