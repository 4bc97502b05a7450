"""Rules of the shape of a single message: JSON-RPC as MCP restricts it."""

from __future__ import annotations

from collections.abc import Iterator

from mcpmock.cassette.model import is_utf8
from mcpmock.protocol import messages as m
from mcpmock.protocol.methods import ROWS, MessageKind
from mcpmock.protocol.shapes import hides

from .context import CheckedMessage, short
from .specification import Breach

_OPENING, _CLOSING = b"{}"
_REQUESTS = {row.name for row in ROWS if row.kind is MessageKind.REQUEST}


def check_message(checked: CheckedMessage, transport: str) -> Iterator[Breach]:
    """Yield the breaches in the shape of a message."""
    message = checked.message
    if isinstance(message, m.Opaque):
        # Of what a stream may carry at all only the pages of stdio speak.
        if transport == "stdio":
            quoted = f": {short(checked.raw)}" if checked.raw.strip() else ": a blank line"
            yield Breach("not-a-message", f"not JSON-RPC{quoted}")
        elif checked.raw.strip():
            yield Breach("json-rpc", f"not JSON-RPC: {short(checked.raw)}")
        if b'"jsonrpc"' in checked.raw:
            yield from _check_utf_8(checked.raw)
        return
    if m.version_of(checked.raw) != "2.0":
        yield Breach("json-rpc", 'no "jsonrpc":"2.0"')
    if not (checked.raw.isascii() and checked.raw[0] == _OPENING and checked.raw[-1] == _CLOSING):
        yield from _check_encoding(checked.raw)
    if (rest := m.json_error(checked.raw)) is not None:
        yield Breach("json-rpc", f"not JSON: {short(rest)}")
    if checked.batch:
        yield from _check_batch(checked)
    match message:
        case m.Request():
            yield from _check_request(message)
        case m.Notification(method, params):
            if params is not None and params[:1] != b"{":
                yield _no_object(params, "params")
            if method in _REQUESTS:
                yield Breach("request-id", f"{method} without an id")
        case m.Response():
            yield from _check_response(checked, message)


def _check_encoding(raw: bytes) -> Iterator[Breach]:
    """Yield what parsers may survive and no message has (RFC 8259 2, 8.1)."""
    yield from _check_utf_8(raw)
    text = raw.strip(b" \t\r\n")
    if not text.startswith((b"{", b"[")) or not text.endswith((b"}", b"]")):
        yield Breach("json-rpc", "a byte order mark or other bytes stand around the JSON text")


def _check_utf_8(raw: bytes) -> Iterator[Breach]:
    if not raw.isascii() and not is_utf8(raw):
        yield Breach("utf-8", f"bytes that are not UTF-8: {short(raw)}")


def _check_batch(checked: CheckedMessage) -> Iterator[Breach]:
    yield Breach("batch", f"{checked.method or 'a message'} in a batch of {checked.batch}")
    if checked.method == "initialize" and isinstance(checked.message, m.Request):
        yield Breach("initialize-in-batch", f"initialize in a batch of {checked.batch}")


def _check_request(request: m.Request) -> Iterator[Breach]:
    if request.params is not None and request.params[:1] != b"{":
        yield _no_object(request.params, "params")
    if request.id == b"null":
        yield Breach("id-null", f"{short(request.method)} with a null id")
    elif not is_string_or_integer(request.id):
        yield Breach("id-type", f"{short(request.method)} with the id {short(request.id)}")
    if request.method.startswith("notifications/"):
        yield Breach("notification-id", f"{short(request.method)} with the id {short(request.id)}")


def _check_response(checked: CheckedMessage, response: m.Response) -> Iterator[Breach]:
    if response.result is not None:
        if response.result[:1] != b"{":
            yield _no_object(response.result, "result")
        if response.id is None:
            yield Breach("result-id", "a result without an id")
        if b'"error"' in checked.raw and m.member(checked.raw, "error") is not None:
            yield Breach("result-and-error", "a result and an error in one response")
    elif checked.error is not None:
        code = checked.error.get("code")
        if "code" not in checked.error or not isinstance(checked.error.get("message"), str):
            yield Breach("error-members", "an error without a code or a message")
        elif not _is_integer(code) and not hides(code):
            yield Breach("error-code", f"the code {short(code)}")


def _no_object(raw: bytes, name: str) -> Breach:
    return Breach("members-object", f"{name} is not an object: {short(raw)}")


def is_string_or_integer(raw: bytes) -> bool:
    """Return whether an id or a token has an allowed type. `1.0` is allowed: many peers treat it as
    1.
    """
    if raw.isdigit():
        return True
    value = m.decode(raw)
    return isinstance(value, str) or _is_integer(value)


def _is_integer(value: object) -> bool:
    whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    return whole and not isinstance(value, bool)
