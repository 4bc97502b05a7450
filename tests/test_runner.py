"""The runner, over memory channels and a mock clock: two pumps, their bounds, and the ends of a
session.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterable, Sequence

import attrs
import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from mcpmock.cassette.model import Cassette
from mcpmock.channels.channel import MAX_HELD_BYTES, MemoryChannel, memory_pair
from mcpmock.channels.short_wait import PipeSource
from mcpmock.pipeline.pipeline import Pipeline
from mcpmock.pipeline.stage import Action, Halt, Hangup, Send, Stage, Wake
from mcpmock.playback.player import PlayerOptions, SessionSelection
from mcpmock.playback.session_player import SessionPlayer
from mcpmock.playback.timing import Pace, Timing
from mcpmock.protocol.messages import C2S, S2C, Direction, Frame, ProcessExit, StreamEnd
from mcpmock.runner import DEAF_AFTER_S, FLUSH_TIMEOUT_S, LiveSession, run
from tests.support import (
    INITIALIZE,
    WELCOME,
    c2s,
    cassette,
    exits,
    hangs_up,
    progress,
    request,
    response,
    s2c,
    seen,
)

Side = Callable[[MemoryChannel], Awaitable[None]]


@attrs.define
class Late(Stage):
    """Holds back by so many seconds what goes this way."""

    seconds: float
    direction: object = C2S

    def feed(self, seen: Sequence[Frame], now: float) -> Iterable[Action]:
        return (Send(seen, after=self.seconds if seen[0].direction is self.direction else 0),)


@attrs.define
class HangsUp(Stage):
    """Hangs up at the first frame, after sending something back."""

    def feed(self, seen: Sequence[Frame], now: float) -> Iterable[Action]:
        return (Send([s2c(b"last words")]), Hangup("enough"))


@attrs.define
class Halts(Stage):
    """One side, the client if none is named, is not read for a second."""

    halted: Direction = C2S

    def feed(self, seen: Sequence[Frame], now: float) -> Iterable[Action]:
        return (Send(seen), Halt(self.halted, 1.0))


async def frames_of(channel: MemoryChannel) -> list[Frame]:
    """All that comes, until nothing more can come."""
    found: list[Frame] = []
    while True:
        try:
            found += await channel.receive()
        except trio.EndOfChannel:
            return found


async def conversation(
    stages: Sequence[Stage], client: Side, server: Side | None
) -> ProcessExit | None:
    """Runs a session between two actors and gives its exit."""
    outer, inner = memory_pair()
    near, far = memory_pair()
    session = LiveSession(Pipeline(stages), inner, None if server is None else near)
    with trio.fail_after(3600):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(client, outer)
            if server is not None:
                nursery.start_soon(server, far)
            return await run(session)


async def leave(channel: MemoryChannel) -> None:
    """A server that waits for the end of its input, and ends."""
    await frames_of(channel)
    channel.send_nowait([hangs_up(S2C), exits(0)])


async def test_frames_pass_both_ways(autojump_clock: MockClock) -> None:
    """What one side sends the other receives, in order, and the ends are passed on."""
    got: dict[str, list[Frame]] = {}

    async def client(channel: MemoryChannel) -> None:
        channel.send_nowait([c2s(b"1"), c2s(b"2"), hangs_up(C2S)])
        got["client"] = await frames_of(channel)

    async def server(channel: MemoryChannel) -> None:
        got["server"] = await frames_of(channel)
        channel.send_nowait([s2c(b"3"), hangs_up(S2C)])

    await conversation([], client, server)

    assert [seen(f) for f in (c2s(b"1"), c2s(b"2"), hangs_up(C2S))] == [
        seen(f) for f in got["server"]
    ]
    assert [seen(f) for f in (s2c(b"3"), hangs_up(S2C))] == [seen(f) for f in got["client"]]
    assert 0.0 == trio.current_time()


class PipedChannel(MemoryChannel):
    """Has one more frame, which can only be had from its pipe."""

    def __init__(self, held: int = 0) -> None:
        self.far, inner = memory_pair()
        super().__init__(inner._out, inner._back)
        self._held = held
        self._pipe = os.pipe()
        os.write(self._pipe[1], b"2")
        self.taken = 0

    def pipe_sources(self) -> Sequence[PipeSource]:
        return (PipeSource(self._pipe[0], self._read, lambda data: [s2c(data)]),)

    def held(self, like: Frame) -> int:
        return self._held

    def _read(self) -> bytes:
        self.taken += 1
        return os.read(self._pipe[0], 1)

    async def aclose(self) -> None:
        await super().aclose()
        for fd in self._pipe:
            os.close(fd)


@pytest.mark.parametrize(
    ("stages", "taken"),
    [([], 1), ([Late(1)], 0), ([HangsUp()], 0), ([Halts()], 0), ([Halts(S2C)], 0)],
)
async def test_what_follows_from_a_pipe(
    stages: Sequence[Stage], taken: int, autojump_clock: MockClock
) -> None:
    """What comes at once is taken in the same turn, unless something else needs the loop first: a
    message that is held back, the end of the session, a source that must not be read.
    """
    await follow(stages, PipedChannel(), PipedChannel(), taken)


@pytest.mark.parametrize("held", [(0, 1), (1, 0), (1, 1)])
async def test_nothing_follows_while_an_end_writes(
    held: tuple[int, int], autojump_clock: MockClock
) -> None:
    """Its reader would wait for what only the loop can write, also for what went the other way."""
    client, server = map(PipedChannel, held)
    await follow([], client, server, 0)


async def follow(
    stages: Sequence[Stage], client: PipedChannel, server: PipedChannel, taken: int
) -> None:
    session = LiveSession(Pipeline(stages), client, server)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(run, session)
        client.far.send_nowait([c2s(b"1")])
        await trio.sleep(0.5)
        assert taken == server.taken
        server.far.send_nowait([hangs_up(S2C)])


async def test_the_exit_is_the_servers(autojump_clock: MockClock) -> None:
    """The result is the server's exit."""

    async def client(channel: MemoryChannel) -> None:
        channel.send_nowait([hangs_up(C2S)])
        await frames_of(channel)

    async def server(channel: MemoryChannel) -> None:
        await frames_of(channel)
        channel.send_nowait([exits(7), hangs_up(S2C)])

    assert ProcessExit(7) == await conversation([], client, server)


