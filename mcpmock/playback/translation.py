"""`translate`: a recorded session as a client of the other era would have seen it.

Until 2025-11-25 (legacy) a session begins with `initialize`; since 2026-07-28 (modern) each request
carries the revision and the client's capabilities itself, and servers send no requests. A modern
session becomes a legacy one whose handshake is made from the recorded discovery; a legacy session
becomes the requests of it that a modern client can make. A call that has no counterpart (the server
asked the client something in it, or the revision has no such method) is left out, so that it is a
miss. Everything else stays as recorded.

Pure: events in, events out. `session_selection` translates when a client of an era asks that the
recording lacks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any

import attrs
import msgspec

from mcpmock.cassette.model import Episode, Event, event_line
from mcpmock.playback.plan.steps import SSE
from mcpmock.protocol import edit
from mcpmock.protocol.correlation import Correlation, PendingCall, id_space
from mcpmock.protocol.messages import (
    C2S,
    S2C,
    Content,
    Frame,
    Message,
    Notification,
    Request,
    Response,
    decode,
    encode,
    member,
    parse,
)
from mcpmock.protocol.methods import (
    CACHEABLE,
    LAST_LEGACY,
    LATEST,
    REVISIONS,
    ROWS,
    Sender,
    methods,
)
from mcpmock.protocol.mirrored_headers import fields_of, is_mirror
from mcpmock.protocol.revisions import VERSION_PATH, initialized_version, is_modern, version_of
from mcpmock.protocol.transport_facts import (
    LAST_EVENT_ID_HEADER,
    PROTOCOL_VERSION_HEADER,
    SESSION_HEADER,
    ExchangeEnd,
    HttpRequest,
    HttpResponse,
    SseMeta,
)

DISCOVER = "server/discover"
_PREFIX = "io.modelcontextprotocol/"
_SERVER_INFO = _PREFIX + "serverInfo"
_REQUEST_METADATA = tuple(
    _PREFIX + name for name in ("protocolVersion", "clientInfo", "clientCapabilities", "logLevel")
)
"""What a modern request says of its client (2026-07-28, basic/index, `_meta`)."""
_RESULT_MEMBERS = ("resultType", "ttlMs", "cacheScope")
"""What only modern results have."""
_KNOWN = frozenset(row.name for row in ROWS)
_CAPABILITIES = {"tools/": "tools", "resources/": "resources", "prompts/": "prompts"}
_OF_ONE_ERA = {
    name.lower() for name in (SESSION_HEADER, PROTOCOL_VERSION_HEADER, LAST_EVENT_ID_HEADER)
}
"""Header fields that are written anew, besides those that repeat the body."""
_SESSION = "mcpmock-translated"
_HANDSHAKE_ID = b'"mcpmock-initialize"'
_event = msgspec.json.Decoder(Event)


def revision_asked(content: Content, *, alone: bool = False) -> str | None:
    """Return the revision in which a live request needs its answer: one of REVISIONS; None for a
    request that does not say. A probe says none: a client that is refused falls back to
    `initialize`. `alone`: no session can say it either.
    """
    if not isinstance(content, Request) or content.method == DISCOVER:
        return None
    if content.method == "initialize":
        asked = initialized_version(content.params)
        # 2025-11-25, basic/lifecycle: a server that does not support the requested version
        # "MUST respond with another protocol version it supports", which "SHOULD be the latest".
        return asked if asked in REVISIONS and not is_modern(asked) else LAST_LEGACY
    if is_modern(version_of(content)):
        return LATEST
    return LAST_LEGACY if alone else None


def revisions_spoken(events: Iterable[Event]) -> Iterator[str]:
    """Yield the revisions in which the recorded server answered."""
    for event in events:
        payload = event.payload
        # Whether either name of the revision stands in it is found without parsing.
        if payload is None or (b"rotocolVersion" not in payload and b"pportedV" not in payload):
            continue
        message = event.frame.content if event.frame else None
        if isinstance(message, Response) and event.d == S2C.value:
            if version := initialized_version(message.result):
                yield version
            elif supported := member(message.result, "supportedVersions"):
                found = decode(supported)
                yield from filter(is_modern, found if isinstance(found, list) else ())
        elif isinstance(message, Request) and message.method != DISCOVER:
            version = version_of(message)
            if version is not None and is_modern(version):
                yield version


def translate(episode: Episode, revision: str) -> Episode:
    """Return the episode as a client of this revision would have seen it."""
    era = _ToModern if is_modern(revision) else _ToLegacy
    events = list(era(episode.events, revision, episode.take.transport).events())
    return msgspec.structs.replace(episode, events=events, parts=[])


@attrs.frozen
class _Line:
    """A message of an episode, and the client's call that it belongs to."""

    frame: Frame
    message: Message
    call: PendingCall | None


