"""What a replay of a cassette would answer to one request, and if nothing, why."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs

from mcpmock.cassette.model import Cassette
from mcpmock.pipeline.pipeline import Pipeline
from mcpmock.playback.miss import Miss
from mcpmock.playback.player import PlayerNote, PlayerOptions
from mcpmock.protocol import edit
from mcpmock.protocol.messages import C2S, Frame, Notification, Request, Response
from mcpmock.sessions.replay import Replay, bare_messages
from mcpmock.view.miss_report import miss_lines

_ID = b'"mcpmock-asked"'
_HANDSHAKE = {"initialize", "notifications/initialized"}


@attrs.frozen
class Explained:
    """The lines of the report of a miss, or the answer."""

    missed: bool
    lines: list[str]


def explain_request(cassette: Cassette, name: str, method: str, params: Any) -> Explained:
    """Ask a fresh replay: the recorded handshake first, where there is one, then the request."""
    misses: list[Miss] = []

    def report(event: Miss | PlayerNote) -> None:
        if isinstance(event, Miss):
            misses.append(event)

    replay = Replay(cassette, PlayerOptions(rules_in=name), report)
    player = Pipeline(replay.stages(replay.bare_player()))
    player.begin(0.0)
    for frame in _handshake(cassette):
        _ask(player, frame)
    misses.clear()
    answers = [
        frame.raw.decode("utf-8", "replace")
        for frame in _ask(player, Frame(C2S, edit.request(_ID, method, params)))
        if isinstance(frame.content, Response) and frame.content.id == _ID
    ]
    if misses:
        return Explained(True, miss_lines(misses[0], Path(name)))
    return Explained(not answers, answers)


def _handshake(cassette: Cassette) -> Iterator[Frame]:
    """Yield the first handshake that a client made."""
    for take in bare_messages(cassette).takes:
        left = set(_HANDSHAKE)
        for event in take.events:
            frame = event.frame
            if frame is None or frame.direction is not C2S:
                continue
            content = frame.content
            if isinstance(content, Request | Notification) and content.method in left:
                left.remove(content.method)
                yield Frame(C2S, frame.raw)
            elif left != _HANDSHAKE or isinstance(content, Request):
                break
        if left != _HANDSHAKE:
            return


def _ask(player: Pipeline, frame: Frame) -> list[Frame]:
    """Return all that a message is answered with; pauses cost nothing."""
    now = player.next_due or 0.0
    found = list(player.enter([frame], now))
    while (due := player.next_due) is not None and player.hung_up is None:
        found += player.advance(due)
    return [one for batch in found for one in batch]
