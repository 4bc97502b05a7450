"""`check`: the violations of the protocol's rules in a cassette."""

from __future__ import annotations

from collections.abc import Iterator

import attrs
from msgspec import UNSET

from mcpmock.cassette.model import Cassette, Event, Take, names_endpoint, numbered
from mcpmock.protocol.transport_facts import NO_SESSION

from .context import ServerState
from .conversation import ConversationChecker
from .specification import Unjudged, Violation


@attrs.frozen
class Found:
    """A violation in a cassette."""

    take: int
    """The number of the take, from 1."""
    event: Event
    violation: Violation
    line: int = 0
    """The line of the event, from 1; 0 if what was checked is no file."""
    allowed: str = ""
    """The line of `--allow` or of a baseline that allows it; empty if none does."""


@attrs.frozen
class Unchecked:
    """What could not be checked in a cassette: `what` it is, and `why`."""

    take: int
    """The number of the take, from 1."""
    event: Event
    what: str
    why: str
    quiet: bool = False
    """Whether that is usual, and only said where everything is."""
    line: int = 0
    """The line of the event, from 1; 0 if what was checked is no file."""


def check(cassette: Cassette, *, lines: bool = False) -> Iterator[Found | Unchecked]:
    """Yield the violations in a cassette and what could not be checked, take by take, in the order
    of the events; with `lines`, each with that of its event.
    """
    for number, take in enumerate(cassette.takes, 1):
        checker = TakeChecker(number, take, damaged=bool(cassette.damage))
        for line, event in numbered(take) if lines else ((0, event) for event in take.events):
            yield from checker.check(event, line)


@attrs.define
class TakeChecker:
    """Checks each session of a take by itself, event by event."""

    number: int
    take: Take
    damaged: bool = False
    """In a damaged cassette every session counts as incomplete."""
    _transport: str = attrs.field(init=False)
    _server: ServerState = attrs.field(factory=ServerState)
    _conversations: dict[int, ConversationChecker] = attrs.field(factory=dict)

    def __attrs_post_init__(self) -> None:
        self._transport = self.take.transport  # looks at all events: not again for each session

    def check(self, event: Event, line: int = 0) -> list[Found | Unchecked]:
        """Return the violations in the next event, and what in it could not be checked."""
        if names_endpoint(event):  # of a take that grows
            self._transport = self.take.transport
        conversation = self._conversations.get(event.s)
        if conversation is None:
            conversation = ConversationChecker.over(
                self._transport, sessionless=event.s == NO_SESSION, server=self._server
            )
            self._conversations[event.s] = conversation
        if self.damaged or event.gap is not UNSET or event.oversize is not None:
            conversation.mark_incomplete()
        frame = None if event.oversize is not None else event.frame
        if frame is None:
            return []
        return [
            Unchecked(self.number, event, *one, line=line)
            if isinstance(one, Unjudged)
            else Found(self.number, event, one, line)
            for one in conversation.check(frame, event.n, event.t or None)
        ]
