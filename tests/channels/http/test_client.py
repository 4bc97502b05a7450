"""A server at a URL as a channel, over memory streams and a mock clock."""

from __future__ import annotations

import pytest
import trio
from trio.testing import MockClock, memory_stream_pair, wait_all_tasks_blocked

from mcpmock.channels.channel import MAX_HELD_BYTES
from mcpmock.channels.http.addresses import MAX_IDLE_S
from mcpmock.channels.http.client import END_TIMEOUT_S
from mcpmock.errors import McpMockError
from mcpmock.protocol.messages import (
    C2S,
    ExchangeEnd,
    Fragment,
    Frame,
    HttpBody,
    HttpRequest,
    HttpResponse,
    SseMeta,
    StreamEnd,
)
from tests.channels.http.http_talking import (
    GET,
    Back,
    Peer,
    Streams,
    answer,
    back,
    everything,
    of,
    post,
    request,
    said,
    shown,
    socket_pair,
)
from tests.support import c2s, hangs_up

MANY = 500
SENT = (
    b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:9000\r\nContent-Type: application/json\r\n"
    b"Accept-Encoding: identity\r\nContent-Length: 2\r\n\r\n{}"
)
OPENED = b"GET /mcp HTTP/1.1\r\nHost: 127.0.0.1:9000\r\nContent-Type: application/json\r\n"
STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
CHUNKS = STREAM + b"Transfer-Encoding: chunked\r\n\r\n"
LISTENING = said(1, request("GET"))


def posted(number: int, body: bytes = b"{}") -> list[Frame]:
    return said(number, request(), body)


async def test_an_exchange(autojump_clock: MockClock) -> None:
    """A request goes out in one piece, mapped to the server; its answer comes in one batch."""
    async with back() as there:
        receive = await there.send(*posted(1))
        there.nursery.start_soon(_answers, there, answer(b"[1]"))
        frames = await receive()

        assert [200, b"[1]", "eof"] == shown(frames)
        assert {1} == {frame.exchange for frame in frames}
        with pytest.raises(trio.EndOfChannel):
            await receive()
        assert 0.0 == trio.current_time()


async def _answers(there: object, data: bytes) -> None:
    server = await there.server()  # type: ignore[attr-defined]
    await server.reads(SENT)
    await server.send(data)


async def test_a_number_given_twice(autojump_clock: MockClock) -> None:
    """Two exchanges that a stage gave one number both get a response and end."""
    async with back() as there:
        receivers = [await there.send(*posted(1)) for _ in range(2)]
        for receive in receivers:
            there.nursery.start_soon(_answers, there, answer(b"[]"))
            assert [200, b"[]", "eof"] == shown(await everything(receive))


async def test_heads_come_as_they_are(autojump_clock: MockClock) -> None:
    """Spelling, order and repetitions of an answer's head are kept, and all its fields."""
    async with back() as there:
        receive = await there.send(*posted(1))
        there.nursery.start_soon(
            _answers,
            there,
            b"HTTP/1.1 418 \xe9 teapot\r\nsEt-cookie: a\r\nB:b\r\nSet-Cookie: \xe9\r\n"
            b"Connection: keep-alive\r\nContent-Length: 0\r\n\r\n",
        )
        frames = await receive()

        fields = [("sEt-cookie", "a"), ("B", "b"), ("Set-Cookie", "é")]
        fields += [("Connection", "keep-alive"), ("Content-Length", "0")]
        assert [HttpResponse(418, "é teapot", fields), ExchangeEnd()] == [f.fact for f in frames]


async def test_events_come_one_by_one(autojump_clock: MockClock) -> None:
    """Each event of a stream comes when it does, however chunks cut it."""
    async with back() as there:
        receive = await there.send(*LISTENING)
        got: list[list[object]] = []

        async def listen() -> None:
            while True:
                try:
                    got.append(shown(await receive()))
                except trio.EndOfChannel:
                    return

        there.nursery.start_soon(listen)
        server = await there.server()
        await server.reads(OPENED)
        await server.send(STREAM + b"Transfer-Encoding: chunked\r\n\r\n")
        await wait_all_tasks_blocked()
        for piece in (
            b"9\r\ndata: 1\n\n\r\n4\r\nid: \r\n",
            b"6\r\n7\ndata\r\n4\r\n: 2\n\r\n",
            b"1\r\n\n\r\n",
        ):
            await server.send(piece)
            await wait_all_tasks_blocked()
        await server.send(b"0\r\n\r\n")
        await wait_all_tasks_blocked()

        assert [[200], [b"1"], [("SseMeta", b""), b"2"], ["eof"]] == got


