"""Generated conversations: recordings of everything that goes over pipes, and clients that do about
what was recorded.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from random import Random
from typing import Any, ClassVar

import attrs
from msgspec import structs

from mcpmock.cassette.model import Cassette
from mcpmock.pipeline.pipeline import Pipeline
from mcpmock.pipeline.stage import Action
from mcpmock.playback.answer_index import AnswerIndex
from mcpmock.playback.player import PlayerOptions
from mcpmock.playback.session_player import SessionPlayer
from mcpmock.playback.session_selection import SessionSelection
from mcpmock.playback.timing import Pace
from mcpmock.protocol.messages import C2S, Frame, Request

from . import (
    INITIALIZED,
    WELCOME,
    Line,
    batch,
    c,
    c2s,
    cancelled,
    cassette,
    hangs_up,
    notification,
    progress,
    request,
    response,
    s,
)

_TOOLS = "aaabc"
_HOLE = "mcpmock:secret:token:1"
_NUMBER_HOLE = "mcpmock:secret:pin-number:2"
_GAPS = (0, 0, 0, 0.001, 0.0021, 0.019, 0.021, 0.2)


def interleaved(random: Random, rows: Sequence[Sequence[Any]]) -> Iterator[Any]:
    """Yield the items of all rows, those of each in their order; mostly many rows at once."""
    waiting, open_rows = [list(row) for row in rows], random.choice((1, 2, 5, 50))
    while waiting:
        row = random.choice(waiting[:open_rows])
        yield row.pop(0)
        waiting = [row for row in waiting if row]


def hello(random: Random, id_: Any = 0) -> bytes:
    client = {"name": random.choice("xxxy"), "version": "1"}
    version = random.choice(("2025-06-18", "2025-06-18", "2025-06-18", "2025-03-26"))
    return request(id_, "initialize", {"protocolVersion": version, "clientInfo": client})


def call(random: Random, id_: Any, *, odd: bool) -> bytes:
    """A call, now and then in a spelling of its own."""
    params: dict[str, Any] = {"name": random.choice(_TOOLS), "arguments": {}}
    if random.random() < 0.5:
        text = _HOLE if odd and random.random() < 0.05 else random.choice("pq")
        number = _NUMBER_HOLE if odd and random.random() < 0.03 else random.randint(1, 4)
        params["arguments"] = {"n": number, "text": text}
    if random.random() < 0.3:
        params["_meta"] = {"progressToken": random.choice((id_, f"t{id_}"))}
    raw = request(id_, random.choice(("tools/call", "tools/call", "tools/call", "x")), params)
    return respelled(random, raw) if odd and random.random() < 0.1 else raw


def respelled(random: Random, raw: bytes) -> bytes:
    message = json.loads(raw)
    params = message["params"]
    message["params"] = {name: params[name] for name in sorted(params, reverse=True)}
    if random.random() < 0.3 and not message["params"].get("arguments"):
        message["params"].pop("arguments", None)
    return json.dumps(message, separators=random.choice(((",", ":"), (", ", ": ")))).encode()


def _call_row(random: Random, id_: Any, questions: Iterator[int], *, odd: bool) -> Iterator[Line]:
    asked = call(random, id_, odd=odd)
    yield c(asked)
    token = json.loads(asked)["params"].get("_meta", {}).get("progressToken", id_)
    told = random.choice((id_, "x", "x", _HOLE, {"id": 1}))
    told = _NUMBER_HOLE if odd and random.random() < 0.05 else told
    for n in range(random.choice((0, 0, 2))):
        yield s(progress(token, n))
    if random.random() < 0.1:
        number = next(questions)
        yield s(request(number, "roots/list"))
        yield c(response(number, {"roots": []}))
    for _ in range(random.choice((0, 0, 0, 1))):
        yield random.choice((s(notification("log", {"id": id_})), ("stderr", f"at {id_} {told}\n")))
    if random.random() < 0.08:
        yield c(cancelled(id_))
    odd_ends: list[list[Line]] = [
        [],
        [s(response(id_))] * 2,
        [s(response(id_)), s(progress(token))],
    ]
    answered: list[Line] = [s(response(id_, {"id": told}))]
    yield from random.choice(odd_ends) if odd and random.random() < 0.2 else answered


def take(random: Random) -> Iterator[Line]:
    """A recorded session. In half of them everything is ordinary."""
    odd, questions = random.random() < 0.5, iter(range(100))
    first = [("stderr", "up\n")] if random.random() < 0.2 else []
    yield from first
    if random.random() < 0.9:
        yield from (c(hello(random)), s(WELCOME), c(INITIALIZED))
    few = odd and random.random() < 0.3  # ids come again
    rows: list[list[Line]] = [
        [*_call_row(random, n % 3 if few else random.choice((n, n, f"i{n}")), questions, odd=odd)]
        for n in range(1, random.randint(2, 9))
    ]
    rows += [[s(notification("log", {"n": n}))] for n in range(random.choice((0, 0, 3)))]
    rows += [[c(notification("notifications/roots/list_changed"))]] * random.choice((0, 0, 1, 2))
    if odd:
        rows += random.choice(
            (
                [],
                [[s(b"noise")]],
                [[c(b"noise")]],
                [[c(batch(request("b1", "x"), request("b2", "x")))]],
                [[s(request(7, "ping"))]],
                [[c(notification("x", {"name": "a", "arguments": {}}))]],
            )
        )
    yield from interleaved(random, rows)
    closed: list[Line] = [("end", {"d": "c2s"})]
    ends: list[list[Line]] = [
        [],
        closed,
        [*closed, ("stderr", "bye\n"), ("end", {"d": "s2c"}), ("end", {"exit": 0})],
        [*closed, s(notification("log", {"n": "bye"}))],
        [("end", {"d": "c2s", "signal": 15}), ("end", {"d": "s2c"}), ("end", {"signal": 15})],
        [("end", {"d": "s2c"}), ("end", {"signal": 15})],
    ]
    yield from random.choice([*ends, [("end", {"exit": 1})]] if odd else ends)


def client(random: Random, recorded: Sequence[Line]) -> Iterator[bytes]:
    """Yield what a live client asks: mostly what was recorded, in about that order, with ids of its
    own; now and then something else.
    """
    asked = [raw for what, raw in recorded if what == "c2s"]
    reach = random.choice((0, 0, 0, 3))
    order = sorted(range(len(asked)), key=lambda n: n + random.uniform(0, reach))
    rename, strange = random.random() < 0.5, random.choice((0, 0, 0.1))
    for place in order:
        raw = asked[place]
        message = json.loads(raw) if raw[:1] == b"{" else None
        if random.random() < strange:
            choice = random.choice(("skip", "again", "other", "respell", "cancel", "notify"))
            if choice == "skip":
                continue
            if choice == "again":
                yield raw
            if choice == "other":
                yield call(random, f"o{place}", odd=True)
            if choice == "cancel":
                yield cancelled(random.choice((place, f"live{place - 1}", 1)))
            if choice == "notify":
                yield notification("notifications/other", {"n": place})
            if choice == "respell" and message is not None and message.get("params"):
                raw = respelled(random, raw)
                message = json.loads(raw)
        if message is None or "method" not in message:
            if message is None:
                yield raw  # replies come when they are asked for
            continue
        if rename and "id" in message:
            raw = raw.replace(
                b'"id":%s' % json.dumps(message["id"]).encode(), b'"id":"live%d"' % place
            )
            meta = message.get("params", {}).get("_meta", {})
            if "progressToken" in meta and random.random() < 0.9:
                old = b'"progressToken":%s' % json.dumps(meta["progressToken"]).encode()
                raw = raw.replace(old, b'"progressToken":"tok%d"' % place)
        yield raw
        if "id" in message and random.random() < 0.05:
            yield cancelled(f"live{place}" if rename else message["id"])


class Planned(SessionSelection):
    """Always makes a plan, and of the events."""

    def _answer_index(self, number: int) -> AnswerIndex | None:
        del number
        return None


@attrs.define
class _CountedPlayer(SessionPlayer):
    """Says whether the known answers began, and whether it took over from them."""

    was_known: bool = False
    taken_over: bool = False

    def begin(self, now: float) -> Iterable[Action]:
        actions = super().begin(now)
        self.was_known = self._known is not None
        return actions

    def _take_over(self, now: float) -> None:
        self.taken_over = True
        super()._take_over(now)


@attrs.define
class _Session:
    """One live session while it is played."""

    player: _CountedPlayer
    pipeline: Pipeline
    waiting: list[Any]
    started: bool = False


@attrs.define
class Conversation:
    """Several clients of one cassette, one after the other or at the same time."""

    seed: int
    kind: type[SessionSelection] = SessionSelection
    pace: ClassVar[Pace] = Pace()
    got: list[object] = attrs.field(factory=list)
    """What everybody gets, and when; what is reported, and what is left over."""
    known: int = 0
    """How many sessions were answered without a player."""
    taken_over: int = 0
    """In how many a player took over."""

    def play(self) -> list[object]:
        """Return all that the clients get."""
        random = Random(self.seed)
        takes = [[*self._take(random)] for _ in range(random.choice((1, 1, 1, 2, 3)))]
        if random.random() < 0.2:  # alike as two runs of one program
            takes = [*takes, [*takes[0]]]
        options = PlayerOptions(
            pace=structs.replace(self.pace, overlap_grace=random.choice((0.02, 0.02, 0.005))),
            repeats=random.choice(("auto", "last", "error")),
            sessions=random.choice(("reuse", "reuse", "once")),
            exact=random.random() < 0.2,
            mute=random.random() < 0.1,
        )
        selection = self.kind(self._cassette(takes), options)
        sessions = [
            self._session(selection, [*self._client(random, random.choice(takes))])
            for _ in range(random.choice((1, 1, 1, 2, 3)))
        ]
        at_once, now = random.choice((1, 3)), 0.0
        while any(one.waiting for one in sessions):
            waiting = [one for one in sessions if one.waiting][:at_once]
            one = random.choice(waiting)
            now += random.choice(_GAPS)
            for other in waiting:
                self._pass_time(sessions.index(other), other, now)
            if not one.started:
                one.started = True
                self._note(sessions.index(one), now, one.pipeline.begin(now))
            count = random.choice((1, 1, 1, 2, 5))
            frames = [frame for raw in one.waiting[:count] for frame in self._frames(raw)]
            del one.waiting[:count]
            self._enter(sessions.index(one), one, frames, now)
        for number, one in enumerate(sessions):
            self._pass_time(number, one, now + 10)
            self.known += one.player.was_known and not one.player.taken_over
            self.taken_over += one.player.taken_over
            self.got += [one.player.leftovers(), one.player.missed, one.pipeline.hung_up]
        return self.got

    def _take(self, random: Random) -> Iterator[Any]:
        return take(random)

    def _cassette(self, takes: list[list[Any]]) -> Cassette:
        return cassette(*[line for one in takes for line in (("take", None), *one)][1:])

    def _client(self, random: Random, recorded: Sequence[Any]) -> Iterator[Any]:
        yield from client(random, recorded)
        yield b""

    def _frames(self, said: Any) -> list[Frame]:
        return [c2s(said) if said else hangs_up(C2S)]

    def _reply(self, raw: bytes) -> list[Frame]:
        return [c2s(raw)]

    def _session(self, selection: SessionSelection, said: list[Any]) -> _Session:
        player = _CountedPlayer(selection, self.got.append)
        return _Session(player, Pipeline([player]), said)

    def _enter(self, number: int, one: _Session, frames: list[Frame], now: float) -> None:
        replies = self._note(number, now, one.pipeline.enter(frames, now)) if frames else []
        if replies:  # a client that is asked replies
            self._enter(number, one, replies, now)

    def _pass_time(self, number: int, one: _Session, until: float) -> None:
        while one.started and (due := one.pipeline.next_due) is not None and due <= until:
            replies = self._note(number, due, one.pipeline.advance(due))
            if replies:
                self._enter(number, one, replies, due)

    def _note(self, number: int, now: float, batches: Sequence[Sequence[Frame]]) -> list[Frame]:
        frames = [frame for frames in batches for frame in frames]
        self._note_frames(number, now, frames)
        asked = [frame.content for frame in frames]
        return [
            frame
            for one in asked
            if isinstance(one, Request)
            for frame in self._reply(response(json.loads(one.id), {"roots": []}))
        ]

    def _note_frames(self, number: int, now: float, frames: Sequence[Frame]) -> None:
        self.got += [(number, now, type(frame.fact), frame.raw) for frame in frames]
