"""Makes the plan of an episode: decides, once and without a clock, which message waits for what.

The rules, of which `answer_index` keeps those for pipes, and `exchange_reader` those for HTTP:

* A server message waits for the request that it belongs to (`protocol.correlation` finds it), and
  for the cancels of that request and the client's replies within it that were recorded before. One
  without a request waits for the latest message of the client.
* Over HTTP everything also waits for the request of the exchange that carries it, and for what the
  response head waited for; the end of an exchange waits for all that the exchange carried.
* An answer overlaps the requests that had come before it was given; the end of the server overlaps
  all. A notification of a call overlaps what an earlier one of its method waited for that belonged
  to no call. What overlaps is waited for too, for a limited time.
* With `strict` a message waits for everything that the client did before it.

Events come in order, and each is looked at once: what later events change (the end of a stream that
is resumed, the answer of a head) is put right when they come or at the end. `plan.steps` says what
is one step, `plan.plan` holds the result, `schedule` plays it. Times are in microseconds, as in the
cassette, but for the pause of a planned message.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set

import attrs
from msgspec import UNSET, Struct, field
from msgspec.structs import replace

from mcpmock.cassette.model import Episode, Event
from mcpmock.playback.header_profile import LAST_EVENT, SESSION
from mcpmock.protocol.correlation import (
    CANCELLED,
    LISTEN,
    PROGRESS,
    SUBSCRIPTION_PATH,
    Attribution,
    Correlation,
    PendingCall,
    id_space,
)
from mcpmock.protocol.http_reply import EVENT_STREAM
from mcpmock.protocol.messages import (
    C2S,
    S2C,
    Batch,
    Content,
    Direction,
    ExchangeEnd,
    Frame,
    HttpBody,
    HttpRequest,
    HttpResponse,
    Message,
    Notification,
    Opaque,
    ProcessExit,
    Request,
    Response,
    SseMeta,
    Stderr,
    StopSignal,
    StreamEnd,
    answers_id,
    member,
    parse_items,
)
from mcpmock.protocol.transport_facts import NO_SESSION

from .plan import (
    AGREED_VERSION_PATH,
    NEVER,
    NO_OVERLAPS,
    ClientEvent,
    LiveValue,
    OverlapFinder,
    Overlaps,
    PlannedMessage,
    ReplayPlan,
    Times,
)
from .steps import EpisodeStep, steps

_NAMES_NOTHING = Attribution()
_EXCHANGE_FACTS = (HttpResponse, HttpBody, SseMeta, ExchangeEnd)


def build_plan(episode: Episode, *, strict: bool = False) -> ReplayPlan:
    """Return the plan of an episode. With `strict` every message waits for everything that the
    client did before it.
    """
    headed = any(event.http is not UNSET for event in episode.events)
    builder = PlanBuilder(episode.events, strict=strict, headed=headed)
    for step in steps(episode.events):
        builder.step(step)
    return builder.plan(episode)


class RecordedCall(Struct, frozen=True, gc=False):
    """A recorded client request: `event` is the index of the client event it came in."""

    event: int
    call: PendingCall


class _Dependencies(Struct, gc=False):
    """The calls that a server frame belongs to, and the client events that it waits for."""

    calls: dict[int, None] = field(default_factory=dict)
    causes: set[int] = field(default_factory=set)
    live_values: list[LiveValue] = field(default_factory=list)
    answers: bool = False


@attrs.define(eq=False, repr=False)
class _SessionState:
    """The latest events of one session."""

    latest_message: int | None = None
    """The latest message of the client."""
    latest_event: int | None = None
    """The latest client event of any kind, but for the resuming of a stream."""
    unowned: dict[str, int] = attrs.field(factory=dict)
    """By method: the cause of the last notification that belonged to no call."""


@attrs.define(eq=False, repr=False)
class RecordedExchange:
    """An exchange as far as it is planned."""

    number: int
    event: int = NEVER
    """Its client event."""
    calls: tuple[int, ...] = ()
    resumes: int | None = None
    """The exchange where the stream began that its request takes up."""
    head: HttpResponse | None = None
    head_place: int = 0
    causes: frozenset[int] = frozenset()
    """The causes of the response head, and so of everything on the exchange."""
    all_causes: set[int] = attrs.field(factory=set)
    """The causes of everything on the exchange: its end waits for all of them."""
    is_session: bool = False
    """It is the stream of HTTP+SSE that carries everything the server sends."""
    last: PlannedMessage | None = None
    left_us: int | None = None
    """When the client left."""

    @property
    def streams(self) -> bool:
        """Whether the response is an event stream."""
        return self.head is not None and self.head.media_type == EVENT_STREAM

    def missing_end(
        self, answered: Set[int], times_us: Mapping[int | None, int]
    ) -> list[PlannedMessage]:
        """Return the end of a response that was complete but whose end was not recorded: the client
        left first, or the recorder was stopped. `times_us` has the time of the latest message of
        each chain.
        """
        # The Python SDK 2.3 disconnects right after it has read the response.
        last = self.last
        if self.head is None or last is None or isinstance(last.frame.fact, ExchangeEnd):
            return []
        complete = bool(self.calls) and answered >= set(self.calls)
        if self.streams and not complete:
            return []
        t_us = times_us[last.chain]
        end = replace(
            last,
            causes=last.causes | self.all_causes,
            frame=Frame(S2C, fact=ExchangeEnd(), exchange=self.number),
            meta=None,
            answers=False,
            is_progress=False,
            overlaps=NO_OVERLAPS,
            live_values=(),
            gap_s=max((self.left_us or t_us) - t_us, 0) / 1_000_000,
            made_up=True,
        )
        return [end]


@attrs.define(eq=False, repr=False)
class PlanBuilder:
    """Takes the steps of an episode in order and makes its plan."""

    events: Sequence[Event]
    strict: bool
    headed: bool
    """Whether heads were recorded, so that exchanges can be played as such."""
    messages: list[PlannedMessage] = attrs.field(factory=list)
    client_events: dict[int, ClientEvent] = attrs.field(factory=dict)
    calls: list[RecordedCall] = attrs.field(factory=list)
    replies: dict[bytes, list[int]] = attrs.field(factory=dict)
    cancels: dict[int, list[int]] = attrs.field(factory=dict)
    session_ids: set[str] = attrs.field(factory=set)
    streams: dict[str, int] = attrs.field(factory=dict)
    _correlations: dict[tuple[int, int | None], Correlation] = attrs.field(factory=dict)
    _sessions: dict[int, _SessionState] = attrs.field(factory=dict)
    """There is more than one if sessions are merged."""
    _exchanges: dict[int, RecordedExchange] = attrs.field(factory=dict)
    requests: OverlapFinder = attrs.field(factory=OverlapFinder)
    _later_causes: dict[int, set[int]] = attrs.field(factory=dict)
    """By call: its cancel and the client's answers within it, which later messages wait for too."""
    _answered: set[int] = attrs.field(factory=set)
    _late_ends: list[tuple[int, PlannedMessage, RecordedExchange]] = attrs.field(factory=list)
    """Stream ends with an open call, as they are planned if the call is never answered."""
    _times: Times = attrs.field(factory=Times)
    _closed: bool = False
    """The client had ended its input, or the session."""
    _signalled: int | None = None
    """The place of the latest signal of the client, unless an answer shows that the server goes on.
    """
    _own_end: bool | None = None
    """The server ended by itself, and not because its client had ended the session; None before it
    ends.
    """

    def step(self, step: EpisodeStep) -> None:
        if step.frame.direction is C2S:
            self.client_step(step)
        else:
            self.server_step(step)

    def client_step(self, step: EpisodeStep) -> None:
        index, frame = step.place, step.frame
        if isinstance(frame.fact, ExchangeEnd):
            if (exchange := self._exchanges.get(frame.exchange or 0)) is not None:
                exchange.left_us = step.event.t
            return
        if isinstance(frame.fact, StopSignal):
            self._signalled = index
            return
        numbers = []
        correlation = self._correlation(step)
        for message in _messages(frame):
            note = self._note(C2S, message, step, correlation)
            if isinstance(message, Request) and note.call is not None:
                numbers.append(len(self.calls))
                self.calls.append(RecordedCall(index, note.call))
            elif isinstance(message, Response) and note.call is not None:
                self._reply(note.call, index)
            elif note.method == CANCELLED and note.call and note.call.direction is C2S:
                self.cancels.setdefault(note.call.index, []).append(index)
                self._later_causes.setdefault(note.call.index, set()).add(index)
        if numbers:
            self.requests.add(index)
        deletes = isinstance(frame.fact, HttpRequest) and frame.fact.method == "DELETE"
        self._closed = self._closed or deletes or isinstance(frame.fact, StreamEnd)
        self.client_events[index] = ClientEvent(index, frame, tuple(numbers), step.head)
        last_event = None if step.head is None else step.head.header(LAST_EVENT)
        if frame.exchange is not None:
            resumes = None if last_event is None else self.streams.get(last_event)
            self._exchanges[frame.exchange] = RecordedExchange(
                frame.exchange, index, tuple(numbers), resumes
            )
        session = self._session(step)
        if not isinstance(frame.fact, HttpRequest):
            session.latest_message = index
        if last_event is None:  # where a client loses its connection is chance: nothing follows
            session.latest_event = index
        self._times.of_event_us[index] = step.event.t

    def server_step(self, step: EpisodeStep) -> None:
        frame = step.frame
        if isinstance(frame.fact, (StreamEnd, ProcessExit)):
            if self._own_end is None:
                self._own_end = not self._ends_with_client(step)
            if not self._own_end:
                return  # the player ends by itself, when its client does
        exchange = self._exchange_of(frame)
        of_exchange = frame.fact is not None and isinstance(frame.fact, _EXCHANGE_FACTS)
        is_body = exchange is not None and exchange.head is not None and not exchange.streams
        dependencies = (
            self._exchange_dependencies(exchange)
            if of_exchange
            else self._message_dependencies(step, exchange)
        )
        causes = dependencies.causes
        wants_latest = self.strict or not (causes or of_exchange or is_body or _is_alone(step))
        latest = self._session(step).latest_message
        if wants_latest and latest is not None:
            causes = {latest}
        overlaps = self._overlaps_of(step, dependencies, causes, exchange)
        if exchange is not None:
            causes = {*causes, exchange.event, *exchange.causes}
        calls = tuple(dependencies.calls)
        if dependencies.answers:
            self._answered.update(calls)
            if any(self.calls[call].event > (self._signalled or 0) for call in calls):
                self._signalled = None
        chain = None if self.strict else _chain(calls, exchange)
        planned = PlannedMessage(
            step.place,
            frame if self.headed or frame.exchange is None else _without_exchange(frame),
            frozenset(causes),
            calls,
            dependencies.answers,
            overlaps,
            tuple(dependencies.live_values),
            self._times.gap_s(causes, chain, step.event.t),
            chain,
            step.meta,
            None if exchange is None or not self.headed else exchange.number,
            _is_progress(frame),
        )
        self.messages.append(planned)
        if exchange is not None:
            self._note_planned(exchange, planned, step)

    def plan(self, episode: Episode) -> ReplayPlan:
        for place, late, exchange in self._late_ends:
            if not self._answered.issuperset(exchange.calls):
                self.messages[place] = late
        for exchange in self._exchanges.values():
            self.messages += exchange.missing_end(self._answered, self._times.of_chain_us)
        self.messages.sort(key=lambda planned: planned.index)
        status = {
            exchange.event: exchange.head.status
            for exchange in self._exchanges.values()
            if exchange.head is not None
        }
        client = {
            index: replace(event, status=status[index]) if index in status else event
            for index, event in sorted(self.client_events.items())
        }
        return ReplayPlan(
            episode,
            tuple(self.messages),
            client,
            {id_: tuple(events) for id_, events in self.replies.items()},
            {call: tuple(events) for call, events in self.cancels.items()},
            self.streams,
            frozenset(self.session_ids),
            self.requests.ranks,
        )

    def _ends_with_client(self, step: EpisodeStep) -> bool:
        """Return whether the server ended because its client had ended the session."""
        if self._closed or self._signalled is not None:
            return True
        # Claude Code, Gemini and Copilot end a server by signals. Where one goes past the recorder,
        # or was recorded before signals were noted, only the exit tells.
        exits = (
            e.frame.fact for e in self.events[step.place :] if isinstance(e.end, dict) and e.frame
        )
        exit_ = next((fact for fact in exits if isinstance(fact, ProcessExit)), None)
        if exit_ is None or self._in_call:
            return False
        # Over HTTP the recorder closes the server's input at the end; no event says so.
        return exit_.stopped or (bool(self._exchanges) and exit_.status == 0)

    @property
    def _in_call(self) -> bool:
        """Whether the server owes an answer."""
        over = self._answered | self.cancels.keys()
        return any(
            number not in over and recorded.call.request.method != LISTEN
            for number, recorded in enumerate(self.calls)
        )

    def _overlaps_of(
        self,
        step: EpisodeStep,
        dependencies: _Dependencies,
        causes: set[int],
        exchange: RecordedExchange | None,
    ) -> Overlaps:
        """Return what a server message waits for besides its causes, for a limited time."""
        if self.strict:
            found = NO_OVERLAPS
        elif _ends_all(step.frame, exchange):
            found = self.requests.all()
        elif dependencies.answers:
            found = self.requests.after(min(self.calls[call].event for call in dependencies.calls))
        else:
            found = self._notification_overlaps(step, causes, owned=bool(dependencies.calls))
        if exchange is not None and exchange.left_us is not None:
            # Gives a live client the time to leave there too.
            return replace(found, others=(*found.others, NEVER))
        return found

    def _notification_overlaps(
        self, step: EpisodeStep, causes: set[int], *, owned: bool
    ) -> Overlaps:
        """Return the cause of an earlier notification of the same method that belongs to no call: a
        notification of a call gives it time.
        """
        # Log lines of one long call look so while other calls begin and end: they name no call.
        content = step.frame.content
        if not isinstance(content, Notification) or content.method == PROGRESS:
            return NO_OVERLAPS
        unowned = self._session(step).unowned
        if not owned:
            unowned[content.method] = max(causes, default=NEVER)
            return NO_OVERLAPS
        event = unowned.get(content.method, NEVER)
        return NO_OVERLAPS if event <= min(causes, default=event) else Overlaps(others=(event,))

    def _exchange_of(self, frame: Frame) -> RecordedExchange | None:
        """Return the exchange that carries a server frame. Without the recorded request it cannot
        be played.
        """
        number = frame.exchange
        if number is None:
            return None
        existing = self._exchanges.get(number)
        if existing is None and self.headed:
            existing = self._exchanges[number] = RecordedExchange(number)
        return existing

    def _exchange_dependencies(self, exchange: RecordedExchange | None) -> _Dependencies:
        """Let a fact of an exchange depend on the calls that were posted on it."""
        dependencies = _Dependencies()
        for call in () if exchange is None else exchange.calls:
            dependencies.calls[call] = None
            dependencies.causes |= {self.calls[call].event, *self._later_causes.get(call, ())}
        return dependencies

    def _message_dependencies(
        self, step: EpisodeStep, exchange: RecordedExchange | None
    ) -> _Dependencies:
        dependencies = _Dependencies()
        messages, correlation = _messages(step.frame), self._correlation(step)
        batch = isinstance(step.frame.content, Batch)
        for item, message in enumerate(messages):
            note = self._note(S2C, message, step, correlation)
            call = _owner(note, message, step, correlation)
            dependencies.answers |= isinstance(message, Response) and call is not None
            if call is None:
                continue
            dependencies.causes |= {self.calls[call].event, *self._later_causes.get(call, ())}
            if not isinstance(message, Opaque) or (exchange and call in exchange.calls):
                dependencies.calls[call] = None
            request = self.calls[call].call.request
            dependencies.live_values += _live_values(
                message, note, call, request, item if batch else None
            )
        return dependencies

    def _note_planned(
        self, exchange: RecordedExchange, planned: PlannedMessage, step: EpisodeStep
    ) -> None:
        """Note on the exchange what later messages of it depend on."""
        place = len(self.messages) - 1
        fact = planned.frame.fact
        if isinstance(fact, HttpResponse):
            exchange.head, exchange.head_place, exchange.causes = fact, place, planned.causes
            session = fact.header(SESSION)
            self.session_ids.update([session] if session else [])
        elif planned.answers and exchange.head is not None and not exchange.streams:
            head = self.messages[exchange.head_place]  # it was sent together with the answer
            self.messages[exchange.head_place] = replace(head, overlaps=planned.overlaps)
        elif isinstance(fact, ExchangeEnd) and exchange.streams:
            if not exchange.is_session:
                last = exchange.last
                planned = self.messages[-1] = replace(
                    planned,
                    causes=planned.causes | exchange.all_causes,
                    overlaps=last.overlaps if last and last.answers else planned.overlaps,
                )
            if not _is_alone(step):
                self._note_end(exchange, planned, step)
        elif planned.meta is not None and isinstance(meta := planned.meta.fact, SseMeta):
            names_endpoint = meta.event == "endpoint" and not exchange.calls
            exchange.is_session = exchange.is_session or names_endpoint
            if meta.id:
                self.streams.setdefault(meta.id, exchange.resumes or exchange.number)
        exchange.all_causes |= planned.causes
        exchange.last = planned

    def _note_end(
        self, exchange: RecordedExchange, planned: PlannedMessage, step: EpisodeStep
    ) -> None:
        """Note the end of a stream; one without an open call is the consequence of the latest
        client event. The end of a stream with an open call may be one too, or the stream is
        resumed: later events decide (`_late_ends`).
        """
        # Servers keep the stream of a GET, and the TypeScript server also that of a cancelled call,
        # until the session ends.
        cause = self._session(step).latest_event
        if cause is None:
            return
        late = delayed(planned, cause, step.event.t - self._times.of_event_us[cause])
        if exchange.calls:
            self._late_ends.append((len(self.messages) - 1, late, exchange))
        else:
            self.messages[-1] = late

    def _session(self, step: EpisodeStep) -> _SessionState:
        existing = self._sessions.get(step.event.s)
        if existing is None:
            existing = self._sessions[step.event.s] = _SessionState()
        return existing

    def _correlation(self, step: EpisodeStep) -> Correlation:
        space = id_space(step.event.s, step.event.x)
        existing = self._correlations.get(space)
        if existing is None:
            existing = self._correlations[space] = Correlation()
        return existing

    def _note(
        self, direction: Direction, message: Content, step: EpisodeStep, correlation: Correlation
    ) -> Attribution:
        if not isinstance(message, Message):
            return _NAMES_NOTHING
        return correlation.note(direction, message, len(self.calls), step.frame.exchange)

    def _reply(self, call: PendingCall, index: int) -> None:
        """Note that the client answered a request of the server."""
        self.replies.setdefault(call.request.id, []).append(index)
        if call.within is not None:
            self._later_causes.setdefault(call.within.index, set()).add(index)


