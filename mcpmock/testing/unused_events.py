"""What a test that passed tells of its cassette: `leftovers` adds it up."""

from __future__ import annotations

from collections.abc import Iterator

from mcpmock.api.log import Log
from mcpmock.playback.request_key import match_subject
from mcpmock.view.printable import printable

from .settings import Settings
from .unused_cassettes import IGNORE, Told


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
    """By session (the line of its take, its number, and how it was played) what was not asked, by
    the numbers of the events. Exchanges without a session are played from all takes at once; each
    of these is told for itself, for other tests may have played it alone.
    """
    for player in log.players:
        lead = player.leading
        if lead is None or not lead.answered:
            continue
        whole = lead.plan.episode
        parts = whole.parts or [(0, whole)]
        ends = [*(start for start, _ in parts[1:]), len(whole.events)]
        asked = {event.index: match_subject(event.frame) for event in lead.unused}
        for (start, episode), end in zip(parts, ends, strict=True):
            methods = {
                str(whole.events[index].n): printable(what.method)
                for index, what in asked.items()
                if what is not None and start <= index < end
            }
            take = episode.take
            yield f"{take.line}/{episode.events[0].s}/{take.transport}", methods
