"""Finds secrets in text: by their format, and by the name that they are assigned to.

It replaces nothing: `text_redactor` does. A peer chooses the text, so every expression here runs in
linear time. The table of names is `secret_names`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from mcpmock.lazy_pattern import lazy_pattern
from mcpmock.protocol.raw_json import Span

from .encodings import BASE64_TEXT, decode_base64, without_colors
from .names_beside import names_of_values
from .secret_names import SECRET_ENDINGS, kind_of_name

Found = tuple[Span, str]
"""Where a secret stands, and its kind."""
KindOf = Callable[[str], str | None]
"""Gives the kind of secret that a name stands for."""

_QUERY_NAMES = (
    rb"(?:access_token|api_key|apikey|auth_token|client_secret|password|refresh_token|token|"
    rb"X-(?:Amz|Goog)-Signature|Signature|sig)"
)
_QUERY = _QUERY_NAMES + rb"="
_PREFIXES = (
    *("AGE-SECRET-KEY-", "GOCSPX-", "SG.", "dckr_oat_", "dckr_pat_", "doo_v1_", "dop_v1_", "figd_"),
    *("glsa_", "gsk_", "hf_", "hvs.", "lin_api_", "lin_oauth_", "npm_", "ntn_", "pplx-", "pypi-"),
    *("pscale_tkn_", "r8_", "rk_live_", "rk_test_", "sbp_", "shpat_", "shpss_", "sk_live_"),
    *("sk_test_", "tvly-", "whsec_", "xai-", "xapp-", "ya29."),
)
"""What the tokens of a service begin with; random letters follow."""
_PREFIX = "|".join(map(re.escape, _PREFIXES)).encode()


_Hint = tuple[int, re.Pattern[bytes]]


class _Format(NamedTuple):
    """A secret that is known by how it looks."""

    kind: str
    pattern: bytes
    """The group `secret` is what is replaced."""
    hints: Mapping[bytes, bytes]
    """By a byte that is rare in messages, and is in each of these secrets: what is around it. Other
    messages are never searched for `pattern`.
    """
    is_long: bool = False
    """Whether each of them has 20 letters or digits in a row, as few words have: only there the
    hints are looked for.
    """


_FORMATS = (
    _Format(
        "private-key",
        # An encrypted key has header lines, with dashes in them; a torn one has no end.
        rb"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----"
        rb"(?P<secret>(?:[^-\"]++|-(?!----))++(?=-----END)|"
        rb"[\w+/=\\:,.\s-]{0,300}?[A-Za-z0-9+/]{16}[A-Za-z0-9+/=\\\s]*+)",
        {b"-": rb"(?<=---)"},
    ),
    _Format(
        "jwt",
        rb"(?<![\w-])(?P<secret>eyJ[\w-]{8,}+\.eyJ[\w-]{8,}+\.[\w-]+)",
        {b"J": rb"(?<=eyJ)"},
    ),
    _Format(
        "github",
        rb"\b(?P<secret>(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9]{20,}\w*))",
        {b"_": rb"(?<=gh[pousr]_)|(?<=github_pat_)"},
        is_long=True,
    ),
    _Format(
        "token",
        rb"(?<![\w-])(?P<secret>(?:%b)(?=[\w.-]{0,40}?[A-Za-z0-9]{20})[\w.-]*\w)" % _PREFIX,
        {
            sign.encode(): rb"(?=[\w.-]{20})(?:%b)"
            % "|".join(f"(?<={re.escape(one)})" for one in _PREFIXES if one[-1] == sign).encode()
            for sign in "_.-"
        },
        is_long=True,
    ),
    _Format(
        "webhook",
        rb"\b(?:slack\.com/services|discord(?:app)?\.com/api/webhooks)/"
        rb"(?P<secret>[\w/-]*[A-Za-z0-9]{20}[\w/-]*)",
        {b".": rb"com\\*+/(?:services|api\\*+/webhooks)\\*+/"},
        is_long=True,
    ),
    _Format(
        "atlassian",
        rb"\b(?P<secret>ATATT3(?=[\w=-]{0,40}?[A-Za-z0-9]{20})[\w=-]*+)",
        {b"A": rb"TATT3"},
    ),
    _Format("gitlab", rb"(?<![\w-])(?P<secret>glpat-[\w-]{20,})", {b"-": rb"(?<=glpat-)"}),
    _Format("sk", rb"(?<![\w-])(?P<secret>sk-[A-Za-z0-9][\w-]{18,})", {b"-": rb"(?<=sk-)"}),
    _Format("aws", rb"\b(?P<secret>(?:AKIA|ASIA)[0-9A-Z]{16})\b", {b"A": rb"[KS]IA"}),
    _Format(
        "slack", rb"(?<![\w-])(?P<secret>xox[abeoprs]-[\w-]{10,})", {b"-": rb"(?<=xox[abeoprs]-)"}
    ),
    _Format("google", rb"(?<![\w-])(?P<secret>AIza[\w-]{35})", {b"A": rb"Iza"}),
    _Format(
        "bearer",
        # In a challenge, `Bearer` is followed by parameters instead (RFC 6750, RFC 9728).
        rb"\bBearer (?!(?:authentication|authorization|credentials)\b|(?:resource_metadata|"
        rb"error_description)=)"
        rb"(?P<secret>[\w.~+/-]{12,}=*)",
        {b"B": rb"earer "},
    ),
    _Format(
        "userinfo",
        rb"\b[a-z][a-z0-9+.-]{1,20}://[^\s:/?#@\"\\]*:(?P<secret>[^\s:/?#@\"\\]+)@",
        {b"@": rb"(?<=[^/]@)"},
    ),
    _Format(
        "signature",
        rb"[?&](?P<name>" + _QUERY_NAMES + rb")=(?P<secret>[^&#\s\"\\]+)",
        {b"?": _QUERY, b"&": _QUERY},
    ),
    _Format(
        "basic",
        rb"\bBasic (?P<secret>[A-Za-z0-9+/]{6,}={0,2})(?![\w+/=])",
        {b"B": rb"asic [A-Za-z0-9+/]{6}"},
    ),
)
_WINDOW_BYTES = 1 << 20
"""`suspicious` looks through a long message in windows of this size."""
_WINDOW_OVERLAP_BYTES = 1 << 10
"""Neighbouring windows share this much: a name cut by one border is whole in the next window."""


# `suspicious` looks at every recorded message. Whether anything ends as names of secrets do is seen
# in one pass: folded, `"API_KEY":`, `\"apiKey\" :`, `api-key: ` and `Key/ =` have the end `key:`.
# Backwards, the last words are one tree, which gives up at the first letter that none of them has.
# speed: 0.6 us a message of 208 bytes in a batch; with the last three letters of the words alone,
# which `location` shares with `authorization`, 7 for one with such a name (tools/bench.py
# --processor)
_FOLD = bytes(range(256)).lower().replace(b"=", b":")
_BETWEEN_NAME_AND_SIGN = bytes(
    byte for byte in range(256) if not (bytes((byte,)).isalpha() or byte in b":=")
)
"""Whatever is no letter belongs to no word that decides (`words_of`)."""


def _tree(words: Sequence[str]) -> str:
    """Return an expression for these words, of which none begins with another."""
    by_letter = groupby(sorted(filter(None, words)), key=itemgetter(0))
    branches = [f"{one}{_tree([word[1:] for word in rest])}" for one, rest in by_letter]
    return branches[0] if len(branches) == 1 else f"(?:{'|'.join(branches)})"


def _last_words() -> list[str]:
    """Return the last words of the names of secrets, backwards; `key` stands for `apikey` too."""
    words = {word for *_, word in SECRET_ENDINGS}
    return [word[::-1] for word in words if not any(word.endswith(one) for one in words - {word})]


_VALUE = "eulav"
"""`value` backwards: a member that may have its name beside it."""
_TREE = _tree(_last_words())
_SIGN_AND_LAST_WORD = re.compile(f":{_tree([*_last_words(), _VALUE])}".encode())
_PROGRESS_TOKEN = b'"progressToken":'
"""The one name of MCP that ends like a secret's; every second message of a session may have it."""
# Backwards, too: a pattern that has to end at the sign would be tried from each of 64 places. What
# follows a colon in JSON must be a string or a list: numbers are not replaced. The name is looked
# ahead for, because it may hold the sign of another.
# speed: 0.9 us a message; one expression for both signs takes 2.5: it begins with no byte that
# could be searched for (tools/bench.py --processor)
_NAME_AT_SIGN = rb"[^A-Za-z:=]*+(?=((?i:%b)[^\"'\\\r\n{}\[\],]{0,64}+\\?))" % _TREE.encode()
_COLON_AND_NAME = lazy_pattern(rb":(?<=[\"'\s\\\[:=]:)" + _NAME_AT_SIGN)
_EQUALS_AND_NAME = lazy_pattern(b"=" + _NAME_AT_SIGN)
_MAX_NAME_BYTES = 64
# Base64, and the formats that have a long word, are looked for where there are so many letters in a
# row that few words have as many.
_LETTERS = bytes(0x61 if bytes((byte,)).isalnum() else 0x20 for byte in range(256))
_MANY_LETTERS = b"a" * 20
_RESPELLED = lazy_pattern(rb"\\u00[2-7a-fA-F]|%[2-7][0-9a-fA-F]")
_BASE64_TEXT = lazy_pattern(BASE64_TEXT * 4)
# A name may end in escapes: they are no part of its words, and end in letters.
_ESCAPES_AT_END = (
    rb"(?:[bfnrt]|u[0-9a-fA-F]{4})(?:[^0-9A-Za-z\\\"]++|\\(?:[bfnrt/]|u[0-9a-fA-F]{4}))*+"
    rb"\\*+[\"'][ \t]*+[:=]"
)
_DASH = b"-"[0]
_OPTION_NAME = lazy_pattern(
    rb"-(?:-|(?<=[\s\"']-)|(?<=\\[nrt]-))([A-Za-z][\w.-]{1,63}+)(?=[=\s\"'\\])"
)
# What is spelled as an escape without need: letters of a name, a mark in a URL. And colors.
_SPELLINGS = {
    b"%": rb"[2-7][0-9A-Fa-f]",
    b"\\": rb"u00(?:1[bB]|2[0-9a-fA-F]|3[0-9adAD]|[4-7])|" + _ESCAPES_AT_END,
    b"\x1b": rb"\[",
    b"\t": b"",
}