def _lines(events: Sequence[Event]) -> Iterator[tuple[int, _Line]]:
    spaces: dict[tuple[int, int | None], Correlation] = {}
    for index, event in enumerate(events):
        frame = event.frame
        if frame is None or frame.fact is not None:
            continue
        message = parse(frame.raw)
        calls = spaces.setdefault(id_space(event.s, event.x), Correlation())
        named = calls.note(frame.direction, message, index, event.x)
        call = calls.related(message, named, event.x, guess=frame.direction is S2C)
        yield index, _Line(frame, message, call)


def _has_no_counterpart(line: _Line, revision: str) -> bool:
    message = line.message
    if isinstance(message, Request) and line.frame.direction is C2S:
        rounds = member(message.params, "inputResponses") or member(message.params, "requestState")
        return not _has_method(message.method, revision, line.frame) or rounds is not None
    if isinstance(message, Request):
        # Modern servers send no requests.
        return is_modern(revision) and message.method != "ping"
    if isinstance(message, Response):
        kind = member(message.result, "resultType")
        return kind is not None and kind != b'"complete"'
    return False


def _has_method(method: str, revision: str, frame: Frame) -> bool:
    """Return whether both eras have this method; one that no revision has is the server's own."""
    sender = Sender.CLIENT if frame.direction is C2S else Sender.SERVER
    other = LAST_LEGACY if is_modern(revision) else LATEST
    both = methods(revision, sender).keys() & methods(other, sender).keys()
    return method not in _KNOWN or method in both


@attrs.define(eq=False, repr=False, slots=False)
class _Translation:
    """What both directions have in common. A subclass says what becomes of messages and heads."""

    recorded: Sequence[Event]
    revision: str
    transport: str

    @cached_property
    def lines(self) -> dict[int, _Line]:
        """The messages, by the index of their event."""
        return dict(_lines(self.recorded))

    @cached_property
    def _left_out(self) -> set[int]:
        """The indices of the calls that have no counterpart."""
        return {
            line.call.index
            for line in self.lines.values()
            if line.call is not None and _has_no_counterpart(line, self.revision)
        }

    def _stays(self, index: int) -> bool:
        line = self.lines[index]
        if line.call is not None and line.call.index in self._left_out:
            return False
        message = line.message
        if isinstance(message, Request | Notification):
            return _has_method(message.method, self.revision, line.frame)
        # Client responses answer requests of the server, which only legacy revisions have.
        return not isinstance(message, Response) or line.frame.direction is S2C

    def events(self) -> Iterator[Event]:
        lost = self._lost_exchanges()
        fields: dict[int | None, Event] = {}
        for index, event in enumerate(self.recorded):
            if event.x in lost:
                continue
            new = self._event(index, event)
            before = fields.pop(event.x, None)
            if before is not None and new is not None:
                yield before
            # With a message that is left out, its fields are too.
            if isinstance(event.sse, SseMeta):
                fields[event.x] = event
            elif new is not None:
                yield new

    def _event(self, index: int, event: Event) -> Event | None:
        """Return the event in the other era; None if it has no counterpart."""
        line, frame = self.lines.get(index), event.frame
        if line is None:
            return event if frame is None else _with_frame(event, self.fact(frame))
        new = self.message(line) if self._stays(index) else None
        if new is None:
            return None
        return _with_frame(event, msgspec.structs.replace(line.frame, raw=new))

    @property
    def loses_streams(self) -> bool:
        """Whether the era has no GET and no DELETE."""
        return False

    def message(self, line: _Line) -> bytes | None:
        """Return the bytes of a message in the other era; None for one that it does not have."""
        raise NotImplementedError

    def request_headers(self, message: Message | None) -> list[tuple[str, str]]:
        """Return the header fields of this era in the request that carries a message."""
        raise NotImplementedError

    def answered(self, head: HttpResponse, _exchange: int | None) -> HttpResponse:
        """Return the head of a response in the other era."""
        return head

    def fact(self, frame: Frame) -> Frame:
        """Return a frame that is not a message."""
        fact = frame.fact
        if isinstance(fact, HttpRequest):
            own = self.request_headers(self._posted.get(frame.exchange))
            fact = msgspec.structs.replace(fact, headers=[*_of_both_eras(fact), *own])
        elif isinstance(fact, HttpResponse):
            fact = msgspec.structs.replace(fact, headers=_of_both_eras(fact))
            fact = self.answered(fact, frame.exchange)
        return msgspec.structs.replace(frame, fact=fact)

    @cached_property
    def _posted(self) -> dict[int | None, Message]:
        """The client's messages by their exchange."""
        return {
            line.frame.exchange: line.message
            for line in self.lines.values()
            if line.frame.direction is C2S
        }

    def _lost_exchanges(self) -> set[int]:
        """Return the exchanges whose request has no counterpart."""
        lost = set()
        for index, event in enumerate(self.recorded):
            frame = event.frame
            if event.x is None or frame is None or frame.direction is S2C:
                continue
            if index in self.lines:
                lost |= set() if self._stays(index) else {event.x}
            elif _is_bodiless(event) and self.loses_streams:
                lost.add(event.x)
        return lost


