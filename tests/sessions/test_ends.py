"""The ends of a composition: what is listened on, what is reached, and what translates between."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, suppress
from itertools import count
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock, memory_stream_pair

from mcpmock.channels.channel import MemoryChannel, memory_pair
from mcpmock.channels.http.client import HttpClientChannel
from mcpmock.channels.http.server import HttpServerChannel
from mcpmock.errors import CannotStart, McpMockError
from mcpmock.sessions import servers
from mcpmock.sessions.http_front import HttpFront, mint, serve, server_rules
from mcpmock.sessions.servers import Command, Reach
from mcpmock.sessions.url_server import Url
from mcpmock.transports.http_sse import SseClient, SseServer
from mcpmock.transports.session_router import TransportKind
from mcpmock.transports.streamable_http.client import StreamableHttpClient
from mcpmock.transports.streamable_http.resumption import Resumption
from mcpmock.transports.streamable_http.server import StreamableHttpServer
from tests.sessions.test_http import Web, web
from tests.support import request
from tests.support.memory_listener import PORT

__all__ = ["web"]

PING = request(1, "ping")


def test_session_ids() -> None:
    """They have 128 bits, in letters that stand in a header, and no two are the same."""
    found = {mint() for _ in range(1000)}

    assert 1000 == len(found)
    assert all(len(bytes.fromhex(one.replace("-", ""))) >= 16 for one in found)


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/mcp", TransportKind.STREAMABLE_HTTP),
        ("", TransportKind.STREAMABLE_HTTP),
        ("/sse", TransportKind.SSE),
        ("/sse/", TransportKind.SSE),
        ("/v1/sse?key=1", TransportKind.SSE),
        ("/mcp?next=/sse", TransportKind.STREAMABLE_HTTP),
        ("/ssesse", TransportKind.STREAMABLE_HTTP),
    ],
)
def test_the_transport_of_a_url(path: str, kind: TransportKind) -> None:
    """It is what the path suggests, unless it is named."""
    url = f"http://localhost{path}"

    assert kind is Url.parse(url).kind
    assert [TransportKind.SSE, TransportKind.STREAMABLE_HTTP] == [
        Url.parse(url, k).kind for k in reversed(TransportKind)
    ]


def test_what_is_no_url() -> None:
    """It is said in one line."""
    with pytest.raises(McpMockError, match=r"^ftp://x: not an http"):
        Url.parse("ftp://x")


def test_rules_of_servers() -> None:
    """A process takes bare messages; a URL has the rules of its transport."""
    [sse] = Url.parse("http://localhost/sse").rules(count(1))
    [streamable] = Url.parse("http://localhost/mcp").rules(count(1))

    assert [] == Command(["server"]).rules(count(1))
    assert isinstance(sse, SseClient)
    assert isinstance(streamable, StreamableHttpClient)


@pytest.mark.parametrize("stateless", [True, False])
def test_rules_for_clients(stateless: bool) -> None:
    """Streams of Streamable HTTP can be resumed; HTTP+SSE knows nothing of it."""
    streamable = server_rules(TransportKind.STREAMABLE_HTTP, "/mcp", stateless=stateless)

    assert [Resumption, StreamableHttpServer] == [type(stage) for stage in streamable]
    assert [SseServer] == [
        type(stage) for stage in server_rules(TransportKind.SSE, "/sse", stateless=stateless)
    ]


async def test_what_servers_are_reached_by(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command is a process of its own each time, a URL a channel of exchanges."""
    started: list[Sequence[str]] = []

    async def start(command: Sequence[str]) -> MemoryChannel:
        started.append(command)
        return memory_pair()[0]

    monkeypatch.setattr(servers, "start_process", start)
    server = Command(["server", "-x"])
    reach = Reach(print)

    assert await server.open(reach) is not await server.open(reach)
    assert [["server", "-x"]] * 2 == started
    assert isinstance(await Url.parse("http://localhost/mcp").open(reach), HttpClientChannel)


@pytest.mark.parametrize(
    ("program", "status"), [("no-such-server", 127), ("{}/missing", 127), ("{}/plain", 126)]
)
def test_a_command_that_is_sure_to_fail(tmp_path: Path, program: str, status: int) -> None:
    """It is known before anybody needs it. What is at a URL may come yet."""
    (tmp_path / "plain").touch()
    with pytest.raises(CannotStart) as caught:
        Command([program.format(tmp_path)]).check()

    assert status == caught.value.exit_code
    Command(["sh", "-c", "exit 1"]).check()
    Url.parse("http://no-such-server.invalid/").check()


