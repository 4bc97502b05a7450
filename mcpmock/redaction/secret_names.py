"""Which names are names of secrets: a table of words.

The last *words* of a name decide (`githubToken`, `X-Api-Key`), never a part of a word: `maxTokens`
and `token_count` are not secrets. `text_redactor` applies it to JSON, `redactor` to command lines,
`secret_formats` to text, `headers` to HTTP.
"""

from __future__ import annotations

from functools import lru_cache

from mcpmock.lazy_pattern import lazy_pattern
from mcpmock.protocol.contents import SECRET_MARK

SECRET_ENDINGS = frozenset({
    ("password",), ("passwd",), ("pwd",), ("passphrase",), ("passcode",), ("secret",), ("secrets",),
    ("token",), ("bearer",), ("jwt",), ("otp",), ("apikey",), ("api", "key"), ("access", "key"),
    ("secret", "key"), ("private", "key"), ("signing", "key"), ("encryption", "key"),
    ("auth", "key"), ("account", "key"), ("shared", "key"), ("credential",), ("credentials",),
    ("authorization",), ("cookie",), ("connection", "string"), ("client", "assertion"),
    ("code", "verifier"), ("subscription", "key"), ("service", "key"), ("role", "key"),
    ("master", "key"), ("ssh", "key"), ("x", "auth"), ("pass",), ("creds",), ("passwords",),
    ("apikeys",), ("api", "keys"),
})  # fmt: skip
# A token is a credential unless the word before it names something that gives no access: a place in
# a sequence, a call, or a unit of design or of text. The first is MCP's own (basic/utilities/
# progress), the places are paging in the APIs of Google, AWS, Azure and OData.
_NO_CREDENTIALS = frozenset({
    # calls
    "progress", "cancel", "cancellation", "abort", "idempotency",
    # places in a sequence
    "page", "paging", "pagination", "next", "previous", "prev", "first", "last", "start", "end",
    "continuation", "continue", "cursor", "sync", "delta", "skip", "resume", "resumption", "offset",
    "position", "marker", "scroll", "change",
    # units of design
    "design", "color", "colour", "spacing", "typography", "font", "radius", "shadow", "theme",
    "style", "css",
    # units of text
    "text", "word", "stop", "mask", "pad", "padding", "eos", "bos", "eot", "unk", "sep", "cls",
    "special", "input", "output", "prompt", "completion", "lexer", "parser", "syntax", "separator",
})  # fmt: skip
_NO_ACCESS = {
    "token": _NO_CREDENTIALS,
    "pass": _NO_CREDENTIALS | {
        # tickets
        "boarding", "season", "day", "daily", "week", "weekly", "month", "monthly", "annual",
        "year", "yearly", "ski", "lift", "bus", "train", "rail", "transit", "museum", "event",
        # runs over something, and filters
        "second", "third", "single", "multi", "forward", "backward", "render", "low", "high",
        "band",
    },
}  # fmt: skip
"""The words before a last word that make it no secret: every other pass is a password."""
_RUN_TOGETHER = (
    *("password", "passwd", "passphrase", "apikey", "accesskey", "secretkey", "privatekey"),
    *("accesstoken", "authtoken", "refreshtoken", "sessiontoken", "clientsecret"),
)
"""What a word may end in that is written as one: `PGPASSWORD`, `authtoken`."""
_DIGITS = frozenset("0123456789")
SESSION_ID = "session-id"
"""The kind of a session id, which only headers and queries name."""


class OwnKind(str):
    """The kind of a value that only a rule of the user takes for secret: it stays where the
    protocol needs it.
    """

    __slots__ = ()


_WORDS = lazy_pattern(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def words_of(name: str) -> tuple[str, ...]:
    """Return the words of a name in lower case, whether joined by case or by punctuation."""
    return tuple(word.lower() for word in _WORDS.findall(name))


@lru_cache(maxsize=4096)
def kind_of_name(name: str) -> str | None:
    """Return the kind of secret that a name stands for (`githubToken`: `token`), None if it is
    none.
    """
    words = words_of(name)
    if words[:1] == ("no",):  # `--no-password`, an option without a value
        return None
    if words and words[-1] in _DIGITS and SECRET_MARK not in name:  # `API_KEY_2`
        words = words[:-1]
    if len(words) > 1 and words[-2] in _NO_ACCESS.get(words[-1], ()):
        return None
    for size in (2, 1):
        ending = words[-size:]
        if ending in SECRET_ENDINGS:
            return "-".join(ending)
    last = words[-1] if words else ""
    return next((ending for ending in _RUN_TOGETHER if last.endswith(ending)), None)
