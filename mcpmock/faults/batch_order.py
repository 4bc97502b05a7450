"""Where frames stand in the lines of a session, and what goes together in a batch. Used by
`engine`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence

from mcpmock.pipeline.stage import Action, Send
from mcpmock.protocol.messages import S2C, ExchangeEnd, Frame, ProcessExit, StreamEnd

from .match import Subject
from .responses import refusal, uncounted

_ENDS = StreamEnd | ProcessExit | ExchangeEnd


def lines_of(frames: Sequence[Frame], subject: Subject, stream: int | None) -> Iterator[Hashable]:
    """What this must not overtake: what belongs to the same call, or to the same exchange; and an
    end nothing at all that goes its way.
    """
    frame = frames[-1]
    is_beside = stream is not None and frame.direction is S2C and frame.exchange != stream
    if subject.call is not None and not is_beside:  # beside the event stream is no answer
        yield (frame.direction, subject.call.direction, subject.call.request.id)
    in_exchange = frame.exchange is not None and frame.exchange != stream
    if in_exchange or isinstance(frame.fact, _ENDS):
        yield way_of(frames)


def way_of(frames: Sequence[Frame]) -> Hashable:
    return (frames[-1].direction, frames[-1].exchange)


def accepting(number: int | None) -> Iterable[Action]:
    return () if number is None else (Send(refusal(number, 202)),)


def without_length(action: Action, exchanges: set[int]) -> Action:
    if not isinstance(action, Send):
        return action
    frames = [uncounted(f) if f.exchange in exchanges else f for f in action.frames]
    return Send(frames, action.after)


def add(actions: list[Action], more: Iterable[Action]) -> None:
    """Adds to what is done; what goes the same way at once stays in one batch."""
    for action in more:
        last = actions[-1] if actions else None
        if (
            isinstance(action, Send)
            and isinstance(last, Send)
            and last.frames[0].direction is action.frames[0].direction
        ):
            actions[-1] = Send([*last.frames, *action.frames])
        else:
            actions.append(action)
