"""Server-sent events: the bytes of an event stream to frames and back.

Decoding follows the WHATWG (HTML, 9.2 "Server-sent events") and keeps what that throws away:
comments, blocks without data, and the exact bytes of every block (`wire`), so that what is
forwarded is what came. Nothing is ever refused. `body` stands above and picks this for
`text/event-stream`; nothing here knows what the events mean.
"""

from __future__ import annotations

from typing import Any

from mcpmock.lazy_pattern import lazy_pattern
from mcpmock.protocol.messages import Direction, Frame, HttpBody, SseMeta

MAX_EVENT_BYTES = 64 << 20
"""The longest event that is held, in bytes."""
KEPT_BYTES = 1 << 16
"""How much is recorded of a body that is not a message, in bytes."""

_BOM = b"\xef\xbb\xbf"
# A CR ends a line by itself unless an LF follows, so one that is the last byte so far says nothing
# yet: both patterns want to see what stands behind it.
_LINE_END = lazy_pattern(rb"\n|\r\n|\r(?=[^\n])")
# The end of a line and, directly behind it, the end of an empty one. Whatever the line ends are,
# this is the first LF LF, LF CR or CR CR (CR LF is one end, not two). The set in front lets `re`
# skip other bytes quickly.
_BLANK_LINE = lazy_pattern(rb"[\n\r](?:(?<=\n)\n|\r(?:\n|(?=[^\n])))")
_LINE_BREAK = lazy_pattern(rb"\r\n|\n|\r")
_RETRY_DIGITS = 15  # beyond that it is no time, and no number that every JSON reader takes
_KEPT_BODY, _UNKEPT_BODY = HttpBody(), HttpBody(unkept=True)


class Excerpt:
    """Bytes that are no message as HttpBody frames: the first `kept` bytes are recorded, the rest
    only passes.
    """

    def __init__(self, direction: Direction, exchange: int | None, kept: int = KEPT_BYTES) -> None:
        self._direction = direction
        self._exchange = exchange
        self._left = kept

    def take(self, data: bytes) -> list[Frame]:
        """Return the frames that carry `data`; none for nothing."""
        head, rest = data[: self._left], data[self._left :]
        self._left -= len(head)
        frames = [self._frame(head, _KEPT_BODY)] if head else []
        return [*frames, self._frame(rest, _UNKEPT_BODY)] if rest else frames

    def _frame(self, raw: bytes, fact: HttpBody) -> Frame:
        return Frame(self._direction, raw, fact=fact, exchange=self._exchange)


class SseDecoder:
    """Bytes in, the frames of whole events out; of an unfinished event nothing, until it ends or
    grows beyond `limit` bytes.

    A block is everything up to and including an empty line; an empty line with nothing before it is
    a block of its own. A block gives an SseMeta frame if it has more than data, and a message frame
    if it has data; the last of these has its bytes as `wire`.
    """

    def __init__(
        self, direction: Direction, exchange: int | None, limit: int = MAX_EVENT_BYTES
    ) -> None:
        self._direction = direction
        self._exchange = exchange
        self._limit = limit
        self._buffer = bytearray()
        self._scanned = 0  # no block ends before: looking twice would make long events quadratic
        self._first = True  # a byte order mark may stand before the first block
        self._behind_lone_meta = False
        self._too_long = False
        self._other = Excerpt(direction, exchange)

    def feed(self, data: bytes) -> list[Frame]:
        """Return the frames of the events that `data` completes, in order."""
        if not self._buffer and _is_one_block(data) and not self._too_long:
            return self._block(data)
        buffer = self._buffer
        buffer += data
        frames: list[Frame] = []
        start = 0
        while end := self._end_of_block(start):
            frames += self._block(bytes(buffer[start:end]))
            start = end
        if start:
            del buffer[:start]
            self._scanned = max(self._scanned - start, 0)
        if self._too_long or len(buffer) > self._limit:
            frames += self._pass_on()
        return frames

    def end(self) -> list[Frame]:
        """End the stream: an event that never ended, or nothing."""
        rest = bytes(self._buffer)
        self._buffer.clear()
        text = rest.removeprefix(_BOM) if self._first else rest
        # Only now it is sure that no LF follows a last CR.
        if not self._too_long and (text == b"\r" or text.endswith((b"\n\r", b"\r\r"))):
            return self._block(rest)
        return self._other.take(rest)

    def _end_of_block(self, start: int) -> int:
        """Return the offset behind the block that begins at `start`; 0 if it is not whole yet."""
        buffer = self._buffer
        begin = start + len(_BOM) if self._first and buffer.startswith(_BOM, start) else start
        if not self._too_long and (empty := _LINE_END.match(buffer, begin)):
            return empty.end()
        if found := _BLANK_LINE.search(buffer, max(begin, self._scanned)):
            self._scanned = found.end()
            return self._scanned
        self._scanned = max(len(buffer) - 2, 0)  # an LF CR at the end may be half of one
        return 0

    def _pass_on(self) -> list[Frame]:
        """Return what is held of a block that is too long, but for bytes that may begin its end."""
        self._too_long, self._first, self._scanned = True, False, 0
        data = bytes(self._buffer[:-2])
        del self._buffer[:-2]
        return self._other.take(data)

    def _block(self, wire: bytes) -> list[Frame]:
        if self._too_long:
            self._too_long = self._behind_lone_meta = False
            return self._other.take(wire)
        text = wire.removeprefix(_BOM) if self._first else wire
        self._first = False
        fields, data = _read(text)
        frames = []
        if fields or not data or self._behind_lone_meta:
            meta = SseMeta(**fields)
            frames.append(Frame(self._direction, fact=meta, exchange=self._exchange))
        self._behind_lone_meta = not data
        if data:
            raw = data[0] if len(data) == 1 else b"\n".join(data)
            eol = b"\r\n" if wire.endswith(b"\r\n\r\n") else b"\n"
            frames.append(Frame(self._direction, raw, eol, None, self._exchange))
        frames[-1].wire = wire
        return frames


