"""`pause`: stopped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mcpmock.faults.kinds.timing import Pause
from mcpmock.faults.match import Match
from mcpmock.pipeline.pipeline import Pipeline
from mcpmock.pipeline.stage import Action, Hangup, Send, Stage
from mcpmock.protocol.messages import C2S, S2C, Frame, StreamEnd
from tests.faults.faulty import faulty


def test_nothing_goes_either_way() -> None:
    """For the time; then all of it, in order."""
    wire = faulty(Pause(time=2, match=Match(nth=1)))

    wire.at(0, client=b"a").at(1, server=b"x").at(1, client=b"b")
    wire._pass_time(2)
    assert [(C2S, b"a"), (S2C, b"x"), (C2S, b"b")] == [(f.direction, f.raw) for f in wire._out]
    wire._out.clear()
    wire.at(2, server=b"y", to_client=b"y").nothing_more()


def test_a_server_that_ends_then_has_said_all() -> None:
    """What it answers in the very moment in which everything comes, its end included, is before
    that end.
    """

    class Server(Stage):
        def feed(self, seen: Sequence[Frame], now: float) -> Iterable[Action]:
            for frame in seen:
                ended = isinstance(frame.fact, StreamEnd)
                answer = Send(
                    [Frame(S2C, b"re " + frame.raw)] if frame.direction is C2S else [frame]
                )
                yield Hangup("done") if ended else answer

    row = Pipeline([*faulty(Pause(time=2, match=Match(nth=1))).pipeline.stages, Server()])
    row.begin(0)
    said = [Frame(C2S, b"a"), Frame(C2S, b"b"), Frame(C2S, fact=StreamEnd())]

    assert [] == row.enter(said, 0)
    assert [] == row.enter([Frame(S2C, b"x")], 1)
    assert [b"x", b"re a", b"re b"] == [f.raw for frames in row.advance(2) for f in frames]
    assert row.hung_up
