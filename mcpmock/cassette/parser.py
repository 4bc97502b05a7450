"""Bytes to a `Cassette`: the loader. Pure; `file` reads the bytes and decides what damage means.

It keeps three promises of the format. Any prefix of a cassette is a cassette: a torn last line is
dropped, with a notice. Broken is not empty: a line in the middle that is not an event is `Damage`,
with its line and the reason, and `recover` can save the events around it. Data only: no key names a
file, a command or an address to act on.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

import msgspec
from msgspec import UNSET, Struct, field

from mcpmock.lazy_pattern import lazy_pattern
from mcpmock.protocol.raw_json import UNREADABLE

from . import FORMAT, HEADER_START
from .model import (
    Cassette,
    Damage,
    Event,
    EventLines,
    Footer,
    Header,
    Notice,
    Take,
    decode_event,
    decode_events,
    is_utf8,
)
from .other_files import CONFLICT, NO_HEADER, explain_json, is_conflict

_BLOCK_BYTES = 1 << 16
"""Events checked together."""
_MAJOR = lazy_pattern(rb'\{"mcpmock":[ \t]*(\d{1,19})[ \t]*[,}]')
_FOOTER_START = b'{"footer":'
_STARTS = (HEADER_START, _FOOTER_START)
_header = msgspec.json.Decoder(Header)


EDITED = (
    "edited since it was recorded: the digest in the footer differs; `mcpmock fmt` accepts the edit"
)


FOOTER_BEFORE = "another footer follows"


class _FooterLine(msgspec.Struct):
    footer: Footer


_footer_line = msgspec.json.Decoder(_FooterLine)


def read(name: str, data: bytes) -> Cassette:
    """Parse a cassette. Never raises: errors are in `damage`, warnings in `notices`."""
    reader = CassetteReader(Cassette(name=name, takes=[]), data)
    if is_blank(data):
        reader.cassette.notices.append(Notice(0, "is empty: it holds no recording"))
    number = 1
    for at, block in _blocks(data):
        *lines, _ = block.split(b"\n")
        if not reader.events(at, block, lines):
            start = at
            for place, line in enumerate(lines, number):
                reader.line(place, line, start)
                start += len(line) + 1
        number += len(lines)
    tail = data[data.rfind(b"\n") + 1 :]
    if tail:
        reader.tail(number, tail)
    reader.finish()
    return reader.cassette


def is_blank(data: bytes) -> bool:
    """Return whether there are no lines but empty ones."""
    return data[:1] in (b"", b"\n") and not data.strip(b"\n")


def _blocks(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield whole lines, some at a time, and where they start; a header or a footer is alone."""
    at = 0
    while (end := data.find(b"\n", at) + 1) > 0:
        if not data.startswith(_STARTS, at):
            last = data.rfind(b"\n", at, at + _BLOCK_BYTES) + 1
            apart = [data.find(b"\n" + start, at, last) + 1 for start in _STARTS]
            end = min(filter(None, apart), default=max(end, last))
        yield at, data[at:end]
        at = end


def unreadable(line: bytes) -> str | None:
    """Return why this first line cannot begin a cassette; None if it can, or is torn."""
    if not line.startswith(HEADER_START):
        torn = HEADER_START.startswith(line)
        return None if torn else NO_HEADER
    major = _MAJOR.match(line)
    if major is not None and major[1] != b"%d" % FORMAT:
        format_ = major[1].decode()
        return f"has format {format_}, this mcpmock reads {FORMAT}; a newer mcpmock reads it"
    return None


