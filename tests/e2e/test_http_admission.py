"""What commands that listen let in: record, proxy and replay apply the same rules, and refused
requests reach neither the server nor the cassette.

Which heads, chunks, hosts, origins and content types are refused is tested in tests/transports and
tests/channels/http, the timeouts of slow clients in tests/channels/http/test_connection.py.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import trio
from msgspec import UNSET

from mcpmock.cassette.model import event_line
from mcpmock.channels.http.connection import HEAD_TIMEOUT_S
from tests.support import JSON_HEADER, answers, post, request, response
from tests.support.http_caller import HungUpError, calling, posts
from tests.support.http_upstream import Asked, Reply, Upstream, answers_all, upstream
from tests.support.processes import END, takes

from .http_processes import Served, proxying, recording, replaying

pytestmark = pytest.mark.e2e

PING = request(1, "ping")
_EXCHANGE = [*post(1, PING), *answers(1, response(1))]
PLAYED = b"".join([JSON_HEADER, *(event_line(n, n, f) for n, f in enumerate(_EXCHANGE, 1))])
"""A cassette with one ping, without a session."""


@dataclass
class Fronts:
    """A recorder and a proxy, each in front of a server, and a player in place of one."""

    every: tuple[Served, Served, Served]
    servers: tuple[Upstream, Upstream]
    cassette: Path

    def let_in(self) -> int:
        """How many requests each server received; the cassette has no more and no fewer."""
        events = takes(self.cassette)[0].events
        heads = [e for e in events if e.d == "c2s" and e.http is not UNSET]
        assert [len(server.asked) for server in self.servers] == [len(heads)] * 2
        return len(heads)


@asynccontextmanager
async def fronts(folder: Path, *options: str) -> AsyncIterator[Fronts]:
    """All three with these options."""
    played, cassette = folder / "played.jsonl", folder / "a.jsonl"
    played.write_bytes(PLAYED)
    async with upstream(answers_all) as server, upstream(answers_all) as other:
        with (
            recording(cassette, server.url, *options) as recorder,
            proxying(*options, "--url", other.url) as proxy,
            replaying(played, *options) as player,
        ):
            yield Fronts((recorder, proxy, player), (server, other), cassette)
    assert [recorder.exit_code, proxy.exit_code] == [0, 0]
    assert server.torn == other.torn == []


def ping(front: Served, *fields: str, host: str = "", body: bytes = PING) -> bytes:
    """A POST with these header lines besides those that it needs."""
    lines = ["POST /mcp HTTP/1.1", f"Host: {host or urlsplit(front.url).netloc}", *fields]
    head = "\r\n".join([*lines, f"Content-Length: {len(body)}", "", ""])
    return head.encode() + body


async def statuses(front: Served, data: bytes) -> list[int]:
    """The statuses of all responses to these bytes, until the server closes the connection."""
    found: list[int] = []
    async with calling(front.url) as caller:
        await caller.send(data)
        try:
            while True:
                found.append((await caller.answer()).status)
        except HungUpError:
            return found


JSON = "Content-Type: application/json"
SMUGGLED = b"GET /smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n"


def refused(front: Served) -> dict[str, tuple[bytes, int]]:
    """One request for each rule, and its status."""
    return {
        "ambiguous": (ping(front, JSON, "Transfer-Encoding: chunked") + SMUGGLED, 400),
        "a foreign host": (ping(front, JSON, host="evil.example"), 421),
        "a foreign origin": (ping(front, JSON, "Origin: http://evil.example"), 403),
        "a form": (ping(front, "Content-Type: text/plain"), 415),
        "a long head": (ping(front, JSON, *["X: 1"] * 10_000), 431),
    }


async def test_refused_requests(tmp_path: Path) -> None:
    """Each has its status, after which the connection closes; the next client is served."""
    async with fronts(tmp_path) as three:
        for front in three.every:
            expected = {name: [status] for name, (_, status) in refused(front).items()}
            found = {
                name: await statuses(front, data) for name, (data, _) in refused(front).items()
            }

            assert expected == found
            assert (await posts(front.url, PING)).status == 200
        assert three.let_in() == 1


async def test_requests_on_one_connection(tmp_path: Path) -> None:
    """Pipelined requests reach the server as often as they are sent; a request in a body is part of
    the body.
    """
    async with fronts(tmp_path) as three:
        for front in three.every[:2]:
            last = ping(front, JSON, "Connection: close", body=SMUGGLED)
            assert await statuses(front, ping(front, JSON) * 4 + last) == [200] * 5
        assert three.let_in() == 5
    assert [server.bodies() for server in three.servers] == [[PING] * 4 + [SMUGGLED]] * 2


async def test_allowed_names(tmp_path: Path) -> None:
    """An allowed Host and Origin reach the server unchanged, so that its own check still applies;
    our own authority becomes the server's.
    """
    options = ["--allow-host", "mcp.example", "--allow-origin", "https://app.example:8443"]
    named = "Origin: https://app.example:8443"
    async with fronts(tmp_path, *options) as three:
        for front in three.every:
            ours = urlsplit(front.url).netloc
            for origin, host in ((named, "mcp.example"), (f"Origin: http://{ours}", ours)):
                async with calling(front.url) as caller:
                    await caller.send(ping(front, JSON, origin, host=host))
                    await caller.head()
        assert three.let_in() == 2
    for server in three.servers:
        theirs = urlsplit(server.url).netloc
        assert [(one.header("host"), one.header("origin")) for one in server.asked] == [
            ("mcp.example", "https://app.example:8443"),
            (theirs, f"http://{theirs}"),
        ]


async def test_slow_clients(tmp_path: Path) -> None:
    """Other clients are served beside a hundred that do not end their heads and as many that do not
    end their bodies; SIGTERM ends it all.
    """
    async with fronts(tmp_path) as three:
        for front in three.every[::2]:
            whole = ping(front, JSON)
            async with trio.open_nursery() as nursery:
                for nth in range(200):
                    await nursery.start(stay, front.url, whole[:-60] if nth % 2 else whole[:-1])
                with trio.fail_after(HEAD_TIMEOUT_S * 2 / 3):
                    assert (await posts(front.url, PING)).status == 200
                front.process.terminate()
                front.process.wait(END)
                nursery.cancel_scope.cancel()
        await posts(three.every[1].url, PING)
        assert three.let_in() == 1


async def stay(url: str, data: bytes, task_status: trio.TaskStatus[None]) -> None:
    async with calling(url) as caller:
        await caller.send(data)
        task_status.started()
        await trio.sleep_forever()


def bound_addresses(front: Served) -> set[str]:
    """The addresses that its port is bound to, as `ss -ltn` shows them, in hex."""
    rows = [
        row.split()
        for table in ("tcp", "tcp6")
        for row in Path(f"/proc/net/{table}").read_text("ascii").splitlines()[1:]
    ]
    listening = [row[1].split(":") for row in rows if row[3] == "0A"]
    return {host for host, port in listening if int(port, 16) == urlsplit(front.url).port}


@pytest.mark.parametrize(
    ("listen", "bound"), [("[::1]:0", {"0" * 24 + "01000000"}), (":0", {"0100007F"})]
)
async def test_loopback_addresses(tmp_path: Path, listen: str, bound: set[str]) -> None:
    """By default the socket is bound to a loopback address and no other; the printed URL works."""
    async with upstream(answers_all) as server:
        with recording(tmp_path / "a.jsonl", server.url, "--listen", listen) as recorder:
            assert bound_addresses(recorder) == bound
            assert (await posts(recorder.url, PING)).status == 200


async def test_a_dangerous_address_takes_a_token(tmp_path: Path) -> None:
    """Beyond loopback each run requires a token of its own, which it prints; the token reaches
    neither the server nor the cassette, and other header fields reach the server.
    """
    theirs = "Bearer theirs-theirs-theirs"
    tokens = []
    async with fronts(tmp_path, "--listen", "0.0.0.0:0", "--dangerously-bind") as three:
        for front in three.every:
            front.url = front.url.replace("0.0.0.0", "127.0.0.1")
            tokens.append(await printed(front))
            refused = await posts(front.url, PING, authorization=theirs)
            both = {"authorization": theirs, "mcpmock_token": tokens[-1]}
            assert refused.status == 401
            assert (await posts(front.url, PING, **both)).status == 200
        assert three.let_in() == 1
    assert len(set(tokens)) == 3
    for server in three.servers:
        [asked] = server.asked
        assert (asked.header("mcpmock-token"), asked.header("authorization")) == (None, theirs)
    kept = three.cassette.read_bytes()
    assert [token for token in (*tokens, theirs) if token.encode() in kept] == []


async def printed(served: Served) -> str:
    """The token that a listener prints on its second line."""
    with served.came:
        while not (found := re.search(r"Authorization: Bearer (\S+)", served.stderr)):
            assert served.came.wait(END)
    return found[1]


async def test_credentials_go_to_their_server_only(tmp_path: Path) -> None:
    """A redirect reaches the client unchanged and is not followed; credentials reach the server
    that they are for, and no cassette.
    """

    async def script(asked: Asked, reply: Reply) -> None:
        await reply.whole(status=307, location=other.url)

    secret = "hunter2hunter2hunter2"
    async with upstream(answers_all) as other, upstream(script) as server:
        with recording(tmp_path / "a.jsonl", server.url) as recorder:
            answer = await posts(recorder.url, PING, authorization=f"Bearer {secret}")

    assert (answer.status, answer.header("location")) == (307, other.url)
    assert [asked.header("authorization") for asked in server.asked] == [f"Bearer {secret}"]
    assert other.asked == []
    assert secret.encode() not in (tmp_path / "a.jsonl").read_bytes()
