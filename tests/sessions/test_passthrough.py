"""A recording with the real server behind it: what is started and when, and what is recorded. All
ends are in memory, the disk is real.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest
import trio

from mcpmock.cassette.file import load
from mcpmock.cassette.model import Cassette
from mcpmock.channels.channel import MemoryChannel, memory_pair
from mcpmock.errors import CannotStart
from mcpmock.playback.player import PlayerNote, PlayerOptions, Report
from mcpmock.protocol.messages import C2S
from mcpmock.sessions import servers as servers_module
from mcpmock.sessions import stdio_front
from mcpmock.sessions.replay import Replay
from mcpmock.sessions.run import Front, Setup, run_sessions
from mcpmock.sessions.servers import Command, Server
from mcpmock.sessions.stdio_front import StdioFront
from mcpmock.sessions.take import Recording
from mcpmock.sessions.url_server import Url
from mcpmock.transports.session_router import TransportKind
from tests.sessions.test_drive import LoggedIn
from tests.sessions.test_proxy import COMMAND, client, servers
from tests.sessions.web import URL, Web, running, web
from tests.support import (
    INITIALIZE,
    INITIALIZED,
    OPENING,
    WELCOME,
    accepts,
    answers,
    c,
    c2s,
    call,
    cassette,
    hangs_up,
    in_session,
    over_http,
    post,
    progress,
    request,
    response,
    s,
)
from tests.support.http_upstream import Asked, Reply
from tests.support.http_upstream import Upstream as Served

__all__ = ["client", "servers", "web"]

RECORDED = cassette(*OPENING, c(call(1, "a")), s(response(1)))
LIVE = PlayerOptions(on_miss="live")
MISSED = request(1, "tools/call", {"name": "new"})
ANSWERED = response(1, {"process": 1})


async def live(
    web: Web,
    front: Front,
    server: Server,
    recording: Recording | None,
    *,
    recorded: Cassette = RECORDED,
    report: Report = lambda _what: None,
) -> int:
    """A run with a recording and a server behind it."""
    replay = Replay(recorded, LIVE, report)
    setup = Setup(front=front, back=server, replay=replay, recording=recording, say=web.said.append)
    return await run_sessions(setup)


async def over_stdio(
    web: Web,
    client: MemoryChannel,
    *says: bytes,
    recorded: Cassette = RECORDED,
    server: Server = COMMAND,
    file: Path | None = None,
) -> tuple[int, list[bytes]]:
    """What a client on our stdio hears that says these one after the other and then leaves, and the
    status.
    """
    heard: list[bytes] = []

    async def talk() -> None:
        with suppress(trio.EndOfChannel):
            for one in says:
                client.send_nowait([c2s(one)])
                if b'"id"' in one:
                    heard.extend([frame.raw for frame in await client.receive()])
            client.send_nowait([hangs_up(C2S)])

    recording = None if file is None else Recording(output=file, test="t")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(talk)
        status = await live(web, StdioFront(), server, recording, recorded=recorded)
    return status, heard


def messages(cassette: Cassette, take: int = -1) -> list[bytes]:
    """What was said in a take."""
    payloads = [event.payload for event in cassette.takes[take].events]
    return [payload for payload in payloads if payload]


async def test_all_is_recorded(
    web: Web, client: MemoryChannel, servers: list[MemoryChannel], tmp_path: Path
) -> None:
    """Nothing is started, and nothing written."""
    file = tmp_path / "a.jsonl"
    status, heard = await over_stdio(web, client, INITIALIZE, INITIALIZED, call(1, "a"), file=file)

    assert (0, [WELCOME, response(1)]) == (status, heard)
    assert ([], False) == (servers, file.exists())


async def test_a_recorded_server_that_ends(web: Web, client: MemoryChannel) -> None:
    """The live one, which nobody asked, is not what failed."""
    ended = cassette(*OPENING, ("end", {"d": "s2c"}))
    says = (INITIALIZE, INITIALIZED)
    status, heard = await over_stdio(web, client, *says, recorded=ended, server=Url.parse(URL))

    assert (0, [WELCOME], [], []) == (status, heard, web.said, web.reached)


async def test_a_miss(
    web: Web, client: MemoryChannel, servers: list[MemoryChannel], tmp_path: Path
) -> None:
    """The process is started; the take holds the session from its beginning, so that by itself it
    is all that the next run needs. The status is the process's.
    """
    file = tmp_path / "a.jsonl"
    says = (INITIALIZE, INITIALIZED, call(1, "a"), MISSED)
    status, heard = await over_stdio(web, client, *says, file=file)
    told = load(file)

    assert (3, [WELCOME, response(1), ANSWERED], 1) == (status, heard, len(servers))
    assert [INITIALIZE, WELCOME, INITIALIZED, call(1, "a"), response(1), MISSED, ANSWERED] == (
        messages(told)
    )
    assert ("stdio", "t", True) == (
        told.takes[0].transport,
        told.takes[0].header.test,
        bool(told.takes[0].sealed),
    )
    times = [event.t for event in told.takes[0].events]
    assert times == sorted(times)


async def test_the_login_is_recorded(
    web: Web, client: MemoryChannel, servers: list[MemoryChannel], tmp_path: Path
) -> None:
    """A take says how requests to its server were authorized."""
    file = tmp_path / "a.jsonl"
    await over_stdio(web, client, INITIALIZE, MISSED, server=LoggedIn(["server"]), file=file)

    assert {"how": "oauth"} in [event.auth for event in load(file).takes[0].events]


async def test_the_next_run(
    web: Web,
    client: MemoryChannel,
    servers: list[MemoryChannel],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """It needs no server, also with the first take in the cassette."""
    file = tmp_path / "a.jsonl"
    says = (INITIALIZE, INITIALIZED, call(1, "a"), MISSED)
    await over_stdio(web, client, *says, file=file)
    both = Cassette(name="both", takes=[*RECORDED.takes, *load(file).takes])
    outer, ours = memory_pair()
    monkeypatch.setattr(stdio_front, "take_stdio", lambda: ours)
    _, heard = await over_stdio(web, outer, *says, recorded=both, file=file)

    assert ([WELCOME, response(1), ANSWERED], 1) == (heard, len(servers))
    assert 1 == len(load(file).takes)


async def test_a_command_that_cannot_start(
    web: Web, client: MemoryChannel, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """That ends the session, and there is no take of it."""

    async def start(_command: Sequence[str]) -> MemoryChannel:
        await trio.lowlevel.checkpoint()
        raise CannotStart("server", "no such file", found=False)

    monkeypatch.setattr(servers_module, "start_process", start)
    with pytest.RaisesGroup(CannotStart, flatten_subgroups=True):
        await over_stdio(web, client, INITIALIZE, MISSED, file=tmp_path / "a.jsonl")

    assert not (tmp_path / "a.jsonl").exists()


def mcp_server() -> Served:
    """A server over Streamable HTTP with sessions: it shakes hands, and answers a call with
    progress before the result.
    """

    async def answer(asked: Asked, reply: Reply) -> None:
        if asked.method != "POST":
            await reply.whole(status=405)
        elif asked.message.get("method") == "initialize":
            result = {"protocolVersion": "2025-11-25", "capabilities": {}}
            await reply.whole(response(asked.message["id"], result), Mcp_Session_Id="live")
        elif "id" not in asked.message:
            await reply.whole(status=202)
        else:
            await reply.open()
            await reply.event(progress("p"))
            await reply.event(response(asked.message["id"], {"live": True}))
            await reply.close()

    return Served(answer)


@pytest.mark.parametrize("record", [True, False])
async def test_a_server_at_a_url(
    web: Web, client: MemoryChannel, tmp_path: Path, record: bool
) -> None:
    """It is dialled by the miss, with the handshake first, by the transport's rules."""
    web.server = mcp_server()
    file = tmp_path / "a.jsonl"
    missed = request(5, "tools/call", {"name": "new"}, token="p")
    says = (INITIALIZE, INITIALIZED, call(1, "a"))
    server = Url.parse(URL)
    heard: list[bytes] = []

    async def talk() -> None:
        for one in says:
            client.send_nowait([c2s(one)])
        client.send_nowait([c2s(missed)])
        while response(5, {"live": True}) not in heard:
            heard.extend([frame.raw for frame in await client.receive()])
        client.send_nowait([hangs_up(C2S)])

    async with trio.open_nursery() as nursery:
        nursery.start_soon(talk)
        recording = Recording(output=file) if record else None
        status = await live(web, StdioFront(), server, recording)

    assert (0, []) == (status, web.said)
    assert [WELCOME, progress("p"), response(5, {"live": True})] == [
        raw for raw in heard if raw != response(1)
    ]
    posts = [asked for asked in web.server.asked if asked.method == "POST"]
    assert ["initialize", "notifications/initialized", "tools/call"] == [
        asked.message["method"] for asked in posts
    ]
    assert [None, "live", "live"] == [asked.header("mcp-session-id") for asked in posts]
    assert record is file.exists()


