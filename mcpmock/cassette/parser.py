"""Bytes to a `Cassette`: the loader. Pure; `file` reads the bytes and decides what damage means.

It keeps three promises of the format. Any prefix of a cassette is a cassette: a torn last line is
dropped, with a notice. Broken is not empty: a line in the middle that is not an event is `Damage`,
with its line and the reason, and `recover` can save the events around it. Data only: no key names a
file, a command or an address to act on.
"""

from __future__ import annotations

import hashlib
import re

import attrs
import msgspec
from msgspec import UNSET

from mcpmock.protocol.raw_json import UNREADABLE, members

from .model import FORMAT, Cassette, Damage, Event, Footer, Header, Notice, Take, is_utf8

HEADER_START = b'{"mcpmock":'
_MAJOR = re.compile(rb'\{"mcpmock":[ \t]*(\d{1,19})[ \t]*[,}]')
_FOOTER_START = b'{"footer":'
_PAYLOADS = ("m", "text", "b64", "http", "sse", "body", "stderr", "end", "fault", "gap")
_header = msgspec.json.Decoder(Header)
_event = msgspec.json.Decoder(Event)


class _FooterLine(msgspec.Struct):
    footer: Footer


_footer_line = msgspec.json.Decoder(_FooterLine)


def read(name: str, data: bytes) -> Cassette:
    """Parses a cassette. Never raises: errors are in `damage`, warnings in `notices`."""
    reader = CassetteReader(Cassette(name=name, takes=[]))
    lines = data.split(b"\n")
    tail = lines.pop()
    for number, line in enumerate(lines, 1):
        reader.line(number, line)
    if tail:
        reader.tail(len(lines) + 1, tail)
    reader.finish()
    return reader.cassette


def refusal(line: bytes) -> str | None:
    """Why this first line cannot begin a cassette; None if it can, or is torn."""
    if not line.startswith(HEADER_START):
        torn = HEADER_START.startswith(line)
        return None if torn else "is not a cassette: its first line is no mcpmock header"
    major = _MAJOR.match(line)
    if major is not None and major[1] != b"%d" % FORMAT:
        return (
            f"has format {major[1].decode()}, this mcpmock reads {FORMAT}; a newer mcpmock reads it"
        )
    return None


@attrs.define
class CassetteReader:
    """Reads a cassette line by line; `cassette` is what has been read so far."""

    cassette: Cassette
    _digest: hashlib._Hash = attrs.field(factory=hashlib.sha256)
    _take: Take | None = None
    _refused: bool = False
    _suspect: Damage | None = None
    """A line that is damage, unless a header follows: then it was the torn tail of the take before.
    """

    def line(self, number: int, line: bytes) -> None:
        """Reads a line that ended in a line break."""
        if line.startswith(HEADER_START) and refusal(line):
            self._refuse(number, refusal(line) or "")
        elif (header := header_of(line)) is not None:
            self._begin(number, header, line)
        elif (event := event_of(line)) is not None:
            self._settle()
            self._event(number, event)
            self._digest.update(line + b"\n")
        elif (footer := footer_of(line)) is not None:
            self._settle()
            self._end(number, footer)
        elif not line.strip():
            self._digest.update(line + b"\n")
        else:
            self._other(number, line)

    def tail(self, number: int, line: bytes) -> None:
        """Drops a last line without its line break: it was never written to the end."""
        if line.startswith(HEADER_START) or HEADER_START.startswith(line):
            self._drop_torn()
        self._settle()
        self._notice(number, f"torn line dropped ({len(line)} bytes)")

    def finish(self) -> None:
        self._drop_torn()
        self._close_take()

    def _other(self, number: int, line: bytes) -> None:
        """A damaged line, perhaps with the next header glued to it (`cat` of torn files)."""
        self._settle()
        self._suspect = Damage(number, _explain_damage(line))
        glued = header_within(line)
        if glued is not None:
            at, header = glued
            self._begin(number, header, line[at:])
            return
        self._digest.update(line + b"\n")

    def _begin(self, number: int, header: Header, line: bytes) -> None:
        self._drop_torn()
        self._close_take()
        self._digest = hashlib.sha256(line + b"\n")
        self._take, self._refused = Take(header=header, events=[], line=number), False
        self.cassette.takes.append(self._take)

    def _refuse(self, number: int, reason: str) -> None:
        """Begins a take of an unknown format: its events are not read."""
        self._drop_torn()
        self._close_take()
        self._refused = True
        self.cassette.damage.append(Damage(number, reason))

    def _event(self, number: int, event: Event) -> None:
        if self._take is None:
            self._damage(number, "an event before any header")
        elif self._take.footer is not None:
            self._damage(number, "an event after the footer of its take")
        else:
            self._take.events.append(event)

    def _end(self, number: int, footer: Footer) -> None:
        if self._take is None:
            self._damage(number, "a footer before any header")
            return
        self._take.footer = footer
        self._take.sealed = footer.sha256 == self._digest.hexdigest()
        if not self._take.sealed:
            self._notice(number, "edited since it was recorded: the digest in the footer differs")

    def _close_take(self) -> None:
        if self._take is not None and self._take.footer is None:
            text = "incomplete: its recorder was stopped before it could write a footer"
            self._notice(self._take.line, text)
        self._take = None

    def _drop_torn(self) -> None:
        if self._suspect is not None:
            self._notice(self._suspect.line, f"torn line dropped: {self._suspect.reason}")
            self._suspect = None

    def _settle(self) -> None:
        """Counts the line before as damage: no header follows, so it was no torn tail."""
        if self._suspect is not None:
            self.cassette.damage.append(self._suspect)
            self._suspect = None

    def _damage(self, number: int, reason: str) -> None:
        if not self._refused:
            self.cassette.damage.append(Damage(number, reason))

    def _notice(self, number: int, text: str) -> None:
        self.cassette.notices.append(Notice(number, text))


