"""HTTP heads: whom an authority means, what of a head is forwarded, and which heads are refused.

Nothing is normalised on its way: case, order and repetitions of fields stay. Who may come in is
decided by `access_policy`, which shares this reading of authorities. `channels/` stands above.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Collection
from functools import lru_cache
from urllib.parse import urljoin

from msgspec import Struct

from mcpmock.errors import McpMockError
from mcpmock.lazy_pattern import lazy_pattern
from mcpmock.protocol.messages import HttpRequest
from mcpmock.protocol.transport_facts import REMEMBERED_HEADS, Headers

MAX_FIELDS = 100
DEFAULT_PORTS = {"http": 80, "https": 443}
_HOP_BY_HOP = frozenset(
    (
        "connection",
        "keep-alive",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    )
)
_MAPPED = frozenset(("host", "origin", "accept-encoding", "expect"))
# What no `Connection: host` may take away: without these the message is another one.
_ALWAYS_END_TO_END = frozenset(("host", "content-length", "content-type", "content-encoding"))

_AUTHORITY = lazy_pattern(r"(\[[0-9A-Fa-f:.]+\]|[0-9A-Za-z._~-]+)(?::([0-9]{1,5}))?")
_ORIGIN = lazy_pattern(r"(https?)://([^/?#@\\\s]+)", re.IGNORECASE)
_ABSOLUTE = lazy_pattern(r"(?:[A-Za-z][A-Za-z0-9+.-]*:)?//[^/?#]*")
_LOOPBACK6 = ipaddress.IPv6Address("::1")
_NO_URL = lazy_pattern(r"[^\x21-\x7e]")

_CONTROL = lazy_pattern(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_REQUEST_LINE = lazy_pattern(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+) ([\x21-\x7e]+) HTTP/1\.[01]")
# RFC 9112, 3.2.2: "A server MUST accept the absolute-form in requests", and clients send it to what
# they take for a proxy.
_ABSOLUTE_FORM = lazy_pattern(rb"http://[^/?]+", re.IGNORECASE)
_NAME = lazy_pattern(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_LENGTH = lazy_pattern(r"[0-9]{1,18}")
_ONLY_ONCE = {
    "host": "Host",
    "content-length": "Content-Length",
    "transfer-encoding": "Transfer-Encoding",
}
_MAX_CACHED_LINE_BYTES = 256
"""The longest line of a head that is remembered, in bytes."""


@lru_cache(maxsize=64)
def split_authority(text: str) -> tuple[str, int | None] | None:
    """Return host (small letters, IPv6 in its brackets) and port of an authority; None if it is
    none.
    """
    found = _AUTHORITY.fullmatch(text)
    if found is None:
        return None
    host, port = found.groups()
    if port is not None and int(port) > 65535:
        return None
    return host.lower(), None if port is None else int(port)


def split_origin(text: str) -> tuple[str, str, int] | None:
    """Return scheme, host and port of a web origin; None for every other kind of origin
    (`null`).
    """
    found = _ORIGIN.fullmatch(text)
    authority = None if found is None else split_authority(found[2])
    if found is None or authority is None:
        return None
    scheme = found[1].lower()
    host, port = authority
    return scheme, host, DEFAULT_PORTS[scheme] if port is None else port


@lru_cache(maxsize=64)
def is_loopback(host: str) -> bool:
    """Return whether the host (of `split_authority`) is this machine, whatever any name server
    says.
    """
    if host == "localhost":
        return True
    try:
        if host.startswith("["):
            # Not `is_loopback`: Pythons differ about an IPv4 address inside an IPv6 one.
            return ipaddress.IPv6Address(host[1:-1]) == _LOOPBACK6
        return ipaddress.IPv4Address(host).is_loopback
    except ValueError:
        return False


class Upstream(Struct, frozen=True):
    """The server that a reverse proxy stands before. `target` is the path and query of its MCP
    endpoint; an IPv6 `host` has no brackets.
    """

    scheme: str
    host: str
    port: int
    target: str = "/"

    @classmethod
    def parse(cls, url: str) -> Upstream:
        """Raise McpMockError for a URL that cannot be reached over HTTP."""
        example = "write it like http://127.0.0.1:3000/mcp"
        if "@" in _split_target(url.partition("://")[2] or url)[0]:
            raise McpMockError(  # which does not repeat the URL: it holds a password
                "the URL of the server has a user name or password in it; take it out, and have "
                "the client send it as an Authorization header"
            )
        if _NO_URL.search(url):
            raise McpMockError(f"{url!a}: not a URL; {example}, other characters percent-encoded")
        scheme, _, rest = url.partition("://")
        if scheme.lower() not in DEFAULT_PORTS or not rest:
            raise McpMockError(f"{url}: not an http:// or https:// URL; {example}")
        authority, target = _split_target(rest)
        found = split_authority(authority)
        if found is None or found[1] == 0:
            raise McpMockError(f"{url}: {authority or 'nothing'} is not a host and port; {example}")
        host, port = found
        if host.startswith("[") and not _is_ipv6(host[1:-1]):
            raise McpMockError(f"{url}: {host} is not an IPv6 address; {example}")
        scheme, host = scheme.lower(), host.strip("[]")
        return cls(scheme, host, DEFAULT_PORTS[scheme] if port is None else port, target)

    @property
    def authority(self) -> str:
        """As in a Host field: without the port that the scheme means anyway."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def origin(self) -> str:
        return f"{self.scheme}://{self.authority}"

    @property
    def url(self) -> str:
        return self.origin + self.target


