"""Faults of content, where a row of the fault matrix cannot show all that they do."""

from __future__ import annotations

import json

import pytest

from mcpmock.faults.fault import PlanError
from mcpmock.faults.kinds.content import (
    Corrupt,
    Huge,
    IdTypeFlip,
    Inject,
    InvalidUtf8,
    Replace,
    Truncate,
    WrongId,
)
from tests.support import call, error, response, s2c
from tests.support.faulty import ANSWER, CALL, answered, body, faulty, on_stdio, receipts


@pytest.mark.parametrize("count", [1, 5])
def test_corrupt_bits_flip(count: int) -> None:
    """At most so many, no more, and the length is the same."""
    [said] = answered(Corrupt(count=count))
    flipped = sum((one ^ other).bit_count() for one, other in zip(ANSWER, said, strict=True))

    assert 1 <= flipped <= count
    assert b"\n" not in said


def test_corrupt_breaks_no_line() -> None:
    """Whatever byte it is: of a vertical tab and a form feed another bit flips."""
    said = b"\x0b\x0c" * 8
    [flipped] = answered(Corrupt(count=16, match={}), CALL, said)

    assert said != flipped
    assert not {*b"\r\n"} & {*flipped}


def test_corrupt_where_is_told() -> None:
    """The place is drawn."""
    wire = faulty(Corrupt())
    told = receipts(wire)
    [[frame]] = wire.pipeline.enter([s2c(ANSWER)], 0)

    assert ANSWER[told[0]["drawn"]["at0"]] != frame.raw[told[0]["drawn"]["at0"]]


def test_truncate_where_is_drawn() -> None:
    """Somewhere inside, and told."""
    wire = faulty(Truncate())
    told = receipts(wire)
    [[frame]] = wire.pipeline.enter([s2c(ANSWER)], 0)

    assert ANSWER[: told[0]["drawn"]["bytes"]] == frame.raw
    assert 1 <= len(frame.raw) < len(ANSWER)


def test_invalid_utf8_no_text() -> None:
    """Where the message has no string, the byte comes first."""
    assert [b"\xffbanner"] == answered(InvalidUtf8(), CALL, b"banner")


def test_huge_requests_and_errors() -> None:
    """In the params, or at the top."""
    [long] = on_stdio(Huge(size=9, toward="server"))[0]
    assert "x" * 9 == json.loads(long)["params"]["mcpmock"]

    [long] = answered(Huge(size=9), CALL, error(1))
    assert "x" * 9 == json.loads(long)["mcpmock"]


def test_replace_one_of_both() -> None:
    """Either the text or the result."""
    with pytest.raises(PlanError, match="either text or result"):
        Replace()


def test_inject_comes_besides() -> None:
    """Behind the message."""
    assert [ANSWER, b"hey"] == answered(Inject(text="hey", behind=True))


def test_inject_over_http() -> None:
    """On the stream that the answer comes on."""
    said = "1 " + ANSWER.decode()

    assert ["1 200 text/event-stream", "1 hey", said, "1 eof"] == body(Inject(text="hey"))


def test_inject_there_has_to_be_something() -> None:
    """Nothing cannot be injected."""
    with pytest.raises(PlanError, match="text: missing"):
        Inject()


def test_wrong_id_another_id() -> None:
    """A number that no client counts up to, another text, or the one that is given."""
    assert [response(1_000_000_001, {"content": []})] == answered(WrongId())
    assert [response("a-wrong")] == answered(WrongId(), call("a", "x"), response("a"))
    assert [response("z")] == answered(WrongId(id="z"), call("a", "x"), response("a"))


@pytest.mark.parametrize(("id_", "flipped"), [(1, "1"), ("1", 1), ("a", 0)])
def test_id_type_flip_flipped(id_: object, flipped: object) -> None:
    """Numbers become texts and texts numbers."""
    assert [response(flipped)] == answered(IdTypeFlip(), call(id_, "x"), response(id_))
