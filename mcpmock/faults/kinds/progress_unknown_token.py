"""`progress_unknown_token`: progress of a call that nobody made."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

import attrs

from mcpmock.faults.fault import Act, Dice, Fault, On, Seen
from mcpmock.pipeline.stage import Send
from mcpmock.protocol import edit
from mcpmock.protocol.messages import encode


@attrs.frozen(kw_only=True)
class ProgressUnknownToken(Fault):
    """Progress is reported under another token.

    >>> fault = mcpmock.faults.ProgressUnknownToken(token="nobody's")
    """

    kind: ClassVar[str] = "progress_unknown_token"
    acts_on: ClassVar[On] = On.NOTIFICATION
    about: ClassVar[str | None] = "notifications/progress"

    token: int | str = "mcpmock-unknown"

    def apply(self, seen: Seen, dice: Dice) -> Iterable[Act]:  # noqa: ARG002
        path = ["params", "progressToken"]
        yield Send(seen.with_raw(edit.with_member(seen.frame.raw, path, encode(self.token))))
