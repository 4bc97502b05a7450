"""`LiveIds`: which live ids, tokens, exchanges and session stand for the recorded ones, and
planned messages rendered with them.

Live values are put in by path, never by text search, and every other byte goes out as it was
recorded. `playback.candidates` decides what is rendered and when.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Set
from functools import lru_cache
from urllib.parse import quote

import attrs
import msgspec
from msgspec.structs import replace

from mcpmock.lazy_pattern import lazy_pattern
from mcpmock.playback.plan.plan import (
    AGREED_VERSION_PATH,
    ClientEvent,
    LiveValue,
    PlannedMessage,
)
from mcpmock.protocol.correlation import TOKEN_PATH
from mcpmock.protocol.id_table import IdTable
from mcpmock.protocol.messages import (
    Frame,
    HttpResponse,
    Request,
    SseMeta,
    member,
)
from mcpmock.protocol.raw_json import Span, elements, locate_known, splice
from mcpmock.protocol.revisions import PRIMING_REVISION
from mcpmock.protocol.transport_facts import REMEMBERED_HEADS
from mcpmock.redaction.placeholders import fill, holds_placeholder, placeholders_in
from mcpmock.transports.content_coding import without_decoded

from .header_profile import SESSION, is_session_parameter
from .request_assembly import ClientMessage

_NOT_RENDERED = {"content-length", "transfer-encoding", "connection", "keep-alive", "date"}
"""Fields of a recorded head that describe its connection and its time."""
_QUERY_VALUE = lazy_pattern(r"([?&])([^=&#]*)(=)([^&#]*)")


class LiveCall(msgspec.Struct, frozen=True, gc=False):
    """What stands for a recorded request: the id and the progress token as the live client spelled
    them, and of `initialize` the revision, if it is not the recorded one.
    """

    id: bytes
    token: bytes | None
    version: str | None = None

    @classmethod
    def of(cls, request: Request) -> LiveCall:
        """Return what a live request brings."""
        return cls(request.id, member(request.params, *TOKEN_PATH))


@attrs.define(eq=False, repr=False)
class LiveIds:
    """The live identities in one candidate. `session` gives the id of the live session: a recorded
    one is never served again.
    """

    session: Callable[[], str]
    recorded_sessions: frozenset[str] = frozenset()
    calls: dict[int, LiveCall] = attrs.field(factory=dict)
    exchanges: dict[int, int] = attrs.field(factory=dict)
    """The live exchanges by the recorded ones."""
    recorded: dict[int, int] = attrs.field(factory=dict)
    """The recorded exchanges by the live ones."""
    stream: int | None = None
    """Over HTTP+SSE, the live exchange that carries everything the server sends."""
    versions: tuple[str, str] | None = None
    """The revision that was recorded and that of the live session, where they differ."""
    _numbers: IdTable[int] = attrs.field(factory=IdTable)
    """The numbers of the recorded calls by the ids that the live client gave them, the latest of
    each id.
    """

    def bind(self, event: ClientEvent, live: ClientMessage) -> None:
        """Bind the live frame to this client event: its ids for the recorded ones (a batch in
        the order of its requests: equal keys mean equal order), its exchange for the recorded one.
        """
        exchange = event.frame.exchange
        if exchange is not None and live.exchange is not None:
            self.exchanges[exchange] = live.exchange
            self.recorded[live.exchange] = exchange
        if not event.calls:
            return
        for number, request in zip(event.calls, live.requests, strict=False):
            self.bind_call(number, LiveCall.of(request))

    def bind_call(self, number: int, call: LiveCall) -> None:
        """Let this call of the live client stand for a recorded one."""
        self.calls[number] = call
        self._numbers.set(call.id, number)

    def agree(self, number: int, recorded: str, version: str) -> None:
        """Let this revision stand for the recorded one in the answer to a call."""
        self.versions = None
        if version != recorded:
            self.versions = recorded, version
            self.calls[number] = replace(self.calls[number], version=version)

    def number(self, id_: bytes) -> int | None:
        """Return the recorded call that a live id stands for."""
        return self._numbers.find(id_)

    def render(self, planned: PlannedMessage, bindings: Mapping[str, str]) -> list[Frame]:
        """Return the recorded frames with live ids, tokens and values; none for progress that the
        live client did not ask for, and for what has no live exchange to be sent on.
        """
        if planned.exchange is None:
            return self._render_message(planned, bindings)
        live = self.exchanges.get(planned.exchange)
        if live is None:
            return []
        frame = planned.frame
        if self.versions is not None and _primes(frame, *self.versions):
            return []
        if frame.fact is not None:
            return [self._render_fact(frame, live, bindings)]
        if planned.meta is not None and not planned.calls and _names_endpoint(planned.meta):
            self.stream = live
            uri = fill(self._endpoint(frame.raw), bindings, quoted=False)
            frame = Frame(frame.direction, uri, frame.eol)
            rendered = [frame]
        else:
            rendered = self._render_message(planned, bindings)
        metas = [] if planned.meta is None or not rendered else [planned.meta]
        return [_on(live, frame) for frame in (*metas, *rendered)]

    def _render_message(self, planned: PlannedMessage, bindings: Mapping[str, str]) -> list[Frame]:
        frame, live_values = planned.frame, planned.live_values
        in_batch = any(live_value.item is not None for live_value in live_values)
        render = self._render_batch if in_batch else self._render_item
        new = render(frame.raw, live_values)
        if new is None:
            return []
        if holds_placeholder(new):
            new = fill(new, self._known(new, bindings))
        return [Frame(frame.direction, new, frame.eol, frame.fact)]

    def _render_fact(self, frame: Frame, live: int, bindings: Mapping[str, str]) -> Frame:
        fact, raw = frame.fact, frame.raw
        if isinstance(fact, HttpResponse):
            fact = live_head(plain_head(fact), self.recorded_sessions, self.session, bindings)
        elif holds_placeholder(raw):
            raw = fill(raw, self._known(raw, bindings), quoted=False)
        return Frame(frame.direction, raw, frame.eol, fact, live)

    def _known(self, raw: bytes, bindings: Mapping[str, str]) -> Mapping[str, str]:
        """Add the session's id to the bindings where a placeholder stands for it."""
        wanted = self.recorded_sessions.intersection(hole.decode() for hole in placeholders_in(raw))
        return {**bindings, **dict.fromkeys(wanted, self.session())} if wanted else bindings

    def _endpoint(self, uri: bytes) -> bytes:
        """Return where the live client is to post its messages: the recorded URI with the live
        session in place of the recorded one, be that the value of a parameter that says so or of
        any.
        """
        text = uri.decode("utf-8", "surrogateescape")
        session = quote(self.session(), safe="")
        names = {match[2] for match in _QUERY_VALUE.finditer(text)}
        named = {name for name in names if is_session_parameter(name)} or names
        if not names:
            text += f"{'&' if '?' in text else '?'}sessionId={session}"

        def value(match: re.Match[str]) -> str:
            return f"{match[1]}{match[2]}={session}" if match[2] in named else match[0]

        return _QUERY_VALUE.sub(value, text).encode("utf-8", "surrogateescape")

    def _render_batch(self, raw: bytes, live_values: tuple[LiveValue, ...]) -> bytes | None:
        """Leave out progress that the live client did not ask for."""
        spans = elements(raw) or []
        rendered = [
            (
                span,
                self._render_item(
                    raw[span.start : span.end], [t for t in live_values if t.item == i]
                ),
            )
            for i, span in enumerate(spans)
        ]
        kept = [(span, new) for span, new in rendered if new is not None]
        if len(kept) < len(rendered):
            return b"[" + b",".join(new for _, new in kept) + b"]" if kept else None
        return splice(raw, kept)

    def _render_item(self, raw: bytes, live_values: Iterable[LiveValue]) -> bytes | None:
        replacements: list[tuple[Span, bytes]] = []
        for live_value in live_values:
            live = self.calls.get(live_value.call)
            if live is None:
                continue
            value = live.token if live_value.token else live.id
            if live_value.path == AGREED_VERSION_PATH:
                if live.version is None:
                    continue
                value = b'"%b"' % live.version.encode()
            if value is None:
                return None
            span = locate_known(raw, live_value.path)
            if span is not None and raw[span.start : span.end] != value:
                replacements.append((span, value))
        return splice(raw, replacements)


