"""Faults of content, where a row of the fault matrix cannot show all that they do."""

from __future__ import annotations

import json

import pytest

from mcpmock.faults.fault import PlanError
from mcpmock.faults.kinds.content import (
    Corrupt,
    Deep,
    Huge,
    IdTypeFlip,
    Inject,
    InvalidJson,
    InvalidUtf8,
    Replace,
    Truncate,
    UnsolicitedResponse,
    WrongId,
)
from tests.support import call, error, response, s2c
from tests.support.faulty import ANSWER, CALL, answered, body, faulty, on_stdio, receipts


@pytest.mark.parametrize("count", [1, 5])
def test_corrupt_bits_flip(count: int) -> None:
    """At most so many, no more, and the length is the same."""
    [said] = answered(Corrupt(bytes=count))
    flipped = sum((one ^ other).bit_count() for one, other in zip(ANSWER, said, strict=True))

    assert 1 <= flipped <= count
    assert b"\n" not in said


def test_corrupt_where_is_told() -> None:
    """The place is drawn."""
    wire = faulty(Corrupt())
    told = receipts(wire)
    [[frame]] = wire.pipeline.enter([s2c(ANSWER)], 0)

    assert ANSWER[told[0]["drawn"]["at0"]] != frame.raw[told[0]["drawn"]["at0"]]


def test_truncate_breaks_off() -> None:
    """After so many bytes, and the line ends."""
    assert [ANSWER[:10]] == answered(Truncate(keep=10))
    assert ["1 200 application/json", "1 " + ANSWER[:10].decode(), "1 eof"] == body(
        Truncate(keep=10)
    )


def test_truncate_where_is_drawn() -> None:
    """Somewhere inside, and told."""
    wire = faulty(Truncate())
    told = receipts(wire)
    [[frame]] = wire.pipeline.enter([s2c(ANSWER)], 0)

    assert ANSWER[: told[0]["drawn"]["keep"]] == frame.raw
    assert 1 <= len(frame.raw) < len(ANSWER)


def test_invalid_json_no_json() -> None:
    """A comma too many."""
    [said] = answered(InvalidJson())

    assert ANSWER == said.replace(b",,", b"")
    with pytest.raises(json.JSONDecodeError):
        json.loads(said)


def test_invalid_utf8_no_text() -> None:
    """A byte too many, in a string."""
    [said] = answered(InvalidUtf8())

    assert ANSWER == said.replace(b"\xff", b"")
    with pytest.raises(UnicodeDecodeError):
        said.decode()
    assert [b"\xffbanner"] == answered(InvalidUtf8(), CALL, b"banner")


def test_huge_is_longer() -> None:
    """By a member that a result may have, and otherwise the same."""
    [long] = answered(Huge(size=1000))
    value = json.loads(long)

    assert 1000 == len(value["result"].pop("mcpmock"))
    assert json.loads(ANSWER) == value


def test_huge_requests_and_errors() -> None:
    """In the params, or at the top."""
    [long] = on_stdio(Huge(size=9, toward="server"))[0]
    assert "x" * 9 == json.loads(long)["params"]["mcpmock"]

    [long] = answered(Huge(size=9), CALL, error(1))
    assert "x" * 9 == json.loads(long)["mcpmock"]


def test_deep_is_deeper() -> None:
    """By a member that a result may have."""
    [deep] = answered(Deep(depth=3))

    assert {"content": [], "mcpmock": [[[]]]} == json.loads(deep)["result"]
    assert 20_000 + len(ANSWER) < len(answered(Deep())[0])


def test_replace_another_text() -> None:
    """Byte for byte."""
    assert [b"  x\xc3\xa9"] == answered(Replace(text="  xé"))
    assert ["1 200 application/json", "1 x", "1 eof"] == body(Replace(text="x"))


def test_replace_another_result() -> None:
    """The same answer with another result; nothing else is replaced."""
    fault = Replace(result={"a": 1}, toward="both")

    assert ([CALL], [response(1, {"a": 1})]) == on_stdio(fault)


def test_replace_one_of_both() -> None:
    """Either the text or the result."""
    with pytest.raises(PlanError, match="either text or result"):
        Replace()


def test_inject_comes_besides() -> None:
    """In front, or behind."""
    assert [b"hey", ANSWER] == answered(Inject(text="hey"))
    assert [ANSWER, b"hey"] == answered(Inject(text="hey", behind=True))
    assert [b"hey", CALL] == on_stdio(Inject(text="hey", toward="server"))[0]


def test_inject_over_http() -> None:
    """On the stream that the answer comes on."""
    said = "1 " + ANSWER.decode()

    assert ["1 200 text/event-stream", "1 hey", said, "1 eof"] == body(Inject(text="hey"))


def test_inject_there_has_to_be_something() -> None:
    """Nothing cannot be injected."""
    with pytest.raises(PlanError, match="text: missing"):
        Inject()


def test_unsolicited_response_comes_in_front() -> None:
    """With an id of its own."""
    assert [response(999_999), ANSWER] == answered(UnsolicitedResponse())
    assert [response("z"), ANSWER] == answered(UnsolicitedResponse(id="z"))


def test_wrong_id_another_id() -> None:
    """The next number, another text, or the one that is said."""
    assert [response(2, {"content": []})] == answered(WrongId())
    assert [response("a-wrong")] == answered(WrongId(), call("a", "x"), response("a"))
    assert [response("z")] == answered(WrongId(id="z"), call("a", "x"), response("a"))


@pytest.mark.parametrize(("id_", "flipped"), [(1, "1"), ("1", 1), ("a", 0)])
def test_id_type_flip_flipped(id_: object, flipped: object) -> None:
    """Numbers become texts and texts numbers."""
    assert [response(flipped)] == answered(IdTypeFlip(), call(id_, "x"), response(id_))
