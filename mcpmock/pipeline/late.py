"""`Late`: a stage in the place of a recorder, for a session of which nobody knows yet whether it is
to be recorded.

It holds what passes. Once there is a recorder, that notes the session from its beginning, at the
times when things happened, and from then on everything before it passes. `live` says when a session
is worth it, `modes.live` hands over the recorder.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import attrs

from mcpmock.protocol.messages import Frame
from mcpmock.protocol.stage import PASS, Action, Stage

from .recorder import Recorder

MOST = 64 << 20
"""How many bytes are held. Of a session that said more, what was first is not recorded."""


@attrs.define
class Late(Stage):
    """Holds one session until `release`."""

    most: int = MOST
    recorder: Recorder | None = None
    _held: list[tuple[Sequence[Frame], float]] = attrs.field(factory=list)
    _size: int = 0
    _lost: int = 0
    _lost_size: int = 0

    def feed(self, seen: Sequence[Frame], now: float) -> Iterable[Action]:
        if self.recorder is not None:
            return self.recorder.feed(seen, now)
        self._held.append((seen, now))
        self._size += _size(seen)
        while self._size > self.most and self._held:
            frames, _ = self._held.pop(0)
            self._size -= _size(frames)
            self._lost += len(frames)
            self._lost_size += _size(frames)
        return PASS

    def release(self, recorder: Recorder) -> None:
        """It is to be recorded. When this returns, all that passed was noted."""
        held, self._held, self._size = self._held, [], 0
        self.recorder = recorder
        if self._lost:
            reason = f"a session of more than {self.most} bytes before it was to be recorded"
            recorder.ledger.lose(recorder.session, self._lost, self._lost_size, reason)
        for frames, now in held:
            recorder.feed(frames, now)


def _size(frames: Sequence[Frame]) -> int:
    return sum(frame.size for frame in frames)
