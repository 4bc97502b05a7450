"""What mcpmock says in its own name, where the recording has nothing: a few messages, and over HTTP
the whole exchanges that carry them. Used by `player`.
"""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

from mcpmock.protocol.messages import S2C, ExchangeEnd, Frame, HttpResponse, encode

from .matcher import STUBBED, Miss, NearMiss

MISS_CODE = -32099
METHOD_NOT_FOUND = -32601
INVALID_REQUEST = -32600
PARSE_ERROR = -32700
SESSION_NOT_FOUND = -32001


def empty_result(id_: bytes) -> Frame:
    """The answer to a ping."""
    return Frame(S2C, b'{"jsonrpc":"2.0","id":%b,"result":{}}' % id_)


def method_not_found(id_: bytes, method: str) -> Frame:
    """What a server of the older revisions says to a probe."""
    return _error(id_, METHOD_NOT_FOUND, f"Method not found: {method}")


def too_long(size: int) -> Frame:
    """A message that was too long to be looked at; its id was not looked for."""
    return _error(b"null", INVALID_REQUEST, f"mcpmock: a message of {size} bytes is too long")


def parse_error() -> Frame:
    """A message that nobody can read."""
    return _error(b"null", PARSE_ERROR, "Parse error")


def session_not_found(ids: Sequence[bytes]) -> Frame:
    """What belongs to a session that is over, or that never was."""
    return _error(ids[0] if len(ids) == 1 else b"null", SESSION_NOT_FOUND, "Session not found")


def miss_error(ids: Sequence[bytes], miss: Miss, batch: bool) -> Frame:
    """The error for each request of a live message that nothing recorded fits."""
    message = f"mcpmock: nothing recorded answers this {miss.method}"
    data = {"near": near_misses(miss)}
    errors = [_error(id_, MISS_CODE, message, data).raw for id_ in ids]
    return Frame(S2C, b"[%b]" % b",".join(errors) if batch else errors[0])


def near_misses(miss: Miss) -> list[dict[str, Any]]:
    """The nearest requests as JSON: `event` (null for what is written by hand), `why`, and up to
    ten `differences`.
    """
    return [_near(near) for near in miss.near]


def exchange(number: int | None, status: int, message: Frame | None = None) -> list[Frame]:
    """The response of a live exchange, from its head to its end; the message alone where nothing
    carries it. A server that refuses a method says which one it takes.
    """
    if number is None:
        return [] if message is None else [message]
    headers = [] if message is None else [("Content-Type", "application/json")]
    if status == HTTPStatus.METHOD_NOT_ALLOWED:
        headers.append(("Allow", "POST"))
    head = HttpResponse(status, HTTPStatus(status).phrase, headers)
    body = [] if message is None else [Frame(S2C, message.raw, exchange=number)]
    return [
        Frame(S2C, fact=head, exchange=number),
        *body,
        Frame(S2C, fact=ExchangeEnd(), exchange=number),
    ]


def _near(near: NearMiss) -> dict[str, Any]:
    differences = [
        {"path": d.path, "recorded": d.recorded, "live": d.live} for d in near.differences[:10]
    ]
    event = None if near.n == STUBBED else near.n
    return {"event": event, "why": near.why, "differences": differences}


def _error(id_: bytes, code: int, message: str, data: Any = None) -> Frame:
    error: dict[str, Any] = {"code": code, "message": message}
    if data is not None:
        error["data"] = data
    return Frame(S2C, b'{"jsonrpc":"2.0","id":%b,"error":%b}' % (id_, encode(error)))
