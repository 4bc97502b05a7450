"""A cassette's lines put in form: `canonical` for git, `recover` for a damaged file. Bytes in and
bytes out.

Both work on the very lines, not on `Event`s: unknown keys and the bytes of every message survive.
`lines` stands below and splits a cassette into lines. Reading and writing is the job of `file`,
telling what was done the command line's.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from pathlib import PurePath
from typing import Any

import attrs
import msgspec

from mcpmock.lazy_pattern import lazy_pattern
from mcpmock.options.files import StderrUse, Times
from mcpmock.protocol.messages import S2C, Frame, Stderr, decode, member
from mcpmock.protocol.raw_json import all_members, elements, members, splice

from .lines import Sheet, SourceLine, take_apart
from .model import Damage, Event, Footer, Header, event_line
from .other_files import BYTE_ORDER_MARK

ROUND_TO = 10_000
"""Microseconds: enough for the pace of a session."""
_DEFAULTS = {
    "s": b"1", "x": b"null", "d": b"null",
    "eol": b'"\\n"', "raw": b"null", "oversize": b"null", "redacted": b"false",
}  # fmt: skip
_STDERR_KEYS = {"n", "t", "s", "x", "stderr", "raw", "redacted"}
_PYTHON = lazy_pattern(r"python[0-9.]*")
_LOOPBACK_PORT = lazy_pattern(r"^(https?://(?:127\.0\.0\.1|\[::1\]|localhost):)[0-9]+")
_event = msgspec.json.Decoder(Event)
_json = msgspec.json.Encoder()


@attrs.frozen
class Canonical:
    """A cassette in canonical form, and what it took."""

    data: bytes
    takes: int
    events: int
    joined: int
    """How many events of standard error went into the one before."""
    unlogged: int
    """How many events of standard error are left out."""
    sealed: int
    """How many takes have a footer."""
    torn: tuple[Damage, ...]
    """The lines that were never written to their end, and are left out."""


@attrs.frozen
class Recovery:
    """What could be saved of a cassette, and what could not."""

    data: bytes
    takes: int
    events: int
    lost: tuple[Damage, ...]
    headers: int
    """How many takes had lost their header and got a substitute."""
    footers: int
    """How many footers no longer fit, and are left out."""
    renumbered: int
    """How many takes had their events out of sequence."""


def canonical(
    data: bytes,
    times: Times = "drop",
    rules: Mapping[str, Sequence[str]] | None = None,
    *,
    stderr: StderrUse = "drop",
    no_rules: bool = False,
    root: str = "",
) -> Canonical:
    """Return an undamaged cassette in the form that all recordings of one session have in common.
    Its headers get these `rules` about what may differ, as in their member `match`; with
    `no_rules` they lose those that they have. Paths below the folder `root` become relative to it
    in the command of the server.
    """
    sheets, torn = take_apart(_ended(data))
    before, unlogged = _count(sheets), 0
    if stderr == "drop":
        for sheet in sheets:
            sheet.body = [line for line in sheet.body if not _is_stderr(line.raw)]
        unlogged = before - _count(sheets)
    formed = [_formed(sheet, times, rules or {}, no_rules, root) for sheet in sheets]
    events = _count(formed)
    return Canonical(
        b"".join(sheet.data for sheet in formed),
        takes=len(formed),
        events=events,
        joined=before - unlogged - events,
        unlogged=unlogged,
        sealed=sum(sheet.footer is not None for sheet in formed),
        torn=tuple(torn),
    )


def recover(data: bytes) -> Recovery:
    """Return all good lines of a cassette as they are. Besides the bad ones, footers that no longer
    fit are left out.
    """
    sheets, lost = take_apart(_ended(data.removeprefix(BYTE_ORDER_MARK)))
    disordered = [sheet for sheet in sheets if not _ascending(sheet)]
    for sheet in disordered:
        sheet.body = _renumbered(sheet.events)
    unfit = [sheet for sheet in sheets if sheet.footer and not _fits(sheet, sheet.footer)]
    for sheet in unfit:
        sheet.footer = None
    return Recovery(
        b"".join(sheet.data for sheet in sheets),
        takes=len(sheets),
        events=_count(sheets),
        lost=tuple(lost),
        headers=sum(sheet.header is None for sheet in sheets),
        footers=len(unfit),
        renumbered=len(disordered),
    )


def _ended(data: bytes) -> bytes:
    """Complete a last line that only lacks its line break."""
    return data if data.endswith(b"\n") or not data else data + b"\n"


def _count(sheets: Iterable[Sheet]) -> int:
    return sum(len(sheet.events) for sheet in sheets)


def _ascending(sheet: Sheet) -> bool:
    numbers = [0, *(line.n for line in sheet.events)]
    return all(before < after for before, after in pairwise(numbers))


def _renumbered(events: Sequence[SourceLine]) -> list[SourceLine]:
    return [
        SourceLine(line.number, splice(line.raw, [((members(line.raw) or {})["n"], b"%d" % n)]))
        for n, line in enumerate(events, 1)
    ]


def _fits(sheet: Sheet, footer: SourceLine) -> bool:
    return all(member(footer.raw, "footer", name) == value for name, value in sheet.seal.items())


def _formed(
    sheet: Sheet, times: Times, rules: Mapping[str, Sequence[str]], no_rules: bool, root: str
) -> Sheet:
    """Return the take in canonical form, sealed again if it was."""
    assert sheet.header is not None, "because only a damaged cassette has lost one"
    header = _with_rules(_formed_header(sheet.header.raw, times, root), rules, no_rules)
    formed = Sheet(SourceLine(0, header))
    numbers = _Numbers()
    for n, raw in enumerate(_joined(line.raw for line in sheet.events), 1):
        formed.body.append(SourceLine(0, _formed_event(raw, n, times, numbers)))
    formed.footer = sheet.footer
    formed.footer = resealed(formed)
    return formed


def _formed_header(raw: bytes, times: Times, root: str) -> bytes:
    fields = _fields(raw, Header.__struct_fields__)
    fields.pop("sibling_of", None)
    if times == "drop":
        fields.pop("recorded_at", None)
    if "target" in fields:
        fields["target"] = _portable_target(fields["target"], root)
    return _object(fields, Header.__struct_fields__)


def _portable_target(raw: bytes, root: str) -> bytes:
    """Return what was recorded as every machine names it: a program without its folder, a Python
    without its version, files of the project by their place in it, a port of the loopback as 0.
    """
    match decode(raw):
        case str(url):
            return _json.encode(_LOOPBACK_PORT.sub(r"\g<1>0", url))
        case [str(program), *words]:
            name = PurePath(program).name if program.startswith("/") else program
            if _PYTHON.fullmatch(name):
                name = "python"
            placed = [word.replace(root, "") if root else word for word in words]
            return _json.encode([name, *placed])
        case _:
            return raw


def _with_rules(raw: bytes, rules: Mapping[str, Sequence[str]], no_rules: bool) -> bytes:
    fields = _fields(raw, Header.__struct_fields__)
    had = decode(fields.pop("match", b"null"))
    if no_rules or not any(rules.values()):
        return _object(fields, Header.__struct_fields__) if no_rules else raw
    table: dict[str, Any] = had if isinstance(had, dict) else {}
    for name, texts in rules.items():
        there = table.get(name)
        known = there if isinstance(there, list) else []
        if added := [text for text in dict.fromkeys(texts) if text not in known]:
            table[name] = [*known, *added]
    return with_members(raw, {"match": _json.encode(table)}, Header.__struct_fields__)


@attrs.define
class _Numbers:
    """Sessions and exchanges, numbered by their first appearance. Session 1 is no session: that of
    all who have none.
    """

    sessions: dict[bytes, bytes] = attrs.field(factory=lambda: {b"1": b"1"})
    exchanges: dict[bytes, bytes] = attrs.field(factory=dict)

    def renumber(self, fields: dict[str, bytes]) -> None:
        for name, known in (("s", self.sessions), ("x", self.exchanges)):
            if name in fields:
                fields[name] = known.setdefault(fields[name], b"%d" % (len(known) + 1))


def _formed_event(raw: bytes, n: int, times: Times, numbers: _Numbers) -> bytes:
    written = _fields(raw, Event.__struct_fields__)
    fields = {name: value for name, value in written.items() if _DEFAULTS.get(name) != value}
    fields["n"] = b"%d" % n
    numbers.renumber(fields)
    if "http" in fields:
        fields["http"] = _dateless(fields["http"])
    if times == "drop":
        fields.pop("t", None)
    elif times == "round" and "t" in fields:
        fields["t"] = b"%d" % (round(int(fields["t"]) / ROUND_TO) * ROUND_TO)
    return _object(fields, Event.__struct_fields__)


def _dateless(head: bytes) -> bytes:
    """Return a head without its `Date`, which differs in every recording."""
    place = (members(head) or {}).get("headers")
    spans = None if place is None else elements(head[slice(*place)])
    if place is None or spans is None:
        return head
    fields = [head[place.start + span.start : place.start + span.end] for span in spans]
    kept = [field for field in fields if not _is_date(field)]
    return head if kept == fields else splice(head, [(place, b"[" + b",".join(kept) + b"]")])


def _is_date(field: bytes) -> bool:
    match decode(field):
        case [str(name), *_]:
            return name.lower() == "date"
        case _:
            return False


def with_members(raw: bytes, new: dict[str, bytes], order: Sequence[str]) -> bytes:
    """Return an object with some members replaced or added; the known ones in their order."""
    return _object(_fields(raw, order) | new, order)


def without_members(raw: bytes, names: Collection[str]) -> bytes:
    """Return an object without these members."""
    return _object({name: v for name, v in _fields(raw).items() if name not in names}, ())


def resealed(sheet: Sheet, **members: bytes) -> SourceLine | None:
    """Return the footer of a take after its lines changed; None if it has none."""
    if sheet.footer is None:
        return None
    outer = _fields(sheet.footer.raw, ("footer",))
    inner = with_members(outer["footer"], sheet.seal | members, Footer.__struct_fields__)
    return SourceLine(0, with_members(sheet.footer.raw, {"footer": inner}, ("footer",)))


def _fields(raw: bytes, known: Collection[str] = ()) -> dict[str, bytes]:
    """Keep the last of a known name used twice, as wherever it is read; of another name both."""
    found: dict[str, bytes] = {}
    for name, span in all_members(raw):
        value = raw[slice(*span)]
        if name in found and name not in known:
            value = found[name] + b"," + _spelled(name) + b":" + value
        found[name] = value
    return found


def _object(fields: dict[str, bytes], order: Sequence[str]) -> bytes:
    """Put the known keys first, in their order; the unknown ones follow as they came."""
    known = [name for name in order if name in fields]
    names = dict.fromkeys((*known, *fields))
    return b"{" + b",".join(_spelled(name) + b":" + fields[name] for name in names) + b"}"


def _spelled(name: str) -> bytes:
    """Leave a name that no decoder takes as it was written: `members` gives it so."""
    try:
        return _json.encode(name)
    except UnicodeEncodeError:
        return b'"' + name.encode("utf-8", "surrogateescape") + b'"'


def _joined(events: Iterable[bytes]) -> Iterator[bytes]:
    """Join neighbouring pieces of what a server wrote to standard error: they come in any size."""
    pairs = ((raw, _plain_stderr(raw)) for raw in events)
    for place, run in groupby(pairs, key=lambda pair: pair[1] and (pair[1].s, pair[1].x)):
        if place is None:
            yield from (raw for raw, _ in run)
        else:
            yield _join([event for _, event in run if event is not None])


def _is_stderr(raw: bytes) -> bool:
    return b'"stderr"' in raw and "stderr" in (members(raw) or {})


def _plain_stderr(raw: bytes) -> Event | None:
    """Return the event in a line if it is standard error and nothing that joining could lose."""
    if b'"stderr"' not in raw:
        return None
    fields = members(raw) or {}
    return _event.decode(raw) if "stderr" in fields and fields.keys() <= _STDERR_KEYS else None


def _join(run: list[Event]) -> bytes:
    first = run[0]
    raw = b"".join(event.frame.raw for event in run if event.frame is not None)
    frame = Frame(S2C, raw, b"", Stderr(), first.x)
    redacted = any(event.redacted for event in run)
    return event_line(first.n, first.t, frame, session=first.s, redacted=redacted)[:-1]
