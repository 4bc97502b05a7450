"""What an HTTP exchange amounts to in bare messages: messages as a stdio line would carry them,
without exchange, head or event.

`ReplyFlattener` hears the answer to one POST, or the stream of one GET, and gives the messages in
it; a
refusal becomes the JSON-RPC errors that the callers on the other side wait for. It knows nothing of
sessions, of resuming and of who asks. The client rules of `transports/` and the reading of a
cassette as bare messages stand above, `messages` stands below.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

import attrs

from . import edit
from .error_codes import SERVER_ERROR
from .messages import (
    S2C,
    Frame,
    Message,
    Opaque,
    Request,
    Response,
    member,
    parse,
    parse_items,
    same_id,
)
from .reassembly import Reassembly
from .revisions import speaks_modern
from .transport_facts import ExchangeEnd, Fragment, HttpBody, HttpResponse, SseMeta

EVENT_STREAM = "text/event-stream"
_BOM = b"\xef\xbb\xbf"
_QUOTED = 200
_MOST_BYTES_OF_A_CHARACTER = 4


def flatten(body: bytes) -> bytes:
    """A body as one line. JSON has no line breaks but white space, so no value changes; a mark at
    the start goes, for a server on stdio drops a line that has one.
    """
    if body.startswith(_BOM):
        body = body[len(_BOM) :]
    if b"\n" not in body and b"\r" not in body:
        return body
    return body.strip(b"\r\n").replace(b"\r\n", b" ").replace(b"\n", b" ").replace(b"\r", b" ")


def ids_asked(items: Iterable[Message]) -> list[bytes]:
    """The ids of the requests among these messages, as spelled."""
    return [item.id for item in items if isinstance(item, Request)]


@attrs.define
class HeldMessages:
    """Messages that wait for a stream to be opened. Beyond the bounds the oldest are dropped."""

    most: int = 1000
    most_bytes: int = 1 << 20
    size: int = 0
    _raws: deque[bytes] = attrs.field(factory=deque)

    def add(self, raw: bytes) -> None:
        self._raws.append(raw)
        self.size += len(raw)
        while len(self._raws) > self.most or self.size > self.most_bytes:
            self.size -= len(self._raws.popleft())

    def take(self) -> list[bytes]:
        """All of them, oldest first; none is left."""
        raws, self.size = list(self._raws), 0
        self._raws.clear()
        return raws


class ReplyFlattener:
    """The answer to one exchange: S2C exchange frames in, bare S2C messages out.

    An answer may come in the frames of several exchanges, one after the other: a stream that broke
    is resumed in a new one.
    """

    def __init__(self, body: bytes | None) -> None:
        """`body` is what was posted; None for a GET, which asks for nothing."""
        raw = b"" if body is None else flatten(body)
        items = parse_items(raw)
        self.open = ids_asked(items)
        """The ids of the requests that have no answer yet."""
        self.modern = any(map(speaks_modern, items))
        """Whether the body is of the era in which a client cancels by leaving."""
        self._single = raw.lstrip()[:1] == b"{"
        self._head: HttpResponse | None = None
        self._event: str | None = None
        self._quote = b""
        self._reassembly = Reassembly()

    @property
    def answered(self) -> bool:
        """Nothing of what the body asked is open any more."""
        return not self.open

    def hear(self, frame: Frame) -> list[Frame]:
        """What this frame says in bare messages: mostly one or none."""
        match frame.fact:
            case None:
                return self._hear_message(frame.raw)
            case Fragment():
                whole = self._reassembly.add(frame)
                if whole is None or whole.too_long:
                    return []
                return self._hear_message(whole.frame.raw)
            case HttpResponse() as head:
                self._head, self._event, self._quote = head, None, b""
                self._reassembly = Reassembly()
            case SseMeta(event=event):
                self._event = event
            case HttpBody():
                self._remember(frame.raw)
            case ExchangeEnd() if self._status >= 400:
                return self.fail(self._refusal())
            case _:
                pass
        return []

    def fail(self, why: str) -> list[Frame]:
        """An error for each request that is still open: nothing else will come."""
        ids, self.open = self.open, []
        return [Frame(S2C, edit.error(id_, SERVER_ERROR, why)) for id_ in ids]

    def forget(self, id_: bytes) -> bool:
        """This request was cancelled and gets no answer; False where it is not open here."""
        left = [one for one in self.open if not same_id(one, id_)]
        known = len(left) < len(self.open)
        self.open = left
        return known

    @property
    def _status(self) -> int:
        return 0 if self._head is None else self._head.status

    def _hear_message(self, data: bytes) -> list[Frame]:
        event, self._event = self._event, None
        raw = flatten(data)
        if event not in {None, "", "message"} or not raw.strip():
            return []
        if self._head is None or self._head.media_type != EVENT_STREAM:
            return self._hear_whole(raw)
        self._note(raw)
        return [Frame(S2C, raw)]

    def _hear_whole(self, raw: bytes) -> list[Frame]:
        """The body of an answer that is no event stream. Servers that could not read the request
        answer without its id, but there is only one that they can mean.
        """
        content = parse(raw)
        if isinstance(content, Opaque) or _no_answer(raw, content):
            if self._status >= 400 or self.answered:
                self._remember(raw)
                return []
        elif isinstance(content, Response) and content.id is None and self._single and self.open:
            raw = edit.with_id(raw, self.open[0])
        self._note(raw)
        return [Frame(S2C, raw)]

    def _note(self, raw: bytes) -> None:
        for item in parse_items(raw) if self.open else ():
            if isinstance(item, Response) and item.id is not None:
                self.forget(item.id)

    def _remember(self, text: bytes) -> None:
        self._quote = (self._quote + text)[: _QUOTED * _MOST_BYTES_OF_A_CHARACTER]

    def _refusal(self) -> str:
        head = self._head
        assert head is not None
        told = " ".join(self._quote.decode(errors="replace").split())[:_QUOTED]
        line = f"HTTP {head.status} {head.reason}".rstrip()
        return f"{line}: {told}" if told else line


def _no_answer(raw: bytes, content: Message) -> bool:
    """JSON that looks like an answer and is none: `{"error": "invalid_token"}`."""
    if not isinstance(content, Response) or content.id is not None:
        return False
    return member(raw, "jsonrpc") is None
