"""`TextRedactor`: replaces secrets in JSON and in text, and in the texts inside texts.

Strings are replaced, and numbers that a rule of the user names; structure and every other byte
stay. `secret_formats` finds the secrets, `redaction_rules` what users take for one, `known_values`
those that were found before; `encodings` opens what is spelled otherwise. `placeholders` has what
they are replaced by; `redactor` above knows where in a frame text stands.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

from msgspec import Struct, field

from mcpmock.lazy_pattern import lazy_pattern
from mcpmock.protocol.contents import is_content, is_declaration
from mcpmock.protocol.messages import decode, encode
from mcpmock.protocol.raw_json import Span, names, splice, walk

from .encodings import (
    MAX_DECODED_BYTES,
    base64_runs,
    decode_percent,
    decode_string,
    encode_percent,
    is_json,
)
from .json_escapes import spelling_of
from .names_beside import names_beside
from .placeholder_table import PlaceholderTable, unescaped
from .placeholders import NUMBER_SUFFIX, PLACEHOLDER, spelled, unspelled
from .redaction_rules import (
    NO_OWN_RULES,
    RedactionRules,
    around_placeholders,
    before_digits,
    merged,
)
from .secret_formats import (
    Found,
    as_shown,
    assignments,
    evident_formats,
    formats,
    respelled,
    settings,
    suspicious,
    without_scheme,
)

MAX_DEPTH = 3
"""How many encodings one inside the other are opened."""

_JSON_WITHIN = lazy_pattern(rb"[{\[]\s*+[\"{\[]")
_MIN_TEXT_BYTES = 5
"""No shorter text holds a secret that its format gives away."""

Replacement = tuple[Span, bytes]
Path = Sequence[str | int]
KindOfPath = Callable[[Path], str | None]
IsContent = Callable[[Path], bool]
"""Says whether the value at a path may be replaced by a rule of the user."""
_NUMBERS = b"-0123456789"


class Look(NamedTuple):
    """What is looked for in a text besides the values that are known to be secret."""

    rules: bool = True
    """What the built-in rules find."""
    declared: bool = False
    """Of these only formats that no example has: in the texts of a server's declaration."""
    own: bool = True
    """What the rules of the user find."""

    @property
    def names(self) -> bool:
        """Whether names say what is secret."""
        return self.rules and not self.declared


def everywhere(_path: Path) -> bool:
    """Allow the rules of the user all values."""
    return True


def nowhere(_path: Path) -> bool:
    """Allow the rules of the user no value."""
    return False


