"""`AuthorizationStage`: between the clients and everything else. It answers the requests for the
authorization server, and lets a request for MCP pass if its token may.

Neither recorders nor faults see what it answers: a cassette never holds a token, and a login can be
changed without a new recording.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import attrs

from mcpmock.pipeline.stage import Action, Send, Stage
from mcpmock.protocol import messages as m
from mcpmock.protocol.http_reply import whole_reply

from .server import AuthorizationReply, AuthorizationServer

MAX_FORM_BYTES = 1 << 16
_MAX_EXCHANGES = 1000


@attrs.define(eq=False)
class _Asked:
    """A request whose body is not here yet, or which was answered here."""

    head: m.Frame
    body: list[bytes] = attrs.field(factory=list)
    size: int = 0
    answered: bool = False


@attrs.define
class AuthorizationStage(Stage):
    """One conversation's part. `is_mcp` says whether a request goes to where MCP is spoken."""

    server: AuthorizationServer
    is_mcp: Callable[[m.HttpRequest], bool]
    _asked: dict[int, _Asked] = attrs.field(factory=dict)
    """By exchange; the oldest is forgotten for a new one."""

    def feed(self, seen: Sequence[m.Frame], now: float) -> Iterable[Action]:
        if seen[0].direction is not m.C2S:
            return (Send(seen),)
        on: list[m.Frame] = []
        actions: list[Action] = []
        for frame in seen:
            passed = self._hear(frame, now)
            if isinstance(passed, AuthorizationReply):
                actions.append(Send(_frames(frame.exchange, passed), passed.after))
            else:
                on += passed
        return [*actions, Send(on)] if on else actions

    def _hear(self, frame: m.Frame, now: float) -> Sequence[m.Frame] | AuthorizationReply:
        x, fact = frame.exchange, frame.fact
        if x is None:
            return [frame]
        if isinstance(fact, m.HttpRequest):
            return self._begin(x, frame, fact, now)
        asked = self._asked.get(x)
        if asked is None:
            return [frame]
        if isinstance(fact, m.ExchangeEnd):
            del self._asked[x]
            return []
        if asked.answered:
            return []
        head = asked.head.fact
        assert isinstance(head, m.HttpRequest)
        if self.server.is_endpoint(head):
            return self._collect(asked, frame, head, now)
        del self._asked[x]
        tools = [] if isinstance(fact, m.Fragment) else _called_tools(frame.raw)
        if refusal := self.server.challenge(head, tools, now):
            self._keep(x, _Asked(asked.head, answered=True))
            return refusal
        return [asked.head, frame]

    def _begin(
        self, x: int, frame: m.Frame, head: m.HttpRequest, now: float
    ) -> Sequence[m.Frame] | AuthorizationReply:
        ours = self.server.is_endpoint(head)
        if not ours and not self.is_mcp(head):
            return [frame]
        if head.has_body:
            self._keep(x, _Asked(frame))
            return []
        reply = self.server.answer(head, b"", now) if ours else None
        reply = reply or (None if ours else self.server.challenge(head, (), now))
        if reply is None:
            return [frame]
        self._keep(x, _Asked(frame, answered=True))
        return reply

    def _collect(
        self, asked: _Asked, frame: m.Frame, head: m.HttpRequest, now: float
    ) -> Sequence[m.Frame] | AuthorizationReply:
        asked.body.append(frame.raw)
        asked.size += len(frame.raw)
        more = isinstance(frame.fact, m.HttpBody) and frame.fact.more
        if asked.size > MAX_FORM_BYTES:
            asked.answered = True
            return AuthorizationReply(413, [])
        if more:
            return []
        asked.answered = True
        return self.server.answer(head, b"".join(asked.body), now)

    def _keep(self, x: int, asked: _Asked) -> None:
        if len(self._asked) >= _MAX_EXCHANGES:
            del self._asked[next(iter(self._asked))]
        self._asked[x] = asked


def _called_tools(body: bytes) -> list[str]:
    calls = (item for item in m.parse_items(body) if isinstance(item, m.Request))
    names = (
        m.decode(m.member(call.params, "name") or b"null")
        for call in calls
        if call.method == "tools/call"
    )
    return [name for name in names if isinstance(name, str)]


def _frames(exchange: int | None, reply: AuthorizationReply) -> list[m.Frame]:
    headers = [*reply.headers, ("Content-Length", str(len(reply.body)))]
    body = m.Frame(m.S2C, reply.body, b"", m.HttpBody(), exchange) if reply.body else None
    return whole_reply(exchange, reply.status, headers, body)
