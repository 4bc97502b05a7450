"""A cassette as traces in OpenTelemetry's file format: JSON Lines of OTLP
(https://opentelemetry.io/docs/specs/otel/protocol/file-exporter/), which collectors read.

A request becomes a span of kind CLIENT, which covers the time until its answer, as the conventions
for MCP say (https://github.com/open-telemetry/semantic-conventions-genai, docs/gen-ai/mcp.md; their
status is Development). A request of the server is one too: who asks is the client of the span.
Arguments and results are left out: the conventions leave them to the user, for they may be
sensitive.

A request with a trace context (`params._meta.traceparent`, SEP-414) belongs to that trace, below
the span of the client that sent it. The others of a session are one trace. The ids are digests:
the same cassette always gives the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import attrs
import msgspec

from mcpmock.cassette.model import Cassette, Take
from mcpmock.protocol.messages import C2S, S2C, Direction, HttpRequest, member
from mcpmock.protocol.revisions import VERSION_PATH
from mcpmock.rules.values import TRACEPARENT
from mcpmock.version import VERSION
from mcpmock.view.summary import text_member
from mcpmock.view.timeline import Row, raws, timeline

_SPANS_A_LINE = 512  # as many as OpenTelemetry's batch processor sends at once, if not told else
_CLIENT, _ERROR = 3, 2
"""`SPAN_KIND_CLIENT` and `STATUS_CODE_ERROR` of opentelemetry/proto/trace/v1/trace.proto."""
_INFO_PATH = ("params", "_meta", "io.modelcontextprotocol/clientInfo", "name")
_ABOUT_RESOURCE = ("resources/read", "resources/subscribe", "resources/unsubscribe")
_EPOCH = datetime.fromtimestamp(0, UTC)

OtlpObject = dict[str, Any]


@attrs.frozen
class Traces:
    """An OTLP file, and the figures that `convert` reports."""

    data: bytes
    spans: int
    linked: int
    """How many spans belong to a trace that their request names."""


class _Message(NamedTuple):
    row: Row
    raw: bytes


@attrs.define
class _SessionTrace:
    """What the spans of a session have in common."""

    trace: str
    """Its id, for requests that name none."""
    version: str | None = None
    names: dict[Direction, str] = attrs.field(
        factory=lambda: {C2S: "mcp-client", S2C: "mcp-server"}
    )
    """What the two sides call themselves, by the direction in which they send."""

    def learn(self, one: _Message) -> None:
        raw, row = one.raw, one.row
        if row.direction is C2S:
            name = text_member(raw, "params", "clientInfo", "name") or text_member(raw, *_INFO_PATH)
            version = text_member(raw, "params", *VERSION_PATH)
        else:
            name = text_member(raw, "result", "serverInfo", "name")
            version = text_member(raw, "result", "protocolVersion")
        if name is not None and row.direction is not None:
            self.names[row.direction] = name
        self.version = version or self.version


def traces(cassette: Cassette) -> Traces:
    """Return the requests of all takes."""
    rows = timeline(cassette)
    messages = [_Message(row, raw) for row, raw in zip(rows, raws(rows), strict=True)]
    related: dict[int, list[_Message]] = {}
    sessions: dict[tuple[int, int], _SessionTrace] = {}
    for one in messages:
        if one.row.call is not None and one.row.kind != "request":
            related.setdefault(one.row.call, []).append(one)
        _session_of(one.row, cassette, sessions).learn(one)
    transports = [_TakeTransport(take) for take in cassette.takes]
    spans: list[tuple[str, OtlpObject]] = []
    ids: dict[int, tuple[str, str]] = {}
    linked = 0
    for place, one in enumerate(messages):
        transport = transports[one.row.take - 1]
        if one.row.kind != "request" or one.row.direction is None:
            transport.learn(one.row)
            continue
        session = _session_of(one.row, cassette, sessions)
        named = TRACEPARENT.fullmatch(text_member(one.raw, "params", "_meta", "traceparent") or "")
        linked += named is not None
        within = ids.get(-1 if one.row.within is None else one.row.within)
        trace, parent = (named[1], named[2]) if named else within or (session.trace, None)
        span_id = _digest(session.trace, place)[:16]
        ids[place] = trace, span_id
        span: OtlpObject = {"traceId": trace, "spanId": span_id}
        if named and (state := text_member(one.raw, "params", "_meta", "tracestate")):
            span["traceState"] = state
        if parent is not None:
            span["parentSpanId"] = parent
        span |= _span(one, related.get(place, ()), transport, session.version)
        spans.append((session.names[one.row.direction], span))
    return Traces(b"".join(_lines(spans)), len(spans), linked)


def _session_of(
    row: Row, cassette: Cassette, sessions: dict[tuple[int, int], _SessionTrace]
) -> _SessionTrace:
    key = row.take, row.event.s
    if key not in sessions:
        header = cassette.takes[row.take - 1].header
        sessions[key] = _SessionTrace(_digest(msgspec.json.encode(header), *key)[:32])
    return sessions[key]


@attrs.define
class _TakeTransport:
    """When a take began, and how its messages travelled."""

    take: Take
    start: int = 0
    """Nanoseconds since 1970."""
    attributes: list[OtlpObject] = attrs.field(factory=list)
    _session_ids: dict[int, str] = attrs.field(factory=dict)
    """By exchange."""

    def __attrs_post_init__(self) -> None:
        self.start = _nanoseconds(self.take.header.recorded_at)
        if self.take.transport == "stdio":
            self.attributes = [_attribute("network.transport", "pipe")]
            return
        self.attributes = [
            _attribute("network.transport", "tcp"),
            _attribute("network.protocol.name", "http"),
        ]
        try:
            url = urlsplit(
                self.take.header.target if isinstance(self.take.header.target, str) else ""
            )
            port = url.port or {"http": 80, "https": 443}.get(url.scheme)
        except ValueError:  # an edited header
            return
        if url.hostname:
            self.attributes.append(_attribute("server.address", url.hostname))
            self.attributes += [_attribute("server.port", port)] if port else []

    def learn(self, row: Row) -> None:
        """Remember the MCP session that an exchange names in its head."""
        fact = row.event.frame.fact if row.kind == "http" and row.event.frame else None
        if isinstance(fact, HttpRequest) and row.event.x is not None:
            session_id = fact.header("mcp-session-id")
            if session_id is not None:
                self._session_ids[row.event.x] = session_id

    def session_id(self, row: Row) -> str | None:
        return None if row.event.x is None else self._session_ids.get(row.event.x)

    def time(self, row: Row) -> str:
        """Return when it was sent, as OTLP writes it: nanoseconds since 1970, in quotes."""
        return str(max(self.start + 1000 * row.event.t, 0))


def _span(
    asked: _Message, related: Sequence[_Message], transport: _TakeTransport, version: str | None
) -> OtlpObject:
    """Return the members of a span besides its ids."""
    row, raw, method = asked.row, asked.raw, asked.row.method or ""
    answer = next((one for one in related if one.row.kind in ("response", "error")), None)
    prompt = text_member(raw, "params", "name") if method == "prompts/get" else None
    target = row.tool or prompt
    error_type, message = _error(row, answer)
    code = None if answer is None else member(answer.raw, "error", "code")
    found = {
        "mcp.method.name": method,
        "jsonrpc.request.id": None if row.id in (None, "null") else row.id_forms[-1],
        "gen_ai.operation.name": "execute_tool" if row.tool else None,
        "gen_ai.tool.name": row.tool,
        "gen_ai.prompt.name": prompt,
        "mcp.resource.uri": text_member(raw, "params", "uri")
        if method in _ABOUT_RESOURCE
        else None,
        "mcp.protocol.version": text_member(raw, "params", *VERSION_PATH) or version,
        "mcp.session.id": transport.session_id(row),
        "rpc.response.status_code": None if code is None else code.decode(),
        "error.type": error_type,
    }
    span: OtlpObject = {
        "name": _encodable(f"{method} {target}" if target else method),
        "kind": _CLIENT,
        "startTimeUnixNano": transport.time(row),
        "endTimeUnixNano": transport.time((answer or (related or [asked])[-1]).row),
        "attributes": [
            *(_attribute(name, value) for name, value in found.items() if value is not None),
            *transport.attributes,
        ],
        "events": [
            {"timeUnixNano": transport.time(one.row), "name": _encodable(one.row.method or "")}
            for one in related
            if one.row.kind == "notification"
        ],
    }
    if error_type is not None:
        span["status"] = {
            "code": _ERROR,
            **({} if message is None else {"message": _encodable(message)}),
        }
    return span


def _error(row: Row, answer: _Message | None) -> tuple[str | None, str | None]:
    """Return the class of error that a request ended with, and its message; None for none."""
    if answer is None or "cancelled" in row.notes:
        return ("cancelled" if "cancelled" in row.notes else "no_answer"), None
    if answer.row.kind != "error":
        return None, None
    code = member(answer.raw, "error", "code")
    if code is None:
        return "tool_error", None
    return code.decode(), text_member(answer.raw, "error", "message")


def _lines(spans: list[tuple[str, OtlpObject]]) -> Iterator[bytes]:
    """Yield an object on a line, of some spans of one side."""
    scope = {"name": "mcpmock", "version": VERSION}
    by_side: dict[str, list[OtlpObject]] = {}
    for name, span in spans:
        by_side.setdefault(name, []).append(span)
    for name, of_side in by_side.items():
        resource = {"attributes": [_attribute("service.name", name)]}
        for start in range(0, len(of_side), _SPANS_A_LINE):
            some = {"scope": scope, "spans": of_side[start : start + _SPANS_A_LINE]}
            line = {"resourceSpans": [{"resource": resource, "scopeSpans": [some]}]}
            yield msgspec.json.encode(line) + b"\n"


def _attribute(key: str, value: str | int) -> OtlpObject:
    # A 64-bit integer is a string in the JSON of protocol buffers.
    typed = (
        {"intValue": str(value)} if isinstance(value, int) else {"stringValue": _encodable(value)}
    )
    return {"key": key, "value": typed}


def _encodable(text: str) -> str:
    """Drop lone surrogates, which JSON may hold and UTF-8 may not."""
    return text.encode("utf-8", "backslashreplace").decode()


def _digest(*parts: object) -> str:
    return sha256(repr(parts).encode()).hexdigest()


def _nanoseconds(recorded_at: str | None) -> int:
    """Return nanoseconds since 1970; 0 for a take that does not say when it began."""
    try:
        since = datetime.fromisoformat(recorded_at or "").astimezone(UTC) - _EPOCH
    except (ValueError, OverflowError):
        return 0
    return since // timedelta(microseconds=1) * 1000
