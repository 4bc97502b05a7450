"""Every transport in front of every other, with nothing recorded and all ends in memory."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest
import trio

from mcpmock.channels.channel import MemoryChannel, memory_pair
from mcpmock.channels.http.addresses import ListenAddress
from mcpmock.errors import CannotStart, McpMockError
from mcpmock.faults.control import run_of
from mcpmock.protocol.messages import C2S, S2C
from mcpmock.sessions import servers as servers_module
from mcpmock.sessions import stdio_front
from mcpmock.sessions.http_front import HttpFront
from mcpmock.sessions.run import Front, Setup, run_sessions
from mcpmock.sessions.servers import Command, Server
from mcpmock.sessions.stdio_front import StdioFront
from mcpmock.sessions.take import Say
from mcpmock.sessions.url_server import Url
from mcpmock.transports.session_router import TransportKind
from tests.sessions.web import URL, Web, running, web
from tests.support import INITIALIZE, WELCOME, c2s, exits, hangs_up, request, response, s2c
from tests.support.http_caller import Caller
from tests.support.http_upstream import Asked, Reply
from tests.support.http_upstream import Upstream as Served
from tests.support.memory_listener import PORT

__all__ = ["web"]

PING = request(1, "ping")
COMMAND = Command(["server"])


@pytest.fixture
def servers(monkeypatch: pytest.MonkeyPatch, nursery: trio.Nursery) -> list[MemoryChannel]:
    """The processes that were started: each welcomes its client, and answers everything else."""
    started: list[MemoryChannel] = []

    async def answer(server: MemoryChannel) -> None:
        while True:
            try:
                frames = await server.receive()
            except trio.EndOfChannel:
                break
            for frame in frames:
                if frame.raw == INITIALIZE:
                    server.send_nowait([s2c(WELCOME)])
                elif b'"id"' in frame.raw:
                    server.send_nowait([s2c(response(1, {"process": len(started)}))])
        try:
            server.send_nowait([hangs_up(S2C), exits(3)])
        except trio.BrokenResourceError:
            pass  # nobody waits for it

    async def start(command: Sequence[str]) -> MemoryChannel:
        assert ["server"] == command
        process, server = memory_pair()
        monkeypatch.setattr(process, "interrupt", lambda signum: None, raising=False)
        started.append(server)
        nursery.start_soon(answer, server)
        return process

    monkeypatch.setattr(servers_module, "start_process", start)
    monkeypatch.setattr(servers_module, "which", lambda program: program)
    return started


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> MemoryChannel:
    """Whoever is on our stdio."""
    outer, ours = memory_pair()
    monkeypatch.setattr(stdio_front, "take_stdio", lambda: ours)
    return outer


def proxy(server: Server, front: Front, say: Say) -> Awaitable[int]:
    return run_sessions(Setup(front=front, back=server, say=say))


def listening(web: Web, server: Server, **options: Any) -> Callable[[], Awaitable[int]]:
    return lambda: proxy(server, web.front(**options), web.said.append)


async def over_sse(web: Web) -> tuple[Caller, Caller]:
    """A client over HTTP+SSE: its stream, and who posts where the stream says."""
    stream = web.door.client("/sse")
    await stream.ask("GET", headers=[("Accept", "text/event-stream")])
    await stream.head()
    endpoint = (await stream.event() or b"").decode().split()[-1]
    return stream, web.door.client(endpoint)


async def over_stdio(
    web: Web, client: MemoryChannel, server: Server, *, leaves: bool = True
) -> tuple[int, list[bytes]]:
    """A client on our stdio pings, reads once and leaves: the status, and what it heard."""
    heard: list[bytes] = []
    client.send_nowait([c2s(PING)])

    async def talk() -> None:
        heard.extend(frame.raw for frame in await client.receive() if frame.fact is None)
        if leaves:
            client.send_nowait([hangs_up(C2S)])

    async with trio.open_nursery() as nursery:
        nursery.start_soon(talk)
        status = await proxy(server, StdioFront(), web.said.append)
    return status, heard


def sse_server() -> Served:
    """A server over HTTP+SSE that answers on its one stream."""
    streams: list[Reply] = []

    async def answer(asked: Asked, reply: Reply) -> None:
        if asked.method == "GET":
            streams.append(reply)
            await reply.open()
            await reply.event(b"/messages?n=1", b"event: endpoint\n")
            await reply.left()
        else:
            await reply.whole(status=202)
            await streams[0].event(response(1, {"to": asked.target}))

    return Served(answer)


async def test_http_in_front_of_a_process(web: Web, servers: list[MemoryChannel]) -> None:
    """Each session has a process, which hears bare messages."""
    async with running(web, listening(web, COMMAND)) as statuses:
        sessions = [(await web.posts(INITIALIZE)).header("mcp-session-id") for _ in range(2)]
        answers = [await web.posts(PING, session) for session in reversed(sessions)]

    assert ([0], [f"http://127.0.0.1:{PORT}/mcp"]) == (statuses, web.announced)
    assert [response(1, {"process": 2})] * 2 == [answer.body for answer in answers]
    assert (2, 2) == (len(servers), len(set(sessions)))


async def test_sse_in_front_of_a_process(web: Web, servers: list[MemoryChannel]) -> None:
    """The stream names where to post to, and the answers come by it."""
    async with running(web, listening(web, COMMAND, kind=TransportKind.SSE)):
        stream, poster = await over_sse(web)
        await poster.post(INITIALIZE)
        status = await poster.head()
        welcome = await stream.event() or b""

    assert [f"http://127.0.0.1:{PORT}/sse"] == web.announced
    assert (202, True) == (status, WELCOME in welcome)


async def test_http_in_front_of_http(web: Web) -> None:
    """Exchanges pass as they are, to the path and query of the server."""
    async with running(web, listening(web, Url.parse(URL + "?x=1"))):
        answer = await web.posts(PING, x_else="kept")

    [asked] = web.server.asked
    assert (response(1, {"given": None}), "kept") == (answer.body, asked.header("x-else"))
    assert ("/mcp?x=1", PING) == (asked.target, asked.body)


async def test_sse_in_front_of_http(web: Web) -> None:
    """The rules of both transports translate; what is made up carries the fields we were given."""
    server = Url.parse(URL, None, [("X-Key", "k")])
    async with running(web, listening(web, server, kind=TransportKind.SSE)):
        stream, poster = await over_sse(web)
        await poster.post(PING)
        await poster.head()
        answer = await stream.data()

    assert {"jsonrpc": "2.0", "id": 1, "result": {"given": None}} == answer
    assert ["k"] == [asked.header("x-key") for asked in web.server.asked]


async def test_sse_in_front_of_sse(web: Web) -> None:
    """Exchanges pass as they are: the endpoint is the server's own."""
    web.server = sse_server()
    async with running(web, listening(web, Url.parse("http://upstream.example/sse?x=1"))):
        stream, poster = await over_sse(web)
        await poster.post(PING)
        status = await poster.head()
        answer = await stream.data()

    assert [f"http://127.0.0.1:{PORT}/sse?x=1"] == web.announced
    assert (202, {"to": "/messages?n=1"}) == (status, answer["result"])
    assert ["/sse", "/messages?n=1"] == [asked.target for asked in web.server.asked]


