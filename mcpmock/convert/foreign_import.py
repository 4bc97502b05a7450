"""A cassette made of the recordings of another tool, as `foreign` reads them.

These tools keep neither the bytes of messages, so JSON is written without white space, nor HTTP
exchanges, so all takes are of stdio. Secrets are redacted as in a recording. The marks that the
other recorder put in place of secrets become placeholders: only these match a live request.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from datetime import datetime

import attrs
import msgspec

from mcpmock.cassette import FORMAT
from mcpmock.cassette.model import Event, Footer, Gap, Header, event_line
from mcpmock.protocol.http_reply import flatten
from mcpmock.protocol.messages import C2S, Frame
from mcpmock.protocol.raw_json import UNREADABLE, Span, splice, walk
from mcpmock.redaction.redactor import PLACEHOLDER, Redactor, redaction_of
from mcpmock.version import VERSION

from .foreign import ForeignEvent, ForeignRun

_PROGRESS_TOKEN = "progressToken"
"""Never replaced: it must stay equal in the call and in its progress notifications."""


@attrs.frozen
class ForeignImport:
    """A cassette made of the recordings of another tool."""

    data: bytes
    tool: str
    takes: int
    events: int
    lost: int
    """How many events its recorder reports as lost."""
    left_out: int
    """How many of its entries have no place in a cassette."""
    lacks: tuple[str, ...]
    """What it did not record."""


def imported(runs: Sequence[ForeignRun], *, redact: bool = True) -> ForeignImport:
    """Return the runs as takes of one cassette."""
    takes = [_convert_run(run, Redactor() if redact else None) for run in runs]
    contents = [event.content for run in runs for event in run.events]
    return ForeignImport(
        b"".join(takes),
        tool=runs[0].tool,
        takes=len(takes),
        events=len(contents),
        lost=sum(content.events for content in contents if isinstance(content, Gap)),
        left_out=sum(run.left_out for run in runs),
        lacks=tuple(dict.fromkeys(lack for run in runs for lack in run.lacks)),
    )


def _convert_run(run: ForeignRun, redactor: Redactor | None) -> bytes:
    head = msgspec.json.encode(_header(run, redactor)) + b"\n"
    placeholders = _Placeholders(run.marks, run.same_mark_same_secret)
    lines = [head]
    t = lost = 0
    for n, event in enumerate(run.events, 1):
        t = max(t, event.at_us)  # the wall clock may have been set back
        if isinstance(event.content, Gap):
            lost += event.content.events
            lines.append(msgspec.json.encode(Event(n=n, t=t, gap=event.content)) + b"\n")
        else:
            lines.append(_encode_event(n, t, event, event.content, placeholders, redactor))
    body = b"".join(lines)
    footer = Footer(
        events=len(run.events),
        sha256=hashlib.sha256(body).hexdigest(),
        redacted=redactor.table.count if redactor else 0,
        gaps=lost,
    )
    return body + msgspec.json.encode({"footer": footer}) + b"\n"


def _header(run: ForeignRun, redactor: Redactor | None) -> Header:
    return Header(
        mcpmock=FORMAT,
        recorded_at=_format_time(run.began),
        tool=f"mcpmock {VERSION}",
        transport="stdio",
        target=_redact_target(run.target, redactor),
        redaction=redaction_of(redactor.rules) if redactor else "off",
        converted={"from": run.tool, "lacks": run.lacks},
    )


def _format_time(time: datetime) -> str:
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _redact_target(
    target: list[str] | str | None, redactor: Redactor | None
) -> list[str] | str | None:
    if target is None:
        return None
    words = [
        word.encode("utf-8", "replace").decode()  # no lone surrogates
        for word in ([target] if isinstance(target, str) else target)
    ]
    if isinstance(target, str):
        return redactor.text(words[0].encode()).decode() if redactor else words[0]
    return redactor.argv(words) if redactor else words


def _encode_event(
    n: int,
    t: int,
    event: ForeignEvent,
    frame: Frame,
    placeholders: _Placeholders,
    redactor: Redactor | None,
) -> bytes:
    kept = frame
    if frame.fact is None:
        raw = _compact_json(frame.raw)
        if event.redacted and frame.direction is C2S:
            raw = placeholders.replace_marks(raw)
        kept = Frame(frame.direction, raw)
    clean = kept if redactor is None else redactor.frame(kept)
    return event_line(n, t, clean, redacted=event.redacted or clean is not kept)


def _compact_json(raw: bytes) -> bytes:
    """Return JSON without white space; anything else on one line."""
    try:
        return msgspec.json.format(raw, indent=-1)
    except UNREADABLE:
        return flatten(raw).strip(b" \t")


@attrs.define
class _Placeholders:
    """Replaces the marks that another recorder put in the place of secrets."""

    marks: re.Pattern[bytes]
    same_mark_same_secret: bool
    """Whether equal marks stand for equal secrets; if not, each gets a placeholder of its own."""
    _known: dict[bytes, bytes] = attrs.field(factory=dict)

    def replace_marks(self, raw: bytes) -> bytes:
        found = [
            (Span(*mark.span()), self._placeholder(mark[0]))
            for path, span in walk(raw)
            if path[-1:] != [_PROGRESS_TOKEN]
            for mark in self._marks_in(raw, span.start, span.end)
        ]
        return splice(raw, found)

    def _marks_in(self, raw: bytes, start: int, end: int) -> Iterable[re.Match[bytes]]:
        return self.marks.finditer(raw, start, end) if raw[start : start + 1] == b'"' else ()

    def _placeholder(self, mark: bytes) -> bytes:
        key = mark if self.same_mark_same_secret else b"%d" % len(self._known)
        return self._known.setdefault(key, PLACEHOLDER + b"converted:%d" % (len(self._known) + 1))
