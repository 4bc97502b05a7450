"""Sessions over HTTP that end: nothing of them is kept. Sockets are in memory."""

from __future__ import annotations

import gc
from collections.abc import Awaitable, Callable
from itertools import count
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from mcpmock.cassette.file import load
from mcpmock.channels.http.client import HttpClientChannel
from mcpmock.channels.http.connection import Connection
from mcpmock.channels.http.http1 import RequestWriter
from mcpmock.channels.http.pairing import PairedConnection
from mcpmock.channels.http.server import ENDED_SESSION_LINGER_S, HttpServerChannel
from mcpmock.channels.queues import WriteQueue
from mcpmock.pipeline.pipeline import Pipeline
from mcpmock.recording.recorder import Recorder
from mcpmock.runner import LiveSession
from mcpmock.transports.locations import OwnLocations
from mcpmock.transports.session_router import TransportKind
from tests.sessions.test_http_front import SSE_HEADER, player, recorder
from tests.sessions.web import Web, running, web
from tests.support import (
    INITIALIZE,
    WELCOME,
    accepts,
    answers,
    bodiless,
    get,
    in_session,
    opens,
    over_http,
    post,
    request,
    response,
    says,
)
from tests.support import ends as ends_exchange
from tests.support.http_upstream import Asked, Reply, answers_all

__all__ = ["web"]

PING, PONG = request(1, "ping"), response(1, {"x": 1})
MANY = 20
URLS = {
    TransportKind.STREAMABLE_HTTP: "http://upstream.example:99/mcp",
    TransportKind.SSE: "http://upstream.example:99/sse",
}
RECORDED = {
    TransportKind.STREAMABLE_HTTP: over_http(
        in_session(
            2,
            post(1, INITIALIZE),
            answers(1, WELCOME, mcp_session_id="S"),
            post(2, PING, session="S"),
            answers(2, PONG),
            bodiless(3, "DELETE", session="S"),
            accepts(3, 200),
        )
    ),
    TransportKind.SSE: over_http(
        in_session(
            2,
            get(1, to="/sse"),
            opens(1),
            says(1, b"/post?sid=1", event="endpoint"),
            post(2, PING, to="/post?sid=1"),
            accepts(2),
            says(1, PONG, event="message"),
            ends_exchange(1),
        ),
        header=SSE_HEADER,
    ),
}


def serving() -> Callable[[Asked, Reply], Awaitable[None]]:
    """A script of both transports: a session id or an endpoint for each session."""
    numbers = count(1)

    async def script(asked: Asked, reply: Reply) -> None:
        if asked.method == "GET":
            await reply.open()
            await reply.event(b"/post?sid=%d" % next(numbers), b"event: endpoint\n")
            await reply.left()
        elif asked.method == "DELETE":
            await reply.whole()
        elif b'"initialize"' in asked.body:
            await reply.whole(WELCOME, mcp_session_id=f"session-{next(numbers)}")
        elif asked.target.startswith("/post"):
            await reply.whole(status=202)
        else:
            await answers_all(asked, reply)

    return script


async def hold_session(web: Web, kind: TransportKind) -> None:
    """A client that begins a session, asks once, and ends it as clients of its transport do."""
    if kind is TransportKind.SSE:
        stream, caller = web.door.client("/sse"), web.door.client()
        await stream.ask("GET")
        assert 200 == await stream.head()
        endpoint = (await stream.event() or b"").split(b"data: ")[1].decode().strip()
        fields = [("Content-Type", "application/json")]
        await caller.ask("POST", endpoint, fields, PING)
        assert 202 == (await caller.answer()).status
        await stream.leave()
        await caller.leave()
        return
    caller = web.door.client()
    await caller.post(INITIALIZE)
    session = (await caller.answer()).header("mcp-session-id") or ""
    await caller.post(PING, session)
    assert 200 == (await caller.answer()).status
    await caller.ask("DELETE", headers=[("Mcp-Session-Id", session)])
    assert 200 == (await caller.answer()).status
    await caller.leave()


@pytest.mark.parametrize("kind", TransportKind)
async def test_the_end_is_recorded_as_exchanges(
    web: Web, autojump_clock: MockClock, tmp_path: Path, kind: TransportKind
) -> None:
    """Nothing stands behind the last one: HTTP has no end of a session but that."""
    web.server.script = serving()
    async with running(web, recorder(web, tmp_path / "a.jsonl", URLS[kind], kind=kind)):
        await hold_session(web, kind)
        await trio.sleep(60)
    [take] = load(tmp_path / "a.jsonl").takes

    assert [] == [event.n for event in take.events if event.x is None]


