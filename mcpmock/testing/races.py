"""`Race`: one cell of the grid of cancellation races of a recorded call, as a test gets it; and
which there are.

The fault `cancel_race` holds back what the client is not to see before it cancels. What stands here
says when that is: the client has been given i messages of the call. `faults.races.grid` has the
grid, `pytest_plugin` the fixture.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import attrs
import pytest

from mcpmock.api.thread_server import ThreadServer
from mcpmock.cassette.file import load
from mcpmock.cassette.model import Cassette, Episode
from mcpmock.faults.match import Match, MatchPlace, Subject, Turn, fits
from mcpmock.faults.races.fault import CancelRace
from mcpmock.faults.races.grid import Cell, Name, Reaction, cells
from mcpmock.protocol.correlation import PROGRESS, Correlation, PendingCall
from mcpmock.protocol.messages import Frame, Notification, Request, Response, decode

from .cross_loop_event import CrossLoopEvent
from .settings import settings_of

PATIENCE = 30.0
"""Seconds that a test waits for its moment."""
_HELD = 5.0
"""Seconds that messages are held for a cancel: an agent that swallows it is to fail soon."""
_ENDINGS = ("crash", "close")


@attrs.frozen
class Raced:
    """A cell, and how the server reacts. Where it has nothing left to say it does not: `silent`."""

    cell: Cell
    reaction: Reaction

    @property
    def id(self) -> str:
        """As it stands in the name of a test."""
        return f"{self.cell.name}-i{self.cell.i}-j{self.cell.j}-{self.reaction}"


def raced(k: int, reactions: tuple[Reaction, ...]) -> Iterator[Raced]:
    """All cells for k messages, with all reactions that differ there: where no progress is left,
    late progress is silence.
    """
    for cell in cells(k):
        if not cell.reacts:
            yield Raced(cell, "silent")
            continue
        for reaction in reactions:
            if reaction != "late_progress" or cell.j < k - 1:
                yield Raced(cell, reaction)


def messages_of(cassette: Cassette, match: Match) -> int | None:
    """How many messages the first answered call that fits got: its progress, and the answer. None
    if there is no such call.
    """
    found = (count for episode in cassette.episodes() for count in _counted(episode, match))
    return next(found, None)


def _counted(episode: Episode, match: Match) -> Iterator[int]:
    session, progress = Correlation(), dict[int, int]()
    for index, event in enumerate(episode.events):
        frame = event.frame
        if frame is None or frame.fact is not None:
            continue
        message = frame.content
        note = session.note(frame.direction, message, index)  # type: ignore[arg-type]
        if note.call is None or note.late:
            continue
        if not _asks(match, frame, note.call):
            continue
        if note.method == PROGRESS:
            progress[note.call.index] = progress.get(note.call.index, 0) + 1
        elif isinstance(message, Response):
            yield progress.get(note.call.index, 0) + 1


def _asks(match: Match, frame: Frame, call: PendingCall) -> bool:
    """Whether the call fits, wherever it is made."""
    anywhere = attrs.evolve(match, session=None, transport=None, era=None, phase=None)
    return fits(anywhere, Subject(frame, call.request, call.request.method, call), MatchPlace())


class Race:
    """One cancellation race, and all that a test needs to run it. The responder emits `k` messages
    for a call. The client is to cancel when it has been given `i` of them, and is given `j` in all;
    of the rest it gets what the server's `reaction` makes of it.

        import anyio
        from mcp import Client

        @pytest.mark.anyio
        @pytest.mark.mcpmock("slow.jsonl", races={"tool": "slow"}, repeats="last")
        async def test_agent(mcpmock_server, mcpmock_races):
            async with Client(mcpmock_server.transport(), mode="legacy") as client:
                async with anyio.create_task_group() as group:
                    group.start_soon(work, client)  # the agent's work
                    await mcpmock_races.moment()
                    group.cancel_scope.cancel()
                if not mcpmock_races.ends:
                    await client.list_tools()  # the session is as good as before

        async def work(client):
            await client.call_tool("slow", {}, progress_callback=shown)

        async def shown(progress, total, message): ...
    """

    def __init__(self, raced: Raced, match: Match, server: ThreadServer) -> None:
        self.cell: Cell = raced.cell
        """Its place in the grid."""
        self.reaction: Reaction = raced.reaction
        """What the server does that had not answered yet: `silent`, `late_result`, ..."""
        self._raced, self._server = raced, server
        match = match if _chooses(match) else attrs.evolve(match, nth=1)
        self._match = match
        self._turn = Turn(attrs.evolve(match, between=None, probability=1.0))
        self._sessions: dict[int, Correlation] = {}
        self._call: PendingCall | None = None
        self._given = 0
        self._moment = CrossLoopEvent()
        server.log.listeners.append(self._listen)
        server.faults.add(
            CancelRace(
                name=raced.id,
                i=self.i,
                j=self.j,
                reaction=self.reaction,
                patience=_HELD,
                match=match,
                must_fire=True,
            )
        )

    def __repr__(self) -> str:
        return f"<Race {self._raced.id} of {self.k}>"

    @property
    def i(self) -> int:
        """How many messages the client has been given when it is to cancel.

        >>> race.i
        1
        """
        return self.cell.i

    @property
    def j(self) -> int:
        """How many the server has sent when it hears of that.

        >>> race.j
        2
        """
        return self.cell.j

    @property
    def k(self) -> int:
        """How many there are: progress, and the answer.

        >>> race.k
        3
        """
        return self.cell.k

    @property
    def name(self) -> Name:
        """What such a race is called: `cancel_crosses_response`, ...

        >>> race.name
        'cancel_crosses_progress'
        """
        return self.cell.name

    @property
    def ends(self) -> bool:
        """Whether the server is gone afterwards, so that nothing more can be asked.

        >>> race.ends, race.reaction
        (False, 'silent')
        """
        return self.reaction in _ENDINGS

    @property
    def request_id(self) -> str | int | float | None:
        """The id of the call, once it was made: what a cancel has to name.

        >>> race.request_id is None
        True
        """
        id_: Any = None if self._call is None else decode(self._call.request.id)
        return id_  # type: ignore[no-any-return]

    @property
    def reached(self) -> Cell | None:
        """Where the cancel really met the answer; None while there was no cancel. A client that
        cancels earlier, or got its messages later, reaches another cell than it was to. What the
        server has not said by then is taken to come as recorded.

        >>> race.reached is None
        True
        """
        for receipt in reversed(self._server.faults.receipts):
            drawn = receipt.get("drawn", {})
            if receipt.get("name") == self._raced.id and "cell" in drawn:
                return Cell(drawn["i"], drawn["j"], drawn.get("k", self.k))
        return None

    async def moment(self, patience: float = PATIENCE) -> None:
        """Waits, under asyncio or trio, until the client has been given what it is to see before it
        cancels. In memory it has taken that in as well. Raises TimeoutError after so many seconds.

        >>> trio.run(race.moment, 0.0)
        Traceback (most recent call last):
        TimeoutError: the call that is to be raced was not made
        """
        if not await self._moment.waited(patience):
            raise TimeoutError(self._late())

    def wait(self, patience: float = PATIENCE) -> None:
        """The same for a test without an event loop: blocks the thread.

        >>> race.wait(0.0)
        Traceback (most recent call last):
        TimeoutError: the call that is to be raced was not made
        """
        if not self._moment.wait(patience):
            raise TimeoutError(self._late())

    def _late(self) -> str:
        if self._call is None:
            return "the call that is to be raced was not made"
        return f"the client was given {self._given} messages of the call, and not {self.i}"

    def _listen(self, conversation: int, frame: Frame) -> None:
        """A message passes, next to the client."""
        message = frame.content
        if not isinstance(message, Request | Response | Notification):
            return
        session = self._sessions.setdefault(conversation, Correlation())
        call = session.note(frame.direction, message, conversation).call
        if call is None:
            return
        if self._call is None and isinstance(message, Request):
            self._call = call if self._is_meant(conversation, frame, call) else None
        elif call is not self._call or frame.direction is call.direction:
            return
        elif isinstance(message, Response) or message.method == PROGRESS:
            self._given += 1
        if self._call is not None and self._given == self.i:
            self._moment.set()

    def _is_meant(self, conversation: int, frame: Frame, call: PendingCall) -> bool:
        """Whether the fault, which sees it next, is for it."""
        here = self._match.session in (None, conversation)
        return here and _asks(self._match, frame, call) and self._turn.comes(0.0, Random(0), {})


def _chooses(match: Match) -> bool:
    """Whether it says which of the calls that fit."""
    return any((match.nth, match.every, match.times, match.after))


def races_of(item: pytest.Item) -> list[Raced]:
    """The races of a test, which its marker names. Raises UsageError where it does not, or where
    nothing like that is recorded; a cassette that is not there makes for one race, which fails.
    """
    settings = settings_of(item)
    if settings.races is None:
        raise pytest.UsageError(
            f"mcpmock: {item.nodeid}: say in the marker which call is to be raced with cancels: "
            'races={"tool": NAME}'
        )
    if not settings.path.exists():
        return [Raced(Cell(0, 0, 1), "silent")]
    k = messages_of(load(settings.path), settings.races)
    if k is None:
        match = settings.races
        said = attrs.asdict(match, filter=lambda field, value: value != field.default)
        raise pytest.UsageError(
            f"mcpmock: {item.nodeid}: {settings.shown} has no answered call for races={said}"
        )
    return list(raced(k, settings.reactions))
