"""Rules of Streamable HTTP heads: `Accept`, session and revision of a request, and the status and
content type of a response.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from mcpmock.protocol.http_reply import EVENT_STREAM
from mcpmock.protocol.methods import LAST_LEGACY, LATEST, REVISIONS
from mcpmock.protocol.transport_facts import SESSION_HEADER

from .context import Phase, State, short
from .exchange import MAX_REMEMBERED, CheckedExchange
from .lifecycle import INITIALIZE
from .rule import Breach, Rule, must, should

_2025_03, _2025_06 = REVISIONS[1], REVISIONS[2]
_PAGE, _MODERN = "basic/transports", "basic/transports/streamable-http"
_JSON = "application/json"
_METHODS = ("POST", "GET", "DELETE")
_ACCEPTED, _GONE, _NOT_ALLOWED = 202, 404, 405


def _both(name: str, sentence: str, modern: str) -> tuple[Rule, Rule]:
    return must(name, _PAGE, sentence, since=_2025_03, until=LAST_LEGACY), must(
        name, _MODERN, modern, since=LATEST
    )


def _legacy(name: str, sentence: str) -> Rule:
    return must(name, _PAGE, sentence, since=_2025_03, until=LAST_LEGACY)


RULES = (
    *_both(
        "accept",
        "The client MUST include an Accept header, listing both application/json and "
        "text/event-stream as supported content types.",
        "The client MUST include an Accept header listing both application/json and "
        "text/event-stream as supported content types.",
    ),
    _legacy(
        "accept-get",
        "The client MUST include an Accept header, listing text/event-stream as a supported "
        "content type.",
    ),
    *_both(
        "accepted-status",
        "If the server accepts the input, the server MUST return HTTP status code 202 Accepted "
        "with no body.",
        "If the server accepts it, the server MUST return HTTP status code 202 Accepted with no "
        "body.",
    ),
    *_both(
        "accepted-body",
        "If the server accepts the input, the server MUST return HTTP status code 202 Accepted "
        "with no body.",
        "If the server accepts it, the server MUST return HTTP status code 202 Accepted with no "
        "body.",
    ),
    *_both(
        "answer-type",
        "the server MUST either return Content-Type: text/event-stream, to initiate an SSE stream, "
        "or Content-Type: application/json, to return one JSON object.",
        "the server MUST return either Content-Type: application/json (a single JSON object) or "
        "Content-Type: text/event-stream (an SSE response stream).",
    ),
    _legacy(
        "get-type",
        "The server MUST either return Content-Type: text/event-stream in response to this HTTP "
        "GET, or else return HTTP 405 Method Not Allowed",
    ),
    _legacy(
        "session-missing",
        "clients using the Streamable HTTP transport MUST include it in the Mcp-Session-Id header "
        "on all of their subsequent HTTP requests.",
    ),
    _legacy(
        "session-characters",
        "The session ID MUST only contain visible ASCII characters (ranging from 0x21 to 0x7E).",
    ),
    _legacy(
        "session-ended",
        "The server MAY terminate the session at any time, after which it MUST respond to requests "
        "containing that session ID with HTTP 404 Not Found.",
    ),
    # A warning: the request and the 404 may have crossed on the wire.
    should(
        "session-lost",
        _PAGE,
        "When a client receives HTTP 404 in response to a request containing an Mcp-Session-Id, it "
        "MUST start a new session by sending a new InitializeRequest without a session ID "
        "attached.",
        since=_2025_03,
        until=LAST_LEGACY,
    ),
    must(
        "version-missing",
        _PAGE,
        "If using HTTP, the client MUST include the MCP-Protocol-Version: <protocol-version> HTTP "
        "header on all subsequent requests to the MCP server",
        since=_2025_06,
        until=LAST_LEGACY,
    ),
    should(
        "version-differs",
        _PAGE,
        "The protocol version sent by the client SHOULD be the one negotiated during "
        "initialization.",
        since=_2025_06,
        until=LAST_LEGACY,
    ),
    must(
        "version-invalid",
        _PAGE,
        "If the server receives a request with an invalid or unsupported MCP-Protocol-Version, it "
        "MUST respond with 400 Bad Request.",
        since=_2025_06,
        until=LAST_LEGACY,
    ),
    should(
        "session-minted",
        _MODERN,
        "An Mcp-Session-Id header on a request: ignore it, and do not mint or echo session IDs.",
        since=LATEST,
    ),
    should(
        "get-modern",
        _MODERN,
        "HTTP GET or DELETE to the MCP endpoint: respond with 405 Method Not Allowed.",
        since=LATEST,
    ),
)


@attrs.define
class HeadChecker:
    """Checks the heads of one conversation."""

    _deleted: bool = False
    _lost: bool = False
    """The server has answered 404 to the session."""
    _late: set[int] = attrs.field(factory=set)
    """The open exchanges that began after the session was deleted."""

    def check_request(self, exchange: CheckedExchange, state: State) -> Iterator[Breach]:
        """Yield the breaches in the head of a request, once its body is known. Other methods, such
        as the OPTIONS of a browser's CORS preflight, are not part of MCP.
        """
        if exchange.method not in _METHODS:
            return
        if exchange.method == "POST":
            yield from _check_accept(exchange, "accept", (_JSON, EVENT_STREAM))
        elif exchange.method == "GET":
            yield from _check_accept(exchange, "accept-get", (EVENT_STREAM,))
        opening = any(request.method == INITIALIZE for request in exchange.requests)
        if exchange.revision == LATEST or opening:
            return
        if state.sessionless and state.server.sessions and exchange.session is None:
            yield Breach("session-missing", f"{exchange.method} without the Mcp-Session-Id")
        yield from _check_version(exchange, state)
        if state.sessionless:
            return
        if self._lost and not self._deleted and exchange.method != "DELETE":
            yield Breach("session-lost", f"{exchange.method} in a session answered with 404 before")
        if self._deleted and len(self._late) < MAX_REMEMBERED:
            self._late.add(exchange.number)

    def check_response(self, exchange: CheckedExchange, state: State) -> Iterator[Breach]:
        """Yield the breaches in the head of a response, once the request body is known."""
        session = None if exchange.response is None else exchange.response.header(SESSION_HEADER)
        if session is not None:
            yield from self._check_given_session(exchange, state, session)
        if exchange.revision == LATEST and exchange.method in ("GET", "DELETE"):
            if state.server.only_modern and exchange.status != _NOT_ALLOWED:
                yield Breach("get-modern", f"{exchange.method} answered with {exchange.status}")
            return
        yield from self._check_ended_session(exchange)
        yield from _check_answer_type(exchange)
        if exchange.version not in (None, *REVISIONS) and exchange.status < 300:
            text = f"{short(exchange.version)} answered with {exchange.status}"
            yield Breach("version-invalid", text)

    def forget_exchange(self, exchange: CheckedExchange) -> None:
        """Drop an exchange that has ended."""
        self._late.discard(exchange.number)

    def _check_given_session(
        self, exchange: CheckedExchange, state: State, session: str
    ) -> Iterator[Breach]:
        if exchange.revision == LATEST:
            if state.server.modern and exchange.version == LATEST:
                yield Breach("session-minted", "an Mcp-Session-Id in a response")
        elif any(not "\x21" <= character <= "\x7e" for character in session):
            yield Breach("session-characters", f"the session id {short(session)}")
        elif any(request.method == INITIALIZE for request in exchange.requests):
            state.server.sessions = True

    def _check_ended_session(self, exchange: CheckedExchange) -> Iterator[Breach]:
        if exchange.session is None:
            return
        if exchange.number in self._late and exchange.status != _GONE:
            text = f"{exchange.method} in a session that was deleted, answered {exchange.status}"
            yield Breach("session-ended", text)
        self._lost = self._lost or exchange.status == _GONE
        self._deleted = self._deleted or (exchange.method == "DELETE" and exchange.status < 300)


def _check_accept(
    exchange: CheckedExchange, rule: str, wanted: tuple[str, ...]
) -> Iterator[Breach]:
    accept = (exchange.request_header("accept") or "").lower()
    missing = [media for media in wanted if media not in accept]
    if missing and "*/*" not in accept:
        yield Breach(rule, f"an Accept without {' and '.join(missing)}")


def _check_version(exchange: CheckedExchange, state: State) -> Iterator[Breach]:
    """Check the revision in the head, after the handshake settled one."""
    if state.phase in (Phase.NEW, Phase.ASKED):
        return
    if exchange.version is None:
        yield Breach("version-missing", f"{exchange.method} without MCP-Protocol-Version")
    elif state.revision is not None and exchange.version != state.revision:
        text = f"MCP-Protocol-Version {short(exchange.version)}, negotiated: {state.revision}"
        yield Breach("version-differs", text)


def _check_answer_type(exchange: CheckedExchange) -> Iterator[Breach]:
    """Check the status and the content type against the kind of request."""
    response = exchange.response
    if response is None or not 200 <= response.status < 300:
        return
    media = response.media_type
    if exchange.method == "GET":
        if media != EVENT_STREAM:
            yield Breach("get-type", f"a GET answered with {short(media or 'no content type')}")
    elif exchange.method == "POST" and exchange.requests:
        if response.status == _ACCEPTED or media not in (_JSON, EVENT_STREAM):
            told = f"{response.status} {media}".rstrip()
            yield Breach("answer-type", f"a request answered with {short(told)}")
    elif exchange.method == "POST" and response.status != _ACCEPTED:
        yield Breach("accepted-status", f"a message answered with {response.status}")


def check_body(exchange: CheckedExchange, raw: bytes) -> Iterator[Breach]:
    """Yield the breaches in the body of a response."""
    if exchange.status == _ACCEPTED and raw.strip():
        yield Breach("accepted-body", f"a 202 with a body: {short(raw)}")