async def test_http_in_front_of_sse(web: Web) -> None:
    """What came on the stream is the answer to the request that asked for it."""
    web.server = sse_server()
    server = Url.parse("http://upstream.example/sse", None, [("X-Key", "k")])
    async with running(web, listening(web, server, kind=TransportKind.STREAMABLE_HTTP)):
        answer = await web.posts(request(1, "initialize", {}))

    assert [f"http://127.0.0.1:{PORT}/mcp"] == web.announced
    assert {"to": "/messages?n=1"} == answer.message["result"]
    assert ["k", "k"] == [asked.header("x-key") for asked in web.server.asked]


async def test_stdio_in_front_of_http(web: Web, client: MemoryChannel) -> None:
    """A client on our stdio hears the answers of a server at a URL, and its leaving is the end."""
    status, heard = await over_stdio(web, client, Url.parse(URL))

    assert (0, [response(1, {"given": None})], []) == (status, heard, web.said)
    assert [PING] == [asked.body for asked in web.server.asked if asked.method == "POST"]


async def test_stdio_in_front_of_sse(web: Web, client: MemoryChannel) -> None:
    """The same, by the rules of the other transport."""
    web.server = sse_server()
    server = Url.parse("http://upstream.example/sse", None, [("X-Key", "k")])
    status, heard = await over_stdio(web, client, server)

    assert (0, [response(1, {"to": "/messages?n=1"})], []) == (status, heard, web.said)
    assert [("GET", "k"), ("POST", "k")] == [
        (asked.method, asked.header("x-key")) for asked in web.server.asked
    ]


