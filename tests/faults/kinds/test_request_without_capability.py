"""`request_without_capability`: unasked."""

from __future__ import annotations

import json

import pytest

from mcpmock.faults.kinds.mcp import RequestWithoutCapability
from tests.faults.faulty import ANSWER, CALL, faulty
from tests.support import answers, post, response, s2c


@pytest.mark.parametrize("asks", ["sampling/createMessage", "elicitation/create", "roots/list"])
def test_the_server_asks(asks: str) -> None:
    """In front of the answer; what the client says to it is for nobody."""
    wire = faulty(RequestWithoutCapability(asks=asks))  # type: ignore[arg-type]
    [[asked, answer]] = wire.pipeline.enter([s2c(ANSWER)], 0)

    assert ("mcpmock-1", asks) == (json.loads(asked.raw)["id"], json.loads(asked.raw)["method"])
    assert ANSWER == answer.raw
    wire.at(1, client=response("mcpmock-1")).at(1, client=response(9), to_server=response(9))


def test_over_http() -> None:
    """The POST of the answer is accepted."""
    wire = faulty(RequestWithoutCapability(), transport="streamable-http")
    wire.hears(0, post(1, CALL), answers(1, ANSWER))

    assert ["2 202 ", "2 eof"] == [
        line.replace("202", "202 ").replace("  ", " ") if "202" in line else line
        for line in wire.hears(1, post(2, response("mcpmock-1")))
    ]
