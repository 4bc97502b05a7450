"""What a line waits for, and until when."""

from __future__ import annotations

from mcpmock.playback.client.expectations import Expectations, Patience
from mcpmock.playback.client.script import ClientScript, ExpectedEvent, ScriptLine
from mcpmock.protocol.messages import C2S, Frame

LOG: ExpectedEvent = ("log", None)
FRAME = Frame(C2S)


def waits(*lines: ScriptLine, **latencies: float) -> Expectations:
    known = {int(name[1:]): seconds for name, seconds in latencies.items()}
    return Expectations(ClientScript(lines, (), known, {}), Patience())


def test_answers() -> None:
    """The longest of those that are missing counts; ready is when the last one came."""
    line = ScriptLine(FRAME, answers=(0, 1, 2))
    state = waits(line, c0=1.0, c1=3.0)
    state.spoken(5.0, (0, 1))
    state.turn(line, 5.0)

    assert (None, 20.0) == (state.ready_at, state.until())
    state.answered(1, 6.0)
    assert (None, 15.0) == (state.ready_at, state.until())
    state.answered(0, 7.0)
    assert 7.0 == state.ready_at


def test_signs() -> None:
    """They count whenever they come; what nobody waits for is not kept."""
    first, second = ScriptLine(FRAME, signs=(LOG,)), ScriptLine(FRAME, signs=(LOG, LOG))
    state = waits(first, second)
    state.hear(LOG, 1.0)
    state.hear(LOG, 1.0)
    state.hear(("other", None), 1.0)
    state.turn(first, 2.0)
    ready = [state.ready_at]

    state.turn(second, 3.0)
    assert [LOG] == list(state.missing)
    assert [2.0, None] == [*ready, state.ready_at]
    state.hear(LOG, 4.0)
    assert (4.0, []) == (state.ready_at, list(state._surplus))


def test_how_long_signs_are_waited_for() -> None:
    """From the last that was heard, but not for ever; longer while a call is open."""
    line = ScriptLine(FRAME, signs=(LOG,), wait=3.0)
    state = waits(line)
    state.turn(line, 1.0)
    state.spoken(2.0)
    assert 2.5 == state.until()
    state.spoken(100.0)
    assert 11.0 == state.until()

    state.spoken(101.0, (0,))
    state.turn(line, 101.0)
    assert 116.0 == state.until()
    state.cancelled(0)
    assert 101.5 == state.until()


def test_giving_up() -> None:
    """It is not waited for by the next line either."""
    line = ScriptLine(FRAME, answers=(0,), signs=(LOG,))
    state = waits(line)
    state.spoken(1.0, (0,))
    state.turn(line, 1.0)
    state.give_up()
    state.turn(ScriptLine(FRAME, answers=(0,)), 2.0)

    assert 2.0 == state.ready_at
