"""The servers behind a run: processes and URLs, and the translation to and from them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import memory_stream_pair

from mcpmock.channels.channel import MemoryChannel, memory_pair
from mcpmock.channels.child_process import ChildProcess
from mcpmock.channels.http.client import HttpClientChannel
from mcpmock.channels.process import ProcessChannel
from mcpmock.errors import CannotStart, McpMockError
from mcpmock.sessions import servers
from mcpmock.sessions.servers import Command, Reach
from mcpmock.sessions.take import Say
from mcpmock.sessions.url_server import Url
from mcpmock.transports.http_sse import SseClient
from mcpmock.transports.session_router import TransportKind
from mcpmock.transports.streamable_http.client import StreamableHttpClient
from tests.support import request

PING = request(1, "ping")


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
    """It is the one that is named, else the one that the path suggests."""
    url = f"http://localhost{path}"

    assert kind is Url.parse(url).kind
    assert [TransportKind.SSE, TransportKind.STREAMABLE_HTTP] == [
        Url.parse(url, k).kind for k in reversed(TransportKind)
    ]


def test_an_invalid_url() -> None:
    """It is said in one line."""
    with pytest.raises(McpMockError, match=r"^ftp://x: not an http"):
        Url.parse("ftp://x")


def test_rules_of_servers() -> None:
    """A process takes bare messages; a URL has the rules of its transport."""
    [sse] = Url.parse("http://localhost/sse").translation(count(1))
    [streamable] = Url.parse("http://localhost/mcp").translation(count(1))

    assert [] == Command(["server"]).translation(count(1))
    assert isinstance(sse, SseClient)
    assert isinstance(streamable, StreamableHttpClient)


async def test_a_process_for_each_conversation(monkeypatch: pytest.MonkeyPatch) -> None:
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
    ("program", "status"),
    [("no-such-server", 127), ("plain", 127), ("{}/missing", 127), ("{}/plain", 126)],
)
def test_a_command_that_is_sure_to_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str, status: int
) -> None:
    """`check` finds it before a client needs it. A server at a URL may start later."""
    (tmp_path / "plain").touch()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CannotStart) as caught:
        Command([program.format(tmp_path)]).check(print)

    assert status == caught.value.exit_code
    Command(["sh", "-c", "exit 1"]).check(print)
    Url.parse("http://no-such-server.invalid/").check(print)


async def test_a_process_that_runs_already(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the server of the first conversation; the next one has another."""
    running = ChildProcess([sys.executable, "-c", "input()"])

    async def start(_command: Sequence[str]) -> MemoryChannel:
        return memory_pair()[0]

    monkeypatch.setattr(servers, "start_process", start)
    server, reach = Command(["server"], [running]), Reach(print)
    first = await server.open(reach)
    second = await server.open(reach)
    await first.aclose()

    assert isinstance(first, ProcessChannel)
    assert running.process.pid == first.pid
    assert isinstance(second, MemoryChannel)


async def test_the_login_of_a_url() -> None:
    """It is told, where there is one, and opened before the first conversation."""
    told: list[dict[str, Any]] = []
    opened: list[Say] = []

    class Login:
        def open(self, say: Say) -> None:
            opened.append(say)

        def watch(self, watcher: Callable[[dict[str, Any]], None]) -> None:
            watcher({"how": "oauth"})

    Url.parse("http://localhost/mcp").watch_authorization(told.append)
    server = Url.parse("http://localhost/mcp", credentials=Login())  # type: ignore[arg-type]
    server.watch_authorization(told.append)
    await server.open(Reach(print))

    assert ([{"how": "oauth"}], [print]) == (told, opened)


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
