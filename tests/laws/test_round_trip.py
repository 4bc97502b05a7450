"""What is replayed and recorded again is what was recorded, for every cassette that is shipped."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from mcpmock.cassette.file import load
from mcpmock.cassette.model import Cassette, Episode, Event, Header, Take
from mcpmock.cassette.read import read
from mcpmock.pipeline.performance import Pace
from mcpmock.pipeline.pipeline import Pipeline
from mcpmock.pipeline.player import Casting, Player, Playing
from mcpmock.pipeline.recorder import Ledger, Recorder
from mcpmock.pipeline.timing import Timing
from mcpmock.protocol.messages import C2S, Frame, ProcessExit, StreamEnd
from tests.helpers import shown
from tests.laws.http_episodes import EPISODES as HTTP_EPISODES

CASSETTES = sorted((Path(__file__).parents[2] / "cassettes").glob("*.jsonl"))
HEADER = b'{"mcpmock":1}\n'


def crossed(episode: Episode) -> list[tuple[Event, Frame]]:
    """What crossed the wire, up to the client's leaving: how a server ends after that is not
    replayed.
    """
    frames = []
    left = False
    for event in episode.events:
        frame = event.frame
        if frame is not None and not (left and isinstance(frame.fact, StreamEnd | ProcessExit)):
            frames.append((event, frame))
            left = left or (frame.direction is C2S and isinstance(frame.fact, StreamEnd))
    return frames


def record_replay_of(
    episode: Episode, playing: Playing, *, stateless: bool = False, live: int = 0
) -> Episode:
    """Plays the client of an episode against a replay of it, and records that.

    Each thing the client did comes at its time, and not before all that the server had sent before
    it has come again. Live exchanges have the recorded numbers plus `live`.
    """
    lines: list[bytes] = []
    cassette = Cassette(name="one", takes=[Take(header=Header(mcpmock=1), events=episode.events)])
    player = Player(Casting(cassette, playing), stateless=stateless, mint=lambda: "live-session")
    pipeline = Pipeline([Recorder(Ledger(lines.extend, None)), player])
    now = 0.0
    came = _to_client(pipeline.begin(now))
    awaited = 0
    for event, frame in crossed(episode):
        if frame.direction is not C2S:
            awaited += 1
            continue
        while came < awaited and pipeline.next_due is not None:
            now = max(now, pipeline.next_due)
            came += _to_client(pipeline.advance(now))
        now = max(now, event.t / 1_000_000)
        frame.exchange = None if frame.exchange is None else frame.exchange + live
        came += _to_client(pipeline.enter([frame], now))
    while pipeline.next_due is not None and not pipeline.hung_up:
        now = max(now, pipeline.next_due)
        pipeline.advance(now)
    return read("again", HEADER + b"".join(lines)).episodes()[0]


def _to_client(batches: Sequence[Sequence[Frame]]) -> int:
    return sum(len(batch) for batch in batches if batch[0].direction is not C2S)


def _bytes(episode: Episode) -> list[tuple[str, str, bytes]]:
    return [
        (frame.direction.value, repr(frame.fact), frame.raw + frame.eol)
        for _, frame in crossed(episode)
    ]


EPISODES = [
    pytest.param(episode, id=f"{path.stem}-{number}")
    for path in CASSETTES
    for number, episode in enumerate(load(path).episodes(), 1)
]


@pytest.mark.parametrize("order", ["causal", "strict"])
@pytest.mark.parametrize("episode", EPISODES)
def test_round_trip(episode: Episode, order: str) -> None:
    """record(drive(replay(c))) == c: every frame, byte for byte, in the recorded order."""
    again = record_replay_of(episode, Playing(order=order, pace=Pace(Timing("recorded"))))

    assert _bytes(episode) == _bytes(again)


def _lines(episode: Episode, *, live: int = 0) -> list[str]:
    """What crossed, exchange by exchange, with the recorded ids in place of the live ones."""
    frames = []
    for _, frame in crossed(episode):
        frame.exchange = (frame.exchange or 0) - live
        frames.append(frame)
    told = zip(shown(frames), frames, strict=True)
    return [f"{line.replace('live-session', 'S')} {frame.eol!r}" for line, frame in told]


@pytest.mark.parametrize("order", ["causal", "strict"])
@pytest.mark.parametrize("name", HTTP_EPISODES)
def test_round_trip_over_http(name: str, order: str) -> None:
    """Exchange for exchange: what was recorded over HTTP comes again, up to what is live."""
    stateless, cassette = HTTP_EPISODES[name]
    [episode] = cassette.episodes()
    playing = Playing(order=order, pace=Pace(Timing("recorded")))
    again = record_replay_of(episode, playing, stateless=stateless, live=100)

    assert _lines(episode) == _lines(again, live=100)


@pytest.mark.parametrize("episode", EPISODES)
def test_same_input_same_bytes(episode: Episode) -> None:
    """Twice the same drive gives twice the same recording, times included."""
    playing = Playing()

    one, two = (record_replay_of(episode, playing) for _ in range(2))

    assert one.events == two.events
