"""Faults of MCP's own rules, where a row of the fault matrix cannot show all that they do."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcpmock.faults.kinds.mcp import (
    CapabilityLie,
    CursorLoop,
    ListChangedStorm,
    ProgressAfterResponse,
    ProgressDecreasing,
    RequestWithoutCapability,
    ToolVanishes,
)
from tests.support import (
    INITIALIZE,
    WELCOME,
    answers,
    call,
    ends,
    error,
    notification,
    opens,
    post,
    progress,
    request,
    response,
    s2c,
    says,
)
from tests.support.faulty import ANSWER, CALL, answered, body, faulty, on_stdio


def test_capability_lie_claims_more() -> None:
    """What is declared already stays as it was."""
    welcome = WELCOME.replace(
        b'"capabilities":{}', b'"capabilities":{"tools":{"listChanged":true}}'
    )
    [said] = answered(CapabilityLie(claims=("tools", "prompts")), INITIALIZE, welcome)

    assert {"tools": {"listChanged": True}, "prompts": {}} == json.loads(said)["result"][
        "capabilities"
    ]


def test_capability_lie_hides() -> None:
    """What it has is not there."""
    welcome = WELCOME.replace(b'"capabilities":{}', b'"capabilities":{"tools":{},"x":{}}')
    [said] = answered(CapabilityLie(claims=(), hides=("tools",)), INITIALIZE, welcome)

    assert {"x": {}} == json.loads(said)["result"]["capabilities"]
    assert [ANSWER] == answered(CapabilityLie())
    [said] = answered(CapabilityLie(claims=("tools", "y"), hides=("tools",)), INITIALIZE, welcome)
    assert {"x": {}, "y": {}} == json.loads(said)["result"]["capabilities"]


def test_list_changed_storm_a_storm() -> None:
    """In front of the answer."""
    changed = notification("notifications/prompts/list_changed")

    assert [*[changed] * 3, ANSWER] == answered(ListChangedStorm(count=3, what="prompts"))
    assert 100 + 3 == len(body(ListChangedStorm()))


LIST = request(1, "tools/list")


def test_tool_vanishes_the_call_fails() -> None:
    """There is no such tool; others are there."""
    fault = ToolVanishes(gone="x*")

    assert [error(1, -32602).replace(b'"no"', b'"Unknown tool: x"')] == answered(fault)[:1]
    for other in (
        call(1, "y"),
        request(1, "prompts/get", {"name": "x"}),
        request(1, "tools/list", {"name": "x"}),
    ):
        assert ([other], [ANSWER]) == on_stdio(fault, other)


def test_tool_vanishes_the_list_has_it_no_more() -> None:
    """Nor is it listed."""
    listed = response(1, {"tools": [{"name": "x1"}, {"name": "y"}], "nextCursor": "n"})
    for fault in (ToolVanishes(gone="x*"), ToolVanishes(match={"tool": "x*"})):
        [said] = answered(fault, LIST, listed)

        assert {"tools": [{"name": "y"}], "nextCursor": "n"} == json.loads(said)["result"]

    listed = response(1, {"tools": [1, None, "x1", {"name": "x1"}, {}]})
    [said] = answered(ToolVanishes(gone="x*"), LIST, listed)
    assert [1, None, "x1", {}] == json.loads(said)["result"]["tools"]
    for tools in ("x1", {"name": "x1"}, None):
        listed = response(1, {"tools": tools})
        assert [listed] == answered(ToolVanishes(gone="x*"), LIST, listed)


@pytest.mark.parametrize(
    ("knobs", "gone", "tool"),
    [
        ({}, "*", None),
        ({"match": {"tool": "x"}}, "x", None),
        ({"gone": "y"}, "y", None),
        ({"gone": "y", "match": {"tool": "x"}}, "y", "x"),
    ],
)
def test_tool_vanishes_which_tools(knobs: dict[str, Any], gone: str, tool: str | None) -> None:
    """Those of `gone`; only without it those of `match`."""
    fault = ToolVanishes(**knobs)

    assert (gone, tool) == (fault.gone, fault.match.tool)


def looped(number: int) -> bytes:
    return response(number, {"tools": [{"name": "a"}], "nextCursor": "again"})


def next_page(number: int, method: str = "tools/list") -> bytes:
    return request(number, method, {"cursor": "again"})


def test_cursor_loop_loops() -> None:
    """Each page is the first one and names itself as the next; the server is asked once."""
    wire = faulty(CursorLoop(cursor="again"))
    first = request(1, "tools/list")

    wire.at(0, client=first, to_server=first)
    wire.at(0, server=looped(1).replace(b"again", b"2"), to_client=looped(1))
    wire.at(1, client=next_page(2), to_client=looped(2))
    wire.at(2, client=next_page(3), to_client=looped(3))
    other = next_page(4, "prompts/list")
    wire.at(3, client=other, to_server=other).nothing_more()


def test_cursor_loop_loops_over_http() -> None:
    """Each page is a whole response, also where the server answers on an event stream."""
    wire = faulty(CursorLoop(cursor="again"), transport="streamable-http")
    listed = says(1, looped(1).replace(b"again", b"2"), id="7")
    wire.hears(0, post(1, request(1, "tools/list")), [*opens(1), *listed, ends(1)])

    assert ["2 200 application/json", f"2 {looped(2).decode()}", "2 eof"] == wire.hears(
        1, post(2, next_page(2))
    )


def test_cursor_loop_leaves_errors_alone() -> None:
    """A list that is refused has no page."""
    first, refused = request(1, "tools/list"), error(1)
    wire = faulty(CursorLoop(cursor="again")).at(0, client=first, to_server=first)

    wire.at(1, server=refused, to_client=refused)
    wire.at(2, client=next_page(2), to_server=next_page(2)).nothing_more()


def test_progress_after_response_progress_behind_the_answer() -> None:
    """Of a call that has a token."""
    assert [ANSWER, progress("t", 1000)] == answered(ProgressAfterResponse())
    assert [response(1)] == answered(ProgressAfterResponse(), call(1, "x"), response(1))
    assert [
        "1 200 text/event-stream",
        "1 " + ANSWER.decode(),
        "1 " + progress("t", 5).decode(),
        "1 eof",
    ] == body(ProgressAfterResponse(progress=5))


def test_progress_after_response_later() -> None:
    """Or after a while."""
    wire = faulty(ProgressAfterResponse(after=2))

    wire.at(0, client=CALL, to_server=CALL).at(1, server=ANSWER, to_client=ANSWER)
    wire.at(3, to_client=progress("t", 1000)).nothing_more()


def test_progress_decreasing_goes_back() -> None:
    """The more was made, the less is told."""
    made = [progress("t", n) for n in (1, 2, 3)]

    assert [progress("t", n) for n in (9, 8, 7)] == answered(
        ProgressDecreasing(most=10), CALL, *made
    )
    assert [ANSWER] == answered(ProgressDecreasing())
    for more in ({"progress": "x"}, {"progress": None}, {}):
        vague = notification("notifications/progress", {"progressToken": "t", **more})
        (said,) = answered(ProgressDecreasing(most=10), CALL, vague)
        assert 10 == json.loads(said)["params"]["progress"]


@pytest.mark.parametrize("asks", ["sampling/createMessage", "elicitation/create", "roots/list"])
def test_request_without_capability_the_server_asks(asks: str) -> None:
    """In front of the answer; what the client says to it is for nobody."""
    wire = faulty(RequestWithoutCapability(asks=asks))  # type: ignore[arg-type]
    [[asked, answer]] = wire.pipeline.enter([s2c(ANSWER)], 0)

    assert ("mcpmock-1", asks) == (json.loads(asked.raw)["id"], json.loads(asked.raw)["method"])
    assert ANSWER == answer.raw
    wire.at(1, client=response("mcpmock-1"))
    for other in (response(9), response("mcpmock"), error(None), b'{"error":{"code":1}}'):
        wire.at(1, client=other, to_server=other)


def test_request_without_capability_over_http() -> None:
    """The POST of the answer is accepted."""
    wire = faulty(RequestWithoutCapability(), transport="streamable-http")
    wire.hears(0, post(1, CALL), answers(1, ANSWER))

    assert ["2 202 ", "2 eof"] == [
        line.replace("202", "202 ").replace("  ", " ") if "202" in line else line
        for line in wire.hears(1, post(2, response("mcpmock-1")))
    ]
