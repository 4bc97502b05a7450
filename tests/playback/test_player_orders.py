"""Recordings of the same streams whose events came in any order, played to clients that leave their
streams anywhere and resume them: nothing is lost, nothing comes twice, and no stream ends early.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from random import Random

import attrs

from mcpmock.playback.player import PlayerOptions, SessionSelection
from mcpmock.playback.session_player import SessionPlayer
from mcpmock.playback.timing import Pace, Timing
from mcpmock.protocol.messages import C2S, ExchangeEnd, Frame, HttpResponse, SseMeta
from mcpmock.transports.streamable_http.resumption import Resumption
from tests.support import (
    INITIALIZE,
    INITIALIZED,
    Script,
    ends,
    get,
    in_session,
    notification,
    opens,
    over_http,
    post,
    progress,
    request,
    response,
    says,
)
from tests.support.http_episodes import OPENING

SEEDS = range(120)
"""Some of the orders. Ends of streams that do not wait for their events fail 30 % of them."""
STANDING = -1
"""The stream of a GET, which belongs to no call."""
Events = list[tuple[str, bytes]]


def events_of(stream: int, count: int) -> Events:
    """The events of a stream, by id."""
    if stream == STANDING:
        messages = [notification("notifications/message", {"data": n}) for n in range(count)]
    else:
        messages = [b"", *(progress(stream, n) for n in range(count))]
        messages.append(response(stream, {"of": stream}))
    return [(f"{stream}/{n}", message) for n, message in enumerate(messages)]


def opening(stream: int, x: int, session: str) -> list[Frame]:
    """The request that opens a stream."""
    if stream == STANDING:
        return get(x, session=session)
    asked = request(stream, "tools/call", {"name": f"t{stream}"}, token=stream)
    return post(x, asked, session=session)


def recorded_stream(
    random: Random, stream: int, events: Events, new_exchange: Callable[[], int]
) -> Iterator[list[Frame]]:
    """A stream as it was recorded: its client may have left it, or the server ended it, and the
    client came back; an event may have come twice, and the recorder may have noted how its own
    connection to the server was torn down.
    """
    x = new_exchange()
    yield opening(stream, x, "S")
    yield opens(x)
    last = None
    for id_, message in events:
        while last is not None and random.random() < 0.2:
            how = random.choice(["closed", "torn down", "by the server"])
            if how != "by the server" and random.random() < 0.5:
                yield says(x, message, id=id_)
            yield {
                "closed": [ends(x, "closed", C2S)],
                "torn down": [ends(x, "closed", C2S), ends(x, "reset")],
                "by the server": [ends(x)],
            }[how]
            x = new_exchange()
            yield get(x, session="S", last_event_id=last)
            yield opens(x)
        yield says(x, message, id=id_)
        last = id_
    left = ends(x, "closed", C2S)
    yield random.choice([[ends(x)], [left], [left, ends(x, "reset")], []])


@attrs.define
class LiveStream:
    """A stream as a live client reads it."""

    stream: int
    exchange: int
    seen: list[str] = attrs.field(factory=list)
    statuses: set[int] = attrs.field(factory=set)
    answered: bool = False
    """The response of the exchange has begun."""
    ended: bool = False

    def read(self, frames: list[Frame], count: int) -> None:
        """At most so many events; what was read is taken out of the list."""
        while frames and count:
            frame = frames.pop(0)
            if isinstance(frame.fact, HttpResponse):
                self.statuses.add(frame.fact.status)
                self.answered = True
            elif isinstance(frame.fact, SseMeta):
                self.seen.append(str(frame.fact.id))
                count -= 1
            self.ended = isinstance(frame.fact, ExchangeEnd)


def lost_events(seed: int) -> list[str]:
    """What a client misses of a recording that this seed makes."""
    random = Random(seed)
    numbers = iter(range(3, 10_000))
    streams = {n: events_of(n, random.randint(0, 3)) for n in range(random.randint(1, 4))}
    streams[STANDING] = events_of(STANDING, random.randint(0, 4))
    threads = [
        list(recorded_stream(random, n, events, lambda: next(numbers)))
        for n, events in streams.items()
    ]
    steps: list[list[Frame]] = []
    while threads := [thread for thread in threads if thread]:
        steps.append(random.choice(threads).pop(0))
    timing = Timing.parse(random.choice(["none", "recorded", "cap:10"]))
    options = PlayerOptions(pace=Pace(timing))
    player = SessionPlayer(
        SessionSelection(over_http(in_session(2, *OPENING, *steps)), options), mint=lambda: "live"
    )
    script = Script([Resumption(), player]).abandon()
    arrived: defaultdict[int | None, list[Frame]] = defaultdict(list)
    clock = 0.0

    def take(batches: Sequence[Sequence[Frame]]) -> None:
        for frame in (frame for frames in batches for frame in frames):
            arrived[frame.exchange].append(frame)

    def send(frames: list[Frame]) -> None:
        take(script.pipeline.enter(frames, clock))

    send(post(1, INITIALIZE))
    send(post(2, INITIALIZED, session="live"))
    to_open = [STANDING, *random.sample(range(len(streams) - 1), len(streams) - 1)]
    live: list[LiveStream] = []
    for _ in range(300):
        clock += random.choice([0, 0.001, 0.003, 0.03, 0.2, 2])
        while (due := script.pipeline.next_due) is not None and due <= clock:
            take(script.pipeline.advance(due))
        if to_open and random.random() < 0.4:
            live.append(LiveStream(to_open.pop(0), next(numbers)))
            send(opening(live[-1].stream, live[-1].exchange, "live"))
        for one in live:
            one.read(arrived[one.exchange], random.choice([0, 1, 2, 9]))
            whole = len(one.seen) == len(streams[one.stream])
            leaves = one.ended or (one.answered and random.random() < 0.3)
            if one.seen and leaves and not whole:
                if not one.ended:
                    send([ends(one.exchange, "closed", C2S)])
                one.exchange, one.answered, one.ended = next(numbers), False, False
                send(get(one.exchange, session="live", last_event_id=one.seen[-1]))
    return [
        f"seed {seed}: {one.seen} of stream {one.stream}, {one.statuses}"
        for one in live
        if one.statuses != {200}
        or (sorted if one.stream == STANDING else list)(one.seen)
        != [id_ for id_, _ in streams[one.stream]]
    ] + [f"seed {seed}: {player.missed} misses"] * bool(player.missed)


def test_no_event_is_lost() -> None:
    """Whatever the order of the recording, of the live calls, and of what is cut."""
    assert [] == [lost for seed in SEEDS for lost in lost_events(seed)]
