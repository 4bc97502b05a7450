"""Event streams through the recorder: nothing is held back, either side hears at once that the
other has gone, and a reader that does not read holds up nobody else.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import median

import pytest
import trio

from mcpmock.cassette.model import Event
from mcpmock.endpoints.channel import ROOM
from mcpmock.protocol.messages import S2C
from tests.helpers import notification, request

from .http_caller import Caller, HungUpError, calling
from .http_processes import recording
from .http_upstream import Asked, Reply, upstream
from .processes import whole_take

pytestmark = pytest.mark.e2e

AT_ONCE = 0.2
"""Seconds within which the other side of the recorder hears that this one has gone."""
STREAMS = 500
FLOODS = 5
EVENTS = 5
FILLER = "x" * 60_000


def said(n: int, filler: str = "") -> bytes:
    return notification("notifications/message", {"level": "info", "data": n, "filler": filler})


async def test_every_event_goes_on_at_once(tmp_path: Path) -> None:
    """In lockstep: the server says the next event only when the client has heard the one before,
    with ids, retries, comments and all; and the head comes before there is any event.
    """
    heard, hear = trio.open_memory_channel[bytes](0)
    prefixes = [b"", b"id: 1\n", b"event: message\n", b": so\n", b"retry: 10\nid: 2\n"]

    async def script(asked: Asked, reply: Reply) -> None:
        await reply.open()
        await hear.receive()
        for n, prefix in enumerate(prefixes):
            await reply.event(said(n), prefix)
            assert await hear.receive() == b"%bdata: %b\n\n" % (prefix, said(n))
        await reply.close()

    async with upstream(script) as server:
        with recording(tmp_path / "a.jsonl", server.url) as recorder:
            async with calling(recorder.url) as caller:
                await caller.ask("GET", headers=[("Accept", "text/event-stream")])
                with trio.fail_after(10):
                    assert await caller.head() == 200
                    await heard.send(b"")
                    for _ in prefixes:
                        await heard.send(await caller.event() or b"")
                    assert await caller.event() is None

    events = whole_take(tmp_path / "a.jsonl").events
    assert recorder.exit_code == 0
    assert [e.payload for e in events if e.payload] == [said(n) for n in range(len(prefixes))]


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


MOMENTS = [before_the_head, in_mid_stream, in_mid_event]
TRIES = 5


@pytest.mark.parametrize("reset", [False, True])
@pytest.mark.parametrize("moment", MOMENTS)
async def test_a_client_that_leaves(tmp_path: Path, moment: Moment, reset: bool) -> None:
    """The server hears it within 200 ms, whether the client closed or reset, and the cassette says
    who ended the exchange.
    """
    left, leave = trio.open_memory_channel[float](1)

    async def script(asked: Asked, reply: Reply) -> None:
        await moment(reply)
        came.set()
        left.send_nowait(await reply.left())

    took = []
    async with upstream(script) as server:
        with recording(tmp_path / "a.jsonl", server.url) as recorder:
            for n in range(TRIES):
                came = trio.Event()
                async with calling(recorder.url) as caller:
                    await caller.post(request(n, "m"))
                    with trio.fail_after(10):
                        await came.wait()
                        if moment is not before_the_head:
                            await caller.head()
                            await caller.event()
                        since = await caller.leave(reset=reset)
                        took.append(await leave.receive() - since)

    events = whole_take(tmp_path / "a.jsonl").events
    assert median(took) < AT_ONCE
    assert max(took) < 10 * AT_ONCE
    assert [how for d, how in ends(events) if d == "c2s"] == [
        "reset" if reset else "closed"
    ] * TRIES
    assert len(server.asked) == TRIES


def ends(events: list[Event]) -> list[tuple[str | None, str]]:
    """Who ended the exchanges of a cassette, and how."""
    return [(event.d, event.end) for event in events if isinstance(event.end, str)]


@pytest.mark.parametrize("reset", [False, True])
@pytest.mark.parametrize("moment", MOMENTS)
async def test_a_server_that_dies(tmp_path: Path, moment: Moment, reset: bool) -> None:
    """The client hears it within 200 ms, and never as the end of a whole answer."""
    died, dead = trio.open_memory_channel[float](1)

    async def script(asked: Asked, reply: Reply) -> None:
        await moment(reply)
        await heard.wait()
        died.send_nowait(trio.current_time())
        await reply.hang_up(reset=reset)

    took = []
    async with upstream(script) as server:
        with recording(tmp_path / "a.jsonl", server.url) as recorder:
            for n in range(TRIES):
                heard = trio.Event()
                async with calling(recorder.url) as caller:
                    await caller.post(request(n, "m"))
                    if moment is not before_the_head:
                        await caller.head()
                        await caller.event()
                    heard.set()
                    with trio.fail_after(10), pytest.raises(HungUpError):
                        await (caller.head() if moment is before_the_head else to_the_end(caller))
                    took.append(trio.current_time() - await dead.receive())

    events = whole_take(tmp_path / "a.jsonl").events
    assert median(took) < AT_ONCE
    assert max(took) < 10 * AT_ONCE
    assert ends(events) == [("s2c", "reset" if reset else "closed")] * TRIES


async def to_the_end(caller: Caller) -> None:
    while await caller.event():
        pass


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


# Many at once.


class Broadcast:
    """A script: every stream stays open, and its events come when the test says so. A stream asked
    for with `/flood` is sent more than anybody holds.
    """

    def __init__(self) -> None:
        self.turns = [trio.Event() for _ in range(EVENTS + 1)]
        self.open = 0
        self.all_open = trio.Event()

    async def __call__(self, asked: Asked, reply: Reply) -> None:
        await reply.open()
        self.open += 1
        if self.open == STREAMS:
            self.all_open.set()
        flood = asked.target.endswith("flood")
        for n, turn in enumerate(self.turns):
            await turn.wait()
            for _ in range(200 if flood else 1):
                await reply.event(said(n, FILLER if flood else asked.target))


async def test_five_hundred_open_streams(tmp_path: Path) -> None:
    """Each hears its own events, in lockstep, beside fifty that never read and a few of those that
    are sent far more than we hold for them. SIGTERM ends it all within 2 s, and the cassette is
    whole: it has every event that was heard.
    """
    script = Broadcast()
    heard: list[str] = []
    took: list[float] = []

    async def listen(nth: int) -> None:
        async with calling(recorder.url) as caller:
            await caller.ask("GET", f"{caller.target}?{nth}")
            assert await caller.head() == 200
            for n in range(EVENTS):
                message = await caller.data()
                assert message["params"] == {
                    "level": "info", "data": n, "filler": f"{caller.target}?{nth}"
                }  # fmt: skip
                heard.append(f"{n} {nth}")
                if len(heard) % listening == 0:
                    script.turns[n + 1].set()
            done.append(nth)
            if len(done) == listening:
                finished.set()
            await caller.ended()

    async def stall(nth: int, task_status: trio.TaskStatus[None]) -> None:
        flood = nth % (STREAMS // FLOODS) == 0
        async with calling(recorder.url, window=4096) as caller:
            await caller.ask("GET", f"{caller.target}?{'flood' if flood else nth}")
            task_status.started()
            await finished.wait()

    listening = STREAMS - STREAMS // 10
    done: list[int] = []
    finished = trio.Event()
    async with upstream(script) as server:
        with trio.fail_after(50):
            async with trio.open_nursery() as nursery:
                with recording(tmp_path / "a.jsonl", server.url) as recorder:
                    for nth in range(STREAMS):
                        if nth % 10:
                            nursery.start_soon(listen, nth)
                        else:
                            await nursery.start(stall, nth)
                    await script.all_open.wait()
                    script.turns[0].set()
                    await finished.wait()
                    since = trio.current_time()
                    recorder.process.terminate()
                    recorder.process.wait(10)
                    took.append(trio.current_time() - since)

    assert recorder.process.returncode == 0
    assert took[0] < 2
    assert recorder.stderr.count("\n") == 1
    assert set(heard) <= set(recorded(tmp_path / "a.jsonl"))
    assert (tmp_path / "a.jsonl").stat().st_size < FLOODS * 2 * ROOM
    assert len(heard) == len(set(heard)) == listening * EVENTS


def recorded(cassette: Path) -> list[str]:
    found = []
    for event in whole_take(cassette).events:
        if event.payload and event.d == S2C.value and FILLER.encode() not in event.payload:
            params = json.loads(event.payload)["params"]
            found.append(f"{params['data']} {params['filler'].partition('?')[2]}")
    return found
