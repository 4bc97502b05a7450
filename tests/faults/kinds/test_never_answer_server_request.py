"""`never_answer_server_request`: no answer."""

from __future__ import annotations

from mcpmock.faults.kinds.loss import NeverAnswerServerRequest
from tests.faults.faulty import ANSWER, CALL, faulty, on_stdio
from tests.support import request, response


def test_the_answer_is_lost() -> None:
    """The server waits; what the server answers passes."""
    asked = request(5, "roots/list")
    wire = faulty(NeverAnswerServerRequest())

    wire.at(0, server=asked, to_client=asked).at(1, client=response(5)).nothing_more()
    assert ([CALL], [ANSWER]) == on_stdio(NeverAnswerServerRequest())