@lru_cache(REMEMBERED_HEADS)
def _response(status: int, reason: str, headers: tuple[tuple[str, str], ...]) -> HttpResponse:
    # Equal heads are one value, which keeps what was read of it.
    return HttpResponse(status, reason, [*headers])


def plain_head(head: HttpResponse) -> HttpResponse:
    """Return a recorded head without what describes its connection, its time and its coding."""
    fields = [field for field in without_decoded(head) if field[0].lower() not in _NOT_RENDERED]
    return _response(head.status, head.reason, (*fields,))


def live_head(
    head: HttpResponse,
    recorded_sessions: Set[str],
    session: Callable[[], str],
    bindings: Mapping[str, str],
) -> HttpResponse:
    """Return a recorded head with the id of the live session, and live values in place of
    placeholders.
    """
    headers, id_ = [], None
    for name, value in head.headers:
        new = value
        if name.lower() == SESSION or value.strip() in recorded_sessions:
            new = id_ = id_ or session()
        elif holds_placeholder(raw := value.encode("utf-8", "surrogateescape")):
            live = fill(raw, bindings, quoted=False).decode("utf-8", "surrogateescape")
            fits = live.isascii() and live.isprintable()  # no line break gets into a head
            new = live if fits else value
        headers.append((name, new))
    return _response(head.status, head.reason, (*headers,))


def _on(exchange: int, frame: Frame) -> Frame:
    return Frame(frame.direction, frame.raw, frame.eol, frame.fact, exchange)


def _primes(frame: Frame, recorded: str, live: str) -> bool:
    """Return whether it is an event with only an id, unknown to clients of this revision."""
    # 2025-11-25, transports: the server "SHOULD immediately send an SSE event consisting of an
    # event ID and an empty data field". Older clients take the empty data for a message.
    meta = frame.fact
    return isinstance(meta, SseMeta) and bool(meta.id) and live < PRIMING_REVISION <= recorded


def _names_endpoint(meta: Frame) -> bool:
    return isinstance(meta.fact, SseMeta) and meta.fact.event == "endpoint"
