"""`Reassembly`: messages that come in pieces (`Fragment`), put together again, within a bound.

A message too long to hold is forwarded piece by piece (`transports.lines`, `transports.body` cut
it), and passes every stage so. A stage that needs the whole message collects its pieces here: the
recorder, the player, stubs, rules and the transports' rules. Nothing is forwarded from here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import attrs

from .messages import Direction, Fragment, Frame, HttpBody

MAX_MESSAGE_BYTES = 64 << 20
"""The longest message that is put together."""
EXCERPT_BYTES = 1 << 16
"""How much is kept of a longer one."""

_Key = tuple[int, Direction, int | None]


@attrs.frozen
class WholeFrame:
    """A message whose last piece has come. Where it is longer than the bound, `frame` holds its
    beginning and `digest` is the SHA-256 of all `size` bytes.
    """

    frame: Frame
    size: int
    digest: str | None = None

    @property
    def too_long(self) -> bool:
        return self.digest is not None


@attrs.define
class _Pieces:
    """One message so far."""

    # One buffer and not a list of pieces: a message of 60 MB in small blocks leaves its memory in
    # the allocator's heap, and the peak of `mcpmock record` grows by as much (tests/e2e/test_wire).
    held: bytearray = attrs.field(factory=bytearray)
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


@attrs.define
class Reassembly:
    """Any number of messages side by side. One direction of one exchange (of one `session`, where
    several meet) carries one message at a time.
    """

    max_bytes: int = MAX_MESSAGE_BYTES
    _under_way: dict[_Key, _Pieces] = attrs.field(factory=dict)

    def __len__(self) -> int:
        """How many messages are incomplete."""
        return len(self._under_way)

    def has_begun(self, frame: Frame, session: int = 1) -> bool:
        """Whether earlier pieces of the message that `frame` belongs to have come."""
        return (session, frame.direction, frame.exchange) in self._under_way

    def add(self, piece: Frame, session: int = 1) -> WholeFrame | None:
        """Takes a piece; gives the message once its last piece has come. A frame that is not a
        `Fragment` is a message in one piece.
        """
        key = (session, piece.direction, piece.exchange)
        is_fragment = isinstance(piece.fact, Fragment)
        if not is_fragment and len(piece.raw) <= self.max_bytes:
            self._under_way.pop(key, None)
            return WholeFrame(piece, len(piece.raw))
        pieces = self._under_way.setdefault(key, _Pieces())
        pieces.add(piece.raw, self.max_bytes)
        if isinstance(piece.fact, Fragment) and not piece.fact.last:
            return None
        del self._under_way[key]
        fact = None if is_fragment else piece.fact
        return pieces.whole(Frame(piece.direction, b"", piece.eol, fact, piece.exchange))

    def cut(
        self, direction: Direction, exchange: int | None, session: int = 1
    ) -> WholeFrame | None:
        """What has come of a message whose last piece will not: bytes that are no message. None if
        none was incomplete.
        """
        pieces = self._under_way.pop((session, direction, exchange), None)
        if pieces is None:
            return None
        return pieces.whole(Frame(direction, fact=HttpBody(), exchange=exchange))

    def sizes(self) -> Iterator[tuple[int, int]]:
        """Session and size so far of each incomplete message."""
        for (session, *_), pieces in self._under_way.items():
            yield session, pieces.size
