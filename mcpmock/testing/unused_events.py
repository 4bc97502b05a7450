"""Which recorded requests one test did not use; `unused_cassettes` adds the tests up."""

from __future__ import annotations

from collections.abc import Iterator

from mcpmock.api.log import Log
from mcpmock.playback.request_key import match_subject
from mcpmock.view.printable import printable

from .settings import Settings
from .unused_cassettes import IGNORE, CassetteUse


def cassette_use(settings: Settings, log: Log) -> CassetteUse:
    """While a real server is recorded, nothing is unused."""
    real = settings.records or settings.extends
    return CassetteUse(
        cassette=str(settings.path),
        shown=settings.shown,
        unused=IGNORE if real else settings.unused,
        left=[] if real else list(_left(log)),
    )


def _left(log: Log) -> Iterator[tuple[str, dict[str, str]]]:
    """The requests that were not sent, by session (the line of its take, its number and transport)
    and event number. Exchanges without a session are played from all takes at once, but listed take
    by take: another test may have played one of them alone.
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
