"""Lines that frames stand in, and what goes together."""

from __future__ import annotations

from mcpmock.faults.batch_order import accepting, add, lines_of, way_of, without_length
from mcpmock.faults.match import Subject
from mcpmock.pipeline.stage import Action, Hangup, Send
from mcpmock.protocol.correlation import PendingCall
from mcpmock.protocol.messages import C2S, S2C, Request, parse
from tests.support import answers, c2s, ends, hangs_up, request, response, s2c, says, shown

CALL = request(1, "tools/call", {"name": "x"})


def about(frame: object) -> Subject:
    asked = parse(CALL)
    assert isinstance(asked, Request)
    return Subject(frame, None, "tools/call", PendingCall(0, C2S, asked, None))  # type: ignore[arg-type]


def test_lines() -> None:
    """A call's, an exchange's, a stream's for its end; beside an event stream none of a call."""
    call, other = (S2C, C2S, b"1"), s2c(b"x")
    answer, end, told = s2c(response(1)), hangs_up(S2C), says(3, response(1))

    assert [call] == list(lines_of([answer], about(answer), None))
    assert [] == list(lines_of([other], Subject(other, None, None), None))
    assert [(S2C, None)] == list(lines_of([end], Subject(end, None, None), None))
    assert [call, (S2C, 3)] == list(lines_of(told, about(told[-1]), None))
    assert [call] == list(lines_of(told, about(told[-1]), 3))
    assert [(S2C, 4)] == list(lines_of([ends(4)], about(ends(4)), 3))
    assert (C2S, None) == way_of([c2s(b"x")])


def test_batches() -> None:
    """What goes the same way at once is one, and nothing else is put together."""
    actions: list[Action] = []
    add(actions, [Send([c2s(b"a")]), Send([c2s(b"b")]), Send([s2c(b"c")]), Hangup()])

    assert [2, 1] == [len(one.frames) for one in actions if isinstance(one, Send)]


def test_answers_of_our_own() -> None:
    """A POST is accepted; on stdio there is none."""
    assert () == accepting(None)
    assert ["1 202", "1 eof"] == [
        line for one in accepting(1) if isinstance(one, Send) for line in shown(one.frames)
    ]


def test_lengths() -> None:
    """Only of these exchanges they are left out."""
    counted = answers(1, CALL, content_length="9")
    kept = without_length(Send(counted), {2})
    left = without_length(Send(counted), {1})

    assert Send(counted) == kept
    assert isinstance(left, Send)
    assert "content-length" not in repr(left.frames[0].fact)
    assert Hangup() == without_length(Hangup(), {1})
