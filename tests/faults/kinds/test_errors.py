"""Requests that are refused, where a row of the fault matrix cannot show all that they do."""

from __future__ import annotations

from mcpmock.faults.kinds.errors import Error, InitializeError, ToolError
from tests.support import INITIALIZE, error, request, response
from tests.support.faulty import ANSWER, CALL, answered, faulty, on_http, on_stdio


def test_error_the_request_never_arrives() -> None:
    """It gets the error, and what it had to say nobody hears."""
    wire = faulty(Error(code=-32002, message="Resource not found", after=1))
    told = b'{"jsonrpc":"2.0","id":1,"error":{"code":-32002,"message":"Resource not found"}}'

    wire.at(0, client=CALL).at(1, to_client=told).nothing_more()


def test_error_requests_of_the_server() -> None:
    """They are refused in the client's place."""
    asked = request(5, "roots/list")
    wire = faulty(Error(code=-1, message="no", data={"a": 1}))
    wire.at(0, server=asked, to_server=error(5, -1).replace(b"}}", b',"data":{"a":1}}}'))
    wire.nothing_more()


def test_error_over_http() -> None:
    """A whole exchange of our own."""
    assert ([], ["1 200 application/json", "1 " + error(1, -1).decode(), "1 eof"]) == on_http(
        Error(code=-1, message="no"), CALL, []
    )


def test_initialize_error_the_handshake_is_refused() -> None:
    """And nothing else."""
    assert [error(0, -32602).replace(b'"no"', b'"Unsupported protocol version"')] == answered(
        InitializeError(), INITIALIZE, b""
    )[:1]
    assert ([CALL], [ANSWER]) == on_stdio(InitializeError())


def test_tool_error_a_tool_fails() -> None:
    """The call gets a result that says so; other requests pass."""
    wire = faulty(ToolError(text="no luck"))
    failed = {"content": [{"type": "text", "text": "no luck"}], "isError": True}

    wire.at(0, client=CALL, to_client=response(1, failed))
    wire.at(0, client=request(2, "ping"), to_server=request(2, "ping")).nothing_more()


def test_tool_error_later_revisions() -> None:
    """From 2026-07-28 on a result says that it is whole."""
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}
    asked = request(1, "tools/call", {"name": "x", "_meta": meta})

    assert b'"result":{"resultType":"complete","content"' in answered(ToolError(), asked, b"")[0]
