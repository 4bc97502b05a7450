"""What a test that passed tells of its cassette: `leftovers` adds it up."""

from __future__ import annotations

from collections.abc import Iterator

from mcpmock.api.log import Log
from mcpmock.cassette.keys import asked_of
from mcpmock.cli.terminal import printable

from .leftovers import IGNORE, Told
from .settings import Settings


def told_of(settings: Settings, log: Log) -> Told:
    """Where the real server was at work, nothing can be left over."""
    real = settings.records or settings.extends
    return Told(
        cassette=str(settings.path),
        shown=settings.shown,
        unused=IGNORE if real else settings.unused,
        left=[] if real else list(_left(log)),
    )


def _left(log: Log) -> Iterator[tuple[str, dict[str, str]]]:
    """By session (the line of its take, its number, and how it was played) what was not asked."""
    for player in log.players:
        lead = player.leading
        if lead is None or not lead.answered:
            continue
        take, events = lead.score.episode.take, lead.score.episode.events
        asked = {event.index: asked_of(event.frame) for event in lead.unused}
        methods = {
            str(index): printable(what.method) for index, what in asked.items() if what is not None
        }
        yield f"{take.line}/{events[0].s}/{take.transport}", methods