class CassetteReader(Struct, eq=False):
    """Reads a cassette line by line; `cassette` is what has been read so far."""

    cassette: Cassette
    data: bytes | None = None
    """What the lines stand in; None for a cassette that grows, of which the events are kept."""
    _digest: hashlib._Hash = field(default_factory=hashlib.sha256)
    _take: Take | None = None
    _refused: bool = False
    _changed_line_ends: bool = False
    _suspect: Damage | None = None
    """A line that is damage, unless a header follows: then it was the torn tail of the take before.
    """

    def events(self, at: int, block: bytes, lines: Sequence[bytes]) -> bool:
        """Read lines that are all events, in a third of the time that `line` takes; False, and
        nothing is read, if one of them is not, or cannot be read together with others.
        """
        if self._take is None or self._take.footer is not None:
            return False
        try:
            events = decode_events(block)
        except UNREADABLE:
            return False
        # The decoder takes any white space for the end of a line. A value that began in one line
        # cannot go on with a brace in the next after this one ended with a brace.
        joints = block.count(b'}\n{"n":')
        if not joints + 1 == len(events) == len(lines) or not block.endswith(b"}\n"):
            return False
        if not ((block.isascii() or is_utf8(block)) and all(map(_is_sound, events))):
            return False
        self._settle()
        self._keep(self._take, events, at, lines)
        self._digest.update(block)
        return True

    def _keep(self, take: Take, events: list[Event], at: int, lines: Sequence[bytes]) -> None:
        if isinstance(take.events, EventLines):
            take.events.add(events, at, lines)
        elif isinstance(take.events, list):
            take.events += events

    def line(self, number: int, line: bytes, at: int = 0) -> None:
        """Read a line that ended in a line break; `at` is where it starts in the data."""
        line = self._as_written(line)
        if line.startswith(HEADER_START) and unreadable(line):
            self._refuse(number, unreadable(line) or "")
        elif (header := header_of(line)) is not None:
            self._begin(number, header, line)
        elif (event := event_of(line)) is not None:
            self._settle()
            self._event(number, event, at, line)
            self._digest.update(line + b"\n")
        elif (footer := footer_of(line)) is not None:
            self._settle()
            self._end(number, footer)
        elif not line.strip():
            self._digest.update(line + b"\n")
        else:
            self._other(number, line)

    def pass_over(self, line: bytes) -> None:
        """Count a line in the digest of its take, unread."""
        self._digest.update(self._as_written(line) + b"\n")

    def _as_written(self, line: bytes) -> bytes:
        """Undo a checkout by git with CR LF. In JSON a CR is white space."""
        if not line.endswith(b"\r"):
            return line
        if not self._changed_line_ends:
            self._changed_line_ends = True
            text = "line ends were changed (CR LF): `mcpmock fmt` mends them; git leaves them with "
            self._notice(0, text + "`*.jsonl -text` in .gitattributes")
        return line[:-1]

    def tail(self, number: int, line: bytes) -> None:
        """Drop a last line without its line break: it was never written to the end."""
        if line.startswith(HEADER_START) or HEADER_START.startswith(line):
            self._drop_torn()
        self._settle()
        self._notice(number, f"torn line dropped ({len(line)} bytes)")

    def finish(self) -> None:
        self._drop_torn()
        self._close_take()

    def _other(self, number: int, line: bytes) -> None:
        """Read a damaged line, perhaps with the next header glued to it (`cat` of torn files)."""
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
        events = [] if self.data is None else EventLines(self.data)
        self._take, self._refused = Take(header=header, events=events, line=number), False
        self.cassette.takes.append(self._take)
        if header.match is not None:
            from mcpmock.matching.rule_table import read_rules  # few headers have rules

            # A newer version may know it.
            for mistake in read_rules(header.match)[1]:
                text = f"line {number}: a rule of the header is left out: match{mistake}"
                self._notice(0, text)

    def _refuse(self, number: int, reason: str) -> None:
        """Begin a take of an unknown format: its events are not read."""
        self._drop_torn()
        self._close_take()
        self._refused = True
        self.cassette.damage.append(Damage(number, reason))

    def _event(self, number: int, event: Event, at: int, line: bytes) -> None:
        if self._take is None:
            self._damage(number, "an event before any header")
        elif self._take.footer is not None:
            self._damage(number, "an event after the footer of its take")
        else:
            self._keep(self._take, [event], at, [line])

    def _end(self, number: int, footer: Footer) -> None:
        if self._take is None:
            self._damage(number, "a footer before any header")
            return
        if self._take.footer is not None:
            self._notice(self._take.footer_line, FOOTER_BEFORE)
        self._take.footer, self._take.footer_line = footer, number
        self._take.sealed = footer.sha256 == self._digest.hexdigest()
        if not self._take.sealed:
            self._notice(number, EDITED)

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
        """Count the line before as damage: no header follows, so it was no torn tail."""
        if self._suspect is not None:
            self.cassette.damage.append(self._suspect)
            self._suspect = None

    def _damage(self, number: int, reason: str) -> None:
        if not self._refused:
            self.cassette.damage.append(Damage(number, reason))

    def _notice(self, number: int, text: str) -> None:
        self.cassette.notices.append(Notice(number, text))


