"""`ExtraPosts`: what faults add toward a server over HTTP, each message in a POST of its own.

A client's exchange has room for one message, so an added one needs another exchange. Its number is
negative, which no listener gives; its head is that of the client's own POST. The HTTP response to
it is discarded: the client has no connection on which it could come, and the recorder, which stands
in front, shows what the client sent and received. Over HTTP+SSE the JSON-RPC response comes on the
event stream all the same. Used by `engine`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import attrs

from mcpmock.protocol import messages as m
from mcpmock.protocol.mirrored_headers import fields_of

_COUNTED = ("content-length", "transfer-encoding")


@attrs.define
class ExtraPosts:
    """The POSTs that faults add in one session."""

    head: m.HttpRequest | None = None
    """The head of the client's newest POST."""
    newest: int = 0
    """The number of the newest exchange of a fault; 0 before the first."""

    def learn(self, frame: m.Frame) -> None:
        """Keep the head of a POST of the client, which is the first frame of its batch."""
        if type(frame.fact) is m.HttpRequest and frame.fact.has_body:
            self.head = frame.fact

    def unanswered(self, seen: Sequence[m.Frame]) -> Sequence[m.Frame]:
        """Return the frames without the HTTP responses to added POSTs."""
        if seen[0].direction is not m.S2C:
            return seen
        return [frame for frame in seen if frame.exchange is None or frame.exchange >= 0]

    def posted(self, frames: Sequence[m.Frame], unit: Sequence[m.Frame]) -> Sequence[m.Frame]:
        """Return the frames that a fault made of this unit, with a head in front of each message to
        the server that has none.
        """
        if frames[0].direction is not m.C2S or unit[0].exchange is None:
            return frames
        for frame in unit:
            self.learn(frame)
        came_before = unit[0].direction is m.C2S and not isinstance(unit[0].fact, m.HttpRequest)
        return list(self._posted(frames, {unit[0].exchange} if came_before else set()))

    def _posted(self, frames: Iterable[m.Frame], headed: set[int]) -> Iterator[m.Frame]:
        for frame in frames:
            number = frame.exchange
            assert number is not None
            if isinstance(frame.fact, m.HttpRequest):
                headed.add(number)
            if frame.fact is None and number not in headed:
                yield from self._post(frame.raw)
                continue
            if frame.fact is None:
                headed.discard(number)  # a POST has room for one message
            yield frame

    def _post(self, raw: bytes) -> Iterator[m.Frame]:
        if self.head is None:
            return
        self.newest -= 1
        head = m.HttpRequest("POST", self.head.target, list(_fields(self.head, raw)))
        yield m.Frame(m.C2S, fact=head, exchange=self.newest)
        yield m.Frame(m.C2S, raw, exchange=self.newest)


def _fields(head: m.HttpRequest, raw: bytes) -> Iterator[tuple[str, str]]:
    """Repeat the method and the name of the message in two fields, from 2026-07-28 on."""
    message = m.parse(raw)
    mirrored = {name.lower(): value for name, value in fields_of(message, None)}
    for name, value in head.headers:
        lower = name.lower()
        if lower not in _COUNTED:
            yield name, mirrored.get(lower, value)
