"""`TextRedactor`: replaces secrets in JSON and in text, and in the texts inside texts.

Only strings are replaced; numbers, structure and every other byte stay. `secret_formats` finds
the secrets, `known_values` those that were found before; `encodings` opens
what is spelled otherwise. `placeholders` has what they are replaced by; `redactor` above knows
where in a frame text stands.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import attrs

from mcpmock.protocol.messages import decode, encode
from mcpmock.protocol.raw_json import Span, splice, strings, walk

from .encodings import (
    MAX_DECODED_BYTES,
    base64_runs,
    decode_percent,
    decode_string,
    encode_percent,
    is_json,
)
from .placeholder_table import PlaceholderTable, unescaped
from .placeholders import PLACEHOLDER
from .secret_formats import (
    Found,
    assignments,
    formats,
    respelled,
    settings,
    suspicious,
    without_scheme,
)
from .secret_names import kind_of_name

MAX_DEPTH = 3
"""How many encodings one inside the other are opened."""

_SCHEMAS = {"inputSchema", "outputSchema", "requestedSchema"}
_JSON_WITHIN = re.compile(rb"[{\[]\s*+[\"{\[]")
_MIN_TEXT_BYTES = 5
"""No shorter text holds a secret that its format gives away."""

Replacement = tuple[Span, bytes]
KindOf = Callable[[Sequence[str | int]], str | None]


@attrs.define
class TextRedactor:
    """Replaces by the placeholders of one take."""

    table: PlaceholderTable = attrs.field(factory=PlaceholderTable)

    def suspicious(self, data: bytes) -> bool:
        """Return whether JSON lines may hold a secret: a quick look that never misses one."""
        return suspicious(data) or self.table.known.occur(data)

    def learn(self, values: Mapping[str, str]) -> None:
        """Take the values of secret names, such as environment variables, for secrets wherever
        they appear. They get placeholders when they do.
        """
        for name, value in values.items():
            kind = kind_of_name(name)
            if kind is not None:
                self.table.learn(value.encode("utf-8", "surrogateescape"), kind)

    def learn_bindings(self, bindings: Mapping[str, str]) -> None:
        """Take live values, by their placeholders, for secrets wherever they appear."""
        for hole, value in bindings.items():
            kind = hole.removeprefix(PLACEHOLDER.decode()).rpartition(":")[0]
            self.table.learn(value.encode("utf-8", "surrogatepass"), kind)

    def value(self, name: str, value: Any) -> Any:
        """Return a decoded JSON value that has this name, without its secrets."""
        raw = encode({name: value})
        clean = self.json(raw)
        return value if clean == raw else next(iter(decode(clean).values()))

    def json(self, raw: bytes) -> bytes:
        """Return a JSON message, whole or torn, without its secrets; the same object if it has
        none.
        """
        return self._settle(raw, lambda part: self._scan_json(part, 0, kind_of_path))

    def text(self, raw: bytes) -> bytes:
        """Return text without its secrets: banners, standard error, the head of an oversize
        frame.
        """
        return self._settle(raw, lambda part: self._scan_text(part, 0, assignments(part)))

    def known_in_line(self, line: bytes) -> bytes:
        """Return a line of a cassette without the values that are known by now."""
        if not self._may_know(line):
            return line
        return splice(line, self._scan_json(line, -1, no_kind, rules=False))

    def knows_any_in(self, line: bytes) -> bool:
        """Return whether a known value stands in a line as it is."""
        return any(True for _ in self.table.known.find(line))

    def _replace_known(self, raw: bytes) -> bytes:
        return splice(raw, self._scan_text(raw, 0, (), rules=False))

    def _settle(self, raw: bytes, scan: Callable[[bytes], list[Replacement]]) -> bytes:
        """Replace what a scan finds, and again where a value became known behind a place where
        it stands.
        """
        for _ in range(MAX_DEPTH):
            before = len(self.table.known)
            raw = splice(raw, scan(raw))
            if len(self.table.known) == before or not self.table.known.occur(raw):
                break
        return raw

    def _scan_json(
        self, raw: bytes, depth: int, kind_of: KindOf, *, rules: bool = True
    ) -> list[Replacement]:
        """Return each string under a secret's name, and what the others hold."""
        replacements: list[Replacement] = []
        for path, span in walk(raw):
            if raw[span.start : span.start + 1] != b'"':
                continue
            inside = Span(span.start + 1, span.end - 1)
            if depth <= 0:
                self.table.path = path
            kind = kind_of(path)
            if kind is not None:
                replacements += self._whole_string(raw, inside, kind)
            else:
                replacements += self._scan_string(raw, inside, depth, rules=rules)
        if self._may_know(raw):
            replacements += self._scan_names(raw, depth)
        return replacements

    def _scan_names(self, raw: bytes, depth: int) -> Iterator[Replacement]:
        """Yield the known values in the names of members."""
        for span in strings(raw):
            if raw[span.end :].lstrip(b" \t\r\n")[:1] == b":":
                yield from self._scan_string(
                    raw, Span(span.start + 1, span.end - 1), depth, rules=False
                )

    def _whole_string(self, raw: bytes, inside: Span, kind: str) -> list[Replacement]:
        span = without_scheme(raw, inside)
        if not raw[span.start : span.end].strip() or raw.startswith(PLACEHOLDER, span.start):
            self.table.reserve_in(raw[span.start : span.end])
            return []
        return [(span, self.table.placeholder(kind, unescaped(raw[span.start : span.end])))]

    def _scan_string(
        self, raw: bytes, inside: Span, depth: int, *, rules: bool = True
    ) -> list[Replacement]:
        """Return what a JSON string holds."""
        size = inside.end - inside.start
        if size < _MIN_TEXT_BYTES:
            return []
        text = raw[inside.start : inside.end]
        if size > MAX_DECODED_BYTES or b"\\" not in text:
            found = self._scan_inner(text, depth + 1, rules=rules)
            at = inside.start
            return [(Span(s.start + at, s.end + at), new) for s, new in found]
        decoded = decode_string(raw, inside)
        found = self._scan_inner(decoded.text, depth + 1, rules=rules)
        return [(decoded.origin(span), new) for span, new in found]

    def _scan_inner(self, text: bytes, depth: int, *, rules: bool) -> list[Replacement]:
        """Return what a decoded text holds, JSON or not."""
        if (
            not self._may_know(text)
            and PLACEHOLDER not in text
            and not (rules and suspicious(b'"' + text))
        ):
            return []
        if depth <= MAX_DEPTH and is_json(text):
            return self._scan_json(text, depth, kind_of_path if rules else no_kind, rules=rules)
        return self._scan_text(text, depth, settings(text) if rules else (), rules=rules)

    def _scan_text(
        self,
        text: bytes,
        depth: int,
        found: Iterable[Found],
        decoded: Callable[[bytes], bytes] = bytes,
        *,
        rules: bool = True,
    ) -> list[Replacement]:
        """Return these secrets, whatever has a secret's format, what is known, and what is encoded
        in the text. Of places that overlap, the first only. `decoded` gives the secret that a
        spelling of it stands for.
        """
        kept: list[Span] = []
        replacements: list[Replacement] = []
        by_format = formats(text, Span(0, len(text))) if rules else ()
        for span, kind in chain(found, by_format, self.table.known.find(text)):
            value = text[span.start : span.end]
            if PLACEHOLDER in value:
                self.table.reserve_in(value)
            elif value and _insert_if_free(kept, span):
                replacements.append((span, self.table.encoded_placeholder(kind, decoded(value))))
        if PLACEHOLDER in text:
            self.table.reserve_in(text)
        if depth < MAX_DEPTH and len(text) <= MAX_DECODED_BYTES:
            rest = splice(text, [(span, b" " * (span.end - span.start)) for span in kept])
            replacements += self._scan_encoded(rest, depth + 1, rules=rules)
        return replacements

    def _scan_encoded(self, text: bytes, depth: int, *, rules: bool) -> Iterator[Replacement]:
        """Yield what a text holds in JSON, base64, percent encoding and the escapes of JSON."""
        begin = _JSON_WITHIN.search(text)
        if begin is not None:
            at, kind_of = begin.start(), kind_of_path if rules else no_kind
            for span, new in self._scan_json(text[at:], depth, kind_of, rules=rules):
                moved = Span(span.start + at, span.end + at)
                yield moved, new
                text = text[: moved.start] + b" " * (span.end - span.start) + text[moved.end :]
        for run in [*base64_runs(text, self.table.known.occur_encoded)]:
            new = splice(run.text, self._scan_inner(run.text, depth, rules=rules))
            if new != run.text:
                yield run.span, run.encode(new)
                text = text[: run.span.start] + b" " * len(run.raw) + text[run.span.end :]
        percent = decode_percent(text)
        if percent is not None:
            for span, new in self._scan_inner(percent.text, depth, rules=rules):
                yield percent.origin(span), encode_percent(new)
        elif b"\\" in text:
            escaped = decode_string(text, Span(0, len(text)))
            for span, new in self._scan_inner(escaped.text, depth, rules=rules):
                yield escaped.origin(span), new

    def _may_know(self, text: bytes) -> bool:
        """Return whether a known value may stand in a text, in any spelling."""
        return bool(self.table.known) and (self.table.known.occur(text) or respelled(text))


def no_kind(_path: Sequence[str | int]) -> None:
    """Give no kind: names give nothing away, because what is looked for is known."""


def kind_of_path(path: Sequence[str | int]) -> str | None:
    """Return the kind by the innermost name, because each member of a list of passwords is a
    password.
    """
    # Schemas of tools describe secrets and hold none. Only the ends of a path are read: reading all
    # of it for each scalar would cost the square of the depth, and depth is not bounded.
    if not _SCHEMAS.isdisjoint(path[:16]):
        return None
    names = (step for step in reversed(path[-16:]) if isinstance(step, str))
    name = next(names, None)
    return None if name is None else kind_of_name(name)


def _insert_if_free(spans: list[Span], span: Span) -> bool:
    """Insert a span into the sorted ones, unless it overlaps one of them; whether it did."""
    at = bisect(spans, span)
    if (at and spans[at - 1].end > span.start) or (at < len(spans) and spans[at].start < span.end):
        return False
    spans.insert(at, span)
    return True