def header_within(line: bytes) -> tuple[int, Header] | None:
    """Return the header glued to the end of a torn line, and where it begins."""
    at = line.find(HEADER_START)
    while at >= 0:
        header = header_of(line[at:])
        if header is not None:
            return at, header
        at = line.find(HEADER_START, at + 1)
    return None


def header_of(line: bytes) -> Header | None:
    """Return the header in a line; None if it is not a header line."""
    if not line.startswith(HEADER_START):
        return None
    try:
        return _header.decode(line)
    except UNREADABLE:
        return None


def footer_of(line: bytes) -> Footer | None:
    """Return the footer in a line; None if it is not a footer line."""
    if not line.startswith(_FOOTER_START):
        return None
    try:
        return _footer_line.decode(line).footer
    except UNREADABLE:
        return None


def event_of(line: bytes) -> Event | None:
    """Return the event in a line; None if it is not a valid event."""
    if not (line.isascii() or is_utf8(line)):
        return None
    try:
        event = decode_event(line)
    except UNREADABLE:
        return None
    return event if _is_sound(event) else None


def _is_sound(event: Event) -> bool:
    """Require one payload, a direction for a message, and base64 and heads that can be decoded."""
    e = event
    # Nearly all are messages, which this finds in 0.3 us; counting takes 2.
    others = e.text is e.b64 is e.http is e.sse is e.body is e.stderr is e.end is e.fault is e.gap
    message = e.m is not UNSET and others and e.auth is e.gap is UNSET
    if not message and _count_payloads(event) != 1:
        return False
    if e.d is None and not (e.m is UNSET and e.text is UNSET and e.b64 is UNSET):
        return False
    packed = e.b64 is not UNSET or e.raw is not None or e.http is not UNSET
    return not packed or _can_be_unpacked(event)


def _can_be_unpacked(event: Event) -> bool:
    try:
        return event.frame is not None
    except UNREADABLE:
        return False


def _count_payloads(event: Event) -> int:
    names = ("m", "text", "b64", "http", "sse", "body", "stderr", "end", "fault", "auth", "gap")
    return sum(getattr(event, name) is not UNSET for name in names)


def _explain_damage(line: bytes) -> str:
    if is_conflict(line):
        return CONFLICT
    what = "a header" if line.startswith(HEADER_START) else "an event"
    try:
        event = _header.decode(line) if what == "a header" else decode_event(line)
    except msgspec.ValidationError as error:
        return f"not {what}: {error}"
    except UNREADABLE:
        return f"not {what}: {explain_json(line)}"
    if isinstance(event, Header):
        return "not a header"
    try:
        line.decode()
    except UnicodeDecodeError:
        return "not an event: not UTF-8; save the file as UTF-8"
    if _count_payloads(event) == 1:
        return "not an event: its payload cannot be unpacked, or has no direction"
    return f"not an event: {_count_payloads(event)} payloads where there must be one"
