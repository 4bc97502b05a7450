"""A recording with the real server behind it, inside this program, over stdio and HTTP at once."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
import trio

import mcpmock
from mcpmock.api.log import Log
from mcpmock.playback.player import ReplayOptions
from mcpmock.sessions.embedded import ServerPlace
from mcpmock.sessions.ends import Command, Server, Url
from mcpmock.sessions.passthrough_embedded import live_embedded
from mcpmock.sessions.take_recording import Recording
from tests.sessions.test_embedded import post
from tests.support import INITIALIZE, INITIALIZED, call

pytestmark = pytest.mark.e2e
CASSETTES = Path(__file__).parents[2] / "cassettes"
DEMO = Command([sys.executable, "-m", "mcpmock.demo.server"])

OPENING = b"".join(line + b"\n" for line in (INITIALIZE, INITIALIZED))
NEW = call(9, "no such tool")
Talk = Callable[[ServerPlace], Awaitable[None]]


async def with_a_server(cassette: Path, server: Server, output: Path, talk: Talk) -> Log:
    """What clients said and heard that `talk` with it, at the place that it is given."""
    stop, log = trio.Event(), Log()

    async def visit(place: ServerPlace) -> None:
        await talk(place)
        stop.set()

    async with trio.open_nursery() as nursery:
        with trio.fail_after(30):
            await live_embedded(
                mcpmock.load(cassette), ReplayOptions(on_miss="live"), log.report, server,
                Recording(output=output), log.watch,
                lambda place: nursery.start_soon(visit, place), stop, print,
            )  # fmt: skip
    return log


async def test_a_process_behind_it(tmp_path: Path) -> None:
    """Each client that needs it has one of its own; they are sessions of one take."""
    output = tmp_path / "a.jsonl"

    async def talk(place: ServerPlace) -> None:
        assert place.command is not None
        for says in (OPENING, OPENING + NEW + b"\n", OPENING + NEW + b"\n"):
            done = await trio.run_process(place.command, stdin=says, capture_stdout=True)
            assert (b'"id":9' in done.stdout) is (NEW in says)
        assert b"protocolVersion" in await trio.to_thread.run_sync(post, place.url)

    log = await with_a_server(CASSETTES / "everything.jsonl", DEMO, output, talk)
    [take] = mcpmock.load(output).takes

    assert take.sealed
    assert "stdio" == take.transport
    assert {2, 3} == {event.s for event in take.events}
    assert [] == log.misses


async def test_a_url_behind_it(tmp_path: Path) -> None:
    """There is no command for it, and nothing is recorded of what was known."""
    output = tmp_path / "a.jsonl"

    async def talk(place: ServerPlace) -> None:
        assert place.command is None
        assert b"protocolVersion" in await trio.to_thread.run_sync(post, place.url)

    with mcpmock.serve(CASSETTES / "everything-http.jsonl") as server:
        url = Url.parse(server.url)
        log = await with_a_server(CASSETTES / "everything-http.jsonl", url, output, talk)

    assert ["initialize"] == [one.method for one in log.requests()]
    assert not output.exists()