@pytest.mark.parametrize("gap", [0.0, MAX_IDLE_S - 0.1, MAX_IDLE_S, 5.0])
async def test_connections_are_used_again(autojump_clock: MockClock, gap: float) -> None:
    """A connection is reused if it was idle for less than MAX_IDLE_S, else closed."""
    async with back() as there:
        receive = await there.send(*posted(1))
        there.nursery.start_soon(receive)
        server = await there.server()
        await server.reads(SENT)
        await server.send(answer(b"[]"))
        await wait_all_tasks_blocked()
        await trio.sleep(gap)
        receive = await there.send(*posted(2))
        there.nursery.start_soon(receive)
        await wait_all_tasks_blocked()

        assert (1 if gap < MAX_IDLE_S else 2) == there.connected
        assert (SENT if gap < MAX_IDLE_S else b"") == await server.stream.receive_some()


NOT_AGAIN = {
    "it says so": answer(b"[]").replace(b"\r\n", b"\r\nConnection: close\r\n", 1),
    "HTTP/1.0": answer(b"[]").replace(b"HTTP/1.1", b"HTTP/1.0"),
    "more came": answer(b"[]") + b"HTTP/1.1 200 OK\r\n",
}


@pytest.mark.parametrize("name", NOT_AGAIN)
async def test_connections_that_are_not_used_again(autojump_clock: MockClock, name: str) -> None:
    """An answer behind which nothing can come ends its connection."""
    async with back() as there:
        receive = await there.send(*posted(1))
        there.nursery.start_soon(_answers, there, NOT_AGAIN[name])
        assert [200, b"[]", "eof"] == shown(await receive())
        there.nursery.start_soon(await there.send(*posted(2)))
        await wait_all_tasks_blocked()

        assert 2 == there.connected


@pytest.mark.parametrize("how", ["HTTP/1.0", "no length"])
async def test_an_answer_that_ends_with_its_connection(autojump_clock: MockClock, how: str) -> None:
    """A response without a length is whole when the server closes the connection."""
    async with back() as there:
        receive = await there.send(*LISTENING)
        got = [False]

        async def listen() -> None:
            assert [200, b"1", b"2", "eof"] == shown(await everything(receive))
            got[0] = True

        there.nursery.start_soon(listen)
        server = await there.server()
        version = b"HTTP/1.0" if how == "HTTP/1.0" else b"HTTP/1.1"
        await server.send(STREAM.replace(b"HTTP/1.1", version) + b"\r\ndata: 1\n\ndata: 2\n\n")
        await server.leave()
        await wait_all_tasks_blocked()
        assert [True] == got


CUT_OFF = {
    "before a byte": (b"", ["closed"]),
    "in the head": (b"HTTP/1.1 200 OK\r\nCont", ["closed"]),
    "behind the head": (answer(b"[1]")[:-3], [200, "closed"]),
    "in the body": (answer(b"[1]")[:-1], [200, ("HttpBody", b"[1"), "closed"]),
    "in a chunk": (CHUNKS + b"ff\r\ndata: 1\n\nda", [200, b"1", ("HttpBody", b"da"), "closed"]),
    "before the last chunk": (CHUNKS + b"9\r\ndata: 1\n\n\r\n", [200, b"1", "closed"]),
}


@pytest.mark.parametrize("name", CUT_OFF)
async def test_a_server_that_dies(autojump_clock: MockClock, name: str) -> None:
    """The received part of the response and the end are passed; the request is not repeated."""
    data, expected = CUT_OFF[name]
    async with back() as there:
        receive = await there.send(*posted(1))
        server_ready = trio.Event()

        async def die() -> None:
            server = await there.server()
            await server.reads(SENT)
            await server.send(data)
            await server.leave()
            server_ready.set()

        there.nursery.start_soon(die)
        assert expected == shown(await everything(receive))
        await server_ready.wait()
        assert 1 == there.connected


NO_HTTP = {
    "another protocol": b"SSH-2.0-OpenSSH_9.9\r\n\r\n",
    "two lengths": b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
    "an endless head": b"HTTP/1.1 200 OK\r\nA: " + b"x" * 200_000,
}


