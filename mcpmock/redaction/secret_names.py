"""Which names are names of secrets: a table of words.

Asks what the *words* of a name end with (`githubToken`, `X-Api-Key`), never for a part of one:
`maxTokens` and `token_count` are no secrets. What the protocol itself calls a token is exempt.
`redact` applies it to JSON, text and command lines, `redact_heads` to HTTP.
"""

from __future__ import annotations

import re
from functools import lru_cache

SECRET_ENDINGS = frozenset({
    ("password",), ("passwd",), ("pwd",), ("passphrase",), ("passcode",), ("secret",), ("secrets",),
    ("token",), ("bearer",), ("jwt",), ("otp",), ("apikey",), ("api", "key"), ("access", "key"),
    ("secret", "key"), ("private", "key"), ("signing", "key"), ("encryption", "key"),
    ("auth", "key"), ("account", "key"), ("shared", "key"), ("credential",), ("credentials",),
    ("authorization",), ("cookie",), ("connection", "string"), ("client", "assertion"),
    ("code", "verifier"), ("subscription", "key"),
})  # fmt: skip
_EXEMPT = frozenset({
    ("progress", "token"), ("page", "token"), ("continuation", "token"), ("sync", "token"),
    ("cancel", "token"), ("cancellation", "token"), ("resume", "token"),
})  # fmt: skip
SESSION_ID = "session-id"
"""The kind of what only HTTP has: the id of a session, in headers and queries."""
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def words_of(name: str) -> tuple[str, ...]:
    """The words of a name in lower case, however they are joined."""
    return tuple(word.lower() for word in _WORDS.findall(name))


@lru_cache(maxsize=4096)
def kind_of_name(name: str) -> str | None:
    """What kind of secret a value of this name is (`githubToken`: `token`), or None for an ordinary
    name.
    """
    words = words_of(name)
    for size in (2, 1):
        ending = words[-size:]
        if ending in _EXEMPT:
            return None
        if len(ending) == size and ending in SECRET_ENDINGS:
            return "-".join(ending)
    return None
