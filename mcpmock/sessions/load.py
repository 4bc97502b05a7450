"""`drive` as a load: the recorded clients of a cassette, many at once and again and again.

The figures are those of `playback.client.load`. A session takes the place of one client: over HTTP
it has connections of its own, a server that is a process is started for each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import count
from math import inf

import attrs
import trio
from msgspec import field

from mcpmock.channels.fd import DescriptorQueue
from mcpmock.platforms import raise_descriptor_limit
from mcpmock.playback.client.load import Load, LoadCalls, LoadSession

from .drive import Drive, DriveFront
from .run import Run

MAX_SESSIONS_AT_ONCE = 1000
"""How many sessions run at once where they are started at a rate and no bound is given."""
PROGRESS_INTERVAL_S = 1.0


@attrs.frozen(kw_only=True)
class LoadPace:
    """How many sessions there are, and when each is started. Times are in seconds.

    Without a rate a session is started when another one is over (a closed loop). With it, session n
    is due at n / `rate`, however long the others take (an open loop); where `concurrency` sessions
    run already it is started too late.
    """

    sessions: float = inf
    concurrency: int = 1
    duration: float = inf
    """No session is started after it."""
    rate: float | None = None


class LoadFront(DriveFront, frozen=True, kw_only=True):
    """The recorded clients in turn, at the pace given. `load` has the figures, also of a load that
    was stopped.
    """

    pace: LoadPace
    load: Load = field(default_factory=Load)
    progress: Callable[[Load], None] | None = None
    """Called every second."""

    def drive(self, run: Run, stderr: DescriptorQueue) -> Drive:
        return _LoadDrive(run, self, stderr, pace=self.pace, load=self.load, progress=self.progress)


def load_front(
    clients: DriveFront, pace: LoadPace, progress: Callable[[Load], None] | None = None
) -> LoadFront:
    """Return the same clients as a load. Its figures name each kind of call that they make."""
    front = LoadFront(
        scripts=clients.scripts,
        timing=clients.timing,
        values=clients.values,
        pace=pace,
        progress=progress,
    )
    for script in front.scripts:
        front.load.calls_of(script)
    return front


@attrs.define
class _LoadDrive(Drive):
    pace: LoadPace = attrs.field(kw_only=True)
    load: Load = attrs.field(kw_only=True)
    progress: Callable[[Load], None] | None = attrs.field(kw_only=True)
    _numbers: Iterator[int] = attrs.field(factory=count)
    _counted: Sequence[Sequence[LoadCalls]] = ()
    """Where the calls of each script count."""
    _begun: float = 0.0

    async def play(self) -> int:
        """Play the load. What failed is in its figures."""
        if self.kind is not None:
            # A session over HTTP has two connections, and the usual limit is 1024. A server that is
            # a process would inherit the higher limit, so there it stays.
            raise_descriptor_limit()
        self._counted = [self.load.calls_of(script) for script in self.front.scripts]
        async with self.playing():
            self._begun = trio.current_time()
            try:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(self._tell_progress)
                    async with trio.open_nursery() as workers:
                        for _ in range(int(min(self.pace.concurrency, self.pace.sessions))):
                            workers.start_soon(self._work)
                    nursery.cancel_scope.cancel()
            finally:
                self.load.seconds = trio.current_time() - self._begun
        return 0

    async def _tell_progress(self) -> None:
        while self.progress is not None:
            await trio.sleep(PROGRESS_INTERVAL_S)
            self.load.seconds = trio.current_time() - self._begun
            self.progress(self.load)

    async def _work(self) -> None:
        """Play one session after the other, as long as any is due."""
        pace, end = self.pace, self._begun + self.pace.duration
        for number in self._numbers:
            if self.run.reach.failing and not self.load.answered:
                return  # there is no server: a load of errors says no more
            due = self._begun if pace.rate is None else self._begun + number / pace.rate
            if number >= pace.sessions or due >= end:
                return
            await trio.sleep_until(due)
            now = trio.current_time()
            if now < end:
                await self._play(number, 0.0 if pace.rate is None else now - due)
            elif pace.rate is not None:
                self.load.unstarted += 1
            else:
                return

    async def _play(self, number: int, delay: float) -> None:
        self.load.latest_start = max(self.load.latest_start, delay)
        place = number % len(self._counted)
        script = self.front.scripts[place]
        session = LoadSession(self.load, script, self._counted[place], delay)
        driver = self.driver(script, report=self.load.fail, on_answer=session.answered)
        await self.converse(driver)
        session.finish(driver)
