"""Which messages a fault is for, and when it is the right one of them."""

from __future__ import annotations

import re
from random import Random
from typing import Any

import pytest

from mcpmock.faults.fault import PlanError
from mcpmock.faults.match import Match, MatchPlace, Subject, Turn, concerns, fits
from mcpmock.faults.registry import KINDS
from mcpmock.protocol.correlation import Attribution, Correlation
from mcpmock.protocol.messages import Request
from tests.support import c2s, call, notification, request, response, s2c


def subject(raw: bytes) -> Subject:
    frame = c2s(raw)
    message = frame.content
    assert isinstance(message, Request)
    return Subject(
        frame, message, message.method, Correlation().note(frame.direction, message, 0).call
    )


def answered(raw: bytes, answer: bytes) -> Subject:
    session = Correlation()
    session.note(c2s(raw).direction, c2s(raw).content, 0)  # type: ignore[arg-type]
    note: Attribution = session.note(s2c(answer).direction, s2c(answer).content, 1)  # type: ignore[arg-type]
    return Subject(s2c(answer), s2c(answer).content, note.method, note.call)  # type: ignore[arg-type]


WEATHER = call(5, "get_weather", city="Oslo", days=1)
PLACE = MatchPlace(session=2, transport="sse", era="2025-11-25", phase="running")


@pytest.mark.parametrize(
    ("match", "does"),
    [
        ({}, True),
        ({"method": "tools/*"}, True),
        ({"method": "tools"}, False),
        ({"tool": "get_*"}, True),
        ({"tool": "set_*"}, False),
        ({"prompt": "*"}, False),
        ({"uri": "*"}, False),
        ({"id": 5}, True),
        ({"id": "5"}, False),
        ({"session": 2}, True),
        ({"session": 1}, False),
        ({"transport": "sse"}, True),
        ({"transport": "stdio"}, False),
        ({"era": "2025-*"}, True),
        ({"era": "2026-*"}, False),
        ({"phase": "running"}, True),
        ({"phase": "handshake"}, False),
        ({"path": "$.params.arguments.city"}, True),
        ({"path": "$.params.arguments.town"}, False),
        ({"path": "$.arguments.city"}, True),
        ({"path": "$.arguments.town"}, False),
        ({"path": "arguments.city", "equals": "Oslo"}, True),
        ({"path": "arguments['city']"}, True),
        ({"path": "arguments.town"}, False),
        ({"path": "method|result", "equals": "tools/call"}, True),
        ({"path": "params.arguments.city"}, True),
        ({"path": "$.arguments.city", "equals": "Oslo"}, True),
        ({"path": "$.params.arguments.city", "equals": "Oslo"}, True),
        ({"path": "$.params.arguments.city", "equals": "Bergen"}, False),
        ({"path": "$.params.arguments.days", "equals": 1}, True),
        ({"path": "$.params.arguments.days", "equals": True}, False),
        ({"tool": "get_*", "id": 6}, False),
    ],
)
def test_conditions(match: dict[str, Any], does: bool) -> None:
    """All that is named has to hold, for a request and for what answers it."""
    assert does is fits(Match(**match), subject(WEATHER), PLACE)
    assert does is fits(Match(**match), answered(WEATHER, response(5)), PLACE)


@pytest.mark.parametrize(
    ("path", "does"),
    [
        ({"path": "$.params"}, False),
        ({"path": "$.params", "equals": None}, False),
        ({"path": "$['params']"}, False),
        ({"path": "$[?@ == null]"}, False),
        ({"path": "$.params._meta"}, False),
        ({"path": "$.method", "equals": "ping"}, True),
    ],
)
def test_a_request_without_parameters(path: dict[str, Any], does: bool) -> None:
    """Neither it nor what answers it has any."""
    assert does is fits(Match(**path), subject(request(5, "ping")), PLACE)
    assert does is fits(Match(**path), answered(request(5, "ping"), response(5)), PLACE)


@pytest.mark.parametrize(
    ("spelled", "id_", "does"),
    [
        (rb'"\u00fc"', "ü", True),
        (rb'"a\/b"', "a/b", True),
        (b"1e2", 100, True),
        (b'"100"', 100, False),
        (b"100", "100", False),
    ],
)
def test_an_id_in_any_spelling(spelled: bytes, id_: int | str, does: bool) -> None:
    """Escapes and exponents are one value; a text is no number."""
    asked = c2s(b'{"jsonrpc":"2.0","id":%b,"method":"ping"}' % spelled)
    assert does is fits(Match(id=id_), subject(asked.raw), PLACE)


def test_what_has_no_id() -> None:
    """A notification, and what is no message."""
    told = c2s(notification("notifications/roots/list_changed"))
    garbage = c2s(b"x")

    assert not fits(Match(id=5), Subject(told, told.content, None), PLACE)  # type: ignore[arg-type]
    assert not fits(Match(id=5), Subject(garbage, None, None), PLACE)


def test_other_names() -> None:
    """A prompt by its name, a resource by its URI."""
    prompt = subject(request(1, "prompts/get", {"name": "greet"}))
    resource = subject(request(1, "resources/read", {"uri": "file:///a/b"}))

    assert fits(Match(prompt="greet"), prompt, PLACE)
    assert not fits(Match(tool="greet"), prompt, PLACE)
    assert fits(Match(uri="file:///a/*"), resource, PLACE)
    assert not fits(Match(uri="http:*"), resource, PLACE)


