"""Secrets out, before anything is kept.

A `Redactor` stands between the wire and the cassette: it is given what is about to be recorded and
gives what may be. The wire itself is never touched. What it takes for a secret is replaced by
`mcpmock:secret:<kind>:<n>`, n counting up in order of appearance: the same value gets the same
placeholder, another value another one, and nothing derived from the value is stored. On replay a
placeholder is a variable (`match`), so a redacted cassette still answers.

Only strings are replaced; names, numbers, structure and every other byte stay. Where
secrets stand is the knowledge of `secret_names`, `secret_formats` and `redact_heads`; the table of
placeholders is here. The schemas of tools are exempt: they only talk about secrets.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain

import attrs
import msgspec

from mcpmock.cassette.model import embeddable
from mcpmock.protocol.messages import Frame, HttpBody, HttpRequest, HttpResponse, SseMeta, decode
from mcpmock.protocol.raw_json import Span, splice, walk

from .secret_formats import Found, assignments, formats, suspicious, without_scheme
from .secret_names import SESSION_ID, kind_of_name

RULES = 1
"""The version of the rules, written into the header of every take."""
PLACEHOLDER = b"mcpmock:secret:"
HOLE = re.compile(PLACEHOLDER + rb"[a-z-]+:\d+")
"""A placeholder: on replay a variable, which the first live value binds."""

_REMEMBERED = 4096
_WORD = re.compile(rb"[\w-]{16,}")
_SCHEMAS = {"inputSchema", "outputSchema", "requestedSchema"}


@attrs.define
class Redactor:
    """The rules, and the placeholders given out in one take."""

    count: int = 0
    """How many values were replaced."""
    _known: dict[bytes, bytes] = attrs.field(factory=dict)
    _session_ids: set[bytes] = attrs.field(factory=set)
    """Servers write them into messages too, and there no name gives them away."""
    _shown: dict[tuple[str | None, str], tuple[str, int]] = attrs.field(factory=dict)
    """What header fields and targets became, and how much of them was replaced: they repeat."""

    suspicious = staticmethod(suspicious)

    def json(self, raw: bytes) -> bytes:
        """A JSON message (whole or torn) with its secrets replaced; the very same object if there
        are none.
        """
        return self._json(raw, _kind_of_path)

    def text(self, raw: bytes) -> bytes:
        """Text that is no JSON message: banners, standard error, the head of an oversize frame."""
        return self._replaced(raw, assignments(raw))

    def frame(self, frame: Frame) -> Frame:
        """What of a frame may be kept; the very same object if that is all of it."""
        raw, fact = frame.raw, frame.fact
        if isinstance(fact, HttpRequest | HttpResponse):
            fact = self.head(fact)
        elif isinstance(fact, SseMeta):
            fact = self._meta(fact)
        elif isinstance(fact, HttpBody):
            raw = self.body(raw)
        elif raw:
            raw = self._line(frame)
        if raw is frame.raw and fact is frame.fact:
            return frame
        return Frame(frame.direction, raw, frame.eol, fact, frame.exchange)

    def head(self, head: HttpRequest | HttpResponse) -> HttpRequest | HttpResponse:
        """A head with the secrets in its fields and its target replaced; the very same object if
        there are none.
        """
        headers = [(field[0], self._text_of(field)) for field in head.headers]
        if isinstance(head, HttpResponse):
            same = headers == head.headers
            return head if same else HttpResponse(head.status, head.reason, headers)
        target = self._text_of((None, head.target))
        same = headers == head.headers and target == head.target
        return head if same else HttpRequest(head.method, target, headers)

    def body(self, raw: bytes) -> bytes:
        """What HTTP carries that is no message: pages, forms, the answers of OAuth, the event that
        names an endpoint.
        """
        from .headers import in_url, kind_in_grant

        if raw.lstrip()[:1] in (b"{", b"["):
            raw = self._json(raw, lambda path: kind_in_grant(path) or _kind_of_path(path))
        return self._replaced(raw, (*in_url(raw), *assignments(raw)))

    def argv(self, arguments: Sequence[str]) -> list[str]:
        """A command line: values of `--api-key X`, `--api-key=X`, `API_KEY=X`, and what looks like
        a secret.
        """
        shown: list[str] = []
        expected: str | None = None
        for argument in arguments:
            raw = argument.encode("utf-8", "surrogateescape")
            kind, name, value = _assigned_argument(argument)
            if expected is not None and not argument.startswith("--"):
                raw = self._placeholder(expected, raw)
            elif kind is not None and value:
                hidden = self._placeholder(kind, value.encode("utf-8", "surrogateescape"))
                raw = name.encode("utf-8", "surrogateescape") + hidden
            elif argument.startswith(("{", "[")):
                raw = self.json(raw)
            else:
                raw = self._replaced(raw, ())
            option = argument.startswith("-") and "=" not in argument
            expected = kind_of_name(argument) if option else None
            shown.append(raw.decode("utf-8", "replace"))
        return shown

    def _line(self, frame: Frame) -> bytes:
        """A message, or what stands in the place of one; what is not JSON is treated as text."""
        raw = clean = frame.raw
        if frame.fact is None and self.suspicious(raw):
            clean = self.json(raw)
        if frame.fact is None and embeddable(raw):
            return splice(clean, self._new(clean, self._mentions(clean)))
        return self.text(clean) if frame.exchange is None else self.body(clean)

    def _meta(self, meta: SseMeta) -> SseMeta:
        """Ids and names of events are the stream's own; a comment may say anything."""
        if meta.comment is None:
            return meta
        comment = self.text(meta.comment.encode("utf-8", "surrogatepass"))
        same = comment == meta.comment.encode("utf-8", "surrogatepass")
        return meta if same else msgspec.structs.replace(meta, comment=comment.decode())

    def _text_of(self, field: tuple[str | None, str]) -> str:
        """The value of a header field, or, without a name, a target."""
        seen = self._shown.get(field)
        if seen is not None:
            self.count += seen[1]
            return seen[0]
        before, shown = self.count, self._text_shown(*field)
        if len(self._shown) >= _REMEMBERED:
            self._shown.clear()
        self._shown[field] = shown, self.count - before
        return shown

    def _text_shown(self, name: str | None, text: str) -> str:
        from .headers import in_field, in_url, unwrapped  # a recorder of stdio has no need

        raw = text.encode("utf-8", "surrogateescape")
        found = in_url(raw) if name is None else in_field(name, raw)
        return self._replaced(raw, found, unwrapped).decode("utf-8", "surrogateescape")

    def _json(self, raw: bytes, kind_of: Callable[[Sequence[str | int]], str | None]) -> bytes:
        found: list[tuple[Span, bytes]] = []
        for path, span in walk(raw):
            if raw[span.start : span.start + 1] == b'"':
                inside = Span(span.start + 1, span.end - 1)
                found += self._string(raw, inside, kind_of(path))
        return splice(raw, found)

    def _replaced(
        self, raw: bytes, found: Iterable[Found], plain: Callable[[bytes], bytes] = bytes
    ) -> bytes:
        """With these secrets replaced, and besides them whatever has a secret's format. `plain`
        gives the secret that a spelling of it stands for.
        """
        rest = chain(formats(raw, Span(0, len(raw))), self._mentions(raw))
        return splice(raw, self._new(raw, chain(found, rest), plain))

    def _mentions(self, raw: bytes) -> Iterator[Found]:
        """Where a session id that is known stands as a word of its own."""
        known = self._session_ids
        if not known or known.isdisjoint(_WORD.findall(raw)):  # far quicker, and nearly always so
            return
        for word in _WORD.finditer(raw):
            if word[0] in known:
                yield Span(*word.span()), SESSION_ID

    def _string(self, raw: bytes, span: Span, kind: str | None) -> list[tuple[Span, bytes]]:
        """What to replace in one JSON string: all of it under a secret's name, else what has a
        secret's format.
        """
        if kind is None:
            return self._new(raw, formats(raw, span))
        return self._new(raw, [(without_scheme(raw, span), kind)])

    def _new(
        self, raw: bytes, found: Iterable[Found], plain: Callable[[bytes], bytes] = bytes
    ) -> list[tuple[Span, bytes]]:
        """What to write in the place of each; where two overlap, of the first alone."""
        taken: list[Span] = []
        new: list[tuple[Span, bytes]] = []
        for span, kind in found:
            value = raw[span.start : span.end]
            if value and not value.startswith(PLACEHOLDER) and _claim(taken, span):
                new.append((span, self._placeholder(kind, plain(value))))
        return new

    def _placeholder(self, kind: str, secret: bytes) -> bytes:
        self.count += 1
        value = decode(b'"' + secret + b'"') if b"\\" in secret else None
        key = value.encode("utf-8", "surrogatepass") if isinstance(value, str) else secret
        if kind == SESSION_ID and key not in self._session_ids:
            self._session_ids.add(key)
            self._shown.clear()  # it may stand in any of them
        if key not in self._known:
            self._known[key] = PLACEHOLDER + b"%b:%d" % (kind.encode(), len(self._known) + 1)
        return self._known[key]


