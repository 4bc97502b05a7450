"""The shapes of HAR 1.2 (http://www.softwareishard.com/blog/har-12-spec/) that an entry is made of,
and their smallest parts: bodies, fields, cookies, times.

Only what the format demands is here, and one member of our own, `_mcpmock`: names that begin with
an underscore are free. `har_http` and `har_calls` fill these, `har` puts them into a file.
"""

from __future__ import annotations

import base64
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qsl

import msgspec
from msgspec import UNSET, UnsetType

from mcpmock.protocol.facts import Headers

from .model import is_utf8

UNKNOWN = -1
"""A size that nobody measured."""
EPOCH = datetime.fromtimestamp(0, UTC)
JSON = "application/json"


class Pair(msgspec.Struct):
    """A header field, a parameter of a query, a cookie."""

    name: str
    value: str


class PostData(msgspec.Struct, rename="camel"):
    """What was sent; `_encoding` is ours: the format foresees text alone."""

    mime_type: str
    text: str
    encoding: str | UnsetType = msgspec.field(name="_encoding", default=UNSET)


class Content(msgspec.Struct, rename="camel"):
    """What came back."""

    size: int
    mime_type: str
    text: str | UnsetType = UNSET
    encoding: str | UnsetType = UNSET


class Request(msgspec.Struct, rename="camel", kw_only=True):
    method: str
    url: str
    http_version: str
    cookies: list[Pair]
    headers: list[Pair]
    query_string: list[Pair]
    post_data: PostData | UnsetType = UNSET
    headers_size: int = UNKNOWN
    body_size: int


class Response(msgspec.Struct, rename="camel", kw_only=True):
    """`status` 0 is what viewers know as "no response"."""

    status: int
    status_text: str
    http_version: str
    cookies: list[Pair]
    headers: list[Pair]
    content: Content
    redirect_url: str = msgspec.field(name="redirectURL", default="")
    headers_size: int = UNKNOWN
    body_size: int


class Timings(msgspec.Struct):
    """In milliseconds."""

    send: float
    wait: float
    receive: float


class Entry(msgspec.Struct, rename="camel", kw_only=True):
    """One exchange. `time` is the sum of its timings, as the format wants it."""

    started_date_time: str
    time: float
    request: Request
    response: Response
    cache: dict[str, Any] = msgspec.field(default_factory=dict)
    timings: Timings
    mcpmock: dict[str, Any] = msgspec.field(name="_mcpmock")


def posted(body: bytes, mime_type: str) -> PostData:
    """A request's body as text, or in base64 where it is none."""
    text, encoding = _text(body)
    return PostData(mime_type, text, encoding)


def content(body: bytes, mime_type: str) -> Content:
    """A response's body as text, or in base64 where it is none."""
    if not body:
        return Content(0, mime_type or "x-unknown")
    text, encoding = _text(body)
    return Content(len(body), mime_type or "x-unknown", text, encoding)


def _text(body: bytes) -> tuple[str, str | UnsetType]:
    if is_utf8(body):
        return body.decode(), UNSET
    return base64.b64encode(body).decode(), "base64"


def fields(headers: Headers) -> list[Pair]:
    """Header fields as they were sent."""
    return [Pair(name, value) for name, value in headers]


def cookies(headers: Headers, name: str) -> list[Pair]:
    """The cookies in all fields of this name (`cookie`, `set-cookie`), without their attributes."""
    values = [value for field, value in headers if field.lower() == name]
    found = [
        part.strip().partition("=")
        for value in values
        for part in (value.split(";") if name == "cookie" else value.split(";")[:1])
    ]
    return [Pair(key, value) for key, _, value in found if key]


def query(target: str) -> list[Pair]:
    """The parameters behind the `?` of a target."""
    text = target.partition("#")[0].partition("?")[2]
    return [Pair(name, value) for name, value in parse_qsl(text, keep_blank_values=True)]


def started(began: str | None, t: int) -> str:
    """The wall clock `t` microseconds after a take began; of one without a clock, after 1970."""
    try:
        moment = datetime.fromisoformat(began or "").astimezone(UTC)
    except (ValueError, OverflowError):
        moment = EPOCH
    try:
        moment += timedelta(microseconds=t)
    except OverflowError:
        pass  # nobody recorded that
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def timings(*microseconds: int) -> tuple[float, Timings]:
    """Of four moments, from the first to the last: the whole time and its three parts. What lies
    before the moment ahead of it took no time.
    """
    moments = list(microseconds)
    for place in range(1, len(moments)):
        moments[place] = max(moments[place - 1], moments[place])
    sending, sent, answering, answered = moments
    parts = Timings(
        (sent - sending) / 1000, (answering - sent) / 1000, (answered - answering) / 1000
    )
    return parts.send + parts.wait + parts.receive, parts


def event(data: bytes, lines: bytes = b"") -> bytes:
    """A server-sent event as text: `lines` are its other fields."""
    said = b"".join(b"data: %b\n" % line for line in data.splitlines())
    return b"%b%b\n" % (lines, said)
