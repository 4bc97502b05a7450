"""`drive`: plays the recorded clients of a cassette to a real server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager

import attrs
import trio

from mcpmock.batch.sources import Source, load_source
from mcpmock.cassette.model import Cassette
from mcpmock.faults.control import FaultControl, Faults, run_of
from mcpmock.playback.timing import Timing
from mcpmock.semantic_diff.compare import Diff
from mcpmock.sessions.drive import drive_and_record
from mcpmock.sessions.servers import Server

from .cassettes import diff
from .targets import parse_server, say
from .thread import require_trio


@attrs.frozen
class Driven:
    """The outcome of driving a server.

    >>> async def main():
    ...     server = ["mcpmock", "replay", "snow.jsonl"]
    ...     async with mcpmock.drive("weather.jsonl", server=server) as driven:
    ...         return driven.status, driven.diff().worst.word
    >>> trio.run(main)
    (0, 'risky')
    """

    cassette: Cassette
    """The cassette whose clients were played."""
    live: Cassette
    """The recording of the run."""
    status: int
    """0; 1 if the server did not send what a client waited for; 4 if it was not reached."""
    faults: FaultControl
    """The injected faults: how often each `fired`, and the `receipts`."""

    def diff(
        self,
        *,
        ignore: Iterable[str] = (),
        like: Iterable[str] = (),
        unordered: Iterable[str] = (),
    ) -> Diff:
        """Return the differences between the cassette and the live recording: see
        `mcpmock.diff`.
        """
        return diff(self.cassette, self.live, ignore=ignore, like=like, unordered=unordered)


async def drive_server(
    cassette: Source,
    server: Server,
    timing: str = "none",
    faults: Faults | None = None,
    seed: int | None = None,
    values: Mapping[str, str] | None = None,
) -> Driven:
    """Play every recorded client, one after the other, under trio. Raises CannotStart."""
    recorded, run = load_source(cassette), run_of(faults, seed)
    outcome = await drive_and_record(
        recorded,
        server,
        say,
        timing=Timing.parse(timing),
        values=values,
        faults=run if run.armed else None,
        stop=trio.Event(),
    )
    return Driven(recorded, outcome.live, outcome.status, FaultControl(run))


@asynccontextmanager
async def drive(
    cassette: Source,
    *,
    server: Sequence[str] | None = None,
    url: str | None = None,
    timing: str = "none",
    faults: Faults | None = None,
    seed: int | None = None,
    values: Mapping[str, str] | None = None,
) -> AsyncIterator[Driven]:
    """Play the recorded clients to a real server, under trio, and give the outcome.

    >>> async def main():
    ...     server = ["mcpmock", "replay", "weather.jsonl"]
    ...     async with mcpmock.drive("weather.jsonl", server=server) as driven:
    ...         assert driven.diff().worst is None
    >>> trio.run(main)

    `server` is a command line, `url` an address, `timing` as in `mcpmock drive`, `faults` and
    `seed` as in `serve`. `values` are sent in place of placeholders that the server does not give a
    value: `{"mcpmock:secret:token:1": os.environ["TOKEN"]}`. Raises CassetteError,
    PlanError and CannotStart.
    """
    require_trio("drive")
    yield await drive_server(cassette, parse_server(server, url), timing, faults, seed, values)
