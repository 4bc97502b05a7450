"""`ReplyFlattener`: the messages in the HTTP reply to one POST, or in the stream of one GET, as
stdio would carry them: without exchange, head and event.

An HTTP error becomes a JSON-RPC error for each request that still waits. Sessions and resuming are
the caller's: the client rules of `transports/`, and the reading of a cassette without HTTP.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from http import HTTPStatus

from msgspec import Struct, field

from mcpmock.printable import printable

from . import edit
from .error_codes import SERVER_ERROR
from .messages import (
    S2C,
    Frame,
    Message,
    Opaque,
    Request,
    Response,
    answers_id,
    member,
    parse,
    parse_items,
)
from .reassembly import Reassembly
from .revisions import speaks_modern
from .transport_facts import ExchangeEnd, Fragment, Headers, HttpBody, HttpResponse, SseMeta

EVENT_STREAM = "text/event-stream"
_PHRASES = {status.value: status.phrase for status in HTTPStatus}
_BOM = b"\xef\xbb\xbf"
_MAX_QUOTE_CHARS = 200
_MAX_UTF8_BYTES_PER_CHAR = 4


def flatten(body: bytes) -> bytes:
    """Return a body as one line, without a byte order mark."""
    # A server on stdio drops a line that begins with a byte order mark.
    body = body.removeprefix(_BOM)
    if b"\n" not in body and b"\r" not in body:
        return body
    # In JSON a line break can only be white space, so a space has the same meaning.
    return body.strip(b"\r\n").replace(b"\r\n", b" ").replace(b"\n", b" ").replace(b"\r", b" ")


def whole_reply(
    exchange: int | None,
    status: int,
    headers: Headers,
    body: Frame | None = None,
    reason: str | None = None,
) -> list[Frame]:
    """Return the frames of a response that has at most one piece of a body."""
    phrase = _PHRASES.get(status, "") if reason is None else reason
    return [
        Frame(S2C, fact=HttpResponse(int(status), phrase, headers), exchange=exchange),
        *([] if body is None else [body]),
        Frame(S2C, fact=ExchangeEnd(), exchange=exchange),
    ]


def request_ids(items: Iterable[Message]) -> list[bytes]:
    """Return the ids of the requests among these messages, as spelled."""
    return [item.id for item in items if isinstance(item, Request)]


class HeldMessages(Struct, eq=False):
    """Messages that wait, until a stream is opened or a session begins."""

    max_messages: int = 1000
    max_bytes: int = 1 << 20
    size: int = 0
    _raws: deque[bytes] = field(default_factory=deque)

    def __len__(self) -> int:
        return len(self._raws)

    @property
    def overfull(self) -> bool:
        """Whether more is held than the bounds allow."""
        return len(self._raws) > self.max_messages or self.size > self.max_bytes

    def keep(self, raw: bytes) -> None:
        """Hold a message, whatever the bounds say."""
        self._raws.append(raw)
        self.size += len(raw)

    def add(self, raw: bytes) -> None:
        """Hold a message; beyond the bounds the oldest are dropped."""
        self.keep(raw)
        while self.overfull:
            self.pop()

    def pop(self) -> bytes:
        """Remove and return the oldest."""
        raw = self._raws.popleft()
        self.size -= len(raw)
        return raw

    def take(self) -> list[bytes]:
        """Remove and return all of them, oldest first."""
        return [self.pop() for _ in range(len(self))]


class ReplyFlattener:
    """Takes the S2C frames of a reply and returns the messages in them.

    A reply may span several exchanges, one after the other: each resumes the broken stream of the
    one before.
    """

    def __init__(self, body: bytes | None) -> None:
        """`body` is the body of the POST; None for a GET, which has no requests."""
        raw = b"" if body is None else flatten(body)
        items = parse_items(raw)
        self.open = request_ids(items)
        """The ids of the requests without a response."""
        self.modern = any(map(speaks_modern, items))
        """Whether the body is of the era in which a client cancels by closing the exchange."""
        self._single = raw.lstrip()[:1] == b"{"
        self._head: HttpResponse | None = None
        self._event: str | None = None
        self._quote = b""
        self._reassembly = Reassembly()

    @property
    def answered(self) -> bool:
        """Whether each request of the body has its response."""
        return not self.open

    def feed(self, frame: Frame) -> list[Frame]:
        """Return the messages in this frame: usually one or none."""
        match frame.fact:
            case None:
                return self._read_message(frame.raw)
            case Fragment():
                whole = self._reassembly.add(frame)
                if whole is None or whole.too_long:
                    return []
                return self._read_message(whole.frame.raw)
            case HttpResponse() as head:
                self._head, self._event, self._quote = head, None, b""
                self._reassembly = Reassembly()
            case SseMeta(event=event):
                self._event = event
            case HttpBody():
                self._quote_body(frame.raw)
            case ExchangeEnd() if self._status >= 300:
                return self.fail(self._error_text())
            case _:
                pass
        return []

    def fail(self, reason: str) -> list[Frame]:
        """Return an error response for each request that is still open."""
        ids, self.open = self.open, []
        return [Frame(S2C, edit.error(id_, SERVER_ERROR, reason)) for id_ in ids]

    def unanswered(self, how: str, missing: str = "an answer") -> list[Frame]:
        """Return an error response for each request that is still open, now that the exchange has
        ended: it says what came instead of `missing`.
        """
        return self.fail(self._why_unanswered(how, missing)) if self.open else []

    def forget(self, id_: bytes) -> bool:
        """Remove a request from the open ones; False if it is not one of them."""
        others = [open_id for open_id in self.open if not answers_id(open_id, id_)]
        was_open = len(others) < len(self.open)
        self.open = others
        return was_open

    @property
    def _status(self) -> int:
        return 0 if self._head is None else self._head.status

    def _read_message(self, data: bytes) -> list[Frame]:
        event, self._event = self._event, None
        raw = flatten(data)
        if event not in {None, "", "message"} or not raw.strip():
            return []
        if self._head is None or self._head.media_type != EVENT_STREAM:
            return self._read_single(raw)
        self._close_answered(raw)
        return [Frame(S2C, raw)]

    def _read_single(self, raw: bytes) -> list[Frame]:
        """Return the message in a reply that is not an event stream."""
        content = parse(raw)
        if isinstance(content, Opaque) or _is_other_json(raw, content):
            if self._status >= 400 or self.answered:
                self._quote_body(raw)
                return []
        elif isinstance(content, Response) and content.id is None and self._single and self.open:
            # A server that cannot read a request answers with no id, but the POST has only one
            # request that it can mean.
            raw = edit.with_id(raw, self.open[0])
        self._close_answered(raw)
        return [Frame(S2C, raw)]

    def _close_answered(self, raw: bytes) -> None:
        for item in parse_items(raw) if self.open else ():
            if isinstance(item, Response) and item.id is not None:
                self.forget(item.id)

    def _quote_body(self, text: bytes) -> None:
        self._quote = (self._quote + text)[: _MAX_QUOTE_CHARS * _MAX_UTF8_BYTES_PER_CHAR]

    def _error_text(self) -> str:
        head = self._head
        assert head is not None
        line = _status_line(head)
        if head.status >= 400:
            return self._quoting(line)
        location = (head.header("location") or "").partition("?")[0]
        to = f" to {printable(location)}" if location else " without a Location"
        return f"{line}{to}: not followed (307 and 308 to the same server are, at most ten)"

    def _why_unanswered(self, how: str, missing: str) -> str:
        head = self._head
        ended = "ended" if how == "eof" else f"was {how}"
        if head is None:
            return f"mcpmock: the connection {ended} before a response came"
        line, media_type = _status_line(head), head.media_type
        if how != "eof":
            return self._quoting(f"{line}: the connection {ended} before {missing} came")
        if head.status != HTTPStatus.OK:
            return self._quoting(f"{line}: not {missing}")
        if media_type == EVENT_STREAM:
            return f"{line}: the event stream ended without {missing}"
        kind = (
            f"with content type {printable(media_type)}" if media_type else "without content type"
        )
        return self._quoting(f"{line} {kind}: not {missing}")

    def _quoting(self, line: str) -> str:
        """Return the line with the beginning of the body."""
        quote = " ".join(self._quote.decode(errors="replace").split())[:_MAX_QUOTE_CHARS]
        return f"{line}: {quote}" if quote else line


def _status_line(head: HttpResponse) -> str:
    return f"HTTP {head.status} {head.reason}".rstrip()


def _is_other_json(raw: bytes, content: Message) -> bool:
    """Return whether it only looks like a response: OAuth has `{"error": "invalid_token"}`."""
    if not isinstance(content, Response) or content.id is not None:
        return False
    return member(raw, "jsonrpc") is None
