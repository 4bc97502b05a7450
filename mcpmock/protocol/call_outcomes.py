"""`CallOutcomes`: how the requests of a client end, of all sessions of one recording or server.

`correlation` knows which response answers which request; this keeps what its caller noted of the
request until then. Pure and bounded. Coverage and the assertions of `mcpmock check` stand above.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from typing import Any, NamedTuple

import attrs

from .correlation import CANCELLED, MAX_OPEN_CALLS, Correlation, id_space
from .messages import C2S, Direction, Message, Notification, Request, Response

_MAX_SPACES = 10_000


class CallOutcome(NamedTuple):
    """A request that is over."""

    request: Request
    mark: Any
    """What the caller noted with the request."""
    response: Response | None = None
    """None of one that was cancelled, or refused without a message."""


@attrs.define
class CallOutcomes:
    """Takes the messages of both sides in their order."""

    _spaces: OrderedDict[tuple[int, int | None], Correlation] = attrs.field(factory=OrderedDict)
    _open: OrderedDict[int, CallOutcome] = attrs.field(factory=OrderedDict)
    _posted: OrderedDict[int, list[int]] = attrs.field(factory=OrderedDict)
    """The requests that each HTTP exchange carried."""
    _count: int = 0

    def note(
        self,
        session: int,
        exchange: int | None,
        direction: Direction,
        message: Message,
        mark: Any = None,
    ) -> CallOutcome | None:
        """Take the next message. Return the request of the client that it ends."""
        self._count += 1
        calls = self._calls(id_space(session, exchange))
        if isinstance(message, Request) and direction is C2S:
            replaced = calls.open_call(C2S, message.id)
            if replaced is not None:  # sent again, behind a redirect
                self._open.pop(replaced.index, None)
            self._begin(CallOutcome(message, mark), exchange)
        call = calls.note(direction, message, self._count, exchange).call
        ends = isinstance(message, Response) or (
            isinstance(message, Notification) and message.method == CANCELLED
        )
        if not ends or call is None or call.direction is not C2S:
            return None
        outcome = self._open.pop(call.index, None)
        answer = message if isinstance(message, Response) else None
        return None if outcome is None else outcome._replace(response=answer)

    def refuse(self, exchange: int) -> list[CallOutcome]:
        """Return the requests that are over because the HTTP exchange that carried them failed."""
        found = (self._open.pop(index, None) for index in self._posted.pop(exchange, ()))
        return [outcome for outcome in found if outcome is not None]

    def unanswered(self) -> Iterator[CallOutcome]:
        """Yield the requests that are not over."""
        yield from self._open.values()

    def _calls(self, space: tuple[int, int | None]) -> Correlation:
        calls = self._spaces.get(space)
        if calls is None:
            calls = self._spaces[space] = Correlation()
            if len(self._spaces) > _MAX_SPACES:
                self._spaces.popitem(last=False)
        return calls

    def _begin(self, outcome: CallOutcome, exchange: int | None) -> None:
        self._open[self._count] = outcome
        if len(self._open) > MAX_OPEN_CALLS:
            self._open.popitem(last=False)
        if exchange is not None:
            self._posted.setdefault(exchange, []).append(self._count)
            if len(self._posted) > _MAX_SPACES:
                self._posted.popitem(last=False)
