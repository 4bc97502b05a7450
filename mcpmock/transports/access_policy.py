"""Who may come in over HTTP: the checks that every request passes before anything else looks at it.

A page of any web site can make its visitor's browser send requests to this machine. What it cannot
choose is Host and Origin, and requests with foreign ones are refused (DNS rebinding; MCP,
"Transports", security warning). Nothing here is forwarded, kept or answered: `channels/` stands
above, asks, writes the refusal and closes the connection.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Sequence

import attrs

from mcpmock.protocol.messages import HttpRequest
from mcpmock.protocol.transport_facts import Headers

from .headers import is_loopback, split_authority, split_origin

TOKEN_FIELD = "Mcpmock-Token"
"""Where our token can stand too: servers behind us may want an Authorization of their own."""
# What a page may send anywhere without a preflight (Fetch, "CORS-safelisted request-header").
_SENT_WITHOUT_ASKING = frozenset(
    ("", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data")
)


@attrs.frozen
class HttpRefusal:
    """What a request that may not come in is answered with. `text` is the whole body."""

    status: int
    reason: str
    text: str
    headers: Headers


def _lowered(names: Iterable[str]) -> frozenset[str]:
    return frozenset(name.strip().rstrip("/").lower() for name in names)


@attrs.frozen
class AccessPolicy:
    """`port` is ours. `hosts` may be named besides the loopback ones, with a port or, then with
    any, without; `origins` are let in besides those of this machine. A `token` is needed by every
    request, where there is one.
    """

    port: int
    hosts: frozenset[str] = attrs.field(default=frozenset(), converter=_lowered)
    origins: frozenset[str] = attrs.field(default=frozenset(), converter=_lowered)
    token: str | None = attrs.field(default=None, repr=False)

    def refusal(self, head: HttpRequest, *, mcp: bool) -> HttpRefusal | None:
        """Return why this request, to an MCP path or not, may not come in; None if it may."""
        return (
            self._host(head.values("host"))
            or self._origin(head.values("origin"))
            or self._authorization(head)
            or (_content_type(head.values("content-type")) if mcp and _is_post(head) else None)
        )

    def page_origin(self, head: HttpRequest) -> str | None:
        """Return the origin of the page that sent the request, if its Host and Origin may come
        in.
        """
        origin = head.header("origin")
        if origin is None or self._host(head.values("host")):
            return None
        return None if self._origin(head.values("origin")) else origin

    def admitted(self, head: HttpRequest) -> HttpRequest:
        """Return what goes on of a request that may come in: our token is for us alone (MCP,
        "Security Best Practices", token passthrough).
        """
        if self.token is None:
            return head
        others = [field for field in head.headers if not self._is_ours(*field)]
        return HttpRequest(head.method, head.target, others)

    def _host(self, hosts: Sequence[str]) -> HttpRefusal | None:
        if len(hosts) != 1:
            return _refuse(
                421,
                "Misdirected Request",
                f"{len(hosts) or 'no'} Host fields",
                "send exactly one",
            )
        found = split_authority(hosts[0])
        if found is not None:
            name, port = found
            if is_loopback(name) and (80 if port is None else port) == self.port:
                return None
            if name in self.hosts or f"{name}:{80 if port is None else port}" in self.hosts:
                return None
        way_out = f"use localhost:{self.port}, or start mcpmock with --allow-host NAME"
        shown = f"this is not the host {_shown(hosts[0])}"
        return _refuse(421, "Misdirected Request", shown, way_out)

    def _origin(self, origins: Sequence[str]) -> HttpRefusal | None:
        if not origins:
            return None
        if len(origins) == 1:
            found = split_origin(origins[0])
            if origins[0].lower() in self.origins:
                return None
            if found and (is_loopback(found[1]) or found in map(split_origin, self.origins)):
                return None
        shown = f"pages of {_shown(', '.join(origins))} may not send requests here"
        return _refuse(403, "Forbidden", shown, "start mcpmock with --allow-origin ORIGIN")

    def _authorization(self, head: HttpRequest) -> HttpRefusal | None:
        if self.token is None or any(self._is_ours(*field) for field in head.headers):
            return None
        way_out = f"send Authorization: Bearer TOKEN, or {TOKEN_FIELD}: TOKEN, with the one printed"
        asks = ("WWW-Authenticate", 'Bearer realm="mcpmock"')
        return _refuse(401, "Unauthorized", "no token, or a wrong one", way_out, asks)

    def _is_ours(self, name: str, value: str) -> bool:
        """Return whether a field carries our token."""
        name, value = name.lower(), value.strip()
        if name == "authorization":
            scheme, _, value = value.partition(" ")
            if scheme.lower() != "bearer":
                return False
        elif name != TOKEN_FIELD.lower():
            return False
        # The comparison takes as long for a token that is nearly right as for any other.
        return hmac.compare_digest(_bytes(value), _bytes(self.token or ""))


def _content_type(types: Sequence[str]) -> HttpRefusal | None:
    media_types = [value.partition(";")[0].strip().lower() for value in types or [""]]
    if not _SENT_WITHOUT_ASKING.intersection(media_types):
        return None
    shown = f"the content type is {_shown(types[0])}" if types else "no content type"
    way_out = "send Content-Type: application/json"
    return _refuse(415, "Unsupported Media Type", shown, way_out)


def _is_post(head: HttpRequest) -> bool:
    return head.method.upper() == "POST"


def _bytes(token: str) -> bytes:
    return token.strip().encode("utf-8", "surrogateescape")


def _shown(value: str) -> str:
    """Return what strangers sent, fit to be read by people."""
    return ascii(value if len(value) <= 100 else value[:100] + "...")


def _refuse(
    status: int, reason: str, why: str, way_out: str, *headers: tuple[str, str]
) -> HttpRefusal:
    text = f"mcpmock: {why}; {way_out}\n"
    return HttpRefusal(status, reason, text, [("Content-Type", "text/plain"), *headers])
