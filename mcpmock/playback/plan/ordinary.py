"""Makes the plan of an episode over pipes that is ordinary (`answer_index`): in a fifth of the time
that `builder` takes, since the index knows what waits for what. Both plans are equal.
"""

from __future__ import annotations

from mcpmock.playback.answer_index import NONE, SUBSCRIPTION, AnswerIndex, WaitingMessage
from mcpmock.protocol.correlation import SUBSCRIPTION_PATH
from mcpmock.protocol.messages import Frame, Response, member

from .plan import (
    AGREED_VERSION_PATH,
    NO_OVERLAPS,
    ClientEvent,
    LiveValue,
    Overlaps,
    PlannedMessage,
    ReplayPlan,
    Times,
)


def plan_of(index: AnswerIndex) -> ReplayPlan:
    """Return the plan of an indexed episode."""
    events, places, ranks = index.episode.events, index.places, index.ranks
    requests = [place for place, rank in zip(places, ranks, strict=True) if rank != NONE]
    client = {
        place: ClientEvent(place, index.frame(number), () if rank == NONE else (rank,))
        for number, (place, rank) in enumerate(zip(places, ranks, strict=True))
    }
    others = {one.place: one for waiting in index.waiting.values() for one in waiting}
    handshakes = {*index.methods.get("initialize", ())}
    times = Times({place: events[place].t for place in places})
    messages = []
    for one in sorted([*index.plain_answers(), *others.values()], key=lambda one: one.place):
        event, rank = events[one.place], NONE if one.call == NONE else ranks[one.call]
        frame = event.frame
        assert frame is not None
        causes = frozenset([places[cause] for cause in one.causes if cause != NONE])
        chain = None if rank == NONE else rank
        overlaps = NO_OVERLAPS
        if rank + 1 < one.stop:
            overlaps = Overlaps(requests, rank + 1, one.stop)
        elif one.overlap != NONE:
            overlaps = Overlaps([], others=(places[one.overlap],))
        planned = PlannedMessage(
            one.place,
            frame,
            causes,
            () if chain is None else (chain,),
            answers=one.stop > 0,
            overlaps=overlaps,
            live_values=_live_values(one, frame, rank, is_handshake=one.call in handshakes),
            gap_s=times.gap_s(causes, chain, event.t),
            chain=chain,
            is_progress=one.is_progress,
        )
        messages.append(planned)
    return ReplayPlan(
        index.episode,
        messages,
        client,
        {id_: [places[number] for number in found] for id_, found in index.replies.items()},
        {ranks[call]: [places[one] for one in found] for call, found in index.cancels.items()},
        request_ranks={place: rank for rank, place in enumerate(requests)},
    )


def _live_values(
    one: WaitingMessage, frame: Frame, rank: int, *, is_handshake: bool
) -> tuple[LiveValue, ...]:
    if rank == NONE:
        return ()
    if one.is_progress:
        return (LiveValue(rank, ("params", "progressToken"), token=True),)
    if not one.stop:
        return ()
    found = [LiveValue(rank, ("id",))]
    if SUBSCRIPTION in frame.raw:
        result = frame.content.result if isinstance(frame.content, Response) else None
        named = member(result, *SUBSCRIPTION_PATH) is not None
        found += [LiveValue(rank, ("result", *SUBSCRIPTION_PATH))] if named else []
    if is_handshake:
        found.append(LiveValue(rank, AGREED_VERSION_PATH))
    return tuple(found)