@pytest.mark.parametrize("name", NO_HTTP)
async def test_no_http(autojump_clock: MockClock, name: str) -> None:
    """A response that is not HTTP becomes a 502 with the reason."""
    async with back() as there:
        receive = await there.send(*posted(1))
        there.nursery.start_soon(_answers, there, NO_HTTP[name])
        frames = await everything(receive)

        assert [502, ("HttpBody", frames[1].raw), "eof"] == shown(frames)
        assert frames[1].raw.startswith(
            b"mcpmock: http://127.0.0.1:9000/mcp does not answer in HTTP"
        )


class Resets(trio.abc.Stream):
    """A server that answers and then resets the connection."""

    def __init__(self, said: bytes) -> None:
        self.said = said

    async def send_all(self, data: object) -> None:
        await trio.lowlevel.checkpoint()

    async def wait_send_all_might_not_block(self) -> None:
        await trio.lowlevel.checkpoint()

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        await trio.lowlevel.checkpoint()
        data, self.said = self.said, b""
        if not data:
            raise trio.BrokenResourceError
        return data

    async def aclose(self) -> None:
        await trio.lowlevel.checkpoint()


@pytest.mark.parametrize("fields", [b"", b"Transfer-Encoding: chunked\r\n"])
async def test_a_reset_is_no_end(autojump_clock: MockClock, fields: bytes) -> None:
    """A reset does not complete a response, also where its length is unknown."""
    size = b"9\r\n" if fields else b""

    async def connect() -> trio.abc.Stream:
        await trio.lowlevel.checkpoint()
        return Resets(STREAM + fields + b"\r\n" + size + b"data: 1\n\n")

    async with back(connect) as there:
        receive = await there.send(*posted(1))
        assert [200, b"1", "reset"] == shown(await everything(receive))


async def test_a_broken_body(autojump_clock: MockClock) -> None:
    """Malformed chunks cut the response off."""
    async with back() as there:
        receive = await there.send(*posted(1))
        data = STREAM + b"Transfer-Encoding: chunked\r\n\r\n9\r\ndata: 1\n\nxx"
        there.nursery.start_soon(_answers, there, data)

        assert [200, b"1", "reset"] == shown(await everything(receive))


@pytest.mark.parametrize(
    "error", [OSError(111, "Connection refused"), McpMockError("Connection refused")]
)
async def test_an_unreachable_server(autojump_clock: MockClock, error: Exception) -> None:
    """An unreachable server becomes a 502 with the reason."""

    async def refuse() -> trio.abc.Stream:
        raise error

    async with back(refuse) as there:
        receive = await there.send(*posted(1))
        frames = await everything(receive)

        text = b"mcpmock: cannot reach http://127.0.0.1:9000/mcp: Connection refused\n"
        assert [502, ("HttpBody", text), "eof"] == shown(frames)


async def test_what_cannot_be_sent(autojump_clock: MockClock) -> None:
    """A request that would be read as two is not sent."""
    async with back() as there:
        bad = HttpRequest("POST", "/mcp HTTP/1.1\r\nX: y", [])
        frames = await everything(await there.send(*said(1, bad, b"{}")))

        assert [502, "eof"] == [shown(frames)[0], shown(frames)[-1]]
        assert 0 == there.connected


async def test_a_body_that_is_too_long_for_its_head(autojump_clock: MockClock) -> None:
    """A body beyond its Content-Length closes the connection: the rest would be another request."""
    async with back() as there:
        head = request("POST", "/mcp", ("Content-Length", "3"))
        receive = await there.send(*said(1, head, Fragment()))
        there.channel.send_nowait([Frame(C2S, b"abcdef", fact=Fragment(last=True), exchange=1)])

        assert ["eof"] == shown(await everything(receive))[-1:]


async def test_a_body_that_becomes_too_long(autojump_clock: MockClock) -> None:
    """The server sees the end of its connection in the middle of it."""
    async with back() as there:
        head = request("POST", "/mcp", ("Content-Length", "5"))
        receive = await there.send(*said(1, head, Fragment()))
        there.nursery.start_soon(everything, receive)
        server = await there.server()
        for data in (b"abc", b"def"):
            there.channel.send_nowait([Frame(C2S, data, fact=Fragment(), exchange=1)])
            await wait_all_tasks_blocked()

        assert (await server.rest()).endswith(b"\r\n\r\nabc")