def _is_ipv6(host: str) -> bool:
    try:
        ipaddress.IPv6Address(host)
    except ValueError:
        return False
    return True


def _split_target(rest: str) -> tuple[str, str]:
    """Return the authority, and path and query as a request says them, of what stands behind `://`."""
    rest = rest.partition("#")[0]
    end = next((at for at, letter in enumerate(rest) if letter in "/?"), len(rest))
    target = rest[end:]
    return rest[:end], target if target.startswith("/") else "/" + target


def path_and_query(uri: str, base: str = "/") -> str:
    """Return the target of a request for `uri`: its path and query, whatever host it names. A
    relative one is taken from `base`.
    """
    uri = uri.strip().partition("#")[0]
    if found := _ABSOLUTE.match(uri):
        target = uri[found.end() :]
        return target if target.startswith("/") else "/" + target
    try:
        return uri if uri.startswith("/") else urljoin(base, uri)
    except ValueError:  # not a URI at all; servers say what they like
        return uri


def end_to_end(headers: Headers) -> Headers:
    """Return the fields that are meant for the other end: without those of this connection only,
    and without those that a Connection field names (RFC 9110, 7.6.1).
    """
    names = [name.lower() for name, _ in headers]
    if _HOP_BY_HOP.isdisjoint(names):
        return [*headers]
    values = [field[1] for name, field in zip(names, headers, strict=True) if name == "connection"]
    options = {option.strip().lower() for option in ",".join(values).split(",")}
    dropped = _HOP_BY_HOP | (options - _ALWAYS_END_TO_END)
    return [field for name, field in zip(names, headers, strict=True) if name not in dropped]


def with_defaults(fields: Headers, defaults: Headers) -> Headers:
    """Return the fields, then those of `defaults` that they do not name."""
    names = {name.lower() for name, _ in fields}
    return [*fields, *(field for field in defaults if field[0].lower() not in names)]


@lru_cache(REMEMBERED_HEADS)
def for_upstream(head: HttpRequest, upstream: Upstream, own: tuple[str, ...]) -> HttpRequest:
    """Return the head as it is written to the upstream: fields of the client's connection gone,
    Host and Origin mapped where they mean us, and no compression asked for.

    `own` are our authorities (`127.0.0.1:8080`). A foreign Host or Origin that was let in stays, so
    that the upstream's own check of it still has something to check. Transfer-Encoding is
    gone: who writes the body frames it.
    """
    # speed: 0.2 us for a head that comes again, else 2 (python -m timeit)
    fields: Headers = []
    changed = set()
    for field in end_to_end(head.headers):
        if (name := field[0].lower()) in _MAPPED:
            changed.add(name)
            value = _mapped(name, field[1], upstream, own)
            if value is None:
                continue
            field = field[0], value
        fields.append(field)
    if "host" not in changed:
        fields.insert(0, ("Host", upstream.authority))
    if "accept-encoding" not in changed:
        fields.append(("Accept-Encoding", "identity"))
    return HttpRequest(head.method, head.target, fields)


