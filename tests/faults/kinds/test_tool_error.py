"""`tool_error`: isError."""

from __future__ import annotations

from mcpmock.faults.kinds.errors import ToolError
from tests.faults.faulty import CALL, answered, faulty
from tests.support import request, response


def test_a_tool_fails() -> None:
    """The call gets a result that says so; other requests pass."""
    wire = faulty(ToolError(text="no luck"))
    failed = {"content": [{"type": "text", "text": "no luck"}], "isError": True}

    wire.at(0, client=CALL, to_client=response(1, failed))
    wire.at(0, client=request(2, "ping"), to_server=request(2, "ping")).nothing_more()


def test_later_revisions() -> None:
    """From 2026-07-28 on a result says that it is whole."""
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}
    asked = request(1, "tools/call", {"name": "x", "_meta": meta})

    assert b'"result":{"resultType":"complete","content"' in answered(ToolError(), asked, b"")[0]
