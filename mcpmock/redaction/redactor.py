"""`Redactor`: replaces secrets before they are recorded.

It stands between the wire and the cassette, and never changes the wire. A secret becomes
`mcpmock:secret:<kind>:<n>`, n counting up in order of appearance: equal values get the same
placeholder, and nothing derived from the value is stored. On replay a placeholder is a variable
(`playback.variables`), so a redacted cassette still answers.

Only strings are replaced; numbers, structure and every other byte stay. `secret_names`,
`secret_formats` and `headers` find the secrets, `known_values` those that were found before;
`encodings` opens what is spelled otherwise, and texts inside texts. The table of placeholders is
here.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import attrs
import msgspec

from mcpmock.cassette.model import embeddable
from mcpmock.protocol.messages import (
    Frame,
    HttpBody,
    HttpRequest,
    HttpResponse,
    SseMeta,
    Stderr,
    decode,
    encode,
)
from mcpmock.protocol.raw_json import Span, splice, strings, walk

from .encodings import (
    MAX_DECODED_BYTES,
    base64_runs,
    decode_base64,
    decode_percent,
    decode_string,
    encode_percent,
    is_json,
    is_text,
)
from .known_values import KnownValues
from .placeholders import HOLE, PLACEHOLDER, number_of
from .secret_formats import (
    Found,
    assignments,
    formats,
    respelled,
    settings,
    suspicious,
    without_scheme,
)
from .secret_names import SESSION_ID, kind_of_name

__all__ = ["HOLE", "PLACEHOLDER", "RULES", "Redactor"]

RULES = 2
"""The version of the rules, written into the header of every take."""
MAX_DEPTH = 3
"""How many encodings one inside the other are opened."""

_MAX_CACHED_FIELDS = 4096
_SCHEMAS = {"inputSchema", "outputSchema", "requestedSchema"}
_JSON_STARTS = (b"{", b"[")
_JSON_WITHIN = re.compile(rb"[{\[]\s*+[\"{\[]")
_MIN_TEXT_BYTES = 5
"""No shorter text holds a secret that its format gives away."""
_KEY_LINES = re.compile(rb"[\w+/=:,.\s-]*?(?=-----END)|[\w+/=:,.\s-]*+\Z")

Replacement = tuple[Span, bytes]
KindOf = Callable[[Sequence[str | int]], str | None]


@attrs.frozen
class SecretPlace:
    """Where a secret was found: the JSONPath in its message, empty in a text; and its kind."""

    path: str
    kind: str


@attrs.define
class Redactor:
    """The placeholders of one take."""

    count: int = 0
    """How many values were replaced."""
    learned: bool = False
    """Whether a value became known since this was last set to False: it may stand in what was
    redacted before.
    """
    places: list[SecretPlace] | None = None
    """Where secrets were found, in the order found; None where nothing asks for it."""
    _placeholders: dict[bytes, bytes] = attrs.field(factory=dict)
    """By secret."""
    _numbers: int = 0
    """The highest number of a placeholder."""
    _known: KnownValues = attrs.field(factory=KnownValues)
    _redacted_fields: dict[tuple[str | None, str], tuple[str, int]] = attrs.field(factory=dict)
    """A cache, because they repeat: header fields and targets as recorded, and how many of their
    values were replaced.
    """
    _in_key: bool = False
    """Whether standard error stopped in the middle of a private key."""
    _path: Sequence[str | int] = ()
    """The path of the scalar that is looked at."""

    def suspicious(self, data: bytes) -> bool:
        """Whether JSON lines may hold a secret: a quick look that never misses one."""
        return suspicious(data) or self._known.occur(data)

    def read_again(self) -> None:
        """The next frame is the first one again, of the same take or of another."""
        self._in_key = False

    def learn(self, values: Mapping[str, str]) -> None:
        """Takes the values of secret names, such as environment variables, for secrets wherever
        they appear. They get placeholders when they do.
        """
        for name, value in values.items():
            kind = kind_of_name(name)
            if kind is not None:
                self._learn(value.encode("utf-8", "surrogateescape"), kind)

    def learn_bindings(self, bindings: Mapping[str, str]) -> None:
        """Takes live values, by their placeholders, for secrets wherever they appear."""
        for hole, value in bindings.items():
            kind = hole.removeprefix(PLACEHOLDER.decode()).rpartition(":")[0]
            self._learn(value.encode("utf-8", "surrogatepass"), kind)

    def value(self, name: str, value: Any) -> Any:
        """A decoded JSON value that has this name, without its secrets."""
        raw = encode({name: value})
        clean = self.json(raw)
        return value if clean == raw else next(iter(decode(clean).values()))

    def json(self, raw: bytes) -> bytes:
        """A JSON message, whole or torn, without its secrets; the same object if it has none."""
        return self._settle(raw, lambda part: self._scan_json(part, 0, _kind_of_path))

    def text(self, raw: bytes) -> bytes:
        """Text without its secrets: banners, standard error, the head of an oversize frame."""
        return self._settle(raw, lambda part: self._scan_text(part, 0, assignments(part)))

    def reserve(self, number: int) -> None:
        """New placeholders get higher numbers."""
        self._numbers = max(self._numbers, number)

    def known_in_line(self, line: bytes) -> bytes:
        """A line of a cassette without the values that are known by now."""
        if not self._may_know(line):
            return line
        return splice(line, self._scan_json(line, -1, _no_kind, rules=False))

    def known_in_frame(self, frame: Frame) -> Frame:
        """A frame that no text holds, without the values that are known by now."""
        raw = self._replace_known(frame.raw)
        return frame if raw == frame.raw else msgspec.structs.replace(frame, raw=raw)

    def knows_any_in(self, line: bytes) -> bool:
        """Whether a known value stands in a line as it is."""
        return any(True for _ in self._known.find(line))

    def frame(self, frame: Frame) -> Frame:
        """A frame without its secrets; the same object if it has none."""
        raw, fact = frame.raw, frame.fact
        self._path = ()
        if isinstance(fact, HttpRequest | HttpResponse):
            fact = self.head(fact)
        elif isinstance(fact, SseMeta):
            fact = self._replace_in_event(fact)
        elif isinstance(fact, HttpBody):
            raw = self.body(raw)
        elif isinstance(fact, Stderr):
            raw = self._replace_in_stderr(raw)
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

        def kind_of(path: Sequence[str | int]) -> str | None:
            return kind_in_grant(path) or _kind_of_path(path)

        if raw.lstrip()[:1] in _JSON_STARTS:
            raw = self._settle(raw, lambda part: self._scan_json(part, 0, kind_of))
        return self._settle(
            raw,
            lambda part: self._scan_text(part, 0, chain(in_url(part), assignments(part))),
        )

    def url(self, url: str) -> str:
        """A URL without its secrets."""
        return self.body(url.encode("utf-8", "surrogateescape")).decode("utf-8", "replace")

    def argv(self, arguments: Sequence[str]) -> list[str]:
        """A command line: replaces the values of `--api-key X`, `--api-key=X` and `API_KEY=X`, and
        whatever has a secret's format.
        """
        redacted: list[str] = []
        kind_of_next: str | None = None
        for argument in arguments:
            raw = argument.encode("utf-8", "surrogateescape")
            kind, prefix, value = _split_assignment(argument)
            if PLACEHOLDER in raw:
                self._reserve(raw)
            elif kind_of_next is not None and not argument.startswith("--"):
                raw = self._placeholder(kind_of_next, raw)
            elif kind is not None and value:
                placeholder = self._placeholder(kind, value.encode("utf-8", "surrogateescape"))
                raw = prefix.encode("utf-8", "surrogateescape") + placeholder
            elif argument.startswith(("{", "[")):
                raw = self.json(raw)
            elif "://" in argument:
                raw = self.body(raw)
            else:
                raw = self._settle(raw, lambda part: self._scan_text(part, 0, ()))
            is_option = argument.startswith("-") and "=" not in argument
            kind_of_next = kind_of_name(argument) if is_option else None
            redacted.append(raw.decode("utf-8", "replace"))
        return redacted

    # Frames.

    def _replace_in_message(self, frame: Frame) -> bytes:
        """The bytes of a message frame. What is not JSON is treated as text."""
        raw = clean = frame.raw
        if frame.fact is None and self.suspicious(raw):
            clean = self.json(raw)
        if frame.fact is None and embeddable(raw):
            return clean
        return self.text(clean) if frame.exchange is None else self.body(clean)

    def _replace_in_event(self, meta: SseMeta) -> SseMeta:
        """Ids and names of events are the stream's own: only what is known goes from them. A
        comment may hold anything.
        """
        new = {}
        for name in ("id", "event", "comment"):
            value = getattr(meta, name)
            raw = b"" if value is None else value.encode("utf-8", "surrogatepass")
            if not raw:
                continue
            clean = self.text(raw) if name == "comment" else self._replace_known(raw)
            if clean != raw:
                new[name] = clean.decode("utf-8", "surrogatepass")
        return msgspec.structs.replace(meta, **new) if new else meta

    def _replace_in_stderr(self, raw: bytes) -> bytes:
        """Standard error comes in pieces: a private key goes on in the next one."""
        rest = _KEY_LINES.match(raw) if self._in_key else None
        if rest is None or not rest[0].strip():
            clean = self.text(raw)
        else:
            clean = self._placeholder("private-key", rest[0]) + self.text(raw[rest.end() :])
        begin = raw.rfind(b"-----BEGIN")
        open_now = begin >= 0 and b"PRIVATE KEY" in raw[begin : begin + 50]
        ended = raw.rfind(b"-----END") > begin
        self._in_key = (open_now or self._in_key) and not ended
        return clean

    def _redacted_field(self, name: str | None, text: str) -> str:
        """The value of a header field, or, without a name, a target."""
        self._path = ("http", "target" if name is None else name)
        cached = self._redacted_fields.get((name, text))
        if cached is not None and self.places is None:
            self.count += cached[1]
            return cached[0]
        from .headers import in_field, in_url, unwrapped  # recording stdio does not need them

        before, raw = self.count, text.encode("utf-8", "surrogateescape")

        def scan(part: bytes) -> list[Replacement]:
            found = in_url(part) if name is None else in_field(name, part)
            return self._scan_text(part, 0, found, unwrapped)

        redacted = self._settle(raw, scan).decode("utf-8", "surrogateescape")
        if len(self._redacted_fields) >= _MAX_CACHED_FIELDS:
            self._redacted_fields.clear()
        self._redacted_fields[name, text] = redacted, self.count - before
        return redacted

    # Texts inside texts: each scan gives what to replace in the bytes that it was given.

    def _settle(self, raw: bytes, scan: Callable[[bytes], list[Replacement]]) -> bytes:
        """Replaces what a scan finds, and again where a value became known behind a place where
        it stands.
        """
        for _ in range(MAX_DEPTH):
            before = len(self._known)
            raw = splice(raw, scan(raw))
            if len(self._known) == before or not self._known.occur(raw):
                break
        return raw

    def _scan_json(
        self, raw: bytes, depth: int, kind_of: KindOf, *, rules: bool = True
    ) -> list[Replacement]:
        """Each string under a secret's name, and what the others hold."""
        replacements: list[Replacement] = []
        for path, span in walk(raw):
            if raw[span.start : span.start + 1] != b'"':
                continue
            inside = Span(span.start + 1, span.end - 1)
            if depth <= 0:
                self._path = path
            kind = kind_of(path)
            if kind is not None:
                replacements += self._whole_string(raw, inside, kind)
            else:
                replacements += self._scan_string(raw, inside, depth, rules=rules)
        if self._may_know(raw):
            replacements += self._scan_names(raw, depth)
        return replacements

    def _scan_names(self, raw: bytes, depth: int) -> Iterator[Replacement]:
        """The known values in the names of members."""
        for span in strings(raw):
            if raw[span.end :].lstrip(b" \t\r\n")[:1] == b":":
                yield from self._scan_string(
                    raw, Span(span.start + 1, span.end - 1), depth, rules=False
                )

    def _whole_string(self, raw: bytes, inside: Span, kind: str) -> list[Replacement]:
        span = without_scheme(raw, inside)
        if not raw[span.start : span.end].strip() or raw.startswith(PLACEHOLDER, span.start):
            self._reserve(raw[span.start : span.end])
            return []
        return [(span, self._placeholder(kind, _unescaped(raw[span.start : span.end])))]

    def _scan_string(
        self, raw: bytes, inside: Span, depth: int, *, rules: bool = True
    ) -> list[Replacement]:
        """What a JSON string holds."""
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
        """What a decoded text holds, JSON or not."""
        if (
            not self._may_know(text)
            and PLACEHOLDER not in text
            and not (rules and suspicious(b'"' + text))
        ):
            return []
        if depth <= MAX_DEPTH and is_json(text):
            return self._scan_json(text, depth, _kind_of_path if rules else _no_kind, rules=rules)
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
        """These secrets, whatever has a secret's format, what is known, and what is encoded in the
        text. Of places that overlap, the first only. `decoded` gives the secret that a spelling of
        it stands for.
        """
        kept: list[Span] = []
        replacements: list[Replacement] = []
        by_format = formats(text, Span(0, len(text))) if rules else ()
        for span, kind in chain(found, by_format, self._known.find(text)):
            value = text[span.start : span.end]
            if PLACEHOLDER in value:
                self._reserve(value)
            elif value and _insert_if_free(kept, span):
                replacements.append((span, self._encoded_placeholder(kind, decoded(value))))
        if PLACEHOLDER in text:
            self._reserve(text)
        if depth < MAX_DEPTH and len(text) <= MAX_DECODED_BYTES:
            rest = splice(text, [(span, b" " * (span.end - span.start)) for span in kept])
            replacements += self._scan_encoded(rest, depth + 1, rules=rules)
        return replacements

    def _scan_encoded(self, text: bytes, depth: int, *, rules: bool) -> Iterator[Replacement]:
        """What a text holds in JSON, base64, percent encoding and the escapes of JSON."""
        begin = _JSON_WITHIN.search(text)
        if begin is not None:
            at, kind_of = begin.start(), _kind_of_path if rules else _no_kind
            for span, new in self._scan_json(text[at:], depth, kind_of, rules=rules):
                moved = Span(span.start + at, span.end + at)
                yield moved, new
                text = text[: moved.start] + b" " * (span.end - span.start) + text[moved.end :]
        for run in [*base64_runs(text, self._known.occur_encoded)]:
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
        """Whether a known value may stand in a text, in any spelling."""
        return bool(self._known) and (self._known.occur(text) or respelled(text))

    def _replace_known(self, raw: bytes) -> bytes:
        return splice(raw, self._scan_text(raw, 0, (), rules=False))

    # The table.

    def _encoded_placeholder(self, kind: str, secret: bytes) -> bytes:
        """The placeholder for a secret in percent encoding is in percent encoding: a secret has one
        placeholder in all its spellings.
        """
        percent = decode_percent(secret)
        if percent is None or not is_text(percent.text):
            return self._placeholder(kind, secret)
        return encode_percent(self._placeholder(kind, percent.text))

    def _placeholder(self, kind: str, secret: bytes) -> bytes:
        self.count += 1
        if self.places is not None:
            self.places.append(SecretPlace(_show_path(self._path), kind))
        key = _unescaped(secret)
        self._learn(key, kind)
        if key not in self._placeholders:
            self._numbers += 1
            self._placeholders[key] = PLACEHOLDER + b"%b:%d" % (kind.encode(), self._numbers)
        return self._placeholders[key]

    def _learn(self, value: bytes, kind: str) -> None:
        """From here on the value is known; so is the password in the credentials of `Basic`."""
        known = self._known.learn(value, kind)
        credentials = decode_base64(value) if known else None
        if credentials is not None and b":" in credentials:
            self._known.learn(credentials.partition(b":")[2], kind)
        if known:
            self.learned = self.learned or kind != SESSION_ID
            self._redacted_fields.clear()  # any of them may hold it

    def _reserve(self, text: bytes) -> None:
        """Placeholders that came over the wire keep their numbers: a redacted recording that drives
        a server is recorded with the numbers that it had.
        """
        for hole in HOLE.findall(text):
            self.reserve(number_of(hole))


def _no_kind(_path: Sequence[str | int]) -> None:
    """Names give nothing away: what is looked for is known."""


def _unescaped(secret: bytes) -> bytes:
    """A secret as it is, however a JSON string spells it."""
    value = decode(b'"' + secret + b'"') if b"\\" in secret else None
    return value.encode("utf-8", "surrogatepass") if isinstance(value, str) else secret


def _show_path(path: Sequence[str | int]) -> str:
    """A path as JSONPath."""
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return "$" + "".join(steps) if path else ""


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
