"""`drive`: the client's half of a cassette, played to a real server, and what came of it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager

import attrs
import trio

from mcpmock.cassette.model import Cassette
from mcpmock.faults.control import FaultControl, Faults, run_of
from mcpmock.playback.timing import Timing
from mcpmock.semantic_diff.compare import Comparison
from mcpmock.sessions.drive import drive_anew
from mcpmock.sessions.signals import embedded

from .cassettes import diff
from .record import say, server_of
from .server import Source, cassette_of
from .thread import require_trio


@attrs.frozen
class Driven:
    """What came of driving a server.

    >>> async def main():
    ...     server = ["mcpmock", "replay", "snow.jsonl"]
    ...     async with mcpmock.drive("weather.jsonl", server=server) as driven:
    ...         return driven.status, driven.diff().worst.word
    >>> trio.run(main)
    (0, 'risky')
    """

    cassette: Cassette
    """Whose client was played."""
    live: Cassette
    """What was recorded meanwhile."""
    status: int
    """0; 1 where the server did not do what the client waited for; 4 where it was not reached."""
    faults: FaultControl
    """What went wrong on purpose: how often it `fired`, its `receipts`."""

    def diff(self, *, ignore: Iterable[str] = ()) -> Comparison:
        """What differs from what was recorded: see `mcpmock.diff`."""
        return diff(self.cassette, self.live, ignore=ignore)


async def driven(
    cassette: Source,
    *,
    server: Sequence[str] | None = None,
    url: str | None = None,
    timing: str = "none",
    faults: Faults | None = None,
    seed: int | None = None,
) -> Driven:
    """Plays every recorded client, one after the other, under trio. Raises CannotStart."""
    recorded, run = cassette_of(cassette), run_of(faults, seed)
    with embedded(trio.Event()):
        came = await drive_anew(
            recorded, server_of(server, url), Timing.parse(timing), say, run if run.armed else None
        )
    return Driven(recorded, came.live, came.status, FaultControl(run))


@asynccontextmanager
async def drive(
    cassette: Source,
    *,
    server: Sequence[str] | None = None,
    url: str | None = None,
    timing: str = "none",
    faults: Faults | None = None,
    seed: int | None = None,
) -> AsyncIterator[Driven]:
    """A fake client under trio: plays the recorded clients to a real server, and gives what came.

    >>> async def main():
    ...     server = ["mcpmock", "replay", "weather.jsonl"]
    ...     async with mcpmock.drive("weather.jsonl", server=server) as driven:
    ...         assert driven.diff().worst is None
    >>> trio.run(main)

    `server` is a command line, `url` an address, `timing` as in `mcpmock drive`, `faults` and
    `seed` as in `serve`. Raises CassetteError, PlanError and CannotStart.
    """
    require_trio("drive")
    yield await driven(cassette, server=server, url=url, timing=timing, faults=faults, seed=seed)
