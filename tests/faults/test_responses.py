"""Heads and responses without a message."""

from __future__ import annotations

from mcpmock.faults.responses import as_stream, plain_response, uncounted, with_type
from mcpmock.protocol.messages import HttpResponse
from tests.support import accepts, replies, shown


def test_refusals() -> None:
    """A whole response without a body, or with a text; an unknown status has no phrase."""
    assert shown(accepts(2, 503)) == shown(plain_response(2, 503))
    assert ["3 418 text/plain", "3 body tea", "3 eof"] == shown(plain_response(3, 418, None, "tea"))
    [head, _] = plain_response(3, 599, {"Retry-After": "1"})
    assert HttpResponse(599, "", [("Retry-After", "1")]) == head.fact


def test_another_type() -> None:
    """In place of the one that was said."""
    assert ["1 200 text/html"] == shown([with_type(replies(1, 200, "a/b"), "text/html")])


def test_a_stream_has_no_length() -> None:
    """One that is an event stream already, and what is no head, stay what they are."""
    head = replies(1, 200, "application/json", content_length="3")
    stream = as_stream(head)

    assert ["1 200 text/event-stream"] == shown([stream])
    assert isinstance(stream.fact, HttpResponse)
    assert stream.fact.header("content-length") is None
    assert stream is as_stream(stream)
    assert stream is uncounted(stream)
