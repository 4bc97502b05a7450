"""What of an HTTP request head makes two requests the same, as one flat table of texts.

Ports, lengths, user agents, ids and credentials do not count. What counts is given up in steps when
nothing is the same (`at`): first the protocol version, then the fields in which client libraries
differ. `request_key` puts the table beside the message of the request; `matcher` compares tables.
"""

from __future__ import annotations

import ipaddress
import re
from functools import lru_cache
from urllib.parse import parse_qsl, urlsplit

from mcpmock.protocol.messages import HttpRequest
from mcpmock.protocol.transport_facts import (
    LAST_EVENT_ID_HEADER,
    METHOD_HEADER,
    NAME_HEADER,
    PROTOCOL_VERSION_HEADER,
    SESSION_HEADER,
)
from mcpmock.redaction.headers import unwrapped

Fingerprint = dict[str, str]
"""Field names in lower case and their values; a field that is not there is absent. `method`,
`path`, `endpoint`, `session-parameter`, `host` and `origin` are no fields but what is known of the
request itself.
"""
VERSION = PROTOCOL_VERSION_HEADER.lower()
SESSION = SESSION_HEADER.lower()
LAST_EVENT = LAST_EVENT_ID_HEADER.lower()
SESSION_PARAMETER = "session-parameter"
_MIRROR_PREFIX = "mcp-param-"
_MIRRORS = {METHOD_HEADER.lower(), NAME_HEADER.lower()}
_FIXED = {"method", "path", "host", "origin"}

FIRST_HEADER_LEVEL = 2
"""The first level that forgives anything of a head: the version. The next forgives all that can
be.
"""


def fingerprint(head: HttpRequest, *, with_path: bool) -> Fingerprint:
    """The table of a head. Where the body is no message that says what is asked, the path alone
    does; else it says at which of a server's places it is asked.
    """
    found = {"method": head.method, "host": "absent", "origin": "absent"}
    found["path" if with_path else "endpoint"] = head.path.rstrip("/")
    if session_parameter(head) is not None:
        found[SESSION_PARAMETER] = "present"
    for field, value in head.headers:
        name = field.lower()
        what = _what_counts(name, value.strip())
        if what is not None:
            found[name] = what
    return found


def _what_counts(name: str, value: str) -> str | None:
    """What counts of a field; None for one that does not count at all."""
    match name:
        case "mcp-protocol-version":
            return value
        case "mcp-session-id" | "last-event-id" | "authorization":
            return "present"
        case "host":
            return _class_of(f"//{value}")
        case "origin":
            return _class_of(value)
        case "content-type":
            return value.partition(";")[0].strip().lower()
        case "accept":
            return ", ".join(sorted(media.strip().lower() for media in value.split(",")))
        case _:
            return _plain(value) if is_mirror(name) else None


def at(found: Fingerprint, level: int) -> Fingerprint:
    """What counts of a table at this level."""
    if level < FIRST_HEADER_LEVEL:
        return found
    if level == FIRST_HEADER_LEVEL:
        return {name: value for name, value in found.items() if name != VERSION}
    return {name: value for name, value in found.items() if is_fixed(name, found)}


def is_fixed(name: str, found: Fingerprint) -> bool:
    """Whether every level compares this field."""
    # Host and Origin protect a server from DNS rebinding, and a POST's content type from plain web
    # forms: a request that differs there is a different request at every level.
    return name in _FIXED or (name == "content-type" and found["method"] == "POST")


def is_mirror(name: str) -> bool:
    """Whether the value repeats what the body says (revision 2026-07-28): of two requests that ask
    the same it differs only if one of them is wrong.
    """
    return name in _MIRRORS or name.startswith(_MIRROR_PREFIX)


def session_parameter(head: HttpRequest) -> str | None:
    """Which session the query says is meant, if it says so."""
    parameters = parse_qsl(head.target.partition("?")[2], keep_blank_values=True)
    return next((value for name, value in parameters if is_session_parameter(name)), None)


def is_session_parameter(name: str) -> bool:
    """Whether a query parameter of this name says which session is meant (HTTP+SSE)."""
    return re.sub(r"[^a-z]", "", name.lower()) in ("sessionid", "session", "sid")


def _plain(value: str) -> str:
    """As the body has it: what is not ASCII comes wrapped in base64, and a secret was noted
    without.
    """
    raw = value.encode("utf-8", "surrogateescape")
    return unwrapped(raw).decode("utf-8", "surrogateescape")


@lru_cache(maxsize=1024)
def _class_of(url: str) -> str:
    """`own` for a loopback authority, whatever its port, else `foreign`."""
    try:
        host = urlsplit(url).hostname or ""
        loopback = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return "foreign"
    return "own" if loopback else "foreign"
