"""`tool_vanishes`: a tool is gone when it is called."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import ClassVar

import attrs

from mcpmock.faults.fault import Act, Dice, Fault, On, Seen
from mcpmock.faults.match import Subject
from mcpmock.pipeline.stage import Send
from mcpmock.protocol import edit
from mcpmock.protocol.messages import Request, decode, encode, member


@attrs.frozen(kw_only=True)
class ToolVanishes(Fault):
    """The call never arrives: there is no such tool any more, and in the list there is none
    either. Which one, `match.tool` says; of the list it takes those that it is for.

    >>> fault = mcpmock.faults.ToolVanishes(match={"tool": "get_*"})
    """

    kind: ClassVar[str] = "tool_vanishes"
    acts_on: ClassVar[On] = On.REQUEST | On.RESPONSE
    about: ClassVar[str | None] = "tools/*"

    gone: str = "*"
    """A glob for the names."""

    def fits(self, subject: Subject) -> bool:
        message = subject.message
        if isinstance(message, Request):
            name = decode(member(message.params, "name") or b"null")
            called = message.method == "tools/call"
            return called and isinstance(name, str) and fnmatchcase(name, self.gone)
        return subject.method == "tools/list"

    def apply(self, seen: Seen, dice: Dice) -> Iterable[Act]:  # noqa: ARG002
        message = seen.subject.message
        if isinstance(message, Request):
            name = decode(member(message.params, "name") or b"null")
            yield Send(seen.answer(edit.error(message.id, -32602, f"Unknown tool: {name}")))
            return
        raw = seen.frame.raw
        tools = decode(member(raw, "result", "tools") or b"[]")
        left = [tool for tool in tools if not fnmatchcase(str(tool.get("name")), self.gone)]
        yield Send(seen.with_raw(edit.with_member(raw, ["result", "tools"], encode(left))))
