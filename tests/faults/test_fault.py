"""What all faults have in common."""

from __future__ import annotations

from random import Random

import pytest

from mcpmock.faults.fault import Dice, Fault, MatchedMessage, PlanError
from mcpmock.faults.kinds.timing import Latency
from mcpmock.faults.match import Match, Subject
from mcpmock.faults.registry import KINDS
from mcpmock.faults.segments import On, message_kind
from mcpmock.protocol.messages import C2S, S2C, Direction, Frame
from tests.support import c2s, notification, post, replies, request, response, says, shown


def matched(unit: list[Frame], stream: int | None = None) -> MatchedMessage:
    subject = Subject(unit[-1], unit[-1].content, None)  # type: ignore[arg-type]
    return MatchedMessage(unit=unit, subject=subject, now=0, on=On.REQUEST, stream=stream)


def test_knobs_are_checked_in_python() -> None:
    """All that is out of its bounds is said at once, by the fault's name."""
    with pytest.raises(PlanError) as caught:
        Latency(name="slow", latency=-1, match=Match(probability=2, nth=0))

    assert ["slow: latency:", "slow: match.nth:", "slow: match.probability:"] == [
        mistake.rpartition(" expected")[0] for mistake in caught.value.mistakes
    ]
    assert 3 == caught.value.exit_code


def test_directions() -> None:
    """`toward` says which way; else what is usual for the kind."""
    assert [False, True] == [Latency(latency=1).goes(way) for way in (C2S, S2C)]
    assert [True, False] == [Latency(latency=1, toward="server").goes(way) for way in (C2S, S2C)]
    assert [True, True] == [Latency(latency=1, toward="both").goes(way) for way in (C2S, S2C)]


def test_kinds_of_messages() -> None:
    """A message is one of four things."""
    raws = (request(1, "a"), response(1), notification("a"), b"[]", b"banner")

    assert [On.REQUEST, On.RESPONSE, On.NOTIFICATION, On.OTHER, On.OTHER] == [
        message_kind(c2s(raw).content) for raw in raws
    ]


def test_another_message() -> None:
    """A message that was changed leaves its head without the length of the old one."""
    head = replies(1, 200, "application/json", content_length="10")
    changed = matched([head, *says(1, response(1))]).with_raw(b"new")

    assert [("content-type", "application/json")] == changed[0].fact.headers  # type: ignore[union-attr]
    assert b"new" == changed[1].raw


def test_an_answer_has_its_exchange() -> None:
    """Bare on stdio; a whole response over HTTP; over HTTP+SSE on the stream."""
    raw = request(1, "ping")

    assert [Frame(S2C, b"yes")] == matched([c2s(raw)]).answer(b"yes")
    assert ["3 200 application/json", "3 yes", "3 eof"] == shown(
        matched(post(3, raw)).answer(b"yes")
    )
    assert ["3 202 ", "3 eof", "1 yes"] == [
        line if "202" not in line else "3 202 "
        for line in shown(matched(post(3, raw), 1).answer(b"yes"))
    ]


@pytest.mark.parametrize(
    ("stream", "back", "on"), [(None, C2S, 3), (None, S2C, 3), (1, C2S, 3), (1, S2C, 1)]
)
def test_an_added_message_has_its_exchange(stream: int | None, back: Direction, on: int) -> None:
    """That of the message; over HTTP+SSE what goes to the client is on the stream."""
    assert on == matched(post(3, request(1, "ping")), stream).message(back, b"x").exchange


def test_dice_tell_what_they_gave() -> None:
    """What was drawn goes into the receipt."""
    dice = Dice(Random(1))
    number = dice.below("at", 10, 5)
    noise = dice.bytes("noise", 20)

    assert {"at": number, "noise": noise[:16].hex()} == dice.drawn
    assert 5 <= number < 10
    assert 5 == dice.below("at", 5, 5)


@pytest.mark.parametrize("kind", [kind for kind in KINDS.values() if kind.only is not None])
def test_a_kind_with_one_direction(kind: type[Fault]) -> None:
    """The other is refused; both is what there is of it."""
    other = "client" if kind.only == "server" else "server"

    with pytest.raises(PlanError, match=f"only for what goes to the {kind.only}"):
        kind(toward=other)  # type: ignore[arg-type]
    for fault in (kind(), kind(toward="both")):
        assert [kind.only == "server", kind.only == "client"] == [fault.goes(C2S), fault.goes(S2C)]
