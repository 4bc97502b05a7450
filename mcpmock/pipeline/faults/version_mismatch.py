"""`version_mismatch`: the server answers with a revision that nobody knows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

import attrs

from mcpmock.protocol import altering
from mcpmock.protocol.messages import encode
from mcpmock.protocol.stage import Send

from .fault import Act, Dice, Fault, On, Seen


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
        yield Send(seen.with_raw(altering.with_member(seen.frame.raw, path, encode(self.version))))
