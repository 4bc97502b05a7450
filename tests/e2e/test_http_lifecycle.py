"""How listeners end: signals, kill -9 under load, servers that end, descriptors that run out."""

from __future__ import annotations

import json
import os
import random
import resource
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio

from mcpmock.cassette.model import Take
from tests.support import notification, request, response
from tests.support.http_caller import HungUpError, calling, posts
from tests.support.http_upstream import Asked, Reply, answers_all, upstream
from tests.support.processes import END, scripted, takes, unlocked, whole_take

from .http_processes import FORWARDING, Served, forwarding, proxying, recording, replaying

pytestmark = pytest.mark.e2e

PING = request(1, "ping")


@asynccontextmanager
async def open_stream(url: str) -> AsyncIterator[None]:
    """A client in the middle of an event stream, or waiting for the first of it."""
    async with calling(url) as caller:
        await caller.ask("GET", headers=[("Accept", "text/event-stream")])
        await caller.head()
        await caller.event()
        yield
        with pytest.raises(HungUpError):
            await caller.to_the_end()


async def streams(asked: Asked, reply: Reply) -> None:
    """A script: a GET opens a stream that says one thing and stays open."""
    if asked.method != "GET":
        await answers_all(asked, reply)
        return
    await reply.open()
    await reply.event(notification("notifications/message", {"level": "info", "data": 1}))
    await reply.left()


async def stopped(served: Served, signum: int, asking: bytes = PING) -> int:
    """The exit status after this signal, with a client that has its answer, and one that sends
    nothing.
    """
    async with calling(served.url) as idle, calling(served.url):
        await idle.post(asking)
        assert (await idle.answer()).status == 200
        served.process.send_signal(signum)
        return served.process.wait(END)


@pytest.mark.parametrize(
    ("signum", "status"), [(signal.SIGTERM, 0), (signal.SIGINT, 130), (signal.SIGHUP, 129)]
)
async def test_signals(tmp_path: Path, signum: int, status: int) -> None:
    """With streams open, whatever listens ends with the status of the signal, and says no more than
    where it was, and a recorder what it has recorded; the cassette is whole.
    """
    cassette = tmp_path / "a.jsonl"
    found = []
    async with upstream(streams) as server:
        with recording(cassette, server.url) as recorder:
            async with open_stream(recorder.url):
                found.append(await stopped(recorder, signum))
        take = whole_take(cassette)
        with replaying(cassette) as player, proxying("--url", server.url) as proxy:
            for served in (player, proxy):
                async with open_stream(served.url):
                    found.append(await stopped(served, signum))
    with proxying("--", *scripted("rpc")) as bridge:
        found.append(await stopped(bridge, signum, request(1, "initialize", {})))

    assert found == [status] * 4
    assert [served.stderr.count("\n") for served in (recorder, player, proxy, bridge)] == [
        2,
        1,
        1,
        1,
    ]
    assert len([event for event in take.events if event.end == "eof"]) == 1
    assert unlocked(cassette)


async def test_kill_9_loses_nothing_that_a_client_has_seen(tmp_path: Path) -> None:
    """Killed again and again under load, recording to the same file: it loads, and every event and
    every answer that a client has read is in it, with the request that asked for it.
    """
    cassette = tmp_path / "a.jsonl"
    counts = [random.Random(seed).randrange(300) for seed in range(5)]
    async with upstream(twice) as server:
        seen = [await until_killed(cassette, server.url, count) for count in counts]
    found = takes(cassette)

    assert len(found) == 5
    for take, answers in zip(found, seen, strict=True):
        assert len(answers) > 0
        assert not take.sealed
        assert set(answers) <= payloads(take, "s2c")
        assert {json.loads(answer)["id"] for answer in answers} <= {
            json.loads(asked)["id"] for asked in payloads(take, "c2s")
        }


async def twice(asked: Asked, reply: Reply) -> None:
    """A script: an answer in JSON, or two events, by the number of the request."""
    n = asked.message["id"]
    if n % 2:
        await reply.whole(response(n, {"n": n}))
        return
    await reply.open()
    await reply.event(response(n, {"n": n, "part": 1}))
    await reply.event(response(n, {"n": n, "part": 2}))
    await reply.close()


