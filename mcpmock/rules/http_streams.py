"""Which stream carries which message, and how a stream ends."""

from __future__ import annotations

from collections.abc import Iterator

from mcpmock.protocol.correlation import PROGRESS
from mcpmock.protocol.messages import Request, Response
from mcpmock.protocol.methods import LAST_LEGACY, LATEST, REVISIONS
from mcpmock.protocol.transport_facts import LAST_EVENT_ID_HEADER

from .context import CheckedMessage, short
from .exchange import CheckedExchange
from .rule import Breach, must, should
from .subscriptions import LISTEN

_2025_03, _2025_06 = REVISIONS[1], REVISIONS[2]
_PAGE, _MODERN = "basic/transports", "basic/transports/streamable-http"

RULES = (
    must(
        "response-on-get",
        _PAGE,
        "The server MUST NOT send a JSON-RPC response on the stream unless resuming a stream "
        "associated with a previous client request.",
        since=_2025_03,
        until=LAST_LEGACY,
    ),
    should(
        "response-stream",
        _PAGE,
        "The SSE stream SHOULD eventually include one JSON-RPC response per each JSON-RPC request "
        "sent in the POST body.",
        since=_2025_03,
        until=_2025_03,
    ),
    should(
        "response-stream",
        _PAGE,
        "The SSE stream SHOULD eventually include JSON-RPC response for the JSON-RPC request sent "
        "in the POST body.",
        since=_2025_06,
        until=_2025_06,
    ),
    should(
        "response-stream",
        _PAGE,
        "The SSE stream SHOULD eventually include a JSON-RPC response for the JSON-RPC request "
        "sent in the POST body.",
        since=LAST_LEGACY,
        until=LAST_LEGACY,
    ),
    should(
        "message-stream",
        _PAGE,
        "These messages SHOULD relate to the originating client request.",
        since=_2025_03,
        until=LAST_LEGACY,
    ),
    must(
        "broadcast",
        _PAGE,
        "The server MUST send each of its JSON-RPC messages on only one of the connected streams; "
        "that is, it MUST NOT broadcast the same message across multiple streams.",
        since=_2025_03,
        until=LAST_LEGACY,
    ),
    must(
        "event-id-reused",
        _PAGE,
        "If present, the ID MUST be globally unique across all streams within that session",
        since=_2025_03,
        until=LAST_LEGACY,
    ),
    must(
        "replays-other-stream",
        _PAGE,
        "The server MUST NOT replay messages that would have been delivered on a different stream.",
        since=_2025_03,
        until=LAST_LEGACY,
    ),
    should(
        "stream-cut",
        _PAGE,
        "The server SHOULD NOT close the SSE stream before sending a JSON-RPC response per each "
        "received JSON-RPC request",
        since=_2025_03,
        until=_2025_03,
    ),
    should(
        "stream-cut",
        _PAGE,
        "The server SHOULD NOT close the SSE stream before sending the JSON-RPC response for the "
        "received JSON-RPC request",
        since=_2025_06,
        until=_2025_06,
    ),
    should(
        "stream-cut",
        _PAGE,
        "After the server has sent an SSE event with an event ID to the client, the server MAY "
        "close the connection (without terminating the SSE stream) at any time",
        since=LAST_LEGACY,
        until=LAST_LEGACY,
    ),
    should(
        "stream-cut",
        _MODERN,
        "The final JSON-RPC response SHOULD terminate the stream.",
        since=LATEST,
    ),
    should(
        "stream-goes-on",
        _PAGE,
        "After all JSON-RPC responses have been sent, the server SHOULD close the SSE stream.",
        since=_2025_03,
        until=_2025_03,
    ),
    should(
        "stream-goes-on",
        _PAGE,
        "After the JSON-RPC response has been sent, the server SHOULD close the SSE stream.",
        since=_2025_06,
        until=_2025_06,
    ),
    should(
        "stream-goes-on",
        _PAGE,
        "After the JSON-RPC response has been sent, the server SHOULD terminate the SSE stream.",
        since=LAST_LEGACY,
        until=LAST_LEGACY,
    ),
    should(
        "stream-goes-on",
        _MODERN,
        "The final JSON-RPC response SHOULD terminate the stream.",
        since=LATEST,
    ),
)


def event(exchange: CheckedExchange) -> Iterator[Breach]:
    """What is wrong with the id of an event."""
    meta = exchange.event
    if not exchange.again or meta is None:
        return
    resumed = exchange.asked(LAST_EVENT_ID_HEADER) is not None
    if not resumed:
        yield Breach("event-id-reused", f"the event id {short(meta.id)}, used before")
    elif exchange.owner != (exchange.number if exchange.resumes is None else exchange.resumes):
        yield Breach("replays-other-stream", f"the event {short(meta.id)} of another stream")


def watch(heard: CheckedMessage) -> Iterator[Breach]:
    """What is wrong with a message of the server's on this stream."""
    exchange = heard.exchange
    if exchange is None or heard.from_client:
        return
    if isinstance(heard.message, Response):
        yield from _response(heard, exchange)
    elif isinstance(heard.message, Request) and heard.before is not None:
        if not heard.on_own_stream:
            yield Breach("broadcast", f"{short(heard.method)} on a second stream")
    elif heard.method == PROGRESS and heard.note.call and _strays(heard, exchange):
        yield Breach("message-stream", "progress on the stream of another request")
    if _is_over(exchange) and not isinstance(heard.message, Response):
        yield Breach("stream-goes-on", f"{short(heard.method)} behind the last response")


def _strays(heard: CheckedMessage, exchange: CheckedExchange) -> bool:
    """Whether it is where its call is not, and no stream is resumed there."""
    return not heard.on_own_stream and exchange.asked(LAST_EVENT_ID_HEADER) is None


def _response(heard: CheckedMessage, exchange: CheckedExchange) -> Iterator[Breach]:
    call = heard.note.call
    if call is None or heard.on_own_stream:
        return
    name = f"{short(call.request.method)} #{short(call.request.id)}"
    if exchange.method == "GET":
        if exchange.asked(LAST_EVENT_ID_HEADER) is None:
            yield Breach("response-on-get", f"the response to {name} on a GET")
    elif exchange.method == "POST":
        yield Breach("response-stream", f"the response to {name} in the answer to another")


def _is_over(exchange: CheckedExchange) -> bool:
    return bool(exchange.requests) and not exchange.open and exchange.streams


def ended(exchange: CheckedExchange, how: str) -> Iterator[Breach]:
    """What is wrong with a stream that the server has ended; one that broke off is nobody's
    fault.
    """
    left = how == "eof" and exchange.open and exchange.streams and not exchange.cancelled
    listening = all(request.method == LISTEN for request in exchange.requests)
    if left and not listening and not (exchange.event_ids and exchange.revision == LAST_LEGACY):
        yield Breach("stream-cut", f"ended without a response to #{short(exchange.open[0])}")
