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
    places, ranks = index.places, index.ranks
    numbers = {place: number for number, place in enumerate(places)}
    waiting = {one.place: one for found in index.waiting.values() for one in found}
    waiting |= {
        place: WaitingMessage(place, number, (number,), index.stops[number])
        for number, place in enumerate(index.answers)
    }
    handshakes = {*index.methods.get("initialize", ())}
    client, messages, times = dict[int, ClientEvent](), list[PlannedMessage](), Times()
    for place, event in enumerate(index.episode.events):
        if place in numbers:
            rank, frame = ranks[numbers[place]], event.frame
            assert frame is not None
            client[place] = ClientEvent(place, frame, () if rank == NONE else (rank,))
            times.of_event_us[place] = event.t
        if place not in waiting:
            continue
        one, frame = waiting[place], event.frame
        assert frame is not None
        rank = NONE if one.call == NONE else ranks[one.call]
        causes = frozenset([places[cause] for cause in one.causes if cause != NONE])
        chain = None if rank == NONE else rank
        overlaps = NO_OVERLAPS
        if rank + 1 < one.stop:
            overlaps = Overlaps(rank + 1, one.stop)
        elif one.overlap != NONE:
            overlaps = Overlaps(others=(places[one.overlap],))
        planned = PlannedMessage(
            place,
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
        request_ranks={places[number]: ranks[number] for number in index.requests},
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
