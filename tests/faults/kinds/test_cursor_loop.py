"""`cursor_loop`: for ever."""

from __future__ import annotations

import json

from mcpmock.faults.kinds.mcp import CursorLoop
from tests.faults.faulty import ANSWER, answered
from tests.support import request, response


def test_the_next_page_is_always_the_same() -> None:
    """Whether there was one or not; of lists alone."""
    for listed in (response(1, {"tools": []}), response(1, {"tools": [], "nextCursor": "n"})):
        [said] = answered(CursorLoop(cursor="c"), request(1, "tools/list"), listed)

        assert {"tools": [], "nextCursor": "c"} == json.loads(said)["result"]
    assert [ANSWER] == answered(CursorLoop())
