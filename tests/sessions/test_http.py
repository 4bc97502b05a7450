"""What modes with clients over HTTP are put together from: sockets are in memory, the disk is
real.
"""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import attrs
import pytest
import trio
from msgspec import UNSET
from trio.testing import MockClock, memory_stream_pair

from mcpmock.cassette.file import load
from mcpmock.cassette.model import Cassette
from mcpmock.channels.http.addresses import Connect
from mcpmock.errors import CassetteError
from mcpmock.playback.player import ReplayOptions
from mcpmock.sessions import http_front, url_server
from mcpmock.sessions.http_front import HttpFront
from mcpmock.sessions.replay import Replay
from mcpmock.sessions.run import Setup, run_sessions
from mcpmock.sessions.take import Recording
from mcpmock.sessions.url_server import Url
from mcpmock.transports.headers import Upstream
from mcpmock.transports.session_router import TransportKind
from tests.support import (
    HEADER,
    INITIALIZE,
    JSON_HEADER,
    OPENING,
    WELCOME,
    accepts,
    answers,
    cassette,
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
from tests.support.http_caller import Answer
from tests.support.http_upstream import Upstream as Served
from tests.support.http_upstream import answers_all
from tests.support.memory_listener import PORT, Door

URL = "http://upstream.example:99/mcp"
PING = request(1, "ping")
SSE_HEADER = HEADER.replace(b"stdio", b"sse")


@attrs.define
class Web:
    """A net in memory: where we listen, the server that we reach, and what was said."""

    door: Door = attrs.field(factory=Door)
    server: Served = attrs.field(factory=lambda: Served(answers_all))
    announced: list[str] = attrs.field(factory=list)
    tokens: list[str | None] = attrs.field(factory=list)
    said: list[str] = attrs.field(factory=list)
    reached: list[Upstream] = attrs.field(factory=list)
    down: str = ""
    """Why the server takes no connection."""

    def front(self, **options: Any) -> HttpFront:
        def announce(url: str, token: str | None) -> None:
            self.announced.append(url)
            self.tokens.append(token)

        return HttpFront(announce=announce, **options)

    async def posts(self, body: bytes, session: str | None = None, **fields: str) -> Answer:
        caller = self.door.client(self.announced[0].partition(f":{PORT}")[2])
        await caller.post(body, session, **fields)
        return await caller.answer()


@pytest.fixture
def web(monkeypatch: pytest.MonkeyPatch, nursery: trio.Nursery, autojump_clock: MockClock) -> Web:
    """In the place of sockets: streams in memory."""
    made = Web()

    async def listen(_host: str, _port: int) -> list[Door]:
        await trio.lowlevel.checkpoint()
        return [made.door]

    def connector(upstream: Upstream) -> Connect:
        made.reached.append(upstream)

        async def connect() -> trio.abc.Stream:
            if made.down:
                await trio.testing.wait_all_tasks_blocked()
                raise OSError(made.down)
            ours, theirs = memory_stream_pair()
            nursery.start_soon(made.server.serve, theirs)
            await trio.lowlevel.checkpoint()
            return ours

        return connect

    monkeypatch.setattr(http_front, "listen", listen)
    monkeypatch.setattr(url_server, "connector", connector)
    return made


@asynccontextmanager
async def running(web: Web, mode: Callable[[], Awaitable[int]]) -> AsyncIterator[list[int]]:
    """A mode that listens for as long as the block lasts, and is then told to stop; the exit status
    is in the list.
    """
    statuses: list[int] = []

    async def run() -> None:
        statuses.append(await mode())

    async with trio.open_nursery() as nursery:
        nursery.start_soon(run)
        while not web.announced:
            await trio.testing.wait_all_tasks_blocked()
        yield statuses
        signal.raise_signal(signal.SIGTERM)


def recorder(web: Web, file: Path, url: str = URL, **options: Any) -> Callable[[], Awaitable[int]]:
    kind = options.pop("kind", None)
    setup = Setup(
        front=web.front(**options),
        back=Url.parse(url, kind),
        recording=Recording(output=file),
        say=web.said.append,
    )
    return lambda: run_sessions(setup)


def player(
    web: Web, recorded: Cassette, recording: Recording | None = None, **options: Any
) -> Callable[[], Awaitable[int]]:
    replay = Replay(recorded, ReplayOptions(), lambda what: web.said.append(str(what)))
    setup = Setup(
        front=web.front(**options), replay=replay, recording=recording, say=web.said.append
    )
    return lambda: run_sessions(setup)


async def test_a_server_is_recorded(web: Web, tmp_path: Path) -> None:
    """Its path is ours, its answers pass, the cassette names it and how it was spoken to, and the
    end by SIGTERM is a success.
    """
    async with running(web, recorder(web, tmp_path / "a.jsonl", URL + "?x=1")) as statuses:
        answer = await web.posts(PING)
    [take] = load(tmp_path / "a.jsonl").takes

    assert ([0], [f"http://127.0.0.1:{PORT}/mcp?x=1"], []) == (statuses, web.announced, web.said)
    assert (200, response(1, {"given": None})) == (answer.status, answer.body)
    assert "/mcp?x=1" == web.server.asked[0].target
    assert "upstream.example:99" == web.server.asked[0].header("host")
    assert ("streamable-http", URL + "?x=1") == (take.header.transport, take.header.target)
    assert take.sealed
    assert [PING, answer.body] == [e.payload for e in take.events if e.payload]


@pytest.mark.parametrize(
    ("path", "kind", "transport"),
    [
        ("/mcp", None, "streamable-http"),
        ("/sse", None, "sse"),
        ("/sse/", None, "sse"),
        ("/sse", TransportKind.STREAMABLE_HTTP, "streamable-http"),
        ("/mcp", TransportKind.SSE, "sse"),
    ],
)
async def test_the_transport_that_is_recorded(
    web: Web, tmp_path: Path, path: str, kind: TransportKind | None, transport: str
) -> None:
    """It is the one that was named, else the one that the path suggests."""
    url = f"http://upstream.example{path}"
    async with running(web, recorder(web, tmp_path / "a.jsonl", url, kind=kind)):
        pass

    assert transport == load(tmp_path / "a.jsonl").takes[0].header.transport


async def test_secrets_of_the_url(web: Web, tmp_path: Path) -> None:
    """They reach the server and not the cassette."""
    url = f"{URL}?api_key=hunter2hunter2"
    async with running(web, recorder(web, tmp_path / "a.jsonl", url)):
        await web.posts(PING)

    assert "/mcp?api_key=hunter2hunter2" == web.server.asked[0].target
    assert b"hunter2" not in (tmp_path / "a.jsonl").read_bytes()


async def test_a_server_that_is_not_there(web: Web, tmp_path: Path) -> None:
    """Each client hears why, the user once until it is there; secrets of the URL are not said. All
    of it is in the cassette, and none of it is a failure of ours.
    """
    url = f"{URL}?api_key=hunter2hunter2"
    answers = []
    async with running(web, recorder(web, tmp_path / "a.jsonl", url)) as statuses:
        for web.down in ("Connection refused", "Connection refused", "", "No route to host"):
            answers.append(await web.posts(INITIALIZE))  # a session, so a connection, of its own
    [take] = load(tmp_path / "a.jsonl").takes

    assert ([0], [502, 502, 200, 502]) == (statuses, [answer.status for answer in answers])
    assert b"Connection refused" in answers[1].body
    assert [
        f"cannot reach {URL}: {why}; start the server, or correct --url"
        for why in ("Connection refused", "No route to host")
    ] == web.said
    assert [502, 502, 200, 502] == [
        e.http["status"] for e in take.events if e.d == "s2c" and e.http is not UNSET
    ]
    assert b"hunter2" not in (tmp_path / "a.jsonl").read_bytes()


async def test_sessions_are_told_apart(web: Web, tmp_path: Path) -> None:
    """Everything without a session is session 1 of the cassette; each initialize opens another."""
    async with running(web, recorder(web, tmp_path / "a.jsonl")):
        for body in (PING, INITIALIZE, INITIALIZE, PING):
            await web.posts(body)
    events = load(tmp_path / "a.jsonl").takes[0].events

    assert [1, 2, 3, 1] == [e.s for e in events if e.d == "c2s" and e.payload]
    assert 3 == len(web.reached)  # a channel for each conversation


async def test_a_file_that_cannot_be_written(web: Web, tmp_path: Path) -> None:
    """Nothing is announced or served, and the server is not reached."""
    with pytest.raises(CassetteError):
        await recorder(web, tmp_path / "missing" / "a.jsonl")()

    assert ([], []) == (web.announced, web.reached)


# Replay.

RECORDED = over_http(
    in_session(2, post(1, INITIALIZE), answers(1, WELCOME, mcp_session_id="old")),
    in_session(2, post(2, PING, session="old"), answers(2, response(1, {"x": 1}))),
)


async def test_a_replay_as_recorded(web: Web) -> None:
    """Over the same transport it is played exchange for exchange, under a session id of its own."""
    async with running(web, player(web, RECORDED)) as statuses:
        welcome = await web.posts(INITIALIZE)
        session = welcome.header("mcp-session-id") or ""
        answer = await web.posts(PING, session)
        lost = await web.posts(PING, "old")

    assert ([0], []) == (statuses, web.reached)
    assert WELCOME == welcome.body
    assert len(session) >= 32
    assert response(1, {"x": 1}) == answer.body
    assert 404 == lost.status


async def test_a_replay_of_what_was_recorded_over_stdio(web: Web) -> None:
    """It is played by the rules of Streamable HTTP, where clients look for it."""
    recorded = cassette(*OPENING, ("c2s", PING), ("s2c", response(1, {"x": 1})))
    async with running(web, player(web, recorded)):
        welcome = await web.posts(INITIALIZE)
        session = welcome.header("mcp-session-id")
        answer = await web.posts(PING, session)

    assert [f"http://127.0.0.1:{PORT}/mcp"] == web.announced
    assert WELCOME in welcome.body
    assert response(1, {"x": 1}) in answer.body


def streamed(to: str) -> Cassette:
    """What was recorded over HTTP+SSE."""
    told = says(1, b"/post?sid=1", event="endpoint")
    return over_http(
        in_session(2, get(1, to=to), opens(1), told, ends_exchange(1)), header=SSE_HEADER
    )


@pytest.mark.parametrize(
    ("recorded", "kind", "path"),
    [
        (RECORDED, None, "/mcp"),
        (over_http(in_session(2, post(1, PING, to="/a/b?c"), accepts(1))), None, "/a/b"),
        (over_http(header=JSON_HEADER), None, "/mcp"),
        (streamed("/events?x"), None, "/events"),
        (streamed("/events"), TransportKind.STREAMABLE_HTTP, "/mcp"),
        (over_http(header=SSE_HEADER), None, "/sse"),
        (RECORDED, TransportKind.SSE, "/sse"),
        (cassette(*OPENING), TransportKind.SSE, "/sse"),
    ],
)
async def test_where_a_replay_is(
    web: Web, recorded: Cassette, kind: TransportKind | None, path: str
) -> None:
    """At the recorded path, or, over a transport that was not recorded, at its usual one."""
    async with running(web, player(web, recorded, kind=kind)):
        pass

    assert [f"http://127.0.0.1:{PORT}{path}"] == web.announced


async def test_a_replay_is_recorded_too(web: Web, tmp_path: Path) -> None:
    """Its target is the replay, its sessions are those of the live clients."""
    recording = Recording(output=tmp_path / "b.jsonl")
    async with running(web, player(web, RECORDED, recording)):
        await web.posts(INITIALIZE)
    [take] = load(tmp_path / "b.jsonl").takes

    assert ["mcpmock", "replay", "test.jsonl"] == take.header.target
    assert [(2, INITIALIZE), (2, WELCOME)] == [(e.s, e.payload) for e in take.events if e.payload]
    assert take.sealed


async def test_a_body_that_is_too_long(web: Web) -> None:
    """A replay takes 4 MiB and no more, as the SDKs do."""
    async with running(web, player(web, RECORDED)):
        answer = await web.posts(request(1, "m", {"x": "y" * http_front.MAX_REQUEST_BODY_BYTES}))

    assert 413 == answer.status
