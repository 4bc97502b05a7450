"""A child process as a channel: real children, started, spoken to and ended."""

from __future__ import annotations

import errno
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from math import inf
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from mcpmock.channels import process
from mcpmock.channels.channel import MAX_HELD_BYTES, Receive
from mcpmock.channels.child_process import ChildProcess
from mcpmock.channels.process import ProcessChannel, start_process
from mcpmock.errors import CannotStart
from mcpmock.protocol.messages import C2S, S2C, Frame, ProcessExit, Stderr, StreamEnd
from tests.support import c2s, exits, hangs_up, logs, s2c, seen
from tests.support.processes import CHILDREN, IGNORE_ALL, gone, pids_in, scripted

pytestmark = pytest.mark.e2e

LIMIT = 20.0
STUBBORN = CHILDREN["ignores EOF and signals"]

ENDS_AT_THE_SECOND_SIGTERM = """
import os, signal
count = 0
def note(*_):
    global count
    count += 1
    os.write(1, b"%d\\n" % count)  # print is not reentrant
    if count == 2:
        os._exit(5)
signal.signal(signal.SIGTERM, note)
os.write(1, b"ready\\n")
while True:
    signal.pause()
"""


def shell(script: str) -> list[str]:
    return ["/bin/sh", "-c", script]


def open_descriptors() -> set[str]:
    return set(os.listdir("/proc/self/fd"))


@asynccontextmanager
async def started(command: list[str]) -> AsyncIterator[ProcessChannel]:
    """A running child, its input moved, closed at the end."""
    channel = await start_process(command)
    with trio.fail_after(LIMIT):
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(channel.run)
                yield channel
                nursery.cancel_scope.cancel()
        finally:
            await channel.aclose()


async def everything(channel: ProcessChannel) -> list[Frame]:
    """All that a child has to say, in the order that it came, from all its receivers."""
    found: list[Frame] = []

    async def listen(receive: Receive) -> None:
        while True:
            try:
                found.extend(await receive())
            except trio.EndOfChannel:
                return

    async with trio.open_nursery() as nursery:
        while True:
            try:
                nursery.start_soon(listen, await channel.accept())
            except trio.EndOfChannel:
                break
    return found


async def pids_of(channel: ProcessChannel) -> list[int]:
    """The process ids that a scripted server says first."""
    return pids_in((await channel.receive())[0].raw)


async def test_three_ways_out_and_the_exit_last(mock_clock: MockClock) -> None:
    """Output comes as lines and its end, standard error as written, and the exit behind them, at
    once: the clock stands still.
    """
    async with started(shell("echo one; printf torn; echo log >&2; exit 3")) as channel:
        found = [seen(frame) for frame in await everything(channel)]

    out = [s2c(b"one"), s2c(b"torn", b""), hangs_up(S2C)]
    assert [seen(frame) for frame in out] == [f for f in found if f in map(seen, out)]
    assert seen(logs("log\n")) in found
    assert seen(exits(3)) == found[-1]
    assert 5 == len(found)


async def test_a_prompt_does_not_wait_for_its_line_end() -> None:
    """What is written to standard error comes at once, without a line end."""
    async with started(shell("printf 'password: ' >&2; read -r word")) as channel:
        assert [Stderr()] == [frame.fact for frame in await channel.receive_stderr()]


async def test_the_end_of_input_ends_it() -> None:
    """What is sent arrives in order, and a StreamEnd closes the input behind it."""
    async with started(["cat"]) as channel:
        channel.send_nowait([c2s(b"a"), c2s(b"b", b"\r\n"), hangs_up(C2S)])
        channel.send_nowait([hangs_up(C2S)])  # again
        found = await everything(channel)
        channel.send_nowait([hangs_up(C2S)])
        with pytest.raises(trio.BrokenResourceError):
            channel.send_nowait([c2s(b"more")])

    expected = [s2c(b"a"), s2c(b"b", b"\r\n"), hangs_up(S2C), exits(0)]
    assert [seen(frame) for frame in expected] == [seen(frame) for frame in found]