async def test_a_client_that_leaves(autojump_clock: MockClock) -> None:
    """The server sees its connection end at once, whatever state it is in."""
    async with back() as there:
        receive = await there.send(*LISTENING)
        there.nursery.start_soon(everything, receive)
        server = await there.server()
        await server.reads(OPENED)
        there.channel.send_nowait(said(1, ExchangeEnd("closed")))
        await server.rest()

        assert 0.0 == trio.current_time()
        with pytest.raises(trio.EndOfChannel):
            await receive()
        there.channel.send_nowait(said(1, b"late"))


async def test_a_client_that_leaves_while_not_receiving(autojump_clock: MockClock) -> None:
    """The connection is closed even while the channel is not receiving."""
    async with back() as there:
        receive = await there.send(*LISTENING)
        server_side: list[Peer] = []

        async def serve() -> None:
            server_side.append(await there.server())
            await server_side[0].send(STREAM + b"\r\ndata: 1\n\n")

        there.nursery.start_soon(serve)
        assert [200, b"1"] == shown(await receive())
        there.channel.send_nowait(said(1, ExchangeEnd("reset")))

        await server_side[0].rest()
        assert 0.0 == trio.current_time()


async def test_a_client_that_leaves_while_we_connect(autojump_clock: MockClock) -> None:
    """A connection that is still being opened is closed."""

    async def never() -> trio.abc.Stream:
        await trio.sleep_forever()
        raise AssertionError

    async with back(never) as there:
        receive = await there.send(*LISTENING)
        there.nursery.start_soon(everything, receive)
        await wait_all_tasks_blocked()
        there.channel.send_nowait(said(1, ExchangeEnd("closed")))
        there.channel.send_nowait([hangs_up(C2S)])
        with pytest.raises(trio.EndOfChannel):
            await there.channel.accept()
        assert 0.0 == trio.current_time()


async def test_a_client_that_leaves_in_the_moment_of_the_connection(
    autojump_clock: MockClock,
) -> None:
    """Nothing is sent on the connection, and it is closed."""
    ours, theirs = memory_stream_pair()

    async def connect() -> trio.abc.Stream:
        there.channel.send_nowait(said(1, ExchangeEnd("closed")))
        return ours

    async with back(connect) as there:
        assert [] == await everything(await there.send(*posted(1)))
        assert b"" == await theirs.receive_some()


async def test_a_client_that_leaves_in_the_moment_of_the_answer(
    autojump_clock: MockClock,
) -> None:
    """Nothing of the answer comes behind its end."""

    class Answers(Resets):
        async def receive_some(self, max_bytes: int | None = None) -> bytes:
            there.channel.send_nowait(said(1, ExchangeEnd("closed")))
            return await super().receive_some(max_bytes)

    async def connect() -> trio.abc.Stream:
        await trio.lowlevel.checkpoint()
        return Answers(answer(b"[]"))

    async with back(connect) as there:
        assert [] == await everything(await there.send(*posted(1)))


@pytest.mark.parametrize("how", ["closed", "reset"])
@pytest.mark.parametrize("make", [memory_stream_pair, socket_pair])
@pytest.mark.parametrize("connected", [False, True])
async def test_a_request_that_breaks_off(
    autojump_clock: MockClock, how: str, make: Streams, connected: bool
) -> None:
    """What a fault says as it is goes out behind the head, be it before there is a connection; then
    the server sees the end.
    """
    head = request("POST", "/mcp", ("Content-Length", "9"))
    cut = HttpBody(more=True, unframed=True)
    async with back(make=make) as there:
        rest = [Frame(C2S, b'{"js', b"", cut, exchange=1), *said(1, ExchangeEnd(how))]
        receive = await there.send(*said(1, head), *([] if connected else rest))
        there.nursery.start_soon(everything, receive)
        server = await there.server()
        if connected:
            await wait_all_tasks_blocked()
            there.channel.send_nowait(rest)
        came = await server.rest()

        assert came.endswith(b'Content-Length: 9\r\nAccept-Encoding: identity\r\n\r\n{"js')
        assert 0.0 == trio.current_time()
        with pytest.raises(trio.EndOfChannel):
            await receive()
        await server.leave()


