"""The runner with ends that open a new source with every exchange."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from mcpmock.channels.channel import MAX_HELD_BYTES, ConversationEnd, Receive
from mcpmock.pipeline.pipeline import Pipeline
from mcpmock.pipeline.stage import Action, Stage
from mcpmock.protocol.messages import C2S, S2C, Direction, ExchangeEnd, Frame
from mcpmock.runner import IDLE_PUMPS, LiveSession, run


def of(exchange: int, direction: Direction, raw: bytes) -> Frame:
    return Frame(direction, raw, exchange=exchange)


class Exchanges(ConversationEnd):
    """Every exchange is a source of its own, with its own room."""

    def __init__(self) -> None:
        self.opening, self._opened = trio.open_memory_channel[Receive](100)
        self.sent: list[Frame] = []
        self.stalled: set[int] = set()
        self.moved = trio.Event()

    async def accept(self) -> Receive:
        return await self._opened.receive()

    def open(self, *batches: list[Frame]) -> None:
        """An exchange that sends these frames, and ends."""
        left = list(batches)

        async def receive() -> list[Frame]:
            await trio.lowlevel.checkpoint()
            if not left:
                raise trio.EndOfChannel
            return left.pop(0)

        self.opening.send_nowait(receive)

    def send_nowait(self, frames: Sequence[Frame]) -> None:
        self.sent += frames

    def held(self, like: Frame) -> int:
        return MAX_HELD_BYTES if like.exchange in self.stalled else 0

    async def room(self, like: Frame) -> None:
        while like.exchange in self.stalled:
            await self.moved.wait()

    async def flush(self) -> None:
        await trio.lowlevel.checkpoint()

    async def aclose(self) -> None:
        await trio.lowlevel.checkpoint()


def raws(frames: Sequence[Frame]) -> list[bytes]:
    return [frame.raw for frame in frames]


async def test_what_opens_later_is_read_too(autojump_clock: MockClock) -> None:
    """An exchange that opens in the middle of a session passes as those before it."""
    client, server = Exchanges(), Exchanges()
    client.open([of(1, C2S, b"a")])
    async with trio.open_nursery() as nursery:
        nursery.start_soon(run, LiveSession(Pipeline([]), client, server))
        await wait_all_tasks_blocked()
        client.open([of(2, C2S, b"b")])
        server.open([of(1, S2C, b"A")])
        await wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()

    assert [b"a", b"b"] == raws(server.sent)
    assert [b"A"] == raws(client.sent)


async def test_a_stalled_exchange_stops_only_its_own_source(autojump_clock: MockClock) -> None:
    """The source of an exchange that its client does not read pauses; others go on."""
    client, server = Exchanges(), Exchanges()
    client.stalled = {1}
    server.open([of(1, S2C, b"1a")], [of(1, S2C, b"1b")])
    server.open([of(2, S2C, b"2a")], [of(2, S2C, b"2b")])
    async with trio.open_nursery() as nursery:
        nursery.start_soon(run, LiveSession(Pipeline([]), client, server))
        await wait_all_tasks_blocked()
        stalled = raws(client.sent)
        client.stalled.clear()
        client.moved.set()
        await wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()

    assert [b"1a", b"2a", b"2b"] == sorted(stalled)
    assert [b"1a", b"1b", b"2a", b"2b"] == sorted(raws(client.sent))


async def test_pumps_are_used_again(autojump_clock: MockClock) -> None:
    """Exchanges one after another need no task each; many at once have one each."""
    client, server = Exchanges(), Exchanges()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(run, LiveSession(Pipeline([]), client, server))
        await wait_all_tasks_blocked()
        counts = []
        for number in range(1, 6):
            client.open([of(number, C2S, b"%d" % number)])
            await wait_all_tasks_blocked()
            counts.append(trio.lowlevel.current_statistics().tasks_living)
        server.stalled = {*range(100, 100 + 2 * IDLE_PUMPS)}
        for number in server.stalled:
            client.open([of(number, C2S, b"x")], [of(number, C2S, b"y")])
            await wait_all_tasks_blocked()
        most = trio.lowlevel.current_statistics().tasks_living
        server.stalled = set()
        server.moved.set()
        await wait_all_tasks_blocked()
        left = trio.lowlevel.current_statistics().tasks_living
        nursery.cancel_scope.cancel()

    assert 1 == len({*counts[1:]})
    assert (2 * IDLE_PUMPS, IDLE_PUMPS) == (most - counts[0] + 1, left - counts[0] + 2)
    assert 5 + 4 * IDLE_PUMPS == len(server.sent)


class Dies(Stage):
    def feed(self, seen: Sequence[Frame], now: float) -> Iterable[Action]:
        raise RuntimeError("internal")


async def test_what_is_delivered_leaves_at_once(autojump_clock: MockClock) -> None:
    """Delivered frames wait for no task; before the session and after it none are taken."""
    client, server = Exchanges(), Exchanges()
    assert getattr(client, "deliver") is None  # noqa: B009 (or mypy believes that it stays so)
    session = LiveSession(Pipeline([]), client, server)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(run, session)
        await wait_all_tasks_blocked()
        deliver = client.deliver
        assert deliver is not None
        deliver([of(1, C2S, b"a")])
        assert [b"a"] == raws(server.sent)
        session.end()
    deliver([of(1, C2S, b"b")])

    assert [b"a"] == raws(server.sent)


async def test_an_error_with_delivered_frames(autojump_clock: MockClock) -> None:
    """An internal error ends the session with an error; the deliverer gets none."""
    client = Exchanges()

    async def deliver() -> None:
        await wait_all_tasks_blocked()
        for _ in range(2):
            assert client.deliver is not None
            client.deliver([of(1, C2S, b"a")])

    with pytest.RaisesGroup(RuntimeError, flatten_subgroups=True):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(deliver)
            with trio.fail_after(5):
                await run(LiveSession(Pipeline([Dies()]), client, None))


async def test_the_session_ends_when_nothing_can_open_any_more(autojump_clock: MockClock) -> None:
    """A server that opens nothing more is done once what is open has ended."""
    client, server = Exchanges(), Exchanges()
    server.open([Frame(S2C, fact=ExchangeEnd(), exchange=1)])
    server.opening.close()

    with trio.fail_after(5):
        await run(LiveSession(Pipeline([]), client, server))

    assert 1 == len(client.sent)
