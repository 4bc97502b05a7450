"""What came over HTTP in the place of an answer."""

from __future__ import annotations

import pytest

from mcpmock.protocol.messages import C2S, S2C, Frame, HttpBody
from mcpmock.view.unanswered_posts import unanswered_posts
from tests.support import (
    STREAM,
    accepts,
    answers,
    call,
    ends,
    in_session,
    notification,
    over_http,
    post,
    replies,
    response,
    says,
)

NOT = "not an answer"


@pytest.mark.parametrize(
    ("came", "said"),
    [
        (answers(1, response(1)), None),
        (accepts(1), f"HTTP 202: {NOT}"),
        (accepts(1, 204), f"HTTP 204: {NOT}"),
        ([replies(1, 200, "text/plain"), Frame(S2C, b"hi", fact=HttpBody(), exchange=1), ends(1)],
         f"HTTP 200 with content type text/plain: {NOT}: hi"),
        ([replies(1, 200), ends(1)], f"HTTP 200 without content type: {NOT}"),
        (answers(1, b"nope"), f"HTTP 200 with content type application/json: {NOT}"),
        (answers(1, response(7)), f"HTTP 200 with content type application/json: {NOT}"),
        ([replies(1, 200, STREAM), ends(1)], "HTTP 200: the event stream ended without an answer"),
        ([replies(1, 200, STREAM), *says(1, notification("x"), event="message"), ends(1)],
         "HTTP 200: the event stream ended without an answer"),
        ([ends(1, "reset")],
         "the connection was reset before a response came"),
        ([replies(1, 200, STREAM), *says(1, notification("x"), id="7"), ends(1)], None),
        ([ends(1, "closed", C2S), ends(1)], None),
        (accepts(1, 302), None),
        (answers(1, b"{}", 500), None),
    ],
)  # fmt: skip
def test_what_came(came: list[Frame], said: str | None) -> None:
    """Each is named; an error that the diff shows is not, nor a stream that may be resumed, nor
    what the client left.
    """
    live = over_http(in_session(1, post(1, call(1, "add")), came))

    assert ([] if said is None else [f"no answer to tools/call add: {said}"]) == unanswered_posts(
        live
    )
