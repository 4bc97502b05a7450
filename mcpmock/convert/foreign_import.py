"""Recordings of other tools made into cassettes: what `foreign` read of them as takes, sealed.

Messages are spelled as peers spell them, without white space, for no tool keeps their bytes. All of
them become messages alone, as over stdio, whatever they came over: no tool keeps what HTTP is.
Secrets are taken out as in a recording of our own, and what another recorder put in their place
becomes a placeholder too, or nothing that a live client sends would ever match it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from datetime import datetime

import attrs
import msgspec

from mcpmock.cassette.model import FORMAT, Event, Footer, Gap, Header, event_line
from mcpmock.protocol.http_reply import flatten
from mcpmock.protocol.messages import C2S, Frame
from mcpmock.protocol.raw_json import UNREADABLE, Span, splice, walk
from mcpmock.redaction.redactor import PLACEHOLDER, RULES, Redactor
from mcpmock.version import VERSION

from .foreign import Foreign, Said

_TOKEN = "progressToken"
"""What ties reports to their call must stay what it is on both."""


@attrs.frozen
class Imported:
    """A cassette made of the recordings of another tool."""

    data: bytes
    tool: str
    takes: int
    events: int
    lost: int
    """How many events its recorder said that it had lost."""
    left_out: int
    """How many of its entries say nothing that a cassette of messages could hold."""
    lacks: tuple[str, ...]
    """What it did not record."""


def imported(runs: Sequence[Foreign], *, redact: bool = True) -> Imported:
    """The runs as takes of one cassette."""
    takes = [_take(run, Redactor() if redact else None) for run in runs]
    gaps = [said.what.events for run in runs for said in run.said if isinstance(said.what, Gap)]
    return Imported(
        b"".join(takes),
        tool=runs[0].tool,
        takes=len(takes),
        events=sum(len(run.said) for run in runs),
        lost=sum(gaps),
        left_out=sum(run.left_out for run in runs),
        lacks=tuple(dict.fromkeys(lack for run in runs for lack in run.lacks)),
    )


def _take(run: Foreign, redactor: Redactor | None) -> bytes:
    head = msgspec.json.encode(_header(run, redactor)) + b"\n"
    holes = _Holes(run.marks, run.same_mark_same_secret)
    lines = [head]
    t = lost = 0
    for n, said in enumerate(run.said, 1):
        t = max(t, said.at)  # a wall clock may have been set back
        if isinstance(said.what, Gap):
            lost += said.what.events
            lines.append(msgspec.json.encode(Event(n=n, t=t, gap=said.what)) + b"\n")
        else:
            lines.append(_line(n, t, said, said.what, holes, redactor))
    body = b"".join(lines)
    footer = Footer(
        events=len(run.said),
        sha256=hashlib.sha256(body).hexdigest(),
        redacted=redactor.count if redactor else 0,
        gaps=lost,
    )
    return body + msgspec.json.encode({"footer": footer}) + b"\n"


def _header(run: Foreign, redactor: Redactor | None) -> Header:
    return Header(
        mcpmock=FORMAT,
        recorded_at=_moment(run.began),
        tool=f"mcpmock {VERSION}",
        transport="stdio",
        target=_shown(run.target, redactor),
        redaction={"rules": RULES} if redactor else "off",
        converted={"from": run.tool, "lacks": run.lacks},
    )


def _moment(time: datetime) -> str:
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _shown(target: list[str] | str | None, redactor: Redactor | None) -> list[str] | str | None:
    if target is None:
        return None
    words = [
        word.encode("utf-8", "replace").decode()  # no lone surrogates
        for word in ([target] if isinstance(target, str) else target)
    ]
    if isinstance(target, str):
        return redactor.text(words[0].encode()).decode() if redactor else words[0]
    return redactor.argv(words) if redactor else words


def _line(
    n: int, t: int, said: Said, frame: Frame, holes: _Holes, redactor: Redactor | None
) -> bytes:
    kept = frame
    if frame.fact is None:
        raw = _compact(frame.raw)
        if said.redacted and frame.direction is C2S:
            raw = holes.put(raw)
        kept = Frame(frame.direction, raw)
    clean = kept if redactor is None else redactor.frame(kept)
    return event_line(n, t, clean, redacted=said.redacted or clean is not kept)


def _compact(raw: bytes) -> bytes:
    """JSON without white space; what is none, or none that a formatter takes, on one line."""
    try:
        return msgspec.json.format(raw, indent=-1)
    except UNREADABLE:
        return flatten(raw).strip(b" \t")


@attrs.define
class _Holes:
    """Puts placeholders in the place of another recorder's marks."""

    marks: re.Pattern[bytes]
    same: bool
    """The same mark stands for the same secret; else nobody knows, and each gets its own."""
    _known: dict[bytes, bytes] = attrs.field(factory=dict)

    def put(self, raw: bytes) -> bytes:
        found = [
            (Span(*mark.span()), self._hole(mark[0]))
            for path, span in walk(raw)
            if path[-1:] != [_TOKEN]
            for mark in self._within(raw, span.start, span.end)
        ]
        return splice(raw, found)

    def _within(self, raw: bytes, start: int, end: int) -> Iterable[re.Match[bytes]]:
        return self.marks.finditer(raw, start, end) if raw[start : start + 1] == b'"' else ()

    def _hole(self, mark: bytes) -> bytes:
        key = mark if self.same else b"%d" % len(self._known)
        return self._known.setdefault(key, PLACEHOLDER + b"converted:%d" % (len(self._known) + 1))