# speed: 0.03 us a search for one byte, if it is given as a number; `bytes in bytes` raises and
# drops a TypeError first, which takes 0.2 (python -m timeit)
def _hints(formats: Sequence[_Format], spellings: Mapping[bytes, bytes]) -> list[_Hint]:
    """Return, by the byte, an expression for all that is suspicious around it."""
    around: dict[bytes, list[bytes]] = {byte: [text] for byte, text in spellings.items()}
    for one in formats:
        for byte, text in one.hints.items():
            around.setdefault(byte, []).append(text)
    return [
        (byte[0], lazy_pattern(re.escape(byte) + b"(?:" + b"|".join(texts) + b")"))
        for byte, texts in sorted(around.items())
    ]


_RARE_HINTS = _hints([one for one in _FORMATS if not one.is_long], _SPELLINGS)
_LONG_HINTS = _hints([one for one in _FORMATS if one.is_long], {})
_QUOTED_ASSIGNMENT = lazy_pattern(
    rb"(?P<name>[\w.-]{3,64}+)[\"']?\s?[=:]\s?"
    rb"(?:\"(?P<quoted>[^\"\\]*+(?:\\.[^\"\\]*+)*+)|'(?P<single>[^'\\]*+(?:\\.[^'\\]*+)*+))",
    re.S,
)
_ASSIGNMENT = lazy_pattern(rb"(?<![\w-])(?P<name>[\w-]{3,64}+)=(?P<value>[^\s\"'&]++)")
_IN_QUERY = lazy_pattern(rb"[?&](?P<name>[\w.-]{1,64}+)=(?P<value>[^&#\s\"'<>\\]++)")
_WORD_BEHIND_NAME = lazy_pattern(
    rb"(?<![\w.-])(?P<name>[A-Za-z_][\w.-]{2,63}+)(?:=|:[ \t]++)(?P<value>[^\s\"'`&|;,(){}<>\\]++)"
)
_ESCAPED_PAIR = lazy_pattern(
    rb"(?P<name>[\w.-]{3,64}+)(?P<quote>\\++[\"'])\s?[=:]\s?(?P=quote)"
    rb"(?P<value>(?:[^\"'\\]|\\++u[0-9a-fA-F]{4}){1,1024}+)"
)
_QUOTED_PAIR = lazy_pattern(
    rb"(?P<mark>[\"'])(?P<name>[\w.-]{3,64}+)(?P=mark)\s{0,4}+(?::|=>?)\s{0,4}+"
    rb"(?:\"(?P<quoted>[^\"\\]*+(?:\\.[^\"\\]*+)*+)\"|'(?P<single>[^'\\]*+(?:\\.[^'\\]*+)*+)')",
    re.S,
)
_LINE_START = (
    rb"^[ \t]*+(?:[-+*<>$#|]{1,3}[ \t]++)?(?:--?|export[ \t]++|set[ \t]++|ENV[ \t]++|\$env:)?"
)
_VALUE_BEHIND_SIGN = (
    rb"(?:\"(?P<quoted>[^\"\r\n]++)\"|'(?P<single>[^'\r\n]++)'|(?P<bare>[^\s\"'][^\r\n]*+))"
)
_LINE = lazy_pattern(
    _LINE_START
    + rb"(?P<name>[A-Za-z_][\w.-]{2,63}+)(?P<sign>[ \t]*+=[ \t]*+|:[ \t]++)"
    + _VALUE_BEHIND_SIGN,
    re.M,
)
_COLON_PAIR = lazy_pattern(
    rb"(?<![\w.-])(?P<name>[A-Za-z_][\w.-]{2,63}+)(?P<sign>:[ \t]++)"
    rb"(?:\"(?P<quoted>[^\"\r\n]++)\"|'(?P<single>[^'\r\n]++)'|(?P<bare>[^\s\"'][^\r\n]*+))"
)
# In a text that a tool reads there is code beside settings: `token=token,`, `key = make_key()`.
_CODE = lazy_pattern(rb".*[,;({\[\\]|[$<{(\[%].*|None|[Nn]ull|[Tt]rue|[Ff]alse|undefined", re.S)
_CREDENTIAL = lazy_pattern(rb"(?=[^\s]{6,}\Z)(?=.*[0-9])(?=.*[A-Za-z])[^(){}<>,;\s]++")
_OPTION = lazy_pattern(
    rb"(?<!\S)--?(?P<name>[A-Za-z][\w.-]{1,63}+)(?:=|\s++)"
    rb"(?:\"(?P<quoted>[^\"]++)\"|'(?P<single>[^']++)'|(?P<bare>[^\s\"'-][^\s\"']*+))"
)
_EVIDENT = {
    *("private-key", "jwt", "token", "atlassian", "github", "gitlab", "sk", "aws", "slack"),
    "google",
}
_EXAMPLE = lazy_pattern(
    rb"(?i)example|your|xxx|\*\*\*|\.\.\.|12345|abcde|0000|placeholder|redacted"
)
_MIN_DIFFERENT = 10
"""How many different characters random letters of this length have at least."""
_COMMENT = lazy_pattern(rb"[ \t]++#.*|[ \t]++\Z")
_FIRST_WORD = lazy_pattern(rb"\S++")
_SCHEME = lazy_pattern(rb"(?i:Bearer|Basic|Token) (?=.)", re.S)
_PATTERNS = [(one.kind, lazy_pattern(one.pattern)) for one in _FORMATS]


