"""Rules of Streamable HTTP heads: `Accept`, session and revision of a request, the status and
content type of a response, and the headers of the modern era that mirror the body.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from mcpmock.protocol.contents import SECRET_MARK
from mcpmock.protocol.error_codes import DEFINED_MODERN, INVALID_PARAMS, METHOD_NOT_FOUND
from mcpmock.protocol.http_reply import EVENT_STREAM
from mcpmock.protocol.messages import Request, Response, member
from mcpmock.protocol.methods import LATEST, REVISIONS
from mcpmock.protocol.mirrored_headers import (
    METHOD_HEADER,
    NAME_HEADER,
    decode_field,
    mirrored_headers,
)
from mcpmock.protocol.revisions import VERSION_PATH
from mcpmock.protocol.transport_facts import (
    PROTOCOL_VERSION_HEADER,
    SESSION_HEADER,
)

from .context import CheckedMessage, Phase, State, short
from .exchange import MAX_REMEMBERED, CheckedExchange
from .lifecycle import INITIALIZE
from .specification import Breach

_JSON = "application/json"
_METHODS = ("POST", "GET", "DELETE")
_ACCEPTED, _BAD_REQUEST, _NOT_FOUND, _NOT_ALLOWED = 202, 400, 404, 405
_RULE_OF_MIRROR = {
    PROTOCOL_VERSION_HEADER: "header-version",
    METHOD_HEADER: "header-method",
    NAME_HEADER: "header-name",
}


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
        if exchange.number in self._late and exchange.status != _NOT_FOUND:
            text = f"{exchange.method} in a session that was deleted, answered {exchange.status}"
            yield Breach("session-ended", text)
        self._lost = self._lost or exchange.status == _NOT_FOUND
        self._deleted = self._deleted or (exchange.method == "DELETE" and exchange.status < 300)


def _check_accept(
    exchange: CheckedExchange, rule: str, wanted: tuple[str, ...]
) -> Iterator[Breach]:
    fields = () if exchange.head is None else exchange.head.values("accept")
    accepted = {
        one.partition(";")[0].strip().lower() for field in fields for one in field.split(",")
    }
    missing = [
        media
        for media in wanted
        if accepted.isdisjoint((media, f"{media.partition('/')[0]}/*", "*/*"))
    ]
    if missing:
        yield Breach(rule, f"an Accept without {' and '.join(missing)}")


def _check_version(exchange: CheckedExchange, state: State) -> Iterator[Breach]:
    """Check the revision in the head, after the handshake settled one."""
    if state.phase in (Phase.NEW, Phase.ASKED):
        return
    posted, early = exchange.posted or [], state.asked_early
    if posted and all(isinstance(one, Response) and one.id in early for one in posted):
        return  # the question came before the revision, so its answer may not name it
    if exchange.version is None and not state.unreadable_answer:
        yield Breach("version-missing", f"{exchange.method} without MCP-Protocol-Version")
    elif None not in (exchange.version, state.revision) and exchange.version != state.revision:
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


def check_mirrored_headers(exchange: CheckedExchange) -> Iterator[Breach]:
    """Yield the breaches in the headers of a modern POST that mirror its body."""
    if exchange.revision != LATEST or len(exchange.requests) != 1:
        return
    [request] = exchange.requests
    for mirrored in mirrored_headers(request):
        if not mirrored.required:
            continue
        rule = _RULE_OF_MIRROR[mirrored.name]
        received = exchange.request_header(mirrored.name)
        if received is None:
            yield Breach(rule, f"no {mirrored.name} in the head")
            continue
        plain, value = decode_field(received), mirrored.value
        redacted = SECRET_MARK in plain or SECRET_MARK in str(value)
        if isinstance(value, str) and plain != value and not redacted:
            text = f"{mirrored.name} is {short(plain)}, the body has {short(value)}"
            yield Breach(f"{rule}-match", text)


def check_status(checked: CheckedMessage, state: State) -> Iterator[Breach]:
    """Yield the breaches in the HTTP status of a modern response."""
    exchange, call = checked.exchange, checked.attribution.call
    if exchange is None or not state.server.modern or call is None:
        return
    status, code, request = exchange.status, checked.code, call.request
    text = f"the error {code} with the status {status}"
    if checked.result is not None:
        if status < 300 and (exchange.wrong_headers or any(check_mirrored_headers(exchange))):
            yield Breach("header-accepted", f"a result of {request.method}, head and body differ")
    elif code == METHOD_NOT_FOUND and status != _NOT_FOUND:
        yield Breach("status-not-found", text)
    elif code in DEFINED_MODERN and status != _BAD_REQUEST:
        yield Breach("status-bad-request", text)
    elif code == INVALID_PARAMS and status != _BAD_REQUEST and not _has_meta(request):
        yield Breach("status-meta", text)


def _has_meta(request: Request) -> bool:
    return member(request.params, *VERSION_PATH) is not None
