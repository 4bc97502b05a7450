"""`Redactor`: replaces secrets before they are recorded.

It stands between the wire and the cassette, and never changes the wire. A secret becomes
`mcpmock:secret:<kind>:<n>`, n counting up in order of appearance: equal values get the same
placeholder, and nothing derived from the value is stored. On replay a placeholder is a variable
(`playback.variables`), so a redacted cassette still answers.

Only strings are replaced; names, numbers, structure and every other byte stay. `secret_names`,
`secret_formats` and `headers` find the secrets; the table of placeholders is here.
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

_MAX_CACHED_FIELDS = 4096
_SESSION_ID_LIKE = re.compile(rb"[\w-]{16,}")
_SCHEMAS = {"inputSchema", "outputSchema", "requestedSchema"}


@attrs.define
class Redactor:
    """The placeholders of one take."""

    count: int = 0
    """How many values were replaced."""
    _placeholders: dict[bytes, bytes] = attrs.field(factory=dict)
    """By secret."""
    # server-everything writes its session id into tool results and log messages, where no name
    # gives it away: once a header has named one, it is replaced everywhere.
    _session_ids: set[bytes] = attrs.field(factory=set)
    _redacted_fields: dict[tuple[str | None, str], tuple[str, int]] = attrs.field(factory=dict)
    """A cache, because they repeat: header fields and targets as recorded, and how many of their
    values were replaced.
    """

    suspicious = staticmethod(suspicious)

    def json(self, raw: bytes) -> bytes:
        """A JSON message, whole or torn, without its secrets; the same object if it has none."""
        return self._replace_in_json(raw, _kind_of_path)

    def text(self, raw: bytes) -> bytes:
        """Text without its secrets: banners, standard error, the head of an oversize frame."""
        return self._replace(raw, assignments(raw))

    def frame(self, frame: Frame) -> Frame:
        """A frame without its secrets; the same object if it has none."""
        raw, fact = frame.raw, frame.fact
        if isinstance(fact, HttpRequest | HttpResponse):
            fact = self.head(fact)
        elif isinstance(fact, SseMeta):
            fact = self._replace_in_comment(fact)
        elif isinstance(fact, HttpBody):
            raw = self.body(raw)
        elif raw:
            raw = self._replace_in_message(frame)
        if raw is frame.raw and fact is frame.fact:
            return frame
        return Frame(frame.direction, raw, frame.eol, fact, frame.exchange)

    def head(self, head: HttpRequest | HttpResponse) -> HttpRequest | HttpResponse:
        """A head without the secrets in its fields and target; the same object if it has none."""
        headers = [(field[0], self._redacted_field(*field)) for field in head.headers]
        if isinstance(head, HttpResponse):
            same = headers == head.headers
            return head if same else HttpResponse(head.status, head.reason, headers)
        target = self._redacted_field(None, head.target)
        same = headers == head.headers and target == head.target
        return head if same else HttpRequest(head.method, target, headers)

    def body(self, raw: bytes) -> bytes:
        """An HTTP body that is not a message: a page, a form, an answer of OAuth, an `endpoint`
        event.
        """
        from .headers import in_url, kind_in_grant

        if raw.lstrip()[:1] in (b"{", b"["):
            raw = self._replace_in_json(
                raw, lambda path: kind_in_grant(path) or _kind_of_path(path)
            )
        return self._replace(raw, (*in_url(raw), *assignments(raw)))

    def argv(self, arguments: Sequence[str]) -> list[str]:
        """A command line: replaces the values of `--api-key X`, `--api-key=X` and `API_KEY=X`, and
        whatever has a secret's format.
        """
        redacted: list[str] = []
        kind_of_next: str | None = None
        for argument in arguments:
            raw = argument.encode("utf-8", "surrogateescape")
            kind, prefix, value = _split_assignment(argument)
            if kind_of_next is not None and not argument.startswith("--"):
                raw = self._placeholder(kind_of_next, raw)
            elif kind is not None and value:
                placeholder = self._placeholder(kind, value.encode("utf-8", "surrogateescape"))
                raw = prefix.encode("utf-8", "surrogateescape") + placeholder
            elif argument.startswith(("{", "[")):
                raw = self.json(raw)
            else:
                raw = self._replace(raw, ())
            is_option = argument.startswith("-") and "=" not in argument
            kind_of_next = kind_of_name(argument) if is_option else None
            redacted.append(raw.decode("utf-8", "replace"))
        return redacted

    def _replace_in_message(self, frame: Frame) -> bytes:
        """The bytes of a message frame. What is not JSON is treated as text."""
        raw = clean = frame.raw
        if frame.fact is None and self.suspicious(raw):
            clean = self.json(raw)
        if frame.fact is None and embeddable(raw):
            return splice(clean, self._replacements(clean, self._known_session_ids(clean)))
        return self.text(clean) if frame.exchange is None else self.body(clean)

    def _replace_in_comment(self, meta: SseMeta) -> SseMeta:
        """Ids and names of events are the stream's own and stay; a comment may hold anything."""
        if meta.comment is None:
            return meta
        comment = self.text(meta.comment.encode("utf-8", "surrogatepass"))
        same = comment == meta.comment.encode("utf-8", "surrogatepass")
        return meta if same else msgspec.structs.replace(meta, comment=comment.decode())

    def _redacted_field(self, name: str | None, text: str) -> str:
        """The value of a header field, or, without a name, a target."""
        cached = self._redacted_fields.get((name, text))
        if cached is not None:
            self.count += cached[1]
            return cached[0]
        from .headers import in_field, in_url, unwrapped  # recording stdio does not need them

        before, raw = self.count, text.encode("utf-8", "surrogateescape")
        found = in_url(raw) if name is None else in_field(name, raw)
        redacted = self._replace(raw, found, unwrapped).decode("utf-8", "surrogateescape")
        if len(self._redacted_fields) >= _MAX_CACHED_FIELDS:
            self._redacted_fields.clear()
        self._redacted_fields[name, text] = redacted, self.count - before
        return redacted

    def _replace_in_json(
        self, raw: bytes, kind_of: Callable[[Sequence[str | int]], str | None]
    ) -> bytes:
        """Replaces each string under a secret's name, and in the others what has a secret's
        format.
        """
        replacements: list[tuple[Span, bytes]] = []
        for path, span in walk(raw):
            if raw[span.start : span.start + 1] == b'"':
                inside, kind = Span(span.start + 1, span.end - 1), kind_of(path)
                named = [] if kind is None else [(without_scheme(raw, inside), kind)]
                replacements += self._replacements(raw, named or formats(raw, inside))
        return splice(raw, replacements)

    def _replace(
        self, raw: bytes, found: Iterable[Found], decoded: Callable[[bytes], bytes] = bytes
    ) -> bytes:
        """Replaces these secrets, and besides them whatever has a secret's format. `decoded` gives
        the secret that a spelling of it stands for.
        """
        rest = chain(formats(raw, Span(0, len(raw))), self._known_session_ids(raw))
        return splice(raw, self._replacements(raw, chain(found, rest), decoded))

    def _known_session_ids(self, raw: bytes) -> Iterator[Found]:
        """Where a session id that a header named stands as a word of its own."""
        known = self._session_ids
        # One findall in C, because nearly every message holds no session id.
        if not known or known.isdisjoint(_SESSION_ID_LIKE.findall(raw)):
            return
        for word in _SESSION_ID_LIKE.finditer(raw):
            if word[0] in known:
                yield Span(*word.span()), SESSION_ID

    def _replacements(
        self, raw: bytes, found: Iterable[Found], decoded: Callable[[bytes], bytes] = bytes
    ) -> list[tuple[Span, bytes]]:
        """The placeholder for each secret; of secrets that overlap, for the first only."""
        kept: list[Span] = []
        replacements: list[tuple[Span, bytes]] = []
        for span, kind in found:
            value = raw[span.start : span.end]
            if value and not value.startswith(PLACEHOLDER) and _insert_if_free(kept, span):
                replacements.append((span, self._placeholder(kind, decoded(value))))
        return replacements

    def _placeholder(self, kind: str, secret: bytes) -> bytes:
        self.count += 1
        value = decode(b'"' + secret + b'"') if b"\\" in secret else None
        key = value.encode("utf-8", "surrogatepass") if isinstance(value, str) else secret
        if kind == SESSION_ID and key not in self._session_ids:
            self._session_ids.add(key)
            self._redacted_fields.clear()  # any of them may hold it
        if key not in self._placeholders:
            number = len(self._placeholders) + 1
            self._placeholders[key] = PLACEHOLDER + b"%b:%d" % (kind.encode(), number)
        return self._placeholders[key]


