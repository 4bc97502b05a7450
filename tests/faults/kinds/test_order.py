"""Faults of order, where a row of the fault matrix cannot show all that they do."""

from __future__ import annotations

from mcpmock.faults.kinds.order import Duplicate, Reorder, RespondTwice, SwapResponses
from mcpmock.faults.match import Match
from tests.support import answers, error, progress, response
from tests.support.faulty import ANSWER, CALL, answered, body, faulty, on_http


def test_duplicate_comes_again() -> None:
    """As often as `count` says."""
    assert [ANSWER] * 4 == answered(Duplicate(count=3))


def test_duplicate_comes_again_later() -> None:
    """Each copy after the one before."""
    wire = faulty(Duplicate(count=2, after=0.5))

    wire.at(0, server=ANSWER, to_client=ANSWER).at(0.5, to_client=ANSWER).at(1, to_client=ANSWER)
    wire.nothing_more()


def test_duplicate_over_http() -> None:
    """A body in JSON becomes an event stream, without the length that was right."""
    said = "1 " + ANSWER.decode()

    assert ["1 200 text/event-stream", said, said, "1 eof"] == body(Duplicate())


def test_duplicate_to_a_server_over_http() -> None:
    """The copy goes in an exchange of its own, whose answer is for nobody."""
    posted = "POST /mcp", CALL.decode()

    assert [f"{x} {said}" for x in (1, -1) for said in posted] == on_http(
        Duplicate(toward="server"),
        CALL,
        answers(-1, ANSWER),
    )[0]
    assert [] == body(Duplicate(toward="server"), CALL, answers(-1, ANSWER))


def test_reorder_is_overtaken() -> None:
    """By the next, or by more of them; not by what goes the other way."""
    wire = faulty(Reorder(match=Match(nth=1), behind=2))

    wire.at(0, server=b"a").at(0, client=b"x", to_server=b"x").at(0, server=b"b", to_client=b"b")
    wire.at(0, server=b"c", to_client=[b"c", b"a"]).nothing_more()


def test_reorder_does_not_wait_for_ever() -> None:
    """Where nothing comes behind it, it comes itself."""
    faulty(Reorder(at_most=2)).at(0, server=b"a").at(2, to_client=b"a").nothing_more()


def test_swap_responses_they_are_swapped() -> None:
    """Each comes with the other's id, the second first."""
    wire = faulty(SwapResponses())

    wire.at(0, server=response(1, {"a": 1})).at(0, server=progress(1), to_client=progress(1))
    swapped = [response(2, {"a": 1}), response(1, {"b": 2})]
    wire.at(0.5, server=response(2, {"b": 2}), to_client=swapped)
    wire.nothing_more()


def test_swap_responses_one_alone() -> None:
    """It comes as it was, and the next waits for another."""
    wire = faulty(SwapResponses(at_most=1))

    wire.at(0, server=response(1)).at(1, to_client=response(1)).at(2, server=response(2))
    wire.at(3, to_client=response(2)).nothing_more()


def test_respond_twice_twice() -> None:
    """The same, or an error besides."""
    failed = error(1, -32603).replace(b'"no"', b'"Internal error"')

    assert [ANSWER, ANSWER] == answered(RespondTwice())
    assert [ANSWER, failed] == answered(RespondTwice(second="error"))
    faulty(RespondTwice(after=1)).at(0, server=ANSWER, to_client=ANSWER).at(
        1, to_client=ANSWER
    ).nothing_more()


def test_respond_twice_over_http() -> None:
    """Both on one stream."""
    said = "1 " + ANSWER.decode()

    assert ["1 200 text/event-stream", said, said, "1 eof"] == body(RespondTwice())
