"""Lines too long to hold come in pieces (`Fragment`); this puts them together again for stages that
need whole frames. `Assembler` has one of them, `Pieces` any number side by side.

The pieces themselves pass on at once. What is kept for the whole is bounded: beyond `limit` bytes
only the head stays, with the length and the digest of all of it. Used by the recorder, the player
and the demo.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import attrs

from mcpmock.protocol.messages import Direction, Fragment, Frame, HttpBody

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
        return self._end(Frame(piece.direction, b"", piece.eol, None, piece.exchange))

    def cut(self, direction: Direction, exchange: int | None) -> Whole:
        """What there is of a message whose last piece never came, as what it is: no message."""
        return self._end(Frame(direction, fact=HttpBody(), exchange=exchange))

    def _end(self, frame: Frame) -> Whole:
        digest = self._digest.hexdigest() if self.size > self.limit else None
        frame.raw = bytes(self._held)
        whole = Whole(frame, self.size, digest)
        self._held, self.size, self._digest = bytearray(), 0, hashlib.sha256()
        return whole


Key = tuple[int, Direction, int | None]
"""Whose message it is: the session, the way it goes and the exchange that carries it."""


@attrs.define
class Pieces:
    """The long messages that are under way at one time, each put together on its own."""

    _assemblers: dict[Key, Assembler] = attrs.field(factory=dict)

    def __bool__(self) -> bool:
        return bool(self._assemblers)

    def add(self, key: Key, piece: Frame) -> Whole | None:
        """Takes the next piece; gives the whole when it was the last."""
        assembler = self._assemblers.get(key)
        if assembler is None:
            assembler = self._assemblers[key] = Assembler()
        whole = assembler.add(piece)
        if whole is not None:
            del self._assemblers[key]
        return whole

    def cut(self, key: Key) -> Whole | None:
        """What came of a body that something else cut off; None if none was under way."""
        assembler = self._assemblers.pop(key, None)
        return None if assembler is None else assembler.cut(*key[1:])

    def sizes(self) -> Iterator[tuple[Key, int]]:
        """How much came of each message that is still under way."""
        for key, assembler in self._assemblers.items():
            yield key, assembler.size
