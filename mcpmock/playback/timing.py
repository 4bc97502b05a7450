"""How the pauses of a recording are played (`Timing`): `none`, `recorded`, `scale:X`, `fixed:MS`,
`cap:MS`; and what else decides when a message is sent (`Pace`).

A pause is the time between a cause and its consequence, or between two messages of one call; never
between messages that have nothing to do with each other. So one slow answer holds up no other.

Pauses run on the clock of the session. In memory that is the clock of the caller's event loop: a
mock clock of trio makes them free. asyncio has no such clock, so there `recorded` means `cap:100`
(`on_a_real_clock`); `scale:1` asks for the full pauses.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct, field

from mcpmock.errors import McpMockError

_KINDS: dict[str, Callable[[float, float], float]] = {
    "none": lambda _pause, _amount: 0.0,
    "recorded": lambda pause, _amount: pause,
    "scale": lambda pause, amount: pause * amount,
    "fixed": lambda _pause, amount: amount / 1000,
    "cap": lambda pause, amount: min(pause, amount / 1000),
}
MAX_REAL_PAUSE_S = 0.1
"""The longest pause where pauses take real time and the user gave no bound."""
_WITH_AMOUNT = ("scale", "fixed", "cap")


class Timing(Struct, frozen=True):
    """`pause` turns a recorded pause into the one to make, both in seconds."""

    kind: str = "none"
    amount: float = 0.0

    def pause(self, recorded: float) -> float:
        return _KINDS[self.kind](recorded, self.amount)

    def on_a_real_clock(self) -> Timing:
        """Return this timing where a pause takes real time and a test waits for it: recorded pauses
        are cut at `MAX_REAL_PAUSE_S`; a timing given in numbers stays.
        """
        return Timing("cap", MAX_REAL_PAUSE_S * 1000) if self.kind == "recorded" else self

    @classmethod
    def parse(cls, text: str) -> Timing:
        """Parse an option of the command line. Raises McpMockError with all valid forms."""
        kind, colon, amount = str(text).partition(":")
        try:
            if kind in _WITH_AMOUNT and 0 <= float(amount) < float("inf"):
                return cls(kind, float(amount))
            if kind in _KINDS and not colon:
                return cls(kind)
        except ValueError:
            pass
        raise McpMockError(f"timing {text!r}: say none, recorded, scale:X, fixed:MS or cap:MS")


class Pace(Struct, frozen=True):
    """When planned messages are sent. All in seconds.

    `overlap_grace`: how quiet a session must be before an answer stops waiting for requests that
    overlapped it in the recording, and `overlap_limit` how long it waits at most. `after_progress`:
    the least time between the last progress of a call and its answer; over stdio the TypeScript
    SDKs lose progress that comes in one read with the answer.
    """

    timing: Timing = field(default_factory=Timing)
    # A sequential client never sends the request that overlapped in the recording: it must not be
    # stuck. A client that is never quiet is bounded by the limit.
    overlap_grace: float = 0.020
    overlap_limit: float = 0.100
    after_progress: float = 0.002