def _is_one_block(data: bytes) -> bool:
    """Return whether it is exactly one block with LF: what one read of one small event is."""
    ends = 0 < data.find(b"\n\n") == len(data) - 2
    return ends and b"\r" not in data and data[:1] not in (b"\n", _BOM[:1])


def _read(text: bytes) -> tuple[dict[str, Any], list[bytes]]:
    """Return what a block says besides its data, as SseMeta's fields, and the lines of its data."""
    if b"\r" in text:
        text = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    fields: dict[str, Any] = {}
    comments: list[str] = []
    data: list[bytes] = []
    for line in text.split(b"\n"):
        if line.startswith(b"data: "):
            data.append(line[6:])
            continue
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        match name:
            case b"data":
                data.append(value)
            case b"event":
                fields["event"] = value.decode("utf-8", "replace")
            case b"id" if b"\0" not in value:
                fields["id"] = value.decode("utf-8", "replace")
            case b"retry" if value.isdigit() and len(value) <= _RETRY_DIGITS:
                fields["retry"] = int(value)
            case b"" if line:
                comments.append(value.decode("utf-8", "replace"))
    if comments:
        fields["comment"] = "\n".join(comments)
    return fields, data


def encode_event(meta: SseMeta | None, data: bytes | None, eol: bytes = b"\n") -> bytes:
    """Return the bytes of one event. Without data it is one that no client sees, but its id, retry
    and comments count.

    An `id` or `event` that would not be read as what it is (line breaks, NUL) is a ValueError.
    Every line break in data begins a new line of data, and is read as LF.
    """
    lines = [] if meta is None else _meta_lines(meta)
    if data is not None:
        parts = _LINE_BREAK.split(data) if b"\n" in data or b"\r" in data else [data]
        lines += [b"data: " + part for part in parts]
    return eol.join([*lines, b"", b""]) if lines else eol


def _meta_lines(meta: SseMeta) -> list[bytes]:
    lines = []
    if meta.event is not None:
        lines.append(b"event: " + _one_line("event", meta.event))
    if meta.id is not None:
        lines.append(b"id: " + _one_line("id", meta.id))
    if meta.retry is not None:
        lines.append(b"retry: %d" % meta.retry)
    if meta.comment is not None:
        comments = _LINE_BREAK.split(meta.comment.encode("utf-8", "replace"))
        lines += [b": " + comment if comment else b":" for comment in comments]
    return lines


def _one_line(name: str, value: str) -> bytes:
    if any(bad in value for bad in "\r\n\0"):
        raise ValueError(f"{name} of a server-sent event with a line break or NUL: {value!r}")
    return value.encode("utf-8", "replace")
