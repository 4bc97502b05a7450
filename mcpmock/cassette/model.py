"""The shape of a recording: header, events, footer, takes and episodes; and the event of a frame
and back.

The format is version 1 (`mcpmock help cassette`); every Struct here is one kind of its lines.
`read` makes these from bytes, `file` puts them on a disk, `recording.recorder` makes the lines of
live frames by the same `event_line`.
"""

from __future__ import annotations

import base64
import binascii
import codecs
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Any, Literal, overload

import attrs
import msgspec
from msgspec import UNSET, Raw, UnsetType

from mcpmock.protocol import messages
from mcpmock.protocol.messages import C2S, Direction, Frame
from mcpmock.protocol.raw_json import UNREADABLE, members


class Header(msgspec.Struct, omit_defaults=True, kw_only=True):
    """The first line of a take. `target` is for people: nothing ever runs or dials it."""

    mcpmock: int
    recorded_at: str | None = None
    tool: str | None = None
    transport: str | None = None
    target: list[str] | str | None = None
    redaction: Any = None
    match: Any = None
    vars: dict[str, Any] | None = None
    test: str | None = None
    """The test whose run it is a recording of, by its node id."""
    converted: Any = None
    """Of a recording of another tool: which one, and what it did not record."""
    sibling_of: str | None = None
    """The name of the cassette that was locked when this take began in a file beside it."""


def joined_rules(headers: Iterable[Header]) -> dict[str, list[Any]] | None:
    """Return the rules of these headers in one table; None if they have none."""
    joined: dict[str, list[Any]] = {}
    for table in (header.match for header in headers):
        for name, rules in table.items() if isinstance(table, dict) else ():
            known = joined.setdefault(name, [])
            known += [one for one in rules if one not in known] if isinstance(rules, list) else []
    return joined or None


class Footer(msgspec.Struct, omit_defaults=False, kw_only=True):
    """The last line of a take that was closed cleanly. `sha256` covers every byte of the take
    before this line.
    """

    events: int
    sha256: str
    redacted: int = 0
    gaps: int = 0


class Oversize(msgspec.Struct):
    """What a frame was whose payload holds only its head."""

    bytes: int
    sha256: str


class Gap(msgspec.Struct, omit_defaults=True):
    """What could not be recorded."""

    bytes: int = 0
    events: int = 0
    reason: str = ""
    """Why, the first reasons if there are several."""


class Event(msgspec.Struct, omit_defaults=True, kw_only=True, gc=False):
    """One line. Exactly one payload is set; the field order is the key order of the format."""

    n: int
    # A factory, because a default of 0 would leave the key out of the first event.
    t: int = msgspec.field(default_factory=int)
    s: int = 1
    x: int | None = None
    d: Literal["c2s", "s2c"] | None = None
    m: Raw | UnsetType = UNSET
    text: str | UnsetType = UNSET
    b64: str | UnsetType = UNSET
    http: dict[str, Any] | UnsetType = UNSET
    sse: messages.SseMeta | UnsetType = UNSET
    body: str | UnsetType = UNSET
    stderr: str | UnsetType = UNSET
    end: str | dict[str, int] | UnsetType = UNSET
    fault: Any = UNSET
    auth: dict[str, Any] | UnsetType = UNSET
    """How the requests to the server are authorized from here on: by what, whom and with which
    scopes; never a token.
    """
    gap: Gap | UnsetType = UNSET
    eol: str = "\n"
    raw: str | None = None
    oversize: Oversize | None = None
    decoded: str | None = None
    """The content codings that a body was decoded from."""
    redacted: bool = False

    @property
    def frame(self) -> Frame | None:
        """The frame that crossed the wire, or None for a note (receipts of faults,
        authorization, gaps).
        """
        direction = C2S if self.d == "c2s" else messages.S2C
        if (
            self.m is not UNSET and self.eol == "\n" and self.decoded is None
        ):  # nearly all, in half the time
            return Frame(direction, bytes(self.m), b"\n", None, self.x)
        if self.stderr is not UNSET:
            return Frame(messages.S2C, self._bytes_of(self.stderr), b"", messages.Stderr(), self.x)
        fact = self._fact()
        if fact is not None:
            raw = self._bytes_of(self.body) if self.body is not UNSET else b""
            eol = b"" if self.x is None else b"\n"  # on HTTP it says nothing, and has its default
            return Frame(direction, raw, eol, fact, self.x, decoded=self.decoded)
        message = self.payload
        if message is None:
            return None
        return Frame(direction, message, self.eol.encode(), None, self.x, decoded=self.decoded)

    @property
    def payload(self) -> bytes | None:
        """The raw bytes of a message frame; None for an event of another kind."""
        if self.m is not UNSET:
            return bytes(self.m)
        if self.text is not UNSET:
            return self.text.encode()
        if self.b64 is not UNSET:
            return base64.b64decode(self.b64, validate=True)
        return None

    def _bytes_of(self, text: str) -> bytes:
        """Return what was shown as text for people."""
        return text.encode() if self.raw is None else base64.b64decode(self.raw, validate=True)

    def _fact(self) -> messages.Fact | None:
        if self.http is not UNSET:
            return _http_fact(self.http)
        if self.sse is not UNSET:
            return self.sse
        if self.body is not UNSET:
            return messages.HttpBody()
        if self.end is UNSET:
            return None
        if isinstance(self.end, dict):
            if self.d == "c2s" and "signal" in self.end:
                return messages.StopSignal(self.end["signal"])
            return messages.ProcessExit(self.end.get("exit"), self.end.get("signal"))
        return messages.StreamEnd(self.end) if self.x is None else messages.ExchangeEnd(self.end)


