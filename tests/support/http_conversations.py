"""Generated conversations over Streamable HTTP: those of `conversations`, each message on an
exchange.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import count
from random import Random
from typing import Any, ClassVar

import attrs

from mcpmock.cassette.model import Cassette
from mcpmock.playback.timing import Pace
from mcpmock.protocol.messages import (
    C2S,
    Frame,
    Request,
    Response,
    parse,
)

from . import (
    INITIALIZED,
    Line,
    accepts,
    answers,
    bodiless,
    c,
    ends,
    get,
    hangs_up,
    in_session,
    opens,
    over_http,
    post,
    says,
)
from .conversations import Conversation, client, take

_STEP = list[Frame]
_SESSION = "mcpmock:secret:session-id:1"
_STREAM: Line = ("get", b"")


@attrs.define
class _Recording:
    """Puts the messages of a session over pipes on exchanges."""

    random: Random
    numbers: Iterator[int]
    odd: bool
    open: dict[str, tuple[int, bool, bool]] = attrs.field(factory=dict)
    """The calls by id: the exchange, whether it streams, and whether its head was sent."""
    tokens: dict[str, str] = attrs.field(factory=dict)
    stream: int | None = None
    session: str | None = None
    late: list[Frame] = attrs.field(factory=list)
    """The ends of responses that come behind something else."""

    def steps(self, lines: Sequence[Line]) -> Iterator[_STEP]:
        for what, raw in lines:
            late, self.late = self.late, []
            if what == "c2s":
                yield from self._asked(raw)
            elif what == "s2c":
                yield from self._said(raw)
            else:
                yield from self._open_stream()
            yield from ([end] for end in late)
        yield from ([end] for end in self.late)
        for id_ in list(self.open):
            if not (self.odd and self.random.random() < 0.3):
                yield from self._answer(
                    id_, b'{"jsonrpc":"2.0","id":%b,"result":{}}' % id_.encode()
                )
        yield from self._end()

    def _asked(self, raw: bytes) -> Iterator[_STEP]:
        x, message = next(self.numbers), parse(raw)
        yield post(x, raw, session=self.session)
        if isinstance(message, Request):
            id_ = message.id.decode()
            self.open[id_] = x, self.random.random() < 0.5, False
            token = json.loads(raw).get("params", {}).get("_meta", {}).get("progressToken")
            self.tokens[str(token)] = id_
            if self.random.random() < 0.5:
                yield from self._head(id_)
        else:
            yield accepts(x)

    def _open_stream(self) -> Iterator[_STEP]:
        x = next(self.numbers)
        yield get(x, session=self.session)
        if self.random.random() < 0.7:
            self.stream = x
            yield opens(x)
        else:
            yield accepts(x, 405)

    def _head(self, id_: str) -> Iterator[_STEP]:
        x, streams, begun = self.open[id_]
        if streams and not begun:
            self.open[id_] = x, streams, True
            yield opens(x, **self._name())
            if self.random.random() < 0.2:
                yield says(x, b"", id=f"p{x}")[:1]

    def _name(self) -> dict[str, str]:
        """Return the field that names the session, in the first answer."""
        new, self.session = self.session is None, _SESSION
        return {"mcp_session_id": _SESSION} if new else {}

    def _meta(self) -> dict[str, Any]:
        return self.random.choice(({}, {"event": "message"}, {"id": f"e{next(self.numbers)}"}))

    def _said(self, raw: bytes) -> Iterator[_STEP]:
        message = parse(raw)
        if isinstance(message, Response) and message.id is not None:
            if message.id.decode() in self.open:
                yield from self._answer(message.id.decode(), raw)
            return
        value = json.loads(raw) if raw[:1] == b"{" else {}
        token = str(value.get("params", {}).get("progressToken"))
        own = self.tokens.get(token)
        if own is None and value.get("method") == "notifications/progress" and not self.odd:
            return
        streaming = [id_ for id_, (_, streams, _) in self.open.items() if streams]
        if own in streaming:
            carrier = own
        elif self.stream is not None:
            yield says(self.stream, raw, **self._meta())
            return
        elif own is None and streaming:
            carrier = self.random.choice(streaming)
        else:
            return
        assert carrier is not None
        yield from self._head(carrier)
        yield says(self.open[carrier][0], raw, **self._meta())

    def _answer(self, id_: str, raw: bytes) -> Iterator[_STEP]:
        yield from self._head(id_)
        x, streams, _ = self.open.pop(id_)
        if streams:
            said = says(x, raw, **self._meta())
        else:
            *said, _ = answers(x, raw, 200, **self._name(), content_length=str(len(raw)))
        if self.random.random() < 0.1:
            self.late.append(ends(x))
            yield said
        else:
            yield [*said, ends(x)]

    def _end(self) -> Iterator[_STEP]:
        if self.random.random() < 0.5:
            yield from (
                bodiless(x := next(self.numbers), "DELETE", session=self.session),
                self.random.choice((*[accepts(x, 200)] * 4, accepts(x, 405), opens(x), [])),
            )
            if self.stream is not None and self.random.random() < 0.7:
                yield [ends(self.stream)]
        elif self.stream is not None:
            yield [ends(self.stream, "closed", C2S)]


Said = tuple[str, bytes]
"""`post` a message, open a stream (`get`), `delete` the session, `leave` an exchange, `end`."""


@attrs.define
class HttpConversation(Conversation):
    """Several clients of one cassette that was recorded over Streamable HTTP."""

    pace: ClassVar[Pace] = Pace(after_progress=0.0)
    _numbers: Iterator[int] = attrs.field(factory=lambda: count(1))
    _live: Iterator[int] = attrs.field(factory=lambda: count(1001))
    _recordings: list[list[_STEP]] = attrs.field(factory=list)

    def play(self) -> list[object]:
        """Return all that the clients get, in order on each exchange."""
        got = super().play()
        frames = [one for one in got if isinstance(one, tuple) and len(one) == 5]
        others = [one for one in got if not (isinstance(one, tuple) and len(one) == 5)]
        return [*others, *sorted(frames, key=lambda one: (one[0], one[2] or 0))]

    def _take(self, random: Random) -> Iterator[Any]:
        odd = random.random() < 0.3
        lines = [one for one in take(random) if one[0] in ("c2s", "s2c")]
        lines = [one for one in lines if odd or b"notifications/cancelled" not in one[1]]
        if (INITIALIZED in (raw for _, raw in lines)) and random.random() < 0.6:
            lines.insert(lines.index(c(INITIALIZED)) + 1, _STREAM)
        recording = _Recording(random, self._numbers, odd)
        yield from lines
        self._recordings.append([*recording.steps(lines)])

    def _cassette(self, takes: list[list[Any]]) -> Cassette:
        recordings = [*self._recordings]
        sessions = [in_session(n, *steps) for n, steps in enumerate(recordings, 2)]
        return over_http(*sessions)

    def _client(self, random: Random, recorded: Sequence[Any]) -> Iterator[Said]:
        head = {} if random.random() < 0.9 else {"accept": "application/json"}
        accept = json.dumps(head).encode()
        for raw in client(random, recorded):
            yield "post" + accept.decode(), raw
            if raw == INITIALIZED and (_STREAM in recorded) == (random.random() < 0.95):
                yield _STREAM
            if random.random() < 0.02:
                yield random.choice(("leave", "leave", "delete")), b""
        yield from random.choice(((("delete", b""),), (("leave", b""),), (), ()))
        yield "end", b""

    def _frames(self, said: Said) -> list[Frame]:
        what, raw = said
        if what == "end":
            return [hangs_up(C2S)]
        if what == "leave":
            return [ends(1000 + len(self.got) % 7, "closed", C2S)]
        x = next(self._live)
        session = None if b'"initialize"' in raw else "live"
        if what == "get":
            return get(x, session=session)
        if what == "delete":
            return bodiless(x, "DELETE", session=session)
        return post(x, raw, session=session, **json.loads(what.removeprefix("post")))

    def _reply(self, raw: bytes) -> list[Frame]:
        return post(next(self._live), raw, session="live")

    def _note_frames(self, number: int, now: float, frames: Sequence[Frame]) -> None:
        self.got += [(number, now, one.exchange, one.fact, one.raw) for one in frames]