async def test_early_answers(autojump_clock: MockClock) -> None:
    """A server may answer before it has the request, and hang up; its answer is heard."""
    async with back() as there:
        receive = await there.send(*posted(1, b"x" * 3 * MAX_HELD_BYTES))

        async def refuse() -> None:
            server = await there.server()
            await server.reads(b"POST /mcp HTTP/1.1\r\n")
            await server.send(answer(b"no", b"413 Too Long"))
            await server.leave()

        there.nursery.start_soon(refuse)
        assert [413, b"no", "eof"] == shown(await everything(receive))


async def test_informational_answers_are_swallowed(autojump_clock: MockClock) -> None:
    """1xx responses are dropped."""
    async with back() as there:
        receive = await there.send(*posted(1))
        early = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
        there.nursery.start_soon(_answers, there, early + answer(b"[]"))

        assert [200, b"[]", "eof"] == shown(await everything(receive))


@pytest.mark.parametrize("status", [b"204 No Content", b"304 Not Modified", b"HEAD"])
async def test_answers_without_a_body(autojump_clock: MockClock, status: bytes) -> None:
    """A response without a body has none, whatever its Content-Length."""
    async with back() as there:
        method = "HEAD" if status == b"HEAD" else "GET"
        receive = await there.send(*said(1, request(method)))

        async def serve() -> None:
            server = await there.server()
            line = b"200 OK" if status == b"HEAD" else status
            await server.send(b"HTTP/1.1 %b\r\nContent-Length: 7\r\n\r\n" % line)

        there.nursery.start_soon(serve)
        assert [int((b"200" if status == b"HEAD" else status)[:3]), "eof"] == shown(
            await everything(receive)
        )


async def test_what_is_not_mcp(autojump_clock: MockClock) -> None:
    """A body of another path or kind is never kept, nor the answer to it; nor that to a GET
    elsewhere.
    """
    async with back() as there:
        body = Frame(C2S, b"a=b", fact=HttpBody(unkept=True), exchange=1)
        elsewhere = request("GET", "/.well-known/oauth")
        other = Frame(C2S, b"a=b", fact=HttpBody(unkept=True), exchange=3)
        for head, number, more in (
            (request("POST", "/x"), 1, [body]),
            (elsewhere, 2, []),
            (request("POST", "/mcp"), 3, [other]),
        ):
            receive = await there.send(*said(number, head), *more)

            async def serve() -> None:
                await (await there.server()).send(answer(b"{}") + b"x")

            there.nursery.start_soon(serve)
            frames = await everything(receive)
            assert [200, ("HttpBody", b"{}"), "eof"] == shown(frames)
            assert HttpBody(unkept=True) == frames[1].fact


@pytest.mark.parametrize("path", ["/mcp", "/else"])
@pytest.mark.parametrize("mcp", [None, "/mcp", "/else"])
async def test_which_requests_are_mcp(
    autojump_clock: MockClock, path: str, mcp: str | None
) -> None:
    """Those to the path of the URL, unless the channel is told which."""
    is_mcp = None if mcp is None else (lambda head: head.path == mcp)
    async with back(is_mcp=is_mcp) as there:
        receive = await there.send(*said(1, request("GET", path)))

        async def serve() -> None:
            await (await there.server()).send(answer(b"{}"))

        there.nursery.start_soon(serve)
        frames = await everything(receive)

        assert (path == (mcp or "/mcp")) is (frames[1].fact is None)


async def test_a_server_that_closes_what_is_idle(autojump_clock: MockClock) -> None:
    """The next request goes over another connection."""
    async with back(make=socket_pair) as there:
        for number in (1, 2):
            receive = await there.send(*posted(number))
            there.nursery.start_soon(receive)
            server = await there.server()
            await server.stream.receive_some()
            await server.send(answer(b"[]"))
            await wait_all_tasks_blocked()
            await server.leave()

        assert 2 == there.connected


async def test_a_long_upload_goes_in_pieces(autojump_clock: MockClock) -> None:
    """An upload is sent piece by piece and ends with the last one."""
    async with back() as there:
        piece = Frame(C2S, b"abc", fact=HttpBody(unkept=True, more=True), exchange=1)
        last = Frame(C2S, b"", fact=HttpBody(unkept=True), exchange=1)
        receive = await there.send(*said(1, request(target="/x")), piece)
        there.nursery.start_soon(everything, receive)
        server = await there.server()
        await wait_all_tasks_blocked()
        there.channel.send_nowait([piece])
        there.channel.send_nowait([last])
        got = b""
        while not got.endswith(b"3\r\nabc\r\n3\r\nabc\r\n0\r\n\r\n"):
            got += await server.stream.receive_some(100)
        assert b"\r\nTransfer-Encoding: chunked\r\n" in got