async def test_a_child_that_does_not_read() -> None:
    """What it does not take is held, and whoever asks for room waits until it is gone."""
    async with started(shell("head -c 1 >/dev/null; exit 1")) as channel:
        channel.send_nowait([c2s(b"x" * 2 * MAX_HELD_BYTES)])

        with pytest.raises(trio.BrokenResourceError):
            await channel.room(c2s(b""))


@pytest.mark.parametrize(("name", "code"), [("missing", 127), ("plain", 126), (".", 126)])
async def test_what_cannot_start(name: str, code: int, tmp_path: Path) -> None:
    """The error has a shell's exit code and names the command; no descriptor stays open."""
    (tmp_path / "plain").touch()
    command = str(tmp_path / name)
    before = open_descriptors()
    with pytest.raises(CannotStart, match=f"^cannot start {command}: ") as refused:
        await start_process([command, "argument"])

    assert code == refused.value.exit_code
    assert before == open_descriptors()


@pytest.mark.parametrize("nth", range(6))
async def test_out_of_descriptors(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, nth: int
) -> None:
    """Wherever they run out nothing is lost, and nothing runs that has no guard."""
    real, calls = os.pipe, iter(range(6))

    def pipe() -> tuple[int, int]:
        if next(calls) == nth:
            raise OSError(errno.EMFILE, "none left")
        return real()

    pid = tmp_path / "pid"
    before = open_descriptors()
    monkeypatch.setattr(os, "pipe", pipe)
    with pytest.raises(CannotStart, match="Too many open files") as refused:
        await start_process(shell(f"echo $$ >{pid}; exec sleep 60"))

    assert 126 == refused.value.exit_code
    assert before == open_descriptors()
    assert not pid.exists() or not pid.read_text() or gone([int(pid.read_text())], 0)


@pytest.mark.parametrize(
    ("options", "signum"), [(("--deaf",), signal.SIGTERM), ((*IGNORE_ALL, "--deaf"), 9)]
)
async def test_the_ladder(
    monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], signum: int
) -> None:
    """A child that stays after the end of its input gets SIGTERM, and after that SIGKILL."""
    monkeypatch.setattr(process, "STEP_TIMEOUT_S", 0.05)
    async with started(scripted(*options, "idle")) as channel:
        await pids_of(channel)
        channel.send_nowait([hangs_up(C2S)])

        assert ProcessExit(signal=signum) == (await everything(channel))[-1].fact


async def test_a_signal_is_handed_on() -> None:
    """The child gets the very signal that we got."""
    async with started(scripted("--deaf", "idle")) as channel:
        await pids_of(channel)
        channel.interrupt(signal.SIGHUP)

        assert ProcessExit(signal=signal.SIGHUP) == (await everything(channel))[-1].fact


async def test_after_a_signal_comes_sigkill(monkeypatch: pytest.MonkeyPatch) -> None:
    """A child that does not obey a signal is killed next: SIGTERM is skipped."""
    monkeypatch.setattr(process, "SIGNALLED_STEP_TIMEOUT_S", 0.05)
    async with started(scripted("--ignore", "INT", "--deaf", "idle")) as channel:
        await pids_of(channel)
        channel.interrupt(signal.SIGINT)

        assert ProcessExit(signal=9) == (await everything(channel))[-1].fact


