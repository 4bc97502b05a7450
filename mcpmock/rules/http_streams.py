"""Rules of Streamable HTTP streams: which stream carries which message, and how a stream ends."""

from __future__ import annotations

from collections.abc import Iterator

from mcpmock.protocol.correlation import LISTEN, PROGRESS
from mcpmock.protocol.messages import Request, Response
from mcpmock.protocol.methods import LAST_LEGACY
from mcpmock.protocol.transport_facts import LAST_EVENT_ID_HEADER

from .context import CheckedMessage, describe_call, short
from .exchange import CheckedExchange
from .specification import Breach


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


def check_resume(exchange: CheckedExchange) -> Iterator[Breach]:
    """Yield the breach in a stream that is resumed too soon."""
    if exchange.hurried is None:
        return
    waited, asked = exchange.hurried
    # Two clocks and a network lie between: 5 % apart is not sooner.
    if waited < 0.95 * asked:
        text = f"resumed after {waited // 1000} ms, the server has asked for {asked // 1000}"
        yield Breach("retry-ignored", text)


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
    """Allow a resumed stream the messages of any call."""
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
    """Return whether an event stream has carried the responses to all requests of its POST."""
    return bool(exchange.requests) and not exchange.open and exchange.streams


def check_stream_end(exchange: CheckedExchange, how: str) -> Iterator[Breach]:
    """Yield the breaches in how the server ended a stream. A lost connection breaks no rule."""
    left = how == "eof" and exchange.open and exchange.streams and not exchange.cancelled
    listening = all(request.method == LISTEN for request in exchange.requests)
    if left and not listening and not (exchange.event_ids and exchange.revision == LAST_LEGACY):
        yield Breach("stream-cut", f"ended without a response to #{short(exchange.open[0])}")
