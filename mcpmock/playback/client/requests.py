"""`RequestClient`: a stage that is a client without a recording. It shakes hands, asks for the
lists that the server offers, and makes requests that were written on the command line, one after
the other.

It stands where `driver` plays a recorded client. `sessions.requests` stands above.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from math import inf
from typing import Any

import attrs

from mcpmock.pipeline.stage import Action, Hangup, Send, Stage, Wake
from mcpmock.playback.fallback import empty_result, method_not_found
from mcpmock.protocol import edit
from mcpmock.protocol import messages as m
from mcpmock.protocol.correlation import CANCELLED
from mcpmock.protocol.methods import LAST_LEGACY, LATEST, Sender, methods
from mcpmock.protocol.reassembly import Reassembly

MAX_PAGES = 1000
"""How many pages of one list are asked for: a server may give the same cursor for ever."""
_META = "io.modelcontextprotocol/"


@attrs.frozen
class ClientRequest:
    """A request of the client, as its user wrote it."""

    method: str
    params: Mapping[str, Any] = attrs.field(factory=dict)

    @property
    def name(self) -> str | None:
        """The tool that it calls."""
        name = self.params.get("name")
        return name if self.method == "tools/call" and isinstance(name, str) else None


AnswerReport = Callable[[ClientRequest, m.Response | None, str], None]
"""Gets each request with its answer; None where there is none, with the reason."""
_Talk = Generator[ClientRequest, m.Response | None, None]


@attrs.define
class RequestClient(Stage):
    """One session of such a client. It offers nothing to the server, and refuses its requests."""

    requests: Sequence[ClientRequest]
    lists: bool = False
    """Whether it asks for all pages of all lists that the server offers."""
    timeout: float = 30.0
    """How long it waits for an answer, in seconds."""
    modern: bool = False
    """Whether it speaks 2026-07-28, else the revisions before it."""
    client_info: Mapping[str, Any] = attrs.field(factory=dict)
    on_answer: AnswerReport = lambda _request, _answer, _why: None
    refused: bool = False
    """Whether the server refused the handshake."""
    failed: int = 0
    """How many requests got an error or no answer."""
    unanswered: str = ""
    """Why the server did not answer the handshake; empty if it did."""
    _asked: int = 0
    """How many of `requests` were sent."""
    _waiting: ClientRequest | None = None
    _id: int = 0
    _due: float = inf
    _over: bool = False
    """Nothing more is asked."""
    _ended: bool = False
    """The end of the input was sent: nothing is sent behind it."""
    _outgoing: list[bytes] = attrs.field(factory=list)
    _reassembly: Reassembly = attrs.field(factory=Reassembly)
    _handshake: ClientRequest = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self._handshake = self._make_handshake()
        self._talk = self._talking()

    def begin(self, now: float) -> Iterable[Action]:
        """Send nothing yet: the stages behind have not begun."""
        return (Wake(now),)

    def feed(self, seen: Sequence[m.Frame], now: float) -> Iterable[Action]:
        if seen[0].direction is m.C2S:
            self._ended = True  # a stage in front ends the session
            return (Send(seen),)
        logged = [frame for frame in seen if isinstance(frame.fact, m.Stderr)]
        actions: list[Action] = [Send(logged)]
        for frame in seen:
            if isinstance(frame.fact, m.ProcessExit | m.StreamEnd) and self._waiting is not None:
                self._settle(None, "no answer: the server ended")
                for request in self.requests[self._asked :]:
                    self._report(request, None, "not sent: the server ended")
                self._over = True
            if isinstance(frame.fact, m.ProcessExit):
                return (*actions, *self._send(), Hangup("the server ended"))
            self._receive(frame, now)
        return (*actions, *self._send())

    def wake(self, now: float) -> Iterable[Action]:
        if not self._id:
            self._go_on(None, now)
        elif now >= self._due:
            cancelled = {"requestId": self._id, "reason": "no answer in time"}
            self._outgoing.append(edit.notification(CANCELLED, cancelled))
            self._settle(None, "no answer in time")
            self._go_on(None, now)
        return self._send()

    def _receive(self, frame: m.Frame, now: float) -> None:
        raw: bytes | None = frame.raw if frame.fact is None else None
        if isinstance(frame.fact, m.Fragment):
            whole = self._reassembly.add(frame)
            raw = None if whole is None or whole.too_long else whole.frame.raw
        for message in () if raw is None else m.parse_items(raw):
            match message:
                case m.Request(method="ping"):
                    self._outgoing.append(empty_result(message.id).raw)
                case m.Request():
                    self._outgoing.append(method_not_found(message.id, message.method).raw)
                case m.Response(id=id_) if id_ == b"%d" % self._id and self._waiting is not None:
                    self._settle(message)
                    self._go_on(message, now)

    def _settle(self, answer: m.Response | None, why: str = "") -> None:
        """Report the answer to the request that waits."""
        request, self._waiting, self._due = self._waiting, None, inf
        if request is not None:
            self._report(request, answer, why)

    def _report(self, request: ClientRequest, answer: m.Response | None, why: str) -> None:
        self.failed += answer is None or answer.error is not None
        if request is not self._handshake:
            self.on_answer(request, answer, why)
        elif answer is None:
            self.unanswered = f"`{request.method}`: {why}"

    def _go_on(self, answer: m.Response | None, now: float) -> None:
        """Make the next request; after the last one end the input."""
        try:
            self._waiting = self._talk.send(answer)
        except StopIteration:
            self._over = True
            return
        self._id, self._due = self._id + 1, now + self.timeout
        params = dict(self._waiting.params)
        meta: dict[str, Any] = dict(params.get("_meta") or {})
        if self.modern:
            meta |= {
                _META + "protocolVersion": LATEST,
                _META + "clientCapabilities": {},
                _META + "clientInfo": dict(self.client_info),
            }
        if self._waiting in self.requests:
            meta = {"progressToken": self._id, **meta}
        members = {**params, **({"_meta": meta} if meta else {})}
        id_ = b"%d" % self._id
        self._outgoing.append(edit.request(id_, self._waiting.method, members or None))

    def _send(self) -> Iterable[Action]:
        out = [] if self._ended else [m.Frame(m.C2S, raw, b"\n") for raw in self._outgoing]
        self._outgoing.clear()
        if self._over and not self._ended:
            self._ended = True
            out.append(m.Frame(m.C2S, b"", b"", m.StreamEnd()))
        return [Send(out), *([Wake(self._due)] if out and self._due < inf else [])]

    def _talking(self) -> _Talk:
        """Yield one request after the other, and get its answer."""
        answer = yield self._handshake
        if answer is None or answer.error is not None:
            self.refused = answer is not None
            return
        if not self.modern:
            self._outgoing.append(edit.notification("notifications/initialized"))
        offered = m.decode(m.member(answer.result, "capabilities") or b"{}")
        offered = offered if isinstance(offered, dict) else {}
        for row in methods(LATEST if self.modern else LAST_LEGACY, Sender.CLIENT).values():
            if self.lists and row.lists is not None and row.gate in offered:
                yield from self._list(row.name)
        for request in self.requests:
            self._asked += 1
            yield request

    def _make_handshake(self) -> ClientRequest:
        if self.modern:
            return ClientRequest("server/discover")
        params = {
            "protocolVersion": LAST_LEGACY,
            "capabilities": {},
            "clientInfo": dict(self.client_info),
        }
        return ClientRequest("initialize", params)

    def _list(self, method: str) -> _Talk:
        cursor: dict[str, Any] = {}
        for _ in range(MAX_PAGES):
            answer = yield ClientRequest(method, cursor)
            following = None if answer is None else m.member(answer.result, "nextCursor")
            if following is None or following == b"null":
                return
            cursor = {"cursor": m.decode(following)}
