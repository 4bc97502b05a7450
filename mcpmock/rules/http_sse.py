"""Rules of the HTTP+SSE transport of 2024-11-05: the event that names the endpoint, and the target
of posted messages. Later revisions are spoken over it, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urljoin, urlsplit

import attrs

from mcpmock.protocol.messages import Frame

from .context import short
from .exchange import CheckedExchange
from .specification import Breach

_MESSAGE_EVENTS = (None, "", "message")


@attrs.define
class SseChecker:
    """Checks one HTTP+SSE session."""

    _path: str | None = None

    def check_event_data(self, exchange: CheckedExchange, frame: Frame) -> Iterator[Breach]:
        """Yield the breaches in an event."""
        event = None if exchange.event is None else exchange.event.event
        if event == "endpoint":
            self._path = _endpoint_path(exchange, frame)
        elif not frame.raw.strip():
            return
        elif self._path is None:
            self._path = ""
            yield Breach("sse-endpoint", "a message before the endpoint")
        elif event not in _MESSAGE_EVENTS:
            yield Breach("sse-event", f"a message as an event {short(event)}")

    def check_post(self, exchange: CheckedExchange) -> Iterator[Breach]:
        """Yield the breaches in the target of a POST."""
        if self._path and exchange.head is not None and exchange.head.path != self._path:
            text = f"posted to {short(exchange.head.path)}, the endpoint is {short(self._path)}"
            yield Breach("sse-post", text)


def _endpoint_path(exchange: CheckedExchange, frame: Frame) -> str:
    """Resolve the endpoint in an event against the stream; empty if it is not a URL."""
    base = "/" if exchange.head is None else exchange.head.target
    try:
        return urlsplit(urljoin(base, frame.raw.decode("utf-8", "replace").strip())).path
    except ValueError:
        return ""
