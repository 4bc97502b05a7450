"""What the page says of a recording with one problem."""

from __future__ import annotations

import re
from typing import Any

import pytest

from mcpmock.cassette.model import Cassette
from mcpmock.cassette.parser import read
from mcpmock.rules.checker import Found, check
from mcpmock.view.lanes import TimeAxis
from mcpmock.view.problems import Problems
from mcpmock.view.report import PageRecording
from mcpmock.view.timeline import timeline
from tests.support import HEADER
from tests.support.one_problem import (
    ACCEPTED,
    ANSWER,
    ASKED,
    CALL,
    CALL_HTTP,
    CANCEL,
    END,
    GET,
    JSON,
    NOT_FOUND,
    ONE_PROBLEM,
    OPENING,
    OPENING_HTTP,
    POST,
    STREAM,
    UNAUTHORIZED,
    c2s,
    fact,
    head,
    outside,
    over_http,
    recording,
    s2c,
    stop,
    unauthorized,
)


def page_of(cassette: Cassette) -> dict[str, Any]:
    rows = timeline(cassette)
    return PageRecording(cassette, TimeAxis.over(rows)).add(rows, [])


def sentences(cassette: Cassette, **how: Any) -> list[str]:
    problems = Problems(cassette.takes)
    problems.add(timeline(cassette), [one for one in check(cassette) if isinstance(one, Found)])
    return [one.sentence for one in problems.all(**how)]


@pytest.mark.parametrize("name", ONE_PROBLEM)
def test_one_problem_is_one_sentence(name: str) -> None:
    """It says what happened, and why."""
    cassette, sentence = ONE_PROBLEM[name]

    assert [sentence] == sentences(cassette)


LISTEN = (
    '"id":9,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},'
    '"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",'
    '"io.modelcontextprotocol/clientInfo":{"name":"kit-client","version":"1.2"},'
    '"io.modelcontextprotocol/clientCapabilities":{}}}'
)
LISTEN_POST = POST.replace("2025-11-25", "2026-07-28").replace(
    "]]", '],["mcp-method","subscriptions/listen"]]'
)
NO_PROBLEM = {
    "a session": recording(*OPENING, c2s(10, CALL), s2c(12, ANSWER), fact(13, "c2s", END)),
    "a clean end": recording(*OPENING, fact(13, "c2s", END), stop(14, '{"exit":0}')),
    "a server that the client stopped": recording(
        *(*OPENING, fact(13, "c2s", END), fact(14, "s2c", END)), stop(15, '{"signal":15}')
    ),
    "a status of a signal": recording(
        *OPENING, fact(13, "c2s", '"end":{"signal":2}'), stop(15, '{"exit":130}')
    ),
    **{
        f"a status of a stop, {status}": recording(
            *OPENING, fact(13, "c2s", END), stop(15, f'{{"exit":{status}}}')
        )
        for status in (129, 137, 143, 149, 0xC000013A)
    },
    "a subscription, which stays open": recording(
        c2s(10, LISTEN), fact(13, "c2s", END), stop(14, '{"exit":0}')
    ),
    "a subscription that the client leaves": over_http(
        *outside(fact(10, "c2s", LISTEN_POST, 1), c2s(10, LISTEN, 1), fact(11, "s2c", STREAM, 1)),
        *outside(fact(12, "c2s", '"end":"closed"', 1)),
    ),
    "a cancelled call": recording(*OPENING, c2s(10, CALL), c2s(20, CANCEL)),
    "a token that was asked for": over_http(
        *(*unauthorized(9), *OPENING_HTTP, *CALL_HTTP[-2:]),
        *(fact(11, "s2c", JSON, 3), s2c(12, ANSWER, 3)),
    ),
    "places without what OAuth looks for": over_http(
        *OPENING_HTTP,
        fact(12, "c2s", GET.replace("/mcp", "/.well-known/oauth-protected-resource"), 3),
        fact(12, "s2c", NOT_FOUND, 3),
    ),
    "the endpoint of the older HTTP+SSE": over_http(
        *(fact(0, "c2s", GET, 1), fact(1, "s2c", STREAM, 1)),
        *(fact(1, "s2c", '"sse":{"event":"endpoint"}', 1), fact(1, "s2c", '"text":"/post"', 1)),
    ),
    "a token that is asked for again": over_http(
        *(*CALL_HTTP, fact(12, "s2c", UNAUTHORIZED, 3), fact(12, "s2c", END, 3)),
        *(fact(13, "c2s", POST, 4), c2s(13, CALL, 4), fact(14, "s2c", JSON, 4), s2c(14, ANSWER, 4)),
    ),
    "a cancel without sessions": over_http(
        *outside(*CALL_HTTP, fact(11, "s2c", STREAM, 3)),
        *outside(fact(12, "c2s", POST, 4), c2s(12, CANCEL, 4), fact(12, "s2c", ACCEPTED, 4)),
        *outside(s2c(13, ANSWER, 3)),
    ),
    "no stream of the server's own": over_http(
        *(*OPENING_HTTP, fact(12, "c2s", GET, 3)),
        fact(12, "s2c", head('"status":405,"reason":"Method Not Allowed"'), 3),
    ),
}


