"""The rules of Streamable HTTP, as the server: revisions 2025-03-26 to 2025-11-25 with sessions,
2026-07-28 without.

A stage in front of a source of bare messages (a server on stdio, a player of its recording): the
client's exchanges become messages, and each message of the server is sent in the exchange that it
belongs to. `open_responses` chooses that exchange, `common` reads the headers, `channels/` turns
exchanges into bytes. The other side is `client`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mcpmock.protocol import edit
from mcpmock.protocol.correlation import CANCELLED
from mcpmock.protocol.error_codes import HEADER_MISMATCH, INVALID_REQUEST, SERVER_ERROR
from mcpmock.protocol.http_reply import EVENT_STREAM, flatten
from mcpmock.protocol.messages import (
    C2S,
    Batch,
    Frame,
    HttpRequest,
    Message,
    Notification,
    Request,
    StreamEnd,
    decode,
    member,
    parse,
    parse_items,
)
from mcpmock.protocol.methods import REVISIONS
from mcpmock.protocol.raw_json import locate, splice
from mcpmock.protocol.revisions import PRIMING_REVISION, is_modern, speaks_modern
from mcpmock.protocol.transport_facts import PROTOCOL_VERSION_HEADER, SESSION_HEADER, plain_path
from mcpmock.transports.exchange_stages import ExchangeServer

from .common import (
    BATCH_REVISION,
    SESSION_ENDED,
    SESSION_MISSING,
    RequestRefusal,
    bad_request,
    mismatch,
    unacceptable,
    unreadable,
)
from .open_responses import OpenResponses

_OK, _ACCEPTED = (200, "OK"), (202, "Accepted")
Handler = Callable[[int, HttpRequest, bytes], RequestRefusal | None]


class StreamableHttpServer(ExchangeServer):
    """One instance serves one session, whose id comes from `mint`, or, if `stateless`, all callers
    without one together: modern ones, and, if there are no `sessions` at all, those of every
    revision. "A server using the Streamable HTTP transport MAY assign a session ID" (2025-11-25,
    "Session Management"): without one, clients send none.
    """

    def __init__(
        self, path: str, mint: Callable[[], str], stateless: bool, *, sessions: bool = True
    ) -> None:
        super().__init__()
        self._path, self._mint = plain_path(path), mint
        self._responses = OpenResponses(stateless, self._to_client)
        self._stateless, self._sessions = stateless, sessions
        self._handlers: dict[str, Handler] = {"POST": self._take_post}
        if not stateless:
            self._handlers |= {"GET": self._take_get, "DELETE": self._take_delete}

    def _serve_request(
        self, x: int, head: HttpRequest, body: bytes, *, too_long: bool = False
    ) -> None:
        refusal: RequestRefusal | None
        if plain_path(head.path) != self._path:
            refusal = RequestRefusal(404, "Not Found", SERVER_ERROR, "Not Found")
        elif head.method not in self._handlers:
            # RFC 9110, 15.5.6: a 405 must have an Allow field.
            allow = (("Allow", ", ".join(self._handlers)),)
            refusal = RequestRefusal(
                405, "Method Not Allowed", SERVER_ERROR, "Method not allowed", headers=allow
            )
        elif too_long:
            refusal = RequestRefusal(
                413, "Content Too Large", SERVER_ERROR, "mcpmock: the body is too long"
            )
        elif self._ended:
            refusal = SESSION_ENDED
        else:
            refusal = self._handlers[head.method](x, head, body)
        if refusal is not None:
            error = edit.error(refusal.id, refusal.code, refusal.text)
            self._responses.answer(x, (refusal.status, refusal.reason), error, refusal.headers)

    def _take_post(self, x: int, head: HttpRequest, body: bytes) -> RequestRefusal | None:
        raw = flatten(body)
        items = parse_items(raw)
        refusal = unacceptable(head, "application/json", EVENT_STREAM) or unreadable(head, items)
        if refusal is None:
            check = self._check_stateless if self._stateless else self._check_in_session
            refusal = check(head, parse(raw), items)
        if refusal is not None:
            return refusal
        if any(isinstance(item, Request) for item in items):
            self._open_response(x, raw, items, modern=self._stateless and _is_modern(head, items))
        else:
            self._accept_message(x, raw)
        return None

    def _open_response(self, x: int, raw: bytes, items: Sequence[Message], *, modern: bool) -> None:
        """Pass requests on, and open the response to them."""
        revision = self._responses.revision
        opening = _opening(items)
        if opening is not None and not self._stateless:
            self._responses.session = self._responses.session or self._mint()
            revision = decode(member(opening.params, "protocolVersion") or b"null")
        # Nothing can be resumed without a session.
        priming = revision == PRIMING_REVISION and not self._stateless
        on = self._responses.expect(x, raw, priming=priming, modern=modern)
        self._to_server.append(Frame(C2S, on))

    def _accept_message(self, x: int, raw: bytes) -> None:
        """Answer a message without requests with 202, and pass it on."""
        self._responses.answer(x, _ACCEPTED)
        message = parse(raw)
        if isinstance(message, Notification) and message.method == CANCELLED:
            span = locate(raw, ("params", "requestId"))
            meant = self._responses.in_flight.meant(raw[slice(*span)]) if span else []
            if span is not None and len(meant) == 1 and meant[0].sent != meant[0].id:
                raw = splice(raw, [(span, meant[0].sent)])
            elif len(meant) > 1 and self._stateless:
                return  # several callers use this id, and nothing says which of them this is
        self._to_server.append(Frame(C2S, raw))

    def _take_get(self, x: int, head: HttpRequest, body: bytes) -> RequestRefusal | None:  # noqa: ARG002
        refusal = unacceptable(head, EVENT_STREAM) or self._check_session(head)
        if refusal is None:
            self._responses.listen(x)
        return refusal

    def _take_delete(self, x: int, head: HttpRequest, body: bytes) -> RequestRefusal | None:  # noqa: ARG002
        refusal = self._check_session(head)
        if refusal is None:
            self._responses.answer(x, _OK)
            self._responses.end_streams()
            self._ended = True
            self._pass_on(Frame(C2S, b"", b"", StreamEnd()))
        return refusal

    def _route(self, raw: bytes) -> None:
        self._responses.route(raw)

    def _end_responses(self) -> None:
        self._responses.end()

    def _disconnect(self, x: int) -> None:
        # 2025-11-25, "Sending Messages to the Server": "Disconnection SHOULD NOT be interpreted as
        # the client cancelling its request"; in 2026-07-28 it is the cancellation.
        calls = self._responses.lose(x)
        if self._stateless:
            self._to_server += [Frame(C2S, edit.cancelled(call.sent)) for call in calls]

    def _check_session(self, head: HttpRequest) -> RequestRefusal | None:
        session = head.header(SESSION_HEADER)
        if session is None or self._responses.session is None:
            return SESSION_MISSING
        return None if session == self._responses.session else SESSION_ENDED

    def _check_in_session(
        self, head: HttpRequest, message: Message, items: Sequence[Message]
    ) -> RequestRefusal | None:
        opening = _opening(items) is not None
        if not opening or head.header(SESSION_HEADER) is not None:
            refusal = self._check_session(head)
            if refusal is not None:
                return refusal
        version = head.header(PROTOCOL_VERSION_HEADER)
        if not opening and version is not None and version not in REVISIONS:
            known = ", ".join(REVISIONS)
            return bad_request(
                SERVER_ERROR, f"Unsupported protocol version: {version} (known: {known})"
            )
        if isinstance(message, Batch) and self._responses.revision != BATCH_REVISION:
            return bad_request(INVALID_REQUEST, "this revision has no batches")
        return None

    def _check_stateless(
        self, head: HttpRequest, message: Message, items: Sequence[Message]
    ) -> RequestRefusal | None:
        if not _is_modern(head, items):
            if not self._sessions:
                return None
            return SESSION_MISSING if head.header(SESSION_HEADER) is None else SESSION_ENDED
        if not isinstance(message, (Request, Notification)):
            return bad_request(INVALID_REQUEST, "only one request or notification is accepted")
        why = mismatch(head, message) if isinstance(message, Request) else None
        if why is not None and isinstance(message, Request):
            return bad_request(HEADER_MISMATCH, why, message.id)
        return None


def _is_modern(head: HttpRequest, items: Sequence[Message]) -> bool:
    return is_modern(head.header(PROTOCOL_VERSION_HEADER)) or any(map(speaks_modern, items))


def _opening(items: Sequence[Message]) -> Request | None:
    found = (item for item in items if isinstance(item, Request) and item.method == "initialize")
    return next(found, None)