async def test_a_server_at_a_url_that_is_down(web: Web, client: MemoryChannel) -> None:
    """The client hears why, the user too, and the status is 4."""
    web.down = "Connection refused"
    status, heard = await over_stdio(web, client, INITIALIZE, MISSED, server=Url.parse(URL))

    assert (4, b'"error"' in heard[-1]) == (status, True)
    assert ["cannot reach http://upstream.example:99/mcp: Connection refused"] == [
        line.partition(";")[0] for line in web.said
    ]


HTTP_RECORDED = over_http(
    in_session(
        2,
        post(1, INITIALIZE),
        answers(1, WELCOME, Mcp_Session_Id="s"),
        post(2, INITIALIZED, session="s"),
        accepts(2),
        post(3, call(1, "a"), session="s"),
        answers(3, response(1)),
    )
)


@pytest.mark.parametrize("behind", ["process", "url"])
async def test_clients_over_http(
    web: Web, servers: list[MemoryChannel], tmp_path: Path, behind: str
) -> None:
    """Each session has the server only where it needs it; what is recorded are its exchanges."""
    web.server = mcp_server()
    file = tmp_path / "a.jsonl"
    server: Server = COMMAND if behind == "process" else Url.parse(URL)
    notes: list[object] = []
    recording = Recording(output=file)

    async def mode() -> int:
        return await live(
            web, web.front(), server, recording, recorded=HTTP_RECORDED, report=notes.append
        )

    async with running(web, mode) as statuses:
        first, second = [(await web.posts(INITIALIZE)).header("mcp-session-id") for _ in range(2)]
        for session in (first, second):
            await web.posts(INITIALIZED, session)
        answer = await web.posts(MISSED, second)
        assert response(1) == (await web.posts(call(1, "a"), first)).body
        assert response(1) == (await web.posts(call(1, "a"), second)).body

    [take] = load(file).takes
    assert ([0], []) == (statuses, web.said)
    assert int(behind == "process") == len(servers)
    assert (b'"process":1' if behind == "process" else b'"live":true') in answer.body
    assert ("streamable-http", True, 1) == (
        take.transport, take.sealed, len({event.s for event in take.events}),
    )  # fmt: skip
    assert [INITIALIZE, INITIALIZED, MISSED, call(1, "a")] == [
        event.payload for event in take.events if event.d == "c2s" and event.payload
    ]
    assert PlayerNote("tools/call", "not in the recording; the real server is asked") in notes


async def test_a_command_that_cannot_start_over_http(
    web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The conversation ends, and the user hears why."""

    async def start(_command: Sequence[str]) -> MemoryChannel:
        await trio.lowlevel.checkpoint()
        raise CannotStart("server", "no such file", found=False)

    monkeypatch.setattr(servers_module, "start_process", start)

    async def mode() -> int:
        front = web.front(kind=TransportKind.STREAMABLE_HTTP)
        return await live(web, front, Command(["server"]), None)

    async with running(web, mode):
        session = (await web.posts(INITIALIZE)).header("mcp-session-id")
        answer = await web.posts(MISSED, session)

    assert ["cannot start server: no such file"] == web.said
    assert answer.status >= 400 or b"error" in answer.body