def suspicious(data: bytes) -> bool:
    """Return whether JSON lines, or a text in quotes, may hold a secret: a quick look that never
    misses one.
    """
    if len(data) > _WINDOW_BYTES:
        starts = range(0, len(data), _WINDOW_BYTES - _WINDOW_OVERLAP_BYTES)
        return any(suspicious(data[start : start + _WINDOW_BYTES]) for start in starts)
    folded = bytearray(data).translate(_FOLD, _BETWEEN_NAME_AND_SIGN)
    folded.reverse()  # in half the time of a slice
    ends = _SIGN_AND_LAST_WORD.findall(folded)
    if ends:
        values = ends.count(f":{_VALUE}".encode())
        if len(ends) - values > data.count(_PROGRESS_TOKEN) and _names_secrets(data):
            return True
        if values and any(map(kind_of_name, names_of_values(data))):
            return True
    for byte, hint in _RARE_HINTS:
        if byte in data and hint.search(data):
            return True
    if _DASH in data and any(map(kind_of_name, map(_text, {*_OPTION_NAME.findall(data)}))):
        return True
    if data.translate(_LETTERS).rfind(_MANY_LETTERS) < 0:  # `find` takes longer
        return False
    if _BASE64_TEXT.search(data):
        return True
    return any(byte in data and hint.search(data) for byte, hint in _LONG_HINTS)


