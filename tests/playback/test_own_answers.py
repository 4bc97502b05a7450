"""What mcpmock says in its own name."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcpmock.playback.matcher import STUBBED, Miss, NearMiss
from mcpmock.playback.own_answers import (
    empty_result,
    exchange,
    method_not_found,
    miss_error,
    parse_error,
    session_not_found,
    too_long,
)
from mcpmock.playback.variables import Mismatch
from mcpmock.protocol.messages import HttpResponse
from tests.support import s2c, shown

MISS = Miss(
    "tools/call",
    (
        NearMiss(12, "different", (Mismatch("$.city", "Oslo", "Rome"),)),
        NearMiss(3, "already used"),
        NearMiss(STUBBED, "stubbed"),
    ),
)


def value(raw: bytes) -> Any:
    return json.loads(raw)


@pytest.mark.parametrize("id_", [b"1", b'"1"', b"1.0", b"null", b'"\\ud800"'])
def test_ids_keep_their_spelling(id_: bytes) -> None:
    """Every answer carries the id as the client spelled it."""
    for frame in (
        empty_result(id_),
        method_not_found(id_, "x"),
        miss_error([id_], MISS, batch=False),
    ):
        assert b'"id":%b,' % id_ in frame.raw


def test_a_ping_is_answered_with_nothing() -> None:
    """The answer to a ping is empty."""
    assert {"jsonrpc": "2.0", "id": 1, "result": {}} == value(empty_result(b"1").raw)


def test_a_probe_is_answered_as_older_servers_do() -> None:
    """A method that is not there is -32601."""
    assert -32601 == value(method_not_found(b"1", "server/discover").raw)["error"]["code"]


def test_a_miss_explains_itself() -> None:
    """A miss is -32099, names the method and the nearest recorded requests with what differs and
    why.
    """
    error = value(miss_error([b"1"], MISS, batch=False).raw)["error"]

    assert -32099 == error["code"]
    assert "tools/call" in error["message"]
    assert [
        {
            "event": 12,
            "why": "different",
            "differences": [{"path": "$.city", "recorded": "Oslo", "live": "Rome"}],
        },
        {"event": 3, "why": "already used", "differences": []},
        {"event": None, "why": "stubbed", "differences": []},
    ] == error["data"]["near"]


def test_a_miss_of_a_batch_answers_each_request() -> None:
    """Each request of a batch gets its own error, in one batch."""
    answers = value(miss_error([b"1", b'"a"'], MISS, batch=True).raw)

    assert [(1, -32099), ("a", -32099)] == [(one["id"], one["error"]["code"]) for one in answers]


@pytest.mark.parametrize(
    "odd", ["\ud800", b"raw", 10**30, 1e300, float("inf"), None, [{"a": "\udfff"}]]
)
def test_a_miss_can_tell_of_any_value(odd: Any) -> None:
    """Whatever stands in the recording or in the live request, the miss can be told."""
    miss = Miss("x", (NearMiss(1, "different", (Mismatch("$.a", odd, odd),)),))

    assert -32099 == value(miss_error([b"1"], miss, batch=False).raw)["error"]["code"]


def test_a_miss_of_an_odd_method() -> None:
    """A method that no encoder takes can be named too."""
    for frame in (
        miss_error([b"1"], Miss("\ud800", ()), batch=False),
        method_not_found(b"1", "\ud800"),
    ):
        assert 1 == value(frame.raw)["id"]


def test_too_long() -> None:
    """A message too long to look at is an invalid request without an id."""
    answer = value(too_long(70_000_000).raw)

    assert (None, -32600) == (answer["id"], answer["error"]["code"])


def test_whole_exchanges() -> None:
    """Over HTTP a message comes in a response of its own; bare ones come alone."""
    assert ["7 202", "7 eof"] == shown(exchange(7, 202))
    assert ["7 400 application/json", "7 x", "7 eof"] == shown(exchange(7, 400, s2c(b"x")))
    assert [s2c(b"x")] == exchange(None, 400, s2c(b"x"))
    assert [] == exchange(None, 202)


def test_a_refused_method() -> None:
    """A 405 names the method that is taken, and every status has its phrase."""
    head = exchange(7, 405)[0].fact

    assert HttpResponse(405, "Method Not Allowed", [("Allow", "POST")]) == head


def test_sessions_that_are_not_there() -> None:
    """The error has the id of the one request that it is for."""
    assert [1, None, None] == [
        value(session_not_found(ids).raw)["id"] for ids in ([b"1"], [], [b"1", b"2"])
    ]


def test_what_nobody_can_read() -> None:
    """A parse error has no id."""
    answer = value(parse_error().raw)

    assert (None, -32700) == (answer["id"], answer["error"]["code"])
