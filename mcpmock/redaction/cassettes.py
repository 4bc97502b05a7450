"""Secrets in cassettes that are recorded already: found, replaced, and the lines of a take revised
at its end. Bytes in and bytes out.

A cassette is read twice, because a value may stand in it before its name gives it away. The lines
stay as they are but for what is replaced; `cassette.file` writes them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import attrs
import msgspec

from mcpmock.cassette.canonical import resealed, with_members, without_members
from mcpmock.cassette.lines import Sheet, SourceLine, take_apart
from mcpmock.cassette.model import Event, Header, event_line
from mcpmock.cassette.parser import event_of, header_of
from mcpmock.protocol.messages import Frame, decode, encode, member
from mcpmock.protocol.raw_json import members as raw_members

from .placeholder_table import SecretPlace
from .placeholders import HOLE, number_of
from .redaction_rules import NO_OWN_RULES, RedactionRules
from .redactor import Redactor, redaction_of
from .text_redactor import nowhere

_PACKED = (b'"b64":"', b'"raw":"', b'"http":')
_PAYLOADS = frozenset(("m", "text", "b64", "http", "sse", "body", "stderr", "raw", "redacted"))


@attrs.frozen
class SecretFound:
    """A secret in a cassette: the line of the file, the take (from 1), the number of the event (0
    in a header), the JSONPath in its message (empty in other text) and the kind.
    """

    line: int
    take: int
    event: int
    path: str
    kind: str


@attrs.frozen
class RedactedCassette:
    """A cassette without secrets, and how many values were replaced in how many events."""

    data: bytes
    replaced: int
    events: int


@attrs.define
class LineReviser:
    """Replaces what a redactor knows by now in lines that it redacted before."""

    redactor: Redactor
    suspects: set[int] = attrs.field(factory=set)
    """The events in which a known value still stands: one that is no string."""

    def revise(self, line: bytes) -> bytes:
        """Return the line without the known values; the same object if it has none."""
        raw = line.removesuffix(b"\n")
        new = self.redactor.known_in_line(raw)
        if any(mark in raw for mark in _PACKED) and (event := event_of(raw)) is not None:
            new = _with_frame(new, event, self.redactor.known_in_frame)
        if self.redactor.knows_any_in(new):
            self.suspects.add(SourceLine(0, raw).n)
        if new == raw:
            return line
        if new.startswith(b'{"n":') and not new.endswith(b',"redacted":true}'):
            new = new[:-1] + b',"redacted":true}'
        return new + line[len(raw) :]


def scan_cassette(data: bytes, rules: RedactionRules = NO_OWN_RULES) -> list[SecretFound]:
    """Return the secrets in a cassette, in the order of its lines. What is damaged is read as
    text.
    """
    sheets, lost = take_apart(data)
    redactor = _redactor_for(data, rules)
    lines = data.split(b"\n")
    for _, _, line in (every := [*_lines_of(sheets)]):
        _redact_line(redactor, line.raw)
    damaged = [(damage.line, lines[damage.line - 1]) for damage in lost]
    found: list[SecretFound] = []
    places: list[SecretPlace] = []
    redactor.table.places = places
    redactor.read_again()
    for take, event, line in every:
        places.clear()
        _redact_line(redactor, line.raw)
        found += [SecretFound(line.number, take, event, p.path, p.kind) for p in places]
    for number, raw in damaged:
        places.clear()
        redactor.text(raw)
        found += [SecretFound(number, 0, 0, "", place.kind) for place in places]
    redactor.table.places = None
    shown = (attrs.evolve(one, path=redactor.shown(one.path)) for one in found)
    return sorted(shown, key=lambda secret: secret.line)


def redact_cassette(data: bytes, rules: RedactionRules = NO_OWN_RULES) -> RedactedCassette:
    """Return an undamaged cassette without its secrets, sealed again where it was sealed."""
    sheets, _ = take_apart(data)
    redactor = _redactor_for(data, rules)
    old = data.split(b"\n")
    _each_line(sheets, lambda raw: _redact_line(redactor, raw))
    reviser = LineReviser(redactor)
    _each_line(sheets, reviser.revise)
    changed = 0
    for sheet in sheets:
        if sheet.header is not None:
            sheet.header = SourceLine(sheet.header.number, with_rules(sheet.header.raw, rules))
        events = sum(line.raw != old[line.number - 1] for line in sheet.body)
        before = sheet.footer and member(sheet.footer.raw, "footer", "redacted")
        sheet.footer = resealed(sheet, redacted=b"%d" % (int(before or 0) + events))
        changed += events
    return RedactedCassette(b"".join(sheet.data for sheet in sheets), redactor.table.count, changed)


def _each_line(sheets: list[Sheet], change: Callable[[bytes], bytes]) -> None:
    for sheet in sheets:
        if sheet.header is not None:
            sheet.header = SourceLine(sheet.header.number, change(sheet.header.raw))
        sheet.body = [SourceLine(line.number, change(line.raw)) for line in sheet.body]


def _redactor_for(data: bytes, rules: RedactionRules = NO_OWN_RULES) -> Redactor:
    """Return a redactor whose placeholders are not those that the cassette has."""
    redactor = Redactor(rules)
    redactor.table.reserve(max(map(number_of, HOLE.findall(data)), default=0))
    return redactor


def _lines_of(sheets: list[Sheet]) -> Iterator[tuple[int, int, SourceLine]]:
    """Yield each line with the number of its take and of its event, 0 for a header."""
    for take, sheet in enumerate(sheets, 1):
        if sheet.header is not None:
            yield take, 0, sheet.header
        for line in sheet.events:
            yield take, line.n, line


def _redact_line(redactor: Redactor, raw: bytes) -> bytes:
    """Return a header or an event without its secrets; the same object if it has none."""
    header = header_of(raw)
    if header is not None:
        return _redact_header(redactor, raw, header)
    event = event_of(raw)
    if event is None or event.frame is None:
        return redactor.json(raw)
    return _with_frame(raw, event, redactor.frame)


def _redact_header(redactor: Redactor, raw: bytes, header: Header) -> bytes:
    target: list[str] | str | None = header.target
    if target is not None:
        target = redactor.url(target) if isinstance(target, str) else redactor.argv(target)
        if target != header.target:
            new = {"target": msgspec.json.encode(target)}
            raw = with_members(raw, new, Header.__struct_fields__)
    return redactor.json(raw, nowhere)


def with_rules(header: bytes, rules: RedactionRules) -> bytes:
    """Return a header that says by which rules its take is redacted."""
    old = decode(member(header, "redaction") or b"null")
    before = old if isinstance(old, dict) else {}
    new = {**before, **redaction_of(NO_OWN_RULES)}
    if rules:
        new["own"] = _added(before.get("own"), rules.described())
    if new == old:
        return header
    return with_members(header, {"redaction": encode(new)}, Header.__struct_fields__)


def _added(before: Any, rules: dict[str, Any]) -> dict[str, Any]:
    """Return what a header says of the rules of users, with these."""
    own = dict(before) if isinstance(before, dict) else {}
    for name, one in rules.items():
        old = own.get(name)
        if isinstance(one, list) and isinstance(old, list):
            own[name] = [*old, *(text for text in one if text not in old)]
        else:
            own[name] = one
    return own


def _with_frame(raw: bytes, event: Event, clean: Callable[[Frame], Frame]) -> bytes:
    """Return the line of an event with another frame, its other members as they are."""
    frame = event.frame
    new = None if frame is None else clean(frame)
    if new is None or new is frame:
        return raw
    line = event_line(event.n, event.t, new, session=event.s, redacted=True)
    kept = without_members(raw, _PAYLOADS)
    members = {name: line[slice(*span)] for name, span in (raw_members(line) or {}).items()}
    changed = {name: value for name, value in members.items() if name in _PAYLOADS}
    return with_members(kept, changed, Event.__struct_fields__)
