"""What is replayed and recorded again is what was recorded, for every cassette that is shipped:
exchange for exchange over the transport of the recording, message for message over the others.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import count
from pathlib import Path

import msgspec
import pytest

from mcpmock.cassette.file import load
from mcpmock.cassette.model import Cassette, Episode, Event, Header, Take
from mcpmock.cassette.parser import read
from mcpmock.options.replay import Order
from mcpmock.pipeline.pipeline import Pipeline
from mcpmock.pipeline.stage import Stage
from mcpmock.playback.plan.steps import bare
from mcpmock.playback.player import PlayerOptions, SessionSelection
from mcpmock.playback.session_player import SessionPlayer
from mcpmock.playback.stateless_player import StatelessPlayer
from mcpmock.playback.timing import Pace, Timing
from mcpmock.playback.translation import revisions_spoken, translate
from mcpmock.protocol.messages import (
    C2S,
    Frame,
    HttpRequest,
    HttpResponse,
    ProcessExit,
    Request,
    StreamEnd,
)
from mcpmock.protocol.methods import LAST_LEGACY, LATEST
from mcpmock.protocol.revisions import is_modern
from mcpmock.recording.recorder import Ledger, Recorder
from mcpmock.transports.http_sse import SseClient, SseServer
from mcpmock.transports.streamable_http.client import StreamableHttpClient
from mcpmock.transports.streamable_http.resumption import Resumption
from mcpmock.transports.streamable_http.server import StreamableHttpServer
from tests.support.http_episodes import EPISODES as HAND_MADE

CASSETTES = sorted((Path(__file__).parents[2] / "cassettes").glob("*.jsonl"))
HEADER = b'{"mcpmock":1}\n'
LIVE = "live-session"
CONNECTION = {"content-length", "transfer-encoding", "connection", "keep-alive", "date"}
"""Fields of a recorded head that are about its connection and its time."""
RECORDED = Pace(Timing("recorded"))
_SESSION = re.compile(r"(?:(?<=sessionId=)|(?<=session_id=))[^&]+")


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
    episode: Episode,
    playing: PlayerOptions,
    *,
    stateless: bool = False,
    live: int | None = None,
    between: Sequence[Stage] = (),
    recorded: Episode | None = None,
) -> Episode:
    """Plays the client of an episode against a replay of it (or of what is `recorded`), with these
    stages between the two, and records that. Nothing may be missed.

    Each thing the client did comes at its time, and not before all that the server had sent before
    it has come again. Live exchanges have the recorded numbers plus `live`; without it the client
    speaks bare messages.
    """
    lines: list[bytes] = []
    take = Take(header=Header(mcpmock=1), events=episode.events)
    if recorded is not None:
        take = msgspec.structs.replace(recorded.take, events=recorded.events)
    cassette = Cassette(name="one", takes=[take])
    player = (StatelessPlayer if stateless else SessionPlayer)(
        SessionSelection(cassette, playing), mint=lambda: LIVE
    )
    pipeline = Pipeline([Recorder(Ledger(lines.extend, None)), *between, player])
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
        came += _to_client(pipeline.enter([_live(frame, live)], now))
    while pipeline.next_due is not None and not pipeline.hung_up:
        now = max(now, pipeline.next_due)
        pipeline.advance(now)
    assert 0 == player.missed
    return read("again", HEADER + b"".join(lines)).episodes()[0]


def _to_client(batches: Sequence[Sequence[Frame]]) -> int:
    return sum(len(batch) for batch in batches if batch[0].direction is not C2S)


def _live(frame: Frame, live: int | None) -> Frame:
    """What a client of the live session says in the place of this."""
    exchange = None if live is None or frame.exchange is None else frame.exchange + live
    fact = frame.fact
    if isinstance(fact, HttpRequest):
        headers = [(name, LIVE if _is_session(name) else value) for name, value in fact.headers]
        fact = HttpRequest(fact.method, _SESSION.sub(LIVE, fact.target), headers)
    return Frame(frame.direction, frame.raw, frame.eol, fact, exchange)


def _is_session(name: str) -> bool:
    return name.lower() == "mcp-session-id"


def _told(episode: Episode, *, live: int = 0, session: str = LIVE) -> list[str]:
    """What crossed, byte for byte and exchange by exchange, the live session under this name."""
    return [_line(frame, live).replace(LIVE, session) for _, frame in crossed(episode)]


def _line(frame: Frame, live: int) -> str:
    fact = frame.fact
    if isinstance(fact, HttpResponse):
        kept = [field for field in fact.headers if field[0].lower() not in CONNECTION]
        fact = HttpResponse(fact.status, fact.reason, kept)
    exchange = None if frame.exchange is None else frame.exchange - live
    return f"{exchange} {frame.direction.value} {fact!r} {frame.raw!r} {frame.eol!r}"


def _session_of(episode: Episode) -> str:
    """What the recorded session is called."""
    frames = [frame for _, frame in crossed(episode)]
    heads = [frame.fact for frame in frames if isinstance(frame.fact, HttpResponse)]
    named = [id_ for head in heads if (id_ := head.header("mcp-session-id"))]
    posted = [
        match[0] for f in frames if (match := _SESSION.search(f.raw.decode(errors="replace")))
    ]
    return [*named, *posted, "none"][0]


def _messages(episode: Episode) -> list[tuple[str, bytes]]:
    """The messages that crossed."""
    return [(f.direction.value, f.raw) for _, f in crossed(episode) if f.fact is None]


def _over(kind: str, episode: Episode) -> tuple[list[Stage], bool]:
    """What is between a client that speaks bare messages and a replay over this transport, and
    whether the replay is of exchanges without a session.
    """
    numbers = count(1)
    if kind == "sse":
        return [SseClient("/sse", [], numbers), SseServer("/sse", "/messages", lambda: LIVE)], False
    methods = [f.content.method for _, f in crossed(episode) if isinstance(f.content, Request)]
    stateless = "initialize" not in methods
    server = StreamableHttpServer("/mcp", lambda: LIVE, stateless)
    return [StreamableHttpClient("/mcp", [], numbers), Resumption(), server], stateless


def _shipped(*, as_messages: bool) -> dict[str, Episode]:
    """The episodes of all cassettes, as recorded or as the messages they amount to."""
    found: dict[str, Episode] = {}
    for path in CASSETTES:
        loaded = load(path)
        whole = bare(loaded, one_session=True) if as_messages else loaded
        numbered = enumerate(whole.episodes(), 1)
        found |= {f"{path.stem}-{number}": episode for number, episode in numbered}
    return found


def _is_alone(episode: Episode) -> bool:
    """Whether it is of exchanges that belong to no session."""
    first = episode.events[0]
    return first.x is not None and first.s == 1


SHIPPED = {name: (_is_alone(one), one) for name, one in _shipped(as_messages=False).items()}
EPISODES = SHIPPED | {name: (alone, one.episodes()[0]) for name, (alone, one) in HAND_MADE.items()}
MESSAGES = _shipped(as_messages=True)


@pytest.mark.parametrize("order", ["causal", "strict"])
@pytest.mark.parametrize("name", EPISODES)
def test_round_trip(name: str, order: Order) -> None:
    """record(drive(replay(c))) == c: every frame, byte for byte, in the recorded order, and over
    HTTP on the same exchange with the same head.
    """
    stateless, episode = EPISODES[name]
    playing = PlayerOptions(order=order, pace=RECORDED)
    between = [Resumption()]
    again = record_replay_of(episode, playing, stateless=stateless, live=100, between=between)

    assert _told(episode) == _told(again, live=100, session=_session_of(episode))


@pytest.mark.parametrize("kind", ["stdio", "streamable-http", "sse"])
@pytest.mark.parametrize("name", MESSAGES)
def test_the_transport_does_not_matter(name: str, kind: str) -> None:
    """Whatever a cassette was recorded over, a client that speaks any other hears each message of
    it, in the recorded order.
    """
    episode = MESSAGES[name]
    between, stateless = ([], False) if kind == "stdio" else _over(kind, episode)
    again = record_replay_of(
        episode, PlayerOptions(pace=RECORDED), stateless=stateless, between=between
    )

    assert _messages(episode) == _messages(again)


def _is_modern(episode: Episode) -> bool:
    return any(map(is_modern, revisions_spoken(episode.events)))


@pytest.mark.parametrize("http", [False, True])
@pytest.mark.parametrize("name", MESSAGES)
def test_the_era_does_not_matter(name: str, http: bool) -> None:
    """A client of the other era gets the messages that the session amounts to there, in the
    recorded order, as messages and exchange for exchange.
    """
    episode = SHIPPED[name][1] if http else MESSAGES[name]
    modern, on_http = not _is_modern(episode), http and episode.events[0].x is not None
    translated = translate(episode, LATEST if modern else LAST_LEGACY)
    again = record_replay_of(
        translated,
        PlayerOptions(pace=RECORDED),
        recorded=episode,
        stateless=modern and on_http and episode.take.transport != "sse",
        live=100 if http else None,
    )

    if on_http:
        assert _told(translated) == _told(again, live=100, session=_session_of(translated))
    else:
        assert _messages(translated) == _messages(again)


@pytest.mark.parametrize("name", EPISODES)
def test_same_input_same_bytes(name: str) -> None:
    """Twice the same drive gives twice the same recording, times included."""
    stateless, episode = EPISODES[name]

    one, two = (
        record_replay_of(episode, PlayerOptions(), stateless=stateless, live=100) for _ in range(2)
    )

    assert one.events == two.events