class TextRedactor(Struct, eq=False):
    """Replaces by the placeholders of one take."""

    rules: RedactionRules = NO_OWN_RULES
    table: PlaceholderTable = field(default_factory=PlaceholderTable)

    def __post_init__(self) -> None:
        if self.rules.hashed:
            self.table.hash_of = self.rules.number_for

    def suspicious(self, data: bytes) -> bool:
        """Return whether JSON lines may hold a secret, or a placeholder: a quick look that never
        misses one.
        """
        return (
            self.rules.find_more
            or suspicious(data)
            or self.table.known.occur(data)
            or data.find(PLACEHOLDER) >= 0
        )

    def learn(self, values: Mapping[str, str]) -> None:
        """Take the values of secret names, such as environment variables, for secrets wherever
        they appear. They get placeholders when they do.
        """
        for name, value in values.items():
            kind = self.rules.kind_of(name)
            if kind is not None:
                self.table.learn(value.encode("utf-8", "surrogateescape"), kind)

    def learn_bindings(self, bindings: Mapping[str, str]) -> None:
        """Take live values, by their placeholders, for secrets wherever they appear."""
        for hole, value in bindings.items():
            kind = hole.removeprefix(PLACEHOLDER.decode()).rpartition(":")[0]
            if not kind.endswith(NUMBER_SUFFIX):
                self.table.learn(value.encode("utf-8", "surrogatepass"), kind)

    def value(self, name: str, value: Any) -> Any:
        """Return a decoded JSON value that has this name, without its secrets."""
        raw = encode({name: value})
        clean = self.json(raw, everywhere)
        return value if clean == raw else next(iter(decode(clean).values()))

    def json(self, raw: bytes, is_content: IsContent = is_content) -> bytes:
        """Return a JSON message, whole or torn, without its secrets; the same object if it has
        none.
        """
        return self._settle(
            raw, lambda part: self._scan_json(part, 0, self._kind_of_path, is_content)
        )

    def text(self, raw: bytes, look: Look = Look()) -> bytes:  # noqa: B008 (a constant: a tuple)
        """Return text without its secrets: banners, standard error, the head of an oversize
        frame.
        """
        return self._settle(
            raw, lambda part: self._scan_text(part, 0, self._assignments(part), look=look)
        )

    def shown(self, path: str) -> str:
        """Return a path in a message without the secrets in the names on its way."""
        return self.text(path.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")

    def known_in_line(self, line: bytes) -> bytes:
        """Return a line of a cassette without the values that are known by now."""
        # speed: 2.5 us a line of 215 bytes, the walk through it 118 (python -m timeit)
        if not self._may_know(line):
            return line
        return splice(line, self._scan_json(line, -1, no_kind, _is_content_of_line, rules=False))

    def knows_any_in(self, line: bytes) -> bool:
        """Return whether a known value stands in a line as it is."""
        return any(True for _ in self.table.known.find(line))

    def _replace_known(self, raw: bytes, *, own: bool = True) -> bytes:
        if not self._may_know(raw) and PLACEHOLDER not in raw:
            return raw
        return splice(raw, self._scan_text(raw, 0, (), look=Look(rules=False, own=own)))

    def _assignments(self, text: bytes) -> Iterator[Found]:
        return as_shown(text, partial(assignments, kind_of=self.rules.built_in_kind))

    def _settle(self, raw: bytes, scan: Callable[[bytes], list[Replacement]]) -> bytes:
        """Replace what a scan finds, again if a value became known behind where it stands."""
        if PLACEHOLDER in raw:
            self.table.reserve_in(raw)
        for _ in range(MAX_DEPTH):
            before = self.table.known.count
            raw = splice(raw, scan(raw))
            if self.table.known.count == before or not self.table.known.occur(raw):
                break
        return raw

    def _scan_json(
        self,
        raw: bytes,
        depth: int,
        kind_of: KindOfPath,
        is_content: IsContent,
        *,
        rules: bool = True,
        declared: bool = False,
    ) -> list[Replacement]:
        """Return each string under a secret's name, what the others hold, and each number that a
        rule of the user names.
        """
        replacements: list[Replacement] = []
        mine = self._own_kinds(raw, depth) if rules else no_kind
        beside = names_beside(raw, self._is_secret) if rules else {}
        for path, span in walk(raw):
            first = raw[span.start : span.start + 1]
            own = is_content(path)
            named = [*path, beside[span.start]] if span.start in beside else path
            if first != b'"':
                if own and first in _NUMBERS:
                    replacements += self._number(raw, span, depth, path, mine(named))
                continue
            inside = Span(span.start + 1, span.end - 1)
            if depth <= 0:
                self.table.path = path
            kind = kind_of(named)
            if kind is not None:
                replacements += self._whole_string(raw, inside, kind)
            elif own and (kind := mine(named)) is not None:
                replacements += self._own_string(raw, inside, kind)
            else:
                look = Look(rules, declared or is_declaration(path), own)
                replacements += self._scan_string(raw, inside, depth, look)
        if rules or self._may_know(raw):
            replacements += self._scan_names(raw, depth, Look(rules, declared, own=False))
        return replacements

    def _is_secret(self, name: str) -> bool:
        return self.rules.kind_of(name) is not None

    def _own_kinds(self, raw: bytes, depth: int) -> KindOfPath:
        """Return what gives the kind of a value by the rules of the user."""
        if not self.rules.find_more:
            return no_kind
        document = None
        if self.rules.paths and depth == 0 and (document := decode(raw)) is None:
            return self._kind_in_broken_message
        places = self.rules.places(document)
        return lambda path: self.rules.kind_inside(path, places)

    def _kind_in_broken_message(self, path: Path) -> str | None:
        name = next((step for step in reversed(path[-16:]) if isinstance(step, str)), "")
        return self.rules.kind_inside(path, frozenset()) or self.rules.kind_of_last_name(name)

    def _scan_names(self, raw: bytes, depth: int, look: Look) -> Iterator[Replacement]:
        """Yield what the names of members hold: they are texts of the sender as others are."""
        spans = [*names(raw)]
        text = b'"'.join(raw[slice(*span)] for span in spans)
        # speed: of a list of 20 tools 0.5 ms, name by name 1.1 (python -m timeit)
        if self._may_know(text) or PLACEHOLDER in text or (look.rules and suspicious(text)):
            for span in spans:
                yield from self._scan_string(raw, span, depth, look)

    def _number(
        self, raw: bytes, span: Span, depth: int, path: Path, kind: str | None
    ) -> Iterator[Replacement]:
        number = raw[span.start : span.end]
        kind = kind or self.table.known.own_kind(number)
        if kind is not None:
            if depth <= 0:
                self.table.path = path
            yield span, self.table.number_placeholder(kind, number)

    def _whole_string(self, raw: bytes, inside: Span, kind: str) -> list[Replacement]:
        span = without_scheme(raw, inside)
        if not raw[span.start : span.end].strip() or raw.startswith(PLACEHOLDER, span.start):
            self.table.reserve_in(raw[span.start : span.end])
            return []
        return [(span, self.table.placeholder(kind, unescaped(raw[span.start : span.end])))]

    def _own_string(self, raw: bytes, inside: Span, kind: str) -> list[Replacement]:
        """Return all of a string but for its placeholders."""
        self.table.reserve_in(raw[inside.start : inside.end])
        return [
            (span, self.table.placeholder(kind, unescaped(raw[span.start : span.end])))
            for span in around_placeholders(raw, inside)
        ]

    def _scan_string(
        self, raw: bytes, inside: Span, depth: int, look: Look
    ) -> Iterable[Replacement]:
        size = inside.end - inside.start
        if size < _MIN_TEXT_BYTES and not (look.own and self.rules.values):
            return []
        text = raw[inside.start : inside.end]
        if size > MAX_DECODED_BYTES or b"\\" not in text:
            found = self._scan_inner(text, depth + 1, look)
            at = inside.start
            return [(Span(s.start + at, s.end + at), _escape(new)) for s, new in found]
        decoded = decode_string(raw, inside)
        found = self._scan_inner(decoded.text, depth + 1, look)
        return [(decoded.origin(span), _escape(new)) for span, new in found]

    def _scan_inner(self, text: bytes, depth: int, look: Look) -> list[Replacement]:
        """Return what a decoded text holds, JSON or not. A placeholder says which escapes the value
        had that it did not need.
        """
        return [
            (span, spelled(new, spelling_of(text[span.start : span.end])))
            for span, new in self._scan_decoded(text, depth, look)
        ]

    def _scan_decoded(self, text: bytes, depth: int, look: Look) -> list[Replacement]:
        if (
            not self._may_know(text)
            and PLACEHOLDER not in text
            and not (look.rules and suspicious(b'"' + text))
            and not (look.own and self.rules.find_more)
        ):
            return []
        if (kind := self._kind_of_known(text, look)) is not None:  # it may be JSON
            return [(Span(0, len(text)), self.table.placeholder(kind, text))]
        if depth <= MAX_DEPTH and is_json(text):
            inside = self._scan_json_within(text, depth, look)
            return self._with_matches(text, inside) if look.own and look.rules else inside
        found: Iterable[Found] = ()
        if look.names:
            found = as_shown(text, partial(settings, kind_of=self.rules.built_in_kind))
        return self._scan_text(text, depth, found, look=look)

    def _scan_json_within(self, text: bytes, depth: int, look: Look) -> list[Replacement]:
        kind_of = self._kind_of_path if look.names else no_kind
        content = everywhere if look.own else nowhere
        return self._scan_json(
            text, depth, kind_of, content, rules=look.rules, declared=look.declared
        )

    def _with_matches(self, text: bytes, inside: list[Replacement]) -> list[Replacement]:
        """Return what was found in the strings of a text in JSON, and what expressions of the user
        match in the text itself: more than a string of it, or a string by what is around it.
        """
        matches = self.rules.find(text, keys=False)
        if not matches:
            return inside
        others = [span for _, span in walk(text) if text[span.start : span.start + 1] != b'"']
        for span, kind in merged(matches):
            in_number = any(one.start <= span.start and span.end <= one.end for one in others)
            is_gone = any(one.start <= span.start and span.end <= one.end for one, _ in inside)
            if in_number or is_gone:
                continue
            inside = [one for one in inside if one[0].end <= span.start or span.end <= one[0].start]
            value = text[span.start : span.end]
            inside.append((span, self.table.placeholder(kind, value)))
        return inside

    def _kind_of_known(self, text: bytes, look: Look) -> str | None:
        known = self.table.known
        return known.kinds.get(text) if look.own or known.own_kind(text) is None else None

    def _scan_text(
        self,
        text: bytes,
        depth: int,
        found: Iterable[Found],
        decoded: Callable[[bytes], bytes] = bytes,
        *,
        look: Look = Look(),  # noqa: B008 (a constant: a tuple)
    ) -> list[Replacement]:
        """Return these secrets, whatever has a secret's format, what is known, what the rules of
        the user find, and what is encoded in the text. Of places that overlap, the first only.
        `decoded` gives the secret that a spelling of it stands for.
        """
        if PLACEHOLDER in text:
            self.table.reserve_in(text)
        kept: list[Span] = []
        replacements: list[Replacement] = []
        by_format: Iterable[Found] = ()
        if look.rules:
            find = evident_formats if look.declared else formats
            by_format = as_shown(text, lambda part: find(part, Span(0, len(part))))
        for one, kind in chain(found, by_format, self.table.known.find(text)):
            span = before_digits(text, one)
            value = text[span.start : span.end]
            if PLACEHOLDER not in value and value.strip() and _insert_if_free(kept, span):
                replacements.append((span, self.table.encoded_placeholder(kind, decoded(value))))
        for span, kind in self._own_found(text, look):
            for part in _free_parts(kept, span):
                value = decoded(text[part.start : part.end])
                if value.strip() and _insert_if_free(kept, part):
                    # In quotes of its own it is a text, and would come back as a number.
                    inside = part != (0, len(text)) and not _is_quoted(text, part)
                    number = self.table.number_in_text(kind, value) if inside else None
                    new = number or self.table.encoded_placeholder(kind, value)
                    replacements.append((part, new))
        if depth < MAX_DEPTH and len(text) <= MAX_DECODED_BYTES:
            rest = splice(text, [(span, b" " * (span.end - span.start)) for span in kept])
            replacements += self._scan_encoded(rest, depth + 1, look)
        return replacements

    def _own_found(self, text: bytes, look: Look) -> list[Found]:
        """Return what the rules of the user find in a text, and what they found before."""
        if not look.own:
            return []
        found = [*self.table.known.find(text, own=True)]
        if look.rules and self.rules.find_more:
            found += self.rules.find(text)
        return [(before_digits(text, span), kind) for span, kind in merged(found)]

    def _scan_encoded(self, text: bytes, depth: int, look: Look) -> Iterator[Replacement]:
        """Yield what a text holds in JSON, base64, percent encoding and the escapes of JSON."""
        begin = _JSON_WITHIN.search(text)
        if begin is not None:
            at = begin.start()
            for span, new in self._scan_json_within(text[at:], depth, look):
                moved = Span(span.start + at, span.end + at)
                yield moved, new
                text = text[: moved.start] + b" " * (span.end - span.start) + text[moved.end :]
        for run in [*base64_runs(text, self.table.known.occur_encoded)]:
            new = splice(run.text, self._scan_inner(run.text, depth, look))
            if new != run.text:
                yield run.span, run.encode(new)
                text = text[: run.span.start] + b" " * len(run.raw) + text[run.span.end :]
        percent = decode_percent(text)
        if percent is not None:
            for span, new in self._scan_inner(percent.text, depth, look):
                yield percent.origin(span), encode_percent(unspelled(new))
        elif b"\\" in text:
            escaped = decode_string(text, Span(0, len(text)))
            for span, new in self._scan_inner(escaped.text, depth, look):
                yield escaped.origin(span), _escape(new)

    def _may_know(self, text: bytes) -> bool:
        """Return whether a known value may stand in a text, in any spelling."""
        known = self.table.known
        return known.count > 0 and (known.occur(text) or respelled(text))

    def _kind_of_path(self, path: Path) -> str | None:
        """Take the innermost name: each member of a list of passwords is a password."""
        # Declarations describe secrets and hold none. Only the ends of a path are read: reading all
        # of it for each scalar would cost the square of the depth, and depth is not bounded.
        if is_declaration(path):
            return None
        names = (step for step in reversed(path[-16:]) if isinstance(step, str))
        name = next(names, None)
        return None if name is None else self.rules.built_in_kind(name)


def no_kind(_path: Path) -> None:
    """Give no kind: names give nothing away, because what is looked for is known."""


def _is_content_of_line(path: Path) -> bool:
    """Return whether a value of a line of a cassette is content, not a word of the protocol."""
    return path[0] in ("text", "stderr", "body") or (path[0] == "m" and is_content(path[1:]))


def _escape(new: bytes) -> bytes:
    """Return a replacement as a JSON string spells it: that of a number has quotes of its own."""
    return new.replace(b"\\", b"\\\\").replace(b'"', b'\\"')


def _is_quoted(text: bytes, span: Span) -> bool:
    return text[span.start - 1 : span.start] == b'"' or text[span.end : span.end + 1] == b'"'


def _free_parts(kept: list[Span], span: Span) -> Iterator[Span]:
    """Yield the parts of a span that none of the sorted ones covers; some are empty."""
    start = span.start
    for other in kept[max(bisect(kept, span) - 1, 0) :]:
        if other.start >= span.end:
            break
        yield Span(start, other.start)
        start = max(start, other.end)
    yield Span(start, span.end)


def _insert_if_free(spans: list[Span], span: Span) -> bool:
    """Insert a span into the sorted ones, unless it overlaps one of them; whether it did."""
    at = bisect(spans, span)
    if (at and spans[at - 1].end > span.start) or (at < len(spans) and spans[at].start < span.end):
        return False
    spans.insert(at, span)
    return True
