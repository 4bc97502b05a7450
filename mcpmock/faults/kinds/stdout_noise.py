"""`stdout_noise`: the server prints what is no message."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

import attrs

from mcpmock.faults.fault import Act, Dice, Fault, Seen, Toward
from mcpmock.pipeline.stage import Send
from mcpmock.protocol.messages import S2C, Frame


@attrs.frozen(kw_only=True)
class StdoutNoise(Fault):
    """In front of the message stands a line with this `text`.

    >>> fault = mcpmock.faults.StdoutNoise(text="Listening on port 8080")
    """

    kind: ClassVar[str] = "stdout_noise"
    usually: ClassVar[Toward] = "client"
    transports: ClassVar[Sequence[str]] = ("stdio",)

    text: str = "DEBUG: starting up"

    def apply(self, seen: Seen, dice: Dice) -> Iterable[Act]:  # noqa: ARG002
        yield Send([Frame(S2C, self.text.encode())])
        yield seen.passed()
