"""Rules of modern HTTP heads: the headers that mirror the body, and the statuses of errors."""

from __future__ import annotations

from collections.abc import Iterator

from mcpmock.protocol.error_codes import DEFINED_MODERN, INVALID_PARAMS, METHOD_NOT_FOUND
from mcpmock.protocol.messages import Request, decode, member
from mcpmock.protocol.methods import LATEST, NAMES
from mcpmock.protocol.revisions import VERSION_PATH
from mcpmock.protocol.transport_facts import METHOD_HEADER, NAME_HEADER, PROTOCOL_VERSION_HEADER
from mcpmock.redaction.headers import unwrapped

from .context import CheckedMessage, State, as_object, short
from .exchange import CheckedExchange
from .modern import VERSION
from .rule import Breach, Rule, must

_PAGE = "basic/transports/streamable-http"
_PLACEHOLDER = "mcpmock:secret:"
_BAD_REQUEST, _NOT_FOUND = 400, 404
_REQUIRED = "These headers are REQUIRED for compliance."
_MATCH = (
    "Validation failure conditions include: A header value does not match the corresponding "
    "request body value."
)


def _must(name: str, sentence: str, section: str = _PAGE) -> Rule:
    return must(name, section, sentence, since=LATEST)


RULES = (
    _must(
        "header-version",
        "Every POST request to the MCP endpoint MUST include an MCP-Protocol-Version header.",
    ),
    _must(
        "header-version-match",
        "The header value MUST match the io.modelcontextprotocol/protocolVersion field carried in "
        "the request body's _meta.",
    ),
    _must("header-method", _REQUIRED),
    _must("header-method-match", _MATCH),
    _must("header-name", _REQUIRED),
    _must("header-name-match", _MATCH),
    _must(
        "header-accepted",
        "Servers that process the request body MUST reject requests where the values specified in "
        "the headers do not match the corresponding values in the request body.",
    ),
    _must(
        "status-not-found",
        "If the server does not implement the requested RPC method, it MUST respond with 404 Not "
        "Found and a JSON-RPC error with code -32601 (Method not found).",
    ),
    _must(
        "status-bad-request",
        "When rejecting a request due to header validation failure, servers MUST return HTTP "
        "status 400 Bad Request",
    ),
    _must(
        "status-meta",
        "A request missing any required field is malformed; the server MUST reject it with "
        "JSON-RPC error code -32602 (Invalid params). On HTTP, the response status MUST be 400 Bad "
        "Request.",
        "basic/index",
    ),
)


def check_mirrored_headers(exchange: CheckedExchange) -> Iterator[Breach]:
    """Yield the breaches in the headers of a POST that mirror its body."""
    if exchange.revision != LATEST or len(exchange.requests) != 1:
        return
    [request] = exchange.requests
    meta = as_object(decode(member(request.params, "_meta") or b"{}"))
    yield from _check_mirrored_header(
        exchange, "header-version", PROTOCOL_VERSION_HEADER, meta.get(VERSION)
    )
    yield from _check_mirrored_header(exchange, "header-method", METHOD_HEADER, request.method)
    source = NAMES.get(request.method)
    if source is not None:
        value = decode(member(request.params, source) or b"null")
        yield from _check_mirrored_header(exchange, "header-name", NAME_HEADER, value)


def _check_mirrored_header(
    exchange: CheckedExchange, rule: str, field: str, value: object
) -> Iterator[Breach]:
    received = exchange.request_header(field)
    if received is None:
        yield Breach(rule, f"no {field} in the head")
        return
    plain = unwrapped(received.encode("utf-8", "replace")).decode("utf-8", "replace")
    redacted = _PLACEHOLDER in plain or _PLACEHOLDER in str(value)
    if isinstance(value, str) and plain != value and not redacted:
        text = f"{field} is {short(plain)}, the body has {short(value)}"
        yield Breach(f"{rule}-match", text)


def check_response(checked: CheckedMessage, state: State) -> Iterator[Breach]:
    """Yield the breaches in the HTTP status of a response."""
    exchange, call = checked.exchange, checked.attribution.call
    if exchange is None or not checked.modern or not state.server.modern or call is None:
        return
    yield from _check_status(checked, exchange, call.request)


def _check_status(
    checked: CheckedMessage, exchange: CheckedExchange, request: Request
) -> Iterator[Breach]:
    status, code = exchange.status, checked.code
    text = f"the error {code} with the status {status}"
    if checked.result is not None:
        if status < 300 and any(
            breach.rule.endswith("-match") for breach in check_mirrored_headers(exchange)
        ):
            yield Breach("header-accepted", f"a result of {request.method}, head and body differ")
    elif code == METHOD_NOT_FOUND and status != _NOT_FOUND:
        yield Breach("status-not-found", text)
    elif code in DEFINED_MODERN and status != _BAD_REQUEST:
        yield Breach("status-bad-request", text)
    elif code == INVALID_PARAMS and status != _BAD_REQUEST and not _has_meta(request):
        yield Breach("status-meta", text)


def _has_meta(request: Request) -> bool:
    return member(request.params, *VERSION_PATH) is not None