async def until_killed(cassette: Path, url: str, count: int) -> list[bytes]:
    """What clients have heard until the recorder was killed, once they had heard so much."""
    seen: list[bytes] = []

    async def client(first: int) -> None:
        async with calling(recorder.url) as caller:
            for n in range(first, 10**6, 8):
                try:
                    await caller.post(request(n, "m"))
                    messages = await caller.messages()
                except HungUpError:
                    return
                seen.extend(response(n, message["result"]) for message in messages)
                if len(seen) > count:
                    os.kill(recorder.process.pid, signal.SIGKILL)
                    return

    with recording(cassette, url) as recorder:
        with trio.fail_after(END):
            async with trio.open_nursery() as nursery:
                for first in range(8):
                    nursery.start_soon(client, first)
        recorder.process.wait()
    return seen


def payloads(take: Take, direction: str) -> set[bytes]:
    return {e.payload for e in take.events if e.d == direction and e.payload}


# Servers that are not there.


async def test_a_process_that_ends() -> None:
    """A client whose server is killed hears so at once, its session is gone, and whoever comes next
    gets a process of its own.
    """
    with proxying("--", *scripted("die", 9)) as proxy:
        for _ in range(2):
            with trio.fail_after(END):
                answer = await posts(proxy.url, request(1, "initialize", {}))
            session = answer.header("mcp-session-id") or ""
            assert b'"result"' not in answer.body
            assert (await posts(proxy.url, PING, session)).status in (404, 503)
    assert (proxy.exit_code, "Traceback" in proxy.stderr) == (0, False)


# Descriptors.


def descriptors(served: Served) -> int:
    return len(os.listdir(f"/proc/{served.process.pid}/fd"))


SPARE = 30
"""Descriptors, for ten clients at once: each takes two. Fewer than there are clients of a kind."""


@pytest.mark.parametrize("how", FORWARDING)
async def test_no_descriptor_is_left(tmp_path: Path, how: str) -> None:
    """Four kinds of clients leave early, fifty of each, and thirty descriptors are enough for
    them: none that leaves takes one along.
    """

    async def client(nth: int) -> None:
        async with calling(front.url) as caller:
            await caller.ask("GET") if nth % 2 else await caller.post(PING)
            await caller.head()
            await caller.leave(reset=nth % 4 > 1)

    async with upstream(streams) as server:
        with forwarding(how, tmp_path / "a.jsonl", server.url) as front:
            few = descriptors(front) + SPARE
            resource.prlimit(front.process.pid, resource.RLIMIT_NOFILE, (few, few))
            for first in range(0, 200, 10):
                with trio.fail_after(END):
                    async with trio.open_nursery() as nursery:
                        for nth in range(first, first + 10):
                            nursery.start_soon(client, nth)
            assert (await posts(front.url, PING)).status == 200
    assert len(server.asked) == 201


async def test_too_few_descriptors(tmp_path: Path) -> None:
    """Where more clients come than there are descriptors for, those that are in go on, and when
    some have left, others are let in.
    """
    async with upstream(answers_all) as server:
        with recording(tmp_path / "a.jsonl", server.url) as recorder:
            few = descriptors(recorder) + 20
            resource.prlimit(recorder.process.pid, resource.RLIMIT_NOFILE, (few, few))
            async with calling(recorder.url) as first:
                await first.post(PING)
                assert (await first.answer()).status == 200
                async with trio.open_nursery() as nursery:
                    for _ in range(50):
                        await nursery.start(idle, recorder.url)
                    await first.post(PING)
                    assert (await first.answer()).status in (200, 502)
                    nursery.cancel_scope.cancel()
                await first.post(PING)
                with trio.fail_after(END):
                    assert (await first.answer()).status == 200
            with trio.fail_after(END):
                assert (await posts(recorder.url, PING)).status == 200
    assert recorder.exit_code == 0
    assert recorder.stderr.count("\n") == 2


async def idle(url: str, task_status: trio.TaskStatus[None]) -> None:
    async with calling(url):
        task_status.started()
        await trio.sleep_forever()


@pytest.mark.parametrize(
    ("signum", "asked", "counted"),
    [(signal.SIGINT, 0, "0 events"), (signal.SIGTERM, 1, "5 events")],
)
async def test_the_last_line(tmp_path: Path, signum: int, asked: int, counted: str) -> None:
    """A recorder that is stopped says what it has recorded, and where."""
    cassette = tmp_path / "a.jsonl"
    async with upstream(answers_all) as server:
        with recording(cassette, server.url) as recorder:
            for _ in range(asked):
                await posts(recorder.url, PING)
            recorder.process.send_signal(signum)
            await trio.to_thread.run_sync(recorder.process.wait, END)
    assert recorder.stderr.splitlines()[-1] == f"mcpmock: {cassette}: {counted} recorded"