def respelled(data: bytes) -> bool:
    """Return whether a text may stand in this data with its letters escaped, or in base64."""
    return _RESPELLED.search(data) is not None or holds_base64_text(data)


def holds_base64_text(data: bytes) -> bool:
    """Return whether this data may hold text in base64."""
    long_words = _MANY_LETTERS in data.translate(_LETTERS)
    return long_words and _BASE64_TEXT.search(data) is not None


def formats(raw: bytes, span: Span) -> Iterator[Found]:
    """Yield the secrets in one part of a text that their format gives away. They may overlap."""
    for kind, pattern in _PATTERNS:
        for match in pattern.finditer(raw, *span):
            name = match["name"].decode() if "name" in pattern.groupindex else ""
            if kind != "basic" or _is_basic(match["secret"]):
                yield Span(*match.span("secret")), kind_of_name(name) or kind


def evident_formats(raw: bytes, span: Span) -> Iterator[Found]:
    """Yield the secrets in a text that tells how secrets look: those whose format no example has,
    random letters behind a prefix. A header, a URL or a query is an example there.
    """
    for found, kind in formats(raw, span):
        value = raw[found.start : found.end]
        if kind not in _EVIDENT or len({*value}) < _MIN_DIFFERENT:
            continue
        parts = value.split(b".")  # of a JWT; that of jwt.io is of John Doe, 12345
        if not any(_EXAMPLE.search(part) for part in (value, *map(_decoded, parts))):
            yield found, kind


