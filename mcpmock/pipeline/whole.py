"""Lines too long to hold come in pieces (`Fragment`); this puts them together again for stages that
need whole frames.

The pieces themselves pass on at once. What is kept for the whole is bounded: beyond `limit` bytes
only the head stays, with the length and the digest of all of it. Used by the recorder and by the
player.
"""

from __future__ import annotations

import hashlib

import attrs

from mcpmock.protocol.messages import Fragment, Frame

LIMIT = 64 << 20
"""The longest frame that is kept whole, in bytes."""
HEAD = 1 << 16
"""How much is kept of a longer one."""


@attrs.frozen
class Whole:
    """A frame that came in pieces. `digest` is set where `frame` holds only the head of `size`
    bytes.
    """

    frame: Frame
    size: int
    digest: str | None = None


@attrs.define
class Assembler:
    """Collects the pieces of one direction's current line."""

    limit: int = LIMIT
    _pieces: list[bytes] = attrs.field(factory=list)
    _size: int = 0
    _digest: hashlib._Hash = attrs.field(factory=hashlib.sha256)

    def add(self, piece: Frame) -> Whole | None:
        """Takes the next piece; gives the whole when it was the last."""
        self._size += len(piece.raw)
        self._digest.update(piece.raw)
        if self._size <= self.limit:
            self._pieces.append(piece.raw)
        else:
            self._pieces = [b"".join(self._pieces)[:HEAD]]
        if not (isinstance(piece.fact, Fragment) and piece.fact.last):
            return None
        frame = Frame(piece.direction, b"".join(self._pieces), piece.eol, None, piece.exchange)
        digest = self._digest.hexdigest() if self._size > self.limit else None
        whole = Whole(frame, self._size, digest)
        self._pieces, self._size, self._digest = [], 0, hashlib.sha256()
        return whole
