"""Finds secrets in what HTTP carries around messages: header fields, targets, queries, forms.

It replaces nothing: `redactor` does, with one table of placeholders, so a session id has the same
placeholder in a header, in a query and in the event that first named it. Only values are secret:
authentication schemes, names and attributes of cookies, and the structure of a URL stay.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from mcpmock.protocol.mirrored_headers import PARAMETER_PREFIX
from mcpmock.protocol.raw_json import Span

from .path_keys import keys_in_path
from .secret_formats import Found, KindOf
from .secret_names import SESSION_ID, kind_of_name, words_of

_CHALLENGES = {"www-authenticate", "proxy-authenticate", "authentication-info"}
_KINDS_OF_PARAMETERS = {
    "code": "code", "state": "state", "key": "key", "sig": "signature", "signature": "signature",
    "sid": SESSION_ID, "session": SESSION_ID, "sessionid": SESSION_ID,
}  # fmt: skip
_FIELDS_OF_PROTOCOL = {
    *("accept", "accept-encoding", "accept-language", "allow", "cache-control", "connection"),
    *("content-encoding", "content-length", "content-type", "date", "expires", "host"),
    *("keep-alive", "last-event-id", "link", "location", "origin", "retry-after", "te", "trailer"),
    *("transfer-encoding", "upgrade", "vary", *_CHALLENGES),
}
_GRANTS = {"code", "state", "assertion", "device_code", "user_code"}
_SCHEME = re.compile(
    rb"(?:Basic|Bearer|Digest|DPoP|GNAP|Hawk|HOBA|MAC|Mutual|Negotiate|NTLM|OAuth|Token|ApiKey|"
    rb"SCRAM-[\w-]+|AWS4-[\w-]+)[ \t]+(?=.)",
    re.IGNORECASE | re.DOTALL,
)
_COOKIE = re.compile(rb"[ \t]*+(?:[^=;]*+=)?+[ \t\"]*+(?P<secret>[^\";]++)")
_NONCE = re.compile(rb"\b(?:next|c)?nonce[ \t]*=[ \t]*\"?(?P<secret>[^\", \t]+)", re.IGNORECASE)
_USERINFO = re.compile(rb"//(?:[^/?#@\s:\"]*+:)?+(?P<secret>[^/?#@\s\"]++)@")
_QUERY = re.compile(rb"(?:\A|[?&#])(?P<name>[\w.~%-]{1,64}+)=(?P<secret>[^&#\s\"'<>\\]++)")


def in_field(name: str, value: bytes, kind_of: KindOf = kind_of_name) -> list[Found]:
    """Return the secrets in the value of a header field."""
    lower = name.lower()
    if lower == "cookie":
        return [(Span(*match.span("secret")), "cookie") for match in _COOKIE.finditer(value)]
    if lower == "set-cookie":
        cookie = _COOKIE.match(value)
        return [(Span(*cookie.span("secret")), "cookie")] if cookie else []
    if lower in _CHALLENGES:
        return [(Span(*match.span("secret")), "nonce") for match in _NONCE.finditer(value)]
    mirrored = lower.startswith(PARAMETER_PREFIX)
    kind = kind_of(name[len(PARAMETER_PREFIX) :]) if mirrored else _kind_of_field(name, kind_of)
    if kind is None:
        return [*in_url(value, kind_of)]
    scheme = _SCHEME.match(value)
    return [(Span(scheme.end() if scheme else 0, len(value)), kind)]


def in_url(url: bytes, kind_of: KindOf = kind_of_name) -> Iterator[Found]:
    """Yield the secrets in a target, or in any text with a URL in it: userinfo, and values of
    queries; where the text is one URL or target, the keys in its path.
    """
    for match in _USERINFO.finditer(url):
        yield Span(*match.span("secret")), "userinfo"
    for key in keys_in_path(url):
        yield key, "path-key"
    yield from in_query(url, kind_of)


def in_query(text: bytes, kind_of: KindOf = kind_of_name) -> Iterator[Found]:
    """Yield the values of secret names in a query or a form, or in text with one in it."""
    for match in _QUERY.finditer(text):
        name = match["name"].decode("ascii", "replace")
        kind = _KINDS_OF_PARAMETERS.get(name.lower()) or _kind_of_field(name, kind_of)
        if kind is not None:
            yield Span(*match.span("secret")), kind


def kind_in_grant(path: Sequence[str | int]) -> str | None:
    """Return the kind of a top-level value in the JSON of OAuth; elsewhere these names are
    ordinary.
    """
    [name] = path if len(path) == 1 else [None]
    return str(name).replace("_", "-") if name in _GRANTS else None


def is_of_protocol(field: str) -> bool:
    """Return whether a header field is of MCP or of HTTP itself: rules of users leave it alone."""
    lower = field.lower()
    mcp = lower.startswith("mcp-") and not lower.startswith(PARAMETER_PREFIX)
    return mcp or lower in _FIELDS_OF_PROTOCOL


def _kind_of_field(name: str, kind_of: KindOf) -> str | None:
    return _kind_of_protocol(name) or kind_of(name)


@lru_cache(maxsize=1024)
def _kind_of_protocol(name: str) -> str | None:
    words = words_of(name)
    if words[-2:] == ("session", "id"):
        return SESSION_ID
    if words[-1:] == ("nonce",):
        return "nonce"
    return "dpop" if name.lower() == "dpop" else None
