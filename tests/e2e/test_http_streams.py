"""Event streams over real sockets: when one side leaves, the other side loses its connection too.

How events and bodies pass without delay is tested in tests/channels/http, in memory.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
import trio

from tests.support import notification, request
from tests.support.http_caller import Caller, HungUpError, calling
from tests.support.http_upstream import Asked, Reply, upstream
from tests.support.processes import END, whole_take

from .http_processes import FORWARDING, forwarding

pytestmark = pytest.mark.e2e

LOG = notification("notifications/message", {"level": "info", "data": 1})
Moment = Callable[[Reply], Awaitable[None]]


async def before_the_head(reply: Reply) -> None:
    """Nothing was sent yet."""


async def in_mid_stream(reply: Reply) -> None:
    await reply.open()
    await reply.event(LOG)


async def in_mid_event(reply: Reply) -> None:
    await in_mid_stream(reply)
    await reply.raw(b"5\r\ndata:\r\n")


MOMENTS: dict[str, Moment] = {
    "before the head": before_the_head,
    "in mid-stream": in_mid_stream,
    "in mid-event": in_mid_event,
}
"""Where a response stands when one side leaves; requests name them."""


async def reach(moment: str, caller: Caller) -> None:
    """Ask, and read as much of the response as there is at this moment."""
    await caller.post(request(1, moment))
    if moment != "before the head":
        await caller.head()
        await caller.event()


def ends(cassette: Path) -> list[tuple[str | None, str]]:
    """Which side ended each exchange of a cassette, and how."""
    events = whole_take(cassette).events
    return [(event.d, event.end) for event in events if isinstance(event.end, str)]


@pytest.mark.parametrize("reset", [False, True])
@pytest.mark.parametrize("how", FORWARDING)
async def test_a_client_that_leaves(tmp_path: Path, how: str, reset: bool) -> None:
    """The server loses its connection, and the cassette says who ended the exchange and how."""
    came, come = trio.open_memory_channel[None](1)
    left, leave = trio.open_memory_channel[float](1)

    async def script(asked: Asked, reply: Reply) -> None:
        await MOMENTS[asked.message["method"]](reply)
        came.send_nowait(None)
        left.send_nowait(await reply.left())

    async with upstream(script) as server:
        with forwarding(how, tmp_path / "a.jsonl", server.url) as front:
            for moment in MOMENTS:
                async with calling(front.url) as caller:
                    with trio.fail_after(END):
                        await reach(moment, caller)
                        await come.receive()
                        await caller.leave(reset=reset)
                        await leave.receive()

    assert len(server.asked) == len(MOMENTS)
    if how == "record":
        ended = [how for d, how in ends(tmp_path / "a.jsonl") if d == "c2s"]
        assert ended == ["reset" if reset else "closed"] * len(MOMENTS)


@pytest.mark.parametrize("reset", [False, True])
@pytest.mark.parametrize("how", FORWARDING)
async def test_a_server_that_dies(tmp_path: Path, how: str, reset: bool) -> None:
    """The client loses its connection, and never reads the end of a whole response."""
    heard, hear = trio.open_memory_channel[None](1)

    async def script(asked: Asked, reply: Reply) -> None:
        await MOMENTS[asked.message["method"]](reply)
        await hear.receive()
        await reply.hang_up(reset=reset)

    async with upstream(script) as server:
        with forwarding(how, tmp_path / "a.jsonl", server.url) as front:
            for moment in MOMENTS:
                async with calling(front.url) as caller:
                    await reach(moment, caller)
                    heard.send_nowait(None)
                    read = caller.head if moment == "before the head" else caller.to_the_end
                    with trio.fail_after(END), pytest.raises(HungUpError):
                        await read()

    if how == "record":
        ended = ("s2c", "reset" if reset else "closed")
        assert ends(tmp_path / "a.jsonl") == [ended] * len(MOMENTS)
