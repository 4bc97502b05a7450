"""`capability_lie`: the server claims what it cannot do, or hides what it can."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

import attrs

from mcpmock.faults.fault import Act, Dice, Fault, On, Seen
from mcpmock.faults.match import Subject
from mcpmock.pipeline.stage import Send
from mcpmock.protocol import edit
from mcpmock.protocol.messages import member


@attrs.frozen(kw_only=True)
class CapabilityLie(Fault):
    """The answer to `initialize` or `server/discover` claims these capabilities too, and says
    nothing of the others.

    >>> fault = mcpmock.faults.CapabilityLie(hides=("tools",))
    """

    kind: ClassVar[str] = "capability_lie"
    acts_on: ClassVar[On] = On.RESPONSE
    about: ClassVar[str | None] = "*i*"

    claims: tuple[str, ...] = ("tools", "prompts", "resources", "logging", "completions")
    hides: tuple[str, ...] = ()

    def fits(self, subject: Subject) -> bool:
        return subject.method in ("initialize", "server/discover")

    def apply(self, seen: Seen, dice: Dice) -> Iterable[Act]:  # noqa: ARG002
        raw = seen.frame.raw
        for name in self.hides:
            raw = edit.without_member(raw, ["result", "capabilities", name])
        for name in self.claims:
            if name not in self.hides and member(raw, "result", "capabilities", name) is None:
                raw = edit.with_member(raw, ["result", "capabilities", name], b"{}")
        yield Send(seen.with_raw(raw))
