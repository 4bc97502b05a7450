"""`Redactor`: replaces secrets before they are recorded.

It stands between the wire and the cassette, and never changes the wire. A secret becomes a
placeholder (`placeholders`). On replay that is a variable (`playback.variables`), so a
redacted cassette still answers. Here is where texts stand in frames, heads and command lines;
`text_redactor` has what may stand in a text, `headers` what in a field.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Sequence
from itertools import chain
from typing import Any, TypeVar, cast

import msgspec
from msgspec import field

from mcpmock.cassette.model import embeddable
from mcpmock.protocol.contents import is_content
from mcpmock.protocol.messages import (
    Frame,
    HttpBody,
    HttpRequest,
    HttpResponse,
    Opaque,
    SseMeta,
    Stderr,
    decode,
)
from mcpmock.protocol.raw_json import Span, begins_with, splice

from .encodings import is_json
from .placeholders import HOLE, PLACEHOLDER
from .redaction_rules import RedactionRules
from .secret_formats import KindOf, options
from .text_redactor import IsContent, Look, Replacement, TextRedactor, everywhere
from .unfinished_text import UnfinishedText

__all__ = ["HOLE", "PLACEHOLDER", "RULES", "Redactor", "redaction_of"]

RULES = 4
"""The version of the rules, written into the header of every take."""

_MAX_CACHED = 512
"""How many heads, fields and targets are remembered."""

_T = TypeVar("_T")


class Redactor(TextRedactor, eq=False):
    """The redaction of one take, frame by frame."""

    _stderr: UnfinishedText = field(default_factory=UnfinishedText)
    _cache: dict[Hashable, tuple[Any, int]] = field(default_factory=dict)
    """Heads, header fields and targets as recorded, and how many of their values were replaced."""
    _known_in_cache: int = 0
    """How many values were known when the cache was filled."""

    def read_again(self) -> None:
        """Begin again with the first frame, of the same take or of another."""
        self._stderr = UnfinishedText()

    def frame(self, frame: Frame) -> Frame:
        """Return a frame without its secrets; the same object if it has none."""
        raw, fact = frame.raw, frame.fact
        self.table.path = ()
        if isinstance(fact, (HttpRequest, HttpResponse)):
            fact = self.head(fact)
        elif isinstance(fact, SseMeta):
            fact = self._replace_in_event(fact)
        elif isinstance(fact, HttpBody):
            raw = self.body(raw)
        elif isinstance(fact, Stderr):
            raw = self._replace_in_stderr(raw)
        elif raw:
            # speed: the end of an exchange has no bytes; looked through all the same it takes 50 us
            # a call over HTTP (tools/bench.py --processor)
            raw = self._replace_in_message(frame)
        if raw is frame.raw and fact is frame.fact:
            return frame
        return Frame(frame.direction, raw, frame.eol, fact, frame.exchange, decoded=frame.decoded)

    def known_in_frame(self, frame: Frame) -> Frame:
        """Return a head, or a frame that no text holds, without the values that are known."""
        raw, fact = self._replace_known(frame.raw), frame.fact
        if isinstance(fact, (HttpRequest, HttpResponse)):
            fact = self._known_in_head(fact)
        same = raw == frame.raw and fact == frame.fact
        return frame if same else msgspec.structs.replace(frame, raw=raw, fact=fact)

    def _known_in_head(self, head: HttpRequest | HttpResponse) -> HttpRequest | HttpResponse:
        from .headers import is_of_protocol

        headers = [
            (name, self._known_in_field(text, own=not is_of_protocol(name)))
            for name, text in head.headers
        ]
        if isinstance(head, HttpResponse):
            return HttpResponse(head.status, head.reason, headers)
        return HttpRequest(head.method, self._known_in_field(head.target, own=True), headers)

    def _known_in_field(self, text: str, *, own: bool) -> str:
        raw = text.encode("utf-8", "surrogateescape")
        return self._replace_known(raw, own=own).decode("utf-8", "surrogateescape")

    def head(self, head: HttpRequest | HttpResponse) -> HttpRequest | HttpResponse:
        """Return a head without the secrets in its fields and target; the same object if it has
        none.
        """
        # speed: 0.4 us, field by field 5 (python -m timeit)
        return self._once(head, lambda: self._redacted_head(head))

    def _redacted_head(self, head: HttpRequest | HttpResponse) -> HttpRequest | HttpResponse:
        headers = [(field[0], self._redacted_field(*field)) for field in head.headers]
        if isinstance(head, HttpResponse):
            same = headers == head.headers
            return head if same else HttpResponse(head.status, head.reason, headers)
        target = self._redacted_field(None, head.target)
        same = headers == head.headers and target == head.target
        return head if same else HttpRequest(head.method, target, headers)

    def body(self, raw: bytes, is_content: IsContent = everywhere) -> bytes:
        """Return an HTTP body that is not a message: a page, a form, an answer of OAuth, an
        `endpoint` event.
        """
        from .headers import in_url, kind_in_grant

        def kind_of(path: Sequence[str | int]) -> str | None:
            return kind_in_grant(path) or self._kind_of_path(path)

        def scan_text(part: bytes) -> list[Replacement]:
            found = chain(in_url(part, self.rules.kind_of), self._assignments(part))
            return self._scan_text(part, 0, found, look=look)

        if begins_with(raw, b"{") or begins_with(raw, b"["):
            raw = self._settle(raw, lambda part: self._scan_json(part, 0, kind_of, is_content))
        look = Look(own=not is_json(raw))
        return self._settle(raw, scan_text)

    def url(self, url: str) -> str:
        """Return a URL without its secrets."""
        return self.body(url.encode("utf-8", "surrogateescape")).decode("utf-8", "replace")

    def argv(self, arguments: Sequence[str]) -> list[str]:
        """Return a command line: replaces the values of `--api-key X`, `--api-key=X` and
        `API_KEY=X`, and whatever has a secret's format.
        """
        redacted: list[str] = []
        kind_of_next: str | None = None
        for argument in arguments:
            raw = argument.encode("utf-8", "surrogateescape")
            kind, prefix, value = _split_assignment(argument, self.rules.kind_of)
            if PLACEHOLDER in raw:
                self.table.reserve_in(raw)
            elif kind_of_next is not None and not argument.startswith("--"):
                raw = self.table.placeholder(kind_of_next, raw)
            elif is_json(raw):
                raw = self.json(raw, everywhere)
            elif value:
                placeholder = self.table.placeholder(kind, value.encode("utf-8", "surrogateescape"))
                raw = prefix.encode("utf-8", "surrogateescape") + placeholder
            elif "://" in argument:
                raw = self.body(raw)
            elif self.suspicious(b'"' + raw):
                raw = self._settle(raw, lambda part: self._scan_text(part, 0, ()))
            if b" " in raw:  # a whole command line, as of `sh -c`
                raw = self._settle(raw, self._scan_options)
            is_option = argument.startswith("-") and "=" not in argument
            kind_of_next = self.rules.kind_of(argument) if is_option else None
            redacted.append(raw.decode("utf-8", "replace"))
        return redacted

    def _scan_options(self, text: bytes) -> list[Replacement]:
        return self._scan_text(text, 0, options(text, self.rules.kind_of))

    def _replace_in_message(self, frame: Frame) -> bytes:
        """Return the bytes of a message frame. What is not JSON is treated as text."""
        raw = clean = frame.raw
        if frame.fact is None:
            whole = embeddable(raw)
            if not whole or self.suspicious(raw):
                clean = self.json(raw)
            if whole or not (isinstance(frame.content, Opaque) or decode(raw) is None):
                return clean
        if frame.exchange is not None:
            return self.body(clean, is_content)
        return self.text(clean, Look(own=not is_json(clean)))

    def _replace_in_event(self, meta: SseMeta) -> SseMeta:
        """Leave ids and names, the stream's own, but what is known. A comment may hold anything."""
        new = {}
        for name in ("id", "event", "comment"):
            value = getattr(meta, name)
            if not value:  # speed: 40 us an event (tools/bench.py --processor, stream)
                continue
            raw = value.encode("utf-8", "surrogatepass")
            clean = self.text(raw) if name == "comment" else self._replace_known(raw, own=False)
            if clean != raw:
                new[name] = clean.decode("utf-8", "surrogatepass")
        return msgspec.structs.replace(meta, **new) if new else meta

    def _replace_in_stderr(self, raw: bytes) -> bytes:
        """Replace secrets in a piece of standard error, and what goes on of one that is in the
        pieces before it.
        """
        key = self._stderr.rest_of_key(raw)
        if key:
            clean = self.table.placeholder("private-key", key) + self.text(raw[len(key) :])
        else:
            clean = self.text(self._without_rest(self._stderr.line, raw))
        self._stderr.add(raw, clean)
        return clean

    def _without_rest(self, before: bytes, raw: bytes) -> bytes:
        """Return a piece without the secrets that begin, or are named, in the line before it. Such
        a beginning is written already, so it is learned: a take's end replaces what is known by
        then.
        """
        if not before:
            return raw
        whole, cut = before + raw, len(before)
        replacements = []
        for span, new in self._scan_text(whole, 0, self._assignments(whole)):
            if span.start < cut:
                self.table.learn(whole[span.start : min(cut, span.end)], "secret")
            if span.end > cut:
                replacements.append((Span(max(span.start - cut, 0), span.end - cut), new))
        return splice(raw, replacements)

    def _redacted_field(self, name: str | None, text: str) -> str:
        """Return the value of a header field, or, without a name, a target."""
        return self._once((name, text), lambda: self._scan_field(name, text))

    def _scan_field(self, name: str | None, text: str) -> str:
        # Recording stdio needs none of them.
        from mcpmock.protocol.mirrored_headers import decode_raw_field

        from .headers import in_field, in_url, is_of_protocol

        self.table.path = ("http", "target" if name is None else name)
        raw = text.encode("utf-8", "surrogateescape")
        look = Look(own=name is None or not is_of_protocol(name))
        kind_of = self.rules.kind_of if look.own else self.rules.built_in_kind
        mirrored = None if name is None else self._kind_of_mirrored(name)

        def scan(part: bytes) -> list[Replacement]:
            found = in_url(part, kind_of) if name is None else in_field(name, part, kind_of)
            if mirrored is not None:
                found = [(Span(0, len(part)), mirrored)]
            return self._scan_text(part, 0, found, decode_raw_field, look=look)

        return self._settle(raw, scan).decode("utf-8", "surrogateescape")

    def _kind_of_mirrored(self, name: str) -> str | None:
        """Return the kind of a field that repeats an argument which a path names."""
        from mcpmock.protocol.mirrored_headers import PARAMETER_PREFIX

        argument = name[len(PARAMETER_PREFIX) :]
        mirrors = name.lower().startswith(PARAMETER_PREFIX)
        return self.rules.kind_of_last_name(argument) if mirrors else None

    def _once(self, key: Hashable, redact: Callable[[], _T]) -> _T:
        """Redact once what repeats, until a value becomes known, which may stand in any of it."""
        table, known = self.table, self.table.known.count
        if known != self._known_in_cache or len(self._cache) >= _MAX_CACHED:
            self._cache.clear()
            self._known_in_cache = known
        cached = self._cache.get(key)
        if cached is not None and table.places is None:
            table.count += cached[1]
            return cast("_T", cached[0])
        before, redacted = table.count, redact()
        if known == table.known.count:
            self._cache[key] = redacted, table.count - before
        return redacted


def redaction_of(rules: RedactionRules) -> dict[str, Any]:
    """Return what the header of a take says of its redaction."""
    return {"rules": RULES, **({"own": rules.described()} if rules else {})}


def _split_assignment(argument: str, kind_of: KindOf) -> tuple[str, str, str]:
    """Return the kind, the prefix and the value of `--api-key=X`, `--env=API_KEY=X`, `X-Api-Key:
    X`; three empty texts for what is none.
    """
    parts = re.split(r"(=|:\s?)", argument)
    for i in range(1, len(parts), 2):
        kind = kind_of(parts[i - 1])
        if kind is not None:
            value = "".join(parts[i + 1 :])
            scheme = re.match(r"(?:Bearer|Basic|Token) (?=.)", value)
            prefix = "".join(parts[: i + 1]) + (scheme[0] if scheme else "")
            return kind, prefix, value[scheme.end() :] if scheme else value
        if parts[i].startswith(":") and parts[i + 1].startswith("//"):
            break  # the names in a URL end otherwise
    return "", "", ""