async def test_a_connection_that_fails() -> None:
    """The user reads a line when connections begin to fail, without the secrets of the URL."""
    said: list[str] = []
    reach = Reach(said.append)
    outcomes = iter([OSError("a"), trio.BrokenResourceError("b"), None, OSError("c")])

    async def connect() -> trio.abc.Stream:
        await trio.lowlevel.checkpoint()
        if error := next(outcomes):
            raise error
        return memory_stream_pair()[0]

    reported = Url.parse("http://localhost/mcp?key=hunter2")._reported(connect, reach)
    failing = []
    for _ in range(4):
        with suppress(OSError, trio.BrokenResourceError):
            await reported()
        failing.append(reach.failing)

    assert [True, True, False, True] == failing
    assert ["cannot reach http://localhost/mcp: a", "cannot reach http://localhost/mcp: c"] == [
        line.partition(";")[0] for line in said
    ]


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.com", "localhost.com"])
async def test_an_address_that_others_reach(web: Web, host: str) -> None:
    """It is refused, unless it is asked for; it takes a token then, a new one each time."""
    with pytest.raises(McpMockError, match="--dangerously-bind"):
        async with web.front(host=host).opened(TransportKind.SSE, "/sse"):
            pass
    for _ in range(2):
        listening = web.front(host=host, dangerously=True)
        async with listening.opened(TransportKind.SSE, "/sse") as front:
            front.announce()

    assert 2 == len(set(web.tokens))
    assert all(token and len(token) >= 22 and " " not in token for token in web.tokens)
    shown = f"[{host}]" if ":" in host else host
    assert [f"http://{shown}:{PORT}/sse"] * 2 == web.announced


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "localhost", "LOCALHOST"])
async def test_an_address_that_only_we_reach(web: Web, host: str) -> None:
    """It takes no token."""
    async with web.front(host=host).opened(TransportKind.SSE, "/sse") as front:
        assert [] == web.announced
        front.announce()

    assert [None] == web.tokens


async def signals(*numbers: int) -> AsyncGenerator[int, None]:
    """These, as soon as nothing else happens any more."""
    for number in numbers:
        await trio.testing.wait_all_tasks_blocked()
        yield number


@pytest.mark.parametrize(("signum", "status"), [(15, 0), (2, 130), (1, 129)])
async def test_conversations_until_a_signal(web: Web, signum: int, status: int) -> None:
    """Each is handed over once, and what is still going on ends with the signal."""
    conversations: list[int] = []
    cancelled: list[int] = []

    async def converse(channel: HttpServerChannel) -> None:
        conversations.append(channel.conversation)
        try:
            await trio.sleep_forever()
        finally:
            cancelled.append(channel.conversation)

    for _ in range(2):
        caller = web.door.client()
        await caller.post(PING)
    await (client := web.door.client()).post(request(1, "initialize", {}))
    listening = web.front()
    async with (
        listening.opened(TransportKind.STREAMABLE_HTTP, "/mcp") as front,
        aclosing(signals(signum)) as coming,
    ):
        assert status == await serve(front, converse, coming, web.said.append)

    assert [1, 2] == sorted(conversations) == sorted(cancelled)
    assert "closed" == await client.ended()


async def test_a_mistake_of_ours(web: Web, autojump_clock: MockClock) -> None:
    """It costs the conversation that meets it, is said in one line, and the others go on."""
    served: list[int] = []

    async def converse(channel: HttpServerChannel) -> None:
        if channel.conversation == 2:
            async with trio.open_nursery():
                raise ValueError("wrong")
        served.append(channel.conversation)
        await channel.aclose()

    async def stop() -> AsyncGenerator[int, None]:
        statuses.append(await client.head())
        await (other := web.door.client()).post(PING)
        statuses.append(await other.head())
        yield 15

    statuses: list[int] = []
    await (client := web.door.client()).post(request(1, "initialize", {}))
    async with (
        web.front().opened(TransportKind.STREAMABLE_HTTP, "/mcp") as front,
        aclosing(stop()) as coming,
    ):
        assert 0 == await serve(front, converse, coming, web.said.append)

    assert ([503, 503], [1]) == (statuses, served)
    [line] = web.said
    assert (
        "internal error (please report): a conversation was dropped: ValueError('wrong') in "
        in line
    )


async def test_who_is_let_in(web: Web, autojump_clock: MockClock) -> None:
    """Hosts and origins that were allowed are, besides those of this machine."""
    listening = HttpFront(hosts=frozenset({"mcp.example"}), origins=frozenset({"http://a.example"}))
    statuses = []
    async with (
        listening.opened(TransportKind.STREAMABLE_HTTP, "/mcp") as front,
        trio.open_nursery() as nursery,
    ):
        nursery.start_soon(front.listener.run)
        for host, origin in (
            ("evil.example", "http://a.example"),
            ("mcp.example", "http://evil.example"),
            (f"localhost:{PORT + 1}", "http://a.example"),
        ):
            caller = web.door.client()
            caller.authority = host
            await caller.post(PING, origin=origin)
            statuses.append(await caller.head())
        caller = web.door.client()
        caller.authority = "mcp.example"
        await caller.post(PING, origin="http://a.example")
        accepted = await front.listener.accept()
        nursery.cancel_scope.cancel()

    assert [421, 403, 421] == statuses
    assert 1 == accepted.conversation
