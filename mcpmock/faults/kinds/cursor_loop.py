"""`cursor_loop`: a list never ends."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

import attrs

from mcpmock.faults.fault import Act, Dice, Fault, On, Seen
from mcpmock.pipeline.stage import Send
from mcpmock.protocol import edit
from mcpmock.protocol.messages import encode


@attrs.frozen(kw_only=True)
class CursorLoop(Fault):
    """Every page of a list names the same next one.

    >>> fault = mcpmock.faults.CursorLoop(cursor="again")
    """

    kind: ClassVar[str] = "cursor_loop"
    acts_on: ClassVar[On] = On.RESPONSE
    about: ClassVar[str | None] = "*/list"

    cursor: str = "mcpmock-again"

    def apply(self, seen: Seen, dice: Dice) -> Iterable[Act]:  # noqa: ARG002
        path = ["result", "nextCursor"]
        yield Send(seen.with_raw(edit.with_member(seen.frame.raw, path, encode(self.cursor))))
