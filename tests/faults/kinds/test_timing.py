"""Faults of timing, where a row of the fault matrix cannot show all that they do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import nullcontext

import pytest

from mcpmock.faults.fault import PlanError
from mcpmock.faults.kinds.timing import (
    Backpressure,
    Bandwidth,
    Coalesce,
    Dribble,
    Latency,
    Pause,
    Slicer,
    SlowClose,
)
from mcpmock.faults.match import Match
from mcpmock.faults.plan import fault_of
from mcpmock.pipeline.pipeline import Pipeline
from mcpmock.pipeline.stage import Action, Hangup, Send, Stage
from mcpmock.protocol.messages import C2S, S2C, Fragment, Frame, StreamEnd
from tests.support import (
    answers,
    call,
    ends,
    exits,
    hangs_up,
    opens,
    response,
    s2c,
    says,
)
from tests.support.faulty import ANSWER, CALL, answered, body, faulty, receipts

SLOW = Latency(latency=0.25, match=Match(tool="get_*"))


def test_latency_order_within_a_direction_is_kept() -> None:
    """With any jitter, what is delayed comes in the order in which it arrived."""
    wire = faulty(Latency(latency=1.0, jitter=1.0))
    for n in range(20):
        wire._take(wire.pipeline.enter([s2c(response(n))], n / 100))
    wire._pass_time(float("inf"))

    assert [response(n) for n in range(20)] == [frame.raw for frame in wire._out]
    wire.abandon()


def test_latency_the_end_waits() -> None:
    """The end of a stream comes behind what is held of it."""
    wire = faulty(SLOW)
    wire.at(0, client=call(1, "get_x"), to_server=call(1, "get_x")).at(1, server=response(1))
    wire.at(1, server=hangs_up(s2c(b"").direction))

    wire.at(1.25, to_client=[response(1), hangs_up(s2c(b"").direction)]).nothing_more()


def test_latency_receipt() -> None:
    """What was drawn is told."""
    wire = faulty(Latency(latency=0.25, jitter=0.05, name="slow"))
    told = receipts(wire)
    wire.at(0, server=response(1))

    [receipt] = told
    assert ("slow", "latency", 1, "response") == tuple(
        receipt[key] for key in ("name", "kind", "fired", "on")
    )
    assert 0.2 <= receipt["drawn"]["seconds"] <= 0.3
    assert 0.25 != receipt["drawn"]["seconds"]
    wire.abandon()


def test_latency_without_jitter() -> None:
    """It is the same for all."""
    wire = faulty(Latency(latency=0.25))
    told = receipts(wire)
    wire.at(0, server=response(1)).at(0, server=response(2)).abandon()

    assert [0.25, 0.25] == [receipt["drawn"]["seconds"] for receipt in told]


def test_latency_empirical_needs_samples() -> None:
    """There has to be something to draw from."""
    with pytest.raises(PlanError, match="needs a cassette"):
        Latency(distribution="empirical")
    with pytest.raises(PlanError, match="samples: only with"):
        Latency(latency=1, samples=(0.5,))

    wire = faulty(Latency(distribution="empirical", samples=(0.5,)))
    wire.at(0, server=response(1)).at(0.5, to_client=response(1)).nothing_more()


@pytest.mark.parametrize(
    ("written", "mistake"),
    [
        ("distribution=uniform,latency=1s", "jitter: missing; without it uniform draws nothing"),
        ("distribution=normal,latency=1s", "jitter: missing; without it normal draws nothing"),
        ("distribution=lognormal,latency=1s", "jitter: missing; .* lognormal draws nothing"),
        ("distribution=lognormal,jitter=1s", "latency: missing; lognormal draws nothing around 0"),
        ("distribution=fixed,latency=1s,jitter=1s", "jitter: not with .*fixed"),
        ("distribution=empirical,cassette=a,jitter=1s", "jitter: not with .*empirical"),
        ("distribution=normal,jitter=1s,cassette=a", "cassette: only with .*empirical"),
        ("distribution=normal,jitter=1s", None),
        ("distribution=fixed,latency=1s", None),
        ("distribution=empirical,cassette=a,latency=1s", None),
    ],
)
def test_latency_of_which_a_part_does_nothing(written: str, mistake: str | None) -> None:
    """It is refused: what is said has to count."""
    with nullcontext() if mistake is None else pytest.raises(PlanError, match=mistake):
        fault_of(f"latency:{written}")


def test_pause_nothing_goes_either_way() -> None:
    """For the time; then all of it, in order."""
    wire = faulty(Pause(time=2, match=Match(nth=1)))

    wire.at(0, client=b"a").at(1, server=b"x").at(1, client=b"b")
    wire._pass_time(2)
    assert [(C2S, b"a"), (S2C, b"x"), (C2S, b"b")] == [(f.direction, f.raw) for f in wire._out]
    wire._out.clear()
    wire.at(2, server=b"y", to_client=b"y").nothing_more()


def test_pause_a_server_that_ends_then_has_said_all() -> None:
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


def test_bandwidth_comes_at_its_rate() -> None:
    """A piece every tenth of a second, the last when all of it would have come; others wait."""
    wire = faulty(Bandwidth(rate=100, match=Match(nth=1)))

    wire.at(0, server=b"x" * 24).at(0, server=b"y").at(0, client=b"z", to_server=b"z")
    first, second, third = (
        Frame(S2C, b"x" * 10, b"", Fragment()),
        Frame(S2C, b"x" * 10, b"", Fragment()),
        Frame(S2C, b"x" * 4, b"\n", Fragment(last=True)),
    )
    wire.at(0.1, to_client=first).at(0.2, to_client=second).at(0.25, to_client=[third, b"y"])
    wire.nothing_more()


def test_slicer_pieces() -> None:
    """Of so many bytes, one after the other, and nothing comes between them."""
    wire = faulty(Slicer(size=4, delay=0.5, match=Match(nth=1)))

    wire.at(0, server=b"0123456", to_client=Frame(S2C, b"0123", b"", Fragment()))
    wire.at(0.2, server=b"x")
    wire.at(0.5, to_client=[Frame(S2C, b"456", b"\n", Fragment(last=True)), b"x"]).nothing_more()


def test_slicer_sizes_may_vary() -> None:
    """They are drawn, and told."""
    wire = faulty(Slicer(size=10, vary=5, delay=0))
    told = receipts(wire)
    [frames] = wire.pipeline.enter([s2c(b"x" * 200)], 0)

    sizes = {len(frame.raw) for frame in frames[:-1]}
    assert len(sizes) > 2
    assert sizes <= set(range(5, 16))
    assert len(frames[0].raw) == told[0]["drawn"]["cuts"][0]


def test_slicer_over_http() -> None:
    """The body comes in pieces of a body, and is the same."""
    lines = body(Slicer(size=20, delay=1))

    assert "1 200 application/json" == lines[0]
    assert ANSWER.decode() == "".join(line.removeprefix("1 body ") for line in lines[1:-1])
    assert "1 eof" == lines[-1]


def test_dribble_takes_its_time() -> None:
    """So many pieces, the last of them after the time."""
    wire = faulty(Dribble(parts=2, time=3))

    wire.at(1, server=b"0123456").at(2.5, to_client=Frame(S2C, b"0123", b"", Fragment()))
    wire.at(4, to_client=Frame(S2C, b"456", b"\n", Fragment(last=True))).nothing_more()


def test_dribble_a_short_message() -> None:
    """It has no more pieces than bytes."""
    assert [b"a", b""] == answered(Dribble(parts=10), CALL, b"a")


def test_dribble_an_event() -> None:
    """Over HTTP an event is cut wherever that falls: in a field, in its name, at its end."""
    stream = [*opens(1), *says(1, ANSWER, id="7"), ends(1)]
    lines = body(Dribble(parts=1000, time=1), CALL, stream)

    told = "".join(line.removeprefix("1 body ") for line in lines[1:-1])
    assert f"id: 7\ndata: {ANSWER.decode()}\n\n" == told
    assert len(told) == len(lines) - 2


def test_coalesce_one_batch() -> None:
    """What comes within the time comes at its end, together."""
    wire = faulty(Coalesce(time=1))
    for n in range(3):
        assert [] == wire.pipeline.enter([s2c(b"%d" % n)], n * 0.3)

    assert 1 == wire.pipeline.next_due
    assert [[b"0", b"1", b"2"]] == [[f.raw for f in frames] for frames in wire.pipeline.advance(1)]
    assert [] == wire.pipeline.enter([s2c(b"3")], 1)
    assert [] == wire.pipeline.advance(1.9)
    assert 1 == len(wire.pipeline.advance(2))


def test_backpressure_nothing_more_is_read() -> None:
    """The message passes, and its direction is halted for the time; the other is not."""
    wire = faulty(Backpressure(time=2))
    wire.at(1, client=CALL, to_server=CALL)

    assert (3, None) == (wire.pipeline.halted.get(C2S), wire.pipeline.halted.get(S2C))
    wire.nothing_more()


def test_slow_close_the_end_comes_later() -> None:
    """What was said before does not, and the exit comes behind it."""
    wire = faulty(SlowClose(delay=2))

    wire.at(0, server=ANSWER, to_client=ANSWER).at(1, server=hangs_up(S2C)).at(1, server=exits(3))
    wire.at(3, to_client=[hangs_up(S2C), exits(3)]).nothing_more()


def test_slow_close_over_http() -> None:
    """The end of an exchange."""
    wire = faulty(SlowClose(delay=2), transport="streamable-http")

    assert 2 == len(wire.hears(0, answers(1, ANSWER)))
    assert ["1 eof"] == wire.later(2)
