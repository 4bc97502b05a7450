"""What faults have made of one message so far."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from mcpmock.faults.fault import MatchedMessage
from mcpmock.faults.kinds.connection import ResetPeer
from mcpmock.faults.kinds.loss import Drop
from mcpmock.faults.match import Subject
from mcpmock.faults.segments import On, Unit
from mcpmock.faults.triggers import Outcome
from mcpmock.pipeline.stage import Hangup, Send
from mcpmock.protocol.messages import S2C, Frame, SseMeta
from tests.support import c2s, s2c

FAULT = Drop()
MESSAGE = s2c(b"a")


def matched(outcome: Outcome) -> MatchedMessage:
    assert outcome.carried is not None
    return MatchedMessage(
        unit=outcome.carried.frames, subject=Subject(MESSAGE, None, None), now=0, on=On.OTHER
    )


def test_the_message_is_told_from_the_rest() -> None:
    """It is the very unit that was given, or else the first that goes the same way."""
    outcome = Outcome(Send([MESSAGE]))
    given = matched(outcome)
    before, behind = Send([s2c(b"<")]), Send([s2c(b">")])
    outcome.add(FAULT, [before, Send(given.unit), behind], given)

    assert (given.unit, [before], [behind]) == (
        outcome.carried and outcome.carried.frames,
        [action for _, action in outcome.first],
        [action for _, action in outcome.then],
    )
    other = Send([s2c(b"b")])
    outcome.add(FAULT, [Send([c2s(b"x")]), other], matched(outcome))
    assert other is outcome.carried
    assert [b"b", b"<", b"x", b">"] == [frame.raw for frame in outcome.frames()]


def test_delays_add_up() -> None:
    """All that a later fault does is counted from the message's arrival."""
    outcome = Outcome(Send([MESSAGE], 2))
    given = matched(outcome)
    outcome.add(FAULT, [Send(given.unit, 1), Hangup("x", 3)], given)

    assert outcome.carried is not None
    assert 3 == outcome.carried.after
    assert [Hangup("x", 5)] == [action for _, action in outcome.then]


@pytest.mark.parametrize("last", [[Send([s2c(b"a", b"")])], []])
def test_nothing_comes_behind_the_end_of_the_stream(last: list[Send]) -> None:
    """What goes the other way does, and what ends the session, behind what the fault does itself;
    the message may be gone.
    """
    outcome = Outcome(Send([MESSAGE]))
    given = matched(outcome)
    other, hangup, own = Send([c2s(b"<")]), Hangup("x"), Hangup("y")
    outcome.add(FAULT, [Send(given.unit), Send([s2c(b">")]), other, hangup], given)
    outcome.add(ResetPeer(), [*last, own], given)

    assert [own, other, hangup] == [action for _, action in outcome.then]


def parts(frames: Sequence[Frame]) -> str:
    """The texts of messages; an event's fields are a colon."""
    return "".join(":" if frame.fact is not None else frame.raw.decode() for frame in frames)


@pytest.mark.parametrize(
    ("carried", "first", "own", "then"),
    [
        ("a", [], "a", []),
        (":a", [], ":a", []),
        ("xa", ["x"], "a", []),
        (":x:a", [":x"], ":a", []),
        (":xya", [":xy"], "a", []),
        ("a:x", [], "a", [":x"]),
        ("axy", [], "a", ["xy"]),
        ("x:ay", ["x"], ":a", ["y"]),
        ("x:y", ["x"], ":y", []),
        ("aa", [], "a", ["a"]),
    ],
)
def test_the_message_is_parted_from_those_beside_it(
    carried: str, first: list[str], own: str, then: list[str]
) -> None:
    """Each with what stands in front of it; where it was replaced, the last one is it."""
    frames = [Frame(S2C, fact=SseMeta()) if text == ":" else s2c(text.encode()) for text in carried]
    behind = Hangup("x")
    outcome = Outcome(Send(frames, 2), fired=[FAULT], then=[(FAULT, behind)])
    outcome.part_messages(Unit([MESSAGE]))

    assert outcome.carried is not None
    assert (own, 2) == (parts(outcome.carried.frames), outcome.carried.after)
    assert [*then, behind] == [
        parts(action.frames) if isinstance(action, Send) else action for _, action in outcome.then
    ]
    sent = [action for _, action in outcome.first if isinstance(action, Send)]
    assert first == [parts(action.frames) for action in sent]
    assert all(action.after == 2 for action in sent)


def test_only_frames_are_posted() -> None:
    """A `Send` of nothing, and what is no `Send`, stay as they are."""
    nothing, hangup = Send([]), Hangup("x")
    outcome = Outcome(Send([MESSAGE]), first=[(FAULT, nothing)], then=[(FAULT, hangup)])
    outcome.post_frames(lambda frames: [c2s(b"head"), *frames])

    assert [nothing, hangup] == [action for _, action in (*outcome.first, *outcome.then)]
    assert [b"head", b"a"] == [frame.raw for frame in outcome.frames()]


def test_what_is_gone() -> None:
    """There is no message any more."""
    outcome = Outcome(Send([MESSAGE]))
    outcome.add(FAULT, [], matched(outcome))

    assert (None, [FAULT], []) == (outcome.carried, outcome.fired, list(outcome.frames()))
