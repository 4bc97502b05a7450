"""`RequestAssembly`: puts the frames of one live client together to whole messages, and knows which
of its exchanges are open.

Over stdio a frame is a message as it comes, a long line when its last piece came. Over HTTP a
request is whole when its body is, and its head belongs to it. Used by `playback.player`.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from mcpmock.protocol.messages import (
    C2S,
    Batch,
    Content,
    ExchangeEnd,
    Fragment,
    Frame,
    HttpBody,
    HttpRequest,
    HttpResponse,
    Notification,
    Request,
    Response,
    parse_items,
)
from mcpmock.protocol.reassembly import Reassembly

from .header_profile import SESSION, session_parameter
from .request_key import BY_METHOD_ALONE, MatchSubject, match_subject


@attrs.define(eq=False, repr=False)
class ClientMessage:
    """What the live client sent: a message, with its head over HTTP, or a request without a body,
    whose `frame` is the head.
    """

    frame: Frame
    head: HttpRequest | None = None
    size: int = 0
    """How long it is, where it is too long to be parsed; `frame` then holds its beginning."""

    content: Content = attrs.field(init=False)
    name: str = attrs.field(init=False, default="noise")
    """What it is called in notes and misses: of a request or notification the method."""
    requests: Sequence[Request] = attrs.field(init=False, default=())
    """The requests in it: of a batch there may be several."""
    _subject: MatchSubject | None = attrs.field(init=False, default=None)

    def __attrs_post_init__(self) -> None:
        content = self.content = self.frame.content
        if isinstance(content, (Request, Notification)):
            self.name = content.method
            self.requests = (content,) if isinstance(content, Request) else ()
        elif isinstance(content, HttpRequest):
            self.name = f"{content.method} {content.path}"
        elif isinstance(content, Response):
            self.name = "response"
        elif isinstance(content, Batch):
            items = parse_items(self.frame.raw)
            self.requests = [item for item in items if isinstance(item, Request)]

    @property
    def exchange(self) -> int | None:
        return self.frame.exchange

    @property
    def subject(self) -> MatchSubject | None:
        """What it asks, for matching; None for what is matched otherwise."""
        if self._subject is None:  # `cached_property` takes a lock: 1 us
            self._subject = match_subject(self.frame, self.head)
        return self._subject

    @property
    def is_handshake(self) -> bool:
        """Whether the recorded request that it stands for need not be equal, only near."""
        return self.name in BY_METHOD_ALONE

    @property
    def ids(self) -> list[bytes]:
        """The ids of the requests in it."""
        return [request.id for request in self.requests]

    @property
    def names_session(self) -> bool:
        """Whether its head says which session is meant."""
        head = self.head
        return head is not None and (head.header(SESSION) or session_parameter(head)) is not None

    @property
    def ends_session(self) -> bool:
        """Whether the client says that its session is over."""
        return self.head is not None and self.head.method == "DELETE"

    @property
    def is_posted(self) -> bool:
        """Whether it is a message where a server takes one: the body of a POST, or no HTTP."""
        if isinstance(self.frame.fact, HttpRequest):
            return False
        return self.head is None or self.head.method == "POST"


@attrs.define(eq=False, repr=False)
class RequestAssembly:
    """What one live client has under way."""

    open: set[int] = attrs.field(factory=set)
    """The exchanges on which something may still be sent."""
    headed: set[int] = attrs.field(factory=set)
    """Those of them whose response head was sent."""
    paths: set[str] = attrs.field(factory=set)
    """Where messages were posted."""
    _heads: dict[int, HttpRequest] = attrs.field(factory=dict)
    """The request heads whose bodies are still to come."""
    _reassembly: Reassembly = attrs.field(factory=Reassembly)
    _on_http: bool = False

    def add(self, frame: Frame) -> ClientMessage | None:
        """Take the next frame and give the message that is whole with it. The end of an exchange
        is given after the exchange is closed here.
        """
        exchange, fact = frame.exchange, frame.fact
        if isinstance(fact, Fragment):
            whole = self._reassembly.add(frame)
            if whole is None:
                return None
            head = self.take_head(exchange)
            return ClientMessage(whole.frame, head, whole.size if whole.too_long else 0)
        if exchange is None:
            return ClientMessage(frame)
        if isinstance(fact, HttpRequest):
            self._on_http = True
            self.open.add(exchange)
            if not fact.has_body:
                return ClientMessage(frame, fact)
            self._heads[exchange] = fact
            return None
        if isinstance(fact, ExchangeEnd):
            self._close(exchange)
            self._heads.pop(exchange, None)
            self._reassembly.cut(C2S, exchange)
            return ClientMessage(frame)
        if isinstance(fact, HttpBody):
            head = self._heads.pop(exchange, None)
            without = Frame(C2S, fact=head, exchange=exchange)
            return None if head is None else ClientMessage(without, head)
        return ClientMessage(frame, self.take_head(exchange))

    def sendable(self, frames: list[Frame]) -> list[Frame]:
        """Return the frames without those on exchanges that are over, and without second heads."""
        if not self._on_http:
            return frames
        return [frame for frame in frames if frame.exchange is None or self._may_send(frame)]

    def head(self, exchange: int) -> HttpRequest | None:
        """Return the head of a request whose body is still to come."""
        return self._heads.get(exchange)

    def take_head(self, exchange: int | None) -> HttpRequest | None:
        """Return the head of an exchange whose message is whole: messages are posted there."""
        head = None if exchange is None else self._heads.pop(exchange, None)
        if head is not None:
            self.paths.add(head.path)
        return head

    def _close(self, exchange: int) -> None:
        self.open.discard(exchange)
        self.headed.discard(exchange)

    def _may_send(self, frame: Frame) -> bool:
        exchange = frame.exchange
        if exchange is None or exchange not in self.open:
            return False
        if isinstance(frame.fact, HttpResponse):
            # A candidate that takes over may have a head of its own for this exchange.
            if exchange in self.headed:
                return False
            self.headed.add(exchange)
        if isinstance(frame.fact, ExchangeEnd):
            self._close(exchange)
        return True