class _MessageLine(msgspec.Struct, gc=False):
    """What the frame of nearly every message is made of."""

    d: str | None = None
    x: int | None = None
    m: Raw | UnsetType = UNSET
    eol: str = "\n"
    decoded: str | None = None


_event = msgspec.json.Decoder(Event)
_message = msgspec.json.Decoder(_MessageLine)
_DECODED_TOGETHER = 1 << 16
"""Bytes. What is read lives as long as one of its events."""


def decode_event(line: bytes) -> Event:
    """Return the event in a line. Raises one of UNREADABLE."""
    try:
        return _event.decode(line)
    except (
        RecursionError
    ):  # a peer may send a message that is nested more deeply than msgspec reads
        spans = members(line)
        if spans is None or "m" not in spans:
            raise
        span = spans["m"]
        event = _event.decode(line[: span.start] + b"0" + line[span.end :])
        event.m = Raw(line[slice(*span)])
        return event


def decode_events(block: bytes) -> list[Event]:
    """Return the events in whole lines that hold nothing else. Raises one of UNREADABLE."""
    return _event.decode_lines(block)


def _frame_of(line: bytes) -> Frame | None:
    try:
        # speed: 0.5 us, as a whole event 0.65 (python -m timeit)
        found = _message.decode(line)
    except UNREADABLE:
        return decode_event(line).frame
    if found.m is UNSET or found.eol != "\n" or found.decoded is not None:
        return decode_event(line).frame
    direction = C2S if found.d == "c2s" else messages.S2C
    return Frame(direction, bytes(found.m), b"\n", None, found.x)


