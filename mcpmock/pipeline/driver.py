"""`Driver`: a stage that plays the client of a recording to a live server.

It stands at the client's end of the row and only sends towards the server; what comes back ends
here. Each recorded line goes out once the server has done what it had done before that line in the
recording: answers are waited for as long as they may reasonably take, anything else for a moment
only, for a server that no longer says it must not stop the drive. `cassette.part` knows the lines,
the transports' rules make exchanges of them, `modes` compares what came.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import attrs

from mcpmock.cassette.part import Line, Part, Question, Sign, sign_of
from mcpmock.cassette.redact import PLACEHOLDER
from mcpmock.cassette.variables import Bindings, same, unify
from mcpmock.protocol.messages import (
    C2S,
    S2C,
    Frame,
    Message,
    ProcessExit,
    Request,
    Response,
    StreamEnd,
    decode,
    encode,
    parse_items,
)
from mcpmock.protocol.session import Session
from mcpmock.protocol.spans import locate, splice
from mcpmock.protocol.stage import Action, Hangup, Send, Stage, Wake

from .answers import empty_result, method_not_found
from .rendering import fill
from .timing import Timing

Tell = Callable[[str], None]


@attrs.frozen
class Patience:
    """How long the driver waits, in seconds: for an answer at least `answer` and `times` what it
    took in the recording; for anything else `sign`, from the last that was heard.
    """

    answer: float = 10.0
    times: float = 5.0
    sign: float = 0.5


@attrs.define
class Driver(Stage):
    """Plays one client's part. `tell` hears, in a line each, what the live server did not do."""

    part: Part
    timing: Timing = attrs.field(factory=Timing)
    patience: Patience = attrs.field(factory=Patience)
    tell: Tell = lambda _line: None
    failed: int = 0
    """How often the server did not do what the client waited for, or was gone."""
    _next: int = 0
    _session: Session = attrs.field(factory=Session)
    _calls: int = 0
    _open: dict[int, float] = attrs.field(factory=dict)
    """The calls without an answer, and since when."""
    _answers: dict[int, Any] = attrs.field(factory=dict)
    """The results of the calls from which something is learned."""
    _bindings: Bindings = attrs.field(factory=dict)
    _heard: Counter[Sign] = attrs.field(factory=Counter)
    _wanted: Counter[Sign] = attrs.field(factory=Counter)
    """What had been heard of each kind by the line that is next."""
    _unasked: list[Question] = attrs.field(init=False)
    _replies: list[tuple[float, Frame]] = attrs.field(factory=list)
    _last: float = 0.0
    """When the server, or the driver, last said something."""
    _over: bool = False

    def __attrs_post_init__(self) -> None:
        self._unasked = list(self.part.questions)
        self._learning = {learned.call for line in self.part.lines for learned in line.learned}
        self._want()

    def begin(self, now: float) -> Iterable[Action]:
        """Nothing is said yet: the stages behind have not begun."""
        self._last = now
        return (Wake(now),)

    def feed(self, seen: Sequence[Frame], now: float) -> Iterable[Action]:
        if seen[0].direction is C2S:
            self._over = True  # we were told to stop
            return (Send(seen),)
        self._last = now
        for frame in seen:
            if isinstance(frame.fact, ProcessExit):
                return self._lost()
            for message in parse_items(frame.raw) if frame.fact is None else ():
                self._hear(message, now)
        return self._go_on(now)

    def wake(self, now: float) -> Iterable[Action]:
        return self._go_on(now)

    @property
    def left(self) -> int:
        """How many of the client's lines were not sent, but for the end of its input."""
        return sum(line.frame.fact is None for line in self.part.lines[self._next :])

    def _hear(self, message: Message, now: float) -> None:
        note = self._session.note(S2C, message, 0)
        if isinstance(message, Request):
            self._reply(message, now)
        if isinstance(message, Response) and note.call is not None:
            self._learn(note.call.index, message)
        elif (sign := sign_of(message, note)) is not None:
            self._heard[sign] += 1

    def _learn(self, call: int, response: Response) -> None:
        if self._open.pop(call, None) is None:
            return
        recorded = self.part.answers.get(call, b"")
        if call in self._learning:
            self._answers[call] = decode(response.result or b"null")
        if PLACEHOLDER in recorded:
            old = decode(recorded)
            live = decode(response.result or b"null")
            self._bind(old.get("result") if isinstance(old, dict) else None, live)

    def _bind(self, recorded: Any, live: Any) -> None:
        """What stood for secrets in the recorded answer has the live values from now on; whatever
        else differs is no matter here.
        """
        stack = [(recorded, live)]
        while stack:
            one, other = stack.pop()
            if isinstance(one, dict) and isinstance(other, dict):
                stack += [(value, other[name]) for name, value in one.items() if name in other]
            elif isinstance(one, list) and isinstance(other, list):
                stack += list(zip(one, other, strict=False))
            elif isinstance(one, str) and PLACEHOLDER.decode() in one:
                self._bindings = unify(one, other, self._bindings) or self._bindings

    def _reply(self, request: Request, now: float) -> None:
        """To a question of the server's, what the recorded client said to the like of it."""
        question = self._question(request)
        if question is None:
            empty = empty_result if request.method == "ping" else None
            unknown = method_not_found(request.id, request.method)
            answer = unknown if empty is None else empty(request.id)
            self._replies.append((now, Frame(C2S, answer.raw)))
            if empty is None:
                self._tell(f"the server asked for {request.method}, which was never recorded")
        elif question.reply is not None:
            raw = question.reply.raw
            span = locate(raw, ("id",))
            raw = raw if span is None else splice(raw, [(span, request.id)])
            due = now + self.timing.pause(question.gap)
            self._replies.append((due, Frame(C2S, fill(raw, self._bindings), question.reply.eol)))

    def _question(self, request: Request) -> Question | None:
        """The recorded question that this one is: the next of those that ask the same, else of the
        same method; when there are no more, the last of these once more.
        """
        params = decode(request.params or b"null")
        alike = [one for one in self._unasked if one.method == request.method]
        equal = [one for one in alike if same(decode(one.params or b"null"), params)]
        if alike:
            found = (equal or alike)[0]
            self._unasked.remove(found)
            return found
        again = [one for one in self.part.questions if one.method == request.method]
        return again[-1] if again else None

    def _go_on(self, now: float) -> Iterable[Action]:
        """Sends what can be sent, and says when to come again."""
        if self._over:
            return
        due = [frame for at, frame in self._replies if at <= now]
        self._replies = [(at, frame) for at, frame in self._replies if at > now]
        out = [*due, *self._lines(now)]
        for frame in out:
            self._note(frame)
        if out:
            self._last = now
            yield Send(out)
        times = [at for at, _ in self._replies]
        if self._next < len(self.part.lines):
            times.append(self._until(self.part.lines[self._next]))
        if times:
            yield Wake(max(min(times), now))

    def _lines(self, now: float) -> list[Frame]:
        out: list[Frame] = []
        while self._next < len(self.part.lines):
            line = self.part.lines[self._next]
            if not self._may_go(line, now):
                break
            self._next += 1
            self._want()
            out.append(self._frame(line))
            for call in line.calls:
                self._open[call] = now
            if isinstance(line.frame.fact, StreamEnd):
                self._over = True
        return out

    def _want(self) -> None:
        """What the next line waits for is added to what has been waited for."""
        if self._next < len(self.part.lines):
            self._wanted.update(self.part.lines[self._next].signs)

    def _may_go(self, line: Line, now: float) -> bool:
        if self._is_ready(line):
            return now >= self._last + self.timing.pause(line.gap)
        if now < self._until(line):
            return False
        self._give_up(line)
        return True

    def _is_ready(self, line: Line) -> bool:
        missing = self._wanted - self._heard
        return not missing and not self._open.keys() & set(line.answers)

    def _until(self, line: Line) -> float:
        """When this line goes at the latest."""
        if self._is_ready(line):
            return self._last + self.timing.pause(line.gap)
        awaited = self._open.keys() & set(line.answers)
        if awaited:
            return max(self._open[call] + self._longest(call) for call in awaited)
        return self._last + self.patience.sign

    def _longest(self, call: int) -> float:
        recorded = self.part.latencies.get(call, 0.0)
        return max(self.patience.answer, self.patience.times * recorded)

    def _give_up(self, line: Line) -> None:
        """It is not waited for again."""
        for call in self._open.keys() & set(line.answers):
            del self._open[call]
            self._tell(f"no answer to request {call + 1} (event {line.n} waits for it)")
        missing = self._wanted - self._heard
        if missing:
            self.tell("not said by the server: " + ", ".join(" ".join(sign) for sign in missing))
            self._heard |= self._wanted

    def _frame(self, line: Line) -> Frame:
        """The line with live values in place of the recorded ones."""
        frame = line.frame
        replacements = []
        for learned in line.learned:
            span = locate(frame.raw, learned.path)
            live = self._answers.get(learned.call)
            for name in learned.found:
                live = _inside(live, name)
            if span is not None and live is not None:
                replacements.append((span, encode(live)))
        raw = splice(frame.raw, replacements)
        if PLACEHOLDER in raw:
            raw = fill(raw, self._bindings)
        return frame if raw is frame.raw else Frame(C2S, raw, frame.eol, frame.fact)

    def _note(self, frame: Frame) -> None:
        for message in parse_items(frame.raw) if frame.fact is None else ():
            self._session.note(C2S, message, self._calls)
            if isinstance(message, Request):
                self._calls += 1

    def _lost(self) -> Iterable[Action]:
        """The server is gone. What was left to say cannot be said."""
        if not self._over and self.left:
            self._tell(f"the server ended; {self.left} recorded messages were left")
        self._over = True
        yield Hangup("the server ended")

    def _tell(self, line: str) -> None:
        self.failed += 1
        self.tell(line)


def _inside(value: Any, name: str | int) -> Any:
    if isinstance(value, dict) and isinstance(name, str):
        return value.get(name)
    if isinstance(value, list) and isinstance(name, int) and name < len(value):
        return value[name]
    return None
