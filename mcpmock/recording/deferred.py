"""`DeferredRecorder`: a stage in the place of a recorder, for a session that may or may not be
recorded.

It holds what passes. Once there is a recorder, that notes the session from its beginning, at the
times when things happened, and from then on everything before it passes. `live` says when a session
is worth it, `sessions.standby` hands over the recorder.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any

import attrs

from mcpmock.pipeline.stage import PASS, Action, Stage
from mcpmock.protocol.messages import Frame

from .recorder import Recorder

MOST = 64 << 20
"""How many bytes are held. Of a session that said more, what was first is not recorded."""


@attrs.frozen
class _Held:
    """Frames that passed, or the receipt of a fault that fired on one."""

    frames: Sequence[Frame]
    now: float
    receipt: Any = None


@attrs.define(eq=False, repr=False)
class DeferredRecorder(Stage):
    """Holds one session until `release`."""

    most: int = MOST
    recorder: Recorder | None = None
    _held: deque[_Held] = attrs.field(factory=deque)
    _size: int = 0
    _lost: int = 0
    _lost_size: int = 0

    def feed(self, seen: Sequence[Frame], now: float) -> Iterable[Action]:
        if self.recorder is not None:
            return self.recorder.feed(seen, now)
        self._hold(_Held(seen, now))
        return PASS

    def receipt(self, value: Any, frame: Frame, now: float) -> None:
        """Note a receipt, as `Recorder.receipt` does."""
        if self.recorder is not None:
            self.recorder.receipt(value, frame, now)
        else:
            self._hold(_Held((frame,), now, value))

    def release(self, recorder: Recorder) -> None:
        """Have it recorded. When this returns, all that passed was noted."""
        held, self._held, self._size = self._held, deque(), 0
        self.recorder = recorder
        if self._lost:
            reason = f"a session of more than {self.most} bytes before it was to be recorded"
            recorder.ledger.lose(recorder.session, self._lost, self._lost_size, reason)
        for one in held:
            if one.receipt is None:
                recorder.feed(one.frames, one.now)
            else:
                recorder.receipt(one.receipt, one.frames[0], one.now)

    def _hold(self, one: _Held) -> None:
        self._held.append(one)
        self._size += _size(one.frames)
        while self._size > self.most:
            lost = self._held.popleft().frames
            self._size -= _size(lost)
            self._lost += len(lost)
            self._lost_size += _size(lost)


def _size(frames: Sequence[Frame]) -> int:
    return sum(frame.size for frame in frames)