def assignments(raw: bytes, kind_of: KindOf = kind_of_name) -> Iterator[Found]:
    """Yield the values that are assigned to names of secrets, in any notation: for logs and
    pages.
    """
    for pattern in (_QUOTED_ASSIGNMENT, _ASSIGNMENT, _ESCAPED_PAIR):
        yield from _behind_names(raw, pattern, kind_of)
    yield from _values(raw, _COLON_PAIR, kind_of)


def as_shown(raw: bytes, find: Callable[[bytes], Iterator[Found]]) -> Iterator[Found]:
    """Yield what is found in a text as a terminal shows it, without the colors that may stand
    before a secret, or between its name and its value; and what is found in the text itself.
    """
    shown = without_colors(raw)
    if shown is not None:
        for span, kind in find(shown.text):
            # A color that ends there stays.
            last = Span(span.end - 1, span.end - 1)
            yield Span(shown.origin(span).start, shown.origin(last).start + 1), kind
    yield from find(raw)


def options(raw: bytes, kind_of: KindOf = kind_of_name) -> Iterator[Found]:
    """Yield the values of options for secrets in a command line that is one text: `sh -c`."""
    return _behind_names(raw, _OPTION, kind_of)


def settings(raw: bytes, kind_of: KindOf = kind_of_name) -> Iterator[Found]:
    """Yield the values that are assigned to names of secrets as settings are: `NAME=value` on a
    line of its own, `"name": "value"`, a header; elsewhere those that look like a secret. For the
    texts in messages, which are prose and code too.
    """
    from .path_keys import is_random  # few messages have settings

    for pattern in (_QUOTED_PAIR, _ESCAPED_PAIR, _IN_QUERY):
        yield from _behind_names(raw, pattern, kind_of)
    yield from _values(raw, _LINE, kind_of)
    for pattern, looks_secret in (
        (_OPTION, _CREDENTIAL.fullmatch),
        (_QUOTED_ASSIGNMENT, _CREDENTIAL.fullmatch),
        (_WORD_BEHIND_NAME, is_random),
    ):
        for span, kind in _behind_names(raw, pattern, kind_of):
            if looks_secret(raw[slice(*span)]):
                yield span, kind


