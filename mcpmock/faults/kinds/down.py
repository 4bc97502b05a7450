"""`down`: the server does not start."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

import attrs

from mcpmock.faults.chunking import dying
from mcpmock.faults.fault import Act, Dice, Fault, On, Seen
from mcpmock.faults.units import ExitCode


@attrs.frozen(kw_only=True)
class Down(Fault):
    """The server ends before it has said anything.

    >>> fault = mcpmock.faults.Down(code=1, stderr="no such module")
    """

    kind: ClassVar[str] = "down"
    acts_on: ClassVar[On] = On.BEGIN

    code: ExitCode = 1
    stderr: str | None = None

    def apply(self, seen: Seen, dice: Dice) -> Iterable[Act]:  # noqa: ARG002
        yield from dying(self.code, None, self.stderr, transport=seen.transport)
