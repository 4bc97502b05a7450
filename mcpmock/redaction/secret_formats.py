"""Finds secrets in text: by their format, and by the name that they are assigned to.

It replaces nothing: `redactor` does. A peer chooses the text, so every expression here runs in
linear time. The table of names is `secret_names`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from mcpmock.protocol.raw_json import Span

from .secret_names import SECRET_ENDINGS, kind_of_name

Found = tuple[Span, str]
"""Where a secret stands, and its kind."""

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
    (  # In a challenge, `Bearer` is followed by parameters instead (RFC 6750, RFC 9728).
        "bearer",
        rb"\b[Bb]earer (?!(?:resource_metadata|error_description)=)"
        rb"(?P<secret>[\w.~+/-]{12,}=*)",
    ),
    ("userinfo", rb"\b[a-z][a-z0-9+.-]{1,20}://[^\s:/?#@\"\\]*:(?P<secret>[^\s:/?#@\"\\]+)@"),
    ("query", rb"[?&](?P<name>" + _QUERY_NAMES + rb")=(?P<secret>[^&#\s\"\\]+)"),
)
_WINDOW_BYTES = 1 << 20
"""`suspicious` looks through a long message in windows of this size."""
_WINDOW_OVERLAP_BYTES = 1 << 10
"""Neighbouring windows share this much: a name cut by one border is whole in the next window."""


def _colon_after(tails: Iterable[str]) -> bytes:
    """An expression for the `":` after names with these ends, unless a number, an object, true,
    false or null follows.
    """
    # It begins with literal bytes, so the search runs at the speed of memchr from one name to the
    # next; there three classes of letters exclude most names before any end is compared.
    ends = sorted({tail[-3:] for tail in tails})
    classes = "".join(f"[{''.join(sorted(set(letters)))}]" for letters in zip(*ends, strict=True))
    choices = "|".join(ends)
    return f'":(?![{{0-9tfn-])(?<={classes}":)(?<=(?:{choices})":)'.encode()


# The expressions of `suspicious` run over every recorded message, so each begins with a literal;
# those of `_RARE_HINTS` run only where their rare byte occurs at all.
_secret_name_ends = re.compile(
    _colon_after(
        spelled
        for *_, word in SECRET_ENDINGS
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


def suspicious(data: bytes) -> bool:
    """Whether JSON lines may hold a secret: a quick look that never misses one."""
    if len(data) > _WINDOW_BYTES:
        starts = range(0, len(data), _WINDOW_BYTES - _WINDOW_OVERLAP_BYTES)
        return any(suspicious(data[start : start + _WINDOW_BYTES]) for start in starts)
    for match in _secret_name_ends.finditer(data):
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


def formats(raw: bytes, span: Span) -> Iterator[Found]:
    """The secrets in one part of a text that their format gives away. They may overlap."""
    for kind, pattern in _format_rules:
        for match in pattern.finditer(raw, *span):
            name = match["name"].decode() if "name" in pattern.groupindex else ""
            yield Span(*match.span("secret")), kind_of_name(name) or kind


def assignments(raw: bytes) -> Iterator[Found]:
    """The values that are assigned to names of secrets, in any notation."""
    for match in _ASSIGNMENT.finditer(raw):
        group = next(name for name in ("quoted", "single", "value") if match[name] is not None)
        name = match["bare" if group == "value" else "name"].decode("utf-8", "replace")
        kind = kind_of_name(name)
        if kind is not None:
            yield without_scheme(raw, Span(*match.span(group))), kind


def without_scheme(raw: bytes, span: Span) -> Span:
    """The span without the authentication scheme before the credentials."""
    scheme = _SCHEME.match(raw, span.start, span.end)
    return Span(scheme.end(), span.end) if scheme else span


@lru_cache(maxsize=4096)
def _names_a_secret(name: bytes) -> bool:
    return kind_of_name(name.decode("utf-8", "replace")) is not None