async def test_half_close(autojump_clock: MockClock) -> None:
    """After the end of the client's input, the server's messages still reach the client."""
    got: list[bytes] = []

    async def client(channel: MemoryChannel) -> None:
        channel.send_nowait([hangs_up(C2S)])
        got.extend(frame.raw for frame in await frames_of(channel))

    async def server(channel: MemoryChannel) -> None:
        await frames_of(channel)
        for number in range(3):
            await trio.sleep(100)
            channel.send_nowait([s2c(b"%d" % number)])
        channel.send_nowait([hangs_up(S2C)])

    await conversation([], client, server)

    assert [b"0", b"1", b"2", b""] == got
    assert 300.0 == trio.current_time()


@pytest.mark.parametrize("sends", [False, True], ids=["silent", "after a message"])
async def test_a_client_that_vanishes_ends_the_servers_input(
    autojump_clock: MockClock, sends: bool
) -> None:
    """A client that vanishes ends the server's input, after everything that it sent."""
    got: list[Frame] = []

    async def client(channel: MemoryChannel) -> None:
        if sends:
            channel.send_nowait([c2s(b"bye")])
        await trio.sleep(1)
        await channel.aclose()

    async def server(channel: MemoryChannel) -> None:
        got.extend(await frames_of(channel))
        channel.send_nowait([hangs_up(S2C)])

    await conversation([], client, server)

    assert [b"bye"] * sends == [frame.raw for frame in got if frame.fact is None]
    assert [StreamEnd] == [type(frame.fact) for frame in got if frame.fact is not None]


