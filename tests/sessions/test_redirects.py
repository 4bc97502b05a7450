"""Servers that redirect their clients, recorded and replayed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import attrs
import pytest
from msgspec import UNSET

from mcpmock.cassette.file import load
from mcpmock.cassette.model import Cassette
from mcpmock.playback.plan.steps import bare
from mcpmock.playback.player import PlayerOptions
from mcpmock.rules.report import check_cassette
from mcpmock.sessions.replay import Replay
from mcpmock.sessions.run import Setup, run_sessions
from mcpmock.sessions.take import Recording
from mcpmock.sessions.url_server import Url
from tests.sessions.web import URL, Web, running, web
from tests.support import INITIALIZE, WELCOME, request, response
from tests.support.http_caller import Answer
from tests.support.http_upstream import Asked, Reply
from tests.support.memory_listener import PORT

__all__ = ["web"]

PING = request(1, "ping")
OURS = f"http://127.0.0.1:{PORT}"


@attrs.define
class Moved:
    """A script: what is asked at the URL is answered at `to`."""

    to: str
    location: str

    async def __call__(self, asked: Asked, reply: Reply) -> None:
        if asked.target != self.to:
            await reply.whole(status=307, media="text/plain", location=self.location)
        elif asked.message["method"] == "initialize":
            await reply.whole(WELCOME, mcp_session_id="the-session")
        else:
            await reply.whole(response(asked.message["id"], {"x": 1}))


async def asks(web: Web, body: bytes, target: str, session: str | None = None) -> Answer:
    caller = web.door.client(target)
    await caller.post(body, session)
    return await caller.answer()


def recorder(web: Web, file: Path) -> Callable[[], Awaitable[int]]:
    recording = Recording(output=file)
    setup = Setup(front=web.front(), back=Url.parse(URL), recording=recording, say=web.said.append)
    return lambda: run_sessions(setup)


def player(web: Web, recorded: Cassette) -> Callable[[], Awaitable[int]]:
    replay = Replay(recorded, PlayerOptions(), lambda what: web.said.append(str(what)))
    setup = Setup(front=web.front(), replay=replay, say=web.said.append)
    return lambda: run_sessions(setup)


async def session(web: Web, to: str) -> list[str | None]:
    """What a client is told that follows every redirect as it came: the Locations."""
    locations, name = [], None
    for body in (INITIALIZE, PING):
        moved = await asks(web, body, "/mcp", name)
        locations.append(moved.header("location"))
        assert 307 == moved.status
        answer = await asks(web, body, to, name)
        assert 200 == answer.status
        name = name or answer.header("mcp-session-id")
    return locations


@pytest.mark.parametrize("to", ["/mcp/", "/v2/mcp"])
@pytest.mark.parametrize("origin", ["http://upstream.example:99", ""])
async def test_recorded_and_replayed(web: Web, tmp_path: Path, to: str, origin: str) -> None:
    """The client stays with us, wherever the redirect leads; messages at the other path are
    recorded as such. The recording holds what the client saw, and a replay says its own address,
    also with one made when Locations passed as they were.
    """
    web.server.script = Moved(to, f"{origin}{to}")
    async with running(web, recorder(web, tmp_path / "a.jsonl")):
        assert [f"{OURS * bool(origin)}{to}"] * 2 == await session(web, to)
    recorded = load(tmp_path / "a.jsonl")
    [take] = recorded.takes
    messages = [event.payload for event in take.events if event.payload]
    heads = [event.http for event in take.events if event.http is not UNSET]

    assert [INITIALIZE, INITIALIZE, WELCOME, PING, PING, response(1, {"x": 1})] == messages
    assert 4 == len(web.server.asked)
    assert 2 == sum(head.get("status") == 307 for head in heads)
    assert [] == web.said
    assert "id-reused" not in [found.violation.rule.name for found in check_cassette(recorded)]

    older = tmp_path / "b.jsonl"
    text = (tmp_path / "a.jsonl").read_text()
    older.write_text(text.replace(f'"{OURS}{to}"', f'"http://upstream.example:99{to}"'))
    other_port = tmp_path / "c.jsonl"
    other_port.write_text(text.replace(f"127.0.0.1:{PORT}", f"127.0.0.1:{PORT + 1}"))
    for file in (tmp_path / "a.jsonl", older, other_port):
        web.announced.clear()
        async with running(web, player(web, load(file))) as statuses:
            assert [f"{OURS * bool(origin)}{to}"] * 2 == await session(web, to)
        assert ([0], []) == (statuses, web.said)
    assert 4 == len(web.server.asked)


async def test_a_redirect_is_no_second_request(web: Web, tmp_path: Path) -> None:
    """Over other transports the requests are there once."""
    web.server.script = Moved("/mcp/", "http://upstream.example:99/mcp/")
    async with running(web, recorder(web, tmp_path / "a.jsonl")):
        await session(web, "/mcp/")
    [take] = bare(load(tmp_path / "a.jsonl"), one_session=False).takes

    messages = [event.payload for event in take.events]
    assert [INITIALIZE, WELCOME, PING, response(1, {"x": 1})] == messages


async def test_a_redirect_that_nobody_followed(web: Web, tmp_path: Path) -> None:
    """Its request got an error that says where it led."""
    web.server.script = Moved("/mcp/", "http://upstream.example:99/mcp/")
    async with running(web, recorder(web, tmp_path / "a.jsonl")):
        await asks(web, PING, "/mcp")
    [take] = bare(load(tmp_path / "a.jsonl"), one_session=False).takes

    [asked, refused] = [event.payload for event in take.events]
    assert PING == asked
    assert f"HTTP 307 Because to {OURS}/mcp/".encode() in (refused or b"")


async def test_another_server(web: Web, tmp_path: Path) -> None:
    """A redirect past us passes, and is said once, without the secrets in it."""
    web.server.script = Moved("/elsewhere", "https://login.example/x?code=hunter2")
    async with running(web, recorder(web, tmp_path / "a.jsonl")):
        for _ in range(2):
            answer = await asks(web, PING, "/mcp")
            assert "https://login.example/x?code=hunter2" == answer.header("location")

    line = "Location: https://login.example: another server; clients that go there leave mcpmock"
    assert [line] == web.said
