"""The client's part of an episode: what it did, in order, and what it had heard by then.

The counterpart of `score`, which is the server's part. It is simpler, for a client acts in a row:
each of its lines waits for what the server had sent since the line before, so recorded concurrency,
cancels in the middle of a call and answers to the server's questions come where they were. Bare
messages only: what HTTP adds is the transports' to make (`bare` takes it off). Pure; `pipeline.
driver` plays it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import attrs

from mcpmock.protocol.messages import (
    C2S,
    S2C,
    Frame,
    Message,
    Notification,
    Request,
    Response,
    StreamEnd,
    decode,
    parse_items,
)
from mcpmock.protocol.session import CANCELLED, PROGRESS, Note, Session

from .model import Episode

TOKENS = {"nextCursor": "cursor", "requestState": "requestState", "taskId": "taskId"}
"""What servers mint and clients send back: the name it has in an answer, and that in a request."""

Path = tuple[str | int, ...]
Sign = tuple[str, ...]
"""Something that a server says of its own accord, by its kind: a request or a notification of a
method, progress of a call. What it says in it does not count.
"""


@attrs.frozen
class Learned:
    """A value in a client's line that is live: at `path`, what stood at `found` in the answer to
    call `call`.
    """

    path: tuple[str, ...]
    call: int
    found: Path


@attrs.frozen
class Line:
    """Something the client did. `frame` is a message, or the end of its input.

    Since the line before it the server had answered the calls `answers` (by number), and given the
    `signs`. `calls` are the requests in it. `gap` is the time in seconds between the last of what
    came before and itself.
    """

    frame: Frame
    calls: tuple[int, ...] = ()
    answers: tuple[int, ...] = ()
    signs: tuple[Sign, ...] = ()
    learned: tuple[Learned, ...] = ()
    gap: float = 0.0
    n: int = 0
    """The number of its event in the take."""


@attrs.frozen
class Question:
    """A request of the server's, and what the client answered; `reply` is None where it did
    not.
    """

    method: str
    params: bytes | None
    reply: Frame | None = None
    gap: float = 0.0


@attrs.frozen
class Part:
    """All that the client did in one episode: its lines, and its answers to the server's
    questions in the order they were asked.

    `answers` are the recorded answers by call, for what is learned from the live ones; `latencies`
    how long each took, in seconds.
    """

    lines: tuple[Line, ...]
    questions: tuple[Question, ...]
    answers: dict[int, bytes]
    latencies: dict[int, float]
    opens: bool = False
    """It opens a session, with `initialize`."""


def part_of(episode: Episode) -> Part:
    """The client's part of an episode of bare messages."""
    reader = _Reader()
    for event in episode.events:
        frame = event.frame
        if frame is None or (frame.fact is not None and not isinstance(frame.fact, StreamEnd)):
            continue
        bare = Frame(frame.direction, frame.raw, frame.eol, frame.fact)
        if frame.direction is C2S:
            reader.client(bare, event.t, event.n)
        elif frame.fact is None:
            reader.server(bare, event.t)
    return reader.part()