async def test_messages_to_a_vanished_client_are_dropped(autojump_clock: MockClock) -> None:
    """Messages to a client that is gone are dropped, and the server's input ends."""
    ended: list[float] = []

    async def client(channel: MemoryChannel) -> None:
        channel.send_nowait([c2s(b"x")])
        await channel.aclose()

    async def server(channel: MemoryChannel) -> None:
        await channel.receive()
        await trio.sleep(1)
        channel.send_nowait([s2c(b"to a client that is gone")])
        await frames_of(channel)
        ended.append(trio.current_time())
        channel.send_nowait([s2c(b"also dropped"), hangs_up(S2C)])

    await conversation([], client, server)

    assert 1 == len(ended)
    assert 1.0 >= ended[0]


async def test_a_server_that_vanishes_ends_the_session(autojump_clock: MockClock) -> None:
    """A server that vanishes ends the session; the client receives everything that it sent."""
    got: list[bytes] = []

    async def client(channel: MemoryChannel) -> None:
        got.extend(frame.raw for frame in await frames_of(channel))

    async def server(channel: MemoryChannel) -> None:
        channel.send_nowait([s2c(b"last")])
        await wait_all_tasks_blocked()
        await channel.aclose()

    await conversation([], client, server)

    assert [b"last"] == got


async def test_delays_are_exact(autojump_clock: MockClock) -> None:
    """A frame held back by 20 minutes comes as much later, to the bit, and the other way is not
    held.
    """
    times: list[float] = []

    async def client(channel: MemoryChannel) -> None:
        channel.send_nowait([c2s(b"slow")])
        await channel.receive()
        times.append(trio.current_time())
        await trio.sleep(1300)
        channel.send_nowait([hangs_up(C2S)])
        await frames_of(channel)

    async def server(channel: MemoryChannel) -> None:
        channel.send_nowait([s2c(b"quick")])
        await channel.receive()
        times.append(trio.current_time())
        await leave(channel)

    await conversation([Late(1200)], client, server)

    assert [0.0, 1200.0] == times


async def test_both_flood_at_once(autojump_clock: MockClock) -> None:
    """Neither direction waits for the other: 8 MiB each way, written before anything is read,
    arrive whole.
    """
    count, raw = 128, b"x" * 65_535
    got: dict[object, int] = {}

    async def flood(channel: MemoryChannel, direction: object) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(read, channel, direction)
            for _ in range(count):
                frame = c2s(raw) if direction is C2S else s2c(raw)
                await channel.room(frame)
                channel.send_nowait([frame])
            channel.send_nowait([hangs_up(C2S if direction is C2S else S2C)])

    async def read(channel: MemoryChannel, direction: object) -> None:
        await trio.sleep(1)
        got[direction] = sum(frame.size for frame in await frames_of(channel))

    await conversation(
        [Stage()], lambda channel: flood(channel, C2S), lambda channel: flood(channel, S2C)
    )

    assert {C2S: count * 65_536, S2C: count * 65_536} == got


async def test_a_slow_reader_stops_the_other_side(autojump_clock: MockClock) -> None:
    """While a client reads nothing, its server can send no more than the room of each channel and
    one read.
    """
    sent = 0
    frame = s2c(b"x" * 65_535)

    async def server(channel: MemoryChannel) -> None:
        nonlocal sent
        for _ in range(1000):
            await channel.room(frame)
            channel.send_nowait([frame])
            sent += frame.size
        channel.send_nowait([hangs_up(S2C)])

    async def client(channel: MemoryChannel) -> None:
        await trio.sleep(1)
        assert MAX_HELD_BYTES <= sent <= 3 * MAX_HELD_BYTES
        channel.send_nowait([c2s(b"still heard")])
        assert 1000 * 65_536 == sum(frame.size for frame in await frames_of(channel))

    await conversation([], client, server)


