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

from mcpmock.cassette.model import is_utf8
from mcpmock.protocol.transport_facts import Headers

UNKNOWN = -1
"""A size that nobody measured."""
EPOCH = datetime.fromtimestamp(0, UTC)
JSON = "application/json"


class HarPair(msgspec.Struct):
    """A header field, a parameter of a query, a cookie."""

    name: str
    value: str


class HarPostData(msgspec.Struct, rename="camel"):
    """What was sent; `_encoding` is ours: the format foresees text alone."""

    mime_type: str
    text: str
    encoding: str | UnsetType = msgspec.field(name="_encoding", default=UNSET)


class HarContent(msgspec.Struct, rename="camel"):
    """What came back."""

    size: int
    mime_type: str
    text: str | UnsetType = UNSET
    encoding: str | UnsetType = UNSET


class HarRequest(msgspec.Struct, rename="camel", kw_only=True):
    method: str
    url: str
    http_version: str
    cookies: list[HarPair]
    headers: list[HarPair]
    query_string: list[HarPair]
    post_data: HarPostData | UnsetType = UNSET
    headers_size: int = UNKNOWN
    body_size: int


class HarResponse(msgspec.Struct, rename="camel", kw_only=True):
    """`status` 0 is what viewers know as "no response"."""

    status: int
    status_text: str
    http_version: str
    cookies: list[HarPair]
    headers: list[HarPair]
    content: HarContent
    redirect_url: str = msgspec.field(name="redirectURL", default="")
    headers_size: int = UNKNOWN
    body_size: int


class HarTimings(msgspec.Struct):
    """In milliseconds."""

    send: float
    wait: float
    receive: float


class HarEntry(msgspec.Struct, rename="camel", kw_only=True):
    """One exchange. `time` is the sum of its timings, as the format wants it."""

    started_date_time: str
    time: float
    request: HarRequest
    response: HarResponse
    cache: dict[str, Any] = msgspec.field(default_factory=dict)
    timings: HarTimings
    mcpmock: dict[str, Any] = msgspec.field(name="_mcpmock")


def posted(body: bytes, mime_type: str) -> HarPostData:
    """A request's body as text, or in base64 where it is none."""
    text, encoding = _text(body)
    return HarPostData(mime_type, text, encoding)


def content(body: bytes, mime_type: str) -> HarContent:
    """A response's body as text, or in base64 where it is none."""
    if not body:
        return HarContent(0, mime_type or "x-unknown")
    text, encoding = _text(body)
    return HarContent(len(body), mime_type or "x-unknown", text, encoding)


def _text(body: bytes) -> tuple[str, str | UnsetType]:
    if is_utf8(body):
        return body.decode(), UNSET
    return base64.b64encode(body).decode(), "base64"


def fields(headers: Headers) -> list[HarPair]:
    """Header fields as they were sent."""
    return [HarPair(name, value) for name, value in headers]


def cookies(headers: Headers, name: str) -> list[HarPair]:
    """The cookies in all fields of this name (`cookie`, `set-cookie`), without their attributes."""
    values = [value for field, value in headers if field.lower() == name]
    found = [
        part.strip().partition("=")
        for value in values
        for part in (value.split(";") if name == "cookie" else value.split(";")[:1])
    ]
    return [HarPair(key, value) for key, _, value in found if key]


def query(target: str) -> list[HarPair]:
    """The parameters behind the `?` of a target."""
    text = target.partition("#")[0].partition("?")[2]
    return [HarPair(name, value) for name, value in parse_qsl(text, keep_blank_values=True)]


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


def timings(*microseconds: int) -> tuple[float, HarTimings]:
    """Of four moments, from the first to the last: the whole time and its three parts. What lies
    before the moment ahead of it took no time.
    """
    moments = list(microseconds)
    for place in range(1, len(moments)):
        moments[place] = max(moments[place - 1], moments[place])
    sending, sent, answering, answered = moments
    parts = HarTimings(
        (sent - sending) / 1000, (answering - sent) / 1000, (answered - answering) / 1000
    )
    return parts.send + parts.wait + parts.receive, parts


def event(data: bytes, lines: bytes = b"") -> bytes:
    """A server-sent event as text: `lines` are its other fields."""
    said = b"".join(b"data: %b\n" % line for line in data.splitlines())
    return b"%b%b\n" % (lines, said)