def _mapped(name: str, value: str, upstream: Upstream, own: Collection[str]) -> str | None:
    """Return the value of a field that is not always sent on as it is; None for one that goes."""
    match name:
        case "host" if _means_us(value, own):
            return upstream.authority
        case "origin" if _is_our_origin(value, own):
            return upstream.origin
        case "accept-encoding":
            return "identity"
        case "expect" if value.strip().lower() == "100-continue":
            return None  # we have told the client to go on
        case _:
            return value


def _means_us(host: str, own: Collection[str]) -> bool:
    found = split_authority(host.strip())
    return found is not None and (is_loopback(found[0]) or found in map(split_authority, own))


def _is_our_origin(origin: str, own: Collection[str]) -> bool:
    """Compare the port too, other than for Host: a page of another port here is foreign."""
    found = split_origin(origin.strip())
    if found is None:
        return False
    ours = {authority for text in own if (authority := split_authority(text))}
    scheme, host, port = found
    if (host, port) in ours or (port == DEFAULT_PORTS[scheme] and (host, None) in ours):
        return True
    return is_loopback(host) and any(port == our_port for _, our_port in ours)


def lint(head: bytes) -> str | None:
    """Return why a request head, given as its bytes with the empty line at its end, is refused;
    None if it is not.

    Everything here is something that two parsers in a row may read in two ways, which is how
    requests are smuggled (RFC 9112, 2.2, 3.2, 5.1, 5.2, 6.3). h11 lets it pass.
    """
    if not head.endswith(b"\r\n\r\n"):
        return "the head does not end in an empty line (CR LF)"
    ends = head.count(b"\r\n")
    if head.count(b"\n") != ends or head.count(b"\r") != ends:
        return "a line of the head ends in a bare LF or CR"
    if _CONTROL.search(head):
        return "a control character in the head"
    request_line, *lines = head[:-4].split(b"\r\n")
    if len(lines) > MAX_FIELDS:
        return f"more than {MAX_FIELDS} header fields"
    return _lint_request_line(request_line) or _lint_fields(lines)


def _lint_request_line(line: bytes) -> str | None:
    found = _REQUEST_LINE.fullmatch(line)
    if found is None:
        return "the first line is not METHOD, target and HTTP/1.1 with single spaces"
    method, target = found.groups()
    is_path = target.startswith(b"/") or (method, target) == (b"OPTIONS", b"*")
    if b"#" in target or not (is_path or _ABSOLUTE_FORM.match(target)):
        return "the request target is not a path"
    return None


def origin_form(method: str, target: str) -> tuple[str, str | None]:
    """Return the target of a request as a path, and the authority that it names in absolute form,
    which counts in the place of the Host field (RFC 9112, 3.2.2).
    """
    if target.startswith("/") or target == "*":
        return target, None
    authority, path = _split_target(target.partition("://")[2])
    if method == "OPTIONS" and target.count("/") == 2 and "?" not in target:
        path = "*"  # RFC 9112, 3.2.4
    return path, authority


def _lint_fields(lines: list[bytes]) -> str | None:
    framing: dict[str, str] = {}
    for line in lines:
        field = field_of(line)
        if field is None:
            if line[:1] in (b" ", b"\t"):
                return "a header field goes on in a second line"
            return "a line that is not a header field, or white space before its colon"
        _, name, value = field
        if name in _ONLY_ONCE:
            if name in framing:
                return f"more than one {_ONLY_ONCE[name]}"
            framing[name] = value
    return _lint_framing(framing)


def _lint_framing(framing: dict[str, str]) -> str | None:
    length, coding = framing.get("content-length"), framing.get("transfer-encoding")
    if length is not None and coding is not None:
        return "Content-Length together with Transfer-Encoding"
    if length is not None and not _LENGTH.fullmatch(length):
        return "a Content-Length that is not a number"
    if coding is not None and coding.lower() != "chunked":
        return "a Transfer-Encoding that is not chunked"
    return None


def field_of(line: bytes) -> tuple[str, str, str] | None:
    """Name, name in small letters and value of a line of a head; None if it is no field. Clients
    send the same ones with every request.
    """
    return (
        _known_field(line)
        if len(line) <= _MAX_CACHED_LINE_BYTES
        else _known_field.__wrapped__(line)
    )


@lru_cache(maxsize=512)
def _known_field(line: bytes) -> tuple[str, str, str] | None:
    name, colon, value = line.partition(b":")
    if not colon or not _NAME.fullmatch(name):
        return None
    text = name.decode("ascii")
    return text, text.lower(), value.decode("latin-1").strip(" \t")
