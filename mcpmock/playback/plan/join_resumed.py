"""Joins an event stream whose client lost its connection and resumed it into one stream.

When the recorded client lost a response and asked for the rest with `Last-Event-ID` was chance: the
live client loses its connection elsewhere or not at all, and then
`transports.streamable_http.resumption` serves it. So what came on the later exchange moves to the
first. Where the *server* ended the response to be asked again, that is its behaviour and stays.
`session_selection` and `flatten_http` read recordings through this; recording is not changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import attrs
import msgspec
from msgspec import UNSET

from mcpmock.cassette.model import Event
from mcpmock.playback.header_profile import LAST_EVENT
from mcpmock.protocol.http_reply import EVENT_STREAM
from mcpmock.protocol.transport_facts import NO_SESSION, HttpRequest, HttpResponse

from .steps import is_message

_OK = 200
_Stream = int
"""The first exchange of an event stream."""


def resumed(events: list[Event]) -> list[Event]:
    """The events with each stream on the exchange it began on, and nothing twice on it. That its
    client left stays where it was.
    """
    joints = _Joints()
    for event in events:
        if event.x is not None and event.s != NO_SESSION:  # resuming needs a session
            joints.note(event)
    return list(joints.joined(events)) if joints.continues else events


@attrs.define
class _Joints:
    """Which exchanges continue which."""

    continues: dict[int, _Stream] = attrs.field(factory=dict)
    """By the exchange of the GET, the stream that it continues."""
    _asked: dict[int, _Stream] = attrs.field(factory=dict)
    _owners: dict[tuple[int, str], _Stream] = attrs.field(factory=dict)
    """The streams by session and the ids of their events."""
    _ended: set[_Stream] = attrs.field(factory=set)
    """Those whose server ended the response."""

    def note(self, event: Event) -> None:
        x = event.x or 0
        fact = None if event.http is UNSET else event.frame and event.frame.fact
        if isinstance(fact, HttpRequest):
            wanted = self._owners.get((event.s, fact.header(LAST_EVENT) or ""))
            if wanted is not None and wanted not in self._ended:
                self._asked[x] = wanted
        elif isinstance(fact, HttpResponse):
            if x in self._asked and fact.status == _OK and fact.media_type == EVENT_STREAM:
                self.continues[x] = self._asked[x]
        elif event.sse is not UNSET and event.sse.id:
            self._owners.setdefault((event.s, event.sse.id), self.continues.get(x, x))
        elif event.end is not UNSET and event.d == "s2c":
            self._ended.add(self.continues.get(x, x))

    def joined(self, events: Sequence[Event]) -> Iterator[Event]:
        last = {stream: x for x, stream in self.continues.items()}
        sent: set[tuple[_Stream, str]] = set()
        again: set[int] = set()
        """The exchanges on which an event comes that was sent before."""
        for event in events:
            x = event.x
            stream = None if x is None else self.continues.get(x, x)
            if x is None or stream not in last:
                yield event
                continue
            if event.sse is not UNSET and event.sse.id:
                known = stream, event.sse.id
                again |= {x} if known in sent else set()
                sent.add(known)
            is_over = event.end is not UNSET and event.d == "s2c" and x != last[stream]
            if not (is_over or x in again or (x != stream and event.http is not UNSET)):
                yield event if x == stream else msgspec.structs.replace(event, x=stream)
            if is_message(event):
                again.discard(x)