def header_within(line: bytes) -> tuple[int, Header] | None:
    """The header glued to the end of a torn line, and where it begins."""
    at = line.find(HEADER_START)
    while at >= 0:
        header = header_of(line[at:])
        if header is not None:
            return at, header
        at = line.find(HEADER_START, at + 1)
    return None


def header_of(line: bytes) -> Header | None:
    """The header in a line; None if it is not a header line."""
    if not line.startswith(HEADER_START):
        return None
    try:
        return _header.decode(line)
    except UNREADABLE:
        return None


def footer_of(line: bytes) -> Footer | None:
    """The footer in a line; None if it is not a footer line."""
    if not line.startswith(_FOOTER_START):
        return None
    try:
        return _footer_line.decode(line).footer
    except UNREADABLE:
        return None


def event_of(line: bytes) -> Event | None:
    """The event in a line; None if it is not a valid event."""
    event: Event | None
    if not (line.isascii() or is_utf8(line)):
        return None
    try:
        event = _event.decode(line)
    except (
        RecursionError
    ):  # a peer may send a message that is nested more deeply than msgspec reads
        event = _decode_deep(line)
    except UNREADABLE:
        return None
    return event if event is not None and _count_payloads(event) == 1 and _is_sound(event) else None


def _is_sound(event: Event) -> bool:
    """Whether a message has its direction, and base64 and heads can be decoded."""
    if event.d is None and not (event.m is UNSET and event.text is UNSET and event.b64 is UNSET):
        return False
    packed = event.b64 is not UNSET or event.raw is not None or event.http is not UNSET
    try:
        return not packed or event.frame is not None
    except UNREADABLE:
        return False


def _decode_deep(line: bytes) -> Event | None:
    """Decodes the event without its message, which alone can be nested deeply."""
    spans = members(line)
    if spans is None or "m" not in spans:
        return None
    span = spans["m"]
    try:
        event = _event.decode(line[: span.start] + b"0" + line[span.end :])
    except UNREADABLE:
        return None
    event.m = msgspec.Raw(line[slice(*span)])
    return event


def _count_payloads(event: Event) -> int:
    return sum(getattr(event, name) is not UNSET for name in _PAYLOADS)


def _explain_damage(line: bytes) -> str:
    try:
        event = _event.decode(line)
    except msgspec.ValidationError as error:
        return f"not an event: {error}"
    except UNREADABLE:
        return "not an event: not JSON"
    if _count_payloads(event) == 1:
        return "not an event: its payload cannot be unpacked, or has no direction"
    return f"not an event: {_count_payloads(event)} payloads where there must be one"
