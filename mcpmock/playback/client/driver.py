"""`Driver`: a stage that plays the client of a recording to a live server.

It stands at the client's end of a pipeline and sends only towards the server; what comes back ends
here, except standard error. Each recorded line is sent once the server has sent what it had sent
before that line in the recording, or once `client.expectations` gives up waiting. `client.script`
holds the lines, the transports make exchanges of them, `sessions.drive` compares what came.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import inf
from typing import Any

import attrs
from msgspec import Struct

from mcpmock.pipeline.stage import Action, Hangup, Send, Stage, Wake
from mcpmock.playback.fallback import empty_result, method_not_found
from mcpmock.playback.timing import Timing
from mcpmock.playback.variables import Bindings, unify
from mcpmock.printable import first_of
from mcpmock.protocol.correlation import CANCELLED, TOKEN_PATH, Correlation, PendingCall
from mcpmock.protocol.messages import (
    C2S,
    S2C,
    Fragment,
    Frame,
    Message,
    Notification,
    Opaque,
    ProcessExit,
    Request,
    Response,
    Stderr,
    StreamEnd,
    decode,
    member,
    parse_items,
)
from mcpmock.protocol.raw_json import locate, splice
from mcpmock.protocol.reassembly import Reassembly
from mcpmock.redaction.placeholders import fill, holds_placeholder

from .expectations import Expectations, Patience
from .script import (
    TOKENS,
    ClientScript,
    LearnedValue,
    ScriptLine,
    ScriptReply,
    ServerRequests,
    ValuePath,
    expected_event,
    find_values,
)

ReportLine = Callable[[str], None]
AnswerObserver = Callable[[int, Response, float], None]
"""Gets the number of a call in the script, the first answer to it and the seconds from the one to
the other.
"""
_MAX_HELD_REPLIES = 1000
"""How many replies wait for their time; further ones are sent at once."""
_MAX_WORDS = 5
"""How many items of a list are named in one line."""
MAX_NOISE = 10_000
"""How many lines in a row that are not messages end the run."""
_MAX_UNRECORDED_NAMED = 20
"""How many methods that were never recorded are named."""


class _HeldReply(Struct, frozen=True):
    """A reply to be sent at `due` and after `after` lines, but not later than `latest`."""

    frame: Frame
    due: float
    after: int
    latest: float


@attrs.define(eq=False, repr=False)
class Driver(Stage):
    """Plays one client. `report` gets a line for each missing message of the live server."""

    script: ClientScript
    timing: Timing = attrs.field(factory=Timing)
    patience: Patience = attrs.field(factory=Patience)
    report: ReportLine = lambda _line: None
    owes: Callable[[bytes], bool] | None = None
    """Whether the server may still answer the request with this id: a fault may have taken it away.
    Without it every request is waited for.
    """
    given_up: list[bytes] = attrs.field(factory=list)
    """The ids of the requests that were not answered in time."""
    on_answer: AnswerObserver = lambda _call, _answer, _seconds: None
    failed: int = 0
    """How many answers were missing, and how often the server ended early, refused the client or
    sent unrecorded requests.
    """
    cancelled: list[int] = attrs.field(factory=list)
    """The calls that were open when the client cancelled them."""
    _next: int = 0
    _correlation: Correlation = attrs.field(factory=Correlation)
    _call_events: list[int] = attrs.field(factory=list)
    """The event numbers of the calls, by call."""
    _call_ids: dict[int, bytes] = attrs.field(factory=dict)
    _learning: dict[int, set[ValuePath]] = attrs.field(factory=dict)
    _learned_values: dict[tuple[int, ValuePath], bytes] = attrs.field(factory=dict)
    """The learned live values as the server wrote them, by call and path."""
    _tokens: dict[int, bytes] = attrs.field(factory=dict)
    """The live progress tokens, by the recorded server requests that gave them."""
    _bindings: Bindings = attrs.field(factory=dict)
    _replies: list[_HeldReply] = attrs.field(factory=list)
    _unrecorded: set[str] = attrs.field(factory=set)
    _reassembly: Reassembly = attrs.field(factory=Reassembly)
    _silences: int = 0
    _noise: int = 0
    """The lines that are not messages, since the last message."""
    _alarm: float = inf
    """The next time at which the pipeline wakes this stage: one is enough."""
    _over: bool = False

    def __attrs_post_init__(self) -> None:
        replies = [one.reply for one in self.script.server_requests if one.reply is not None]
        note_activity: list[ScriptLine | ScriptReply] = [*self.script.lines, *replies]
        for one in note_activity:
            for learned in one.learned:
                self._learning.setdefault(learned.call, set()).add(learned.found)
        self._server_requests = ServerRequests(self.script.server_requests)
        self._expectations = Expectations(self.script, self.patience)

    def begin(self, now: float) -> Iterable[Action]:
        """Send nothing yet: the stages behind have not begun."""
        self._expectations.note_activity(now)
        self._start_line(now)
        return (Wake(now),)

    def feed(self, seen: Sequence[Frame], now: float) -> Iterable[Action]:
        if seen[0].direction is C2S:
            self._over = True  # a stage in front ends the session
            return (Send(seen),)
        self._expectations.note_activity(now)
        for frame in seen:
            if isinstance(frame.fact, ProcessExit):
                self._note_server_end()
                self._over = True
                return (Hangup("the server ended"),)
            if isinstance(frame.fact, StreamEnd):
                self._note_server_end()
            self._receive_frame(frame, now)
        logged = [frame for frame in seen if isinstance(frame.fact, Stderr)]
        return (Send(logged), *self._go_on(now))

    def wake(self, now: float) -> Iterable[Action]:
        if now >= self._alarm:
            self._alarm = inf
        return self._go_on(now)

    @property
    def left(self) -> int:
        """How many of the client's lines were not sent, not counting the end of its input."""
        return sum(line.frame.fact is None for line in self.script.lines[self._next :])

    def unanswered(self) -> list[int]:
        """Return the calls that got no answer where one was recorded, and those that were not
        sent.
        """
        calls = sum(len(line.calls) for line in self.script.lines)
        return [*self._expectations.unanswered(), *range(len(self._call_events), calls)]

    def report_not_sent(self) -> None:
        """Report the messages that were recorded and did not come: once the session is over, since
        one that takes longer than a line waits for it is no difference.
        """
        events = [self._describe_event(*event) for event in self._expectations.not_sent]
        if events:
            self.report("not sent by the server: " + first_of(events, _MAX_WORDS))

    # What the server sends.

    def _receive_frame(self, frame: Frame, now: float) -> None:
        raw: bytes | None = frame.raw if frame.fact is None else None
        if isinstance(frame.fact, Fragment):
            whole = self._reassembly.add(frame)
            raw = None if whole is None or whole.too_long else whole.frame.raw
        for message in () if raw is None else parse_items(raw):
            if isinstance(message, Opaque):
                self._note_noise()
            else:
                self._silences = self._noise = 0
                self._receive(message, now)

    def _note_noise(self) -> None:
        """Note a line that is not a message; a server that writes them without end is given up."""
        self._noise += 1
        if self._noise == MAX_NOISE and not self._over:
            lines = f"{MAX_NOISE} lines that are not JSON-RPC messages, and none that is"
            self._fail(f"the server sent {lines}; {self._count_unsent()}")
            self._skip_to_end()

    def _receive(self, message: Message, now: float) -> None:
        note = self._correlation.note(S2C, message, 0)
        if isinstance(message, Request):
            self._reply(message, now)
        if isinstance(message, Response) and note.call is not None:
            self._learn(note.call.index, message)
            self._note_refusal(note.call, message)
            seconds = self._expectations.answered(note.call.index, now)
            if seconds is not None:
                self.on_answer(note.call.index, message, seconds)
        event = expected_event(message, note)
        if event is not None:
            self._expectations.note_event(event, now)

    def _note_refusal(self, call: PendingCall, answer: Response) -> None:
        """Report an error in the place of the welcome: the client did not get further."""
        welcomed = call.request.method == "initialize" and call.index not in self.script.errors
        if welcomed and answer.error is not None:
            self.failed += 1
            self.report("the server answered initialize with an error")

    def _learn(self, call: int, response: Response) -> None:
        result = response.result or b""
        wanted = self._learning.pop(call, set())
        for path, span in find_values(result, TOKENS) if wanted else ():
            live = result[slice(*span)]
            if path in wanted and live != b"null":
                self._learned_values[call, path] = live
        recorded = self.script.redacted_results.get(call)
        if recorded is not None:
            self._bind(decode(recorded), decode(result))

    def _bind(self, recorded: Any, live: Any) -> None:
        """Bind placeholders in a recorded answer to live values; ignore other differences."""
        stack = [(recorded, live)]
        while stack:
            one, other = stack.pop()
            if isinstance(one, dict) and isinstance(other, dict):
                stack += [(value, other[name]) for name, value in one.items() if name in other]
            elif isinstance(one, list) and isinstance(other, list):
                stack += list(zip(one, other, strict=False))
            elif isinstance(one, str) and holds_placeholder(one):
                self._bindings = unify(one, other, self._bindings) or self._bindings

    def _reply(self, request: Request, now: float) -> None:
        """Send the recorded answer to an equivalent server request."""
        number = self._server_requests.find(request)
        if number is None:
            self._refuse(request, now)
            return
        token = member(request.params, *TOKEN_PATH)
        if token is not None:
            self._tokens[number] = token
        reply = self.script.server_requests[number].reply
        if reply is None:
            return
        frame = self._with_live_values(reply.frame, reply.learned)
        span = locate(frame.raw, ("id",))
        raw = frame.raw if span is None else splice(frame.raw, [(span, request.id)])
        frame = Frame(C2S, raw, frame.eol)
        latest = now + max(self.patience.event, self.patience.times * reply.delay)
        due = now + self.timing.pause(reply.gap)
        full = len(self._replies) >= _MAX_HELD_REPLIES
        after = 0 if full else reply.after
        self._replies.append(_HeldReply(frame, now if full else due, after, max(due, latest)))

    def _refuse(self, request: Request, now: float) -> None:
        """Refuse a server request that was never recorded; a ping gets its answer."""
        if request.method == "ping":
            answer = empty_result(request.id)
        else:
            answer = method_not_found(request.id, request.method)
            self.failed += 1
            if (
                request.method not in self._unrecorded
                and len(self._unrecorded) < _MAX_UNRECORDED_NAMED
            ):
                self._unrecorded.add(request.method)
                self.report(f"the server asked for {request.method}, which was never recorded")
        self._replies.append(_HeldReply(Frame(C2S, answer.raw), now, 0, now))

    # What the client sends.

    def _go_on(self, now: float) -> Iterable[Action]:
        """Send what can be sent, and say when to wake."""
        out: list[Frame] = []
        while not self._over:
            frame = self._next_reply(now) or self._next_line(now)
            if frame is None:
                break
            out.append(frame)
        actions: list[Action] = [Send(out)]
        at = inf if self._over else self._due(now)
        if at < self._alarm:
            self._alarm = at
            actions.append(Wake(at))
        return actions

    def _due(self, now: float) -> float:
        """Return when the next thing is sent at the latest, if the server sends nothing more."""
        times = [held.due if held.after <= self._next else held.latest for held in self._replies]
        return max(min([*times, self._line_due(now)]), now)

    def _line_due(self, now: float) -> float:
        waits = self._expectations
        if self.owes is not None and waits.awaited:
            # Looked at once both sides are quiet: a fault may hold the request for a moment.
            quiet_at = min(waits.quiet_at, waits.until())
            if now < quiet_at:
                return quiet_at
            for call in [one for one in waits.awaited if not self.owes(self._call_ids[one])]:
                waits.cancelled(call)
                waits.forget(call, now)
        ready = waits.ready_at
        if ready is None:
            return waits.until()
        return ready + self.timing.pause(self.script.lines[self._next].gap)

    def _next_reply(self, now: float) -> Frame | None:
        for place, held in enumerate(self._replies):
            if held.due <= now and (held.after <= self._next or held.latest <= now):
                del self._replies[place]
                self._send(held.frame, now)
                return held.frame
        return None

    def _next_line(self, now: float) -> Frame | None:
        if now < self._line_due(now):
            return None
        if self._expectations.ready_at is None:
            self._give_up()
        line = self.script.lines[self._next]
        frame = self._with_live_values(line.frame, line.learned, line.about)
        self._next += 1
        self._call_events += [line.n] * len(line.calls)
        self._over = isinstance(frame.fact, StreamEnd)
        self._send(frame, now, line.calls)
        self._start_line(now)
        return frame

    def _start_line(self, now: float) -> None:
        if self._next < len(self.script.lines):
            self._expectations.start_line(self.script.lines[self._next], now)

    def _send(self, frame: Frame, now: float, calls: Sequence[int] = ()) -> None:
        """Take note of a frame that is sent; `calls` are the requests in it."""
        self._expectations.note_activity(now, calls)
        numbers = iter(calls)
        for message in parse_items(frame.raw):
            number = next(numbers, 0) if isinstance(message, Request) else 0
            if isinstance(message, Request):
                self._call_ids[number] = message.id
            note = self._correlation.note(C2S, message, number)
            cancels = isinstance(message, Notification) and message.method == CANCELLED
            if (
                cancels
                and note.call is not None
                and note.call.direction is C2S
                and self._expectations.cancelled(note.call.index)
            ):
                self.cancelled.append(note.call.index)

    def _with_live_values(
        self, frame: Frame, learned: Iterable[LearnedValue], about: int | None = None
    ) -> Frame:
        found = {one.path: self._learned_values.get((one.call, one.found)) for one in learned}
        raw = frame.raw
        if found:
            places = ((span, found.get(path)) for path, span in find_values(raw, TOKENS.values()))
            raw = splice(raw, [(span, live) for span, live in places if live is not None])
        if about in self._tokens:
            span = locate(raw, ("params", "progressToken"))
            raw = raw if span is None else splice(raw, [(span, self._tokens[about])])
        if holds_placeholder(raw):
            raw = fill(raw, self._bindings)
        return Frame(C2S, raw, frame.eol, frame.fact)

    # What does not come.

    def _give_up(self) -> None:
        """Stop waiting for what the next line still misses."""
        waits = self._expectations
        if waits.awaited:
            self.given_up += [self._call_ids[call] for call in sorted(waits.awaited)]
            self._fail(f"no answer to {self._list_calls(waits.awaited)}", len(waits.awaited))
            self._silences += 1
        waits.not_sent += waits.missing
        waits.give_up()
        if self._silences >= self.patience.silences and self.left:
            self._fail(f"the server sends nothing any more; {self._count_unsent()}")
            self._skip_to_end()

    def _note_server_end(self) -> None:
        """Note that the server ended: no line can be sent any more, except the end of the input."""
        if self._over:
            return
        if self.left:
            self._fail(f"the server ended; {self._count_unsent()}")
        elif self._expectations.awaited:
            calls = self._list_calls(self._expectations.awaited)
            self._fail(f"the server ended without an answer to {calls}")
        self._skip_to_end()

    def _skip_to_end(self) -> None:
        """Skip to the end of the input, which waits for nothing."""
        self._replies.clear()
        self._next = len(self.script.lines) - 1
        self._expectations.give_up()
        self._expectations.ready_at = -inf

    def _count_unsent(self) -> str:
        return f"recorded messages left to send: {self.left}"

    def _list_calls(self, calls: Iterable[int]) -> str:
        events = sorted({self._call_events[call] for call in calls})
        return "the request in " + first_of([f"event {n}" for n in events], _MAX_WORDS)

    def _describe_event(self, kind: str, call: int | None) -> str:
        return kind if call is None else f"{kind} for event {self._call_events[call]}"

    def _fail(self, line: str, times: int = 1) -> None:
        self.failed += times
        self.report(line)
