"""`Outcome`: the result of the faults that fired on one message: the message, maybe changed, and
what is sent in front of it and behind it. Used by `engine`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import attrs

from mcpmock.pipeline.stage import Hangup, Send
from mcpmock.protocol.messages import Frame

from .delay_queue import Keep
from .fault import Act, Fault, MatchedMessage


@attrs.define
class Outcome:
    """The result of the faults that fired on one unit so far."""

    carried: Send | None
    """The message, maybe changed; None if it is not sent."""
    first: list[tuple[Fault, Act]] = attrs.field(factory=list)
    """The actions in front of the message, each with its fault."""
    then: list[tuple[Fault, Act]] = attrs.field(factory=list)
    """The actions behind it."""
    fired: list[Fault] = attrs.field(factory=list)

    def add(self, fault: Fault, became: Iterable[Act], matched: MatchedMessage) -> None:
        """Add the actions of a fault. Their times count from the message's arrival."""
        after = 0.0 if self.carried is None else self.carried.after
        actions = [_later(action, after) for action in became]
        sends = [a for a in actions if isinstance(a, Send) and a.frames]
        same = [a for a in sends if a.frames[0].direction is matched.direction]
        carried = next((a for a in same if a.frames is matched.unit), same[0] if same else None)
        place = self.first if carried is not None else self.then
        for action in actions:
            if action is carried:
                place = self.then
            else:
                place.append((fault, action))
        self.carried = carried
        self.fired.append(fault)

    def post_frames(self, post: Callable[[Sequence[Frame]], Sequence[Frame]]) -> None:
        """Replace the frames of each `Send` by what `post` makes of them."""

        def sent(action: Act) -> Act:
            if isinstance(action, Send) and action.frames:
                return Send(post(action.frames), action.after)
            return action

        self.first = [(fault, sent(action)) for fault, action in self.first]
        self.then = [(fault, sent(action)) for fault, action in self.then]
        if self.carried is not None:
            self.carried = Send(post(self.carried.frames), self.carried.after)

    def frames(self) -> Iterator[Frame]:
        """Yield all frames that are sent, in both directions."""
        besides = [action for _, action in (*self.first, *self.then)]
        for action in [self.carried, *besides]:
            if isinstance(action, Send | Keep):
                yield from action.frames


def _later(action: Act, after: float) -> Act:
    match action:
        case Send(frames, own):
            return Send(frames, own + after) if after else action
        case Hangup(why, own):
            return Hangup(why, own + after)
        case _:
            return action
