"""Clients of other processes that come through a door."""

from __future__ import annotations

import subprocess

import pytest
import trio

from mcpmock.channels.unix_listener import PassedClient, open_unix_listener

pytestmark = pytest.mark.e2e


async def test_a_visit() -> None:
    """Its stdio is a channel, and its exit status what it is dismissed with."""
    with open_unix_listener() as door:
        async with trio.open_nursery() as nursery:

            async def receive(visit: PassedClient) -> None:
                async with visit.channel:
                    [frame, *_] = await visit.channel.receive()
                    visit.channel.send_nowait([frame])
                    visit.dismiss(9)

            nursery.start_soon(door.serve, receive)
            with trio.fail_after(20):
                done = await trio.run_process(
                    door.command, stdin=b"{}\n", capture_stdout=True, check=False
                )
            nursery.cancel_scope.cancel()

    assert (9, b"{}\n") == (done.returncode, done.stdout)
    assert not await trio.Path(door.path).exists()


async def test_a_visitor_that_is_killed() -> None:
    """It has left, and can be dismissed all the same."""
    left = trio.Event()
    with (
        open_unix_listener() as door,
        subprocess.Popen(door.command, stdin=subprocess.PIPE) as process,  # noqa: ASYNC220
    ):
        async with trio.open_nursery() as nursery:

            async def receive(visit: PassedClient) -> None:
                async with visit.channel:
                    process.kill()
                    await visit.left()
                    visit.dismiss(0)
                    left.set()

            nursery.start_soon(door.serve, receive)
            with trio.fail_after(20):
                await left.wait()
            nursery.cancel_scope.cancel()