async def test_the_first_signal_alone_sets_the_time_of_sigkill(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Neither is a child that ignores signals spared by a further one, nor killed sooner."""
    async with started(scripted(*IGNORE_ALL, "--deaf", "idle")) as channel:
        await pids_of(channel)
        assert inf == channel._patience.deadline
        channel.interrupt(signal.SIGTERM)
        decided = channel._patience.deadline
        for signum in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            channel.interrupt(signum)

        assert decided == channel._patience.deadline
        assert trio.current_time() < decided <= trio.current_time() + 1.5
        channel._patience.deadline = trio.current_time()  # it has come
        assert ProcessExit(signal=9) == (await everything(channel))[-1].fact


async def test_every_signal_is_handed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that ends at the second SIGTERM gets it, also where SIGKILL is far."""
    monkeypatch.setattr(process, "SIGNALLED_STEP_TIMEOUT_S", float("inf"))
    async with started([sys.executable, "-c", ENDS_AT_THE_SECOND_SIGTERM]) as channel:
        for said in (b"ready", b"1"):
            assert said == (await channel.receive())[0].raw
            channel.interrupt(signal.SIGTERM)

        assert ProcessExit(5) == (await everything(channel))[-1].fact


async def test_a_grandchild_that_sits_on_the_pipes(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is given some time, then killed and waited for; the child's exit is the last."""
    monkeypatch.setattr(process, "STEP_TIMEOUT_S", 0.05)
    async with started(CHILDREN["forks"]) as channel:
        kill = channel._child.kill

        def kill_and_give_time(signum: int) -> None:
            monkeypatch.setattr(process, "STEP_TIMEOUT_S", 4 * LIMIT)
            kill(signum)

        monkeypatch.setattr(channel._child, "kill", kill_and_give_time)
        pids = await pids_of(channel)
        channel.send_nowait([hangs_up(C2S)])
        found = await everything(channel)

        assert [StreamEnd(), ProcessExit(0)] == [frame.fact for frame in found]
        assert gone(pids, LIMIT)


async def test_a_grandchild_that_never_stops_talking(monkeypatch: pytest.MonkeyPatch) -> None:
    """In front of a client that we end it has as much time in all as one that is silent."""
    monkeypatch.setattr(process, "STEP_TIMEOUT_S", 0.3)
    talk = "while sleep 0.1; do echo on; done"
    with trio.fail_after(LIMIT):
        async with started(shell(f"({talk}) & exit 3")) as channel:
            found = await everything(channel)

    assert ProcessExit(3) in [frame.fact for frame in found]


async def test_a_daemon_is_left_alone(tmp_path: Path) -> None:
    """A grandchild that let go of the pipes outlives the session."""
    os.mkfifo(tmp_path / "asked")
    asks = os.open(tmp_path / "asked", os.O_RDWR)
    lives = f"(read -r _ && echo on >{tmp_path / 'alive'}) <{tmp_path / 'asked'}"
    async with started(shell(f"{lives} >/dev/null 2>&1 & echo $!")) as channel:
        daemon = int((await everything(channel))[0].raw)
    os.write(asks, b"\n")

    assert gone([daemon], LIMIT)
    assert (tmp_path / "alive").exists()
    os.close(asks)


@pytest.mark.parametrize(
    "script",
    ["sleep 60 >/dev/null 2>&1 & echo $!; exec cat >/dev/null", "echo $$; exec sleep 60"],
    ids=["a daemon", "deaf"],
)
@pytest.mark.parametrize("in_place", [False, True])
async def test_nothing_lives_beside_what_replaces_it(
    monkeypatch: pytest.MonkeyPatch, script: str, in_place: bool
) -> None:
    """A child that is replaced is ended, also where its client decides else, and a grandchild that
    let go of the pipes with it.
    """
    monkeypatch.setattr(process, "STEP_TIMEOUT_S", 0.05)
    async with started(shell(script)) as channel:
        pid = int((await channel.receive())[0].raw)
        if in_place:
            channel.leave_to_client()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(everything, channel)
            await channel.replace()

    assert gone([pid], LIMIT)


async def test_flushing() -> None:
    """It waits until the child has taken all that was sent."""
    async with started(shell("exec cat >/dev/null")) as channel:
        channel.send_nowait([c2s(b"x" * 2 * MAX_HELD_BYTES), c2s(b"y" * 2 * MAX_HELD_BYTES)])
        assert channel.held(c2s(b"")) > 0
        await channel.flush()

        assert 0 == channel.held(c2s(b""))


@pytest.mark.parametrize("taken_up", [False, True])
async def test_a_child_that_is_not_taken_up(taken_up: bool) -> None:
    """It is ended with everything that it has, once; another is left to who took it up."""
    before = open_descriptors()
    child = ChildProcess(["sleep", "60"])
    if taken_up:
        channel = ProcessChannel(child)
        child.end()
        assert child.process.poll() is None
        await channel.aclose()
    else:
        child.end()
        child.end()

    assert -signal.SIGKILL == child.process.returncode
    assert before == open_descriptors()


@pytest.mark.parametrize("name", CHILDREN)
async def test_closing_leaves_nothing(name: str) -> None:
    """Whatever the child is like, `aclose` ends its whole group, the guard and all descriptors."""
    before = open_descriptors()
    async with started(CHILDREN[name]) as channel:
        pids = await pids_of(channel)
        guard = channel._child.guard._shell

    assert gone(pids, LIMIT)
    assert 0 == guard.returncode
    assert before == open_descriptors()
    assert str(pids[0]) not in os.listdir("/proc")  # not even a zombie


async def test_closing_while_cancelled_leaves_nothing() -> None:
    """A cancelled `aclose` has closed all the same."""
    channel = await start_process(STUBBORN)
    pids = await pids_of(channel)
    with trio.CancelScope() as scope:
        scope.cancel()
        await channel.aclose()

    assert gone(pids, LIMIT)


async def test_closing_while_a_grandchild_is_waited_for() -> None:
    """A session that is cut off while a grandchild sits on the pipes takes it along."""
    channel = await start_process(CHILDREN["forks"])
    child, grandchild = await pids_of(channel)
    channel.send_nowait([hangs_up(C2S)])
    async with trio.open_nursery() as nursery:
        nursery.start_soon(channel.receive_exit)
        await channel._wait()
        await wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    await channel.aclose()
    try:
        assert gone([child, grandchild], 1.0)
    finally:
        if not gone([grandchild], 0):
            os.kill(grandchild, signal.SIGKILL)


async def test_closing_twice() -> None:
    """The second `aclose` does nothing, as trio asks of every resource."""
    channel = await start_process(["cat"])
    await channel.aclose()
    await channel.aclose()


async def test_reading_after_closing() -> None:
    """Who reads a closed channel gets trio's error."""
    channel = await start_process(["cat"])
    await channel.aclose()

    with pytest.raises(trio.ClosedResourceError):
        await channel.receive()


# In the place of a server that a client has started.


async def test_a_client_may_wait_for_its_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """After the end of its input a server may take longer than any step of the ladder."""
    monkeypatch.setattr(process, "STEP_TIMEOUT_S", 0.05)
    async with started(shell("cat; sleep 0.5; echo answer; exit 7")) as channel:
        channel.leave_to_client()
        channel.send_nowait([hangs_up(C2S)])
        found = await everything(channel)

    assert b"answer" in [frame.raw for frame in found]
    assert ProcessExit(7) == found[-1].fact


async def test_no_sigkill_follows_a_signal_of_the_client(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is handed on, and the server decides."""
    monkeypatch.setattr(process, "SIGNALLED_STEP_TIMEOUT_S", 0.0)
    async with started([sys.executable, "-c", ENDS_AT_THE_SECOND_SIGTERM]) as channel:
        channel.leave_to_client()
        for said in (b"ready", b"1"):
            assert said == (await channel.receive())[0].raw
            assert channel.interrupt(signal.SIGTERM)

        assert inf == channel._patience.deadline
        assert ProcessExit(5) == (await everything(channel))[-1].fact


async def test_a_server_whose_client_is_gone_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the ladder, with longer steps."""
    monkeypatch.setattr(process, "ABANDONED_STEP_TIMEOUT_S", 0.05)
    async with started(scripted(*IGNORE_ALL, "--deaf", "idle")) as channel:
        await pids_of(channel)
        channel.leave_to_client()
        channel.send_nowait([hangs_up(C2S)])
        assert inf == channel._patience.deadline
        channel.abandon()

        assert ProcessExit(signal=9) == (await everything(channel))[-1].fact


async def test_one_that_is_ours_alone_is_abandoned() -> None:
    """It gets no longer steps than any, although its input has not ended."""
    async with started(["cat"]) as channel:
        channel.step_timeout = 0.01
        channel.abandon()

        assert ProcessExit(signal=15) == (await everything(channel))[-1].fact
        assert 0.01 == channel.step_timeout


async def test_a_grandchild_that_goes_on_talking_is_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    """As long as anything comes, it keeps the pipes."""
    monkeypatch.setattr(process, "STEP_TIMEOUT_S", 0.3)
    talk = "for n in 1 2 3 4 5 6; do sleep 0.1; echo $n; done"
    async with started(shell(f"({talk}) & exit 3")) as channel:
        channel.leave_to_client()
        found = await everything(channel)

    assert [b"%d" % n for n in range(1, 7)] == [one.raw for one in found if one.fact is None]
    assert ProcessExit(3) in [frame.fact for frame in found]