async def test_hanging_up_ends_the_session(autojump_clock: MockClock) -> None:
    """When a stage hangs up, earlier frames still arrive, and both channels close."""
    got: list[Frame] = []

    async def client(channel: MemoryChannel) -> None:
        channel.send_nowait([c2s(b"x")])
        got.extend(await frames_of(channel))

    async def server(channel: MemoryChannel) -> None:
        assert [] == await frames_of(channel)

    await conversation([HangsUp()], client, server)

    assert [b"last words"] == [frame.raw for frame in got]
    assert 0.0 == trio.current_time()


async def test_a_deaf_client_delays_the_end_by_the_flush_timeout(
    autojump_clock: MockClock,
) -> None:
    """A session that is over waits for a client that reads nothing only for the timeout."""

    async def client(channel: MemoryChannel) -> None:
        channel.send_nowait([c2s(b"x")])

    async def server(channel: MemoryChannel) -> None:
        await frames_of(channel)

    await conversation([HangsUp()], client, server)

    assert FLUSH_TIMEOUT_S == trio.current_time()


async def test_a_deaf_client_does_not_keep_a_stopped_session(autojump_clock: MockClock) -> None:
    """Where the server has ended, what it left is read to its end all the same."""
    sent = 0

    async def server(channel: MemoryChannel) -> None:
        nonlocal sent
        frame = s2c(b"x" * 65_535)
        while sent < 4 * MAX_HELD_BYTES:
            await channel.room(frame)
            channel.send_nowait([frame])
            sent += frame.size
        channel.send_nowait([hangs_up(S2C)])

    _client, inner = memory_pair()
    near, far = memory_pair()
    session = LiveSession(Pipeline([]), inner, near)
    session.exit = ProcessExit(signal=15)
    session.note_stop()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(server, far)
        await run(session)

    assert 4 * MAX_HELD_BYTES <= sent
    assert DEAF_AFTER_S + FLUSH_TIMEOUT_S == trio.current_time()


def replayed(recorded: Cassette, **playing: object) -> list[Stage]:
    return [SessionPlayer(SessionSelection(recorded, PlayerOptions(**playing)))]  # type: ignore[arg-type]


async def test_replay_without_a_server(autojump_clock: MockClock) -> None:
    """With a player and no server the client gets its answers, at exact times, and the end."""
    recorded = cassette(
        ("c2s", INITIALIZE),
        ("s2c", WELCOME),
        ("c2s", request(1, "x", token=1)),
        ("s2c", progress(1)),
        ("s2c", response(1)),
    )
    heard: list[tuple[float, bytes]] = []

    async def client(channel: MemoryChannel) -> None:
        for raw, answers in ((INITIALIZE, 1), (request("a", "x", token=5), 2)):
            channel.send_nowait([c2s(raw)])
            while answers:
                frames = await channel.receive()
                heard.extend((trio.current_time(), frame.raw) for frame in frames)
                answers -= len(frames)
        channel.send_nowait([hangs_up(C2S)])
        assert [] == await frames_of(channel)

    assert None is await conversation(replayed(recorded), client, None)

    assert [(0.0, WELCOME), (0.0, progress(5)), (0.002, response("a"))] == heard


async def test_replay_of_a_crash(autojump_clock: MockClock) -> None:
    """A recorded crash ends the session with the recorded exit."""
    recorded = cassette(("c2s", INITIALIZE), ("end", {"d": "s2c"}), ("end", {"exit": 7}))

    async def client(channel: MemoryChannel) -> None:
        channel.send_nowait([c2s(INITIALIZE)])
        await frames_of(channel)

    assert ProcessExit(7) == await conversation(replayed(recorded), client, None)


