"""The HTTP+SSE transport of 2024-11-05, which later revisions are spoken over too: the event that
names the endpoint, and where messages go.
"""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urljoin, urlsplit

import attrs

from mcpmock.protocol.messages import Frame
from mcpmock.protocol.methods import FIRST

from .context import short
from .exchange import CheckedExchange
from .rule import Breach, Rule, must

_MESSAGE = (None, "", "message")


def _must(name: str, sentence: str) -> Rule:
    """Of the revision that has this transport, whichever is spoken over it."""
    return must(name, "basic/transports", sentence, until=FIRST)


RULES = (
    _must(
        "sse-endpoint",
        "When a client connects, the server MUST send an endpoint event containing a URI for the "
        "client to use for sending messages.",
    ),
    _must(
        "sse-post",
        "All subsequent client messages MUST be sent as HTTP POST requests to this endpoint.",
    ),
    _must(
        "sse-event",
        "Server messages are sent as SSE message events, with the message content encoded as JSON "
        "in the event data.",
    ),
)


@attrs.define
class Sse:
    """The watcher of one such session."""

    _path: str | None = None

    def data(self, exchange: CheckedExchange, frame: Frame) -> Iterator[Breach]:
        """What is wrong with the data of an event."""
        event = None if exchange.event is None else exchange.event.event
        if event == "endpoint":
            self._path = _path(exchange, frame)
        elif not frame.raw.strip():
            return
        elif self._path is None:
            self._path = ""
            yield Breach("sse-endpoint", "a message before the endpoint")
        elif event not in _MESSAGE:
            yield Breach("sse-event", f"a message as an event {short(event)}")

    def asked(self, exchange: CheckedExchange) -> Iterator[Breach]:
        """What is wrong with where a message was posted to."""
        if self._path and exchange.head is not None and exchange.head.path != self._path:
            text = f"posted to {short(exchange.head.path)}, the endpoint is {short(self._path)}"
            yield Breach("sse-post", text)


def _path(exchange: CheckedExchange, frame: Frame) -> str:
    """Of the endpoint that an event names, relative to where the stream is; empty where that is no
    URL.
    """
    base = "/" if exchange.head is None else exchange.head.target
    try:
        return urlsplit(urljoin(base, frame.raw.decode("utf-8", "replace").strip())).path
    except ValueError:
        return ""
