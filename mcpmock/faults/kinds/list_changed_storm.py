"""`list_changed_storm`: the server says again and again that its list has changed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, Literal

import attrs

from mcpmock.faults.fault import Act, Dice, Fault, On, Seen, Toward
from mcpmock.faults.units import Ordinal
from mcpmock.pipeline.stage import Send
from mcpmock.protocol import edit


@attrs.frozen(kw_only=True)
class ListChangedStorm(Fault):
    """In front of the answer come `count` notifications that the list of `what` has changed.

    >>> fault = mcpmock.faults.ListChangedStorm(count=100, what="tools")
    """

    kind: ClassVar[str] = "list_changed_storm"
    acts_on: ClassVar[On] = On.RESPONSE
    usually: ClassVar[Toward] = "client"

    count: Ordinal = 100
    what: Literal["tools", "prompts", "resources"] = "tools"

    def apply(self, seen: Seen, dice: Dice) -> Iterable[Act]:  # noqa: ARG002
        changed = edit.notification(f"notifications/{self.what}/list_changed")
        yield Send(seen.preceded_by(*[changed] * self.count))
