"""Redirects of requests that mcpmock makes itself."""

from __future__ import annotations

import pytest
import trio
from trio.testing import MockClock

from mcpmock.channels.http.client import MAX_SAID_BYTES, Credentials
from mcpmock.protocol.messages import (
    C2S,
    S2C,
    ExchangeEnd,
    Fragment,
    Frame,
    HttpBody,
    HttpResponse,
    SseMeta,
)
from mcpmock.protocol.transport_facts import Headers
from mcpmock.transports.locations import MAX_REDIRECTS
from tests.channels.http.http_talking import (
    Back,
    answer,
    back,
    everything,
    request,
    said,
    shown,
)

HEAD = (
    b"Host: 127.0.0.1:9000\r\nContent-Type: application/json\r\nAuthorization: Bearer t\r\n"
    b"Accept-Encoding: identity\r\n"
)


BODY = ("HttpBody", b"hi")


def redirect(location: str, status: int = 307) -> bytes:
    line = f"HTTP/1.1 {status} Moved\r\nLocation: {location}\r\nContent-Length: 2\r\n\r\nhi"
    return line.encode()


def asked(method: str, target: str, body: bytes = b"") -> bytes:
    length = b"Content-Length: %d\r\n" % len(body) if body else b""
    return f"{method} {target} HTTP/1.1\r\n".encode() + HEAD + length + b"\r\n" + body


async def plays(there: Back, *exchanges: tuple[bytes, bytes]) -> None:
    """A server to which these requests come, each on a connection of its own."""
    for expected, said_back in exchanges:
        server = await there.server()
        await server.reads(expected)
        await server.send(said_back)


def own(method: str = "POST") -> list[Frame]:
    head = request(method, "/mcp", ("Authorization", "Bearer t"))
    return said(1, head, b"{}") if method == "POST" else said(1, head)


@pytest.mark.parametrize("method", ["POST", "GET", "DELETE"])
@pytest.mark.parametrize("status", [307, 308])
async def test_redirects_are_followed(method: str, status: int, autojump_clock: MockClock) -> None:
    """The same request once more, with the same body and credentials; the client hears of the last
    answer only.
    """
    body = b"{}" * (method == "POST")
    moves = ["http://127.0.0.1:9000/mcp/", "/v2", "v3?x=1"]
    targets = ["/mcp", "/mcp/", "/v2", "/v3?x=1"]
    answers = [*(redirect(move, status) for move in moves), answer(b"[1]")]
    asks = [asked(method, target, body) for target in targets]
    async with back(follows=True) as there:
        receive = await there.send(*own(method))
        there.nursery.start_soon(plays, there, *zip(asks, answers, strict=True))

        assert [200, b"[1]", "eof"] == shown(await everything(receive))
        assert 4 == there.connected


@pytest.mark.parametrize(
    ("location", "status"),
    [
        ("http://other.example/mcp", 307),
        ("https://127.0.0.1:9000/mcp", 308),
        ("http://127.0.0.1:9001/mcp", 307),
        ("/mcp/", 302),
        ("/mcp/", 303),
    ],
)
async def test_other_redirects(location: str, status: int, autojump_clock: MockClock) -> None:
    """They are the answer, and nothing goes to where they lead."""
    async with back(follows=True) as there:
        receive = await there.send(*own())
        one = (asked("POST", "/mcp", b"{}"), redirect(location, status))
        there.nursery.start_soon(plays, there, one)

        assert [status, BODY, "eof"] == shown(await everything(receive))
        assert 1 == there.connected


async def test_a_loop(autojump_clock: MockClock) -> None:
    """Ten are followed; the eleventh is the answer."""
    async with back(follows=True) as there:
        receive = await there.send(*own())
        again = (asked("POST", "/mcp", b"{}"), redirect("/mcp"))
        there.nursery.start_soon(plays, there, *[again] * (MAX_REDIRECTS + 1))

        assert [307, BODY, "eof"] == shown(await everything(receive))
        assert 11 == there.connected


class Bearer:
    """The credentials that each request of `own` has."""

    def fields(self) -> Headers:
        return [("Authorization", "Bearer t")]

    async def renew(self, refused: HttpResponse, sent: Headers) -> str | None:
        raise AssertionError

    def refused_anew(self) -> str:
        raise AssertionError


@pytest.mark.parametrize("credentials", [None, Bearer()])
async def test_exchanges_of_clients(
    autojump_clock: MockClock, credentials: Credentials | None
) -> None:
    """Clients of ours see every redirect: it is theirs to follow, whoever logs in."""
    async with back(credentials=credentials) as there:
        receive = await there.send(*own())
        there.nursery.start_soon(plays, there, (b"POST /mcp ", redirect("/mcp/")))

        assert [307, BODY, "eof"] == shown(await everything(receive))


async def test_a_request_too_long_to_be_kept(autojump_clock: MockClock) -> None:
    """It is not sent again."""
    async with back(follows=True) as there:
        head = request("POST", "/mcp", ("Content-Length", str(MAX_SAID_BYTES + 1)))
        pieces = [
            Frame(C2S, b"x" * size, b"", Fragment(last=last), 1)
            for size, last in ((MAX_SAID_BYTES, False), (1, True))
        ]
        receive = await there.send(*said(1, head), *pieces)
        there.nursery.start_soon(plays, there, (b"POST /mcp", redirect("/mcp/")))

        assert [307, BODY, "eof"] == shown(await everything(receive))


async def test_a_request_that_a_fault_cuts(autojump_clock: MockClock) -> None:
    """It is not sent again whole: the client sees the redirect."""
    async with back(follows=True) as there:
        head = request("POST", "/mcp", ("Content-Length", "9"))
        cut = Frame(C2S, b'{"js', b"", HttpBody(more=True, unframed=True), exchange=1)
        receive = await there.send(*said(1, head), cut)
        there.nursery.start_soon(plays, there, (b"POST /mcp", redirect("/mcp/")))

        assert [307, BODY, "eof"] == shown(await everything(receive))
        assert 1 == there.connected


async def test_a_client_that_leaves_meanwhile(autojump_clock: MockClock) -> None:
    """The request is not sent on."""
    async with back(follows=True) as there:
        receive = await there.send(*own())

        async def leave() -> None:
            await plays(there, (asked("POST", "/mcp", b"{}"), b""))
            there.channel.send_nowait([Frame(C2S, fact=ExchangeEnd("closed"), exchange=1)])

        there.nursery.start_soon(leave)
        with pytest.raises(trio.EndOfChannel):
            await receive()
        assert 1 == there.connected


async def test_the_endpoint_behind_a_redirect(autojump_clock: MockClock) -> None:
    """HTTP+SSE: a relative endpoint is meant from where the stream is."""
    events = (
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
        b"event: endpoint\ndata: messages?s=1\n\n"
    )
    async with back(follows=True) as there:
        receive = await there.send(*own("GET"))
        one = (asked("GET", "/mcp"), redirect("/sse/"))
        there.nursery.start_soon(plays, there, one, (asked("GET", "/sse/"), events))
        frames: list[Frame] = []
        while len(frames) < 3:
            frames += await receive()

    assert SseMeta(event="endpoint") == frames[1].fact
    assert (S2C, b"/sse/messages?s=1") == (frames[2].direction, frames[2].raw)
