"""How the pauses of a recording are played: `none`, `recorded`, `scale:X`, `fixed:MS`, `cap:MS`.

A pause is the time between a cause and what follows it, or between two messages of one call; never
between messages that have nothing to do with each other. So one slow answer holds up no other.
"""

from __future__ import annotations

from collections.abc import Callable

import attrs

from mcpmock.errors import McpMockError

_KINDS: dict[str, Callable[[float, float], float]] = {
    "none": lambda _pause, _amount: 0.0,
    "recorded": lambda pause, _amount: pause,
    "scale": lambda pause, amount: pause * amount,
    "fixed": lambda _pause, amount: amount / 1000,
    "cap": lambda pause, amount: min(pause, amount / 1000),
}
_WITH_AMOUNT = ("scale", "fixed", "cap")


@attrs.frozen
class Timing:
    """`pause` turns a recorded pause into the one to make, both in seconds."""

    kind: str = "none"
    amount: float = 0.0

    def pause(self, recorded: float) -> float:
        return _KINDS[self.kind](recorded, self.amount)

    @classmethod
    def parse(cls, text: str) -> Timing:
        """From the words of the command line. Raises McpMockError with all that would have been
        right.
        """
        kind, colon, amount = text.partition(":")
        try:
            if kind in _WITH_AMOUNT and 0 <= float(amount) < float("inf"):
                return cls(kind, float(amount))
            if kind in _KINDS and kind not in _WITH_AMOUNT and not colon:
                return cls(kind)
        except ValueError:
            pass
        raise McpMockError(f"timing {text!r}: say none, recorded, scale:X, fixed:MS or cap:MS")