@attrs.define(eq=False, repr=False)
class EventLines(Sequence[Event]):
    """The events of a take in the bytes of its file, decoded anew each time that they are read:
    what is kept of an event is where its line starts.

    >>> events = mcpmock.load("weather.jsonl").takes[0].events
    >>> len(events), events[-1].n, [event.d for event in events[:2]]
    (8, 8, ['c2s', 's2c'])
    """

    _data: bytes = attrs.field(repr=False)
    _starts: array[int] = attrs.field(factory=lambda: array("I"), repr=False)
    sessions: set[int] = attrs.field(factory=set)
    """The sessions that they belong to."""
    has_exchanges: bool = False
    """Whether some belong to an HTTP exchange."""
    _endpoint: bool | None = False
    """`has_endpoint`; None where an event was added that may name one."""

    def add(self, events: Sequence[Event], start: int, lines: Sequence[bytes]) -> None:
        """Add events that stand in these lines, of which the first starts there."""
        ends = accumulate(map(len, lines[:-1]), initial=start)
        self._starts.extend([end + breaks for breaks, end in enumerate(ends)])
        self.sessions.update({event.s for event in events})
        if {event.x for event in events} != {None}:
            self.has_exchanges = True
            if not self._endpoint and any(map(names_endpoint, events)):
                self._endpoint = None

    @property
    def has_endpoint(self) -> bool:
        """Whether a server of the older HTTP+SSE names its endpoint in them."""
        if self._endpoint is None:
            self._endpoint = _has_endpoint(self)
        return self._endpoint

    def of_sessions(self) -> dict[int, EventLines]:
        """Return the events of each session, in the order in which the sessions began."""
        if len(self.sessions) == 1:
            return dict.fromkeys(self.sessions, self)
        found: dict[int, EventLines] = {}
        for start, event in zip(self._starts, self, strict=True):
            if event.s not in found:
                found[event.s] = EventLines(
                    self._data, array("I"), {event.s}, self.has_exchanges, self.has_endpoint
                )
            found[event.s]._starts.append(start)
        return found

    def line_numbers(self) -> Iterator[int]:
        """Yield the number of the line of each event in the file, from 1."""
        number, before = 1, 0
        for start in self._starts:
            number += self._data.count(b"\n", before, start)
            before = start
            yield number

    def frame(self, place: int) -> Frame | None:
        """Return the frame of an event, as `Event.frame`."""
        return _frame_of(self._line(self._starts[place]))

    def frames(self, places: Iterable[int]) -> list[Frame]:
        """Return the frames of those of these events that have one."""
        starts, data = self._starts, self._data
        lines = [data[(start := starts[place]) : data.find(b"\n", start)] for place in places]
        return [frame for line in lines if (frame := _frame_of(line)) is not None]

    def may_hold(self, text: bytes) -> bool:
        """Return whether the file has these bytes in it: if not, no event of it has."""
        return text in self._data

    def __len__(self) -> int:
        return len(self._starts)

    def __iter__(self) -> Iterator[Event]:
        return self._read(0, len(self))

    @overload
    def __getitem__(self, place: int) -> Event: ...
    @overload
    def __getitem__(self, place: slice) -> list[Event]: ...
    def __getitem__(self, place: int | slice) -> Event | list[Event]:
        if isinstance(place, int):
            return decode_event(self._line(self._starts[place]))
        first, last, step = place.indices(len(self))
        return list(self._read(first, last))[::step] if step > 0 else list(self)[place]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return len(self) == len(other) and all(map(Event.__eq__, self, other))

    __hash__ = None  # type: ignore[assignment]

    def _line(self, start: int) -> bytes:
        return self._data[start : self._data.find(b"\n", start)]

    def _read(self, first: int, last: int) -> Iterator[Event]:
        starts = self._starts
        while first < last:
            together = starts[first] + _DECODED_TOGETHER
            stop = max(bisect_right(starts, together, first, last), first + 1)
            yield from self._decoded(starts[first:stop])
            first = stop

    def _decoded(self, starts: array[int]) -> list[Event]:
        block = self._data[starts[0] : self._data.find(b"\n", starts[-1]) + 1]
        # Other lines may stand between them: of other sessions, blank or damaged ones.
        if block.count(b"\n") == len(starts):
            try:
                return decode_events(block)
            except UNREADABLE:
                pass  # one of them is nested too deeply
        return [decode_event(self._line(start)) for start in starts]


class Take(msgspec.Struct, kw_only=True):
    """One run of a recorder. `line` is where its header stands in the file, from 1."""

    header: Header
    events: Sequence[Event]
    footer: Footer | None = None
    line: int = 1
    sealed: bool | None = None
    """Whether the footer's digest fits; None without a footer (the recorder did not close it)."""
    footer_line: int = 0
    """Where the footer stands; 0 without one."""

    @property
    def transport(self) -> str:
        """What was recorded: `stdio`, `streamable-http` or `sse`.

        The header says what the recorder stood in for; that a server spoke the older HTTP+SSE shows
        in what it sent first, an event that names its endpoint.
        """
        named = self.header.transport or "stdio"
        if named in (
            "stdio",
            "memory",
        ):  # all events are looked at, and a page that grows asks often
            return named
        events = self.events
        if isinstance(events, EventLines):
            return "sse" if events.has_endpoint else named
        return "sse" if _has_endpoint(events) else named

    def episodes(self) -> Iterator[Episode]:
        """Yield its sessions, each with its own events, in the order they began."""
        sessions: dict[int, Any] = {}
        if isinstance(self.events, EventLines):
            sessions = self.events.of_sessions()
        else:
            for event in self.events:
                sessions.setdefault(event.s, []).append(event)
        for events in sessions.values():
            yield Episode(take=self, events=events)


def frames_at(events: Sequence[Event], places: Sequence[int]) -> list[Frame]:
    """Return the frames of those of the events at these places that have one."""
    if isinstance(events, EventLines):
        return events.frames(places)
    return [frame for place in places if (frame := events[place].frame) is not None]


def frame_at(events: Sequence[Event], place: int) -> Frame | None:
    """Return the frame of one of the events."""
    return events.frame(place) if isinstance(events, EventLines) else events[place].frame


