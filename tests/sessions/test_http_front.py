"""`HttpFront`: clients over HTTP, recorded or replayed. Sockets are in memory, files are real."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
import trio
from msgspec import UNSET
from trio.testing import MockClock

from mcpmock.cassette.file import load
from mcpmock.cassette.model import Cassette
from mcpmock.channels.channel import ConversationEnd
from mcpmock.channels.http.addresses import ListenAddress
from mcpmock.channels.http.server import HttpServerChannel
from mcpmock.errors import CassetteError, WrongUsage
from mcpmock.playback.player import PlayerOptions
from mcpmock.redaction.cassettes import scan_cassette
from mcpmock.sessions import http_front
from mcpmock.sessions.http_front import MAX_SAID, _Serving, mint, recorded_path
from mcpmock.sessions.replay import Replay
from mcpmock.sessions.run import Run, Setup, run_sessions
from mcpmock.sessions.servers import Reach, Server
from mcpmock.sessions.take import Recording
from mcpmock.sessions.url_server import Url
from mcpmock.transports.session_router import SessionRouter, TransportKind
from tests.sessions.web import URL, Web, running, web
from tests.support import (
    HEADER,
    INITIALIZE,
    JSON_HEADER,
    OPENING,
    WELCOME,
    accepts,
    answers,
    bodiless,
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
from tests.support.http_upstream import Asked, Reply
from tests.support.memory_listener import PORT
from tests.support.raw_http import request_bytes

__all__ = ["web"]

PING = request(1, "ping")
SSE_HEADER = HEADER.replace(b"stdio", b"sse")


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
    replay = Replay(recorded, PlayerOptions(), lambda what: web.said.append(str(what)))
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


@pytest.mark.parametrize("asked", ["as announced", "another key"])
async def test_a_key_in_the_path(web: Web, tmp_path: Path, asked: str) -> None:
    """It reaches the server and is nowhere in the cassette; a replay takes any in its place, and
    gives the client's back.
    """
    key, live = "pQ7vX2mK9rT4wZ8nB3cF", "Lx5nR8tY2bV6mQ9wK3zD"
    file = tmp_path / "a.jsonl"

    async def script(asked: Asked, reply: Reply) -> None:
        told = {"seen": f"your key is {key}."}
        location = f"https://public.example/s/{key}/docs"
        await reply.whole(response(asked.message["id"], told), location=location)

    web.server.script = script
    async with running(web, recorder(web, file, f"http://upstream.example:99/s/{key}/mcp")):
        assert f"/s/{key}/mcp" == web.announced[0].partition(str(PORT))[2]
        await web.posts(PING)
    assert f"/s/{key}/mcp" == web.server.asked[0].target
    assert key.encode() not in file.read_bytes()
    assert [] == scan_cassette(file.read_bytes())
    [take] = load(file).takes
    assert "http://upstream.example:99/s/mcpmock:secret:path-key:1/mcp" == take.header.target

    web.announced.clear()
    async with running(web, player(web, load(file))):
        hole = "mcpmock:secret:path-key:1"
        if asked == "another key":
            web.announced[0], hole = web.announced[0].replace(hole, live), live
        answer = await web.posts(request(7, "ping"))
    assert (200, f"https://public.example/s/{hole}/docs") == (
        answer.status,
        dict(answer.headers)["location"],
    )
    assert response(7, {"seen": f"your key is {hole}."}) == answer.body


async def test_many_lines_about_the_traffic(web: Web, tmp_path: Path) -> None:
    """Only so many different ones are said."""

    async def script(asked: Asked, reply: Reply) -> None:
        await reply.whole(response(1), location=f"https://{asked.target[1:]}.example/")

    web.server.script = script
    async with running(web, recorder(web, tmp_path / "a.jsonl")):
        caller = web.door.client()
        for n in range(MAX_SAID + 3):
            caller.target = f"/{n}"
            await caller.post(PING)
            await caller.answer()
            caller = web.door.client()

    assert MAX_SAID == len({*web.said}) == len(web.said)


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


@pytest.mark.parametrize(("bare", "numbers"), [(True, [1, 2]), (False, [7, 7])])
async def test_the_number_of_a_session(web: Web, bare: bool, numbers: list[int]) -> None:
    """That of its conversation; one of the run where clients come over stdio as well."""

    async def nothing() -> None:
        await trio.lowlevel.checkpoint()

    recording = Recording(output=Path("a.jsonl"))
    run = Run(Setup(back=ServerStub(nothing), recording=recording, say=print))
    serving = _Serving.of(run, web.front(), bare_recording=bare)
    router = SessionRouter(TransportKind.STREAMABLE_HTTP, "/mcp")
    client = HttpServerChannel(7, router, print, print)

    assert numbers == [serving.conversation(client, router).number for _ in numbers]


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


async def test_a_replay_without_sessions(web: Web) -> None:
    """What was recorded in one answers clients that get none."""
    async with running(web, player(web, RECORDED, sessions=False)):
        welcome = await web.posts(INITIALIZE)
        answer = await web.posts(PING)

    assert None is welcome.header("mcp-session-id")
    assert response(1, {"x": 1}) in answer.body
    assert [] == web.said


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


def test_session_ids() -> None:
    """A session id has 128 bits in hexadecimal digits, and no two are equal."""
    found = {mint() for _ in range(1000)}

    assert 1000 == len(found)
    assert all(len(bytes.fromhex(one.replace("-", ""))) >= 16 for one in found)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.com", "localhost.com"])
async def test_an_address_beyond_loopback(web: Web, host: str) -> None:
    """It is refused without `--dangerously-bind`; with it, each run has a new token."""
    with pytest.raises(WrongUsage, match="--dangerously-bind"):
        await player(web, RECORDED, address=ListenAddress(host))()
    for _ in range(2):
        web.announced.clear()
        async with running(
            web, player(web, RECORDED, address=ListenAddress(host), dangerously=True)
        ):
            pass

    assert 2 == len(set(web.tokens))
    assert all(token and len(token) >= 22 and " " not in token for token in web.tokens)
    shown = f"[{host}]" if ":" in host else host
    assert [f"http://{shown}:{PORT}/mcp"] == web.announced


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "localhost", "LOCALHOST"])
async def test_a_loopback_address(web: Web, host: str) -> None:
    """Clients need no token."""
    async with running(web, player(web, RECORDED, address=ListenAddress(host))):
        pass

    assert [None] == web.tokens


async def signals(*numbers: int) -> AsyncGenerator[int, None]:
    """These signals, each once all other tasks are blocked."""
    for number in numbers:
        await trio.testing.wait_all_tasks_blocked()
        yield number


class ServerStub(Server):
    """A server over Streamable HTTP whose conversations do as `act` does before they open."""

    kind = TransportKind.STREAMABLE_HTTP
    target = "/mcp"
    described = URL

    def __init__(self, act: Callable[[], Awaitable[None]]) -> None:
        self.act = act

    async def open(self, reach: Reach, front: object = None) -> ConversationEnd:
        await self.act()
        return await Url.parse(URL).open(reach, front)


async def serve(web: Web, act: Callable[[], Awaitable[None]], stops: AsyncIterator[int]) -> int:
    """The exit status."""
    return await web.front().serve(Run(Setup(back=ServerStub(act), say=web.said.append)), stops)


@pytest.mark.parametrize(("signum", "status"), [(15, 0), (2, 130), (1, 129)])
async def test_conversations_until_a_signal(web: Web, signum: int, status: int) -> None:
    """Each conversation is opened once, and the signal ends those that still run."""
    events: list[str] = []

    async def act() -> None:
        events.append("opened")
        try:
            await trio.sleep_forever()
        finally:
            events.append("cancelled")

    for _ in range(2):
        await web.door.client().post(PING)
    await (client := web.door.client()).post(request(1, "initialize", {}))
    async with aclosing(signals(signum)) as coming:
        assert status == await serve(web, act, coming)

    assert ["opened"] * 2 + ["cancelled"] * 2 == events
    assert "closed" == await client.ended()


async def test_an_internal_error_ends_one_conversation(web: Web, autojump_clock: MockClock) -> None:
    """The user reads one line about it, and the other conversations go on."""
    errors = [ValueError("wrong")]

    async def act() -> None:
        async with trio.open_nursery():
            if errors:
                raise errors.pop()

    async def stop() -> AsyncGenerator[int, None]:
        statuses.append(await client.head())
        await (other := web.door.client()).post(PING)
        statuses.append(await other.head())
        yield 15

    statuses: list[int] = []
    await (client := web.door.client()).post(request(1, "initialize", {}))
    async with aclosing(stop()) as coming:
        assert 0 == await serve(web, act, coming)

    assert [503, 200] == statuses
    [line] = web.said
    assert (
        "internal error (please report): a conversation was dropped: ValueError('wrong') in "
        in line
    )


async def test_allowed_hosts_and_origins(web: Web, autojump_clock: MockClock) -> None:
    """Allowed hosts and origins are accepted besides those of this machine; others are refused."""
    allowed: dict[str, Any] = {
        "hosts": frozenset({"mcp.example"}),
        "origins": frozenset({"http://a.example"}),
    }
    statuses = []
    async with running(web, player(web, RECORDED, **allowed)):
        for host, origin in (
            ("evil.example", "http://a.example"),
            ("mcp.example", "http://evil.example"),
            (f"localhost:{PORT + 1}", "http://a.example"),
            ("mcp.example", "http://a.example"),
        ):
            caller = web.door.client()
            caller.authority = host
            await caller.post(PING, origin=origin)
            statuses.append(await caller.head())

    assert [421, 403, 421, 200] == statuses


PAGE = "http://localhost:6274"


async def test_a_replay_for_a_page(web: Web, tmp_path: Path) -> None:
    """A page gets what was recorded without an Origin, and its browser shows it to the page; a
    recording of that has neither the preflight nor what browsers are told.
    """
    recording = Recording(output=tmp_path / "b.jsonl")
    async with running(web, player(web, RECORDED, recording)):
        caller = web.door.client()
        asked = [("Origin", PAGE), ("Access-Control-Request-Method", "POST")]
        await caller.ask("OPTIONS", headers=asked)
        allowed = await caller.answer()
        welcome = await web.posts(INITIALIZE, origin=PAGE)
        answer = await web.posts(PING, welcome.header("mcp-session-id"), origin=PAGE)
        lost = await web.posts(PING, "old", origin=PAGE)
    kept = (tmp_path / "b.jsonl").read_bytes()

    assert [204, 200, 200, 404] == [one.status for one in (allowed, welcome, answer, lost)]
    assert {PAGE} == {
        one.header("access-control-allow-origin") for one in (allowed, welcome, answer, lost)
    }
    assert response(1, {"x": 1}) == answer.body
    assert b"access-control" not in kept.lower()
    assert b"OPTIONS" not in kept


async def test_a_replay_of_a_page(web: Web) -> None:
    """Preflights that were recorded in front of a server are answered for the live page."""
    theirs: dict[str, Any] = {"access_control_allow_origin": "http://localhost:1"}
    preflight = bodiless(
        1, "OPTIONS", origin="http://localhost:1", access_control_request_method="POST"
    )
    recorded = over_http(
        in_session(1, preflight, accepts(1, 204, **theirs)),
        in_session(
            2,
            post(2, INITIALIZE, origin="http://localhost:1"),
            answers(2, WELCOME, mcp_session_id="old", **theirs),
        ),
    )
    async with running(web, player(web, recorded)):
        welcome = await web.posts(INITIALIZE, origin=PAGE)

    assert WELCOME == welcome.body
    assert [PAGE] == [v for k, v in welcome.headers if k.lower() == "access-control-allow-origin"]
    assert [] == web.said


@pytest.mark.parametrize(
    ("target", "host"),
    [
        (f"http://127.0.0.1:{PORT}/mcp", "evil.example"),
        (f"HTTP://localhost:{PORT}/mcp", "127.0.0.1"),
        ("//mcp", f"127.0.0.1:{PORT}"),
        ("/mcp/", f"127.0.0.1:{PORT}"),
        ("///mcp//", f"127.0.0.1:{PORT}"),
        (f"http://127.0.0.1:{PORT}//mcp", f"127.0.0.1:{PORT}"),
    ],
)
async def test_spellings_of_the_path(web: Web, tmp_path: Path, target: str, host: str) -> None:
    """In absolute form, and with more slashes than one, it is the path of MCP: the messages are
    recorded, and a replay answers them.
    """
    fields = [("Content-Type", "application/json"), ("Host", host)]

    async def ask(body: bytes = PING) -> Answer:
        caller = web.door.client("/mcp")
        await caller.send(request_bytes("POST", target, fields, body))
        return await caller.answer()

    async with running(web, recorder(web, tmp_path / "a.jsonl")):
        assert 200 == (await ask()).status
    recorded = load(tmp_path / "a.jsonl")
    messages = [event.payload for event in recorded.takes[0].events if event.payload]
    assert [PING, response(1, {"given": None})] == messages
    web.announced.clear()
    async with running(web, player(web, recorded)):
        assert response(1, {"given": None}) == (await ask()).body
    web.announced.clear()
    async with running(web, player(web, cassette(*OPENING))):
        assert WELCOME in (await ask(INITIALIZE)).body


@pytest.mark.parametrize("over", ["http", "stdio"])
@pytest.mark.parametrize("size", [5 << 20, 1000])
async def test_the_longest_request(web: Web, over: str, size: int) -> None:
    """A replay takes what was recorded, however long; what is longer than 4 MiB and than that is
    refused, and counts as a miss.
    """
    long = request(1, "tools/call", {"name": "a", "arguments": {"x": "x" * size}})
    answer = response(1, {"content": []})
    if over == "http":
        recorded = over_http(in_session(1, post(1, long), answers(1, answer)))
    else:
        recorded = cassette(*OPENING, ("c2s", long), ("s2c", answer))
    async with running(web, player(web, recorded)):
        session = None
        if over == "stdio":
            session = (await web.posts(INITIALIZE)).header("mcp-session-id")
        got = await web.posts(long, session)
        assert (200, True) == (got.status, answer in got.body)
        assert [] == web.said
        refused = await web.posts(long + b" " * (6 << 20), session)
    assert 413 == refused.status
    [miss] = web.said
    assert "a body has at most" in miss


def test_the_path_of_a_recording() -> None:
    """It is where messages were posted to, whatever else was asked for before."""
    recorded = over_http(
        in_session(1, bodiless(1, "GET", to="/favicon.ico"), accepts(1, 404)),
        in_session(2, post(2, INITIALIZE, to="/v1/mcp?key=1"), answers(2, WELCOME)),
    )

    assert "/v1/mcp" == recorded_path(recorded)
