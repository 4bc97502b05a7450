"""`Log`: the requests that clients sent to a fake server, the misses, and the last messages.

A fake server has one log for all its clients; each conversation has a `Watcher` that fills it.
`thread_server.ThreadServer` and the pytest plugin show it. A list only grows, and an append is
atomic, so a test may read the log from another thread.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import attrs

from mcpmock.pipeline.stage import PASS, Action, Stage
from mcpmock.playback.miss import Miss
from mcpmock.playback.player import Player, PlayerNote
from mcpmock.protocol import messages as m
from mcpmock.protocol.reassembly import Reassembly

MAX_LAST_MESSAGES = 50
"""How many messages are kept for reports."""
MAX_STDERR_BYTES = 1 << 14
"""How many bytes of a server's standard error are kept, from its end."""


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
    """The log of one fake server."""

    calls: list[Call] = attrs.field(factory=list)
    """The requests and notifications of clients, in the order of their arrival."""
    misses: list[Miss] = attrs.field(factory=list)
    """The requests that match nothing recorded."""
    notes: list[PlayerNote] = attrs.field(factory=list)
    """Remarks of players, such as an imprecise match."""
    last: deque[m.Frame] = attrs.field(factory=lambda: deque(maxlen=MAX_LAST_MESSAGES))
    """The last messages in both directions."""
    stderr: bytearray = attrs.field(factory=bytearray)
    """The end of the server's standard error."""
    players: list[Player] = attrs.field(factory=list)
    """The player of each conversation; empty while a server is recorded."""
    open: dict[tuple[int, bytes], Call] = attrs.field(factory=dict)
    """The unanswered requests, by conversation and id."""

    listeners: list[Callable[[int, m.Frame], object]] = attrs.field(factory=list)
    """Called with each message and its conversation, before the message passes."""

    def asked(self) -> list[tuple[str, dict[str, Any]]]:
        """Return the method and the params of each call so far."""
        return [(call.method, call.params) for call in list(self.calls)]

    def report(self, report: Miss | PlayerNote) -> None:
        """Add a report of a player."""
        if isinstance(report, Miss):
            self.misses.append(report)
        else:
            self.notes.append(report)

    def watch(self, conversation: int, player: Player | None) -> Stage:
        """Return the watcher of a conversation: a `sessions.run.Observer`."""
        if player is not None:
            self.players.append(player)
        return Watcher(self, conversation)


@attrs.define
class Watcher(Stage):
    """Notes the messages of one conversation in the log, and lets all of them pass."""

    log: Log
    session: int
    _pieces: Reassembly = attrs.field(factory=Reassembly)

    def feed(self, seen: Sequence[m.Frame], now: float) -> Iterable[Action]:  # noqa: ARG002
        for frame in seen:
            if frame.fact is None:
                self._note_message(frame)
            elif isinstance(frame.fact, m.Fragment):
                if (whole := self._pieces.add(frame)) is not None:
                    self._note_message(whole.frame)
            elif isinstance(frame.fact, m.Stderr):
                self.log.stderr += frame.raw
                del self.log.stderr[:-MAX_STDERR_BYTES]
        return PASS

    def _note_message(self, frame: m.Frame) -> None:
        if not frame.raw.strip():
            return
        self.log.last.append(frame)
        for listener in self.log.listeners:
            listener(self.session, frame)
        for message in m.parse_items(frame.raw):
            if isinstance(message, m.Response) and frame.direction is not m.C2S:
                self.log.open.pop((self.session, message.id or b""), None)
            elif isinstance(message, m.Request | m.Notification) and frame.direction is m.C2S:
                self._note_call(message)

    def _note_call(self, message: m.Request | m.Notification) -> None:
        params = None if message.params is None else m.decode(message.params)
        id_ = message.id if isinstance(message, m.Request) else None
        known = params if isinstance(params, dict) else {}
        call_id = None if id_ is None else m.decode(id_)
        call = Call(message.method, known, call_id, self.session)
        self.log.calls.append(call)
        if id_ is not None:
            self.log.open[self.session, id_] = call
