"""A fake or recorded server inside this program, over stdio and HTTP at once."""

from __future__ import annotations

import sys
import urllib.request
from pathlib import Path

import pytest
import trio

import mcpmock
from mcpmock.api.log import Log
from mcpmock.errors import CannotStart
from mcpmock.sessions.embedded import ServerPlace, record_command_embedded, record_url_embedded
from mcpmock.sessions.ends import Command, Url
from mcpmock.sessions.take_recording import Recording
from tests.support import INITIALIZE

pytestmark = pytest.mark.e2e
DEMO = Command([sys.executable, "-m", "mcpmock.demo.server"])
HEAD = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


def post(url: str) -> bytes:
    request = urllib.request.Request(url, INITIALIZE, HEAD)
    with urllib.request.urlopen(request, timeout=20) as answer:
        return bytes(answer.read())


async def test_a_command_is_recorded(tmp_path: Path) -> None:
    """A client over stdio and one over HTTP, each with a process, all in one take."""
    stop, log, output = trio.Event(), Log(), tmp_path / "a.jsonl"
    places: list[ServerPlace] = []

    async def talk() -> None:
        command = places[0].command
        assert command is not None
        done = await trio.run_process(command, stdin=INITIALIZE + b"\n", capture_stdout=True)
        assert b"protocolVersion" in done.stdout
        assert b"protocolVersion" in await trio.to_thread.run_sync(post, places[0].url)
        stop.set()

    async with trio.open_nursery() as nursery:

        def ready(place: ServerPlace) -> None:
            places.append(place)
            nursery.start_soon(talk)

        with trio.fail_after(30):
            await record_command_embedded(
                DEMO, Recording.to(str(output)), log.watch, ready, stop, print
            )
    [take] = mcpmock.load(output).takes

    assert take.sealed
    assert ["initialize", "initialize"] == [call.method for call in log.requests()]
    assert {1, 2} == {event.s for event in take.events}


async def test_a_url_is_recorded(tmp_path: Path) -> None:
    """Exchange for exchange; there is no command for it."""
    stop, log, output = trio.Event(), Log(), tmp_path / "a.jsonl"
    cassette = Path(__file__).parents[2] / "cassettes" / "everything-http.jsonl"

    async def talk(place: ServerPlace) -> None:
        assert place.command is None
        await trio.to_thread.run_sync(post, place.url)
        stop.set()

    with mcpmock.serve(cassette) as server:
        async with trio.open_nursery() as nursery:
            with trio.fail_after(30):
                await record_url_embedded(
                    Url.parse(server.url),
                    Recording.to(str(output)),
                    log.watch,
                    lambda place: nursery.start_soon(talk, place),
                    stop,
                    print,
                )

    assert ["initialize"] == [call.method for call in log.requests()]
    assert "streamable-http" == mcpmock.load(output).takes[0].transport


async def test_a_command_that_cannot_start(tmp_path: Path) -> None:
    """It is said at once, and nothing is left behind."""
    recording = Recording.to(str(tmp_path / "a.jsonl"))
    with pytest.raises(CannotStart):
        await record_command_embedded(
            Command(["no-such-server"]), recording, Log().watch, print, trio.Event(), print
        )

    assert not await trio.Path(tmp_path / "a.jsonl").exists()
