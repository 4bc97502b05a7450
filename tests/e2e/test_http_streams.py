"""Event streams on their way: nothing is held back, and either side hears at once that the other
has gone.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import median

import pytest
import trio

from mcpmock.cassette.model import Event
from tests.support import notification, request
from tests.support.http_caller import HungUpError, calling
from tests.support.http_upstream import Asked, Reply, upstream
from tests.support.processes import whole_take

from .http_processes import FORWARDING, forwarding, recording

pytestmark = pytest.mark.e2e

MILLISECONDS = 0.02
"""Seconds within which an event is with the client."""
AT_ONCE = 0.2
"""Seconds within which one side hears that the other has gone."""
TRIES = 5


def said(n: int) -> bytes:
    return notification("notifications/message", {"level": "info", "data": n})


@pytest.mark.parametrize("how", FORWARDING)
async def test_every_event_goes_on_at_once(tmp_path: Path, how: str) -> None:
    """In lockstep: the server says the next event only when the client has heard the one before,
    with ids, retries, comments and all; and the head comes before there is any event.
    """
    heard, hear = trio.open_memory_channel[tuple[bytes, float]](0)
    prefixes = [b"", b"id: 1\n", b"event: message\n", b": so\n", b"retry: 10\nid: 2\n"]
    took = []

    async def script(asked: Asked, reply: Reply) -> None:
        await reply.open()
        await hear.receive()
        for n, prefix in enumerate(prefixes):
            since = trio.current_time()
            await reply.event(said(n), prefix)
            block, now = await hear.receive()
            assert block == b"%bdata: %b\n\n" % (prefix, said(n))
            took.append(now - since)
        await reply.close()

    async with upstream(script) as server:
        with forwarding(how, tmp_path / "a.jsonl", server.url) as front:
            async with calling(front.url) as caller:
                for _ in range(TRIES):
                    await caller.ask("GET", headers=[("Accept", "text/event-stream")])
                    with trio.fail_after(10):
                        assert await caller.head() == 200
                        await heard.send((b"", 0))
                        for _ in prefixes:
                            block = await caller.event() or b""
                            await heard.send((block, trio.current_time()))
                        assert await caller.event() is None

    assert median(took) < MILLISECONDS
    assert median(took[:: len(prefixes)]) < MILLISECONDS
    if how == "record":
        payloads = [e.payload for e in whole_take(tmp_path / "a.jsonl").events if e.payload]
        assert payloads == [said(n) for n in range(len(prefixes))] * TRIES


async def test_a_body_goes_on_as_it_comes(tmp_path: Path) -> None:
    """A body that is not MCP's is not gathered either: each part reaches the client before the next
    is sent.
    """
    heard, hear = trio.open_memory_channel[bytes](0)

    async def script(asked: Asked, reply: Reply) -> None:
        await reply.raw(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 9\r\n\r\n")
        for part in (b"one", b"two", b"six"):
            await reply.raw(part)
            assert await hear.receive() == part
        reply.kept = True

    async with upstream(script) as server:
        with recording(tmp_path / "a.jsonl", server.url) as recorder:
            async with calling(recorder.url) as caller:
                await caller.ask("GET", "/elsewhere")
                with trio.fail_after(10):
                    await caller.head()
                    while part := await caller.piece():
                        await heard.send(part)


# Who leaves is missed at once.

Moment = Callable[[Reply], Awaitable[None]]


async def before_the_head(reply: Reply) -> None:
    """Nothing was said yet."""


async def in_mid_stream(reply: Reply) -> None:
    await reply.open()
    await reply.event(said(1))


async def in_mid_event(reply: Reply) -> None:
    await in_mid_stream(reply)
    await reply.raw(b"5\r\ndata:\r\n")


MOMENTS: dict[str, Moment] = {
    "before the head": before_the_head,
    "in mid-stream": in_mid_stream,
    "in mid-event": in_mid_event,
}
"""Where an answer stands when one side leaves; requests name them."""


@pytest.mark.parametrize("reset", [False, True])
@pytest.mark.parametrize("how", FORWARDING)
async def test_a_client_that_leaves(tmp_path: Path, how: str, reset: bool) -> None:
    """The server hears it within 200 ms, whether the client closed or reset, and the cassette says
    who ended the exchange.
    """
    came, come = trio.open_memory_channel[None](1)
    left, leave = trio.open_memory_channel[float](1)

    async def script(asked: Asked, reply: Reply) -> None:
        await MOMENTS[asked.message["method"]](reply)
        came.send_nowait(None)
        left.send_nowait(await reply.left())

    async def leaving(moment: str) -> float:
        async with calling(front.url) as caller:
            await caller.post(request(1, moment))
            with trio.fail_after(10):
                await come.receive()
                if moment != "before the head":
                    await caller.head()
                    await caller.event()
                since = await caller.leave(reset=reset)
                return await leave.receive() - since

    async with upstream(script) as server:
        with forwarding(how, tmp_path / "a.jsonl", server.url) as front:
            took = [await leaving(moment) for moment in MOMENTS for _ in range(TRIES)]

    assert max(typical(took)) < AT_ONCE
    assert max(took) < 10 * AT_ONCE
    assert len(server.asked) == len(took)
    if how == "record":
        ended = ends(whole_take(tmp_path / "a.jsonl").events)
        assert [how for d, how in ended if d == "c2s"] == ["reset" if reset else "closed"] * len(
            took
        )


def typical(took: list[float]) -> list[float]:
    """How long each of MOMENTS has taken, as a rule."""
    return [median(took[at : at + TRIES]) for at in range(0, len(took), TRIES)]


def ends(events: list[Event]) -> list[tuple[str | None, str]]:
    """Who ended the exchanges of a cassette, and how."""
    return [(event.d, event.end) for event in events if isinstance(event.end, str)]


@pytest.mark.parametrize("reset", [False, True])
@pytest.mark.parametrize("how", FORWARDING)
async def test_a_server_that_dies(tmp_path: Path, how: str, reset: bool) -> None:
    """The client hears it within 200 ms, and never as the end of a whole answer."""
    heard, hear = trio.open_memory_channel[None](1)
    died, dead = trio.open_memory_channel[float](1)

    async def script(asked: Asked, reply: Reply) -> None:
        await MOMENTS[asked.message["method"]](reply)
        await hear.receive()
        died.send_nowait(trio.current_time())
        await reply.hang_up(reset=reset)

    async def dying(moment: str) -> float:
        async with calling(front.url) as caller:
            await caller.post(request(1, moment))
            if moment != "before the head":
                await caller.head()
                await caller.event()
            heard.send_nowait(None)
            with trio.fail_after(10), pytest.raises(HungUpError):
                await (caller.head() if moment == "before the head" else caller.to_the_end())
            return trio.current_time() - await dead.receive()

    async with upstream(script) as server:
        with forwarding(how, tmp_path / "a.jsonl", server.url) as front:
            took = [await dying(moment) for moment in MOMENTS for _ in range(TRIES)]

    assert max(typical(took)) < AT_ONCE
    assert max(took) < 10 * AT_ONCE
    if how == "record":
        ended = ends(whole_take(tmp_path / "a.jsonl").events)
        assert ended == [("s2c", "reset" if reset else "closed")] * len(took)


async def test_a_client_that_leaves_in_the_middle_of_its_request(tmp_path: Path) -> None:
    """A torn short request never reaches the server; of a torn long one the server sees the end of
    the connection, and no whole request.
    """

    async def script(asked: Asked, reply: Reply) -> None:
        await reply.whole(b"{}")

    async with upstream(script) as server:
        with recording(tmp_path / "a.jsonl", server.url) as recorder:
            for size, sent in ((100, 50), (8 << 20, 4 << 20)):
                async with calling(recorder.url) as caller:
                    head = (
                        f"POST {caller.target} HTTP/1.1\r\nHost: {caller.authority}\r\n"
                        f"Content-Type: application/json\r\nContent-Length: {size}\r\n\r\n"
                    )
                    await caller.send(head.encode() + b" " * sent)
            async with calling(recorder.url) as caller:
                await caller.post(request(1, "m"))
                assert (await caller.answer()).status == 200
            with trio.fail_after(10):
                await server.got(1, torn=1)

    assert server.bodies() == [request(1, "m")]
    assert len(server.torn) == 1
    assert "peer closed connection" in server.torn[0]
    assert ("c2s", "closed") in ends(whole_take(tmp_path / "a.jsonl").events)