async def test_a_long_body_goes_in_pieces(autojump_clock: MockClock) -> None:
    """What comes in pieces goes in pieces, and no faster than the server takes it."""
    async with back() as there:
        piece = Frame(C2S, b"x" * MAX_HELD_BYTES, b"", Fragment(), 1)
        receive = await there.send(*said(1, request()), piece)
        there.nursery.start_soon(everything, receive)
        there.channel.send_nowait([piece])
        roomy = trio.Event()

        async def wait() -> None:
            await there.channel.room(piece)
            roomy.set()

        there.nursery.start_soon(wait)
        server = await there.server()
        got = bytearray()
        while len(got) < 2 * MAX_HELD_BYTES:
            got += await server.stream.receive_some(100_000)
        await roomy.wait()
        there.channel.send_nowait([Frame(C2S, b"yz", fact=Fragment(last=True), exchange=1)])
        await there.channel.flush()
        assert 0 == there.channel.held(piece)
        while not got.endswith(b"\r\n2\r\nyz\r\n0\r\n\r\n"):
            got += await server.stream.receive_some(100_000)
        assert 2 * MAX_HELD_BYTES == bytes(got).count(b"x")


async def test_reading_goes_as_far_as_it_is_received(autojump_clock: MockClock) -> None:
    """While the channel is not receiving nothing is read, so the server has to wait."""
    sent = 0
    async with back() as there:
        receive = await there.send(*LISTENING)

        async def flood() -> None:
            nonlocal sent
            server = await there.server()
            await server.send(STREAM + b"\r\n")
            for _ in range(100):
                await server.send(b"data: " + b"x" * 9_992 + b"\n\n")
                sent += 10_000

        there.nursery.start_soon(flood)
        assert [200] == shown(await receive())[:1]
        await wait_all_tasks_blocked()
        got = 0
        while got < 1_000_000 - 10_000:
            frames = await receive()
            got += sum(frame.size for frame in frames)
            assert 200_000 > sum(frame.size for frame in frames)


@pytest.mark.parametrize(
    ("uri", "expected"),
    [
        (b"/messages?id=1", b"/messages?id=1"),
        (b"http://127.0.0.1:9000/messages?id=1", b"/messages?id=1"),
        (b"messages?back=http://x/y", b"messages?back=http://x/y"),
    ],
)
async def test_the_endpoint_leads_through_us(
    autojump_clock: MockClock, uri: bytes, expected: bytes
) -> None:
    """An endpoint event with the server's host is rewritten: clients would bypass mcpmock."""
    async with back() as there:
        receive = await there.send(*LISTENING)

        async def serve() -> None:
            server = await there.server()
            await server.send(
                STREAM + b"\r\nevent: endpoint\ndata: %b\n\ndata: http://x/\n\n"
                b"event: other\ndata: http://y/\n\nevent: endpoint\nretry: 5\n\n" % uri
            )
            await server.leave()

        there.nursery.start_soon(serve)
        frames = await everything(receive)

        found = [frame.raw for frame in frames if frame.fact is None]
        assert [expected, b"http://x/", b"http://y/"] == found
        assert SseMeta(event="endpoint") in [frame.fact for frame in frames]
        rewritten = next(frame for frame in frames if frame.raw == expected)
        assert (expected == uri) == (rewritten.wire is not None)


async def test_an_event_of_the_answer_to_a_post_is_no_endpoint(autojump_clock: MockClock) -> None:
    """It goes to the client as it came, whatever its name."""
    async with back() as there:
        receive = await there.send(*posted(1, b"{}"))

        async def serve() -> None:
            server = await there.server()
            await server.send(STREAM + b"\r\nevent: endpoint\ndata: http://x/y\n\n")
            await server.leave()

        there.nursery.start_soon(serve)
        assert b"http://x/y" in [frame.raw for frame in await everything(receive)]


async def test_many_exchanges_at_once(autojump_clock: MockClock) -> None:
    """500 concurrent exchanges get their own responses."""
    async with back() as there:
        got: dict[int, list[object]] = {}

        async def ask(number: int) -> None:
            receive = await there.send(*posted(number, b"%03d" % number))
            got[number] = shown(await everything(receive))

        async def serve() -> None:
            server = await there.server()
            head = await server.stream.receive_some()
            await trio.sleep(1)
            await server.send(answer(b"[%b]" % bytes(head[-3:])))

        async with trio.open_nursery() as nursery:
            for number in range(MANY):
                nursery.start_soon(ask, number)
                nursery.start_soon(serve)

        assert {n: [200, b"[%03d]" % n, "eof"] for n in range(MANY)} == got
        assert 1.0 == trio.current_time()


