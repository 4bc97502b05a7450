"""`RecordedRequest`: a request of the recorded client, with all that belongs to it; `requests_of`
finds them in the events of one session of bare messages.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

import attrs

from mcpmock.cassette.model import Event
from mcpmock.protocol.correlation import PROGRESS, Correlation
from mcpmock.protocol.messages import (
    C2S,
    S2C,
    Message,
    Notification,
    Request,
    Response,
    decode,
    parse_items,
)

Word = Literal["progress", "question", "response"]


@attrs.frozen
class ReceivedMessage:
    """What the server sent for a request, in the event number `n`."""

    n: int
    word: Word


@attrs.define(eq=False)
class RecordedRequest:
    """A request in the event number `n`; `id` and `token` as they were written."""

    n: int
    id: bytes
    method: str
    params: Any = None
    token: bytes | None = None
    messages: list[ReceivedMessage] = attrs.field(factory=list)
    """Its progress, the questions that the server asked for it, and its response, in order."""
    others: list[int] = attrs.field(factory=list)
    """The events that belong to it besides: the client's replies, its cancel."""
    cancelled: bool = False
    seconds: float = 0.0
    """From the request to the response, or to the last message."""
    t: int = 0

    @property
    def json_id(self) -> Any:
        return decode(self.id)

    @property
    def answered(self) -> bool:
        return any(message.word == "response" for message in self.messages)

    @property
    def place(self) -> str:
        """Method and tool: two failures at one place may have one cause."""
        name = self.params.get("name") if isinstance(self.params, dict) else None
        return f"{self.method} {name}" if isinstance(name, str) else self.method

    @property
    def shown(self) -> str:
        """For people: `tools/call echo #3`."""
        return f"{self.place} #{self.json_id}"

    @property
    def events(self) -> set[int]:
        """The numbers of all its events."""
        return {self.n, *self.others, *(message.n for message in self.messages)}


def requests_of(events: Iterable[Event]) -> list[RecordedRequest]:
    """Return the client's requests, in the order they were sent. Batches are one message each."""
    correlation, found = Correlation(), list[RecordedRequest]()
    questions: dict[int, RecordedRequest] = {}
    for event, message in messages_of_events(events):
        direction = C2S if event.d == "c2s" else S2C
        note = correlation.note(
            direction, message, len(found) if direction is C2S else event.n, event.x
        )
        call = note.call
        if direction is C2S and isinstance(message, Request):
            params = None if message.params is None else decode(message.params)
            token = None if call is None else call.token
            found.append(
                RecordedRequest(event.n, message.id, message.method, params, token, t=event.t)
            )
        elif direction is C2S:
            if isinstance(message, Response) and call is not None and call.index in questions:
                questions[call.index].others.append(event.n)
            elif isinstance(message, Notification) and call is not None and call.direction is C2S:
                found[call.index].others.append(event.n)
                found[call.index].cancelled = True
        else:
            owner = correlation.related(message, note, event.x, guess=isinstance(message, Request))
            if owner is None:
                continue
            request = found[owner.index]
            word = word_of(message)
            if word is not None and not note.late:
                request.messages.append(ReceivedMessage(event.n, word))
                request.seconds = max(event.t - request.t, 0) / 1_000_000
            if word == "question":
                questions[event.n] = request
    return found


def messages_of_events(events: Iterable[Event]) -> Iterable[tuple[Event, Message]]:
    """Yield the JSON-RPC messages in events, those of a batch one by one."""
    for event in events:
        frame = event.frame
        if frame is not None and frame.fact is None:
            for message in parse_items(frame.raw):
                yield event, message


def word_of(message: Message) -> Word | None:
    """Return what a message of the server is to the call that it belongs to."""
    match message:
        case Request():
            return "question"
        case Response():
            return "response"
        case Notification(method=method) if method == PROGRESS:
            return "progress"
        case _:
            return None


def richest(sessions: Sequence[Sequence[Event]]) -> int:
    """Return the index of the session with the most requests: the one that is explored."""
    sizes = [sum(isinstance(m, Request) for _, m in messages_of_events(s)) for s in sessions]
    return sizes.index(max(sizes)) if sizes else 0