class _ToModern(_Translation):
    """From a session that begins with `initialize`."""

    @property
    def loses_streams(self) -> bool:
        # 2026-07-28, basic/transports/streamable-http: POST only. HTTP+SSE, which is not part of
        # that revision, stays as it is: the SDKs speak it all the same.
        return self.transport != SSE

    def message(self, line: _Line) -> bytes | None:
        message, raw, call = line.message, line.frame.raw, line.call
        if line.frame.direction is C2S:
            return self._request(raw) if isinstance(message, Request) else raw
        if call is None:
            # Modern servers send what belongs to a request, or to a subscription.
            return None if isinstance(message, Request | Notification | Response) else raw
        return self._result(raw, call.request.method)

    def _request(self, raw: bytes) -> bytes:
        for path in (["params"], ["params", "_meta"]):
            if member(raw, *path) is None:
                raw = edit.with_member(raw, path, b"{}")
        raw = edit.with_member(raw, ["params", *VERSION_PATH], encode(self.revision))
        path = ["params", "_meta", _PREFIX + "clientCapabilities"]
        return edit.with_member(raw, path, b"{}")

    @staticmethod
    def _result(raw: bytes, method: str) -> bytes:
        raw = edit.with_member(raw, ["result", "resultType"], b'"complete"')
        if method in CACHEABLE:
            # 2026-07-28, server/utilities/caching: both are required, and 0 is "do not cache".
            raw = edit.with_member(raw, ["result", "ttlMs"], b"0")
            raw = edit.with_member(raw, ["result", "cacheScope"], b'"private"')
        return raw

    def request_headers(self, message: Message | None) -> list[tuple[str, str]]:
        return fields_of(message, self.revision)


