"""`Live`: a player with a real server behind it, for what the recording does not answer.

The player answers what it can. The first request that it cannot answer starts the real server with
the client's handshake; the answer to that is dropped, because the client has one already. From then
on requests that match the recording are played, and the rest passes through with its progress,
cancels, server requests and their answers.

It is the last stage of a pipeline and sees bare messages; behind it are the transport's rules and
the server's end, which the first frame opens. The deferred recorder records such a session from its
beginning. `sessions.passthrough` composes the pipeline.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import attrs

from mcpmock.pipeline.stage import Action, Hangup, Send, Stage
from mcpmock.protocol.correlation import CANCELLED, Correlation
from mcpmock.protocol.messages import (
    C2S,
    S2C,
    Fragment,
    Frame,
    Message,
    Notification,
    ProcessExit,
    Request,
    Response,
    StreamEnd,
    answers_id,
    decode,
    encode,
    parse_items,
)
from mcpmock.protocol.raw_json import locate, splice
from mcpmock.protocol.reassembly import Reassembly

from .player import Player

INITIALIZE, INITIALIZED = "initialize", "notifications/initialized"
_SESSION_ENDS = (StreamEnd, ProcessExit)
_ID_PREFIX = "mcpmock:"
"""Prefix of the request ids of the real server: the recorded server counts from the same number,
and the client may have requests of both to answer.
"""


@attrs.define
class Live(Stage):
    """One session: the player's, and the real server's once it is needed.

    A batch goes to the player or, whole, to the server; server ids in a batch stay unchanged.
    """

    player: Player
    opened: bool = False
    """Whether the real server was needed."""
    _handshake: list[Frame] = attrs.field(factory=list)
    """The client's handshake: `initialize` and `notifications/initialized`."""
    _awaited: bytes | None = None
    """The id of the handshake that the real server has not answered yet."""
    _waiting: list[Frame] = attrs.field(factory=list)
    """Frames to send after the handshake."""
    _correlation: Correlation = attrs.field(factory=Correlation)
    """The calls between the client and the real server."""
    _reassembly: Reassembly = attrs.field(factory=Reassembly)

    def begin(self, now: float) -> Iterable[Action]:
        return self._player_actions(self.player.begin(now))

    def wake(self, now: float) -> Iterable[Action]:
        return self._player_actions(self.player.wake(now))

    def feed(self, seen: Sequence[Frame], now: float) -> Iterable[Action]:
        if seen[0].direction is S2C:
            return self._receive_server_frames(seen)
        actions: list[Action] = []
        for frame in seen:
            actions += self._receive_client_frame(frame, now)
        return actions

    # The client.

    def _receive_client_frame(self, frame: Frame, now: float) -> Iterable[Action]:
        whole = _reassemble(frame, self._reassembly)
        content = None if whole is None else whole.content
        if whole is not None and self._is_for_server(content):
            if whole is not frame:  # its pieces are noise to the player, and end here
                self.player.feed([frame], now)
            return self._pass_on([_without_id_prefix(whole)])
        if _method_of(content) == INITIALIZE:
            self._handshake = [frame]
        elif _method_of(content) == INITIALIZED:
            self._handshake = [*self._handshake[:1], frame]
        actions = [*self._player_actions(self.player.feed([frame], now))]
        missed, self.player.unanswered = self.player.unanswered, []
        if missed:
            actions += self._forward_missed(missed)
        elif self.opened and (isinstance(content, Notification) or type(frame.fact) is StreamEnd):
            actions += self._pass_on([frame])
        return actions

    def _is_for_server(self, content: object) -> bool:
        """Return whether it belongs to a call between the client and the real server."""
        if not isinstance(content, (Response, Notification)):
            return False
        return self._correlation.note(C2S, content, 0).call is not None

    def _forward_missed(self, missed: list[Frame]) -> Iterable[Action]:
        for frame in missed:
            for message in parse_items(frame.raw):
                self._correlation.note(C2S, message, 0)
        if self.opened:
            return self._pass_on(missed)
        self.opened = self.player.backed = True
        handshake = [frame for frame in self._handshake if frame not in missed]
        if not handshake or not isinstance(handshake[0].content, Request):
            return self._pass_on([*handshake, *missed])
        self._awaited = handshake[0].content.id
        self._waiting = [*handshake[1:], *missed]
        return [Send(handshake[:1])]

    def _pass_on(self, frames: list[Frame]) -> Iterable[Action]:
        """Send frames to the real server, after the handshake."""
        if self._awaited is None:
            return [Send(frames)]
        self._waiting += frames
        return []

    # The two servers.

    def _player_actions(self, actions: Iterable[Action]) -> Iterable[Action]:
        """Yield the actions of the player. The session ends with the real server, once opened."""
        for action in actions:
            if not self.opened:
                yield action
            elif isinstance(action, Send):
                frames = [
                    frame for frame in action.frames if not isinstance(frame.fact, _SESSION_ENDS)
                ]
                yield Send(frames, action.after)
            elif not isinstance(action, Hangup):
                yield action

    def _receive_server_frames(self, seen: Sequence[Frame]) -> Iterable[Action]:
        passed: list[Frame] = []
        flushed: list[Frame] = []
        for frame in seen:
            whole = _reassemble(frame, self._reassembly)
            items = [] if whole is None or whole.fact is not None else parse_items(whole.raw)
            if self._answers_handshake(items):
                self._awaited = None
                flushed, self._waiting = self._waiting, []
            else:
                passed.append(self._note_server_frame(frame, items))
        return [Send(passed), Send(flushed)]

    def _answers_handshake(self, items: Sequence[Message]) -> bool:
        """Return whether this is the answer to the handshake, which the client has already."""
        if self._awaited is None or len(items) != 1 or not isinstance(items[0], Response):
            return False
        return items[0].id is not None and answers_id(self._awaited, items[0].id)

    def _note_server_frame(self, frame: Frame, items: Sequence[Message]) -> Frame:
        if len(items) == 1 and frame.fact is None:
            frame = self._with_prefixed_id(frame, items[0])
            items = parse_items(frame.raw)
        for message in items:
            self._correlation.note(S2C, message, 0)
        return frame

    def _with_prefixed_id(self, frame: Frame, message: Message) -> Frame:
        """Give a request of the real server, or its cancel, an id that no recorded one has."""
        path: tuple[str, ...] = ("id",)
        if isinstance(message, Notification) and message.method == CANCELLED:
            path = ("params", "requestId")
        elif not isinstance(message, Request):
            return frame
        span = locate(frame.raw, path)
        if span is None:
            return frame
        ours = encode(_ID_PREFIX + frame.raw[slice(*span)].decode("utf-8", "surrogateescape"))
        if path != ("id",) and self._correlation.open_call(S2C, ours) is None:
            return frame
        return Frame(S2C, splice(frame.raw, [(span, ours)]), frame.eol)


def _without_id_prefix(frame: Frame) -> Frame:
    """Return the client's answer to a request of the real server, with the server's own id."""
    span = locate(frame.raw, ("id",))
    ours = None if span is None else decode(frame.raw[slice(*span)])
    if span is None or not isinstance(ours, str) or not ours.startswith(_ID_PREFIX):
        return frame
    own = ours.removeprefix(_ID_PREFIX).encode("utf-8", "surrogateescape")
    return Frame(C2S, splice(frame.raw, [(span, own)]), frame.eol)


def _reassemble(frame: Frame, reassembly: Reassembly) -> Frame | None:
    """Return the frame, or with the last piece of a long line the whole line; None before."""
    if not isinstance(frame.fact, Fragment):
        return frame
    whole = reassembly.add(frame)
    return None if whole is None else whole.frame


def _method_of(content: object) -> str | None:
    return content.method if isinstance(content, (Request, Notification)) else None
