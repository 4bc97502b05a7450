"""The profile of an HTTP request head: the fields that matching compares, as one flat table.

Ports, lengths, user agents, ids and credentials are not compared. If no recorded request has an
equal profile, higher match levels (`at`) ignore first the protocol version, then the fields in
which client libraries differ. `request_key` adds the profile to the subject of a request.
"""

from __future__ import annotations

import ipaddress
import re
from functools import lru_cache
from urllib.parse import parse_qsl, urlsplit

from mcpmock.protocol.messages import HttpRequest
from mcpmock.protocol.mirrored_headers import decode_field, is_mirror
from mcpmock.protocol.transport_facts import (
    LAST_EVENT_ID_HEADER,
    PROTOCOL_VERSION_HEADER,
    REMEMBERED_HEADS,
    SESSION_HEADER,
    plain_path,
)

Fingerprint = dict[str, str]
"""Values by field name in lower case. `method`, `path`, `endpoint`, `trailing-slash` and
`session-parameter` are not fields: they come from the request line. `host` and `origin` hold a
class of the value.
"""
VERSION = PROTOCOL_VERSION_HEADER.lower()
SESSION = SESSION_HEADER.lower()
LAST_EVENT = LAST_EVENT_ID_HEADER.lower()
SESSION_PARAMETER = "session-parameter"
SLASH = "trailing-slash"
_PRESENCE_ONLY = {SESSION, LAST_EVENT, "authorization"}
_FIXED = {"method", "path", "host"}

FIRST_HEADER_LEVEL = 2
"""The first level that ignores a part of the head: the version. The next ignores all other fields
that may differ.
"""


# speed: 0.3 us, worked out anew 5 (python -m timeit)
@lru_cache(REMEMBERED_HEADS)
def fingerprint(head: HttpRequest, *, with_path: bool) -> Fingerprint:
    """Return the profile of a head. `with_path`: the request has no message, so that its path must
    agree at every level.
    """
    # RFC 9112, 3.2: a client sends Host with every request. `drive` records requests before the
    # channel adds it.
    found = {"method": head.method, "host": "own", "origin": "absent"}
    found["path" if with_path else "endpoint"] = plain_path(head.path)
    if head.path.endswith("/"):  # servers redirect from `/mcp` to `/mcp/`
        found[SLASH] = "present"
    if session_parameter(head) is not None:
        found[SESSION_PARAMETER] = "present"
    for field, value in head.headers:
        name = field.lower()
        compared = _compared_value(name, value.strip())
        if compared is not None:
            found[name] = compared
    return found


def _compared_value(name: str, value: str) -> str | None:
    """Return the part of a field that is compared; None for a field that is ignored."""
    if name == VERSION:
        return value
    if name in _PRESENCE_ONLY:
        return "present"
    match name:
        case "host":
            return _host_class(f"//{value}")
        case "origin":
            return _host_class(value)
        case "content-type":
            return value.partition(";")[0].strip().lower()
        case "accept":
            return ", ".join(sorted(media.strip().lower() for media in value.split(",")))
        case _:
            return decode_field(value) if is_mirror(name) else None


def at(found: Fingerprint, level: int) -> Fingerprint:
    """Return the part of a profile that is compared at this level."""
    if level < FIRST_HEADER_LEVEL:
        return found
    if level == FIRST_HEADER_LEVEL:
        return {name: value for name, value in found.items() if name != VERSION}
    return {name: value for name, value in found.items() if _is_fixed(name, found)}


def _is_fixed(name: str, found: Fingerprint) -> bool:
    """Return whether every level compares this field."""
    # Many servers validate Host against DNS rebinding: a request that differs there is a different
    # request at every level. Origin, which every server validates (Streamable HTTP, "Security
    # Warning"), differs between a browser and every other client: its refusals are remembered.
    return name in _FIXED or (name == "content-type" and found["method"] == "POST")


def session_parameter(head: HttpRequest) -> str | None:
    """Return the session id in the query; None without one."""
    parameters = parse_qsl(head.target.partition("?")[2], keep_blank_values=True)
    return next((value for name, value in parameters if is_session_parameter(name)), None)


def is_session_parameter(name: str) -> bool:
    """Return whether a query parameter of this name holds a session id (HTTP+SSE)."""
    return re.sub(r"[^a-z]", "", name.lower()) in ("sessionid", "session", "sid")


@lru_cache(maxsize=1024)
def _host_class(url: str) -> str:
    """`own` for a loopback authority, whatever its port, else `foreign`."""
    try:
        host = urlsplit(url).hostname or ""
        loopback = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return "foreign"
    return "own" if loopback else "foreign"
