"""`Log`: what clients asked a fake server, what it missed, and what was said last.

One log belongs to one fake server, however many clients it has; each conversation has a `Watcher`
that notes what passes. `server.ReplayServer` and the pytest plugin show it. Lists only grow, and
growing one is atomic, so a test may look from another thread.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import attrs

from mcpmock.pipeline.stage import PASS, Action, Stage
from mcpmock.playback.miss import Miss
from mcpmock.playback.player import Player, PlayerNote
from mcpmock.protocol.messages import (
    C2S,
    Frame,
    Notification,
    Request,
    Response,
    Stderr,
    decode,
    parse_items,
)

LAST = 50
"""How many messages are kept to be shown."""
LONGEST_TAIL = 1 << 14
"""How many bytes of a server's standard error are kept."""


@attrs.frozen
class Call:
    """A request or a notification that a client sent.

    `session` numbers the conversations of the fake server from 1, `id` is None for a notification,
    `params` are the decoded parameters ({} where there are none).

    >>> call = mcpmock.Call("tools/call", {"name": "get_weather", "arguments": {}}, id=2)
    >>> call.tool, str(call)
    ('get_weather', 'tools/call get_weather')
    """

    method: str
    params: dict[str, Any]
    id: str | int | float | None = None
    session: int = 1

    @property
    def tool(self) -> str | None:
        """The tool (or prompt) of the call, by its name; None for another method."""
        name = self.params.get("name") if self.method in {"tools/call", "prompts/get"} else None
        return name if isinstance(name, str) else None

    def __str__(self) -> str:
        return self.method if self.tool is None else f"{self.method} {self.tool}"


@attrs.define
class Log:
    """What happened at one fake server, of all its clients."""

    calls: list[Call] = attrs.field(factory=list)
    """What clients sent, in the order it came."""
    misses: list[Miss] = attrs.field(factory=list)
    """What nothing recorded fitted."""
    notes: list[PlayerNote] = attrs.field(factory=list)
    """What was matched in spite of something, and what changed nothing."""
    last: deque[Frame] = attrs.field(factory=lambda: deque(maxlen=LAST))
    """The last messages, both ways."""
    stderr: bytearray = attrs.field(factory=bytearray)
    """The end of what the server wrote to standard error."""
    players: list[Player] = attrs.field(factory=list)
    """Who played each conversation; none while recording."""
    open: dict[tuple[int, bytes], str] = attrs.field(factory=dict)
    """The methods of the requests that have no answer yet, by conversation and id."""

    listeners: list[Callable[[int, Frame], object]] = attrs.field(factory=list)
    """Are told of every message, with its conversation, before it goes on."""

    def report(self, what: Miss | PlayerNote) -> None:
        """For a player."""
        (self.misses if isinstance(what, Miss) else self.notes).append(what)  # type: ignore[arg-type]

    def watch(self, conversation: int, player: Player | None) -> Stage:
        """A `sessions.run.Observer`."""
        if player is not None:
            self.players.append(player)
        return Watcher(self, conversation)

    def requests(self, method: str | None = None, *, tool: str | None = None) -> list[Call]:
        """What clients sent, in order: all of it, or of one method, or for one tool."""
        return [
            call
            for call in list(self.calls)
            if method in (None, call.method) and tool in (None, call.tool)
        ]

    def assert_called(
        self, method: str, *, times: int | None = None, tool: str | None = None
    ) -> None:
        """Raises AssertionError unless it was sent at least once, or exactly `times` times."""
        found = len(self.requests(method, tool=tool))
        if found == times or (times is None and found):
            return
        wanted = "at least once" if times is None else f"{times} times"
        name = method if tool is None else f"{method} {tool}"
        raise AssertionError(
            f"{name} was to be called {wanted}, and was {found} times; {self._told()}"
        )

    def assert_order(self, *names: str) -> None:
        """Raises AssertionError unless these came in this order, with anything in between. A name
        is a method, or a method and a tool: `tools/call get_weather`.
        """
        calls = iter(list(self.calls))
        for name in names:
            if not any(name in (call.method, str(call)) for call in calls):
                raise AssertionError(f"{name} did not come in its turn; {self._told()}")

    def _told(self) -> str:
        return f"what came: {', '.join(map(str, self.calls)) or 'nothing'}"

    def leftovers(self) -> list[str]:
        """What the played sessions still had, in words."""
        players = [player for player in self.players if player.leading and player.leading.answered]
        return [line for player in players for line in player.leftovers()]


@attrs.define
class Watcher(Stage):
    """Notes what passes in one conversation, and changes nothing."""

    log: Log
    session: int

    def feed(self, seen: Sequence[Frame], now: float) -> Iterable[Action]:  # noqa: ARG002
        for frame in seen:
            if frame.fact is None:
                self._note(frame)
            elif isinstance(frame.fact, Stderr):
                self.log.stderr += frame.raw
                del self.log.stderr[:-LONGEST_TAIL]
        return PASS

    def _note(self, frame: Frame) -> None:
        if not frame.raw.strip():
            return
        self.log.last.append(frame)
        for tell in self.log.listeners:
            tell(self.session, frame)
        for message in parse_items(frame.raw):
            if isinstance(message, Response) and frame.direction is not C2S:
                self.log.open.pop((self.session, message.id or b""), None)
            elif isinstance(message, Request | Notification) and frame.direction is C2S:
                self._ask(message)

    def _ask(self, message: Request | Notification) -> None:
        params = None if message.params is None else decode(message.params)
        id_ = message.id if isinstance(message, Request) else None
        if id_ is not None:
            self.log.open[self.session, id_] = message.method
        known = params if isinstance(params, dict) else {}
        self.log.calls.append(
            Call(message.method, known, None if id_ is None else decode(id_), self.session)
        )
