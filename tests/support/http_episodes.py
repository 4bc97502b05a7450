"""Hand-made recordings over HTTP, one for each way that exchanges hang together."""

from __future__ import annotations

from mcpmock.cassette.model import Cassette
from mcpmock.protocol.messages import C2S
from tests.support import (
    INITIALIZE,
    INITIALIZED,
    LOG,
    WELCOME,
    accepts,
    answers,
    bodiless,
    call,
    cancelled,
    ends,
    error,
    get,
    in_session,
    opens,
    over_http,
    post,
    progress,
    replies,
    request,
    response,
    says,
)

SAMPLE = request(0, "sampling/createMessage", {"n": 1})
ROOTS = request(1, "roots/list")
ENDPOINT = b"/message?sessionId=S"

OPENING = (
    post(1, INITIALIZE),
    answers(1, WELCOME, mcp_session_id="S"),
    post(2, INITIALIZED, session="S"),
    accepts(2),
)
ROUND = (
    *OPENING,
    get(3, session="S"),
    opens(3, mcp_session_id="S"),
    says(3, ROOTS),
    post(4, response(1, {"roots": []}), session="S"),
    accepts(4),
    post(5, request(5, "tools/call", {"name": "slow"}, token=5), session="S"),
    opens(5),
    says(5, b"", b"\r\n", id="a0", retry=100),
    says(5, progress(5, 1), b"\r\n", id="a1"),
    says(3, LOG, event="message"),
    says(5, SAMPLE, b"\r\n", event="message", id="a2"),
    post(6, response(0, {"text": "hi"}), session="S"),
    accepts(6),
    says(5, progress(5, 2), b"\r\n"),
    [*says(5, response(5, {"n": 1}), b"\r\n", id="a3"), ends(5)],
    post(7, call(6, "quick"), session="S"),
    answers(7, response(6, {"n": 2})),
    bodiless(8, "DELETE", session="S"),
    accepts(8, 200),
    ends(3),
    post(9, call(7, "late"), session="S"),
    answers(9, error(b"null", -32001, "Session not found"), 404),
)
CONCURRENT = (
    *OPENING,
    post(3, call(1, "a"), session="S"),
    opens(3),
    post(4, call(2, "b"), session="S"),
    answers(4, response(2)),
    [*says(3, response(1)), ends(3)],
    post(5, call(3, "c"), session="S"),
    post(6, call(4, "d"), session="S"),
    answers(6, response(4)),
    answers(5, response(3)),
)
LINGERING = (
    *OPENING,
    post(3, call(1, "a"), session="S"),
    opens(3),
    post(4, call(2, "b"), session="S"),
    says(3, response(1)),
    answers(4, response(2)),
    ends(3),
)
CANCELLED = (
    *OPENING,
    get(3, session="S"),
    replies(3, 405, allow="POST"),
    ends(3),
    post(4, call(1, "endless"), session="S"),
    opens(4),
    post(5, cancelled(1), session="S"),
    accepts(5),
    post(6, call(2, "a"), session="S"),
    opens(6),
    says(6, response(2)),
    ends(6, "closed", C2S),
    bodiless(7, "DELETE", session="S"),
    accepts(7, 200),
    ends(4),
)
POLLED = (
    *OPENING,
    post(3, call(1, "long"), session="S"),
    opens(3),
    [*says(3, b"", id="e1", retry=10), ends(3)],
    get(4, session="S", last_event_id="e1"),
    opens(4),
    [*says(4, response(1), id="e2"), ends(4)],
    post(5, call(2, "broken"), session="S"),
    opens(5),
    ends(5, "reset"),
)
STATELESS = (
    post(1, request("probe", "server/discover")),
    answers(1, response("probe", {"v": 1})),
    post(2, call(1, "a"), mcp_method="tools/call"),
    post(3, call(1, "b"), mcp_method="tools/call"),
    answers(3, response(1, {"b": 1})),
    opens(2),
    says(2, LOG),
    [*says(2, response(1, {"a": 1})), ends(2)],
    bodiless(4, "GET", to="/.well-known/oauth-protected-resource"),
    accepts(4, 404),
    post(5, request(2, "nothing")),
    answers(5, error(2, -32601), 404),
    get(6),
    accepts(6, 405),
    post(7, b"{torn"),
    answers(7, error(b"null", -32700), 400),
)
OLDER = (
    get(1, to="/sse"),
    opens(1),
    says(1, ENDPOINT, event="endpoint"),
    post(2, INITIALIZE, to=ENDPOINT.decode()),
    says(1, WELCOME, event="message"),
    accepts(2),
    post(3, INITIALIZED, to=ENDPOINT.decode()),
    accepts(3),
    post(4, call(1, "a"), to=ENDPOINT.decode()),
    post(5, call(2, "b"), to=ENDPOINT.decode()),
    accepts(4),
    says(1, response(2), event="message"),
    accepts(5),
    says(1, response(1), event="message"),
    ends(1, "closed", C2S),
)

EPISODES: dict[str, tuple[bool, Cassette]] = {
    "session": (False, over_http(in_session(2, *ROUND))),
    "concurrent": (False, over_http(in_session(2, *CONCURRENT))),
    "lingering": (False, over_http(in_session(2, *LINGERING))),
    "cancelled": (False, over_http(in_session(2, *CANCELLED))),
    "polled": (False, over_http(in_session(2, *POLLED))),
    "stateless": (True, over_http(in_session(1, *STATELESS))),
    "older": (False, over_http(in_session(2, *OLDER))),
}
"""By name: whether the exchanges belong to no session, and the recording."""
