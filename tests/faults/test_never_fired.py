"""Why a fault never fired."""

from __future__ import annotations

from typing import Any

import pytest

from mcpmock.faults.control import plan_of
from mcpmock.faults.match import Turn
from mcpmock.faults.never_fired import Asked, reason_of

ASKED: list[Asked] = [
    ("initialize", {}),
    ("tools/call", {"name": "get_weather", "arguments": {}}),
    ("prompts/get", {"name": "greet"}),
    ("resources/read", {"uri": "file:///a"}),
    ("tools/call", {}),  # names none
]


def reason(fault: str, seen: int = 0, taken: int = 0, **more: Any) -> str:
    [one] = plan_of(fault).faults
    given = {"spoken": {"stdio"}, "asked": ASKED, **more}
    return reason_of(one, Turn(one.match, seen=seen, taken=taken), **given)


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ("drop:tool=get_wether",
         "no client called the tool 'get_wether'; did you mean get_weather?"),
        ("drop:tool=x", "no client called the tool 'x', only get_weather"),
        ("drop:tool=set_*", "no client called the tool 'set_*', only get_weather"),
        ("drop:prompt=gret", "no client asked for the prompt 'gret'; did you mean greet?"),
        ("drop:uri='file:///b'", "no client asked for the resource 'file:///b'; "
         "did you mean file:///a?"),
        ("drop:method=tools/cal", "neither side sent tools/cal; did you mean tools/call?"),
        ("drop:method=prompts/list", "no client sent prompts/list"),
        ("error:method=sampling/createMessage", "neither side sent sampling/createMessage"),
        ("no_initialized", "no client sent notifications/initialized"),
        ("http_status", "the kind does not exist over stdio or in memory; "
         "it exists over streamable-http and sse"),
        ("drop:transport=sse", "no client came over sse, only over stdio"),
        ("drop:session=2", "nothing matched in session 2"),
        ("drop:probability=0", "its probability is 0"),
        ("drop:path=$.params.x", "nothing matched"),
    ],
)  # fmt: skip
def test_nothing_matched(fault: str, expected: str) -> None:
    """What was wanted, held against what was asked."""
    assert expected == reason(fault)


@pytest.mark.parametrize(
    ("fault", "seen", "taken", "expected"),
    [
        ("drop:nth=3", 1, 0, "only 1 message matched, which nth=3 does not reach"),
        ("drop:after=3", 2, 0, "only 2 messages matched, which after=3 does not reach"),
        ("drop:after=3,nth=2", 4, 0, "only 4 messages matched, which nth=2 does not reach"),
        ("drop:every=5", 4, 0, "only 4 messages matched, which every=5 does not reach"),
        ("drop:between=['1s', '5s']", 2, 0,
         "2 messages matched, none of them between 1 s and 5 s of its session"),
        ("reorder:between=['1s', '5s']", 2, 1, "2 messages matched, and none was changed"),
        ("drop:probability=0.1", 2, 0,
         "2 messages matched, and the random seed chose none (probability=0.1)"),
        ("delay:delay=0", 2, 2, "2 messages matched, and none was changed"),
        ("delay:delay=0", 2, 0, "2 messages matched, and none was changed"),
        ("delay:delay=0,nth=1", 1, 0, "1 message matched, and none was changed"),
    ],
)  # fmt: skip
def test_no_turn_came(fault: str, seen: int, taken: int, expected: str) -> None:
    """Which condition on the count, the time or the dice was not met."""
    assert expected == reason(fault, seen, taken)


def test_what_is_not_known() -> None:
    """Without a client, and where nobody kept what was asked."""
    assert "no client sent anything" == reason("drop", spoken=set(), asked=[])
    assert "nothing matched" == reason("drop:tool=x", asked=None)
    wished = "no client called the tool 'x', only get_weather"
    assert wished == reason("drop:tool=x", asked=None, heard=ASKED)
    assert "the kind does not exist over stdio; it exists over streamable-http and sse" == reason(
        "http_status", asked=None
    )