def _owner(
    note: Attribution, message: Content, step: EpisodeStep, correlation: Correlation
) -> int | None:
    """Return the number of the client's call that a server message was sent for."""
    guess = isinstance(message, (Request, Notification, Opaque, Stderr))
    call = correlation.related(message, note, step.frame.exchange, guess=guess)
    return None if call is None else call.index


def delayed(end: PlannedMessage, cause: int, after_us: int) -> PlannedMessage:
    """Return the end of a stream that follows another client event (`cause`) after `after_us`."""
    gap_s = min(end.gap_s, max(after_us, 0) / 1_000_000)
    return replace(end, causes=end.causes | {cause}, gap_s=gap_s)


def _ends_all(frame: Frame, exchange: RecordedExchange | None) -> bool:
    """Return whether the server ends the whole session with this."""
    # A server that crashes in a call must crash in it too where the live client skipped an earlier
    # call: so this end waits for overlapping requests for a limited time, and for nothing else.
    if isinstance(frame.fact, ExchangeEnd):
        return exchange is not None and exchange.is_session
    return isinstance(frame.fact, (StreamEnd, ProcessExit))


def _is_alone(step: EpisodeStep) -> bool:
    """Return whether it is on an exchange without a session, which no other affects."""
    return step.event.s == NO_SESSION and step.event.x is not None