@pytest.mark.parametrize("kind", TransportKind)
@pytest.mark.parametrize("mode", ["record", "replay"])
async def test_ended_sessions_leave_no_task(
    web: Web, autojump_clock: MockClock, tmp_path: Path, mode: str, kind: TransportKind
) -> None:
    """After the first session and after many of them, as many tasks are alive."""
    web.server.script = serving()
    if mode == "record":
        start = recorder(web, tmp_path / "a.jsonl", URLS[kind], kind=kind)
    else:
        start = player(web, RECORDED[kind])
    alive = []
    async with running(web, start):
        for _ in range(MANY):
            await hold_session(web, kind)
            await trio.sleep(2 * ENDED_SESSION_LINGER_S + 2)
            alive.append(trio.lowlevel.current_statistics().tasks_living)

    assert [alive[0]] * MANY == alive
    if mode == "record":
        sessions = {event.s for take in load(tmp_path / "a.jsonl").takes for event in take.events}
        assert MANY == len(sessions - {1})


async def test_ended_sessions_leave_no_garbage(
    web: Web, autojump_clock: MockClock, tmp_path: Path
) -> None:
    """A recorder keeps nothing of a deleted session, at once and without the help of the collector
    of cycles: a long run would grow by what that has not come to.
    """
    web.server.script = serving()
    kept = (
        *(Connection, PairedConnection, HttpServerChannel, HttpClientChannel, Recorder),
        *(LiveSession, Pipeline, OwnLocations, WriteQueue, RequestWriter),
    )
    alive = []
    gc.collect()
    gc.disable()
    try:
        async with running(web, recorder(web, tmp_path / "a.jsonl")):
            for _ in range(MANY):
                await hold_session(web, TransportKind.STREAMABLE_HTTP)
                await trio.testing.wait_all_tasks_blocked()
                web.server.asked.clear()
                alive.append(sum(isinstance(one, kept) for one in gc.get_objects()))
    finally:
        gc.enable()

    assert [alive[1]] * (MANY - 1) == alive[1:]


async def test_a_deleted_session_is_forgotten(web: Web, autojump_clock: MockClock) -> None:
    """A second later nothing answers in it any more."""
    async with running(web, player(web, RECORDED[TransportKind.STREAMABLE_HTTP])):
        welcome = await web.posts(INITIALIZE)
        session = welcome.header("mcp-session-id") or ""
        caller = web.door.client()
        await caller.ask("DELETE", headers=[("Mcp-Session-Id", session)])
        await caller.answer()
        await trio.sleep(ENDED_SESSION_LINGER_S + 1)
        assert 404 == (await web.posts(PING, session)).status


@pytest.mark.parametrize(("mode", "status"), [("record", 200), ("replay", 404)])
async def test_an_idle_session(
    web: Web, autojump_clock: MockClock, tmp_path: Path, mode: str, status: int
) -> None:
    """Any request keeps it. After the timeout a fake server has forgotten it; a real one is asked,
    and its answer is recorded in the same session.
    """
    web.server.script = serving()
    if mode == "record":
        start = recorder(web, tmp_path / "a.jsonl", session_timeout=100.0)
    else:
        start = player(web, RECORDED[TransportKind.STREAMABLE_HTTP], session_timeout=100.0)
    async with running(web, start):
        session = (await web.posts(INITIALIZE)).header("mcp-session-id")
        await trio.sleep(99)
        assert 200 == (await web.posts(PING, session)).status
        alive = trio.lowlevel.current_statistics().tasks_living
        await trio.sleep(101)
        assert alive > trio.lowlevel.current_statistics().tasks_living
        assert status == (await web.posts(PING, session)).status

    if mode == "record":
        events = [event for take in load(tmp_path / "a.jsonl").takes for event in take.events]
        assert {2} == {event.s for event in events}


async def test_a_session_with_an_open_stream_is_not_idle(
    web: Web, autojump_clock: MockClock, tmp_path: Path
) -> None:
    """Its client waits for messages, which may take longer than any timeout."""
    web.server.script = serving()
    async with running(web, recorder(web, tmp_path / "a.jsonl", session_timeout=10.0)):
        session = (await web.posts(INITIALIZE)).header("mcp-session-id") or ""
        stream = web.door.client()
        await stream.ask("GET", headers=[("Mcp-Session-Id", session)])
        await stream.head()
        await trio.sleep(50)
        assert 200 == (await web.posts(PING, session)).status
        with trio.move_on_after(1):
            assert await stream.event()
            await stream.ended()
            raise AssertionError("the stream has ended")