@pytest.mark.parametrize("name", NO_PROBLEM)
def test_what_is_regular_is_no_problem(name: str) -> None:
    assert [] == sentences(NO_PROBLEM[name])


def test_a_crash_after_the_client_left_counts() -> None:
    """Only a signal that clients send ends a server regularly."""
    cassette = recording(*OPENING, fact(13, "c2s", END), stop(15, '{"signal":11}'))

    assert ["the server was ended by signal 11"] == sentences(cassette)


def test_a_miss_comes_before_the_rules_that_a_recording_broke() -> None:
    """It is why a test fails; what the recorded server did is not."""
    missed = (
        '"id":1,"error":{"code":-31999,"message":"mcpmock: nothing recorded answers tools/call"}'
    )
    cassette = recording(*OPENING, s2c(7, '"id":41,"result":{}'), c2s(10, CALL), s2c(12, missed))

    assert [
        "tools/call weather #1 failed: nothing recorded answers tools/call",
        "the server broke a rule: an answer with the id 41, which no request has "
        "[answers-nothing, event 4]",
    ] == sentences(cassette)


def test_what_still_runs_may_be_answered() -> None:
    """In a recording that grows, an open call is a problem once the server's process has ended."""
    asked = recording(*OPENING, c2s(10, CALL))
    ended = recording(*OPENING, c2s(10, CALL), stop(40, '{"exit":7}'))

    assert [] == sentences(asked, ended=False)
    assert 1 == len(sentences(ended, ended=False))


def test_each_take_has_its_own_problems() -> None:
    """The second one's request is not answered by the end of the first one's server."""
    take = HEADER + b"".join(
        b'{"n":%d,%b}\n' % (n, line.encode())
        for n, line in enumerate((c2s(0, ASKED), stop(9, '{"exit":1}')), 1)
    )
    cassette = read("a.jsonl", take * 2)
    problems = Problems(cassette.takes)
    problems.add(timeline(cassette), [])

    for _ in range(2):  # asked again, it says the same
        assert [[0, 1], [2, 3]] == [one.rows for one in problems.all()]
        assert ["take 1: ", "take 2: "] == [one.sentence[:8] for one in problems.all()]


def test_what_may_be_missing_is_not_claimed() -> None:
    """In a gap there may have been an answer, or the request that an error answers."""
    failed = '"id":7,"error":{"code":-32602,"message":"no"}'
    cassette = recording(
        *(*OPENING, c2s(10, CALL), '"t":11000,"gap":{"events":3,"reason":"disk full"}'),
        *(s2c(12, failed), fact(13, "c2s", END), stop(14, '{"exit":0}')),
    )

    assert ["3 events could not be recorded: disk full"] == sentences(cassette)


def test_the_worst_comes_first() -> None:
    """What nobody answered stands before what was answered with an error."""
    failed = '"id":1,"error":{"code":-32602,"message":"no"}'
    cassette = recording(
        *(*OPENING, c2s(10, CALL), s2c(12, failed)),
        *(c2s(13, CALL.replace(":1,", ":2,")), stop(40, '{"exit":7}')),
    )

    assert ["#2 was never answered", "#1 failed"] == [
        re.findall(r"#\d [a-z ]+", text)[0] for text in sentences(cassette)
    ]


def test_the_page_says_it() -> None:
    """In its head, with the rows; each is a stop of `n`, and so is the end that explains it."""
    cassette, sentence = ONE_PROBLEM["crash at start"]
    data = page_of(cassette)

    assert [[sentence, [0, 3], False]] == [list(one) for one in data["happened"]]
    assert [0, 3] == data["problems"]


def test_what_it_is() -> None:
    """Who spoke to whom, what was started, when, how long, and how it ended."""
    header = HEADER.replace(b'"tool"', b'"target":["node","server.js"],"tool"')
    cassette = recording(*OPENING, fact(380, "c2s", END), stop(389, '{"exit":0}'), header=header)

    assert [
        "kit-client 1.2 → kit-server 3.4",
        "node server.js",
        "2026-11-20 10:00 UTC",
        "389 ms",
        "exit 0",
    ] == page_of(cassette)["subject"]


def test_names_of_the_modern_revision() -> None:
    """There they stand in `_meta`."""
    meta = '"_meta":{"io.modelcontextprotocol/%s":{"name":"%s","version":"2"}}'
    cassette = recording(
        c2s(0, '"id":1,"method":"tools/list","params":{%s}' % (meta % ("clientInfo", "c"))),
        s2c(1, '"id":1,"result":{"tools":[],%s}' % (meta % ("serverInfo", "s"))),
    )

    assert "c 2 → s 2" == page_of(cassette)["subject"][0]
