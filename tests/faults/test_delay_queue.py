"""What is held back, and who waits behind it."""

from __future__ import annotations

from collections.abc import Iterable

from mcpmock.faults.delay_queue import DelayQueue, Keep
from mcpmock.faults.segments import On
from mcpmock.pipeline.stage import Action, Send, Wake
from mcpmock.protocol.messages import C2S, S2C
from tests.support import c2s, s2c


def sent(actions: Iterable[Action]) -> list[bytes]:
    return [f.raw for action in actions if isinstance(action, Send) for f in action.frames]


def test_what_is_due_passes() -> None:
    """Nothing is held that need not be."""
    holding = DelayQueue()

    assert [b"a"] == sent(holding.send([s2c(b"a")], 1, 1, ["x"]))
    assert (False, None) == (bool(holding), holding.until)


def test_the_same_line_waits() -> None:
    """What stands in a line is not overtaken in it."""
    holding = DelayQueue()

    assert [] == sent(holding.send([s2c(b"a")], 5, 1, ["x"]))
    assert [b"b"] == sent(holding.send([s2c(b"b")], 2, 2, ["y"]))
    assert [] == sent(holding.send([s2c(b"c")], 2, 2, ["x", "y"]))
    assert 5 == holding.until
    assert [] == sent(holding.release(4.9))
    assert [b"a", b"c"] == sent(holding.release(5))
    assert [b"d"] == sent(holding.send([s2c(b"d")], 5, 5, ["x"]))


def test_a_line_is_forgotten_once_nothing_waits() -> None:
    """A session may have as many as it has calls."""
    holding = DelayQueue()
    list(holding.send([s2c(b"a")], 5, 1, ["x"]))
    list(holding.send([s2c(b"b")], 6, 1, ["y"]))

    assert ([b"a"], ["x", "y"]) == (sent(holding.release(5)), list(holding._lines))
    assert ([b"b"], []) == (sent(holding.release(6)), list(holding._lines))


def test_a_barrier_holds_its_direction() -> None:
    """All that goes the same way waits, and nothing that goes the other. What is free waits for
    nothing, and the end of its stream waits for it.
    """
    holding = DelayQueue()
    list(holding.send([s2c(b"a")], 5, 1, [], barrier=True))

    assert [] == sent(holding.send([s2c(b"b")], 1, 1, []))
    assert [b"c"] == sent(holding.send([c2s(b"c")], 1, 1, []))
    assert [b"d"] == sent(holding.send_freely([s2c(b"d")], 1, 1, "end"))
    assert [] == sent(holding.send_freely([s2c(b"e")], 6, 1, "end"))
    assert [] == sent(holding.send([s2c(b"f")], 1, 1, ["end"]))
    assert [b"a", b"b", b"e", b"f"] == sent(holding.release(6))


def test_a_way_that_is_blocked() -> None:
    """Nothing passes on it until the latest of the times; the other is open."""
    holding = DelayQueue()
    list(holding.block(S2C, 5))
    list(holding.block(S2C, 3))

    assert holding
    assert [b"c"] == sent(holding.send([c2s(b"c")], 1, 1, []))
    assert [] == sent(holding.send([s2c(b"a")], 4, 4, []))
    assert [] == sent(holding.release(4.9))
    assert [b"a"] == sent(holding.release(5))
    assert not holding


def test_keeping() -> None:
    """Kept until enough like it have passed, or for long enough."""
    holding = DelayQueue()
    list(holding.keep(Keep([s2c(b"a")], 2, 10, On.RESPONSE), 0))
    list(holding.keep(Keep([s2c(b"b")], 9, 10), 0))

    assert [] == sent(holding.passed(S2C, On.RESPONSE))
    assert [] == sent(holding.passed(C2S, On.RESPONSE))
    assert [] == sent(holding.passed(S2C, On.REQUEST))
    assert [b"a"] == sent(holding.passed(S2C, On.RESPONSE))
    assert [b"b"] == sent(holding.release(10))
    assert not holding


def test_what_is_due_leaves_one_way_at_a_time() -> None:
    """What answers the first of it at once stays behind the rest of that instant."""
    holding = DelayQueue()
    assert [] == sent(holding.send([c2s(b"asks")], 5, 1, [], barrier=True))
    assert [] == sent(holding.send([s2c(b"before")], 5, 1, [], barrier=True))

    first = [*holding.release(5.1)]
    assert ([b"asks"], Wake(5.1)) == (sent(first), first[-1])
    assert [] == sent(holding.send([s2c(b"answers")], 5.1, 5.1, []))
    assert [b"before", b"answers"] == sent(holding.release(5.1))
    assert [b"more"] == sent(holding.send([s2c(b"more")], 5, 5, []))
