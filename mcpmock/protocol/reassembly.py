"""`Reassembly`: joins messages that arrive in pieces (`Fragment`), up to a bound.

`transports.lines` and `transports.body` cut a message that is too long to hold, and every stage
gets it piece by piece. A stage that needs the whole message joins the pieces here: the recorder,
the player, stubs, rules and the transports' rules. Nothing is forwarded from here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import msgspec
from msgspec import Struct, field

from .messages import Direction, Fragment, Frame, HttpBody

MAX_MESSAGE_BYTES = 64 << 20
"""The longest message that is joined."""
EXCERPT_BYTES = 1 << 16
"""How much of a longer message is kept."""

_Key = tuple[int, Direction, int | None]


class WholeFrame(msgspec.Struct, frozen=True):
    """A message whose last piece has arrived. If it is longer than the bound, `frame` holds its
    beginning and `digest` is the SHA-256 of all `size` bytes.
    """

    frame: Frame
    size: int
    digest: str | None = None

    @property
    def too_long(self) -> bool:
        return self.digest is not None


class _Pieces(Struct, eq=False):
    """The pieces of one message so far."""

    # One buffer and not a list of pieces: a message of 60 MB in small blocks leaves its memory in
    # the allocator's heap, and the peak of `mcpmock record` grows by as much (tests/e2e/test_wire).
    held: bytearray = field(default_factory=bytearray)
    size: int = 0
    digest: hashlib._Hash | None = None

    def add(self, raw: bytes, max_bytes: int) -> None:
        self.size += len(raw)
        if self.digest is not None:
            self.digest.update(raw)
            return
        self.held += raw
        if self.size > max_bytes:
            # Only a message that is too long needs its digest: hashing each one on its way would
            # cost every long message a pass over its bytes.
            self.digest = hashlib.sha256(self.held)
            del self.held[EXCERPT_BYTES:]

    def whole(self, frame: Frame) -> WholeFrame:
        frame.raw = bytes(self.held)
        self.held = bytearray()
        digest = None if self.digest is None else self.digest.hexdigest()
        return WholeFrame(frame, self.size, digest)


class Reassembly(Struct, eq=False):
    """The incomplete messages: one for each direction of an exchange of a session."""

    max_bytes: int = MAX_MESSAGE_BYTES
    _incomplete: dict[_Key, _Pieces] = field(default_factory=dict)

    def __len__(self) -> int:
        """Return the number of incomplete messages."""
        return len(self._incomplete)

    def has_begun(self, frame: Frame, session: int = 1) -> bool:
        """Return whether earlier pieces of the message that `frame` belongs to have arrived."""
        return (session, frame.direction, frame.exchange) in self._incomplete

    def add(self, piece: Frame, session: int = 1) -> WholeFrame | None:
        """Take a piece; returns the message with its last piece. A frame that is not a `Fragment`
        is a message in one piece.
        """
        key = (session, piece.direction, piece.exchange)
        is_fragment = isinstance(piece.fact, Fragment)
        if not is_fragment and len(piece.raw) <= self.max_bytes:
            self._incomplete.pop(key, None)
            return WholeFrame(piece, len(piece.raw))
        pieces = self._incomplete.setdefault(key, _Pieces())
        pieces.add(piece.raw, self.max_bytes)
        if isinstance(piece.fact, Fragment) and not piece.fact.last:
            return None
        del self._incomplete[key]
        fact = None if is_fragment else piece.fact
        return pieces.whole(Frame(piece.direction, b"", piece.eol, fact, piece.exchange))

    def cut(
        self, direction: Direction, exchange: int | None, session: int = 1
    ) -> WholeFrame | None:
        """Return the pieces of a message that ends without its last one, as bytes that are not a
        message; None if no message is incomplete.
        """
        pieces = self._incomplete.pop((session, direction, exchange), None)
        if pieces is None:
            return None
        return pieces.whole(Frame(direction, fact=HttpBody(), exchange=exchange))

    def sizes(self) -> Iterator[tuple[int, int]]:
        """Yield the session and the size so far of each incomplete message."""
        for (session, *_), pieces in self._incomplete.items():
            yield session, pieces.size
