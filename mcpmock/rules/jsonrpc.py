"""Rules of the shape of a single message: JSON-RPC as MCP restricts it."""

from __future__ import annotations

from collections.abc import Iterator

from mcpmock.protocol.messages import Notification, Opaque, Request, Response, decode, member
from mcpmock.protocol.methods import FIRST, LAST_LEGACY, LATEST, REVISIONS, ROWS, MessageKind

from .context import CheckedMessage, short
from .rule import Breach, must

_JSON_RPC = (
    "All messages between MCP clients and servers MUST follow the JSON-RPC 2.0 specification."
)
_2025_03, _2025_06 = REVISIONS[1], REVISIONS[2]
_HTTP = "basic/transports/streamable-http"

RULES = (
    must(
        "json-rpc",
        "basic/index",
        "All messages in MCP MUST follow the JSON-RPC 2.0 specification.",
        until=FIRST,
    ),
    must("json-rpc", "basic/index", _JSON_RPC, since=_2025_03),
    must(
        "not-a-message",
        "basic/transports",
        "The server MUST NOT write anything to its stdout that is not a valid MCP message. The "
        "client MUST NOT write anything to the server's stdin that is not a valid MCP message.",
        until=LAST_LEGACY,
    ),
    must(
        "not-a-message",
        "basic/transports/stdio",
        "The server MUST NOT write anything to its stdout that is not a valid MCP message. The "
        "client MUST NOT write anything to the server's stdin that is not a valid MCP message.",
        since=LATEST,
    ),
    must("id-type", "basic/index", "Requests MUST include a string or integer ID."),
    must("id-null", "basic/index", "Unlike base JSON-RPC, the ID MUST NOT be null."),
    must("notification-id", "basic/index", "Notifications MUST NOT include an ID."),
    must("request-id", "basic/index", "Requests MUST include a string or integer ID."),
    must(
        "result-id",
        "basic/index",
        "Responses MUST include the same ID as the request they correspond to.",
        until=_2025_06,
    ),
    must(
        "result-id",
        "basic/index",
        "Result responses MUST include the same ID as the request they correspond to.",
        since=LAST_LEGACY,
    ),
    must(
        "result-and-error",
        "basic/index",
        "Either a result or an error MUST be set. A response MUST NOT set both.",
        until=_2025_06,
    ),
    must("result-and-error", "basic/index", _JSON_RPC, since=LAST_LEGACY),
    must("error-code", "basic/index", "Error codes MUST be integers."),
    must(
        "error-members",
        "basic/index",
        "errors MUST include an error code and message at minimum.",
        since=_2025_03,
        until=_2025_06,
    ),
    must(
        "error-members",
        "basic/index",
        "Error responses MUST include an error field with a code and message.",
        since=LAST_LEGACY,
    ),
    must("members-object", "basic/index", "params?: { [key: string]: unknown; }"),
    must(
        "batch",
        "basic/transports",
        "The body of the POST request MUST be a single JSON-RPC request, notification, or "
        "response. Messages are individual JSON-RPC requests, notifications, or responses.",
        since=_2025_06,
        until=LAST_LEGACY,
    ),
    must(
        "batch",
        _HTTP,
        "The body of the HTTP POST MUST be a single JSON-RPC request or notification.",
        since=LATEST,
    ),
    must(
        "initialize-in-batch",
        "basic/lifecycle",
        "The initialize request MUST NOT be part of a JSON-RPC batch",
        since=_2025_03,
        until=_2025_03,
    ),
)
_REQUESTS = {row.name for row in ROWS if row.kind is MessageKind.REQUEST}


def check_message(checked: CheckedMessage) -> Iterator[Breach]:
    """Yield the breaches in the shape of a message."""
    message = checked.message
    if isinstance(message, Opaque):
        if checked.exchange is None:
            quoted = f": {short(checked.raw)}" if checked.raw.strip() else ": a blank line"
            yield Breach("not-a-message", f"not JSON-RPC{quoted}")
        elif checked.raw.strip():
            yield Breach("json-rpc", f"not JSON-RPC: {short(checked.raw)}")
        return
    if decode(member(checked.raw, "jsonrpc") or b"null") != "2.0":
        yield Breach("json-rpc", 'no "jsonrpc":"2.0"')
    if checked.batch:
        yield from _check_batch(checked)
    match message:
        case Request():
            yield from _check_request(message)
        case Notification(method, params):
            yield from _check_object(params, "params")
            if method in _REQUESTS:
                yield Breach("request-id", f"{method} without an id")
        case Response():
            yield from _check_response(checked, message)


def _check_batch(checked: CheckedMessage) -> Iterator[Breach]:
    yield Breach("batch", f"{checked.method or 'a message'} in a batch of {checked.batch}")
    if checked.method == "initialize" and isinstance(checked.message, Request):
        yield Breach("initialize-in-batch", f"initialize in a batch of {checked.batch}")


def _check_request(request: Request) -> Iterator[Breach]:
    yield from _check_object(request.params, "params")
    if request.id == b"null":
        yield Breach("id-null", f"{short(request.method)} with a null id")
    elif not is_string_or_integer(request.id):
        yield Breach("id-type", f"{short(request.method)} with the id {short(request.id)}")
    if request.method.startswith("notifications/"):
        yield Breach("notification-id", f"{short(request.method)} with the id {short(request.id)}")


def _check_response(checked: CheckedMessage, response: Response) -> Iterator[Breach]:
    if response.result is not None:
        yield from _check_object(response.result, "result")
        if response.id is None:
            yield Breach("result-id", "a result without an id")
        if response.error is not None:
            yield Breach("result-and-error", "a result and an error in one response")
    elif checked.error is not None:
        code = checked.error.get("code")
        if "code" not in checked.error or not isinstance(checked.error.get("message"), str):
            yield Breach("error-members", "an error without a code or a message")
        elif not isinstance(code, int) or isinstance(code, bool):
            yield Breach("error-code", f"the code {short(code)}")


def _check_object(raw: bytes | None, name: str) -> Iterator[Breach]:
    if raw is not None and raw[:1] != b"{":
        yield Breach("members-object", f"{name} is not an object: {short(raw)}")


def is_string_or_integer(raw: bytes) -> bool:
    """Whether an id or a token has an allowed type. `1.0` is allowed: many peers treat it as 1."""
    value = decode(raw)
    if isinstance(value, bool):
        return False
    return isinstance(value, str | int) or (isinstance(value, float) and value.is_integer())
