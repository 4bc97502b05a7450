"""`Stage`: one piece of behaviour that frames pass, and the verbs it answers with.

Pure: frames and the time come in, actions go out. The right wing's stages decide what happens to a
conversation (recorder, player, faults), the left wing's translate between a transport's exchanges
and bare messages; both stand in one `pipeline.Pipeline`, which knows no more of them than this.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import attrs

from mcpmock.protocol.messages import Direction, Frame


@attrs.define
class Send:
    """Send these frames on their way, all of one direction, in order; `after` is in seconds from
    now.
    """

    frames: Sequence[Frame]
    after: float = 0.0


@attrs.define
class Wake:
    """Call the stage's `wake` at this time, on the clock of `now`: a sum of a difference would come
    too early.

    Waking too often does no harm, and is never taken back.
    """

    at: float


@attrs.define
class Hangup:
    """End the session: nothing more goes either way. `why` is for the log."""

    why: str = ""
    after: float = 0.0


Action = Send | Wake | Hangup


PASS: tuple[Action, ...] = (Send(()),)
"""What `feed` gives to send on just what it was given: the same as a Send of it, and quicker."""


class Stage:
    """One piece of behaviour. All three verbs give actions; all default to letting
    everything pass.
    """

    @property
    def held_until(self) -> float | None:
        """When the last of what it holds back is due; None if it holds nothing. A session that is
        over waits for that.
        """
        return None

    def halted_until(self, direction: Direction) -> float | None:  # noqa: ARG002
        """Until when nothing more of what goes this way is to be read; None if it may be."""
        return None

    def begin(self, now: float) -> Iterable[Action]:  # noqa: ARG002
        """The session begins, before any frame."""
        return ()

    def feed(self, seen: Sequence[Frame], now: float) -> Iterable[Action]:  # noqa: ARG002
        """Frames arrived together, all of one direction. What is not sent on ends here."""
        return PASS

    def wake(self, now: float) -> Iterable[Action]:  # noqa: ARG002
        """The time that a `Wake` named has come."""
        return ()
