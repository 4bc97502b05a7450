"""Heads of responses and responses without a message, as faults make and change them. Used by what
kinds are given (`fault`) and by the kinds.
"""

from __future__ import annotations

from collections.abc import Mapping

from mcpmock.protocol.http_reply import EVENT_STREAM, whole_reply
from mcpmock.protocol.messages import S2C, Frame, HttpBody, HttpResponse


def plain_response(
    exchange: int | None,
    status: int,
    fields: Mapping[str, str] | None = None,
    body: str | None = None,
) -> list[Frame]:
    """Return a whole response to a request, with a body of plain text or none."""
    headers = list((fields or {}).items())
    if body is not None:
        headers.append(("Content-Type", "text/plain; charset=utf-8"))
    text = None if body is None else Frame(S2C, body.encode(), b"", HttpBody(), exchange)
    return whole_reply(exchange, status, headers, text)


def with_type(head: Frame, content_type: str) -> Frame:
    """Return the head of a response that says another content type."""
    return _without(head, "content-type", [("Content-Type", content_type)])


def as_stream(frame: Frame) -> Frame:
    """Return a head that says that an event stream follows."""
    if not isinstance(frame.fact, HttpResponse) or frame.fact.media_type == EVENT_STREAM:
        return frame
    return with_type(uncounted(frame), EVENT_STREAM)


def uncounted(frame: Frame) -> Frame:
    """Return the head of a response without the length of its body."""
    if not isinstance(frame.fact, HttpResponse) or frame.fact.header("content-length") is None:
        return frame
    return _without(frame, "content-length", [])


def _without(frame: Frame, field: str, more: list[tuple[str, str]]) -> Frame:
    """Return a head without this field, and with more."""
    head = frame.fact
    assert isinstance(head, HttpResponse)
    headers = [known for known in head.headers if known[0].lower() != field]
    fact = HttpResponse(head.status, head.reason, [*headers, *more])
    return Frame(frame.direction, fact=fact, exchange=frame.exchange)
