"""`AnswerIndex`: which recorded message answers which, for a session that repeats what was recorded
in the spelling in which it was recorded; its `ExchangeIndex` has what exchanges carry besides
(`exchange_reader`). `known_answers` plays it.

It has numbers and hashes instead of planned messages: 100,000 events take a tenth of the time and
of the memory of a plan. It knows what is ordinary over pipes: calls, their answers and cancels,
progress, notifications, standard error, requests of the server and the client's replies. Every
other recording (with a batch, noise of the client, an answer to nothing, a server that ended first)
has none, and is planned by `plan.builder`, whose rules for what waits for what
these are.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from functools import cached_property

import attrs
from msgspec import UNSET, Struct

from mcpmock.cassette.model import Episode, Event, frame_at
from mcpmock.protocol.correlation import (
    CANCELLED,
    LISTEN,
    MAX_CLOSED_CALLS,
    MAX_OPEN_CALLS,
    PROGRESS,
    SUBSCRIPTION_PATH,
    TOKEN_PATH,
)
from mcpmock.protocol.id_table import IdTable
from mcpmock.protocol.messages import (
    Envelope,
    Fact,
    Frame,
    Message,
    Notification,
    Opaque,
    ProcessExit,
    Response,
    Stderr,
    StopSignal,
    StreamEnd,
    classify,
    member,
    read_envelopes,
)
from mcpmock.protocol.raw_json import locate_known, splice
from mcpmock.redaction.placeholders import NUMBER_MARK, PLACEHOLDER, holds_placeholder

from .header_profile import Fingerprint
from .request_key import BY_METHOD_ALONE, MessageKeys, match_subject

NONE = -1
_READ_TOGETHER = 512
TOKEN_NAME = b'"progressToken"'
SUBSCRIPTION = SUBSCRIPTION_PATH[-1].encode()


class WaitingMessage(Struct, frozen=True, gc=False):
    """A server message that is not a call's plain answer: at this `place` in the episode, for the
    call with the client number `call` (NONE: for none).
    """

    place: int
    call: int
    causes: tuple[int, ...]
    """The client numbers that it waits for."""
    stop: int = 0
    """Of an answer, how many requests had come when it was sent; 0 for others."""
    overlap: int = NONE
    """The client number that gives a notification time (`PlanBuilder`)."""
    is_progress: bool = False


class ExchangePart(Struct, frozen=True):
    """What leaves together on a recorded exchange: facts, a message if there is one, and facts."""

    exchange: int
    places: tuple[int, ...]
    """The places of all of them in the episode; the fields of an event are at that of its data."""
    before: tuple[Fact, ...] = ()
    after: tuple[Fact, ...] = ()
    has_message: bool = True


class ExchangeIndex(Struct, frozen=True, eq=False):
    """The exchanges of a session over HTTP."""

    numbers: Sequence[int]
    """The exchanges of the client messages, by the numbers of these."""
    profiles: Sequence[Fingerprint]
    """The profiles of their heads; an empty one of what is left to the player."""
    parts: Mapping[int, ExchangePart]
    """What leaves, by the place of its message, or of its first fact."""
    bodiless: Mapping[frozenset[tuple[str, str]], Sequence[int]]
    """The numbers of the requests without a body (GET, DELETE), by the fields of their profiles."""
    session_ids: frozenset[str]
    """The ids that the server gave the session, or their placeholders."""


class AnswerIndex(Struct, frozen=True, eq=False, dict=True):
    """The client messages of an episode by their numbers, which count them from 0."""

    episode: Episode
    places: Sequence[int]
    """Their places in the episode."""
    ranks: Sequence[int]
    """Which requests they are, counted from 0; NONE for other messages."""
    answers: Sequence[int]
    """The places of the answers that wait for nothing but the request; NONE without."""
    stops: Sequence[int]
    """How many requests had come when those were sent."""
    spelled: Mapping[int, Sequence[int]]
    """The numbers by the hash of their spelling, in recorded order."""
    waiting: Mapping[int, Sequence[WaitingMessage]]
    """The other server messages, by each client number that they wait for; by NONE those that
    wait for none.
    """
    replies: Mapping[bytes, Sequence[int]]
    """The numbers of the client's replies, by the ids of the server's requests."""
    cancels: Mapping[int, Sequence[int]]
    """The numbers of the client's cancels, by that of the call."""
    methods: Mapping[str, Sequence[int]]
    """The numbers of requests and notifications, by method."""
    holes: Sequence[int]
    """The numbers of messages with placeholders, which any value fits."""
    redacted: bool
    """Some messages hold placeholders."""
    end: int
    """The number of the end of the client's input; NONE without."""
    requests: Sequence[int]
    """The numbers of the requests."""
    written: Sequence[int]
    """The hashes of the requests as they are written, ids and all; NONE of a handshake, and of all
    that may be meant by what was sent for a placeholder.
    """
    exchanges: ExchangeIndex | None = None
    """What the exchanges carry, over HTTP."""

    @cached_property
    def keys(self) -> MessageKeys:
        """The client messages by what they ask, however it is spelled."""
        numbers = range(len(self.places))
        asked = ((number, match_subject(self.frame(number))) for number in numbers)
        return MessageKeys.of((number, one) for number, one in asked if one is not None)

    @cached_property
    def respelled(self) -> Set[int]:
        """The hashes of spellings of which others ask the same."""
        spellings = {number: one for one, numbers in self.spelled.items() for number in numbers}
        alike = (
            {spellings[number] for number in numbers if number in spellings}
            for numbers in self.keys.by_key.values()
        )
        return {one for found in alike if len(found) > 1 for one in found}

    def frame(self, number: int) -> Frame:
        """Return a client message."""
        frame = frame_at(self.episode.events, self.places[number])
        assert frame is not None
        return frame


