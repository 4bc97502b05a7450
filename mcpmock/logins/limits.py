"""What a login takes of the words of others: scopes of the characters that scopes have, endpoints
that only the user can read, texts of a bounded length.
"""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from mcpmock.channels.http.addresses import is_loopback
from mcpmock.errors import McpMockError

MAX_TEXT_CHARACTERS = 200
"""The most that is shown of a text of a server."""
MAX_SCOPES_CHARACTERS = 2000
"""The most that is asked for, kept and shown of a server's scopes."""
MAX_URL_CHARACTERS = 2000
_SCOPE = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]+")  # RFC 6749, 3.3


def split_scopes(text: str) -> list[str]:
    """Return the scopes in a list of a server. What cannot be one is left out, and what is too
    much.
    """
    scopes = [word for word in text.split(" ") if _SCOPE.fullmatch(word)]
    left = MAX_SCOPES_CHARACTERS
    kept = []
    for scope in dict.fromkeys(scopes):
        left -= len(scope) + 1
        if left < 0:
            break
        kept.append(scope)
    return kept


def shorten(text: str) -> str:
    """Return the beginning of what a server says."""
    return text if len(text) <= MAX_TEXT_CHARACTERS else text[: MAX_TEXT_CHARACTERS - 1] + "…"


def check_endpoint(url: str, what: str) -> None:
    """Check where a token, code or password of a person goes. Raises McpMockError if others could
    read it on its way, or if it is no URL.
    """
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        host = ""
    if not host or len(url) > MAX_URL_CHARACTERS or parts.scheme not in ("http", "https"):
        raise McpMockError(f"{what} is not a URL that a login can use: {shorten(url)}")
    if parts.scheme == "http" and not is_loopback(host):
        raise McpMockError(
            f"{what} is not encrypted, so that others could read the login: {shorten(url)}; "
            "use one with https://, or a tunnel to a port of this machine"
        )
