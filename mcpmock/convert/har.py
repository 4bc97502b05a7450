"""A cassette as HAR 1.2 (http://www.softwareishard.com/blog/har-12-spec/), for the network panel of
a browser and other viewers of HTTP.

A take over HTTP gives one entry per exchange. HAR does not know stdio, so each request there
becomes an exchange as over Streamable HTTP: messages that the server sends before its response
form an event stream with it; a notification is a POST answered with 202; unsolicited server
notifications are the stream of a GET. `_mcpmock` holds what `show` knows of the messages: HAR
reserves names that begin with an underscore for extensions.

A HAR file cannot become a cassette again: it keeps neither the order of messages across exchanges
nor their bytes.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import groupby, pairwise
from typing import Any
from urllib.parse import parse_qsl, quote

import attrs
import msgspec

from mcpmock.cassette.model import Cassette, Header, is_utf8
from mcpmock.protocol import messages as m
from mcpmock.protocol.http_reply import EVENT_STREAM
from mcpmock.protocol.raw_json import UNREADABLE
from mcpmock.protocol.transport_facts import Headers
from mcpmock.transports.sse import encode_event
from mcpmock.version import VERSION
from mcpmock.view.summary import MAX_SUMMARY_CHARS, text_member
from mcpmock.view.timeline import Row, raws, timeline

HarEntry = dict[str, Any]
UNKNOWN_SIZE = -1
_EPOCH = datetime.fromtimestamp(0, UTC)
_JSON = "application/json"
_HTTP, _STDIO = "HTTP/1.1", "stdio"
_UNKNOWN_SERVER = "http://server.invalid"  # .invalid is reserved: it never resolves (RFC 2606)
_RECEIVER = {m.C2S: "server", m.S2C: "client"}
_NAMED_BY = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
"""The param that names the target of a call."""
_ANSWERS = ("response", "error")
_NO_ANSWER = ("cancelled", "unanswered")
_OUTSIDE = ("stderr", "opaque", "gap", "fault")
"""Kinds of events that have no place in HAR if they happen outside of an exchange."""


@attrs.frozen
class Har:
    """A HAR file, and the figures that `convert` reports."""

    data: bytes
    entries: int
    made_up: int
    """How many entries stand for calls over stdio, with invented URLs."""
    left_out: int
    """How many events have no place in the file."""


def har(cassette: Cassette) -> Har:
    """Return all takes in one log."""
    entries: list[HarEntry] = []
    made_up = left_out = place = 0
    for number, group in groupby(timeline(cassette), key=lambda row: row.take):
        rows, header = list(group), cassette.takes[number - 1].header
        if any(row.event.x is not None for row in rows):
            entries += http_entries(header, rows)
        else:
            found = list(stdio_entries(header, rows, place))
            made_up += len(found)
            entries += found
        left_out += sum(row.event.x is None and row.kind in _OUTSIDE for row in rows)
        place += len(rows)
    creator = {"name": "mcpmock", "version": VERSION}
    log = {"version": "1.2", "creator": creator, "pages": [], "entries": entries}
    data = m.encode({"log": log})
    with suppress(*UNREADABLE):
        data = msgspec.json.format(data, indent=1)
    return Har(data + b"\n", len(entries), made_up, left_out)


def http_entries(header: Header, rows: Sequence[Row]) -> Iterator[HarEntry]:
    """Yield an entry for each exchange of a take, in the order they began; `rows` are all of the
    take.
    """
    found: dict[int, _HarExchange] = {}
    for row in rows:
        if row.event.x is not None:
            found.setdefault(row.event.x, _HarExchange(row.event.x)).add(row)
    for exchange in found.values():
        if exchange.request is not None:  # a torn recording may begin in the middle of one
            yield exchange.entry(header, exchange.request)


@attrs.define
class _HarExchange:
    """The content of one exchange. `times` are those of the request head, its last byte, the
    response head, and its last byte.
    """

    number: int
    request: m.HttpRequest | None = None
    response: m.HttpResponse | None = None
    ends: list[str] = attrs.field(factory=list)
    rows: list[Row] = attrs.field(factory=list)
    times: list[int] = attrs.field(factory=lambda: [0, 0, 0, 0])
    _sent: list[bytes] = attrs.field(factory=list)
    _received: list[bytes] = attrs.field(factory=list)
    _meta: m.SseMeta | None = None

    def add(self, row: Row) -> None:
        self.rows.append(row)
        frame, t = row.event.frame, row.event.t
        if frame is None or row.item:  # the whole batch came with its first message
            return
        if isinstance(frame.fact, m.HttpRequest):
            self.request, self.times = frame.fact, [t] * 4
        elif frame.direction is m.S2C:
            self._add_received(frame, t)
        elif isinstance(frame.fact, m.ExchangeEnd):
            self.ends.append(f"client {frame.fact.how}")
        else:
            self._sent.append(frame.raw)
            self.times[1] = t

    def _add_received(self, frame: m.Frame, t: int) -> None:
        self.times[3] = t
        match frame.fact:
            case m.HttpResponse() as head:
                self.response, self.times[2] = head, t
            case m.ExchangeEnd(how):
                self.ends.append(how)
            case m.SseMeta() as meta:
                self._meta = meta
            case None if self.response is not None and self.response.media_type == EVENT_STREAM:
                self._received.append(_encode_sse_event(self._meta, frame.raw))
                self._meta = None
            case None | m.HttpBody():
                self._received.append(frame.raw)

    def entry(self, header: Header, asked: m.HttpRequest) -> HarEntry:
        if self.response is None:  # all of the time was waiting
            self.times[2:] = [max(row.event.t for row in self.rows)] * 2
        answer = self.response or m.HttpResponse(0, "no response", [])
        sent, received = b"".join(self._sent), b"".join(self._received)
        mime_type = asked.header("content-type") or ""
        return _build_entry(
            header,
            self.times,
            _build_request(
                asked.method, _server_url(header, asked), _HTTP, asked.headers, sent, mime_type
            ),
            _build_response(answer, _HTTP, received, answer.header("content-type") or ""),
            self.rows,
            {"exchange": self.number, "ends": self.ends},
        )


def _encode_sse_event(meta: m.SseMeta | None, data: bytes) -> bytes:
    try:
        return encode_event(meta, data or None)
    except ValueError:  # an edited cassette may hold an id with a line break
        return encode_event(None, data)


def stdio_entries(header: Header, rows: Sequence[Row], first: int) -> Iterator[HarEntry]:
    """Yield an entry for unsolicited server notifications, then one for each request and each
    client notification of a take, in order. `first` is the index of the first row of the take.
    """
    messages = [_StdioMessage(row, raw) for row, raw in zip(rows, raws(rows), strict=True)]
    during: dict[int, list[_StdioMessage]] = {}
    unasked: list[_StdioMessage] = []
    for one in messages:
        row = one.row
        if row.kind not in ("request", "notification", *_ANSWERS):
            continue
        owner = row.call if row.call is not None and row.kind != "request" else row.within
        if owner is not None:
            during.setdefault(owner - first, []).append(one)
        elif row.direction is m.S2C and row.kind == "notification":
            unasked.append(one)
    if unasked:
        start, end = unasked[0].row.event.t, unasked[-1].row.event.t
        request = _build_request("GET", f"{_UNKNOWN_SERVER}/", _STDIO, [], b"", "")
        stream = b"".join(encode_event(None, one.raw) for one in unasked)
        response = _build_response(m.HttpResponse(200, "OK", []), _STDIO, stream, EVENT_STREAM)
        times = [start, start, start, end]
        yield _build_entry(header, times, request, response, [one.row for one in unasked])
    for place, one in enumerate(messages):
        if one.row.kind == "request":
            yield _call_entry(header, one, during.get(place, []))
        elif one.row.kind == "notification" and one.row.direction is m.C2S:
            accepted = _build_response(m.HttpResponse(202, "Accepted", []), _STDIO, b"", "")
            yield _build_entry(header, [one.row.event.t] * 4, one.request(), accepted, [one.row])


@attrs.frozen
class _StdioMessage:
    """A row of the timeline, and its bytes."""

    row: Row
    raw: bytes

    def request(self) -> HarEntry:
        method = self.row.method or ""
        name = None
        if method in _NAMED_BY:
            name = text_member(m.member(self.raw, "params"), _NAMED_BY[method])
        path = quote(method[:MAX_SUMMARY_CHARS], errors="replace")
        if name is not None:
            path += "/" + quote(name[:MAX_SUMMARY_CHARS], safe="", errors="replace")
        url = f"http://{_RECEIVER[self.row.direction or m.C2S]}.invalid/{path}"
        return _build_request("POST", url, _STDIO, [], self.raw, _JSON)


def _call_entry(header: Header, call: _StdioMessage, during: Sequence[_StdioMessage]) -> HarEntry:
    back = [one for one in during if one.row.direction is not call.row.direction]
    answer = next((one for one in back if one.row.kind in _ANSWERS and not _is_late(one)), None)
    if answer is None:
        text = next((note for note in call.row.notes if note in _NO_ANSWER), "unanswered")
        head = m.HttpResponse(0, text, [])
    elif answer.row.kind == "error":
        head = m.HttpResponse(500, "error", [])  # viewers show it in red
    else:
        head = m.HttpResponse(200, "OK", [])
    if answer is not None and len(back) == 1:
        body, mime_type = answer.raw, _JSON
    else:
        body = b"".join(encode_event(None, one.raw) for one in back)
        mime_type = EVENT_STREAM if back else ""
    asked = call.row.event.t
    received = [one.row.event.t for one in back] or [asked]
    times = [asked, asked, min(received), max(received)]
    rows = [call.row, *(one.row for one in during)]
    return _build_entry(
        header, times, call.request(), _build_response(head, _STDIO, body, mime_type), rows
    )


def _is_late(answer: _StdioMessage) -> bool:
    return any(note.startswith("late") for note in answer.row.notes)


def _build_entry(
    header: Header,
    times: Iterable[int],
    request: HarEntry,
    response: HarEntry,
    rows: Sequence[Row],
    more: HarEntry | None = None,
) -> HarEntry:
    """Take `times` as four moments in microseconds. No timing is negative, `time` is their sum."""
    moments = list(times)
    for place in range(1, len(moments)):
        moments[place] = max(moments[place - 1], moments[place])
    parts = [(after - before) / 1000 for before, after in pairwise(moments)]
    about = {"take": rows[0].take, "session": rows[0].event.s}
    return {
        "startedDateTime": started(header.recorded_at, moments[0]),
        "time": sum(parts),
        "request": request,
        "response": response,
        "cache": {},
        "timings": dict(zip(("send", "wait", "receive"), parts, strict=True)),
        "_mcpmock": {
            **about,
            **({"stdio": True} if more is None else more),
            "messages": [
                {
                    "n": row.event.n,
                    "t": row.event.t,
                    "direction": row.event.d,
                    "kind": row.kind,
                    "method": row.method,
                    "id": row.id,
                    "tool": row.tool,
                    "notes": row.notes,
                }
                for row in rows
                if row.event.payload is not None and (row.event.payload or row.method)
            ],
        },
    }


def _build_request(
    method: str, url: str, version: str, headers: Headers, body: bytes, mime_type: str
) -> HarEntry:
    request = {
        "method": method,
        "url": url,
        "httpVersion": version,
        "cookies": cookies(headers, "cookie"),
        "headers": [{"name": name, "value": value} for name, value in headers],
        "queryString": query(url),
        "headersSize": UNKNOWN_SIZE,
        "bodySize": len(body),
    }
    if body:
        # HAR has text only here; `_encoding` is what other tools write, too.
        request["postData"] = {"mimeType": mime_type, **_encode_body(body, "_encoding")}
    return request


def _build_response(head: m.HttpResponse, version: str, body: bytes, mime_type: str) -> HarEntry:
    """Viewers show `status` 0 as "no response"."""
    content = {"size": len(body), "mimeType": mime_type or "x-unknown"}
    return {
        "status": head.status,
        "statusText": head.reason,
        "httpVersion": version,
        "cookies": cookies(head.headers, "set-cookie"),
        "headers": [{"name": name, "value": value} for name, value in head.headers],
        "content": {**content, **(_encode_body(body, "encoding") if body else {})},
        "redirectURL": head.header("location") or "",
        "headersSize": UNKNOWN_SIZE,
        "bodySize": len(body),
    }


def _server_url(header: Header, head: m.HttpRequest) -> str:
    """Return the URL at the recorded server: the request of the client went to the recorder."""
    if "://" in head.target.partition("?")[0]:
        return head.target
    server = header.target if isinstance(header.target, str) else ""
    scheme, separator, rest = server.partition("://")
    if not separator:
        host = head.header("host")
        return (f"http://{host}" if host else _UNKNOWN_SERVER) + head.target
    return f"{scheme}://{rest.partition('/')[0].partition('?')[0]}{head.target}"


def _encode_body(body: bytes, encoding: str) -> dict[str, str]:
    if is_utf8(body):
        return {"text": body.decode()}
    return {"text": base64.b64encode(body).decode(), encoding: "base64"}


def cookies(headers: Headers, name: str) -> list[dict[str, str]]:
    """Return the cookies in all fields of this name (`cookie`, `set-cookie`), without their
    attributes.
    """
    values = [value for field, value in headers if field.lower() == name]
    found = [
        part.strip().partition("=")
        for value in values
        for part in (value.split(";") if name == "cookie" else value.split(";")[:1])
    ]
    return [{"name": key, "value": value} for key, _, value in found if key]


def query(url: str) -> list[dict[str, str]]:
    """Return the parameters behind the `?` of a URL."""
    text = url.partition("#")[0].partition("?")[2]
    return [{"name": name, "value": v} for name, v in parse_qsl(text, keep_blank_values=True)]


def started(began: str | None, t: int) -> str:
    """Return the time `t` microseconds after the start of a take; without a start time, after
    1970.
    """
    try:
        moment = datetime.fromisoformat(began or "").astimezone(UTC)
    except (ValueError, OverflowError):
        moment = _EPOCH
    try:
        moment += timedelta(microseconds=t)
    except OverflowError:
        pass  # an edited cassette: no such time was recorded
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