def _behind_names(raw: bytes, pattern: re.Pattern[bytes], kind_of: KindOf) -> Iterator[Found]:
    """Yield what an expression finds behind the names of secrets: its last group."""
    for match in pattern.finditer(raw):
        kind = kind_of(_text(match["name"]))
        if kind is not None:
            yield without_scheme(raw, Span(*match.span(match.lastgroup or 0))), kind


def _values(raw: bytes, pattern: re.Pattern[bytes], kind_of: KindOf) -> Iterator[Found]:
    for match in pattern.finditer(raw):
        kind = kind_of(_text(match["name"]))
        if kind is None:
            continue
        bare = match.lastgroup == "bare"
        span = without_scheme(raw, Span(*match.span(match.lastgroup or 0)))
        if bare:
            comment = _COMMENT.search(raw, *span)
            span = span if comment is None else Span(span.start, comment.start())
            # In front of a command, `API_KEY=x server --port 80`, it ends with the word.
            word = _FIRST_WORD.match(raw, *span)
            if word is not None and _CREDENTIAL.fullmatch(word[0]):
                span = Span(*word.span())
        value, sign = raw[span.start : span.end], match["sign"]
        if _CODE.fullmatch(value) or value == match["name"]:
            continue
        environment = sign == b"=" and (match["name"].isupper() or not re.search(rb"\s", value))
        cookie = kind == "cookie" and b"=" in value
        if not bare or environment or cookie or _CREDENTIAL.fullmatch(value):
            yield span, kind


def without_scheme(raw: bytes, span: Span) -> Span:
    """Return the span without the authentication scheme before the credentials."""
    scheme = _SCHEME.match(raw, span.start, span.end)
    return Span(scheme.end(), span.end) if scheme else span


def _is_basic(credentials: bytes) -> bool:
    """Tell a user and a password in base64 (RFC 7617) from the next word of a text."""
    return b":" in (decode_base64(credentials) or b"")


def _decoded(part: bytes) -> bytes:
    return decode_base64(part) or b""


def _text(name: bytes) -> str:
    return name.decode("utf-8", "replace")


def _names_secrets(data: bytes) -> bool:
    """Return whether the name of a secret stands before a sign and a text."""
    backwards = bytearray(data)
    backwards.reverse()
    names = _COLON_AND_NAME.findall(backwards) + _EQUALS_AND_NAME.findall(backwards)
    return any(map(_names_a_secret, {*names}))


@lru_cache(maxsize=4096)
def _names_a_secret(backwards: bytes) -> bool:
    """Return whether the name of a secret ends here, backwards: all that stands in its quotes, or
    on its line, and the escape in front of it.
    """
    before = backwards[:_MAX_NAME_BYTES]
    name = _text(before.removesuffix(b"\\")[::-1])
    if _is_of_secret(name):
        return True
    # The escape of a line break before a name (`\nAPI_KEY=`) ends in a letter; that of another
    # letter may be inside of it.
    return before.endswith(b"\\") and (name.startswith("u") or _is_of_secret(name[1:]))


def _is_of_secret(name: str) -> bool:
    """Return whether this is the name of a secret, or ends in one behind a sign."""
    last = re.split("[:=]", name)[-1]
    return kind_of_name(name) is not None or kind_of_name(last) is not None
