"""What is asserted of the calls in recordings."""

from __future__ import annotations

import pytest

from mcpmock.cassette.model import Cassette, event_line
from mcpmock.cassette.parser import read
from mcpmock.protocol.messages import Frame
from mcpmock.rules.call_assertions import CallAssertions, DurationLimit
from tests.rules.violations import opening
from tests.support import (
    HEADER,
    answers,
    batch,
    c2s,
    call,
    cancelled,
    error,
    in_session,
    over_http,
    post,
    replies,
    request,
    response,
    s2c,
)

FAILED = {"isError": True, "content": []}


def timed(*steps: tuple[int, Frame]) -> Cassette:
    """These frames behind a handshake, each so many milliseconds after the one before."""
    lines, now = [HEADER], 1000
    for n, (after, frame) in enumerate([*((0, frame) for frame in opening()), *steps], 1):
        now += after * 1000
        lines.append(event_line(n, now, frame))
    return read("a.jsonl", b"".join(lines))


def failing(cassette: Cassette, **asserted: object) -> list[tuple[int, str]]:
    """The events of the cases that are not as expected, and their texts."""
    found = CallAssertions(**asserted).judge(cassette)  # type: ignore[arg-type]
    return [(case.event, case.text) for case in found.cases if not case.ok]


@pytest.mark.parametrize(
    ("frames", "ok"),
    [
        ([c2s(call(1, "dig")), s2c(response(1))], True),
        ([c2s(call(1, "dig"))], False),
        ([c2s(call(1, "dig")), s2c(response(1, FAILED))], False),
        ([c2s(call(1, "dig")), s2c(error(1))], False),
        ([c2s(call(1, "dig")), c2s(cancelled(1)), s2c(response(1))], False),
        ([c2s(request(1, "prompts/get", {"name": "dig"})), s2c(response(1))], False),
        ([c2s(request(1, "tools/call", {"name": 5})), s2c(response(1))], False),
        ([c2s(batch(call(1, "x"), call(2, "dig"))), s2c(batch(response(2), response(1)))], True),
        (
            [c2s(call(1, "dig")), s2c(response(1, FAILED)), c2s(call(2, "dig")), s2c(response(2))],
            True,
        ),
    ],
)
def test_an_expected_tool_has_a_result(frames: list[Frame], ok: bool) -> None:
    """One that is no error; the first such call is the case."""
    found = CallAssertions(expected=("di*",)).judge(timed(*((1, frame) for frame in frames)))

    assert [("di*", True)] * ok == [(case.value, case.ok) for case in found.cases]


def test_a_forbidden_tool_is_not_called() -> None:
    """Answered or not, failed or not: each call is a case, globs are read with case."""
    frames = [c2s(call(1, "dig")), s2c(error(1)), c2s(call(2, "Dig")), c2s(call(3, "digs"))]
    cassette = timed(*((1, frame) for frame in frames))

    assert [(4, "tools/call dig #1 was called"), (7, "tools/call digs #3 was called")] == failing(
        cassette, forbidden=("dig*",)
    )
    assert [] == failing(cassette, forbidden=("bury*", "DIG"))


@pytest.mark.parametrize(
    ("steps", "texts"),
    [
        ([(1, c2s(call(1, "dig"))), (500, s2c(response(1)))], []),
        ([(1, c2s(call(1, "dig"))), (501, s2c(response(1)))], ["dig #1 took 0.501s"]),
        ([(1, c2s(call(1, "dig"))), (90_000, s2c(error(1)))], ["dig #1 took 90s"]),
        (
            [(1, c2s(call(1, "dig"))), (600, c2s(cancelled(1)))],
            ["dig #1 was cancelled after 0.6s"],
        ),
        ([(1, c2s(call(1, "dig"))), (400, c2s(cancelled(1))), (400, s2c(response(1)))], []),
        (
            [(1, c2s(call(1, "dig"))), (700, s2c(b'{"odd":1}'))],
            ["dig #1 had no answer after 0.7s"],
        ),
        ([(1, c2s(call(1, "dig"))), (300, s2c(b'{"odd":1}'))], []),
        ([(1, c2s(call(1, "bury"))), (700, s2c(response(1)))], []),
        ([(1, s2c(request(1, "roots/list"))), (700, c2s(response(1)))], []),
    ],
)
def test_how_long_a_tool_may_take(steps: list[tuple[int, Frame]], texts: list[str]) -> None:
    """From the request to its answer, its cancel, or the end of the take."""
    limit = DurationLimit("tool=d*,500ms", 0.5, "d*")

    assert [f"tools/call {text}" for text in texts] == [
        text for _, text in failing(timed(*steps), limits=(limit,))
    ]


def test_without_a_tool_the_limit_is_for_all_requests() -> None:
    """Of the client; a subscription stays open."""
    steps = [
        (1, c2s(request(1, "tools/list"))),
        (1, c2s(request(2, "subscriptions/listen"))),
        (700, s2c(response(1))),
    ]

    assert [(4, "tools/list #1 took 0.701s")] == failing(
        timed(*steps), limits=(DurationLimit("500ms", 0.5),)
    )


def test_what_was_not_recorded_is_no_failure() -> None:
    """Neither an answer that may be in a gap, nor the times that a canonical file lacks."""
    limits = (DurationLimit("1ms", 0.001),)
    lost = read(
        "a.jsonl",
        HEADER
        + event_line(1, 1, c2s(call(1, "dig")))
        + b'{"n":2,"t":900000,"gap":{"events":1,"bytes":9,"reason":"full"}}\n',
    )
    lines = (
        event_line(n, 0, frame) for n, frame in ((1, c2s(call(1, "x"))), (2, s2c(response(1))))
    )
    untimed = read("a.jsonl", HEADER + b"".join(lines))

    assert [] == failing(lost, limits=limits)
    assert ([], 1) == (
        failing(untimed, limits=limits),
        CallAssertions(limits=limits).judge(untimed).untimed,
    )


def test_over_http_a_refusal_is_an_answer() -> None:
    """An exchange that failed ends its requests; one that is sent again elsewhere is another."""
    refused = over_http(in_session(2, post(1, call(1, "dig")), replies(1, 401)))
    moved = over_http(
        in_session(2, post(1, call(1, "dig")), replies(1, 307, location="/new")),
        in_session(2, post(2, call(1, "dig"), to="/new"), answers(2, response(1))),
    )
    limit = DurationLimit("1us", 0.000001)
    texts = [[text for _, text in failing(one, limits=(limit,))] for one in (refused, moved)]

    assert [["tools/call dig #1 was refused after"], ["tools/call dig #1 took"]] == [
        [text.rpartition(" ")[0] for text in of] for of in texts
    ]


def test_nothing_asserted_reads_nothing() -> None:
    """An assertion without cases still says which tools were called, for the nearest name."""
    cassette = timed((1, c2s(call(1, "dig"))))

    assert set() == CallAssertions().judge(cassette).tools
    assert {"dig"} == CallAssertions(expected=("digg",)).judge(cassette).tools