@pytest.mark.parametrize("gap", [1.145, 2.562, 0.3, 0.1, 7.7])
@pytest.mark.parametrize("start", [0.027, 1.162, 0.971, 0.1])
async def test_replay_is_exact_at_any_time_of_day(
    autojump_clock: MockClock, start: float, gap: float
) -> None:
    """With recorded timing, every answer comes, whatever the time is when it is asked for."""
    recorded = cassette(
        (0.0, "c2s", request(1, "x")),
        (0.0, "c2s", request(2, "y")),
        (0.111, "s2c", response(2)),
        (gap, "s2c", response(1)),
    )
    heard: list[bytes] = []

    async def client(channel: MemoryChannel) -> None:
        await trio.sleep(start)
        channel.send_nowait([c2s(request(1, "x")), c2s(request(2, "y"))])
        while len(heard) < 2:
            heard.extend(frame.raw for frame in await channel.receive())
        channel.send_nowait([hangs_up(C2S)])
        await frames_of(channel)

    await conversation(replayed(recorded, pace=Pace(Timing.parse("recorded"))), client, None)

    assert {response(1), response(2)} == set(heard)


@pytest.mark.parametrize("moment", range(8))
async def test_cancelling_closes_both_channels(autojump_clock: MockClock, moment: int) -> None:
    """A session cancelled at any moment closes both its channels."""
    outer, inner = memory_pair()
    near, far = memory_pair()
    outer.send_nowait([c2s(b"x")])
    with trio.CancelScope() as scope:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(run, LiveSession(Pipeline([Late(3)]), inner, near))
            for _ in range(moment):
                await trio.lowlevel.checkpoint()
            scope.cancel()

    for end in (outer, far):
        with pytest.raises(trio.BrokenResourceError):
            end.send_nowait([c2s(b"y")])


@attrs.define
class Holding(Stage):
    """Holds back all that goes to the client for so many seconds, and says until when; halts what
    goes to the server for as long.
    """

    seconds: float
    held: list[Frame] = attrs.field(factory=list)
    until: float | None = None

    @property
    def held_until(self) -> float | None:
        return self.until

    def feed(self, seen: Sequence[Frame], now: float) -> Iterable[Action]:
        if seen[0].direction is C2S:
            return (Send(seen), Halt(C2S, self.seconds))
        self.held += seen
        self.until = now + self.seconds
        return (Wake(self.until),)

    def wake(self, now: float) -> Iterable[Action]:
        frames, self.held, self.until = self.held, [], None
        return (Send(frames),)


async def test_what_is_held_of_a_server_that_is_gone_still_comes(autojump_clock: MockClock) -> None:
    """The session is over when the last of it is out."""
    got: list[Frame] = []

    async def client(channel: MemoryChannel) -> None:
        got.extend(await frames_of(channel))

    async def server(channel: MemoryChannel) -> None:
        channel.send_nowait([s2c(b"late"), hangs_up(S2C), exits(3)])

    began = trio.current_time()
    exit_ = await conversation([Holding(5.0)], client, server)

    assert [b"late"] == [frame.raw for frame in got if frame.fact is None]
    assert (ProcessExit(3), 5.0) == (exit_, trio.current_time() - began)


async def test_a_halted_direction_is_not_read(autojump_clock: MockClock) -> None:
    """Not before its time; the other direction is."""
    times: dict[bytes, float] = {}

    async def client(channel: MemoryChannel) -> None:
        for raw in (b"1", b"2"):
            channel.send_nowait([c2s(raw)])
            await channel.flush()
        channel.send_nowait([hangs_up(C2S)])

    async def server(channel: MemoryChannel) -> None:
        while True:
            for frame in await channel.receive():
                times.setdefault(frame.raw, trio.current_time() - began)
                if type(frame.fact) is StreamEnd:
                    channel.send_nowait([hangs_up(S2C), exits(0)])
                    return

    began = trio.current_time()
    await conversation([Holding(2.0)], client, server)

    assert {b"1": 0.0, b"2": 2.0, b"": 4.0} == times
