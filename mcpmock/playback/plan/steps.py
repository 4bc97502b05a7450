"""The events of an episode as steps: one message of the client, or one of the server.

Over stdio an event is a step. Over HTTP a request step is a head and its body, however far apart
they were recorded, and a server-sent event is its fields and its data. `plan.builder` plans steps.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import attrs
import msgspec
from msgspec import UNSET

from mcpmock.cassette.model import FORMAT, Episode, Event, Header, Take
from mcpmock.protocol.messages import Frame, HttpRequest


class EpisodeStep(NamedTuple):
    """`place` is the index of its event in the episode: that of the body or the data where there
    are two.
    """

    place: int
    event: Event
    frame: Frame
    head: HttpRequest | None = None
    """The head of the request whose body `frame` is."""
    meta: Frame | None = None
    """What the server-sent event carried besides its data, which `frame` is."""


def steps(events: Sequence[Event]) -> Iterator[EpisodeStep]:
    """Yield the steps in the order they happened. A request whose body was recorded after the
    answer stands ahead of the answer: a server that answers has read enough of the request.
    """
    if all(event.x is None for event in events):
        yield from bare_steps(events)
        return
    parts = _StepParts.of(events)
    waiting: dict[int, HttpRequest] = {}
    for index, event in enumerate(events):
        if event.x is not None and event.d == "s2c" and event.x in waiting:
            yield from _request(events, parts.bodies[event.x], waiting.pop(event.x))
        frame = None if index in parts.taken else event.frame
        if frame is None:
            if event.x in waiting and parts.bodies.get(event.x) == index:
                yield from _request(events, index, waiting.pop(event.x))
        elif isinstance(frame.fact, HttpRequest) and event.x in parts.bodies:
            waiting[event.x] = frame.fact
        elif isinstance(frame.fact, HttpRequest):
            yield EpisodeStep(index, event, frame, frame.fact)
        else:
            meta = parts.metas.get(index)
            yield EpisodeStep(
                index, event, frame, None, None if meta is None else events[meta].frame
            )


def bare_steps(events: Sequence[Event]) -> Iterator[EpisodeStep]:
    """Yield the steps where there are no exchanges."""
    for place, event in enumerate(events):
        frame = event.frame
        if frame is not None:
            yield EpisodeStep(place, event, frame)


def merged(episodes: Iterable[Episode]) -> Episode:
    """Return episodes one after the other as one, for exchanges that belong to no session.
    Exchanges and sessions are renumbered where two would be the same; process ends are left out.
    """
    events: list[Event] = []
    last_x = last_t = 0
    parts: list[tuple[int, Episode]] = []
    take: Take | None = None
    for session, episode in enumerate(episodes, 2):
        take = take or episode.take
        parts.append((len(events), episode))
        base_x, base_t = last_x, last_t - episode.events[0].t
        for event in episode.events:
            if event.x is None and event.end is not UNSET:
                continue
            x = None if event.x is None else event.x + base_x
            s = session if event.x is None else event.s
            last_x, last_t = max(last_x, x or 0), base_t + event.t
            events.append(msgspec.structs.replace(event, x=x, s=s, t=last_t))
    take = take or Take(header=Header(mcpmock=FORMAT), events=[])
    return Episode(take=take, events=events, parts=parts)


def _request(events: Sequence[Event], index: int, head: HttpRequest) -> Iterator[EpisodeStep]:
    frame = events[index].frame
    if frame is not None:
        yield EpisodeStep(index, events[index], frame, head)


@attrs.define
class _StepParts:
    """Which events belong together: `bodies` by exchange, `metas` by the index of the data."""

    bodies: dict[int, int] = attrs.field(factory=dict)
    metas: dict[int, int] = attrs.field(factory=dict)
    taken: set[int] = attrs.field(factory=set)
    """The events that are part of the step of another one."""

    @classmethod
    def of(cls, events: Sequence[Event]) -> _StepParts:
        parts = cls()
        heads: set[int] = set()
        last: dict[int, int] = {}
        for index, event in enumerate(events):
            if event.x is None:
                continue
            if event.d == "c2s":
                if event.http is not UNSET:
                    heads.add(event.x)
                elif event.x in heads and is_message(event):
                    parts.bodies.setdefault(event.x, index)
                    parts.taken.add(index)
            elif event.sse is not UNSET:
                last[event.x] = index
            else:
                meta = last.pop(event.x, None)
                if meta is not None and is_message(event):
                    parts.metas[index] = meta
                    parts.taken.add(meta)
        return parts


def is_message(event: Event) -> bool:
    """Return whether the event is a message, well-formed or not."""
    return event.m is not UNSET or event.text is not UNSET or event.b64 is not UNSET
