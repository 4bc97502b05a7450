"""`RedactionRules`: what a project takes for secret besides what the built-in rules find, as users
write it; the built-in rules are `secret_names` and `secret_formats`.

Names as globs, values as regular expressions, places of messages as JSONPath (`matching.paths`),
and the names that are to be kept. `text_redactor` and `redactor` apply them. What the protocol
needs stays, whatever a rule says (`protocol.contents`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from functools import cached_property
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any

import attrs

from mcpmock.errors import McpMockError
from mcpmock.lazy_pattern import lazy_pattern
from mcpmock.protocol.raw_json import Span

from .placeholders import HASH_DIGITS, HOLE, PLACEHOLDER
from .secret_formats import Found, without_scheme
from .secret_names import OwnKind, kind_of_name, words_of

if TYPE_CHECKING:  # 15 ms, which a recording without rules does not pay
    from mcpmock.matching.paths import Place, ValueQuery

HASH_KEY_VARIABLE = "MCPMOCK_HASH_KEY"
_MAX_CACHED_NAMES = 4096
_MAX_STEPS = 64
"""So many names of a path are looked at: reading all of a path for each scalar would cost the
square of the depth, and depth is not bounded.
"""
_SEPARATORS = str.maketrans("", "", "-_. ")
_DIGITS = lazy_pattern(rb"\d++")
# The value behind a name: in quotes, to the end of the line, or (behind `=` in the middle of a
# line) to the end of the word; behind a name in quotes the number, as in JSON.
_NAME = lazy_pattern(r"(?<![\w.-])[\w.-]{1,64}+(?=[\"']?[ \t]*+[:=])")
_VALUE = lazy_pattern(
    r"[\"'][ \t]*+:[ \t]*+"
    r"(?:(?P<number>-?[0-9][-+.\w]*+|\0++)|(?:true|false|null|True|False|None)\b)|"
    r"[\"']?[ \t]*+(?::|=>?)[ \t]*+"
    r"(?:\"(?P<double>(?:[^\"\\\r\n]|\\[^\r\n])++(?=\")|[^\"\r\n]++(?=\"))|"
    r"'(?P<single>(?:[^'\\\r\n]|\\[^\r\n])++(?=')|[^'\r\n]++(?='))|"
    r"(?<=[:\s])(?P<rest>[^\s\"'\[{}\],][^\r\n]*+)|(?P<word>[^\s\"'\[{}\]&;,][^\s\"'&;,]*+))"
)
_HOLE = lazy_pattern(HOLE.pattern.decode())
_REST_OF_LINE = lazy_pattern(r"[^\r\n]*+")
_LINE_START = lazy_pattern(r"[ \t]*+(?:(?:export|set|ENV)[ \t]++)?\Z")


class RedactionRuleError(McpMockError):
    """What was given is not a rule for redaction, or the key of its hashes is missing."""

    exit_code = 2


@attrs.frozen
class RedactionRules:
    """The rules of one run; without any, the built-in ones alone."""

    keys: tuple[str, ...] = ()
    values: tuple[re.Pattern[str], ...] = ()
    paths: tuple[ValueQuery, ...] = ()
    keep: tuple[str, ...] = ()
    hashed: bool = False
    """Whether placeholders have hashes instead of running numbers."""
    hash_key: bytes = attrs.field(default=b"", repr=False)
    _kinds: dict[str, OwnKind | None] = attrs.field(factory=dict, init=False, eq=False, repr=False)

    @classmethod
    def parse(
        cls,
        key: Iterable[str] = (),
        value: Iterable[str] = (),
        path: Iterable[str] = (),
        keep: Iterable[str] = (),
    ) -> RedactionRules:
        """Read the rules as they are written. Raises ValueError, in words for the user."""
        return cls(
            tuple(map(_read_glob, key)),
            tuple(map(_read_regex, value)),
            tuple(map(_read_path, path)),
            tuple(map(_read_glob, keep)),
        )

    def with_hashes(self, key: str | None) -> RedactionRules:
        """Return rules whose placeholders have hashes under this key. Raises RedactionRuleError if
        it is missing.
        """
        if not key:
            raise RedactionRuleError(
                f"redaction as hash needs a key: set {HASH_KEY_VARIABLE} to a secret text"
            )
        return attrs.evolve(self, hashed=True, hash_key=key.encode("utf-8", "surrogateescape"))

    def __add__(self, other: RedactionRules) -> RedactionRules:
        return RedactionRules(
            (*dict.fromkeys((*self.keys, *other.keys)),),
            (*dict.fromkeys((*self.values, *other.values)),),
            (*dict.fromkeys((*self.paths, *other.paths)),),
            (*dict.fromkeys((*self.keep, *other.keep)),),
            self.hashed or other.hashed,
            self.hash_key or other.hash_key,
        )

    # speed: 0.1 us a message less than a property (tools/bench.py --processor)
    @cached_property
    def find_more(self) -> bool:
        """Whether they find what the built-in rules do not."""
        return bool(self.keys or self.values or self.paths)

    def __bool__(self) -> bool:
        return self.find_more or bool(self.keep) or self.hashed

    def described(self) -> dict[str, Any]:
        """Return what a header says of them. A regular expression may hold the secret, so it has
        their number only.
        """
        return {
            **({"keys": [*self.keys]} if self.keys else {}),
            **({"paths": [path.text for path in self.paths]} if self.paths else {}),
            **({"values": len(self.values)} if self.values else {}),
            **({"keep": [*self.keep]} if self.keep else {}),
            **({"as": "hash"} if self.hashed else {}),
        }

    def kind_of(self, name: str) -> str | None:
        """Return the kind of secret that a name stands for, by the built-in rules or these."""
        return self.built_in_kind(name) or self.own_kind(name)

    def built_in_kind(self, name: str) -> str | None:
        """Return the kind of secret that a name stands for by the built-in rules."""
        return None if _fits_any(name.lstrip("-"), self.keep) else kind_of_name(name)

    def own_kind(self, name: str) -> OwnKind | None:
        """Return the kind of secret that a name stands for by these rules."""
        if name not in self._kinds:
            if len(self._kinds) >= _MAX_CACHED_NAMES:  # a peer chooses the names
                self._kinds.clear()
            fits = _fits_any(name.lstrip("-"), self.keys)
            self._kinds[name] = kind_of_words(name) if fits else None
        return self._kinds[name]

    def kind_inside(self, path: Sequence[str | int], places: frozenset[Place]) -> OwnKind | None:
        """Return the kind of a value by the names around it, and by the places that `paths` select
        in its message: all that is inside of them is secret.
        """
        steps = path if len(path) <= _MAX_STEPS else [*path[:-16][:48], *path[-16:]]
        for step in steps:
            if isinstance(step, str) and (kind := self.own_kind(step)) is not None:
                return kind
        if places:
            for size in range(1, min(len(path), _MAX_STEPS) + 1):
                if (place := tuple(path[:size])) in places:
                    return kind_of_place(place)
        return None

    def places(self, document: Any) -> frozenset[Place]:
        """Return the places that `paths` select in a message or a batch."""
        found: set[Place] = set()
        for path in self.paths:
            if isinstance(document, list):
                for at, item in enumerate(document):
                    found |= {(at, *place) for place in path.places(item)}
            else:
                found |= {*path.places(document)}
        return frozenset(found)

    def kind_of_last_name(self, name: str) -> OwnKind | None:
        """Return the kind of a value that has the name in which one of `paths` ends: where there
        is no message to follow it in.
        """
        for path in self.paths:
            names = [step.selector for step in path.steps if isinstance(step.selector, str)]
            if names and _same(names[-1], name):
                return kind_of_words(name)
        return None

    def find(self, text: bytes, *, keys: bool = True) -> list[Found]:
        """Return what they find in a text: values, and with `keys` what is assigned to names.
        Placeholders are left alone.
        """
        if not text or not (self.values or self.keys):
            return []
        decoded = text.decode("utf-8", "surrogateescape")
        if PLACEHOLDER in text:  # it has a name, a colon and a number in it
            decoded = _HOLE.sub(lambda hole: "\0" * len(hole[0]), decoded)
        found: list[Found] = []
        for span, kind in chain(
            self._values_in(decoded), self._assigned_in(decoded) if keys else ()
        ):
            if len(decoded) != len(text):
                start = len(decoded[: span.start].encode("utf-8", "surrogateescape"))
                inner = decoded[span.start : span.end].encode("utf-8", "surrogateescape")
                span = Span(start, start + len(inner))
            found += ((part, kind) for part in around_placeholders(text, span))
        return found

    def _values_in(self, text: str) -> Iterator[Found]:
        for pattern in self.values:
            for match in pattern.finditer(text):
                groups = range(1, pattern.groups + 1)
                group = next((one for one in groups if match[one]), 0)
                name = next((n for n, at in pattern.groupindex.items() if at == group), "")
                yield Span(*match.span(group)), kind_of_words(name)

    def _assigned_in(self, text: str) -> Iterator[Found]:
        for name in _NAME.finditer(text) if self.keys else ():
            kind = self.own_kind(name[0])
            if kind is None or (value := _VALUE.match(text, name.end())) is None:
                continue
            group = next((one for one in value.groupdict() if value[one] is not None), None)
            if group is None:  # no secret: true, false or null
                continue
            span = Span(*value.span(group))
            is_line = group == "word" and _starts_line(text, name.start())
            if is_line and (line := _REST_OF_LINE.match(text, span.start)):
                span = Span(span.start, line.end())
            yield span, kind

    def number_for(self, secret: bytes) -> int:
        """Return the number that stands for a secret, if they are hashed."""
        import hmac

        digest: bytes = hmac.digest(self.hash_key, secret, "sha256")
        number: int = int.from_bytes(digest[:8], "big") % 10**HASH_DIGITS
        return number


NO_OWN_RULES = RedactionRules()


def rules_of_header(redaction: Any) -> RedactionRules:
    """Return the rules that a take was recorded with, as far as its header has them: names and
    places. What is not a rule is left out.
    """
    own = redaction.get("own") if isinstance(redaction, dict) else None
    if not isinstance(own, dict):
        return NO_OWN_RULES
    rules = NO_OWN_RULES
    for name, member in (("key", "keys"), ("path", "paths"), ("keep", "keep")):
        texts = own.get(member)
        for text in texts if isinstance(texts, list) else ():
            with suppress(ValueError):
                rules += RedactionRules.parse(**{name: [str(text)]})
    return rules


def is_hashed(redaction: Any) -> bool:
    """Return whether the placeholders of a take are hashes, by its header."""
    own = redaction.get("own") if isinstance(redaction, dict) else None
    return isinstance(own, dict) and own.get("as") == "hash"


def kind_of_words(name: str) -> OwnKind:
    """Return the kind of a name: its words. `-number` at the end is left to numbers."""
    words = [letters for word in words_of(name) if (letters := word.strip("0123456789"))]
    while len(words) > 1 and words[-1] == "number":
        words.pop()
    return OwnKind("-".join(words) or "value")


def kind_of_place(place: Place) -> OwnKind:
    """Return the kind of a value by the innermost name."""
    return kind_of_words(next((step for step in reversed(place) if isinstance(step, str)), ""))


def merged(found: Iterable[Found]) -> list[Found]:
    """Return what was found in a text, in its order; what overlaps or touches is one."""
    one: list[Found] = []
    for span, kind in sorted(found):
        if one and span.start <= one[-1][0].end:
            last, first_kind = one[-1]
            one[-1] = Span(last.start, max(last.end, span.end)), first_kind
        else:
            one.append((span, kind))
    return one


def before_digits(text: bytes, span: Span) -> Span:
    """Return a span with the digits behind it: behind a placeholder they would be read as part of
    its number.
    """
    digits = _DIGITS.match(text, span.end)
    return span if digits is None else Span(span.start, digits.end())


def around_placeholders(text: bytes, span: Span) -> Iterator[Span]:
    """Yield the parts of a span between placeholders, without the space at their ends."""
    value = text[span.start : span.end]
    ends = [(0, 0), *(match.span() for match in HOLE.finditer(value)), (len(value), 0)]
    for (_, start), (end, _) in pairwise(ends):
        part = value[start:end]
        if part.strip():
            begin = start + len(part) - len(part.lstrip())
            yield without_scheme(
                text, Span(span.start + begin, span.start + start + len(part.rstrip()))
            )


def _starts_line(text: str, at: int) -> bool:
    start = text.rfind("\n", 0, at) + 1
    return at - start < _MAX_STEPS and _LINE_START.match(text[start:at]) is not None


def _fits_any(name: str, globs: tuple[str, ...]) -> bool:
    lower = name.casefold()
    words = lower.translate(_SEPARATORS)
    return any(
        fnmatchcase(lower, glob.casefold())
        or ("[" not in glob and fnmatchcase(words, glob.casefold().translate(_SEPARATORS)))
        for glob in globs
    )


def _same(one: str, other: str) -> bool:
    return one.casefold().translate(_SEPARATORS) == other.casefold().translate(_SEPARATORS)


def _read_glob(text: str) -> str:
    if not text.strip():
        raise ValueError("an empty glob names nothing: write a name, for example customer*")
    return text


def _read_regex(text: str) -> re.Pattern[str]:
    try:
        pattern = re.compile(text)
    except re.error as error:
        raise ValueError(f"{text!r} is no regular expression: {error}") from error
    if pattern.search("") is not None:
        raise ValueError(f"{text!r} matches the empty text: it would replace nothing, everywhere")
    return pattern


def _read_path(text: str) -> ValueQuery:
    if not text.startswith("$"):
        raise ValueError(f"{text!r} is not of the form $.JSON.PATH, such as $.arguments.note")

    from mcpmock.matching.match_rule import path_in_message
    from mcpmock.matching.paths import compile_path

    try:
        return compile_path(path_in_message(text))
    except ValueError as error:
        raise ValueError(f"{text!r}: {error}") from error
