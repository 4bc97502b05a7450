"""Newline framing: the stdio transport's bytes to frames and back.

Lines end at byte 0x0A and nowhere else: U+2028, U+0085 and a lone CR are ordinary bytes (SDKs send
them raw inside JSON). A line longer than `limit` is not held: it goes on in pieces (`Fragment`), so
that a 100 MB line needs no 100 MB here. Nothing is ever refused. `channels/` stands above and owns
the descriptors.
"""

from __future__ import annotations

from collections.abc import Sequence

from mcpmock.protocol.messages import Direction, Fragment, Frame

MIB = 1 << 20
_PIECE, _LAST_PIECE = Fragment(), Fragment(last=True)


class LineSplitter:
    """Bytes in, whole frames out; of an unfinished line nothing, until it ends or grows beyond
    `limit` bytes.
    """

    def __init__(self, direction: Direction, limit: int = MIB) -> None:
        self._direction = direction
        self._limit = limit
        self._rest: list[
            bytes
        ] = []  # joined when the line ends: appending stays linear however small the bits
        self._held = 0
        self._in_pieces = False

    def feed(self, data: bytes) -> list[Frame]:
        """Return the frames that `data` completes, in order."""
        one_line = data.find(b"\n") == len(data) - 1 and data[-2:-1] != b"\r"
        if one_line and data and not self._held and not self._in_pieces:
            return [Frame(self._direction, data[:-1])]  # what an exchange is made of
        head, *lines = data.split(b"\n")
        if not lines:
            return self._hold(data)
        tail = lines.pop()
        frames = [self._end_line(head)]
        if lines:
            direction = self._direction
            if b"\r" in data:
                frames += [self._frame(line) for line in lines]
            else:
                frames += [Frame(direction, line) for line in lines]
        return frames + self._hold(tail) if tail else frames

    def end(self) -> list[Frame]:
        """End the stream: a line that never ended, or nothing."""
        if not self._held and not self._in_pieces:
            return []
        raw = b"".join(self._rest)
        fact = _LAST_PIECE if self._in_pieces else None
        self._forget()
        return [Frame(self._direction, raw, b"", fact)]

    def _hold(self, data: bytes) -> list[Frame]:
        self._rest.append(data)
        self._held += len(data)
        if self._held <= self._limit:
            return []
        self._in_pieces = True
        piece = b"".join(self._rest)
        keep = piece[-1:] if piece.endswith(b"\r") else b""  # may be the first half of a CR LF
        self._rest, self._held = [keep] if keep else [], len(keep)
        return [Frame(self._direction, piece[: len(piece) - len(keep)], b"", _PIECE)]

    def _end_line(self, data: bytes) -> Frame:
        if not self._held and not self._in_pieces:
            return self._frame(data)
        frame = self._frame(b"".join((*self._rest, data)))
        if self._in_pieces:
            frame.fact = _LAST_PIECE
        self._forget()
        return frame

    def _frame(self, line: bytes) -> Frame:
        if line.endswith(b"\r"):
            return Frame(self._direction, line[:-1], b"\r\n")
        return Frame(self._direction, line)

    def _forget(self) -> None:
        self._rest, self._held, self._in_pieces = [], 0, False


def join_lines(frames: Sequence[Frame]) -> bytes:
    """Return the bytes on the wire for these frames: of messages and pieces their own, of transport
    facts none.
    """
    if len(frames) == 1 and frames[0].fact is None:
        return frames[0].raw + frames[0].eol
    # speed: 0.05 us a message, with each line end by itself 0.1 (tools/bench.py --processor)
    lines = [frame.raw for frame in frames if frame.fact is None and frame.eol == b"\n"]
    if len(lines) == len(frames):
        return b"\n".join([*lines, b""])
    carried = [f for f in frames if f.fact is None or type(f.fact) is Fragment]
    return b"".join([part for frame in carried for part in (frame.raw, frame.eol)])
