"""What a player says where the recording has nothing to say and no miss is made of it: pings and
probes, messages that want no answer but whose exchange does, streams that were never opened, and
sessions that are over. `answers` has the words, `player` asks.
"""

from __future__ import annotations

from mcpmock.protocol.messages import (
    Batch,
    Content,
    Frame,
    HttpRequest,
    Notification,
    Opaque,
    Request,
    Response,
    parse_items,
)

from .matcher import NearMiss
from .own_answers import (
    empty_result,
    exchange,
    method_not_found,
    parse_error,
    session_not_found,
    too_long,
)
from .request_assembly import ClientMessage
from .request_key import Asked

PROBE = "server/discover"
"""What clients ask to find out which era a server is of."""
OK, ACCEPTED, BAD_REQUEST, NOT_FOUND, NOT_ALLOWED, TOO_LARGE = 200, 202, 400, 404, 405, 413


class Fallback:
    """Who is asked before a request is a miss. This one knows nothing, the one of `stubs` does."""

    def answer(self, frame: Frame) -> list[Frame] | None:  # noqa: ARG002
        """What answers a live request that the recording does not; None where nothing does."""
        return None

    def near(self, live: Asked) -> list[NearMiss]:  # noqa: ARG002
        """What might have been meant by what is a miss, besides recorded requests."""
        return []


def ids_of(frame: Frame) -> list[bytes]:
    """The ids of the requests in a frame."""
    content: Content = frame.content
    items = parse_items(frame.raw) if isinstance(content, Batch) else [content]
    return [item.id for item in items if isinstance(item, Request)]


def name_of(frame: Frame) -> str:
    """What to call it, to people."""
    content = frame.content
    if isinstance(content, Notification | Request):
        return content.method
    if isinstance(content, HttpRequest):
        return f"{content.method} {content.path}"
    return "response" if isinstance(content, Response) else "noise"


def answer_request(heard: ClientMessage) -> list[Frame] | None:
    """The answer to a request that may be unknown; None for one that is a miss then."""
    content = heard.frame.content
    if not isinstance(content, Request):
        return None
    if content.method == "ping":
        return exchange(heard.exchange, OK, empty_result(content.id))
    if content.method == PROBE:
        refusal = method_not_found(content.id, content.method)
        return exchange(heard.exchange, BAD_REQUEST, refusal)
    return None


def answer_unasked(heard: ClientMessage, *, is_path: bool, in_session: bool) -> list[Frame]:
    """The response to an exchange that asks nothing in JSON-RPC. `is_path`: messages are posted to
    its path, so a client may open a stream there, or end its session.
    """
    if isinstance(heard.frame.content, Opaque):
        return exchange(heard.exchange, BAD_REQUEST, parse_error())
    if not isinstance(heard.frame.fact, HttpRequest):
        return exchange(heard.exchange, ACCEPTED)
    if not is_path:
        return exchange(heard.exchange, NOT_FOUND)
    if ends_session(heard) and in_session:
        return exchange(heard.exchange, OK)
    return exchange(heard.exchange, NOT_ALLOWED)


def answer_lost(heard: ClientMessage) -> list[Frame]:
    """The response to what names a session that is not there (any more)."""
    return exchange(heard.exchange, NOT_FOUND, session_not_found(ids_of(heard.frame)))


def answer_too_long(heard: ClientMessage) -> list[Frame]:
    return exchange(heard.exchange, TOO_LARGE, too_long(heard.size))


def ends_session(heard: ClientMessage) -> bool:
    """Whether the client says that its session is over."""
    fact = heard.frame.fact
    return isinstance(fact, HttpRequest) and fact.method == "DELETE"
