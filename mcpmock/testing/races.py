"""`Race`: one cell of the grid of cancellation races of a recorded call, as a test gets it; and the
list of all races of a call.

The fault `cancel_race` withholds the messages that the client must not see before it cancels. This
module tells the test when to cancel: when the client has received i messages of the call.
`faults.races.grid` has the grid, `pytest_plugin` the fixture.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import TYPE_CHECKING, Any

import attrs

from mcpmock.api.thread_server import ThreadServer
from mcpmock.cassette.file import load
from mcpmock.cassette.model import Cassette
from mcpmock.errors import McpMockError
from mcpmock.faults.match import Match, MatchPlace, Subject, Turn, fits
from mcpmock.faults.races.fault import CancelRace
from mcpmock.faults.races.grid import Cell, Name, Reaction, cells
from mcpmock.faults.session_calls import SessionCall, answered_calls
from mcpmock.printable import many
from mcpmock.protocol.correlation import PROGRESS, Correlation, PendingCall
from mcpmock.protocol.messages import Frame, Notification, Request, Response, decode

from .cross_loop_event import CrossLoopEvent
from .settings import Settings, settings_of

if TYPE_CHECKING:
    import pytest

MOMENT_TIMEOUT_S = 30.0
"""How long a test waits for the moment to cancel."""
CANCEL_TIMEOUT_S = 5.0
"""How long messages are withheld for a cancel: a client that never cancels has to fail soon."""
_ENDINGS = ("crash", "close")


@attrs.frozen
class Raced:
    """A cell, and the reaction of the server: `silent` where it has nothing left to send."""

    cell: Cell
    reaction: Reaction

    @property
    def id(self) -> str:
        """The id in the name of a test."""
        return f"{self.cell.name}-i{self.cell.i}-j{self.cell.j}-{self.reaction}"

    @property
    def ends(self) -> bool:
        """Whether the reaction ends the session."""
        return self.reaction in _ENDINGS


def list_races(k: int, reactions: tuple[Reaction, ...]) -> Iterator[Raced]:
    """Yield all cells for k messages, each with all reactions that differ there: for a call without
    progress, late progress is the same as silence.
    """
    for cell in cells(k):
        if not cell.reacts:
            yield Raced(cell, "silent")
            continue
        for reaction in reactions:
            if reaction != "late_progress" or k > 1:
                yield Raced(cell, reaction)


def messages_of(cassette: Cassette, match: Match) -> int | None:
    """Return how many messages the first matching call got: its progress and the answer. None if no
    answered call matches.
    """
    calls = (one for one in answered_calls(cassette) if _matches(match, one.subject))
    return next((one.progress + 1 for one in calls), None)


def _matches(match: Match, subject: Subject) -> bool:
    """Return whether a call matches, in whatever session it is made."""
    anywhere = attrs.evolve(match, session=None, transport=None, era=None, phase=None)
    return fits(anywhere, subject, MatchPlace())


class Race:
    """One cancellation race, and all that a test needs to run it. The server sends `k` messages for
    a call. The client has to cancel when it has received `i` of them, and receives `j` in all; what
    happens to the rest depends on the server's `reaction`.

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
                    await client.list_tools()  # the session still works

        async def work(client):
            await client.call_tool("slow", {}, progress_callback=shown)

        async def shown(progress, total, message): ...
    """

    def __init__(self, raced: Raced, match: Match, server: ThreadServer) -> None:
        self.cell: Cell = raced.cell
        """Its place in the grid."""
        self.reaction: Reaction = raced.reaction
        """How a server reacts that has not answered yet: `silent`, `late_result`, ..."""
        self._raced, self._server = raced, server
        match = match if _chooses(match) else attrs.evolve(match, nth=1)
        self._match = match
        self._turn = Turn(attrs.evolve(match, between=None, probability=1.0))
        self._sessions: dict[int, Correlation] = {}
        self._call: PendingCall | None = None
        self._received = 0
        self._moment = CrossLoopEvent()
        server.log.listeners.append(self._listen)
        server.faults.add(
            CancelRace(
                name=raced.id,
                i=self.i,
                j=self.j,
                reaction=self.reaction,
                at_most=CANCEL_TIMEOUT_S,
                match=match,
                must_fire=self.i < self.k,  # behind all messages there is nothing to withhold
            )
        )

    def __repr__(self) -> str:
        return f"<Race {self._raced.id} of {self.k}>"

    @property
    def i(self) -> int:
        """How many messages the client has received when it has to cancel.

        >>> race.i
        1
        """
        return self.cell.i

    @property
    def j(self) -> int:
        """How many messages the server has sent when the cancel reaches it.

        >>> race.j
        2
        """
        return self.cell.j

    @property
    def k(self) -> int:
        """How many messages there are: progress and the answer.

        >>> race.k
        3
        """
        return self.cell.k

    @property
    def name(self) -> Name:
        """The name of the race: `cancel_crosses_response`, ...

        >>> race.name
        'cancel_crosses_progress'
        """
        return self.cell.name

    @property
    def ends(self) -> bool:
        """Whether the reaction ends the session, so that no further request can be sent.

        >>> race.ends, race.reaction
        (False, 'silent')
        """
        return self._raced.ends

    @property
    def request_id(self) -> str | int | float | None:
        """The id of the call, once it was made: the `requestId` of a cancel.

        >>> race.request_id is None
        True
        """
        id_: Any = None if self._call is None else decode(self._call.request.id)
        return id_  # type: ignore[no-any-return]

    @property
    def reached(self) -> Cell | None:
        """The cell that the cancel really reached; None before the cancel. A client that cancels
        too early, or receives its messages late, reaches another cell than intended. Messages that
        the server has not sent by then count as if they came as recorded.

        >>> race.reached is None
        True
        """
        for receipt in reversed(self._server.faults.receipts):
            drawn = receipt.get("drawn", {})
            if receipt.get("name") == self._raced.id and "cell" in drawn:
                return Cell(drawn["i"], drawn["j"], drawn.get("k", self.k))
        return None

    async def moment(self, patience: float = MOMENT_TIMEOUT_S) -> None:
        """Wait, under asyncio or trio, until the client has received what it must see before it
        cancels. In memory it has processed that, too. Raises TimeoutError after `patience` seconds.

        >>> trio.run(race.moment, 0.0)
        Traceback (most recent call last):
        TimeoutError: the call that the race selects was not made
        """
        if not await self._moment.wait_async(patience):
            raise TimeoutError(self._timeout_reason())

    def wait(self, patience: float = MOMENT_TIMEOUT_S) -> None:
        """Block the thread, for a test without an event loop.

        >>> race.wait(0.0)
        Traceback (most recent call last):
        TimeoutError: the call that the race selects was not made
        """
        if not self._moment.wait(patience):
            raise TimeoutError(self._timeout_reason())

    def _timeout_reason(self) -> str:
        if self._call is None:
            return "the call that the race selects was not made"
        return (
            f"the client received {many(self._received, 'message')} of the call instead of {self.i}"
        )

    def _listen(self, conversation: int, frame: Frame) -> None:
        message = frame.content
        if not isinstance(message, Request | Response | Notification):
            return
        session = self._sessions.setdefault(conversation, Correlation())
        call = session.note(frame.direction, message, conversation).call
        if call is None:
            return
        if self._call is None and isinstance(message, Request):
            self._call = call if self._is_selected(conversation, frame, call) else None
        elif call is not self._call or frame.direction is call.direction:
            return
        elif isinstance(message, Response) or message.method == PROGRESS:
            self._received += 1
        if self._call is not None and self._received == self.i:
            self._moment.set()

    def _is_selected(self, conversation: int, frame: Frame, call: PendingCall) -> bool:
        """Return whether the fault, which sees the request next, selects it."""
        here = self._match.session in (None, conversation)
        return (
            here
            and _matches(self._match, SessionCall(call, frame).subject)
            and self._turn.comes(0.0, Random(0), {})
        )


def _chooses(match: Match) -> bool:
    """Return whether the match selects one of several matching calls."""
    return any((match.nth, match.every, match.times, match.after))


def races_of(item: pytest.Item) -> list[Raced]:
    """Return the races that the marker of a test selects. Raises UsageError without `races=`, or if
    no recorded call matches. Without a cassette there is one race, so that the test fails.
    """
    import pytest

    settings = settings_of(item)
    if settings.races is None:
        raise pytest.UsageError(
            f'mcpmock: {item.nodeid}: name the call to cancel in the marker: races={{"tool": NAME}}'
        )
    if not settings.path.exists():
        return [Raced(Cell(0, 0, 1), "silent")]
    try:
        return recorded_races(settings, settings.races)
    except McpMockError as error:
        raise pytest.UsageError(f"mcpmock: {item.nodeid}: {error}") from error


def recorded_races(settings: Settings, match: Match) -> list[Raced]:
    """Return the races of the recorded call that matches. Raises McpMockError if none does, and
    CassetteError.
    """
    k = messages_of(load(settings.path), match)
    if k is None:
        given = attrs.asdict(match, filter=lambda field, value: value != field.default)
        raise McpMockError(f"{settings.shown} has no answered call for races={given}")
    return list(list_races(k, settings.reactions))
