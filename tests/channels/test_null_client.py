"""The end where no client is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from mcpmock.channels.channel import MAX_HELD_BYTES
from mcpmock.channels.fd import borrow, log_queue
from mcpmock.channels.null_client import NullClient
from tests.support import logs, response, s2c


async def test_only_standard_error_is_kept(tmp_path: Path) -> None:
    """Whatever else comes is gone, and nobody waits for it."""
    log = tmp_path / "log"
    with log.open("wb") as file:
        outlet = log_queue(borrow(file.fileno(), os.O_WRONLY))
    channel = NullClient(outlet)
    await channel.send([logs("one\n"), s2c(response(1)), logs("two\n")])
    await channel.room(logs("x"))

    assert channel.held(logs("x")) < MAX_HELD_BYTES
    assert b"one\ntwo\n" == log.read_bytes()
    outlet.close()


async def test_it_says_nothing(nursery: trio.Nursery) -> None:
    """Until it is closed: then that is over too."""
    channel = NullClient(log_queue(borrow(2, os.O_WRONLY)))
    over = trio.Event()

    async def listen() -> None:
        with pytest.raises(trio.EndOfChannel):
            await channel.receive()
        over.set()

    nursery.start_soon(listen)
    await wait_all_tasks_blocked()
    assert not over.is_set()
    await channel.aclose()
    await over.wait()