def _kind_of_path(path: Sequence[str | int]) -> str | None:
    """The kind by the innermost name: a list of passwords is passwords. Schemas only talk about
    values.

    Looks at both ends of the path only, or deep nesting would cost the square of its depth.
    """
    if not _SCHEMAS.isdisjoint(path[:16]):
        return None
    names = (step for step in reversed(path[-16:]) if isinstance(step, str))
    name = next(names, None)
    return None if name is None else kind_of_name(name)


def _claim(taken: list[Span], span: Span) -> bool:
    """Puts a span among those that are taken, in their order, unless it overlaps with one."""
    at = bisect(taken, span)
    if (at and taken[at - 1].end > span.start) or (at < len(taken) and taken[at].start < span.end):
        return False
    taken.insert(at, span)
    return True


def _assigned_argument(argument: str) -> tuple[str | None, str, str]:
    """The kind, the part before and the value of `--api-key=X`, `--env=API_KEY=X`, `X-Api-
    Key: X`.
    """
    parts = re.split(r"(=|:\s?)", argument)
    for place in range(1, len(parts), 2):
        kind = kind_of_name(parts[place - 1])
        if kind is not None:
            value = "".join(parts[place + 1 :])
            scheme = re.match(r"(?:Bearer|Basic|Token) (?=.)", value)
            before = "".join(parts[: place + 1]) + (scheme[0] if scheme else "")
            return kind, before, value[scheme.end() :] if scheme else value
    return None, argument, ""
