"""`version_mismatch`: the server answers with a revision that nobody knows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

import attrs

from mcpmock.faults.fault import Act, Dice, Fault, On, Seen
from mcpmock.pipeline.stage import Send
from mcpmock.protocol import edit
from mcpmock.protocol.messages import encode


@attrs.frozen(kw_only=True)
class VersionMismatch(Fault):
    """The answer to `initialize` names this revision.

    >>> fault = mcpmock.faults.VersionMismatch(version="1999-01-01")
    """

    kind: ClassVar[str] = "version_mismatch"
    acts_on: ClassVar[On] = On.RESPONSE
    about: ClassVar[str | None] = "initialize"

    version: str = "1999-12-31"

    def apply(self, seen: Seen, dice: Dice) -> Iterable[Act]:  # noqa: ARG002
        path = ["result", "protocolVersion"]
        yield Send(seen.with_raw(edit.with_member(seen.frame.raw, path, encode(self.version))))
