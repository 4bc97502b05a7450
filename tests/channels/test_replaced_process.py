"""A process and those that replace it: real children, ended with all that they have started."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from mcpmock.channels.channel import Receive
from mcpmock.channels.process import ProcessChannel, start_process
from mcpmock.channels.replaced_process import ReplacedProcess
from mcpmock.errors import CannotStart
from mcpmock.protocol.messages import C2S, S2C, Frame, ProcessExit, Stderr, StopSignal, StreamEnd
from mcpmock.protocol.transport_facts import RestartStep
from tests.support import c2s, exits, hangs_up, logs, s2c
from tests.support.processes import CHILDREN, GONE, gone, pids_in, scripted

pytestmark = pytest.mark.e2e

BEGIN = Frame(C2S, b"", b"", RestartStep("begin"))
LIMIT = 20.0


class Watched:
    """A replaced process, the frames that come from it, and the changes that the test makes."""

    def __init__(self, first: ProcessChannel, others: list[list[str]]) -> None:
        self.others = others
        self.channel = ReplacedProcess(first, self._start, self._next_change)
        self.change, self._changes = trio.open_memory_channel[str](1)
        self._came, self._coming = trio.open_memory_channel[Frame](100)

    async def _start(self) -> ProcessChannel:
        return await start_process(self.others.pop(0))

    async def _next_change(self) -> str:
        return await self._changes.receive()

    async def pump(self) -> None:
        """Take what comes, as the runner does."""
        async with trio.open_nursery() as nursery:
            while True:
                nursery.start_soon(self._listen, await self.channel.accept())

    async def _listen(self, receive: Any) -> None:
        while True:
            try:
                frames = await receive()
            except trio.EndOfChannel:
                return
            for frame in frames:
                self._came.send_nowait(frame)

    async def next_of(self, kind: type | None) -> Frame:
        """The next frame of this kind; None for a message."""
        while True:
            frame = await self._coming.receive()
            if isinstance(frame.fact, kind) if kind else frame.fact is None:
                return frame

    async def step(self) -> RestartStep:
        fact = (await self.next_of(RestartStep)).fact
        assert isinstance(fact, RestartStep)
        return fact


@asynccontextmanager
async def watched(*commands: list[str]) -> AsyncIterator[Watched]:
    made = Watched(await start_process(commands[0]), [*commands[1:]])
    with trio.fail_after(LIMIT):
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(made.channel.run)
                nursery.start_soon(made.pump)
                yield made
                nursery.cancel_scope.cancel()
        finally:
            await made.channel.aclose()


@pytest.mark.parametrize("kind", ["good", "ignores EOF", "forks"])
async def test_the_old_one_is_gone_first(kind: str) -> None:
    """With its children, before the new one starts; nothing that it says counts any more."""
    async with watched(CHILDREN[kind], scripted("idle")) as made:
        old = pids_in((await made.next_of(None)).raw)
        made.channel.send_nowait([BEGIN])
        assert RestartStep("started") == await made.step()
        assert gone(old, 0)
        new = pids_in((await made.next_of(None)).raw)
        assert not set(old) & set(new)
        made.channel.send_nowait([hangs_up(C2S)])
        assert StreamEnd() == (await made.next_of(StreamEnd)).fact
        assert ProcessExit(0) == (await made.next_of(ProcessExit)).fact
    assert gone(new, GONE)


async def test_the_last_words_of_the_old_one() -> None:
    """What it prints on standard error when it is ended is heard."""
    dying = ["sh", "-c", "trap 'echo bye >&2' EXIT; cat"]
    async with watched(dying, ["/bin/cat"]) as made:
        made.channel.send_nowait([BEGIN])

        assert b"bye\n" == (await made.next_of(Stderr)).raw


async def test_one_that_cannot_start() -> None:
    """What is sent meanwhile goes nowhere; the next change is another try."""
    async with watched(["/bin/cat"], ["/no/such/program"], ["/bin/cat"]) as made:
        await made.change.send("a.py")
        assert RestartStep("due", "a.py") == await made.step()
        made.channel.send_nowait([BEGIN])
        failed = await made.step()
        assert failed == RestartStep(
            "failed", str(CannotStart("/no/such/program", os.strerror(2), found=False))
        )
        made.channel.send_nowait([c2s(b"lost")])
        await made.channel.room(c2s(b""))
        await made.channel.flush()
        made.channel.leave_to_client()
        made.channel.abandon()
        assert 0 == made.channel.held(c2s(b""))
        assert not made.channel.interrupt(signal.SIGTERM)
        assert StopSignal(signal.SIGTERM) == (await made.next_of(StopSignal)).fact
        made.channel.send_nowait([BEGIN])
        assert RestartStep("started") == await made.step()
        made.channel.send_nowait([c2s(b"here")])
        assert b"here" == (await made.next_of(None)).raw
        assert made.channel.interrupt(signal.SIGTERM)


async def test_a_client_that_decides() -> None:
    """Each process is left to it, and gets its signals. A last message may come with a restart."""
    async with watched(["/bin/cat"], ["/bin/cat"]) as made:
        made.channel.leave_to_client()
        made.channel.send_nowait([c2s(b"cancel"), BEGIN])
        assert RestartStep("started") == await made.step()
        assert made.channel.interrupt(signal.SIGTERM)
        assert ProcessExit(signal=signal.SIGTERM) == (await made.next_of(ProcessExit)).fact


class Standing:
    """The end of a process that takes what is asked of it, or that is gone."""

    def __init__(self, *, gone: bool = False) -> None:
        self.gone = gone
        self.asked: list[object] = []
        self.says: list[Receive] = []

    def _ask(self, what: object) -> None:
        self.asked.append(what)
        if self.gone:
            raise trio.BrokenResourceError

    def send_nowait(self, frames: list[Frame]) -> None:
        self._ask([frame.raw for frame in frames])

    def held(self, like: Frame) -> int:
        return len(like.raw)

    async def room(self, like: Frame) -> None:
        self._ask("room")

    async def flush(self) -> None:
        self._ask("flush")

    def interrupt(self, signum: int) -> bool:
        self.asked.append(signum)
        return True

    def leave_to_client(self) -> None:
        self.asked.append("left")

    def abandon(self) -> None:
        self.asked.append("abandoned")

    async def replace(self) -> None:
        self.asked.append("replaced")

    async def run(self) -> None:
        self.asked.append("run")

    async def accept(self) -> Receive:
        if not self.says:
            raise trio.EndOfChannel
        return self.says.pop(0)

    async def aclose(self) -> None:
        self.asked.append("closed")


@pytest.mark.parametrize("gone", [False, True])
async def test_what_is_asked_of_the_process(gone: bool) -> None:
    """It is passed on. One that is gone already is no error: another one will come."""
    process = Standing(gone=gone)
    channel = ReplacedProcess(process, trio.sleep_forever, trio.sleep_forever)  # type: ignore[arg-type]
    channel.send_nowait([c2s(b"1")])
    await channel.room(c2s(b""))
    await channel.flush()
    assert 2 == channel.held(c2s(b"ab"))
    assert channel.interrupt(15)
    channel.leave_to_client()
    channel.abandon()
    said = await channel.accept()
    assert [StopSignal(15)] == [frame.fact for frame in await said()]
    await channel.aclose()

    assert [[b"1"], "room", "flush", 15, "left", "abandoned", "closed"] == process.asked
    with pytest.raises(trio.EndOfChannel):
        await said()


@pytest.mark.parametrize("asked", [[], ["left"], ["abandoned"], ["left", "abandoned"]])
async def test_what_the_next_process_is_asked(asked: list[str]) -> None:
    """What was asked of the one before, and to run."""
    first, following = Standing(), Standing()

    async def start() -> ProcessChannel:
        return following  # type: ignore[return-value]

    channel = ReplacedProcess(first, start, trio.sleep_forever)  # type: ignore[arg-type]
    async with trio.open_nursery() as nursery:
        nursery.start_soon(channel.run)
        await wait_all_tasks_blocked()
        if "left" in asked:
            channel.leave_to_client()
        if "abandoned" in asked:
            channel.abandon()
        channel.send_nowait([BEGIN])
        await wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()

    assert ["run", *asked, [b""], "replaced"] == first.asked
    assert [*asked, "run"] == following.asked


async def test_what_a_replaced_process_says(autojump_clock: MockClock) -> None:
    """Of what it still says its standard error is heard, and nothing else."""
    first, following = Standing(), Standing()
    say, said = trio.open_memory_channel[list[Frame]](9)
    first.says.append(said.receive)

    async def start() -> ProcessChannel:
        return following  # type: ignore[return-value]

    channel = ReplacedProcess(first, start, trio.sleep_forever)  # type: ignore[arg-type]
    async with trio.open_nursery() as nursery:
        nursery.start_soon(channel.run)
        await channel.accept()  # what the channel says itself
        receive = await channel.accept()
        say.send_nowait([s2c(b"before")])
        assert [b"before"] == [frame.raw for frame in await receive()]
        channel.send_nowait([BEGIN])
        await wait_all_tasks_blocked()
        for frame in (s2c(b"behind"), exits(0), hangs_up(S2C), logs("bye\n")):
            say.send_nowait([frame])
        assert [b"bye\n"] == [frame.raw for frame in await receive()]
        nursery.cancel_scope.cancel()
