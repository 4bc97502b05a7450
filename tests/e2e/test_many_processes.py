"""A hundred servers as child processes, ten at a time: their ends leave nothing in this process."""

from __future__ import annotations

import gc
import os
import threading
from pathlib import Path

import pytest
import trio

from mcpmock.channels.process import ProcessChannel, start_process
from mcpmock.protocol.messages import C2S
from tests.support import c2s, hangs_up, request

pytestmark = pytest.mark.e2e

ROUNDS = 10
TOGETHER = 10


def held() -> tuple[int, set[str], int]:
    """How many descriptors, which children and how many threads this process has."""
    gc.collect()
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text("ascii").split()
    threads = [one for one in threading.enumerate() if not one.name.startswith("Trio thread")]
    return len(os.listdir("/proc/self/fd")), set(children), len(threads)


async def to_the_end(channel: ProcessChannel) -> None:
    try:
        while True:
            await channel.receive()
    except trio.EndOfChannel:
        pass


async def session(nth: int) -> None:
    """A server that echoes one request and ends with its input."""
    channel = await start_process(["cat"])
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(channel.run)
            channel.send_nowait([c2s(request(nth, "ping"))])
            assert request(nth, "ping") == (await channel.receive())[0].raw
            channel.send_nowait([hangs_up(C2S)])
            await to_the_end(channel)
            nursery.cancel_scope.cancel()
    finally:
        await channel.aclose()


async def test_sessions_leave_nothing() -> None:
    """Descriptors, child processes and threads are as many as after the first ten."""
    before = None
    for number in range(ROUNDS):
        async with trio.open_nursery() as nursery:
            for nth in range(TOGETHER):
                nursery.start_soon(session, TOGETHER * number + nth)
        before = before or held()

    assert before == held()