def _kind_of_path(path: Sequence[str | int]) -> str | None:
    """The kind by the innermost name, because each member of a list of passwords is a password."""
    # Schemas of tools describe secrets and hold none. Only the ends of a path are read: reading all
    # of it for each scalar would cost the square of the depth, and depth is not bounded.
    if not _SCHEMAS.isdisjoint(path[:16]):
        return None
    names = (step for step in reversed(path[-16:]) if isinstance(step, str))
    name = next(names, None)
    return None if name is None else kind_of_name(name)


def _insert_if_free(spans: list[Span], span: Span) -> bool:
    """Inserts a span into the sorted ones, unless it overlaps one of them; whether it did."""
    at = bisect(spans, span)
    if (at and spans[at - 1].end > span.start) or (at < len(spans) and spans[at].start < span.end):
        return False
    spans.insert(at, span)
    return True


def _split_assignment(argument: str) -> tuple[str | None, str, str]:
    """The kind, the prefix and the value of `--api-key=X`, `--env=API_KEY=X`, `X-Api-Key: X`."""
    parts = re.split(r"(=|:\s?)", argument)
    for i in range(1, len(parts), 2):
        kind = kind_of_name(parts[i - 1])
        if kind is not None:
            value = "".join(parts[i + 1 :])
            scheme = re.match(r"(?:Bearer|Basic|Token) (?=.)", value)
            prefix = "".join(parts[: i + 1]) + (scheme[0] if scheme else "")
            return kind, prefix, value[scheme.end() :] if scheme else value
    return None, argument, ""
