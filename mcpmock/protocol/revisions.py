"""Which era a message is of: those of sessions, or the one without (2026-07-28 and later), whose
messages say so themselves.

`methods` is the table of what each revision has; the transports' rules and the reading of
recordings stand above.
"""

from __future__ import annotations

import re
from typing import Any

from .messages import Message, Notification, Request, decode, member
from .methods import LAST_LEGACY

VERSION_PATH = ("_meta", "io.modelcontextprotocol/protocolVersion")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")


def initialized_version(member_of: bytes | None) -> str | None:
    """The revision in the params of `initialize`, or in its result."""
    raw = member(member_of, "protocolVersion")
    version = None if raw is None else decode(raw)
    return version if isinstance(version, str) else None


def is_modern(version: Any) -> bool:
    """Whether this is a revision without sessions: 2026-07-28 or later."""
    return isinstance(version, str) and bool(_DATE.fullmatch(version)) and version > LAST_LEGACY


def version_of(message: Message) -> str | None:
    """The revision that the message itself names, as those of the modern era do."""
    if not isinstance(message, Request | Notification):
        return None
    raw = member(message.params, *VERSION_PATH)
    version = None if raw is None else decode(raw)
    return version if isinstance(version, str) else None


def speaks_modern(message: Message) -> bool:
    """Whether the message is of the modern era, by what it says itself."""
    probe = isinstance(message, Request) and message.method == "server/discover"
    return probe or is_modern(version_of(message))
