"""A fake or recorded server inside this program, over stdio and HTTP at once."""

from __future__ import annotations

import sys
import urllib.request
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import trio

import mcpmock
from mcpmock.api.log import Log
from mcpmock.authorization.options import AuthorizationOptions
from mcpmock.errors import CannotStart
from mcpmock.playback.player import PlayerOptions
from mcpmock.sessions.local_front import LocalFront, ServerPlace
from mcpmock.sessions.replay import Replay
from mcpmock.sessions.run import Setup, run_sessions
from mcpmock.sessions.servers import Command, Server
from mcpmock.sessions.take import Recording
from mcpmock.sessions.url_server import Url
from tests.support import INITIALIZE, INITIALIZED, call

pytestmark = pytest.mark.e2e
DEMO = Command([sys.executable, "-m", "mcpmock.demo.server"])
HEAD = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


CASSETTES = Path(__file__).parents[2] / "cassettes"
OPENING = b"".join(line + b"\n" for line in (INITIALIZE, INITIALIZED))
NEW = call(9, "no such tool")
Talk = Callable[[ServerPlace], Awaitable[None]]


def post(url: str) -> bytes:
    request = urllib.request.Request(url, INITIALIZE, HEAD)
    with urllib.request.urlopen(request, timeout=20) as answer:
        return bytes(answer.read())


async def posted(place: ServerPlace) -> bytes:
    return await trio.to_thread.run_sync(post, place.url)


async def run_local(server: Server, output: Path, talk: Talk, **parts: Any) -> Log:
    """A run that records `server` to `output` until `talk` returns: the log of its clients."""
    stop, log = trio.Event(), Log()

    async def visit(place: ServerPlace) -> None:
        await talk(place)
        stop.set()

    async with trio.open_nursery() as nursery:
        setup = Setup(
            front=LocalFront(lambda place: nursery.start_soon(visit, place)),
            back=server,
            recording=Recording(output=output),
            observers=[log.watch],
            say=print,
            stop=stop,
            **parts,
        )
        with trio.fail_after(30):
            assert 0 == await run_sessions(setup)
    return log


def replayed(name: str) -> Replay:
    """A recording in front of the server."""
    cassette = mcpmock.load(CASSETTES / name)
    return Replay(cassette, PlayerOptions(on_miss="live"), lambda _what: None)


async def test_a_command_is_recorded(tmp_path: Path) -> None:
    """A client over stdio and one over HTTP, each with a process, all in one take."""
    output = tmp_path / "a.jsonl"

    async def talk(place: ServerPlace) -> None:
        assert place.command is not None
        done = await trio.run_process(place.command, stdin=INITIALIZE + b"\n", capture_stdout=True)
        assert b"protocolVersion" in done.stdout
        assert b"protocolVersion" in await posted(place)

    log = await run_local(DEMO, output, talk)
    [take] = mcpmock.load(output).takes

    assert take.sealed
    assert ["initialize", "initialize"] == [call.method for call in log.calls]
    assert {1, 2} == {event.s for event in take.events}


async def test_a_url_is_recorded(tmp_path: Path) -> None:
    """Exchange for exchange; there is no command for it."""
    output = tmp_path / "a.jsonl"

    async def talk(place: ServerPlace) -> None:
        assert place.command is None
        await posted(place)

    with mcpmock.serve(CASSETTES / "everything-http.jsonl") as server:
        log = await run_local(Url.parse(server.url), output, talk)

    assert ["initialize"] == [call.method for call in log.calls]
    assert "streamable-http" == mcpmock.load(output).takes[0].transport


async def test_a_login_needs_http() -> None:
    """There is no command for a server behind one."""
    places, stop = list[ServerPlace](), trio.Event()

    def visit(place: ServerPlace) -> None:
        places.append(place)
        stop.set()

    recorded = mcpmock.load(CASSETTES / "everything-http.jsonl")
    setup = Setup(
        front=LocalFront(visit),
        replay=Replay(recorded, PlayerOptions(), lambda _what: None),
        authorization=AuthorizationOptions(),
        say=print,
        stop=stop,
    )
    with trio.fail_after(20):
        assert 0 == await run_sessions(setup)
    assert [None] == [place.command for place in places]


async def test_the_status_of_a_process(tmp_path: Path) -> None:
    """Its client over stdio ends with it."""

    async def talk(place: ServerPlace) -> None:
        assert place.command is not None
        done = await trio.run_process(place.command, stdin=OPENING, check=False)
        assert 3 == done.returncode

    ends = "import sys; sys.stdin.read(); sys.exit(3)"
    await run_local(Command([sys.executable, "-c", ends]), tmp_path / "a.jsonl", talk)


async def test_a_command_that_cannot_start(tmp_path: Path) -> None:
    """The error comes at once, and no file is left."""
    setup = Setup(
        front=LocalFront(print),
        back=Command(["no-such-server"]),
        recording=Recording(output=tmp_path / "a.jsonl"),
        say=print,
        stop=trio.Event(),
    )
    with pytest.raises(CannotStart):
        await run_sessions(setup)

    assert not await trio.Path(tmp_path / "a.jsonl").exists()


async def test_a_command_behind_a_recording(tmp_path: Path) -> None:
    """Each client that needs the server has a process; their sessions are one take."""
    output = tmp_path / "a.jsonl"

    async def talk(place: ServerPlace) -> None:
        assert place.command is not None
        for says in (OPENING, OPENING + NEW + b"\n", OPENING + NEW + b"\n"):
            done = await trio.run_process(place.command, stdin=says, capture_stdout=True)
            assert (b'"id":9' in done.stdout) is (NEW in says)
        assert b"protocolVersion" in await posted(place)

    log = await run_local(DEMO, output, talk, replay=replayed("everything.jsonl"))
    [take] = mcpmock.load(output).takes

    assert take.sealed
    assert "stdio" == take.transport
    assert {2, 3} == {event.s for event in take.events}
    assert [] == log.misses


async def test_a_url_behind_a_recording(tmp_path: Path) -> None:
    """There is no command for it, and nothing is recorded of what was known."""
    output = tmp_path / "a.jsonl"

    async def talk(place: ServerPlace) -> None:
        assert place.command is None
        assert b"protocolVersion" in await posted(place)

    with mcpmock.serve(CASSETTES / "everything-http.jsonl") as server:
        replay = replayed("everything-http.jsonl")
        log = await run_local(Url.parse(server.url), output, talk, replay=replay)

    assert ["initialize"] == [one.method for one in log.calls]
    assert not output.exists()
