"""What a recording shows of how its server takes heads."""

from __future__ import annotations

import pytest

from mcpmock.playback.header_verdicts import HeaderVerdicts, contradict
from mcpmock.playback.request_key import MatchSubject

BASE = {"method": "POST", "host": "own", "origin": "absent"}


def asked(method: str = "x", **fields: str) -> MatchSubject:
    named = {name.replace("_", "-"): value for name, value in fields.items()}
    return MatchSubject(method, {}, {**BASE, **named})


def test_what_was_only_ever_refused() -> None:
    """A field that no accepted request had is what the server refuses."""
    verdicts = HeaderVerdicts.of([(asked(accept="a"), 406), (asked(accept="b", mcp_name="n"), 200)])

    assert verdicts.refused(asked(accept="a", mcp_name="n"))
    assert verdicts.refused(asked(accept="b"))  # mcp-name is not there: it was not in the refused
    assert not verdicts.refused(asked(accept="c", mcp_name="n"))


def test_what_was_refused_once_and_taken_once() -> None:
    """A refusal for another reason says nothing of a field."""
    verdicts = HeaderVerdicts.of([(asked(accept="a"), 404), (asked(accept="a"), 200)])

    assert not verdicts.refused(asked(accept="a"))


def test_methods_are_apart() -> None:
    """What is missing for one method is not missing for another."""
    verdicts = HeaderVerdicts.of(
        [(asked("x"), 400), (asked("x", mcp_name="n"), 200), (asked("y"), 200)]
    )

    assert [True, False, False] == [verdicts.refused(asked(m)) for m in ("x", "y", "z")]


def test_what_has_no_head_shows_nothing() -> None:
    """Messages without a head, or without a response, are left out."""
    verdicts = HeaderVerdicts.of([(MatchSubject("x", {}), 400), (asked(accept="a"), None)])

    assert not verdicts.refused(asked(accept="a"))
    assert not verdicts.refused(MatchSubject("x", {}))


@pytest.mark.parametrize(
    ("recorded", "live", "expected"),
    [
        ({"mcp-method": "a"}, {"mcp-method": "a"}, False),
        ({"mcp-method": "a"}, {"mcp-method": "b"}, True),
        ({"mcp-method": "a"}, {}, False),
        ({}, {"mcp-method": "b"}, False),
        ({"mcp-param-k": "1"}, {"mcp-param-k": "2"}, True),
        ({"mcp-param-k": "mcpmock:secret:token:1"}, {"mcp-param-k": "2"}, False),
        ({"accept": "a"}, {"accept": "b"}, False),
    ],
)
def test_contradictions(recorded: dict[str, str], live: dict[str, str], expected: bool) -> None:
    """Only fields that mirror the body can contradict it."""
    assert expected is contradict(recorded, live)
