"""Content codings of HTTP (RFC 9110, 8.4): gzip and deflate, decoded and encoded as they come.

Recordings hold what a body says; its bytes pass as they are. `body` stands above and knows what is
in a body. What is decoded grows by at most `PIECE_BYTES` a step, so a few bytes that stand for
gigabytes are stopped where `body` says so.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from mcpmock.pipeline.stage import PASS, Action, Send, Stage
from mcpmock.protocol.messages import Frame, HttpRequest, HttpResponse
from mcpmock.protocol.transport_facts import Headers

PIECE_BYTES = 1 << 20
"""The most that one step of decoding gives."""
MAX_CODINGS = 4
_FIELD = "content-encoding"
_FIELDS_OF_BYTES = (_FIELD, "content-length")
_GZIP_WINDOW, _ZLIB_WINDOW, _RAW_WINDOW = 31, 15, -15
_GZIP_MAGIC = 0x1F
_ZLIB_METHOD = 8
# RFC 9110, 8.4.1.3: recipients treat `x-gzip` as `gzip`.
_ALIASES = {"x-gzip": "gzip", "x-deflate": "deflate"}


def codings_of(head: HttpRequest | HttpResponse) -> tuple[str, ...]:
    """Return the codings of a body, in the order in which they were applied; none for identity."""
    values = head.values(_FIELD)
    if not values:
        return ()
    names = (name.strip().lower() for name in ",".join(values).split(","))
    return tuple(_ALIASES.get(name, name) for name in names if name not in ("", "identity"))


def can_decode(codings: Sequence[str]) -> bool:
    """Return whether all of these codings can be taken off."""
    return len(codings) <= MAX_CODINGS and {"gzip", "deflate"}.issuperset(codings)


class ContentDecoder:
    """Takes off codings, the last applied first."""

    def __init__(self, codings: Sequence[str]) -> None:
        self._layers = [_Inflater(name) for name in reversed(codings)]

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield what `data` stands for, at most `PIECE_BYTES` at a time. Raises ValueError where
        it is not encoded as was said.
        """
        return self._through(self._layers, data)

    @property
    def is_cut(self) -> bool:
        """Whether what came ends inside of a coding."""
        return any(layer.is_open for layer in self._layers)

    def _through(self, layers: Sequence[_Inflater], data: bytes) -> Iterator[bytes]:
        if not layers:
            yield data
            return
        for piece in layers[0].feed(data):
            yield from self._through(layers[1:], piece)


class _Inflater:
    """One coding."""

    def __init__(self, name: str) -> None:
        self._gzip = name == "gzip"
        self._open: zlib._Decompress | None = None
        self._over = False

    @property
    def is_open(self) -> bool:
        return self._open is not None

    def feed(self, data: bytes) -> Iterator[bytes]:
        full = False
        while (data or full) and not self._over:
            if self._open is None:
                self._open = zlib.decompressobj(self._window(data[0]))
            try:
                out = self._open.decompress(data, PIECE_BYTES)
            except zlib.error as error:
                raise ValueError(str(error)) from error
            full = len(out) == PIECE_BYTES
            if self._open.eof:
                data, full = self._open.unused_data, False
                self._open = None
                # gzip may go on with another member (RFC 1952, 2.2); clients ignore other bytes.
                self._over = not self._gzip or (bool(data) and data[0] != _GZIP_MAGIC)
            else:
                data = self._open.unconsumed_tail
            if out:
                yield out

    def _window(self, first: int) -> int:
        if self._gzip:
            return _GZIP_WINDOW
        # `deflate` is zlib (RFC 9110, 8.4.1.2), and many servers send it bare. The method of zlib's
        # head reads as a stored block with a bit set in its padding, which no encoder writes.
        return _ZLIB_WINDOW if first & 0x0F == _ZLIB_METHOD else _RAW_WINDOW


class ContentEncoder:
    """Applies codings; what was given can be read as soon as it is written."""

    def __init__(self, codings: Sequence[str]) -> None:
        windows = [_GZIP_WINDOW if name == "gzip" else _ZLIB_WINDOW for name in codings]
        self._layers = [zlib.compressobj(wbits=window) for window in windows]

    def encode(self, data: bytes, *, last: bool = False) -> bytes:
        """Return the bytes that stand for `data`, which is the `last` of the body or not."""
        for layer in self._layers:
            data = layer.compress(data) if data else b""
            data += layer.flush(zlib.Z_FINISH if last else zlib.Z_SYNC_FLUSH)
        return data


class SendDecoded(Stage):
    """Sends bodies on decoded, with heads that say so: where messages may be changed on their
    way.
    """

    def feed(self, seen: Sequence[Frame], now: float) -> Iterable[Action]:  # noqa: ARG002
        decoded = [_decoded(frame) for frame in seen]
        same = all(one is other for one, other in zip(seen, decoded, strict=True))
        return PASS if same else (Send(decoded),)


def _decoded(frame: Frame) -> Frame:
    head = frame.fact
    if isinstance(head, (HttpRequest, HttpResponse)):
        headers = without_decoded(head)
        if headers is head.headers:
            return frame
        fact = msgspec.structs.replace(head, headers=headers)
        return msgspec.structs.replace(frame, fact=fact)
    if frame.decoded is None:
        return frame
    return msgspec.structs.replace(frame, wire=None, decoded=None)


def without_decoded(head: HttpRequest | HttpResponse) -> Headers:
    """Return the fields of a head whose body is sent decoded; the same object if there is no coding
    in them that can be decoded.
    """
    codings = codings_of(head)
    if not codings or not can_decode(codings):
        return head.headers
    return [field for field in head.headers if field[0].lower() not in _FIELDS_OF_BYTES]