@pytest.mark.parametrize("path", ["/mcp", "/sse"])
async def test_stdio_in_front_of_nothing(web: Web, client: MemoryChannel, path: str) -> None:
    """The client hears why it gets no answer, the user too, and the status is 4."""
    web.down = "Connection refused"
    url = f"http://upstream.example{path}"
    status, heard = await over_stdio(web, client, Url.parse(url))

    assert (4, 1) == (status, len(heard))
    assert b'"id":1,"error"' in heard[0]
    assert b"Connection refused" in heard[0]
    assert [f"cannot reach {url}: Connection refused"] == [
        line.partition(";")[0] for line in web.said
    ]


async def test_sse_that_ends(web: Web, client: MemoryChannel) -> None:
    """So does the session of a client on stdio, which still waits for an answer and has not left:
    nothing would ever answer it. The user hears why, and the status is 4.
    """

    async def breaks(asked: Asked, reply: Reply) -> None:
        if asked.method == "GET":
            await reply.open()
            await reply.event(b"/messages", b"event: endpoint\n")
            await posted.wait()
            await reply.hang_up()
        else:
            await reply.whole(status=202)
            posted.set()

    posted = trio.Event()
    web.server = Served(breaks)
    server = Url.parse("http://upstream.example/sse")
    status, heard = await over_stdio(web, client, server, leaves=False)

    assert (4, 1) == (status, len(heard))
    assert b'"id":1,"error"' in heard[0]
    assert ["cannot reach http://upstream.example/sse: the server's stream has ended"] == [
        line.partition(";")[0] for line in web.said
    ]


async def test_stdio_in_front_of_a_process(
    web: Web, client: MemoryChannel, servers: list[MemoryChannel]
) -> None:
    """The status is the process's."""
    status, heard = await over_stdio(web, client, COMMAND)

    assert (3, [response(1, {"process": 1})]) == (status, heard)


async def test_a_fault_that_ends_the_session(
    web: Web, client: MemoryChannel, servers: list[MemoryChannel]
) -> None:
    """It is no failure to reach a server that is a process."""
    client.send_nowait([c2s(PING)])
    faults = run_of(["exit:code=5"], None)
    setup = Setup(front=StdioFront(), back=COMMAND, faults=faults, say=web.said.append)

    assert (5, []) == (await run_sessions(setup), web.said)


async def test_a_command_that_cannot_be_started(
    web: Web, client: MemoryChannel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over stdio it is the end; over HTTP nothing is announced, or, where it was there at first,
    each client hears of it, and so does the user.
    """

    async def start(_command: Sequence[str]) -> MemoryChannel:
        await trio.lowlevel.checkpoint()
        raise CannotStart("server", "no such file", found=False)

    monkeypatch.setattr(servers_module, "start_process", start)
    for front in (StdioFront(), web.front()):
        with pytest.raises(CannotStart):
            await proxy(COMMAND, front, web.said.append)
    assert [] == web.announced

    monkeypatch.setattr(servers_module, "which", lambda program: program)
    async with running(web, listening(web, COMMAND)) as statuses:
        answers = [await web.posts(INITIALIZE) for _ in range(2)]

    assert [0] == statuses
    assert [503, 503] == [answer.status for answer in answers]
    assert ["cannot start server: no such file"] * 2 == web.said


async def test_an_address_that_others_reach(web: Web) -> None:
    """Nothing is started, and nobody listens."""
    with pytest.raises(McpMockError, match="--dangerously-bind"):
        await proxy(Command(["sh"]), HttpFront(address=ListenAddress("0.0.0.0")), web.said.append)

    assert [] == web.announced