def _without_exchange(frame: Frame) -> Frame:
    """Return the frame for plans without HTTP heads."""
    return Frame(frame.direction, frame.raw, frame.eol, frame.fact)


def _is_progress(frame: Frame) -> bool:
    content = frame.content
    return isinstance(content, Notification) and content.method == PROGRESS


def _chain(calls: tuple[int, ...], exchange: RecordedExchange | None) -> int | None:
    if calls:
        return calls[0]
    return None if exchange is None else -1 - exchange.number


def _messages(frame: Frame) -> Sequence[Content]:
    """Return the members of a batch, else the frame itself."""
    content = frame.content
    return parse_items(frame.raw) if isinstance(content, Batch) else (content,)


def _live_values(
    message: Content, note: Attribution, call: int, request: Request, item: int | None
) -> list[LiveValue]:
    """Return where a server message names a client request, by the protocol's own paths; never by
    text search. An answer whose id the server made up keeps it.
    """
    if isinstance(message, Response):
        if message.id is None or not answers_id(request.id, message.id):
            return []
        paths: list[tuple[str, ...]] = [("id",)]
        if member(message.result, *SUBSCRIPTION_PATH) is not None:
            paths.append(("result", *SUBSCRIPTION_PATH))
        if request.method == "initialize":
            paths.append(AGREED_VERSION_PATH)
        return [LiveValue(call, path, item=item) for path in paths]
    if not isinstance(message, Notification) or note.call is None:
        return []
    if note.call.direction is not C2S:
        return []
    if message.method == PROGRESS:
        return [LiveValue(call, ("params", "progressToken"), token=True, item=item)]
    path = ("requestId",) if message.method == CANCELLED else SUBSCRIPTION_PATH
    return [LiveValue(call, ("params", *path), item=item)]
