"""Stages in a row, and what is due later."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import attrs
import pytest

from mcpmock.pipeline.pipeline import Pipeline
from mcpmock.pipeline.stage import Action, Halt, Hangup, Send, Stage, Wake
from mcpmock.protocol.messages import C2S, S2C, Frame
from tests.support import c2s, s2c, script

A, B = b"a", b"b"


@attrs.define
class Late(Stage):
    """Holds everything back by so many seconds."""

    seconds: float

    def feed(self, seen: Sequence[Frame], now: float) -> Iterable[Action]:
        return (Send(seen, after=self.seconds),)


@attrs.define
class Echo(Stage):
    """Sends what comes back where it came from."""

    def feed(self, seen: Sequence[Frame], now: float) -> Iterable[Action]:
        return (Send([Frame(frame.direction.back, frame.raw) for frame in seen]),)


@attrs.define
class Says(Stage):
    """Does what it is told to, at the beginning, when fed and when woken."""

    first: tuple[Action, ...] = ()
    fed: tuple[Action, ...] = ()
    woken: tuple[Action, ...] = ()
    wakes: list[float] = attrs.field(factory=list)

    def begin(self, now: float) -> Iterable[Action]:
        return self.first

    def feed(self, seen: Sequence[Frame], now: float) -> Iterable[Action]:
        return self.fed

    def wake(self, now: float) -> Iterable[Action]:
        self.wakes.append(now)
        return self.woken


@attrs.define
class Marks(Stage):
    """Adds its mark to whatever passes."""

    mark: bytes

    def feed(self, seen: Sequence[Frame], now: float) -> Iterable[Action]:
        return (Send([Frame(frame.direction, frame.raw + self.mark) for frame in seen]),)


def test_without_stages_everything_passes() -> None:
    """An empty row is a wire."""
    script().at(0, client=A, to_server=A).at(1, server=B, to_client=B).nothing_more()


def test_stages_are_passed_in_order_both_ways() -> None:
    """From the client the first stage comes first, from the server the last."""
    row = script(Marks(b"1"), Marks(b"2"))

    row.at(0, client=A, to_server=b"a12").at(0, server=B, to_client=b"b21").nothing_more()


def test_a_plain_stage_lets_everything_pass() -> None:
    """A stage that says nothing else sends on what it was given, unchanged."""
    frames = [c2s(A), c2s(B)]
    pipeline = Pipeline([Stage(), Stage()])

    assert [] == pipeline.begin(0)
    [batch] = pipeline.enter(frames, 0)
    assert [True, True] == [one is other for one, other in zip(frames, batch, strict=True)]


def test_what_is_sent_back_passes_the_stages_before() -> None:
    """A stage that answers is heard by the stages between it and the client."""
    script(Marks(b"1"), Echo(), Marks(b"3")).at(0, client=A, to_client=b"a11").nothing_more()


def test_what_is_not_sent_on_ends() -> None:
    """A stage that sends nothing drops."""
    script(Says()).at(0, client=A).at(0, server=B).nothing_more()


def test_delays_are_exact_and_add_up() -> None:
    """A delay counts from arrival, and two of them add up."""
    script(Late(2), Late(0.5)).at(10, client=A).at(11, client=B).at(12.5, to_server=A).at(
        13.5, to_server=B
    ).nothing_more()


def test_what_is_due_together_keeps_its_order() -> None:
    """Frames due at the same time leave in the order they were sent."""
    pipeline = Pipeline([Late(1)])
    for raw in (A, B, b"c"):
        pipeline.enter([c2s(raw)], 0)

    assert 1.0 == pipeline.next_due
    assert [A, B, b"c"] == [frame.raw for frames in pipeline.advance(1) for frame in frames]
    assert None is pipeline.next_due


def test_nothing_is_due_before_its_time() -> None:
    """Advancing early gives nothing and forgets nothing."""
    pipeline = Pipeline([Late(1)])
    pipeline.enter([c2s(A)], 5)

    assert [] == pipeline.advance(5.999)
    assert 6.0 == pipeline.next_due


def test_wakes() -> None:
    """A stage is woken at the time it named, and may act then."""
    stage = Says(first=(Wake(3), Wake(1)), woken=(Send([s2c(A)]),))

    script(stage).at(1, to_client=A).at(3, to_client=A).nothing_more()
    assert [1.0, 3.0] == stage.wakes


def test_a_wake_that_is_already_due() -> None:
    """A wake in the past comes at the next advance."""
    stage = Says(first=(Wake(-1),))
    pipeline = Pipeline([stage])
    pipeline.begin(5)
    pipeline.advance(5)

    assert [5] == stage.wakes


def test_sending_at_the_beginning() -> None:
    """A stage may speak before anybody else."""
    script(Says(first=(Send([s2c(A)]), Send([c2s(B)])))).at(
        0, to_client=A, to_server=B
    ).nothing_more()


def test_both_ways_at_once() -> None:
    """One stage may send both ways in answer to one frame, in order."""
    script(Says(fed=(Send([s2c(A)]), Send([c2s(B)])))).at(0, client=b"x", to_client=A, to_server=B)


@pytest.mark.parametrize("after", [0.0, 2.0])
def test_hanging_up(after: float) -> None:
    """A hangup ends the session at its time."""
    row = script(Says(fed=(Hangup("done", after),)))
    row.at(1, client=A)

    assert (after == 0) is (row.pipeline.hung_up is not None)
    row.nothing_more().hung_up()


def test_after_hanging_up_nothing_goes_either_way() -> None:
    """Once a stage hung up, what still comes or is still due goes nowhere."""
    row = script(Late(1), Says(fed=(Hangup("done"),)))
    row.at(0, server=B).hung_up()

    row.at(0, client=A).nothing_more()


def test_a_stage_in_front_hears_of_nothing_either() -> None:
    """What comes behind a hangup goes not even as far as whoever hung up, in front of it or not."""
    row = script(Echo(), Says(first=(Hangup("at once"),)))

    row.hung_up().at(0, client=A).at(1, server=B).nothing_more()


def test_the_first_hangup_counts() -> None:
    """A second hangup does not change why the session ended."""
    pipeline = Pipeline([Says(fed=(Hangup("one"), Hangup("two")))])
    pipeline.enter([c2s(A)], 0)

    assert pipeline.hung_up is not None
    assert "one" == pipeline.hung_up.why


def test_empty_sends_are_nothing() -> None:
    """Sending no frames sends nothing."""
    pipeline = Pipeline([Says(fed=(Send([]), Send([], after=1)))])

    assert [] == pipeline.enter([c2s(A)], 0)
    assert [] == pipeline.advance(1)


def test_batches_stay_together() -> None:
    """What came in one read leaves in one batch of its direction."""
    [batch] = Pipeline([Stage()]).enter([c2s(A), c2s(B)], 0)

    assert [(C2S, A), (C2S, B)] == [(frame.direction, frame.raw) for frame in batch]


@attrs.define
class Holds(Stage):
    """Holds until the time given."""

    until: float | None = None

    @property
    def held_until(self) -> float | None:
        return self.until


def test_what_stages_hold() -> None:
    """The last of it is what counts."""
    assert None is Pipeline([Stage()]).held_until
    assert 3 == Pipeline([Holds(2), Stage(), Holds(3)]).held_until


def test_what_stages_halt() -> None:
    """Nothing is to be read that way, until the last of the times."""
    row = Pipeline([Says((Halt(C2S, 2.0),)), Stage(), Says((Halt(C2S, 1.0),))])
    row.begin(5.0)

    assert (7, None) == (row.halted.get(C2S), row.halted.get(S2C))


def test_who_hangs_up_waits_for_what_is_held_before_the_client() -> None:
    """What it has said comes first; what stages behind it hold does not matter."""
    done = Says(fed=(Hangup("done"),))

    script(Holds(2), done).at(1, client=A).still_there().at(2).hung_up()
    script(done, Holds(2)).at(1, client=A).hung_up()


def test_nothing_goes_behind_the_end() -> None:
    """Neither what the same stage says after it nor what comes then."""
    row = script(Says(fed=(Hangup("done"), Send([s2c(B)]))))

    row.at(0, server=B).hung_up().at(1, client=A, server=B).nothing_more()
