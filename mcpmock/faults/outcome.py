"""`Outcome`: what faults have made of one message so far: the message itself, be it another one by
now, and what is sent besides, in front of it and behind. Used by `engine`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import attrs

from mcpmock.pipeline.stage import Hangup, Send
from mcpmock.protocol.messages import Frame

from .delay_queue import Keep
from .fault import Act, Fault, Seen


@attrs.define
class Outcome:
    """What faults have made of one unit so far."""

    carried: Send | None
    """The message, be it another one by now; None once there is none."""
    first: list[tuple[Fault, Act]] = attrs.field(factory=list)
    """What goes out in front of it."""
    then: list[tuple[Fault, Act]] = attrs.field(factory=list)
    fired: list[Fault] = attrs.field(factory=list)

    def add(self, fault: Fault, became: Iterable[Act], seen: Seen) -> None:
        """All counted from the message's arrival."""
        after = 0.0 if self.carried is None else self.carried.after
        actions = [_later(action, after) for action in became]
        sends = [a for a in actions if isinstance(a, Send) and a.frames]
        same = [a for a in sends if a.frames[0].direction is seen.direction]
        carried = next((a for a in same if a.frames is seen.unit), same[0] if same else None)
        place = self.first if carried is not None else self.then
        for action in actions:
            if action is carried:
                place = self.then
            else:
                place.append((fault, action))
        self.carried = carried
        self.fired.append(fault)

    def posted(self, post: Callable[[Sequence[Frame]], Sequence[Frame]]) -> None:
        """With all that is sent as `post` gives it."""

        def sent(action: Act) -> Act:
            if isinstance(action, Send) and action.frames:
                return Send(post(action.frames), action.after)
            return action

        self.first = [(fault, sent(action)) for fault, action in self.first]
        self.then = [(fault, sent(action)) for fault, action in self.then]
        if self.carried is not None:
            self.carried = Send(post(self.carried.frames), self.carried.after)

    def frames(self) -> Iterator[Frame]:
        """All that is sent, either way."""
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