class _ToLegacy(_Translation):
    """From requests that carry their revision themselves."""

    def events(self) -> Iterator[Event]:
        pending, can_answer = True, self.transport != SSE
        for event in super().events():
            # Over HTTP+SSE nothing is answered before there is a stream: clients of both transports
            # send a POST first, which is refused.
            can_answer = can_answer or isinstance(event.sse, SseMeta)
            if pending and can_answer and _begins_message(event):
                pending = False
                yield from self._handshake(event)
            yield event

    def message(self, line: _Line) -> bytes | None:
        raw = line.frame.raw
        outer, metadata = ("params", _REQUEST_METADATA)
        if line.frame.direction is S2C:
            outer, metadata = ("result", (_SERVER_INFO,))
            for name in _RESULT_MEMBERS:
                raw = edit.without_member(raw, [outer, name])
        for name in metadata:
            raw = edit.without_member(raw, [outer, "_meta", name])
        if member(raw, outer, "_meta") == b"{}":
            raw = edit.without_member(raw, [outer, "_meta"])
        return raw

    def request_headers(self, _message: Message | None) -> list[tuple[str, str]]:
        version = (PROTOCOL_VERSION_HEADER, self.revision)
        # HTTP+SSE has its session in the target of the POST.
        return [version] if self.transport == SSE else [(SESSION_HEADER, _SESSION), version]

    def answered(self, head: HttpResponse, exchange: int | None) -> HttpResponse:
        # Since 2026-07-28 an unknown method is 404, other errors of the protocol are 400. Earlier
        # servers answer both with 200, and the client of PyPI mcp 1.30 ends its session at any
        # other status (`raise_for_status`).
        if head.status in (400, 404) and exchange in self._with_answers:
            return msgspec.structs.replace(head, status=200, reason="OK")
        return head

    @cached_property
    def _with_answers(self) -> set[int | None]:
        """The exchanges that carry the answer to a request."""
        return {
            line.frame.exchange
            for line in self.lines.values()
            if isinstance(line.message, Response) and line.call is not None
        }

    def _handshake(self, first: Event) -> Iterator[Event]:
        """Yield the handshake that a session begins with, at the time of the first request."""
        params = {"protocolVersion": self.revision, "capabilities": {}, "clientInfo": {}}
        question = edit.request(_HANDSHAKE_ID, "initialize", params)
        answer = edit.response(_HANDSHAKE_ID, self._initialize_result())
        initialized = edit.notification("notifications/initialized")
        if not any(isinstance(event.http, dict) for event in self.recorded):
            frames = [Frame(C2S, question), Frame(S2C, answer), Frame(C2S, initialized)]
        elif self.transport == SSE:
            frames = self._on_event_stream(_post(first), question, answer, initialized)
        else:
            frames = self._in_exchanges(_post(first), question, answer, initialized)
        for frame in frames:
            line = event_line(first.n, first.t, frame, session=first.s)
            yield _event.decode(line)

    def _in_exchanges(
        self, head: HttpRequest, question: bytes, answer: bytes, initialized: bytes
    ) -> list[Frame]:
        x = self._new_exchange()
        fields = [("Content-Type", "application/json"), (SESSION_HEADER, _SESSION)]
        return [
            Frame(C2S, fact=head, exchange=x),
            Frame(C2S, question, exchange=x),
            Frame(S2C, fact=HttpResponse(200, "OK", fields), exchange=x),
            Frame(S2C, answer, exchange=x),
            Frame(S2C, fact=ExchangeEnd(), exchange=x),
            *self._accepted(x + 1, head, initialized),
        ]

    def _on_event_stream(
        self, head: HttpRequest, question: bytes, answer: bytes, initialized: bytes
    ) -> list[Frame]:
        x = self._new_exchange()
        streams = (e.x for e in self.recorded if isinstance(e.sse, SseMeta))
        stream = next(streams, None)
        return [
            *self._accepted(x, head, question),
            Frame(S2C, fact=SseMeta(event="message"), exchange=stream),
            Frame(S2C, answer, exchange=stream),
            *self._accepted(x + 1, head, initialized),
        ]

    @staticmethod
    def _accepted(x: int, head: HttpRequest, raw: bytes) -> list[Frame]:
        return [
            Frame(C2S, fact=head, exchange=x),
            Frame(C2S, raw, exchange=x),
            Frame(S2C, fact=HttpResponse(202, "Accepted", []), exchange=x),
            Frame(S2C, fact=ExchangeEnd(), exchange=x),
        ]

    def _new_exchange(self) -> int:
        return 1 + max(event.x or 0 for event in self.recorded)

    def _initialize_result(self) -> dict[str, Any]:
        """Use the recorded discovery; without one, what was asked and answered."""
        result: dict[str, Any] = {"protocolVersion": self.revision}
        info: Any = None
        for line in self.lines.values():
            message = line.message
            if not isinstance(message, Response) or message.result is None:
                continue
            found = decode(message.result)
            if not isinstance(found, dict):
                continue
            meta = found.get("_meta")
            info = info or (meta.get(_SERVER_INFO) if isinstance(meta, dict) else None)
            if "supportedVersions" in found and "capabilities" not in result:
                result |= {
                    name: found[name] for name in ("capabilities", "instructions") if name in found
                }
        result.setdefault("capabilities", self._capabilities_used())
        _drop_requests_of_one_era(result["capabilities"])
        return result | {"serverInfo": info or {"name": "recorded server", "version": ""}}

    def _capabilities_used(self) -> dict[str, Any]:
        asked = {
            line.message.method for line in self.lines.values() if isinstance(line.message, Request)
        }
        return {
            capability: {}
            for prefix, capability in _CAPABILITIES.items()
            if any(method.startswith(prefix) for method in asked)
        }


def _drop_requests_of_one_era(capabilities: Any) -> None:
    """Remove what makes legacy clients send requests to which nothing was recorded."""
    if isinstance(capabilities, dict):
        capabilities.pop("logging", None)
        if isinstance(capabilities.get("resources"), dict):
            capabilities["resources"].pop("subscribe", None)


def _of_both_eras(head: HttpRequest | HttpResponse) -> list[tuple[str, str]]:
    """Return the fields of a head that neither tell the era nor repeat the body."""
    names = ((field, field[0].lower()) for field in head.headers)
    return [field for field, name in names if name not in _OF_ONE_ERA and not is_mirror(name)]


def _post(first: Event) -> HttpRequest:
    """Return the head of the first request, without what is said about its body."""
    frame = first.frame
    if frame is None or not isinstance(frame.fact, HttpRequest):
        return HttpRequest("POST", "/mcp", [])
    return msgspec.structs.replace(frame.fact, headers=_of_both_eras(frame.fact))


def _begins_message(event: Event) -> bool:
    """Return whether it is a message of the client, or the head of a request with one."""
    frame = event.frame
    if frame is None or frame.direction is S2C:
        return False
    return frame.fact is None or (isinstance(frame.fact, HttpRequest) and frame.fact.has_body)


def _is_bodiless(event: Event) -> bool:
    """Return whether it is the head of a request without a message."""
    frame = event.frame
    return frame is not None and isinstance(frame.fact, HttpRequest) and not frame.fact.has_body


def _with_frame(event: Event, frame: Frame) -> Event:
    if frame == event.frame:
        return event
    line = event_line(event.n, event.t, frame, session=event.s, redacted=event.redacted)
    return _event.decode(line)