def numbered(take: Take) -> Iterator[tuple[int, Event]]:
    """Yield the events of a take of a file, each with its line, from 1."""
    assert isinstance(take.events, EventLines), "a take of a file"
    return zip(take.events.line_numbers(), take.events, strict=True)


def has_exchanges(events: Sequence[Event]) -> bool:
    """Return whether some of the events belong to an HTTP exchange."""
    if isinstance(events, EventLines):
        return events.has_exchanges
    return any(event.x is not None for event in events)


def names_endpoint(event: Event) -> bool:
    """Return whether a server of the older HTTP+SSE names the endpoint for requests, if this is on
    the stream of a GET: it spoke that.
    """
    return event.sse is not UNSET and event.sse.event == "endpoint"


def _has_endpoint(events: Sequence[Event]) -> bool:
    named = {event.x for event in events if names_endpoint(event)}
    # Streamable HTTP gives the events of an answer to a POST no name, so a server may give any.
    posts = {
        event.x
        for event in (events if named else ())
        if event.x in named and event.d == "c2s"
        if event.http is not UNSET and event.http.get("method") == "POST"
    }
    return bool(named - posts)


class Episode(msgspec.Struct, kw_only=True):
    """One session of one take: what a live session can be played from."""

    take: Take
    events: Sequence[Event]
    parts: list[tuple[int, Episode]] = []
    """The episodes that it was `merged` of, each with the index of its first event; else none."""
    name: tuple[int, int] = (0, 0)
    """The place of its take in the cassette, and its session there."""


class Notice(msgspec.Struct, frozen=True):
    """Something about a cassette that its reader should know and that stops nothing. `line` counts
    from 1; 0 is the whole file.
    """

    line: int
    text: str
    file: str = ""
    """The file, if it is not the one that the cassette is named after."""


class Damage(msgspec.Struct, frozen=True):
    """A line that is not what it should be, with the reason."""

    line: int
    reason: str


class Cassette(msgspec.Struct, kw_only=True):
    """Takes in the order of their start; `name` is the file as the user wrote it.

    >>> cassette = mcpmock.load("weather.jsonl")
    >>> cassette.name, len(cassette.takes), len(cassette.episodes())
    ('weather.jsonl', 1, 1)
    """

    name: str
    takes: list[Take]
    notices: list[Notice] = msgspec.field(default_factory=list)
    damage: list[Damage] = msgspec.field(default_factory=list)

    @property
    def complete(self) -> bool:
        """Whether every take was closed by its recorder, and no line of the file is damaged.

        >>> mcpmock.load("weather.jsonl").complete
        False
        """
        return not self.damage and all(take.footer is not None for take in self.takes)

    def episodes(self) -> list[Episode]:
        """Return all sessions of all takes, in recorded order."""
        return [episode for take in self.takes for episode in take.episodes()]


_json = msgspec.json.Encoder()
_raw = msgspec.json.Decoder(Raw)
_PIECE = 1 << 20
_OPENERS, _CLOSERS = b"{[", b"}]"
# speed: 0.5 us a message as numbers; `bytes in bytes` raises and drops a TypeError first, 0.9
# (python -m timeit)
_CR, _LF = b"\r\n"
_BRACE, _END_BRACE = b"{}"


def encode_cassette(cassette: Cassette) -> bytes:
    """Return the lines of a cassette. Unknown members of its lines are not in the value, nor
    here.
    """
    lines: list[bytes] = []
    for take in cassette.takes:
        lines += map(_json.encode, (take.header, *take.events))
        if take.footer is not None:
            lines.append(_json.encode({"footer": take.footer}))
    return b"".join(line + b"\n" for line in lines)


def embeddable(raw: bytes) -> bool:
    """Return whether these bytes may stand in a line as they are, and come back from it as they
    were.

    Only a whole JSON object or array without white space around it and without line breaks does
    both.
    """
    if not raw or raw[0] not in _OPENERS or raw[-1] not in _CLOSERS or _CR in raw or _LF in raw:
        return False
    try:
        _raw.decode(raw)
    except UNREADABLE:
        return False
    return raw.isascii() or is_utf8(raw)


