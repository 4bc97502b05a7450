"""`ServerView`: a stage directly in front of a server under test, which knows what it owes: so that
a run waits for an answer that may still come, and for no other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import attrs

from mcpmock.pipeline.stage import PASS, Action, Stage
from mcpmock.protocol.correlation import Correlation
from mcpmock.protocol.messages import C2S, S2C, Frame, parse_items


@attrs.define
class ServerView(Stage):
    """What passed, as the server saw it: behind all faults."""

    _calls: Correlation = attrs.field(factory=Correlation)
    _count: int = 0

    def feed(self, seen: Sequence[Frame], now: float) -> Iterable[Action]:  # noqa: ARG002
        for frame in seen:
            for message in parse_items(frame.raw) if frame.fact is None else ():
                self._count += 1
                self._calls.note(frame.direction, message, self._count, frame.exchange)
        return PASS

    def owes(self, id_: bytes) -> bool:
        """Return whether the server has this request, and neither answered it nor waits for an
        answer of the client itself.
        """
        open_ = self._calls.open_call(C2S, id_) is not None
        return open_ and not self._calls.open_calls(S2C)
