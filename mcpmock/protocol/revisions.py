"""The era of a message: legacy, with sessions (until 2025-11-25), or modern, without (since
2026-07-28).
"""

from __future__ import annotations

from typing import Any

from mcpmock.lazy_pattern import lazy_pattern

from .messages import Message, Notification, Request, decode, member
from .methods import LAST_LEGACY, REVISIONS

VERSION_PATH = ("_meta", "io.modelcontextprotocol/protocolVersion")
PRIMING_REVISION = "2025-11-25"
"""The only revision whose event streams begin with an event that has an id and nothing else."""
_DATE = lazy_pattern(r"\d{4}-\d\d-\d\d")


def initialized_version(params_or_result: bytes | None) -> str | None:
    """Return the revision in the params of `initialize`, or in its result."""
    raw = member(params_or_result, "protocolVersion")
    version = None if raw is None else decode(raw)
    return version if isinstance(version, str) else None


def agreed_version(asked: str | None, recorded: str | None, answered: str) -> str:
    """Return the revision in which a server answers an `initialize` that asks for `asked`, if it
    answered `answered` where `recorded` was asked for.
    """
    # 2025-11-25, basic/lifecycle: "If the server supports the requested protocol version, it MUST
    # respond with the same version." The SDKs support all of them. Otherwise "it MUST respond with
    # another protocol version it supports", so it does not know those on that side.
    if asked not in REVISIONS or is_modern(asked) or asked == recorded:
        return answered
    if recorded is not None and (asked > answered < recorded or asked < recorded < answered):
        return answered
    return asked


def is_modern(version: Any) -> bool:
    """Return whether a revision is 2026-07-28 or later."""
    return isinstance(version, str) and version > LAST_LEGACY and bool(_DATE.fullmatch(version))


def version_of(message: Message) -> str | None:
    """Return the revision that the message itself names. Since 2026-07-28 every request does."""
    if not isinstance(message, (Request, Notification)):
        return None
    raw = member(message.params, *VERSION_PATH)
    version = None if raw is None else decode(raw)
    return version if isinstance(version, str) else None


def speaks_modern(message: Message) -> bool:
    """Return whether the message shows that it is of the modern era."""
    is_probe = isinstance(message, Request) and message.method == "server/discover"
    return is_probe or is_modern(version_of(message))
