"""`error`: a request gets an error."""

from __future__ import annotations

from mcpmock.faults.kinds.errors import Error
from tests.faults.faulty import CALL, faulty, on_http
from tests.support import error, request


def test_the_request_never_arrives() -> None:
    """It gets the error, and what it had to say nobody hears."""
    wire = faulty(Error(code=-32002, message="Resource not found", after=1))
    told = b'{"jsonrpc":"2.0","id":1,"error":{"code":-32002,"message":"Resource not found"}}'

    wire.at(0, client=CALL).at(1, to_client=told).nothing_more()


def test_requests_of_the_server() -> None:
    """They are refused in the client's place."""
    asked = request(5, "roots/list")
    wire = faulty(Error(code=-1, message="no", data={"a": 1}))
    wire.at(0, server=asked, to_server=error(5, -1).replace(b"}}", b',"data":{"a":1}}}'))
    wire.nothing_more()


def test_over_http() -> None:
    """A whole exchange of our own."""
    assert ([], ["1 200 application/json", "1 " + error(1, -1).decode(), "1 eof"]) == on_http(
        Error(code=-1, message="no"), CALL, []
    )
