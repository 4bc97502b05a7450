"""A body in chunks (RFC 9112, 7.1) as bytes: read and written. Pure.

Chunks that came whole and say nothing but their size are taken here; from the first that is
different h11 reads the rest: torn ones, extensions, trailers, and bytes that are not a chunk. A
parser of its own would cost each stream of events more than all its events. `http1` stands above.
"""

from __future__ import annotations

from collections.abc import Iterator

import h11

from mcpmock.lazy_pattern import lazy_pattern

_SIZE = lazy_pattern(rb"([0-9A-Fa-f]{1,7})\r\n")
_LAST = b"0\r\n\r\n"
_HEAD = b"POST / HTTP/1.1\r\nHost: us\r\nTransfer-Encoding: chunked\r\n\r\n"


class Chunks:
    """The body, out of what comes behind its head. `behind` is what came behind the last chunk."""

    def __init__(self) -> None:
        self.done = False
        self.behind = b""
        self._parser: h11.Connection | None = None

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield what `data` has of the body. Raises ValueError for bytes that are not chunks."""
        at = 0
        while self._parser is None and (end := _end_of_chunk(data, at)):
            start = data.index(b"\n", at) + 1
            yield data[start : end - 2]
            at = end
        if self._parser is None and data.startswith(_LAST, at):
            self.done, self.behind = True, data[at + len(_LAST) :]
        elif at < len(data):
            yield from self._by_h11(data[at:])

    def _by_h11(self, data: bytes) -> Iterator[bytes]:
        """Let h11 read the rest; it knows of no more than this body."""
        parser = self._parser
        if parser is None:
            parser = self._parser = h11.Connection(h11.SERVER)
            parser.receive_data(_HEAD)
            parser.next_event()
        parser.receive_data(data)
        try:
            while type(event := parser.next_event()) is h11.Data:
                yield bytes(event.data)
        except h11.RemoteProtocolError as error:
            raise ValueError(str(error)) from error
        self.done = type(event) is h11.EndOfMessage
        self.behind = parser.trailing_data[0] if self.done else b""


def _end_of_chunk(data: bytes, at: int) -> int:
    """Return where the chunk at `at` ends; 0 for the last, and for one not whole or not plain."""
    size = _SIZE.match(data, at)
    length = int(size[1], 16) if size else 0
    if size is None or not length:
        return 0
    end = size.end() + length
    return end + 2 if data.startswith(b"\r\n", end) else 0


def chunk(data: bytes, *, last: bool) -> bytes:
    """Return these bytes as a chunk, and behind the last the end of the body."""
    written = b"%x\r\n%b\r\n" % (len(data), data) if data else b""
    return written + _LAST if last else written
