"""An episode as a score: each recorded server frame as a cue, with what must have happened before
it is played.

This is where "who waits for whom" is decided, once for each episode and without a clock. `match`
finds which recorded client event a live message stands for; `pipeline.performance` plays the cues
when their causes have happened.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from functools import cached_property

import attrs

from mcpmock.protocol.messages import (
    C2S,
    S2C,
    Batch,
    Content,
    Direction,
    Frame,
    Message,
    Notification,
    Opaque,
    ProcessExit,
    Request,
    Response,
    Stderr,
    StreamEnd,
    member,
    parse_items,
)
from mcpmock.protocol.session import CANCELLED, PROGRESS, SUBSCRIPTION_PATH, Call, Note, Session

from .model import Episode


@attrs.frozen
class ClientEvent:
    """Something the recorded client did: `calls` are the requests in it, by number (a batch has
    several).
    """

    index: int
    frame: Frame
    calls: tuple[int, ...] = ()


@attrs.frozen
class RecordedCall:
    """A recorded client request: `event` is the index of the client event it came in."""

    event: int
    call: Call


@attrs.frozen
class Tie:
    """A value in a server frame that follows the live client: at `path`, in member `item` of a
    batch (None: no batch).

    It is the `id` or the `token` of client request number `call`.
    """

    call: int
    path: tuple[str, ...]
    token: bool = False
    item: int | None = None


@attrs.frozen
class Cue:
    """A recorded server frame. `index` is its place among the episode's events, and so its rank.

    `causes` are the indices of the client events that must have happened; `overlaps` those of
    requests that arrived, in the recording, before the answer `self` was given, and that are waited
    for as long as it makes sense. `gap` is the time in seconds between the last of what it had to
    wait for and itself. `calls` are the client requests it belongs to; `answers` says that it
    answers them.
    """

    index: int
    frame: Frame
    causes: frozenset[int]
    calls: tuple[int, ...] = ()
    answers: bool = False
    overlaps: tuple[int, ...] = ()
    ties: tuple[Tie, ...] = ()
    gap: float = 0.0
    chain: int | None = None
    """Cues of one chain are paced one after the other: those of one call, those of none, or
    (strict) all.
    """


@attrs.frozen
class Score:
    """The cues of an episode in recorded order, and its client events by index."""

    episode: Episode
    cues: tuple[Cue, ...]
    client: dict[int, ClientEvent]
    calls: tuple[RecordedCall, ...]
    replies: dict[bytes, tuple[int, ...]]
    """The client events that answer the server's requests, by the id of the request as it was
    spelled.
    """

    cancels: dict[int, tuple[int, ...]]
    """The client events that cancel a call, by its number."""

    @cached_property
    def places(self) -> dict[int, list[int]]:
        """The cues (by their place in `cues`) that belong to a call."""
        found: dict[int, list[int]] = {}
        for place, cue in enumerate(self.cues):
            for call in cue.calls:
                found.setdefault(call, []).append(place)
        return found

    @cached_property
    def dependents(self) -> dict[int, list[int]]:
        """Which cues (by their place in `cues`) wait for a client event."""
        found: dict[int, list[int]] = {}
        for place, cue in enumerate(self.cues):
            for cause in cue.causes:
                found.setdefault(cause, []).append(place)
        return found

    def excerpt(self, event: int) -> Score:
        """Only what belongs to the requests in one client event: for playing their answers once
        more.
        """
        calls = set(self.client[event].calls)
        places = sorted({place for call in calls for place in self.places.get(call, ())})
        cues = [self.cues[place] for place in places]
        inside = {event}.union(
            *(cue.causes for cue in cues), *(self._replies_to(cue) for cue in cues)
        )
        inside -= {index for index in inside if index < event}
        kept = [attrs.evolve(cue, causes=cue.causes & inside, overlaps=()) for cue in cues]
        client = {index: self.client[index] for index in inside}
        return attrs.evolve(self, cues=tuple(kept), client=client)

    def _replies_to(self, cue: Cue) -> tuple[int, ...]:
        content = cue.frame.content
        return self.replies.get(content.id, ()) if isinstance(content, Request) else ()


def compose(episode: Episode, *, strict: bool = False) -> Score:
    """The score of an episode. `strict` makes every cue wait for all that the client did
    before it.
    """
    composer = _Composer(strict=strict)
    for index, event in enumerate(episode.events):
        frame = event.frame
        if frame is None:
            continue
        if frame.direction is C2S:
            composer.client_event(index, frame, event.t)
        else:
            composer.server_event(index, frame, event.t)
    return Score(
        episode,
        tuple(composer.cues),
        composer.client,
        tuple(composer.calls),
        {id_: tuple(events) for id_, events in composer.replies.items()},
        {call: tuple(events) for call, events in composer.cancels.items()},
    )


@attrs.define
class _Composer:
    strict: bool
    cues: list[Cue] = attrs.field(factory=list)
    client: dict[int, ClientEvent] = attrs.field(factory=dict)
    calls: list[RecordedCall] = attrs.field(factory=list)
    replies: dict[bytes, list[int]] = attrs.field(factory=dict)
    cancels: dict[int, list[int]] = attrs.field(factory=dict)
    _session: Session = attrs.field(factory=Session)
    _requests: list[int] = attrs.field(factory=list)
    _latest: int | None = None
    _also: dict[int, set[int]] = attrs.field(factory=dict)
    """For a call: its cancel and the client's answers within it, which all that follows waits for
    too.
    """
    _within: dict[int, int] = attrs.field(factory=dict)
    """For a server request (by its event): the client's call it was made within."""
    _times: dict[int, int] = attrs.field(factory=dict)
    _chain_times: dict[int | None, int] = attrs.field(factory=dict)
    _closed: bool = False

    def client_event(self, index: int, frame: Frame, t: int) -> None:
        numbers = []
        for message in _messages(frame):
            note = self._note(C2S, message, index)
            if isinstance(message, Request) and note.call is not None:
                numbers.append(len(self.calls))
                self.calls.append(RecordedCall(index, note.call))
            elif isinstance(message, Response) and note.call is not None:
                self._reply(note.call, index)
            elif note.method == CANCELLED and note.call and note.call.direction is C2S:
                self.cancels.setdefault(note.call.index, []).append(index)
                self._also.setdefault(note.call.index, set()).add(index)
        if numbers:
            self._requests.append(index)
        self._closed = self._closed or isinstance(frame.fact, StreamEnd)
        self.client[index] = ClientEvent(index, frame, tuple(numbers))
        self._latest = index
        self._times[index] = t

    def server_event(self, index: int, frame: Frame, t: int) -> None:
        if self._closed and isinstance(frame.fact, StreamEnd | ProcessExit):
            return  # the server ended because its client had: replay ends by itself then
        calls: dict[int, None] = {}
        causes: set[int] = set()
        ties: list[Tie] = []
        answers = False
        batch = isinstance(frame.content, Batch)
        for item, message in enumerate(_messages(frame)):
            note = self._note(S2C, message, index)
            call = self._owner(note, message)
            answers = answers or (isinstance(message, Response) and call is not None)
            if call is None:
                continue
            causes |= {self.calls[call].event, *self._also.get(call, ())}
            if not isinstance(message, Opaque):
                calls[call] = None
            if isinstance(message, Request):
                self._within[index] = call
            ties += _ties(message, note, call, item if batch else None)
        if (not causes or self.strict) and self._latest is not None:
            causes = {self._latest}
        overlaps = self._overlaps(tuple(calls)) if answers and not self.strict else ()
        chain = None if self.strict else next(iter(calls), None)
        self.cues.append(
            Cue(
                index,
                frame,
                frozenset(causes),
                tuple(calls),
                answers,
                overlaps,
                tuple(ties),
                self._gap(causes, chain, t),
                chain,
            )
        )

    def _note(self, direction: Direction, message: Content, index: int) -> Note:
        if isinstance(message, Message):
            number = len(self.calls) if direction is C2S else index
            return self._session.note(direction, message, number)
        return Note()

    def _owner(self, note: Note, message: Content) -> int | None:
        """The client's call that a server message belongs to: its own, else the only one that is
        open.
        """
        if note.call is not None and note.call.direction is C2S:
            return note.call.index
        if note.call is not None and note.method == CANCELLED:
            return self._within.get(note.call.index)
        named = isinstance(message, Response) or note.method in (PROGRESS, CANCELLED)
        if named or not isinstance(message, Request | Notification | Opaque | Stderr):
            return None
        open_calls = self._session.open_calls(C2S)
        return open_calls[0].index if len(open_calls) == 1 else None

    def _reply(self, call: Call, index: int) -> None:
        """The client answered a request of the server."""
        self.replies.setdefault(call.request.id, []).append(index)
        outer = self._within.get(call.index)
        if outer is not None:
            self._also.setdefault(outer, set()).add(index)

    def _overlaps(self, calls: tuple[int, ...]) -> tuple[int, ...]:
        first = min(self.calls[call].event for call in calls)
        start = bisect_right(self._requests, first)
        return tuple(self._requests[start:])

    def _gap(self, causes: Iterable[int], chain: int | None, t: int) -> float:
        before = max((self._times[cause] for cause in causes), default=0)
        before = max(before, self._chain_times.get(chain, 0))
        self._chain_times[chain] = max(t, before)
        return max(t - before, 0) / 1_000_000


def _messages(frame: Frame) -> list[Content]:
    """What stands in a frame: the members of a batch, else itself alone."""
    content = frame.content
    return list(parse_items(frame.raw)) if isinstance(content, Batch) else [content]


def _ties(message: Content, note: Note, call: int, item: int | None) -> list[Tie]:
    """Where a server message names a client request, by the protocol's own paths; never by text
    search.
    """
    if isinstance(message, Response):
        paths: list[tuple[str, ...]] = [("id",)]
        if member(message.result, *SUBSCRIPTION_PATH) is not None:
            paths.append(("result", *SUBSCRIPTION_PATH))
        return [Tie(call, path, item=item) for path in paths]
    if not isinstance(message, Notification) or note.call is None:
        return []
    if note.call.direction is not C2S:
        return []
    if message.method == PROGRESS:
        return [Tie(call, ("params", "progressToken"), token=True, item=item)]
    path = ("requestId",) if message.method == CANCELLED else SUBSCRIPTION_PATH
    return [Tie(call, ("params", *path), item=item)]
