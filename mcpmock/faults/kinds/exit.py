"""`exit`: the server dies."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

import attrs

from mcpmock.faults.chunking import dying
from mcpmock.faults.fault import Act, Dice, Fault, Seen, Toward
from mcpmock.faults.units import ExitCode, Ordinal


@attrs.frozen(kw_only=True)
class Exit(Fault):
    """In place of reading the message (or of saying it, toward the client) the server ends, with an
    exit `code` or by a `signal`.

    >>> fault = mcpmock.faults.Exit(code=7, stderr="panic", match={"tool": "get_*", "nth": 3})
    """

    kind: ClassVar[str] = "exit"
    usually: ClassVar[Toward] = "server"

    code: ExitCode = 1
    signal: Ordinal | None = None
    stderr: str | None = None
    """Its last words."""

    def apply(self, seen: Seen, dice: Dice) -> Iterable[Act]:  # noqa: ARG002
        yield from dying(self.code, self.signal, self.stderr, transport=seen.transport)
