"""Sessions in memory: the client is the caller, in the same trio program."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import trio

from mcpmock.channels.channel import MessageChannel, memory_pair

from .run import STDIO, Conversation, Run, Setup


@asynccontextmanager
async def record_in_memory(setup: Setup) -> AsyncIterator[MessageChannel]:
    """Record one session with a server: gives the client's end of it.

    Raises what `run_sessions` raises, and CannotStart before the block.
    """
    run = Run(setup)
    async with run.recorded(STDIO, open_server=True) as server, trio.open_nursery() as nursery:
        client, ours = memory_pair()
        nursery.start_soon(run.converse, Conversation(), ours, server)
        try:
            yield client
        finally:
            await client.aclose()


@asynccontextmanager
async def replay_in_memory(setup: Setup) -> AsyncIterator[Callable[[], MessageChannel]]:
    """Give a function that opens a session: the client's end of it. All sessions end with the
    block.
    """
    run, replay = Run(setup), setup.replay
    assert replay is not None
    async with trio.open_nursery() as nursery:

        def open_session() -> MessageChannel:
            client, ours = memory_pair()
            conversation = Conversation(number=next(run.numbers), player=replay.bare_player())
            nursery.start_soon(run.converse, conversation, ours)
            return client

        yield open_session
        nursery.cancel_scope.cancel()
