"""What a line waits for, and until when."""

from __future__ import annotations

from mcpmock.playback.client.expectations import Expectations, Patience
from mcpmock.playback.client.script import SERVER_END, ClientScript, ExpectedEvent, ScriptLine
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
    state.note_activity(5.0, (0, 1))
    state.start_line(line, 5.0)

    assert (None, 20.0) == (state.ready_at, state.until())
    state.answered(1, 6.0)
    assert (None, 15.0) == (state.ready_at, state.until())
    state.answered(0, 7.0)
    assert 7.0 == state.ready_at


def test_ready_once() -> None:
    """What comes later does not put off a line that waits for nothing more."""
    state = waits(line := ScriptLine(FRAME, answers=(0,)))
    state.note_activity(1.0, (0, 1))
    state.start_line(line, 1.0)
    state.answered(0, 2.0)
    assert 1.5 == state.answered(1, 2.5)

    assert 2.0 == state.ready_at


def test_what_was_not_answered() -> None:
    """What was given up, and what is open and was answered in the recording; not what was
    cancelled.
    """
    state = waits(line := ScriptLine(FRAME, answers=(0,)), c0=1.0, c1=1.0, c2=1.0)
    state.note_activity(1.0, (0, 1, 2, 3))
    state.start_line(line, 1.0)
    assert (True, False) == (state.cancelled(2), state.cancelled(2))
    state.give_up()

    assert (set(), [0, 1]) == (state.awaited, state.unanswered())


def test_signs() -> None:
    """They count whenever they come; what nobody waits for is not kept."""
    first, second = ScriptLine(FRAME, events=(LOG,)), ScriptLine(FRAME, events=(LOG, LOG))
    state = waits(first, second)
    state.note_event(LOG, 1.0)
    state.note_event(LOG, 1.0)
    state.note_event(("other", None), 1.0)
    state.start_line(first, 2.0)
    ready = [state.ready_at]

    state.start_line(second, 3.0)
    assert [LOG] == list(state.missing)
    assert [2.0, None] == [*ready, state.ready_at]
    state.note_event(LOG, 4.0)
    assert (4.0, []) == (state.ready_at, list(state._surplus))


def test_how_long_signs_are_waited_for() -> None:
    """From the last that was heard, but not for ever; longer while a call is open."""
    line = ScriptLine(FRAME, events=(LOG,), wait=3.0)
    state = waits(line)
    state.start_line(line, 1.0)
    state.note_activity(2.0)
    assert 2.5 == state.until()
    state.note_activity(100.0)
    assert 11.0 == state.until()

    state.note_activity(101.0, (0,))
    state.start_line(line, 101.0)
    assert 116.0 == state.until()
    state.cancelled(0)
    assert 101.5 == state.until()


def test_how_long_the_end_of_the_server_is_waited_for() -> None:
    """As long as an answer: a server that has ended is no longer asked."""
    line = ScriptLine(FRAME, events=(SERVER_END,), wait=3.0)
    state = waits(line)
    state.start_line(line, 1.0)
    state.note_activity(2.0)

    assert 16.0 == state.until()


def test_an_answer_that_no_line_waits_for_any_more() -> None:
    """What else it waits for it still waits for."""
    state = waits(line := ScriptLine(FRAME, answers=(0, 1)))
    state.note_activity(1.0, (0, 1))
    state.start_line(line, 1.0)
    state.forget(0, 2.0)
    assert ({1}, None) == (state.awaited, state.ready_at)
    state.forget(1, 3.0)

    assert 3.0 == state.ready_at


def test_giving_up() -> None:
    """It is not waited for by the next line either."""
    line = ScriptLine(FRAME, answers=(0,), events=(LOG,))
    state = waits(line)
    state.note_activity(1.0, (0,))
    state.start_line(line, 1.0)
    state.give_up()
    state.start_line(ScriptLine(FRAME, answers=(0,)), 2.0)

    assert 2.0 == state.ready_at