async def test_the_end_of_the_last_request(autojump_clock: MockClock) -> None:
    """Behind the end of the input it is the end of all."""
    async with back() as there:
        receive = await there.send(*posted(1))
        there.nursery.start_soon(everything, receive)
        server = await there.server()
        there.channel.send_nowait([Frame(C2S, b"", b"", StreamEnd())])
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_ends, there)
            await trio.sleep(1)
            await server.send(answer(b"[]"))

        assert 1.0 == trio.current_time()


async def _ends(there: Back) -> None:
    with pytest.raises(trio.EndOfChannel):
        await there.channel.accept()


async def test_a_long_piece_behind_a_short_one(autojump_clock: MockClock) -> None:
    """It is written as the server reads it."""
    async with back(make=socket_pair) as there:
        receive = await there.send(*said(1, request(), Fragment()))
        there.nursery.start_soon(everything, receive)
        server, read = await there.server(), 0
        for size in (1, 8 << 20):
            frame = Frame(C2S, b"x" * size, fact=Fragment(), exchange=1)
            there.channel.send_nowait([frame])
            while not (data := await server.stream.receive_some()).endswith(b"x\r\n"):
                read += len(data)

        assert read + len(data) > 8 << 20
        await server.leave()


async def test_the_end_of_requests(autojump_clock: MockClock) -> None:
    """After the end of the input open exchanges have END_TIMEOUT_S to end."""
    async with back() as there:
        quick, slow = await there.send(*posted(1)), await there.send(*said(2, request("GET")))

        async def serve() -> None:
            one, _ = await there.server(), await there.server()
            await trio.sleep(1)
            await one.send(answer(b"[]"))

        got: list[list[object]] = []

        async def listen(receive: object) -> None:
            got.append(shown(await everything(receive)))  # type: ignore[arg-type]

        for receive in (quick, slow):
            there.nursery.start_soon(listen, receive)
            await wait_all_tasks_blocked()
        there.nursery.start_soon(serve)
        there.channel.send_nowait([Frame(C2S, b"", b"", StreamEnd())])
        with pytest.raises(trio.EndOfChannel):
            await there.channel.accept()
        await wait_all_tasks_blocked()

        assert END_TIMEOUT_S == trio.current_time()
        assert [[200, b"[]", "eof"], []] == got


async def test_a_closed_channel(autojump_clock: MockClock) -> None:
    """A closed channel sends and receives nothing, and its connections are closed."""
    async with back() as there:
        receive = await there.send(*LISTENING)
        there.nursery.start_soon(everything, receive)
        server = await there.server()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_ends, there)
            await wait_all_tasks_blocked()
            await there.channel.aclose()
        await server.rest()

        with pytest.raises(trio.BrokenResourceError):
            there.channel.send_nowait(posted(2))
        with pytest.raises(trio.EndOfChannel):
            await there.channel.accept()


@pytest.mark.parametrize("moment", range(10))
async def test_cancelling_leaves_nothing_open(autojump_clock: MockClock, moment: int) -> None:
    """Stopping in the middle of anything closes every connection."""
    servers: list[Peer] = []
    async with back() as there:
        with trio.CancelScope() as scope:
            async with trio.open_nursery() as nursery:
                for number in (1, 2):
                    nursery.start_soon(everything, await there.send(*posted(number)))

                async def serve() -> None:
                    server = await there.server()
                    servers.append(server)
                    await server.send(answer(b"[]"))

                nursery.start_soon(serve)
                for _ in range(moment):
                    await trio.lowlevel.checkpoint()
                scope.cancel()
        await there.channel.aclose()
        while len(servers) < there.connected:
            servers.append(await there.server())
        for server in servers:
            await server.rest()


def test_vocabulary() -> None:
    """These are requests of a client to us, and their answers."""
    assert GET.startswith(b"GET /mcp")
    assert post(b"{}").endswith(b"\r\n\r\n{}")
    assert b"x" == c2s(b"x").raw == of(1, b"x")[0].raw
