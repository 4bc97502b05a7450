"""What is done later or not at all makes no difference, for 150 generated cassettes and their
clients: recorded sessions that a live one may still be follow the client when they are needed, and
are planned as far as they are needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import attrs
import pytest

from mcpmock.pipeline.stage import Send
from mcpmock.playback.candidates import Candidates
from mcpmock.playback.plan.builder import build_plan
from mcpmock.playback.plan.plan import ReplayPlan
from mcpmock.playback.player import Player, PlayerOptions, SessionSelection
from mcpmock.protocol.messages import C2S, Frame, StreamEnd
from tests.support import (
    OPENING,
    Line,
    c,
    c2s,
    cancelled,
    cassette,
    notification,
    progress,
    request,
    response,
    s,
)

SEEDS = range(150)


@attrs.define
class AtOnce(Candidates):
    """Every candidate follows every message at once."""

    def _lead_accepts(self, *_args: object) -> bool:
        return False


def call(n: int, tool: str) -> bytes:
    return request(n, "tools/call", {"name": tool}, token=n)


def take(random: Random, number: int) -> Iterator[Line]:
    """A recorded session. Many begin alike; answers tell which one was played."""
    yield from OPENING
    for n in range(1, random.randint(1, 8)):
        yield c(call(n, random.choice("aaabc")))
        match random.random():
            case chance if chance < 0.1:
                yield c(cancelled(n))
            case chance if chance < 0.3:
                yield s(request(n, "roots/list"))
                yield c(response(n, {"roots": []}))
                yield s(response(n, {"take": number, "n": n}))
            case chance if chance < 0.9:
                yield s(response(n, {"take": number, "n": n}))
        match random.random():
            case chance if chance < 0.1:
                yield s(progress(random.randint(1, n), n))
            case chance if chance < 0.2:
                yield s(response(random.randint(1, n), {"take": number, "again": n}))
            case chance if chance < 0.4:
                yield s(notification("log", {"n": n}))
            case chance if chance < 0.5:
                yield ("stderr", f"at {n}")
    if random.random() < 0.5:
        yield ("end", {"d": "c2s"})
        yield from random.choice(([], [("stderr", "bye")], [s(notification("bye"))]))


def live(random: Random) -> Iterator[Frame]:
    """What a client sends; what it asks may be recorded anywhere or nowhere."""
    yield from (c2s(line[1]) for line in OPENING if line[0] == "c2s")
    for n in range(1, random.randint(1, 9)):
        yield c2s(call(n, random.choice("aaaabcd")))
        if random.random() < 0.3:
            yield c2s(random.choice([response(n, {"roots": []}), cancelled(n)]))
    if random.random() < 0.8:
        yield Frame(C2S, b"", b"", StreamEnd())


def conversations(seed: int, kind: type[Candidates]) -> list[object]:
    """All that some clients get from one cassette, one after the other or at the same time."""
    random = Random(seed)
    takes = [
        line for n in range(random.randint(1, 6)) for line in (("take", None), *take(random, n))
    ]
    options = PlayerOptions(
        order=random.choice(("causal", "causal", "strict")),
        repeats=random.choice(("auto", "last")),
        sessions=random.choice(("reuse", "once")),
    )
    selection, got = SessionSelection(cassette(*takes[1:]), options), list[object]()
    waiting = [list(live(random)) for _ in range(random.randint(1, 5))]
    players: dict[int, Player] = {}
    at_once, now = random.choice((1, 3)), 0.0
    while any(waiting):
        number = random.choice([n for n, frames in enumerate(waiting) if frames][:at_once])
        if number not in players:
            players[number] = Player(selection, got.append, candidates=kind())
            players[number].begin(now)
        now += 1
        actions = [*players[number].feed([waiting[number].pop(0)], now)]
        actions += [*players[number].wake(now + 0.5)]
        sent = [
            frame.raw for action in actions if isinstance(action, Send) for frame in action.frames
        ]
        got.append((number, sent))
    got += [player.leftovers() for player in players.values()]
    return got


def test_the_answers_are_those_of_sessions_that_follow_at_once() -> None:
    """The same answers, misses and remarks, and the same is left over."""
    for seed in SEEDS:
        assert conversations(seed, AtOnce) == conversations(seed, Candidates), seed


def test_a_plan_that_grows_answers_like_a_whole_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same, with calls forgotten soon, so that short recordings are planned in parts."""
    monkeypatch.setattr("mcpmock.protocol.correlation.MAX_CLOSED_CALLS", 1)
    monkeypatch.setattr(ReplayPlan.grow, "__defaults__", (1,))
    parts = [conversations(seed, Candidates) for seed in SEEDS]
    monkeypatch.setattr("mcpmock.playback.session_selection.begin_plan", build_plan)
    for seed, expected in zip(SEEDS, parts, strict=True):
        assert conversations(seed, Candidates) == expected, seed
