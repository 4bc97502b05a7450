"""`tool_vanishes`: gone."""

from __future__ import annotations

import json

from mcpmock.faults.kinds.mcp import ToolVanishes
from tests.faults.faulty import ANSWER, answered, on_stdio
from tests.support import call, error, request, response

LIST = request(1, "tools/list")


def test_the_call_fails() -> None:
    """There is no such tool; others are there."""
    fault = ToolVanishes(gone="x*")

    assert [error(1, -32602).replace(b'"no"', b'"Unknown tool: x"')] == answered(fault)[:1]
    assert ([call(1, "y")], [ANSWER]) == on_stdio(fault, call(1, "y"))


def test_the_list_has_it_no_more() -> None:
    """Nor is it listed."""
    listed = response(1, {"tools": [{"name": "x1"}, {"name": "y"}], "nextCursor": "n"})
    [said] = answered(ToolVanishes(gone="x*"), LIST, listed)

    assert {"tools": [{"name": "y"}], "nextCursor": "n"} == json.loads(said)["result"]