@pytest.mark.parametrize("params", [None, [], ["x"], {}, {"name": 1}, {"name": None}, {"uri": "x"}])
def test_a_call_without_a_name(params: Any) -> None:
    """It is about no tool, whatever else it has."""
    asked = subject(request(1, "tools/call", params))

    assert not fits(Match(tool="*"), asked, PLACE)
    assert fits(Match(method="tools/call"), asked, PLACE)


def turns(match: Match, count: int = 12) -> list[int]:
    turn, random = Turn(match), Random(1)
    return [n for n in range(1, count + 1) if turn.comes(float(n), random, {})]


@pytest.mark.parametrize(
    ("match", "which"),
    [
        ({"nth": 2}, [2]),
        ({"every": 4}, [4, 8, 12]),
        ({"after": 10}, [11, 12]),
        ({"times": 2}, [1, 2]),
        ({"after": 3, "nth": 2}, [5]),
        ({"after": 3, "every": 4, "times": 1}, [7]),
        ({"between": (3.0, 4.5)}, [3, 4]),
        ({"probability": 0.0}, []),
    ],
)
def test_turns(match: dict[str, Any], which: list[int]) -> None:
    """Of those that fit, counted from 1."""
    assert which == turns(Match(**match))


def test_probability() -> None:
    """Drawn for each, the same for the same seed, and told."""
    drawn: dict[str, Any] = {}
    Turn(Match(probability=0.5)).comes(0, Random(1), drawn)

    assert {"probability": Random(1).random()} == drawn
    assert turns(Match(probability=0.3), 1000) == turns(Match(probability=0.3), 1000)
    assert 250 < len(turns(Match(probability=0.3), 1000)) < 350


def test_concerns() -> None:
    """What belongs to a request may fit if its call does."""
    asked = subject(WEATHER).message
    assert isinstance(asked, Request)

    assert concerns(Match(tool="get_*"), asked)
    assert concerns(Match(method="notifications/progress"), asked)
    assert not concerns(Match(method="tools/list"), asked)
    assert not concerns(Match(tool="x"), asked)


@pytest.mark.parametrize(
    ("kind", "match", "mistake"),
    [
        ("progress_decreasing", {"method": "tools/call"}, "the fault acts on no tools/call"),
        ("progress_unknown_token", {"method": "tools/*"}, "the fault acts on no tools"),
        ("no_initialized", {"method": "initialize"}, "the fault acts on no initialize"),
        ("error", {"method": "notifications/progress"}, "the fault acts on no notifications"),
        ("error", {"method": "GET"}, "the fault acts on no GET"),
        ("capability_lie", {"method": "tools/list"}, "acts on initialize and server/discover"),
        ("tool_vanishes", {"method": "prompts/list"}, "acts on tools/call and tools/list"),
        ("drop", {"method": "tools/list", "tool": "x"}, "tools/list has no tool"),
        ("cursor_loop", {"tool": "x"}, "has no tool"),
        ("version_mismatch", {"uri": "x"}, "initialize has no uri"),
        ("drop", {"tool": "x", "prompt": "y"}, "a message with a tool has no prompt"),
        ("down", {"method": "initialize"}, "the fault acts on no message"),
        ("ignore_eof", {"id": 1}, "the fault acts on no message"),
        ("http_status", {"transport": "stdio"}, "the kind does not exist over stdio"),
        ("drop", {"transport": "htpp"}, "match.transport: expected one of stdio, sse"),
        ("drop", {"phase": "runing"}, "match.phase: expected one of handshake, running"),
        ("drop", {"nth": 2, "every": 3}, "nth = 2 is no multiple of 3"),
        ("drop", {"between": ("5s", "2s")}, "it ends before it begins"),
        ("drop", {"equals": 1}, "match.equals: only with a path"),
        ("drop", {"path": "$.arguments["}, "match.path: no JSONPath: unexpected end of query"),
        ("drop", {"path": "$.a[?@.b ==]", "equals": 1}, "match.path: no JSONPath: "),
        ("drop", {"path": "$.a b"}, "match.path: no JSONPath: "),
    ],
)
def test_a_match_that_can_never_match(kind: str, match: dict[str, Any], mistake: str) -> None:
    """It is refused with the plan."""
    with pytest.raises(PlanError, match=re.escape(mistake)):
        KINDS[kind](match=match)


@pytest.mark.parametrize(
    ("kind", "match"),
    [
        ("progress_decreasing", {"tool": "x"}),
        ("progress_decreasing", {"method": "notifications/*"}),
        ("drop", {"method": "notifications/progress", "tool": "x"}),
        ("drop", {"method": "*", "uri": "file:*"}),
        ("drop", {"method": "resources/*", "uri": "file:*"}),
        ("error", {"method": "vendor/own"}),
        ("drop", {"method": "notifications/vendor"}),
        ("no_initialized", {"method": "notifications/vendor"}),
        ("http_status", {"method": "GET"}),
        ("slow_close", {"tool": "x"}),
        ("tool_error", {"method": "tools/call"}),
        ("list_changed_storm", {"method": "tools/list"}),
        ("drop", {"nth": 6, "every": 3}),
    ],
)
def test_a_match_that_can_match(kind: str, match: dict[str, Any]) -> None:
    """Names that the protocol does not have can be those of an extension."""
    KINDS[kind](match=match)
