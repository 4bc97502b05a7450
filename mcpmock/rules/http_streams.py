"""Rules of Streamable HTTP streams: which stream carries which message, and how a stream ends."""

from __future__ import annotations

from collections.abc import Iterator

from mcpmock.protocol.correlation import PROGRESS
from mcpmock.protocol.messages import Request, Response
from mcpmock.protocol.methods import LAST_LEGACY, LATEST, REVISIONS
from mcpmock.protocol.transport_facts import LAST_EVENT_ID_HEADER

from .context import CheckedMessage, describe_call, short
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


def check_event_id(exchange: CheckedExchange) -> Iterator[Breach]:
    """Yield the breaches in the id of an event."""
    meta = exchange.event
    if not exchange.repeated or meta is None:
        return
    resumed = exchange.request_header(LAST_EVENT_ID_HEADER) is not None
    if not resumed:
        yield Breach("event-id-reused", f"the event id {short(meta.id)}, used before")
    elif exchange.owner != (exchange.number if exchange.resumes is None else exchange.resumes):
        yield Breach("replays-other-stream", f"the event {short(meta.id)} of another stream")


def check_message(checked: CheckedMessage) -> Iterator[Breach]:
    """Yield the breaches in the choice of the stream for a server message."""
    exchange = checked.exchange
    if exchange is None or checked.from_client:
        return
    if isinstance(checked.message, Response):
        yield from _check_response_stream(checked, exchange)
    elif isinstance(checked.message, Request) and checked.open_call is not None:
        if not checked.on_own_stream:
            yield Breach("broadcast", f"{short(checked.method)} on a second stream")
    elif (
        checked.method == PROGRESS
        and checked.attribution.call
        and _is_on_other_stream(checked, exchange)
    ):
        yield Breach("message-stream", "progress on the stream of another request")
    if _is_answered_stream(exchange) and not isinstance(checked.message, Response):
        yield Breach("stream-goes-on", f"{short(checked.method)} behind the last response")


def _is_on_other_stream(checked: CheckedMessage, exchange: CheckedExchange) -> bool:
    """Whether it is on a stream of another call; a resumed stream may carry messages of any."""
    return not checked.on_own_stream and exchange.request_header(LAST_EVENT_ID_HEADER) is None


def _check_response_stream(checked: CheckedMessage, exchange: CheckedExchange) -> Iterator[Breach]:
    call = checked.attribution.call
    if call is None or checked.on_own_stream:
        return
    name = describe_call(call)
    if exchange.method == "GET":
        if exchange.request_header(LAST_EVENT_ID_HEADER) is None:
            yield Breach("response-on-get", f"the response to {name} on a GET")
    elif exchange.method == "POST":
        yield Breach(
            "response-stream", f"the response to {describe_call(call)} in the answer to another"
        )


def _is_answered_stream(exchange: CheckedExchange) -> bool:
    """Whether an event stream has carried the responses to all requests of its POST."""
    return bool(exchange.requests) and not exchange.open and exchange.streams


def check_stream_end(exchange: CheckedExchange, how: str) -> Iterator[Breach]:
    """Yield the breaches in how the server ended a stream. A lost connection breaks no rule."""
    left = how == "eof" and exchange.open and exchange.streams and not exchange.cancelled
    listening = all(request.method == LISTEN for request in exchange.requests)
    if left and not listening and not (exchange.event_ids and exchange.revision == LAST_LEGACY):
        yield Breach("stream-cut", f"ended without a response to #{short(exchange.open[0])}")
