"""Where a `Location` leads: to the server that is asked, or past it.

`OwnLocations` stands between clients and a server whose exchanges pass unchanged, or a recording of
it: what names the server names us instead, or clients that follow it would leave. `redirect_target`
is for requests of our own, which `channels/` follows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence

from mcpmock.lazy_pattern import lazy_pattern
from mcpmock.pipeline.stage import PASS, Action, Send, Stage
from mcpmock.protocol.messages import C2S, Frame
from mcpmock.protocol.transport_facts import ExchangeEnd, Headers, HttpRequest, HttpResponse

from .headers import (
    DEFAULT_PORTS,
    Upstream,
    is_loopback,
    path_and_query,
    split_authority,
)

MAX_REDIRECTS = 10
"""How many redirects of one request are followed."""
_FIELDS = frozenset(("location", "content-location"))
_PARTS = lazy_pattern(r"(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?://([^/?#]*))?(.*)", re.DOTALL)
_ANY_ADDRESS = ("0.0.0.0", "[::]")

Origin = tuple[str, str, int]
"""Scheme, host and port. All names of this machine are one host."""


def origin_of(scheme: str, authority: str) -> Origin | None:
    """Return the origin of a URL; None if it has no valid authority."""
    found = split_authority(authority)
    if found is None or scheme not in DEFAULT_PORTS:
        return None
    host, port = found
    host = host.rstrip(".")
    # Servers that listen on all addresses name themselves so.
    here = is_loopback(host) or host in _ANY_ADDRESS
    return scheme, "localhost" if here else host, DEFAULT_PORTS[scheme] if port is None else port


def upstream_origin(upstream: Upstream) -> Origin:
    """Return the origin of a server."""
    origin = origin_of(upstream.scheme, upstream.authority)
    assert origin is not None  # it was parsed
    return origin


def redirect_target(head: HttpResponse, upstream: Upstream, target: str) -> str | None:
    """Return the path and query that a response to a request for `target` sends us to, on the same
    server; None if it is no redirect that may be followed.
    """
    location = head.header("location")
    if not head.repeats_request or not location:
        return None
    scheme, authority, _ = _split(location)
    if scheme or authority is not None:
        origin = origin_of(scheme or upstream.scheme, authority or "")
        if origin != upstream_origin(upstream):
            return None
    return path_and_query(location, target)


def leads_here(head: HttpResponse, request: HttpRequest) -> str | None:
    """Return the path of our own that a redirect of this request leads to; None if it leads past
    us, or is none that repeats the request.
    """
    host = split_authority(request.header("host") or "") if head.repeats_request else None
    if host is None:
        return None
    ours = Upstream("http", host[0].strip("[]"), host[1] or DEFAULT_PORTS["http"])
    target = redirect_target(head, ours, request.target)
    return None if target is None else target.partition("?")[0]


class OwnLocations(Stage):
    """Puts the Host of a request into what names the server in the head of its response (RFC 9110,
    10.2.2). `served` are the origins of the server; `say` takes a line for each other place that a
    client is sent to.
    """

    def __init__(self, served: Collection[Origin], say: Callable[[str], None]) -> None:
        self._served = frozenset(served)
        self._say = say
        self._asked: dict[int, HttpRequest] = {}

    def feed(self, seen: Sequence[Frame], now: float) -> Iterable[Action]:  # noqa: ARG002
        changed: list[Frame] | None = None
        for place, frame in enumerate(seen):
            fact, x = frame.fact, frame.exchange
            if fact is None or x is None:
                continue
            if type(fact) is HttpRequest:
                self._asked[x] = fact
            elif type(fact) is ExchangeEnd:
                self._asked.pop(x, None)
            elif type(fact) is HttpResponse and frame.direction is not C2S:
                headers = self._mapped(fact, self._asked.get(x))
                if headers is not None:
                    changed = [*seen] if changed is None else changed
                    head = HttpResponse(fact.status, fact.reason, headers)
                    changed[place] = Frame(frame.direction, fact=head, exchange=x)
        return PASS if changed is None else (Send(changed),)

    def _mapped(self, head: HttpResponse, asked: HttpRequest | None) -> Headers | None:
        """Return the fields for a client that asked so; None if they stay as they are."""
        if not any(map(head.values, _FIELDS)):
            return None
        host = (asked and asked.header("host")) or ""
        mapped = [
            (name, self._own(name, value, host) if name.lower() in _FIELDS else value)
            for name, value in head.headers
        ]
        return mapped if mapped != head.headers else None

    def _own(self, name: str, value: str, host: str) -> str:
        scheme, authority, rest = _split(value)
        if not scheme and authority is None:
            return value
        names = {origin_of(one, authority or "") for one in ([scheme] if scheme else DEFAULT_PORTS)}
        if host and self._served & names:
            return f"{'http:' if scheme else ''}//{host}{rest}"
        if origin_of("http", host) not in names:
            where = f"{scheme}:" * bool(scheme) + f"//{(authority or '').rpartition('@')[2]}"
            leaves = "another server; clients that go there leave mcpmock"
            self._say(f"{name.title()}: {where}: {leaves}")
        return value


def _split(uri: str) -> tuple[str, str | None, str]:
    """Return scheme in small letters, authority (None without) and the rest of a URI reference."""
    found = _PARTS.fullmatch(uri.strip())
    assert found is not None  # it takes every text
    scheme, authority, rest = found.groups()
    return (scheme or "").lower(), authority, rest