def index_answers(episode: Episode) -> AnswerIndex | None:
    """Return the index of an episode over pipes; None if something in it needs a plan."""
    reading = IndexReader(episode.events)
    try:
        return reading.index(episode)
    except NotOrdinary:
        return None


def spelling(method: str, params: bytes | None) -> tuple[int, bytes | None]:
    """Return a hash of what a client message asks, as it is spelled, and its progress token. All
    handshakes of a method have the same hash.
    """
    token = None
    if params is not None and TOKEN_NAME in params:
        params, token = without_token(params)
    return hash((method, None if method in BY_METHOD_ALONE else params)), token


def without_token(params: bytes) -> tuple[bytes, bytes | None]:
    """Return parameters without the value of the progress token, and that."""
    token = member(params, *TOKEN_PATH)
    span = None if token is None else locate_known(params, TOKEN_PATH)
    return (params if span is None else splice(params, [(span, b"")])), token


class NotOrdinary(Exception):
    """Something is recorded that only a plan knows."""


@attrs.define(eq=False, repr=False)
class IndexReader:
    """Reads the events of an episode in order."""

    events: Sequence[Event]
    places: array[int] = attrs.field(factory=lambda: array("q"))
    ranks: array[int] = attrs.field(init=False)
    answers: array[int] = attrs.field(init=False)
    stops: array[int] = attrs.field(init=False)
    spelled: defaultdict[int, list[int]] = attrs.field(factory=lambda: defaultdict(list))
    waiting: dict[int, list[WaitingMessage]] = attrs.field(factory=dict)
    replies: dict[bytes, list[int]] = attrs.field(factory=dict)
    cancels: dict[int, list[int]] = attrs.field(factory=dict)
    methods: defaultdict[str, list[int]] = attrs.field(factory=lambda: defaultdict(list))
    holes: list[int] = attrs.field(factory=list)
    redacted: bool = False
    end: int = NONE
    requests: array[int] = attrs.field(factory=lambda: array("q"))
    written: array[int] = attrs.field(factory=lambda: array("q"))
    _open: dict[bytes, int] = attrs.field(factory=dict)
    """The open calls of the client, by id."""
    _by_token: IdTable[int] = attrs.field(factory=IdTable)
    _tokens: dict[int, bytes] = attrs.field(factory=dict)
    _closed: dict[bytes, int] = attrs.field(factory=dict)
    """The calls that were answered or cancelled, by id."""
    _closings: int = 0
    _closing: array[int] = attrs.field(init=False)
    """How many calls were closed before each of these, by client number."""
    _asked: dict[bytes, int] = attrs.field(factory=dict)
    """The open requests of the server by id, each with the call that it was sent for."""
    _later: dict[int, tuple[int, ...]] = attrs.field(factory=dict)
    """By call, its cancels and the client's replies within it: what follows waits for them too."""
    _unowned: dict[str, int] = attrs.field(factory=dict)
    """By method, what the last notification waited for that belonged to no call."""
    _notified: set[str] = attrs.field(factory=set)
    """The methods of notifications of the client."""
    _stopping: bool = False
    """The client has ended the session."""

    def __attrs_post_init__(self) -> None:
        none = array("q", [NONE]) * len(self.events)  # there are no more client messages than that
        self.ranks, self.answers, self.stops, self._closing = none[:], none[:], none[:], none

    def index(self, episode: Episode) -> AnswerIndex:
        for start in range(0, len(self.events), _READ_TOGETHER):
            known, events = len(self.places), self.events[start : start + _READ_TOGETHER]
            block = b"\n".join([event.m for event in events if event.m is not UNSET])
            self._read(start, events, block)
            if PLACEHOLDER in block or any(event.redacted for event in events):
                self.redacted = True
                if NUMBER_MARK in block:  # what was not said is 0, where a text stays as it is
                    raise NotOrdinary
                self._look_for_holes(known)
        if any(self.ranks[n] != NONE for name in self._notified for n in self.methods[name]):
            raise NotOrdinary
        for table in (self.ranks, self.answers, self.stops):
            del table[len(self.places) :]
        if self.holes:
            first = bisect_left(self.requests, self.holes[0])
            self.written[first:] = array("q", [NONE]) * (len(self.written) - first)
        return AnswerIndex(
            episode,
            self.places,
            self.ranks,
            self.answers,
            self.stops,
            self.spelled,
            self.waiting,
            self.replies,
            self.cancels,
            self.methods,
            self.holes,
            self.redacted,
            self.end,
            self.requests,
            self.written,
        )

    def _look_for_holes(self, first: int) -> None:
        for number in range(first, len(self.places)):
            frame = frame_at(self.events, self.places[number])
            if frame is not None and holds_placeholder(frame.raw):
                self.holes.append(number)

    def _read(self, first: int, events: Sequence[Event], block: bytes) -> None:
        """Read these events; the block is the messages in them."""
        envelopes = _envelopes_of(block)
        for place, event in enumerate(events, first):
            self._read_event(place, event, envelopes)
        if len(self._open) > MAX_OPEN_CALLS:
            raise NotOrdinary

    def _read_event(self, place: int, event: Event, envelopes: Iterator[Envelope]) -> None:
        if event.m is UNSET:
            self._note_other(place, event)
            return
        envelope = next(envelopes)
        if envelope.id is UNSET:
            self._note_notification(place, event, classify(envelope))
        elif envelope.method is UNSET:
            if event.d == "c2s":
                self._note_reply(place, bytes(envelope.id), envelope)
            else:
                self._note_answer(place, bytes(envelope.id), envelope)
        elif event.d == "s2c":
            self._note_question(place, bytes(envelope.id))
        else:
            self._note_request(place, envelope.method, bytes(event.m), envelope)

    def _note_request(self, place: int, method: str, raw: bytes, envelope: Envelope) -> None:
        assert envelope.id is not UNSET
        id_ = bytes(envelope.id)
        if id_ in self._open or self._stopping or method == LISTEN:
            raise NotOrdinary
        params = envelope.params
        key, token = spelling(method, None if params is UNSET else bytes(params))
        number = self._add(place)
        self.spelled[key].append(number)
        self.methods[method].append(number)
        self.ranks[number] = len(self.requests)
        self.requests.append(number)
        self.written.append(NONE if method in BY_METHOD_ALONE else hash(raw))
        self._open[id_] = number
        if token is not None:
            self._by_token.set(token, number)
            self._tokens[number] = token

    def _note_answer(self, place: int, id_: bytes, envelope: Envelope) -> None:
        if id_ not in self._open or id_ == b"null" or is_no_response(envelope):
            self._note_late_answer(place, id_, envelope)
            return
        call = self._close(id_)
        if call in self._later:
            self._wait(place, call, stop=len(self.requests))
        else:
            self.answers[call], self.stops[call] = place, len(self.requests)

    def _close(self, id_: bytes) -> int:
        """Close an open call; gives its number. One that had its id before is forgotten."""
        former = self._closed.get(id_, NONE)
        token = self._tokens.get(former)
        if token is not None and self._by_token.exact.get(token) == former:
            self._by_token.pop(token)
        call = self._closed[id_] = self._open.pop(id_)
        self._closing[call] = self._closings
        self._closings += 1
        return call

    def _note_client_notification(self, place: int, message: Notification) -> None:
        number = self._add(place)
        key, _ = spelling(message.method, message.params)
        self.spelled[key].append(number)
        self.methods[message.method].append(number)
        self._notified.add(message.method)
        if message.method == CANCELLED:
            self._note_cancel(number, message)

    def _note_reply(self, place: int, id_: bytes, envelope: Envelope) -> None:
        if id_ not in self._asked or is_no_response(envelope):
            raise NotOrdinary
        number, call = self._add(place), self._asked.pop(id_)
        self.replies.setdefault(id_, []).append(number)
        if call != NONE:
            self._later[call] = (*self._later.get(call, ()), number)

    def _note_cancel(self, number: int, notification: Notification) -> None:
        id_ = member(notification.params, "requestId")
        call = NONE if id_ is None else self._open.get(id_, NONE)
        if id_ is None or (call == NONE and id_ in self._asked):
            raise NotOrdinary
        if call == NONE:
            call = self._closed_call(id_)
        else:
            self._close(id_)
        self.cancels.setdefault(call, []).append(number)
        self._later[call] = (*self._later.get(call, ()), number)

    def _closed_call(self, id_: bytes) -> int:
        """Return the call that a late message names."""
        call = self._closed.get(id_, NONE)
        if call == NONE or self._is_forgotten(call):
            raise NotOrdinary
        return call

    def _is_forgotten(self, call: int) -> bool:
        closing = self._closing[call]
        return closing != NONE and self._closings - closing > MAX_CLOSED_CALLS

    def _add(self, place: int) -> int:
        self.places.append(place)
        return len(self.places) - 1

    def _note_question(self, place: int, id_: bytes) -> None:
        if id_ in self._asked:
            raise NotOrdinary
        call = self._asked[id_] = self._only_open
        self._wait(place, call)

    def _note_late_answer(self, place: int, id_: bytes, envelope: Envelope) -> None:
        if is_no_response(envelope):
            self._wait_for_call(place)
        elif id_ == b"null":  # it answers what the server could not read
            self._wait(place, NONE)
        else:
            self._wait(place, self._closed_call(id_), stop=len(self.requests))

    def _note_notification(self, place: int, event: Event, message: Message) -> None:
        if event.d == "s2c":
            if isinstance(message, Notification):
                self._note_server_notification(place, message)
            elif isinstance(message, Response):
                self._wait(place, NONE)
            else:
                self._wait_for_call(place)
        elif isinstance(message, Notification):
            self._note_client_notification(place, message)
        else:
            raise NotOrdinary

    def _note_server_notification(self, place: int, message: Notification) -> None:
        method = message.method
        if message.params is not None and SUBSCRIPTION in message.params:
            raise NotOrdinary
        if method == PROGRESS:
            call = self._call_of_progress(member(message.params, "progressToken"))
            if call != NONE and self._is_forgotten(call):
                raise NotOrdinary
            self._wait(place, call, is_progress=True)
            return
        if method == CANCELLED:
            raise NotOrdinary
        call = self._only_open
        if call == NONE:
            self._unowned[method] = self._latest
            self._wait(place, NONE)
        else:
            causes = self._causes(call)
            unowned = self._unowned.get(method, NONE)
            self._wait(place, call, overlap=unowned if unowned > min(causes) else NONE)

    def _note_other(self, place: int, event: Event) -> None:
        frame = event.frame
        if frame is None:
            return
        self.redacted = self.redacted or holds_placeholder(frame.raw)
        match frame.content:
            case Stderr():
                self._wait(place, self._only_open)
            case Opaque() if event.d == "s2c":
                self._wait_for_call(place)
            case StopSignal():
                self._stopping = True
            case StreamEnd() if event.d == "c2s" and self.end == NONE:
                self._stopping, self.end = True, self._add(place)
            case StreamEnd() | ProcessExit() if event.d != "c2s":
                self._stopping = self._stopping or self._was_stopped(place)
                if not self._stopping:
                    raise NotOrdinary
            case _:
                raise NotOrdinary

    def _was_stopped(self, place: int) -> bool:
        """Return whether the client ended the server by a signal that was not recorded."""
        ends = (e.frame.fact for e in self.events[place:] if isinstance(e.end, dict) and e.frame)
        exit_ = next((fact for fact in ends if isinstance(fact, ProcessExit)), None)
        return exit_ is not None and exit_.stopped and not self._open

    def _wait_for_call(self, place: int) -> None:
        """Let noise of the server wait for the open call, which it does not belong to."""
        call = self._only_open
        self._wait(place, NONE, causes=None if call == NONE else self._causes(call))

    def _wait(
        self,
        place: int,
        call: int,
        *,
        causes: tuple[int, ...] | None = None,
        stop: int = 0,
        overlap: int = NONE,
        is_progress: bool = False,
    ) -> None:
        if causes is None:
            causes = self._usual_causes(call)
        message = WaitingMessage(place, call, causes, stop, overlap, is_progress)
        for cause in causes:
            self.waiting.setdefault(cause, []).append(message)

    def _usual_causes(self, call: int) -> tuple[int, ...]:
        # Without a client message before it, it waits for none: NONE is the number before 0.
        return (self._latest,) if call == NONE else self._causes(call)

    def _causes(self, call: int) -> tuple[int, ...]:
        return (call, *self._later.get(call, ()))

    def _call_of_progress(self, token: bytes | None) -> int:
        call = None if token is None else self._by_token.find(token)
        return NONE if call is None else call

    @property
    def _latest(self) -> int:
        """The latest message of the client."""
        return len(self.places) - 1

    @property
    def _only_open(self) -> int:
        return next(iter(self._open.values())) if len(self._open) == 1 else NONE


def _envelopes_of(block: bytes) -> Iterator[Envelope]:
    found = read_envelopes(block)
    if found is None or len(found) != block.count(b"\n") + bool(block):
        raise NotOrdinary
    return iter(found)


def is_no_response(envelope: Envelope) -> bool:
    return envelope.result is UNSET and envelope.error is UNSET
