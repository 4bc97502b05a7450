"""Answers that mcpmock makes itself where the recording has none and a miss would be wrong: to
pings and probes, to messages that need only an HTTP response, to requests in sessions that are
over. Over HTTP an answer is a complete exchange, from its head to its end.

`Fallback` is tried before a request becomes a miss; a stub provides one. Used by `playback.player`
and `playback.client.driver`.
"""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus

from msgspec import Struct

from mcpmock.protocol import edit
from mcpmock.protocol.error_codes import (
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    SESSION_NOT_FOUND,
)
from mcpmock.protocol.http_reply import whole_reply
from mcpmock.protocol.messages import S2C, Frame, Opaque, Request

from .miss import NearMiss
from .request_assembly import ClientMessage
from .request_key import MatchSubject

PROBE = "server/discover"
"""The request by which clients find out whether a server is modern (2026-07-28)."""

MAX_BATCH_MESSAGES = 100
"""The most messages in a batch that a fake server takes, if no larger one was recorded: the limit
of the TypeScript SDK 1.30, which answers 400 with the code -32600 as well.
"""


class Fallback(Struct, frozen=True):
    """The functions that are tried before a request becomes a miss. The defaults know nothing."""

    answer: Callable[[Frame], list[Frame] | None] = lambda _request: None
    """Answers a live request that the recording does not answer; gives None if it cannot."""
    near: Callable[[MatchSubject], list[NearMiss]] = lambda _subject: []
    """Near misses of a missed request besides recorded requests."""


def empty_result(id_: bytes) -> Frame:
    """Return the answer to a ping."""
    return Frame(S2C, b'{"jsonrpc":"2.0","id":%b,"result":{}}' % id_)


def method_not_found(id_: bytes, method: str) -> Frame:
    """Return the answer of a server to a method it does not have."""
    return Frame(S2C, edit.error(id_, METHOD_NOT_FOUND, f"Method not found: {method}"))


def too_long(size: int) -> Frame:
    """Return the answer to a message that was too long to be parsed, so that its id is unknown."""
    message = f"mcpmock: a message of {size} bytes is too long"
    return Frame(S2C, edit.error(b"null", INVALID_REQUEST, message))


def exchange(
    number: int | None, status: int = HTTPStatus.OK, message: Frame | None = None
) -> list[Frame]:
    """Return the response of a live exchange with this message; without an exchange, the message
    alone.
    """
    if number is None:
        return [] if message is None else [message]
    headers = [] if message is None else [("Content-Type", "application/json")]
    if status == HTTPStatus.METHOD_NOT_ALLOWED:
        # RFC 9110, 15.5.6: a 405 must name the methods that are allowed.
        headers.append(("Allow", "POST"))
    body = None if message is None else Frame(S2C, message.raw, exchange=number)
    return whole_reply(number, status, headers, body)


def answer_unrecorded(live: ClientMessage) -> list[Frame] | None:
    """Return the answer to a request that is no miss though it was not recorded; None for all
    others.
    """
    content = live.content
    if not isinstance(content, Request):
        return None
    if content.method == "ping":
        return exchange(live.exchange, message=empty_result(content.id))
    if content.method == PROBE:
        # A server of the older revisions does not know the probe; the client then falls back to
        # `initialize`.
        refusal = method_not_found(content.id, content.method)
        return exchange(live.exchange, HTTPStatus.BAD_REQUEST, refusal)
    return None


def answer_without_result(live: ClientMessage, *, is_path: bool, in_session: bool) -> list[Frame]:
    """Return the response to an exchange whose message needs no JSON-RPC answer. `is_path`:
    messages are posted to its path, so a client may open a stream there, or end its session.
    """
    if live.is_posted and isinstance(live.content, Opaque):
        error = Frame(S2C, edit.error(b"null", PARSE_ERROR, "Parse error"))
        return exchange(live.exchange, HTTPStatus.BAD_REQUEST, error)
    if live.is_posted:
        return exchange(live.exchange, HTTPStatus.ACCEPTED)
    if not is_path:
        return exchange(live.exchange, HTTPStatus.NOT_FOUND)
    if live.ends_session and in_session:
        return exchange(live.exchange)
    # Streamable HTTP, "Listening for Messages from the Server": a server without a GET stream
    # answers 405; "Session Management" 5: it may answer 405 to the DELETE of a session.
    return exchange(live.exchange, HTTPStatus.METHOD_NOT_ALLOWED)


def answer_lost(live: ClientMessage) -> list[Frame]:
    """Return the response to a request that names a session that is over or never existed."""
    # Streamable HTTP, "Session Management" 3 and 4: a server answers 404 to the id of a session
    # that it terminated; the client then initializes a new one.
    id_ = live.ids[0] if len(live.ids) == 1 else b"null"
    error = Frame(S2C, edit.error(id_, SESSION_NOT_FOUND, "Session not found"))
    return exchange(live.exchange, HTTPStatus.NOT_FOUND, error)


def answer_large_batch(live: ClientMessage) -> list[Frame]:
    """Return the refusal of a batch with more than MAX_BATCH_MESSAGES."""
    text = f"Invalid Request: a batch has at most {MAX_BATCH_MESSAGES} messages"
    if live.exchange is not None:
        error = Frame(S2C, edit.error(b"null", INVALID_REQUEST, text))
        return exchange(live.exchange, HTTPStatus.BAD_REQUEST, error)
    # Without an exchange the ids alone say what is refused.
    errors = [edit.error(id_, INVALID_REQUEST, text) for id_ in live.ids]
    return [Frame(S2C, b"[%b]" % b",".join(errors))] if errors else []


def answer_too_long(live: ClientMessage) -> list[Frame]:
    return exchange(live.exchange, HTTPStatus.REQUEST_ENTITY_TOO_LARGE, too_long(live.size))
