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
    size: int = 0
    """Bytes of the current line so far."""
    _held: bytearray = attrs.field(factory=bytearray)
    _digest: hashlib._Hash = attrs.field(factory=hashlib.sha256)

    def add(self, piece: Frame) -> Whole | None:
        """Takes the next piece; gives the whole when it was the last."""
        self._digest.update(piece.raw)
        self.size += len(piece.raw)
        if self.size > self.limit:
            self._held += piece.raw[: max(HEAD - len(self._held), 0)]
            del self._held[HEAD:]
        else:
            self._held += piece.raw
        if not (isinstance(piece.fact, Fragment) and piece.fact.last):
            return None
        digest = self._digest.hexdigest() if self.size > self.limit else None
        frame = Frame(piece.direction, bytes(self._held), piece.eol, None, piece.exchange)
        whole = Whole(frame, self.size, digest)
        self._held, self.size, self._digest = bytearray(), 0, hashlib.sha256()
        return whole
