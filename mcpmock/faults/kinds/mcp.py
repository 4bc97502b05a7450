"""MCP: what the protocol's own rules forbid: revisions, capabilities, lists, progress."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Any, Literal

import attrs

from mcpmock.faults.fault import OWN, Act, Dice, Fault, MatchedMessage, frozen
from mcpmock.faults.match import Subject, method_mistakes
from mcpmock.faults.segments import On
from mcpmock.options.units import Code, Ordinal, Seconds, to_seconds
from mcpmock.pipeline.stage import Send
from mcpmock.protocol import edit
from mcpmock.protocol.correlation import PROGRESS
from mcpmock.protocol.error_codes import INVALID_PARAMS
from mcpmock.protocol.messages import Request, Response, decode, encode, member


def _with_member(matched: MatchedMessage, path: Sequence[str], value: object) -> Send:
    return Send(matched.with_raw(edit.with_member(matched.frame.raw, path, encode(value))))


@frozen(kw_only=True)
class VersionMismatch(Fault, acts_on=On.RESPONSE, about=("initialize",)):
    """The response to `initialize` names the protocol revision `version`.

    >>> fault = mcpmock.faults.VersionMismatch(version="1999-01-01")
    """

    version: str = "1999-12-31"

    def apply(self, matched: MatchedMessage, dice: Dice) -> Iterable[Act]:
        yield _with_member(matched, ["result", "protocolVersion"], self.version)


@frozen(kw_only=True)
class CapabilityLie(Fault, acts_on=On.RESPONSE, about=("initialize", "server/discover")):
    """The server declares the capabilities in `claims` besides its own, but not those in `hides`.

    The fault changes the response to `initialize` or `server/discover`.

    >>> fault = mcpmock.faults.CapabilityLie(hides=("tools",))
    """

    claims: tuple[str, ...] = ("tools", "prompts", "resources", "logging", "completions")
    hides: tuple[str, ...] = ()

    def contradictions(self) -> Iterable[str]:
        return method_mistakes(self.match, *self.about)

    def fits(self, subject: Subject) -> bool:
        return subject.method in self.about

    def apply(self, matched: MatchedMessage, dice: Dice) -> Iterable[Act]:
        raw = matched.frame.raw
        for name in self.hides:
            raw = edit.without_member(raw, ["result", "capabilities", name])
        for name in self.claims:
            if name not in self.hides and member(raw, "result", "capabilities", name) is None:
                raw = edit.with_member(raw, ["result", "capabilities", name], b"{}")
        yield Send(matched.with_raw(raw))


@frozen(kw_only=True)
class ListChangedStorm(Fault, acts_on=On.RESPONSE, usually="client"):
    """In front of the response come `count` notifications that the list of `what` has changed.

    >>> fault = mcpmock.faults.ListChangedStorm(count=100, what="tools")
    """

    count: Ordinal = 100
    what: Literal["tools", "prompts", "resources"] = "tools"

    def apply(self, matched: MatchedMessage, dice: Dice) -> Iterable[Act]:
        changed = edit.notification(f"notifications/{self.what}/list_changed")
        yield Send(matched.preceded_by(*[changed] * self.count))


@frozen(kw_only=True)
class ToolVanishes(Fault, acts_on=On.REQUEST | On.RESPONSE, about=("tools/*",)):
    """Tools whose names match the glob `gone` are unknown to the server; or those of `match.tool`.

    Calls of such a tool are answered with the error "Unknown tool", and the list of tools does not
    contain it.

    >>> fault = mcpmock.faults.ToolVanishes(gone="get_*")
    """

    gone: str = "*"

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        if self.gone == "*" and self.match.tool is not None:
            # A list of tools is about no tool: as a part of `match` the name would keep it away.
            object.__setattr__(self, "gone", self.match.tool)
            object.__setattr__(self, "match", attrs.evolve(self.match, tool=None))

    def contradictions(self) -> Iterable[str]:
        return method_mistakes(self.match, "tools/call", "tools/list")

    def fits(self, subject: Subject) -> bool:
        message = subject.message
        if isinstance(message, Request):
            name = decode(member(message.params, "name") or b"null")
            called = message.method == "tools/call"
            return called and isinstance(name, str) and fnmatchcase(name, self.gone)
        return subject.method == "tools/list"

    def apply(self, matched: MatchedMessage, dice: Dice) -> Iterable[Act]:
        message = matched.subject.message
        if isinstance(message, Request):
            name = decode(member(message.params, "name") or b"null")
            yield Send(
                matched.answer(edit.error(message.id, INVALID_PARAMS, f"Unknown tool: {name}"))
            )
            return
        tools = decode(member(matched.frame.raw, "result", "tools") or b"[]")
        left = tools
        if isinstance(tools, list):
            left = [tool for tool in tools if not self._is_gone(tool)]
        if left == tools:
            yield matched.passed()
            return
        yield _with_member(matched, ["result", "tools"], left)

    def _is_gone(self, tool: object) -> bool:
        return isinstance(tool, dict) and fnmatchcase(str(tool.get("name")), self.gone)


@frozen(kw_only=True)
class CursorLoop(Fault, acts_on=On.RESPONSE, about=("*/list",)):
    """Every page of a list names the same next page, which is that page again: the list never ends.

    A request with the `cursor` never arrives.

    >>> fault = mcpmock.faults.CursorLoop(cursor="again")
    """

    cursor: str = "mcpmock-again"

    def fits(self, subject: Subject) -> bool:
        return isinstance(subject.message, Response) and subject.message.error is None

    def continues(self, subject: Subject, on: On, memory: Any) -> bool:
        message = subject.message
        return (
            isinstance(message, Request)
            and message.method in memory
            and member(message.params, "cursor") == encode(self.cursor)
        )

    def apply(self, matched: MatchedMessage, dice: Dice) -> Iterable[Act]:
        pages, message = matched.memory, matched.subject.message
        if isinstance(message, Request):
            # The server does not know the cursor, nor does a recording have the request.
            yield Send(matched.answer(edit.with_id(pages[message.method], message.id)))
            return
        path = ["result", "nextCursor"]
        page = edit.with_member(matched.frame.raw, path, encode(self.cursor))
        pages[matched.subject.method] = page
        yield Send(matched.with_raw(page))


@frozen(kw_only=True)
class ProgressAfterResponse(Fault, acts_on=On.RESPONSE):
    """Progress is reported `after` the response to a call that has a progress token.

    >>> fault = mcpmock.faults.ProgressAfterResponse(after="10ms", match={"tool": "slow"})
    """

    after: Seconds = attrs.field(default=0.0, converter=to_seconds)
    progress: Code = 1000

    def fits(self, subject: Subject) -> bool:
        return subject.call is not None and subject.call.token is not None

    def apply(self, matched: MatchedMessage, dice: Dice) -> Iterable[Act]:
        call = matched.subject.call
        assert call is not None
        raw = edit.progress(call.token or b"null", self.progress)
        yield from matched.trailed_by([raw], self.after)


@frozen(kw_only=True)
class ProgressDecreasing(Fault, acts_on=On.NOTIFICATION, about=(PROGRESS,)):
    """Progress goes down: each report says `most` minus the real progress.

    >>> fault = mcpmock.faults.ProgressDecreasing(match={"tool": "slow"})
    """

    most: Code = 1000

    def apply(self, matched: MatchedMessage, dice: Dice) -> Iterable[Act]:
        path = ["params", "progress"]
        made = decode(member(matched.frame.raw, *path) or b"0")
        less = self.most - made if isinstance(made, int | float) else self.most
        yield _with_member(matched, path, less)


@frozen(kw_only=True)
class ProgressUnknownToken(Fault, acts_on=On.NOTIFICATION, about=(PROGRESS,)):
    """Progress is reported with the unknown progress token `token`.

    >>> fault = mcpmock.faults.ProgressUnknownToken(token="unknown")
    """

    token: int | str = "mcpmock-unknown"

    def apply(self, matched: MatchedMessage, dice: Dice) -> Iterable[Act]:
        yield _with_member(matched, ["params", "progressToken"], self.token)


_PARAMS: dict[str, dict[str, Any]] = {
    "sampling/createMessage": {
        "messages": [{"role": "user", "content": {"type": "text", "text": "mcpmock"}}],
        "maxTokens": 1,
    },
    "elicitation/create": {
        "message": "mcpmock",
        "requestedSchema": {"type": "object", "properties": {}},
    },
    "roots/list": {},
}


@frozen(kw_only=True)
class RequestWithoutCapability(Fault, acts_on=On.RESPONSE, usually="client"):
    """The server sends the request `asks` in front of the response, without regard to capabilities.

    The client's response to it does not reach the server.

    >>> fault = mcpmock.faults.RequestWithoutCapability(asks="sampling/createMessage")
    """

    asks: Literal["sampling/createMessage", "elicitation/create", "roots/list"] = (
        "sampling/createMessage"
    )

    def apply(self, matched: MatchedMessage, dice: Dice) -> Iterable[Act]:
        number = matched.memory["asked"] = matched.memory.get("asked", 0) + 1
        id_ = dice.drawn["id"] = f"{OWN}{number}"
        raw = edit.request(encode(id_), self.asks, _PARAMS[self.asks])
        yield Send(matched.preceded_by(raw))