def is_utf8(raw: bytes) -> bool:
    """Return whether bytes are text; a long frame is looked at in pieces, not copied."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    view = memoryview(raw)
    try:
        for start in range(0, len(raw), _PIECE):
            decoder.decode(view[start : start + _PIECE], final=start + _PIECE >= len(raw))
    except UnicodeDecodeError:
        return False
    return True


def payload_parts(raw: bytes) -> tuple[bytes, bytes, bytes]:
    """`"m":...`, `"text":...` or `"b64":...`, the first that keeps every byte; in parts, not to
    copy a long frame.
    """
    if embeddable(raw):
        return b'"m":', raw, b""
    if is_utf8(raw):
        return b'"text":', _json.encode(raw.decode()), b""
    return b'"b64":"', binascii.b2a_base64(raw, newline=False), b'"'


_C2S_MESSAGE = b'{"n":%%d,"t":%d,"d":"c2s","m":%%b}\n'
_S2C_MESSAGE = _C2S_MESSAGE.replace(b"c2s", b"s2c")


def are_embeddable(raws: Sequence[bytes], lines: bytes) -> bool:
    """Return whether each of these is a JSON object that is `embeddable`; `lines` is all of them,
    one a line.
    """
    # speed: 0.25 us a message, one by one 0.45 (tools/bench.py --processor)
    try:
        return (
            len(_raw.decode_lines(lines)) == len(raws)
            and all(raws)
            and all(
                [raw[0] == _BRACE and raw[-1] == _END_BRACE and _LF not in raw for raw in raws]  # noqa: C419 (a list is quicker)
            )
            and _CR not in lines
            and (lines.isascii() or is_utf8(lines))
        )
    except UNREADABLE:
        return False


def message_line(n: int, t: int, direction: Direction, raw: bytes) -> bytes:
    """Return the line of a message of stdio whose bytes are `embeddable`."""
    return (_C2S_MESSAGE if direction is C2S else _S2C_MESSAGE) % t % (n, raw)


def message_lines(n: int, t: int, direction: Direction, raws: Sequence[bytes]) -> list[bytes]:
    """Return the lines of messages of stdio that came together, the first numbered `n`."""
    line = (_C2S_MESSAGE if direction is C2S else _S2C_MESSAGE) % t
    return [line % (number, raw) for number, raw in enumerate(raws, n)]


_WITHOUT_DIRECTION = (messages.Stderr, messages.ProcessExit)


def event_line(n: int, t: int, frame: Frame, *, session: int = 1, redacted: bool = False) -> bytes:
    """Return the line for a live frame, with its line break. `t` is in microseconds since the
    take began.
    """
    fact, exchange = frame.fact, frame.exchange
    place = "" if session == 1 else f',"s":{session}'
    if exchange is not None:
        place += f',"x":{exchange}'
    if type(fact) not in _WITHOUT_DIRECTION:
        place += ',"d":"c2s"' if frame.direction is C2S else ',"d":"s2c"'
    parts = [f'{{"n":{n},"t":{t}{place},'.encode(), *_fields(frame)]
    if fact is None and frame.eol != b"\n" and (frame.eol or exchange is None):
        parts.append(b',"eol":' + _json.encode(frame.eol.decode()))
    if frame.decoded is not None and type(fact) is not messages.SseMeta:
        parts.append(b',"decoded":' + _json.encode(frame.decoded))
    if redacted:
        parts.append(b',"redacted":true')
    parts.append(b"}\n")
    return b"".join(parts)


def _fields(frame: Frame) -> Sequence[bytes]:
    match frame.fact:
        case None | messages.Fragment():
            return payload_parts(frame.raw)
        case messages.HttpRequest() | messages.HttpResponse():
            return b'"http":', _json.encode(frame.fact)
        case messages.ExchangeEnd(how) | messages.StreamEnd(how):
            return b'"end":', _json.encode(how)
        case messages.Stderr():
            return _text_parts(b'"stderr":', frame.raw)
        case messages.StopSignal(signal):
            return b'"end":', _json.encode({"signal": signal})
        case messages.ProcessExit(code, signal):
            return b'"end":', _json.encode({"exit": code} if signal is None else {"signal": signal})
        case messages.SseMeta():
            return b'"sse":', _json.encode(frame.fact)
        case messages.HttpBody():
            return _text_parts(b'"body":', frame.raw)
        case messages.RestartStep():
            raise ValueError("a step of a restart does not leave the end of the server")


def _text_parts(name: bytes, raw: bytes) -> Sequence[bytes]:
    """Return text for people; where that is not all of it, the bytes too."""
    text = name + _json.encode(raw.decode("utf-8", "replace"))
    if is_utf8(raw):
        return (text,)
    return text, b',"raw":"', binascii.b2a_base64(raw, newline=False), b'"'


def _http_fact(head: dict[str, Any]) -> messages.Fact:
    if "method" in head:
        return msgspec.convert(head, messages.HttpRequest)
    return msgspec.convert(head, messages.HttpResponse)
