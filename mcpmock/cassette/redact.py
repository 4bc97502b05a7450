"""Secrets out, before anything is kept.

A `Redactor` stands between the wire and the cassette: it is given what is about to be recorded and
gives what may be. The wire itself is never touched. What it takes for a secret is replaced by
`mcpmock:secret:<kind>:<n>`, n counting up in order of appearance: the same value gets the same
placeholder, another value another one, and nothing derived from the value is stored. On replay a
placeholder is a variable (`match`), so a redacted cassette still answers.

Only strings are replaced; names, numbers, structure and every other byte stay. Rules by name ask
what the *words* of a name end with (`githubToken`, `X-Api-Key`), never for a part of one:
`maxTokens` and `token_count` are no secrets. What the protocol itself calls a token or a cursor is
exempt, and so are the schemas of tools, which only talk about secrets.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

import attrs

from mcpmock.protocol.messages import decode
from mcpmock.protocol.spans import Span, splice, walk

RULES = 1
"""The version of the rules, written into the header of every take."""
PLACEHOLDER = b"mcpmock:secret:"
HOLE = re.compile(PLACEHOLDER + rb"[a-z-]+:\d+")
"""A placeholder: on replay a variable, which the first live value binds."""

_SECRET_ENDINGS = frozenset({
    ("password",), ("passwd",), ("pwd",), ("passphrase",), ("passcode",), ("secret",), ("secrets",),
    ("token",), ("bearer",), ("jwt",), ("otp",), ("apikey",), ("api", "key"), ("access", "key"),
    ("secret", "key"), ("private", "key"), ("signing", "key"), ("encryption", "key"),
    ("auth", "key"), ("account", "key"), ("shared", "key"), ("credential",), ("credentials",),
    ("authorization",), ("cookie",), ("connection", "string"), ("client", "assertion"),
    ("code", "verifier"),
})  # fmt: skip
_EXEMPT = frozenset({
    ("progress", "token"), ("page", "token"), ("continuation", "token"), ("sync", "token"),
    ("cancel", "token"), ("cancellation", "token"), ("resume", "token"),
})  # fmt: skip
_SCHEMAS = {"inputSchema", "outputSchema", "requestedSchema"}
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")

_QUERY_NAMES = (
    rb"(?:access_token|api_key|apikey|auth_token|client_secret|password|refresh_token|token)"
)
_FORMATS = (
    ("private-key", rb"-----BEGIN [A-Z ]*PRIVATE KEY-----(?P<secret>[^-\"]{16,})-----END"),
    ("jwt", rb"(?<![\w-])(?P<secret>eyJ[\w-]{8,}+\.eyJ[\w-]{8,}+\.[\w-]+)"),
    ("github", rb"\b(?P<secret>(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}))"),
    ("gitlab", rb"(?<![\w-])(?P<secret>glpat-[\w-]{20,})"),
    ("sk", rb"(?<![\w-])(?P<secret>sk-[A-Za-z0-9][\w-]{18,})"),
    ("aws", rb"\b(?P<secret>(?:AKIA|ASIA)[0-9A-Z]{16})\b"),
    ("slack", rb"(?<![\w-])(?P<secret>xox[abeoprs]-[\w-]{10,})"),
    ("google", rb"(?<![\w-])(?P<secret>AIza[\w-]{35})"),
    ("bearer", rb"\b[Bb]earer (?P<secret>[\w.~+/-]{12,}=*)"),
    ("userinfo", rb"\b[a-z][a-z0-9+.-]{1,20}://[^\s:/?#@\"\\]*:(?P<secret>[^\s:/?#@\"\\]+)@"),
    (
        "query",
        rb"[?&](?P<name>" + _QUERY_NAMES + rb")=(?P<secret>[^&#\s\"\\]+)",
    ),
)
_WINDOW, _OVERLAP = 1 << 20, 1 << 10


def _behind(tails: Iterable[str]) -> bytes:
    """An expression for the `":` behind names with these ends, where what follows can hold a
    string.

    It begins with literal bytes, so it runs at the speed of memchr from one name to the next; there
    a look at three classes of letters turns most names away before any end is compared.
    """
    ends = sorted({tail[-3:] for tail in tails})
    classes = "".join(f"[{''.join(sorted(set(letters)))}]" for letters in zip(*ends, strict=True))
    choices = "|".join(ends)
    return f'":(?![{{0-9tfn-])(?<={classes}":)(?<=(?:{choices})":)'.encode()


# What is worth a closer look, quickly: each expression begins with a literal, and the rare bytes
# are looked for alone first, which costs next to nothing.
_name_ends = re.compile(
    _behind(
        spelled
        for *_, word in _SECRET_ENDINGS
        for spelled in (word, word.upper(), word[-3:].capitalize())
    )
)
_HINTS = tuple(
    re.compile(hint) for hint in (rb"g(?:h[pousr]_|ithub_pat_|lpat-)", rb"earer ", rb'" :')
)
_RARE_HINTS = tuple(
    (byte, re.compile(hint))
    for byte, hint in (
        (b"J", rb"J(?<=eyJ)"),
        (b"-", rb"-(?:(?<=sk-)|(?<=xox[abeoprs]-)|(?<=---))"),
        (b"A", rb"A(?:KIA|SIA|Iza)"),
        (b"@", rb"@(?<=[^/]@)"),
        (b"?", rb"\?" + _QUERY_NAMES + rb"="),
        (b"&", rb"&" + _QUERY_NAMES + rb"="),
        (b"\\", rb"\\u00[4-7]"),  # a letter spelled as an escape: perhaps of a name
        (b"\t", rb"\t"),
    )
)
_ASSIGNMENT = re.compile(
    rb"(?P<name>[\w.-]{3,64}+)[\"']?\s?[=:]\s?"
    rb"(?:\"(?P<quoted>[^\"\\]*+(?:\\.[^\"\\]*+)*+)|'(?P<single>[^'\\]*+(?:\\.[^'\\]*+)*+))|"
    rb"(?<![\w-])(?P<bare>[\w-]{3,64}+)=(?P<value>[^\s\"'&]++)",
    re.S,
)
_SCHEME = re.compile(rb"(?:Bearer|Basic|Token) (?=.)", re.S)
_format_rules = [(kind, re.compile(pattern)) for kind, pattern in _FORMATS]


@lru_cache(maxsize=4096)
def kind_of_name(name: str) -> str | None:
    """What kind of secret a value of this name is (`githubToken`: `token`), or None for an ordinary
    name.
    """
    words = tuple(word.lower() for word in _WORDS.findall(name))
    for size in (2, 1):
        ending = words[-size:]
        if ending in _EXEMPT:
            return None
        if len(ending) == size and ending in _SECRET_ENDINGS:
            return "-".join(ending)
    return None


@lru_cache(maxsize=4096)
def _names_a_secret(name: bytes) -> bool:
    return kind_of_name(name.decode("utf-8", "replace")) is not None


@attrs.define
class Redactor:
    """The rules, and the placeholders given out in one take."""

    count: int = 0
    """How many values were replaced."""
    _known: dict[bytes, bytes] = attrs.field(factory=dict)

    def suspicious(self, data: bytes) -> bool:
        """Whether anything in JSON lines is worth a closer look. Never misses what `json` would
        find; quick.
        """
        if len(data) > _WINDOW:
            starts = range(0, len(data), _WINDOW - _OVERLAP)
            return any(self.suspicious(data[start : start + _WINDOW]) for start in starts)
        for match in _name_ends.finditer(data):
            end = match.start()
            if _names_a_secret(data[data.rfind(b'"', 0, end) + 1 : end]):
                return True
        for hint in _HINTS:
            if hint.search(data):
                return True
        for byte, hint in _RARE_HINTS:  # noqa: SIM110 (an any() here doubles the time of a short message)
            if byte in data and hint.search(data):
                return True
        return False

    def json(self, raw: bytes) -> bytes:
        """A JSON message (whole or torn) with its secrets replaced; the very same object if there
        are none.
        """
        found: list[tuple[Span, bytes]] = []
        for path, span in walk(raw):
            if raw[span.start : span.start + 1] == b'"':
                inside = Span(span.start + 1, span.end - 1)
                found += self._string(raw, inside, _kind_of_path(path))
        return splice(raw, found)

    def text(self, raw: bytes) -> bytes:
        """Text that is no JSON message: banners, standard error, the head of an oversize frame."""
        taken = []
        for match in _ASSIGNMENT.finditer(raw):
            kind, span = _assigned(match)
            span = _without_scheme(raw, span)
            value = raw[span.start : span.end]
            if kind is not None and value and not value.startswith(PLACEHOLDER):
                taken.append((span, self._placeholder(kind, value)))
        rest = [
            (span, new)
            for span, new in self._formats(raw, Span(0, len(raw)))
            if not any(span.start < other.end and other.start < span.end for other, _ in taken)
        ]
        return splice(raw, taken + rest)

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
                raw = splice(raw, self._formats(raw, Span(0, len(raw))))
            option = argument.startswith("-") and "=" not in argument
            expected = kind_of_name(argument) if option else None
            shown.append(raw.decode("utf-8", "replace"))
        return shown

    def _string(self, raw: bytes, span: Span, kind: str | None) -> list[tuple[Span, bytes]]:
        """What to replace in one JSON string: all of it under a secret's name, else what has a
        secret's format.
        """
        if kind is None:
            return self._formats(raw, span)
        span = _without_scheme(raw, span)
        if span.start == span.end or raw.startswith(PLACEHOLDER, span.start):
            return []
        return [(span, self._placeholder(kind, raw[span.start : span.end]))]

    def _formats(self, raw: bytes, span: Span) -> list[tuple[Span, bytes]]:
        found: list[tuple[Span, bytes]] = []
        for kind, pattern in _format_rules:
            for match in pattern.finditer(raw, span.start, span.end):
                start, end = match.span("secret")
                taken = any(start < other.end and other.start < end for other, _ in found)
                if not taken and not match["secret"].startswith(PLACEHOLDER):
                    name = match["name"].decode() if "name" in pattern.groupindex else ""
                    new = self._placeholder(kind_of_name(name) or kind, match["secret"])
                    found.append((Span(start, end), new))
        return found

    def _placeholder(self, kind: str, secret: bytes) -> bytes:
        self.count += 1
        value = decode(b'"' + secret + b'"') if b"\\" in secret else None
        key = value.encode("utf-8", "surrogatepass") if isinstance(value, str) else secret
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


def _without_scheme(raw: bytes, span: Span) -> Span:
    scheme = _SCHEME.match(raw, span.start, span.end)
    return Span(scheme.end(), span.end) if scheme else span


def _assigned(match: re.Match[bytes]) -> tuple[str | None, Span]:
    group = next(name for name in ("quoted", "single", "value") if match[name] is not None)
    name = match["bare" if group == "value" else "name"].decode("utf-8", "replace")
    return kind_of_name(name), Span(*match.span(group))


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
