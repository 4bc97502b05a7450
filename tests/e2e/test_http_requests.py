"""What is taken for a request: bytes that two parsers may read in two ways are refused, what is too
long or too slow holds nobody up, and the server is asked what clients asked, no more.

How long we wait for the slow is tested in tests/channels/http/test_connection.py, on a clock that
jumps.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import trio

from mcpmock.channels.http.connection import HEAD_TIMEOUT_S
from mcpmock.transports.headers import MAX_FIELDS
from tests.support import request
from tests.support.http_caller import Caller, HungUpError, calling, posts
from tests.support.http_upstream import answers_all, upstream
from tests.support.processes import whole_take

from .http_fronts import PING, fronts
from .http_processes import Served, recording, replaying

pytestmark = pytest.mark.e2e

HERE = b"host.here:00000"
"""Stands for our authority, and is as long: lengths of bodies with it stay right."""
SMUGGLED = b"GET /smuggled HTTP/1.1\r\nHost: %b\r\n\r\n" % HERE
MIB = 1 << 20
QUIET = 2.0
"""Seconds after which nothing more is expected; only tests that fail wait for so long."""


def post(*fields: bytes, body: bytes = b"", line: bytes = b"POST /mcp HTTP/1.1") -> bytes:
    """A request with these fields behind the ones that it needs."""
    head = [line, b"Host: %b" % HERE, b"Content-Type: application/json", *fields, b"", b""]
    return b"\r\n".join(head) + body


def get(*lines: bytes, line: bytes = b"GET /mcp HTTP/1.1") -> bytes:
    return b"\r\n".join([line, *lines, b"", b""])


HOST = b"Host: %b" % HERE
LENGTH = b"Content-Length: %d" % len(PING)
CHUNKED = b"Transfer-Encoding: chunked"
IN_CHUNKS = b"%x\r\n%b\r\n0\r\n\r\n" % (len(PING), PING)

REFUSED = {
    "length and chunked": post(b"Content-Length: 5", CHUNKED, body=b"0\r\n\r\n" + SMUGGLED),
    "chunked and length": post(CHUNKED, b"Content-Length: 5", body=b"0\r\n\r\n" + SMUGGLED),
    "two lengths": post(b"Content-Length: 0", LENGTH, body=SMUGGLED),
    "the same length twice": post(LENGTH, LENGTH, body=PING),
    "a list of lengths": post(b"Content-Length: 40, 40", body=PING),
    "length +5": post(b"Content-Length: +5", body=b"12345"),
    "length -1": post(b"Content-Length: -1", body=b"12345"),
    "length 0x5": post(b"Content-Length: 0x5", body=b"12345"),
    "length 1_0": post(b"Content-Length: 1_0", body=b"1234567890"),
    "no length": post(b"Content-Length:", body=SMUGGLED),
    "a huge length": post(b"Content-Length: " + b"9" * 30),
    "length in other digits": post(b"Content-Length: \xd9\xa5", body=b"12345"),
    "chunked, identity": post(b"Transfer-Encoding: chunked, identity", body=IN_CHUNKS),
    "identity": post(b"Transfer-Encoding: identity", body=IN_CHUNKS),
    "xchunked": post(b"Transfer-Encoding: xchunked", body=IN_CHUNKS),
    "chunked in quotes": post(b'Transfer-Encoding: "chunked"', body=IN_CHUNKS),
    "chunked with a vertical tab": post(b"Transfer-Encoding: \x0bchunked", body=IN_CHUNKS),
    "chunked twice": post(CHUNKED, CHUNKED, body=IN_CHUNKS),
    "chunked, then identity": post(CHUNKED, b"Transfer-Encoding: identity", body=IN_CHUNKS),
    "space before the colon": post(b"Transfer-Encoding : chunked", body=IN_CHUNKS),
    "tab before the colon": post(b"Content-Length\t: 5", body=b"12345"),
    "a folded field": post(b"X-A: 1", b" 2", LENGTH, body=PING),
    "a folded length": post(b"Content-Length:", b"\t40", body=PING),
    "a folded first field": get(b" X-A: 1", HOST),
    "a bare LF": post(b"X-A: 1\nTransfer-Encoding: chunked", body=IN_CHUNKS),
    "bare LFs only": b"GET /mcp HTTP/1.1\nHost: %b\n\n" % HERE,
    "an LF at the end": b"GET /mcp HTTP/1.1\r\nHost: %b\r\n\n" % HERE,
    "a bare CR": post(b"X-A: 1\rTransfer-Encoding: chunked", body=IN_CHUNKS),
    "CR CR LF": b"GET /mcp HTTP/1.1\r\r\nHost: %b\r\n\r\n" % HERE,
    "NUL in a value": get(HOST, b"X-A: 1\x002"),
    "NUL in a name": get(HOST, b"X-\x00A: 1"),
    "NUL in the target": get(HOST, line=b"GET /m\x00cp HTTP/1.1"),
    "DEL in a value": get(HOST, b"X-A: \x7f"),
    "an escape in a value": get(HOST, b"X-A: \x1b[2J"),
    "no colon": get(HOST, b"X-A"),
    "no name": get(HOST, b": 1"),
    "a name with a space": get(HOST, b"X A: 1"),
    "a name in other letters": get(HOST, b"X-\xe9: 1"),
    "two hosts": get(HOST, HOST),
    "an absolute target": get(HOST, line=b"GET http://%b/mcp HTTP/1.1" % HERE),
    "an absolute foreign target": get(HOST, line=b"GET http://evil.example/mcp HTTP/1.1"),
    "an authority": get(HOST, line=b"CONNECT evil.example:443 HTTP/1.1"),
    "a star": get(HOST, line=b"GET * HTTP/1.1"),
    "a relative target": get(HOST, line=b"GET mcp HTTP/1.1"),
    "a fragment": get(HOST, line=b"GET /mcp#x HTTP/1.1"),
    "two spaces": get(HOST, line=b"GET  /mcp HTTP/1.1"),
    "a space in the target": get(HOST, line=b"GET /m cp HTTP/1.1"),
    "a tab": get(HOST, line=b"GET\t/mcp HTTP/1.1"),
    "a space behind": get(HOST, line=b"GET /mcp HTTP/1.1 "),
    "HTTP/2.0": get(HOST, line=b"GET /mcp HTTP/2.0"),
    "HTTP/1.10": get(HOST, line=b"GET /mcp HTTP/1.10"),
    "http/1.1": get(HOST, line=b"GET /mcp http/1.1"),
    "HTTP/0.9": b"GET /mcp\r\n\r\n",
    "the preface of HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "no method": get(HOST, line=b" /mcp HTTP/1.1"),
    "a method in brackets": get(HOST, line=b"<GET> /mcp HTTP/1.1"),
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(range(200)),
    "noise": b"\x00\x01\x02\x03\r\n\r\n",
    "JSON": PING + b"\n\r\n\r\n",
    "chunk of zz": post(CHUNKED, body=b"zz\r\n\r\n0\r\n\r\n"),
    "chunk of -1": post(CHUNKED, body=b"-1\r\n\r\n0\r\n\r\n"),
    "chunk of 0x5": post(CHUNKED, body=b"0x5\r\n12345\r\n0\r\n\r\n"),
    "chunk of +5": post(CHUNKED, body=b"+5\r\n12345\r\n0\r\n\r\n"),
    "chunk of far too much": post(CHUNKED, body=b"f" * 30 + b"\r\n12345\r\n0\r\n\r\n"),
    "a chunk that goes on": post(CHUNKED, body=b"5\r\n1234567\r\n0\r\n\r\n"),
    "a chunk behind a bare LF": post(CHUNKED, body=b"5\n12345\r\n0\r\n\r\n" + b" " * 64),
    "a chunk with a bare LF": post(CHUNKED, body=b"5\r\n12345\n0\r\n\r\n"),
}
"""Requests that a second parser might read differently; each with a 400 as its answer."""


async def send_to(caller: Caller, data: bytes) -> None:
    here = caller.authority.encode()
    assert len(here) == len(HERE)
    await caller.send(data.replace(HERE, here))


async def answered(url: str, data: bytes) -> list[int | str]:
    """What these bytes are answered with until we are hung up on, or nothing comes any more."""
    found: list[int | str] = []
    async with calling(url) as caller:
        await send_to(caller, data)
        try:
            with trio.fail_after(QUIET):
                while True:
                    found.append((await caller.answer()).status)
        except HungUpError:
            return found
        except trio.TooSlowError:
            return [*found, "and waits"]


async def is_served(served: Served) -> bool:
    return (await posts(served.url, PING)).status == 200


async def test_ambiguous_requests(tmp_path: Path) -> None:
    """Each is 400 and the connection closes: nothing of it, or of what is behind it, reaches the
    server or the cassette, and the next client is served.
    """
    async with fronts(tmp_path) as three:
        for front in three.every:
            found = {name: await answered(front.url, data) for name, data in REFUSED.items()}
            wrong = {name: statuses for name, statuses in found.items() if statuses != [400]}

            assert wrong == {}
            assert await is_served(front)
        assert three.let_in() == 1
    assert len(whole_take(three.cassette).events) == 5


TAKEN = {
    "two in one go": (post(LENGTH, body=PING) * 2, 2),
    "five in one go": (post(LENGTH, body=PING) * 5, 5),
    "a request in a body": (post(b"Content-Length: %d" % len(SMUGGLED), body=SMUGGLED), 1),
    "a request in the body of a GET": (
        get(HOST, b"Content-Length: %d" % len(SMUGGLED)) + SMUGGLED,
        1,
    ),
    "a request in a chunk": (
        post(CHUNKED, body=b"%x\r\n%b\r\n0\r\n\r\n" % (len(SMUGGLED), SMUGGLED)),
        1,
    ),
    "chunked": (post(CHUNKED, body=IN_CHUNKS), 1),
    "CHUNKED": (post(b"TRANSFER-ENCODING: CHUNKED", body=IN_CHUNKS), 1),
    "chunks with extensions": (
        post(CHUNKED, body=b'%x;a="b"\r\n%b\r\n0;c\r\n\r\n' % (len(PING), PING)),
        1,
    ),
    "byte by byte in chunks": (
        post(CHUNKED, body=b"".join(b"1\r\n%c\r\n" % c for c in PING) + b"0\r\n\r\n"),
        1,
    ),
    "trailers": (
        post(CHUNKED, b"Trailer: X-A", body=IN_CHUNKS[:-2] + b"Content-Length: 5\r\n\r\n"),
        1,
    ),
    "a folded trailer": (post(CHUNKED, body=IN_CHUNKS[:-2] + b"X-A: 1\r\n 2\r\n\r\n"), 1),
    "a connection that names its length": (
        post(b"Connection: content-length, host, close", LENGTH, body=PING),
        1,
    ),
    "an upgrade": (post(b"Connection: upgrade", b"Upgrade: h2c", LENGTH, body=PING), 1),
    "empty lines before it": (b"\r\n\r\n" + post(LENGTH, body=PING), 1),
    "HTTP/1.0": (get(HOST, line=b"GET /mcp HTTP/1.0"), 1),
    "a slash in front of it all": (get(HOST, line=b"GET //evil.example/mcp HTTP/1.1"), 1),
    "a star for all": (get(HOST, line=b"OPTIONS * HTTP/1.1"), 1),
}
"""Odd requests that mean one thing only, and how many they are."""


async def test_odd_requests(tmp_path: Path) -> None:
    """Each reaches the server as often as it is one, whole, with its own length, and without the
    fields of the client's connection.
    """
    hop = {"connection", "upgrade", "trailer", "te", "keep-alive"}
    async with fronts(tmp_path) as three:
        for front, server in zip((three.recorder, three.proxy), three.servers, strict=True):
            found = {}
            for name, (data, count) in TAKEN.items():
                before = len(server.asked)
                async with calling(front.url) as caller:
                    await send_to(caller, data)
                    for _ in range(count):
                        await caller.answer()
                found[name] = len(server.asked) - before

            assert found == {name: count for name, (_, count) in TAKEN.items()}
            assert not [asked for asked in server.asked if "smuggled" in asked.target]
            assert not [a for a in server.asked if hop & {name.lower() for name, _ in a.headers}]
            assert all(a.body in (PING, b"") for a in server.asked if b"smuggled" not in a.body)
        assert three.let_in() == sum(count for _, count in TAKEN.values())


async def test_an_expected_continue(tmp_path: Path) -> None:
    """A client that asks first is told to go on, and heard once."""
    async with upstream(answers_all) as server:
        with recording(tmp_path / "a.jsonl", server.url) as recorder:
            async with calling(recorder.url) as caller:
                head = post(LENGTH, b"Expect: 100-continue")
                await send_to(caller, head)
                with trio.fail_after(10):
                    assert (await caller.stream.receive_some(1000)).startswith(b"HTTP/1.1 100 ")
                    await caller.send(PING)
                    assert (await caller.answer()).status == 200
    assert server.bodies() == [PING]


# Too long, too slow.


async def test_long_heads(tmp_path: Path) -> None:
    """A head of ten thousand fields or of a megabyte is 431, and costs nobody anything."""
    fits = [b"Connection: close", *[b"X: 1"] * (MAX_FIELDS - 2)]
    long = (
        get(HOST, *[b"X: 1"] * MAX_FIELDS),
        get(HOST, *[b"X-%d: 1" % n for n in range(10_000)]),
        get(HOST, b"X: " + b"a" * MIB),
        get(HOST, line=b"GET /" + b"a" * MIB + b" HTTP/1.1"),
        b"G" * MIB,
    )
    async with fronts(tmp_path) as three:
        for front in three.every:
            found = [await answered(front.url, data) for data in (get(HOST, *fits), *long)]

            assert found == [[405 if front is three.player else 200], *[[431]] * len(long)]
            assert await is_served(front)
        assert three.let_in() == 2


@pytest.mark.parametrize("chunked", [False, True])
async def test_long_bodies(tmp_path: Path, chunked: bool) -> None:
    """Five megabytes are recorded as they are; to a replay they are 413."""
    body = request(1, "m", {"text": "x" * 5 * MIB})
    pieces = [body[at : at + MIB] for at in range(0, len(body), MIB)]
    data = (
        post(CHUNKED, body=b"".join(b"%x\r\n%b\r\n" % (len(p), p) for p in [*pieces, b""]))
        if chunked
        else post(b"Content-Length: %d" % len(body), body=body)
    )

    async def ask(caller: Caller) -> int:
        await send_to(caller, data)
        return (await caller.answer()).status

    async with upstream(answers_all) as server:
        with recording(tmp_path / "a.jsonl", server.url) as recorder:
            async with calling(recorder.url) as caller:
                assert await ask(caller) == 200
            assert await is_served(recorder)
    with replaying(tmp_path / "a.jsonl") as player:
        async with calling(player.url) as caller:
            assert await ask(caller) == 413
        assert await is_served(player)

    assert server.bodies() == [body, PING]
    assert body in [event.payload for event in whole_take(tmp_path / "a.jsonl").events]


async def test_slow_clients_hold_up_nobody(tmp_path: Path) -> None:
    """Beside three hundred clients that do not end their heads, and as many that do not end their
    bodies, others are served at once, and SIGTERM ends it all within 2 s.
    """
    async with fronts(tmp_path) as three:
        for front in three.every:
            async with trio.open_nursery() as nursery:
                slow = trio.Event()
                for nth in range(600):
                    data = post(LENGTH, body=PING[:-1])
                    data = data[:-60] if nth % 2 else data
                    await nursery.start(stay, front.url, data, slow)
                with trio.fail_after(HEAD_TIMEOUT_S / 3):
                    for _ in range(50):
                        assert await is_served(front)
                since = trio.current_time()
                front.process.terminate()
                front.process.wait(10)
                took = trio.current_time() - since
                slow.set()
            assert took < 2
        assert [len(server.asked) for server in three.servers] == [50, 50]


async def stay(
    url: str, data: bytes, until: trio.Event, task_status: trio.TaskStatus[None]
) -> None:
    async with calling(url) as caller:
        await send_to(caller, data)
        task_status.started()
        await until.wait()