@attrs.define
class _Reader:
    session: Session = attrs.field(factory=Session)
    lines: list[Line] = attrs.field(factory=list)
    questions: dict[int, Question] = attrs.field(factory=dict)
    answers: dict[int, bytes] = attrs.field(factory=dict)
    latencies: dict[int, float] = attrs.field(factory=dict)
    _calls: int = 0
    _asked_at: dict[int, int] = attrs.field(factory=dict)
    _new_answers: list[int] = attrs.field(factory=list)
    _new_signs: list[Sign] = attrs.field(factory=list)
    _minted: dict[tuple[str, str], tuple[int, Path]] = attrs.field(factory=dict)
    """The calls and the places of live values, by name in a request and value."""
    _t: int = 0
    _left: bool = False
    _opens: bool = False

    def client(self, frame: Frame, t: int, n: int) -> None:
        messages = parse_items(frame.raw) if frame.fact is None else []
        replies, numbers = 0, []
        for message in messages:
            note = self.session.note(C2S, message, self._calls)
            if isinstance(message, Request):
                self._opens = self._opens or message.method == "initialize"
                numbers.append(self._calls)
                self._asked_at[self._calls] = t
                self._calls += 1
            elif isinstance(message, Response) and note.call is not None:
                self._reply(note, frame, t)
                replies += 1
        if replies and replies == len(messages):
            return
        self._left = self._left or isinstance(frame.fact, StreamEnd)
        self._add(frame, tuple(numbers), t, n)

    def _add(self, frame: Frame, calls: tuple[int, ...], t: int, n: int) -> None:
        answers, self._new_answers = tuple(self._new_answers), []
        signs, self._new_signs = tuple(self._new_signs), []
        gap = max(t - self._t, 0) / 1_000_000
        learned = tuple(self._learned(frame))
        self.lines.append(Line(frame, calls, answers, signs, learned, gap, n))
        self._t = t

    def server(self, frame: Frame, t: int) -> None:
        self._t = t
        for message in parse_items(frame.raw):
            note = self.session.note(S2C, message, len(self.questions))
            if isinstance(message, Request):
                self.questions[len(self.questions)] = Question(message.method, message.params)
            if isinstance(message, Response) and note.call is not None:
                self._answer(note.call.index, message, frame.raw, t)
            elif (sign := sign_of(message, note)) is not None:
                self._new_signs.append(sign)

    def _answer(self, call: int, message: Response, raw: bytes, t: int) -> None:
        if call in self.answers:
            return
        self.answers[call] = raw
        self.latencies[call] = (t - self._asked_at.get(call, t)) / 1_000_000
        self._new_answers.append(call)
        for path, name, value in _minted(decode(message.result or b"null")):
            self._minted[name, value] = call, path

    def _reply(self, note: Note, frame: Frame, t: int) -> None:
        assert note.call is not None
        question = self.questions.get(note.call.index)
        if question is not None and question.reply is None:
            gap = max(t - self._t, 0) / 1_000_000
            self.questions[note.call.index] = attrs.evolve(question, reply=frame, gap=gap)

    def _learned(self, frame: Frame) -> Iterator[Learned]:
        if not self._minted or frame.fact is not None:
            return
        for path, value in _texts(decode(frame.raw)):
            names = tuple(name for name in path if isinstance(name, str))
            if len(names) == len(path) > 0 and (names[-1], value) in self._minted:
                yield Learned(names, *self._minted[names[-1], value])

    def part(self) -> Part:
        if not self._left:
            self._add(Frame(C2S, b"", b"", StreamEnd()), (), self._t, 0)
        questions = tuple(self.questions.values())
        return Part(tuple(self.lines), questions, self.answers, self.latencies, opens=self._opens)


def sign_of(message: Message, note: Note) -> Sign | None:
    """What a client may have waited for in a message that is no answer."""
    match message:
        case Notification(method=method) if method == PROGRESS:
            return None if note.call is None or note.late else (method, str(note.call.index))
        case Notification(method=method) if method != CANCELLED:
            return (method,)
        case Request(method=method):
            return ("request", method)
        case _:
            return None


def _minted(value: Any) -> Iterator[tuple[Path, str, str]]:
    for path, text in _texts(value):
        name = TOKENS.get(str(path[-1])) if path else None
        if name is not None:
            yield path, name, text


def _texts(value: Any, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """The texts in a JSON value, each with where it stands."""
    stack: list[tuple[Path, Any]] = [(path, value)]
    while stack:
        path, inner = stack.pop()
        if isinstance(inner, str):
            yield path, inner
        elif isinstance(inner, dict | list):
            pairs: Iterable[tuple[str | int, Any]] = (
                inner.items() if isinstance(inner, dict) else enumerate(inner)
            )
            stack += [((*path, name), one) for name, one in pairs]
