"""One client's connection, over memory streams and a mock clock."""

from __future__ import annotations

import pytest
import trio
from trio.testing import (
    MockClock,
    lockstep_stream_pair,
    memory_stream_pair,
    wait_all_tasks_blocked,
)

from mcpmock.channels.channel import MAX_HELD_BYTES
from mcpmock.channels.http import connection
from mcpmock.channels.http.connection import (
    BODY_TIMEOUT_S,
    CLOSE_TIMEOUT_S,
    HEAD_TIMEOUT_S,
    IDLE_TIMEOUT_S,
)
from mcpmock.channels.http.http1 import MAX_HEAD_BYTES
from mcpmock.protocol.messages import (
    ExchangeEnd,
    Fragment,
    HttpBody,
    HttpRequest,
    HttpResponse,
    SseMeta,
)
from tests.channels.http.http_talking import (
    EVENTS,
    GET,
    HOST,
    JSON,
    Peer,
    Streams,
    chunked,
    everything,
    first,
    front,
    of,
    ok,
    post,
    shown,
    socket_pair,
)

POSTED = ("POST", "/mcp")
GOT = ("GET", "/mcp")
LINE = b"GET /mcp HTTP/1.1\r\n"


async def test_an_exchange(autojump_clock: MockClock) -> None:
    """A request comes in one batch, its answer goes out, and both are over."""
    async with front() as door:
        client = door.connect()
        await client.send(post(b'{"a":1}', b"X-Case: Kept"))
        channel = await door.conversation()
        receive, frames = await first(channel)
        head = frames[0].fact

        assert [POSTED, b'{"a":1}'] == shown(frames)
        assert isinstance(head, HttpRequest)
        assert head.headers == [
            ("Host", "127.0.0.1:8080"),
            ("Content-Type", "application/json"),
            ("Content-Length", "7"),
            ("X-Case", "Kept"),
        ]
        channel.send_nowait(ok(1, b"{}"))
        assert (200, b"{}") == await client.response()
        with pytest.raises(trio.EndOfChannel):
            await receive()


@pytest.mark.parametrize("split", range(1, len(post(b"{}"))))
async def test_bytes_may_come_as_they_like(autojump_clock: MockClock, split: int) -> None:
    """Wherever a request is split, it is the same request."""
    whole = post(b"{}")
    async with front() as door:
        client = door.connect()
        await client.send(whole[:split])
        await wait_all_tasks_blocked()
        await client.send(whole[split:])
        _, frames = await first(await door.conversation())

        assert [POSTED, b"{}"] == shown(frames)


@pytest.mark.parametrize("last", [True, False], ids=["then leaves", "keeps quiet"])
async def test_keep_alive(autojump_clock: MockClock, last: bool) -> None:
    """A connection carries one exchange after another, and is closed when nobody asks any more."""
    async with front() as door:
        client = door.connect()
        await client.send(post(b"1"))
        channel = await door.conversation()
        for number in (1, 2, 3):
            if number > 1:
                await client.send(post(b"%d" % number))
            _, frames = await first(channel)
            assert [POSTED, b"%d" % number] == shown(frames)
            channel.send_nowait(ok(number, b"[%d]" % number))
            assert (200, b"[%d]" % number) == await client.response()
            await trio.sleep(IDLE_TIMEOUT_S - 1)

        before = trio.current_time()
        if last:
            await client.leave()
            await wait_all_tasks_blocked()
        else:
            assert b"" == await client.rest()
            await wait_all_tasks_blocked()
        assert set() == door.open
        assert (0 if last else 1) == trio.current_time() - before


async def test_pipelined_requests_wait_their_turn(autojump_clock: MockClock) -> None:
    """Requests that come before their turn are served one at a time, in order."""
    async with front() as door:
        client = door.connect()
        await client.send(post(b"1") + chunked(b"2") + b"\r\n" + GET + post(b"4"))
        channel = await door.conversation()
        for number, expected in enumerate((b"1", b"2", None, b"4"), 1):
            _, frames = await first(channel)
            assert [POSTED if expected else GOT, *filter(None, [expected])] == shown(frames)
            await trio.sleep(1)
            channel.send_nowait(ok(number, b"[%d]" % number))
            await trio.sleep(1)
        for number in (1, 2, 3, 4):
            assert (200, b"[%d]" % number) == await client.response()
        assert 8.0 == trio.current_time()


async def test_pipelining_has_a_bound(autojump_clock: MockClock) -> None:
    """While an answer is on its way no more than two reads are held of what comes behind."""
    accepted = 0
    flood = post(b"x" * 60_000)

    async with front() as door:
        client = door.connect(lockstep_stream_pair)

        async def push() -> None:
            nonlocal accepted
            for _ in range(10):
                await client.send(flood)
                accepted += 1

        door.nursery.start_soon(push)
        channel = await door.conversation()
        for number in range(1, 11):
            _, frames = await first(channel)
            assert [POSTED, b"x" * 60_000] == shown(frames)
            await wait_all_tasks_blocked()
            assert accepted <= number + 2
            channel.send_nowait(ok(number, b"{}"))
            assert (200, b"{}") == await client.response()
        assert 10 == accepted


@pytest.mark.parametrize("request_", [b"Connection: close", b"connection: x, Close"])
async def test_connection_close(autojump_clock: MockClock, request_: bytes) -> None:
    """A client that wants no more requests gets its answer, and the end of the connection."""
    async with front() as door:
        client = door.connect()
        await client.send(post(b"{}", request_))
        channel = await door.conversation()
        await first(channel)
        channel.send_nowait(ok(1, b"{}"))
        answer = await client.rest()

        assert 0.0 == trio.current_time()
        assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
        assert b"\r\nConnection: close\r\n" in answer
        assert answer.endswith(b"\r\n\r\n{}")


async def test_http_1_0(autojump_clock: MockClock) -> None:
    """An old client gets a stream that ends with the connection."""
    async with front() as door:
        client = door.connect()
        await client.send(b"GET /mcp HTTP/1.0\r\n" + HOST + b"\r\n")
        channel = await door.conversation()
        await first(channel)
        channel.send_nowait(of(1, HttpResponse(200, "OK", EVENTS)))
        channel.send_nowait(of(1, b"{}"))
        channel.send_nowait(of(1, ExchangeEnd()))

        assert (
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
            b"data: {}\n\n"
        ) == await client.rest()


BAD = {
    "no HTTP": (b"\x16\x03\x01\x02\x00\x01\x00", 400),
    "a bare LF": (LINE + b"Host: 127.0.0.1:8080\n\r\n", 400),
    "only LF": (b"GET /mcp HTTP/1.1\nHost: 127.0.0.1:8080\n\n", 400),
    "a bare CR": (LINE + HOST + b"A: b\rc\r\n\r\n", 400),
    "both framings": (post(b"{}", b"Transfer-Encoding: chunked"), 400),
    "two lengths": (post(b"{}", b"Content-Length: 2"), 400),
    "two Hosts": (post(b"{}", HOST.rstrip()), 400),
    "two codings": (chunked(b"{}").replace(b"chunked", b"chunked\r\nTransfer-Encoding: x"), 400),
    "another coding": (chunked(b"{}").replace(b"chunked", b"gzip, chunked"), 400),
    "a folded field": (LINE + HOST + b"A: b\r\n c\r\n\r\n", 400),
    "a control character": (LINE + HOST + b"A: b\x01\r\n\r\n", 400),
    "NUL": (LINE + HOST + b"A: \0\r\n\r\n", 400),
    "space before the colon": (LINE + HOST + b"A : b\r\n\r\n", 400),
    "another host as target": (GET.replace(b"/mcp", b"http://evil/mcp"), 421),
    "another port as target": (GET.replace(b"/mcp", b"http://127.0.0.1:81/mcp"), 421),
    "a user in the target": (GET.replace(b"/mcp", b"http://a@127.0.0.1:8080/mcp"), 421),
    "an https target": (GET.replace(b"/mcp", b"https://127.0.0.1:8080/mcp"), 400),
    "an authority": (GET.replace(b"GET /mcp", b"CONNECT evil:80"), 400),
    "another version": (GET.replace(b"1.1", b"2.0"), 400),
    "a signed length": (post(b"{}").replace(b"Length: 2", b"Length: +2"), 400),
    "a long field": (LINE + HOST + b"A: " + b"x" * MAX_HEAD_BYTES + b"\r\n\r\n", 431),
    "an endless line": (b"GET /" + b"x" * 2 * MAX_HEAD_BYTES, 431),
    "many fields": (LINE + HOST + b"A: b\r\n" * 100 + b"\r\n", 431),
    "no Host": (LINE + b"\r\n", 421),
    "a foreign Host": (LINE + b"Host: evil.example\r\n\r\n", 421),
    "a foreign Origin": (post(b"{}", b"Origin: http://evil.example"), 403),
    "a form": (post(b"{}").replace(b"application/json", b"text/plain"), 415),
    "no chunk": (chunked(b"{}").replace(b"2\r\n", b"x\r\n"), 400),
    "too long": (post(b"x" * 2000), 413),
    "too long, before it has come": (post(b"x" * 2000)[:-2000], 413),
    "too long in chunks": (chunked(b"x" * 600, b"x" * 600), 413),
}


@pytest.mark.parametrize("name", BAD)
async def test_bad_requests(autojump_clock: MockClock, name: str) -> None:
    """Each is answered with its status and the end of the connection; nobody behind hears of it,
    nor of what was smuggled behind it.
    """
    data, status = BAD[name]
    async with front(body_limit=1000) as door:
        client = door.connect()
        await client.send(data + post(b"smuggled"))
        answer = await client.rest()

        assert status == int(answer.split()[1])
        assert b"\r\nConnection: close\r\n" in answer
        assert b"\r\n\r\nmcpmock: " in answer
        assert 1 == answer.count(b"HTTP/1.1 4")
        with trio.move_on_after(1) as waited:
            await door.conversation()
        assert waited.cancelled_caught
        assert [] == door.told


async def test_a_refused_client_that_goes_on(autojump_clock: MockClock) -> None:
    """What it still sends is read, for a while: a close would be a reset for it, and the refusal
    lost.
    """
    async with front(body_limit=1000) as door:
        client = door.connect()
        await client.send(post(b"x" * 2000)[:-2000])
        assert 413 == int((await client.stream.receive_some()).split()[1])
        for _ in range(10):
            await client.stream.send_all(b"x" * 100)
            await wait_all_tasks_blocked()
        await trio.sleep(CLOSE_TIMEOUT_S)
        await wait_all_tasks_blocked()
        with pytest.raises(trio.BrokenResourceError):
            await client.stream.send_all(b"x")


async def test_a_refusal_of_head_has_no_body(autojump_clock: MockClock) -> None:
    """The answer to HEAD is a head, also if it is a refusal."""
    async with front() as door:
        client = door.connect()
        await client.send(b"HEAD /mcp HTTP/1.1\r\n\r\n")

        assert (await client.rest()).endswith(b"Connection: close\r\n\r\n")


@pytest.mark.parametrize("sent", [b"", b"POST /m", post(b"{}")[:-3]])
async def test_a_late_head(autojump_clock: MockClock, sent: bytes) -> None:
    """A head that is not there in time is answered with 408 if it has begun; however slowly its
    bytes drip.
    """
    async with front() as door:
        client = door.connect()
        for byte in sent[:20]:
            await client.send(bytes([byte]))
            await trio.sleep(1)
        answer = await client.rest()

        assert HEAD_TIMEOUT_S == trio.current_time()
        assert (b"HTTP/1.1 408 Request Timeout" if sent else b"") == answer[:28]


@pytest.mark.parametrize(
    ("waits", "drips", "answered"), [(60, False, b"200"), (10, True, b"408"), (80, False, b"")]
)
async def test_a_head_behind_a_preflight(
    autojump_clock: MockClock, waits: float, drips: bool, answered: bytes
) -> None:
    """It may be waited for as long as a connection is kept, and then takes as long as any."""
    async with front() as door:
        client = door.connect()
        await client.send(PREFLIGHT)
        await client.reads(b"HTTP/1.1 204 No Content\r\n")
        await trio.sleep(waits)
        if answered:
            await client.send(GET[:9] if drips else post(b"{}", CLOSE))
        if answered == b"200":
            await first(channel := await door.conversation())
            channel.send_nowait(ok(1, b"{}"))
        answer = (await client.rest()).partition(b"\r\n\r\n")[2]

        assert answered == answer[9:12]
        assert (waits + HEAD_TIMEOUT_S if drips else waits) == trio.current_time()


async def test_tls_where_there_is_none(autojump_clock: MockClock) -> None:
    """It is seen at its first byte."""
    async with front() as door:
        client = door.connect()
        await client.send(b"\x16\x03\x01")

        assert b"400" == (await client.rest())[9:12]
        assert 0.0 == trio.current_time()


@pytest.mark.parametrize("asked", [0, 1])
async def test_a_client_that_leaves_while_nothing_is_asked(
    autojump_clock: MockClock, asked: int
) -> None:
    """Its connection is over."""
    async with front() as door:
        client = door.connect()
        for _ in range(asked):
            await client.send(post(b"{}"))
            await first(channel := await door.conversation())
            channel.send_nowait(ok(1, b"{}"))
            await client.response()
        await client.leave()
        await wait_all_tasks_blocked()

        assert set() == door.open


async def test_the_connection_of_an_exchange(autojump_clock: MockClock) -> None:
    """It is known as long as the exchange is open."""
    async with front() as door:
        client = door.connect()
        for number in (1, 2):
            await client.send(post(b"{}"))
            if number == 1:
                channel = await door.conversation()
            await first(channel)
            assert door.listener.connection_of(number) is not None
            if number == 1:
                channel.send_nowait(ok(1, b"{}"))
                await client.response()
            else:
                await client.leave()
            await wait_all_tasks_blocked()
            assert door.listener.connection_of(number) is None


@pytest.mark.parametrize("delivered", [False, True])
async def test_a_client_that_leaves_behind_its_answer(
    autojump_clock: MockClock, delivered: bool
) -> None:
    """Its exchange is over, whether it has read the answer or not: nothing is heard of it."""
    got: list[list[object]] = []
    async with front() as door:
        client = door.connect(lockstep_stream_pair)
        await client.send(post(b"1"))
        channel = await door.conversation()
        receive, _ = await first(channel)
        number = 1
        if delivered:
            channel.send_nowait(ok(1, b"{}"))
            await client.response()
            channel.deliver = lambda frames: got.append(shown(frames))
            await client.send(post(b"2"))
            await wait_all_tasks_blocked()
            number = 2
        channel.send_nowait(ok(number, b"{}"))
        await wait_all_tasks_blocked()
        await client.leave()
        await wait_all_tasks_blocked()

        assert [[POSTED, b"2"]] * delivered == got
        with pytest.raises(trio.EndOfChannel):
            await receive()


@pytest.mark.parametrize("leaves", [False, True])
async def test_who_waits_for_a_client_to_read(autojump_clock: MockClock, leaves: bool) -> None:
    """Until it has read, or is gone."""
    async with front() as door:
        client = door.connect(lockstep_stream_pair)
        await client.send(GET)
        await first(channel := await door.conversation())
        channel.send_nowait(of(1, HttpResponse(200, "OK", EVENTS), b"x" * 2 * MAX_HELD_BYTES))
        waited: list[float] = []

        async def wait() -> None:
            await channel.room(of(1, b"")[0])
            waited.append(trio.current_time())

        async with trio.open_nursery() as nursery:
            nursery.start_soon(wait)
            await trio.sleep(1)
            assert [] == waited
            nursery.start_soon(client.leave if leaves else client.rest)
            await wait_all_tasks_blocked()
            assert [1.0] == waited
            nursery.cancel_scope.cancel()


async def test_a_client_that_reads_no_more(autojump_clock: MockClock) -> None:
    """It is gone as soon as an answer cannot be written, although it has not closed."""
    async with front() as door:
        client = door.connect()
        await client.send(GET)
        receive, _ = await first(channel := await door.conversation())
        assert isinstance(client.stream, trio.StapledStream)
        await client.stream.receive_stream.aclose()
        channel.send_nowait(of(1, HttpResponse(200, "OK", EVENTS), b"{}"))

        assert ["reset"] == shown(await receive())
        await wait_all_tasks_blocked()
        assert set() == door.open


async def test_a_body_that_is_not_received(autojump_clock: MockClock) -> None:
    """It may wait for longer than a client may be silent."""
    body = b"x" * 3 * MAX_HELD_BYTES
    async with front() as door:
        client = door.connect()
        door.nursery.start_soon(client.send, post(body))
        receive, frames = await first(channel := await door.conversation())
        await trio.sleep(2 * BODY_TIMEOUT_S)
        while frames[-1].fact != Fragment(last=True):
            frames += await receive()
        with trio.move_on_after(1) as waited:
            await channel.accept()

        assert waited.cancelled_caught  # it is one exchange
        assert len(body) == sum(len(frame.raw) for frame in frames)


async def test_no_chunk_in_an_open_exchange(autojump_clock: MockClock) -> None:
    """It may have an answer already: the connection is cut, without another."""
    async with front() as door:
        client = door.connect()
        begin = chunked(b"x" * 2 * MAX_HELD_BYTES)[: -len(b"0\r\n\r\n")]
        door.nursery.start_soon(client.send, begin + b"no chunk\r\n")
        receive, _ = await first(await door.conversation())
        frames = await everything(receive)

        assert ["closed"] == shown(frames)[-1:]
        assert b"" == await client.rest()


@pytest.mark.parametrize("last", ["answer", "preflight"])
async def test_what_a_client_says_behind_the_last_answer(
    autojump_clock: MockClock, last: str
) -> None:
    """It is read for a while: a close would be a reset, and the answer lost."""
    async with front() as door:
        client = door.connect()
        if last == "answer":
            await client.send(post(b"{}", CLOSE))
            await first(channel := await door.conversation())
            channel.send_nowait(ok(1, b"{}"))
        else:
            await client.send(PREFLIGHT.replace(PAGE, PAGE + b"\r\n" + CLOSE))
        await client.rest()
        assert 0.0 == trio.current_time()
        await client.send(b"x" * 1000)
        await trio.sleep(CLOSE_TIMEOUT_S)
        await wait_all_tasks_blocked()

        with pytest.raises(trio.BrokenResourceError):
            await client.send(b"x")


async def test_a_late_second_head(autojump_clock: MockClock) -> None:
    """Of a later head the time counts from its first byte."""
    async with front() as door:
        client = door.connect()
        await client.send(post(b"{}"))
        channel = await door.conversation()
        await first(channel)
        channel.send_nowait(ok(1, b"{}"))
        await client.response()
        await trio.sleep(40)
        await client.send(b"P")

        assert (await client.rest()).startswith(b"HTTP/1.1 408 ")
        assert 40 + HEAD_TIMEOUT_S == trio.current_time()


async def test_a_late_body(autojump_clock: MockClock) -> None:
    """A body may take as long as it likes while something of it comes, and no longer."""
    whole = post(b"12345")
    async with front() as door:
        client = door.connect()
        await client.send(whole[:-5])
        for byte in b"123":
            await trio.sleep(BODY_TIMEOUT_S - 1)
            await client.send(bytes([byte]))

        assert (await client.rest()).startswith(b"HTTP/1.1 408 ")
        assert 3 * (BODY_TIMEOUT_S - 1) + BODY_TIMEOUT_S == trio.current_time()


async def test_expect_continue(autojump_clock: MockClock) -> None:
    """A client that asks whether to send its body is told to, if its head passes; one that sends it
    at once is told nothing.
    """
    expecting = post(b"{}", b"Expect: 100-continue")
    async with front() as door:
        client = door.connect()
        await client.send(expecting[:-2])
        await client.reads(b"HTTP/1.1 100 Continue\r\n\r\n")
        await client.send(b"{}")
        channel = await door.conversation()
        _, frames = await first(channel)
        assert [POSTED, b"{}"] == shown(frames)
        channel.send_nowait(ok(1, b"{}"))
        assert (200, b"{}") == await client.response()

        await client.send(expecting)
        await first(channel)
        channel.send_nowait(ok(2, b"{}"))
        assert (200, b"{}") == await client.response()

        await client.send(expecting.replace(b"127.0.0.1", b"evil")[:-2])
        assert (await client.rest()).startswith(b"HTTP/1.1 421 ")


async def test_long_bodies_come_in_pieces(autojump_clock: MockClock) -> None:
    """A body of 3 MiB comes as it arrives, behind its head, and no faster than it is taken."""
    body = b"x" * 3 * MAX_HELD_BYTES
    async with front() as door:
        client = door.connect()
        door.nursery.start_soon(client.send, post(body))
        channel = await door.conversation()
        receive, frames = await first(channel)
        assert POSTED == shown(frames)[0]
        while frames[-1].fact != Fragment(last=True):
            await wait_all_tasks_blocked()
            more = await receive()
            assert 2 * MAX_HELD_BYTES > sum(frame.size for frame in more)
            frames += more

        assert body == b"".join(frame.raw for frame in frames)
        assert {Fragment, HttpRequest} == {type(frame.fact) for frame in frames}
        channel.send_nowait(ok(1, b"{}"))
        assert (200, b"{}") == await client.response()


async def test_with_a_limit_a_body_comes_whole(autojump_clock: MockClock) -> None:
    """Where bodies are limited, nothing of one is handed over that may turn out too long."""
    async with front(body_limit=2 * MAX_HELD_BYTES) as door:
        client = door.connect()
        await client.send(chunked(b"x" * MAX_HELD_BYTES, b"x" * MAX_HELD_BYTES))
        _, frames = await first(await door.conversation())

        assert 2 * MAX_HELD_BYTES == sum(len(frame.raw) for frame in frames)
        assert frames[-1].fact == Fragment(last=True)


async def test_other_bodies(autojump_clock: MockClock) -> None:
    """What goes to another path is no message, and never kept."""
    async with front() as door:
        client = door.connect()
        await client.send(post(b"a=b", target=b"/register"))
        _, frames = await first(await door.conversation())

        assert [("POST", "/register"), ("HttpBody", b"a=b")] == shown(frames)
        assert frames[1].fact == HttpBody(unkept=True)


async def test_long_other_bodies_come_in_pieces(autojump_clock: MockClock) -> None:
    """An upload goes on as it comes, and no faster than it is taken."""
    sent = 0
    async with front() as door:
        client = door.connect(lockstep_stream_pair)
        whole = post(b"x" * (8 * MAX_HELD_BYTES), target=b"/upload")

        async def push() -> None:
            nonlocal sent
            for at in range(0, len(whole), MAX_HELD_BYTES):
                await client.send(whole[at : at + MAX_HELD_BYTES])
                sent += 1

        door.nursery.start_soon(push)
        channel = await door.conversation()
        receive = await channel.accept()
        await wait_all_tasks_blocked()
        assert sent <= 2
        frames = await receive()
        while frames[-1].fact != HttpBody(unkept=True):
            frames += await receive()

        assert 8 * MAX_HELD_BYTES == sum(len(frame.raw) for frame in frames)
        assert {HttpBody(unkept=True, more=True)} == {frame.fact for frame in frames[1:-1]}


@pytest.mark.parametrize("goes_on", [False, True])
async def test_an_answer_before_the_end_of_the_request(
    autojump_clock: MockClock, goes_on: bool
) -> None:
    """A client that is answered early is read for a moment more, so that it gets to hear it."""
    async with front() as door:
        client = door.connect()
        begin = post(b"x" * 3 * MAX_HELD_BYTES)[: 2 * MAX_HELD_BYTES]
        door.nursery.start_soon(client.send, begin)
        channel = await door.conversation()
        receive, _ = await first(channel)
        await wait_all_tasks_blocked()
        channel.send_nowait(ok(1, b"no"))

        assert (200, b"no") == await client.response()
        if goes_on:
            await client.send(b"x" * 1000)
        assert b"" == await client.rest()
        assert 0.0 == trio.current_time()
        await trio.sleep(CLOSE_TIMEOUT_S)
        await wait_all_tasks_blocked()
        assert set() == door.open
        assert [] == door.told
        await everything(receive)


@pytest.mark.parametrize("make", [lockstep_stream_pair, socket_pair])
async def test_an_answer_while_a_request_waits(autojump_clock: MockClock, make: Streams) -> None:
    """A client that is silent then, because what it said is not taken, is not waited for."""
    async with front() as door:
        client = door.connect(make)
        whole = post(b"x" * 4 * MAX_HELD_BYTES)
        door.nursery.start_soon(client.send, whole[: 2 * MAX_HELD_BYTES])
        receive, _ = await first(channel := await door.conversation())
        with trio.move_on_after(1):
            while True:
                await receive()
        await client.send(whole[2 * MAX_HELD_BYTES : 3 * MAX_HELD_BYTES])
        await wait_all_tasks_blocked()
        channel.send_nowait(ok(1, b"no"))

        assert (200, b"no") == await client.response()
        assert b"" == await client.rest()
        assert (1.0, []) == (trio.current_time(), door.told)
        await everything(receive)
        await client.leave()


@pytest.mark.parametrize("begun", [False, True], ids=["before the first byte", "in a stream"])
async def test_a_client_that_leaves_is_noticed(autojump_clock: MockClock, begun: bool) -> None:
    """Its exchange ends at once, and what is still sent for it goes nowhere."""
    async with front() as door:
        client = door.connect()
        await client.send(GET)
        channel = await door.conversation()
        receive, _ = await first(channel)
        if begun:
            channel.send_nowait(of(1, HttpResponse(200, "OK", EVENTS), b"{}"))
            await wait_all_tasks_blocked()
        await client.leave()

        assert ["closed"] == shown(await receive())
        assert 0.0 == trio.current_time()
        with pytest.raises(trio.EndOfChannel):
            await receive()
        channel.send_nowait(of(1, HttpResponse(200, "OK", EVENTS), b"{}", ExchangeEnd()))
        await wait_all_tasks_blocked()
        assert set() == door.open
        assert [] == door.told


@pytest.mark.parametrize("size", [5, 2 * MAX_HELD_BYTES], ids=["a short one", "a long one"])
async def test_a_client_that_leaves_in_its_request(autojump_clock: MockClock, size: int) -> None:
    """Half a request is none; of a long one, what came, and that no more comes."""
    async with front() as door:
        client = door.connect()
        await client.send(post(b"x" * size)[:-2])
        await client.leave()
        if size == 5:
            with trio.move_on_after(1) as waited:
                await door.conversation()
            assert waited.cancelled_caught
            return
        receive, frames = await first(await door.conversation())
        frames += await everything(receive)

        assert ExchangeEnd("closed") == frames[-1].fact
        assert Fragment(last=True) not in [frame.fact for frame in frames]


class Breaking(trio.abc.HalfCloseableStream):
    """A stream that breaks, as a socket does that is reset."""

    def __init__(self, stream: trio.StapledStream) -> None:  # type: ignore[type-arg]
        self.stream = stream
        self.broken = trio.CancelScope()

    async def receive_some(self, max_bytes: int | None = None) -> bytes | bytearray:
        with trio.CancelScope() as self.broken:
            data: bytes | bytearray = await self.stream.receive_some(max_bytes)
            return data
        raise trio.BrokenResourceError

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        await self.stream.send_all(data)

    async def wait_send_all_might_not_block(self) -> None:
        await self.stream.wait_send_all_might_not_block()

    async def send_eof(self) -> None:
        await self.stream.send_eof()

    async def aclose(self) -> None:
        await self.stream.aclose()


async def test_a_reset_is_told_as_one(autojump_clock: MockClock) -> None:
    """A client whose connection breaks is gone in another way."""
    async with front() as door:
        ours, theirs = memory_stream_pair()
        breaking = Breaking(theirs)
        client = door.connect(lambda: (ours, breaking))
        await client.send(GET)
        receive, _ = await first(await door.conversation())
        breaking.broken.cancel()

        assert ["reset"] == shown(await receive())


async def test_each_event_goes_out_at_once(autojump_clock: MockClock) -> None:
    """Nothing of a stream is held back: not its head, not any event, not its end."""
    async with front() as door:
        client = door.connect()
        await client.send(GET)
        channel = await door.conversation()
        await first(channel)
        channel.send_nowait(of(1, HttpResponse(200, "OK", EVENTS)))
        await client.reads(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n"
        )
        for number in (1, 2):
            channel.send_nowait(of(1, b"%d" % number))
            await client.reads(b"9\r\ndata: %d\n\n\r\n" % number)
        channel.send_nowait(of(1, ExchangeEnd()))
        await client.reads(b"0\r\n\r\n")
        assert 0.0 == trio.current_time()


@pytest.mark.parametrize("how", ["closed", "reset"])
async def test_an_upstream_that_dies_takes_the_connection_along(
    autojump_clock: MockClock, how: str
) -> None:
    """An answer that is cut off ends with the connection, behind what there was of it."""
    async with front() as door:
        client = door.connect()
        await client.send(GET)
        channel = await door.conversation()
        receive, _ = await first(channel)
        channel.send_nowait(of(1, HttpResponse(200, "OK", EVENTS), b"1", ExchangeEnd(how)))

        assert (await client.rest()).endswith(b"\r\n\r\n9\r\ndata: 1\n\n\r\n")
        with pytest.raises(trio.EndOfChannel):
            await receive()


@pytest.mark.parametrize("how", ["closed", "reset", "eof"])
async def test_no_answer_at_all(autojump_clock: MockClock, how: str) -> None:
    """An exchange that ends without a head is a connection that is closed."""
    async with front() as door:
        client = door.connect()
        await client.send(GET)
        channel = await door.conversation()
        await first(channel)
        channel.send_nowait(of(1, ExchangeEnd(how)))

        assert b"" == await client.rest()
        assert 0.0 == trio.current_time()


UNSENDABLE = {
    "a head that would be two": (HttpResponse(200, "OK", [("A", "b\r\nSet-Cookie: c")]),),
    "no name of a field": (HttpResponse(200, "OK", [("A b", "c")]), b"{}"),
    "a status for the way only": (HttpResponse(100, "Continue", []),),
    "no text of the old kind": (HttpResponse(200, "\u4f60", []), ExchangeEnd()),
    "an event that would be two": (HttpResponse(200, "OK", EVENTS), SseMeta(id="1\n2"), b"{}"),
}


@pytest.mark.parametrize("name", UNSENDABLE)
async def test_an_answer_that_cannot_be_sent(autojump_clock: MockClock, name: str) -> None:
    """Is a 502 that says why, and is told; what its exchange says behind that goes nowhere, and the
    next on the connection is served.
    """
    async with front() as door:
        client = door.connect()
        await client.send(GET)
        channel = await door.conversation()
        receive, _ = await first(channel)
        channel.send_nowait(of(1, *UNSENDABLE[name]))
        channel.send_nowait(of(1, b"more", ExchangeEnd()))
        status, text = await client.response()

        assert (502, True) == (status, text.startswith(b"mcpmock: this answer cannot be sent: "))
        assert [text[9:-1].decode()] == [str(error) for error in door.told]
        with pytest.raises(trio.EndOfChannel):
            await receive()
        await client.send(post(b"{}"))
        await first(channel)
        channel.send_nowait(ok(2, b"[]"))
        assert (200, b"[]") == await client.response()


async def test_an_event_that_cannot_be_sent(autojump_clock: MockClock) -> None:
    """Once an answer has begun all that can be done is to cut it off."""
    async with front() as door:
        client = door.connect()
        await client.send(GET)
        channel = await door.conversation()
        await first(channel)
        channel.send_nowait(of(1, HttpResponse(200, "OK", EVENTS), b"1"))
        channel.send_nowait(of(1, SseMeta(event="a\nb"), b"2"))

        assert (await client.rest()).endswith(b"\r\n\r\n9\r\ndata: 1\n\n\r\n")
        assert 1 == len(door.told)


async def test_our_token_goes_no_further(autojump_clock: MockClock) -> None:
    """Of a request that was let in by it; a token of the server's goes on."""
    theirs = b"Authorization: Bearer theirs"
    async with front(token="ours") as door:
        client = door.connect()
        await client.send(post(b"1", b"Mcpmock-Token: ours", theirs))
        channel = await door.conversation()
        _, frames = await first(channel)
        channel.send_nowait(ok(1, b"{}"))
        await client.send(post(b"2", b"Authorization: Bearer ours", theirs))
        frames += (await first(channel))[1]
        heads = [frame.fact for frame in frames if isinstance(frame.fact, HttpRequest)]

        assert 2 == len(heads)
        assert {("Authorization", "Bearer theirs")} == {head.headers[-1] for head in heads}
        assert "ours" not in str(frames)


async def test_our_token_again_and_again(autojump_clock: MockClock) -> None:
    """Every request that has it is let in, also one like that before."""
    async with front(token="ours") as door:
        client = door.connect()
        for number in (1, 2):
            await client.send(post(b"{}", b"Mcpmock-Token: ours"))
            if number == 1:
                channel = await door.conversation()
            await first(channel)
            channel.send_nowait(ok(number, b"{}"))
            assert (200, b"{}") == await client.response()


async def test_a_wrong_length_closes_the_connection(autojump_clock: MockClock) -> None:
    """A recorded answer that is shorter than it says is written as it is, and no client waits."""
    async with front() as door:
        client = door.connect()
        await client.send(GET)
        channel = await door.conversation()
        await first(channel)
        head = HttpResponse(200, "OK", [*JSON, ("Content-Length", "9")])
        channel.send_nowait(of(1, head, b"{}", ExchangeEnd()))

        assert (await client.rest()).endswith(b"\r\n\r\n{}")


@pytest.mark.parametrize("moment", range(12))
async def test_cancelling_leaves_nothing_open(autojump_clock: MockClock, moment: int) -> None:
    """Stopping in the middle of anything closes the connection."""
    ours, theirs = memory_stream_pair()
    client = Peer(ours)
    async with front() as door:
        with trio.CancelScope() as scope:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(door.listener.serve, theirs)
                nursery.start_soon(client.send, post(b"1") + post(b"2") + post(b"3")[:-1])
                for _ in range(moment):
                    await trio.lowlevel.checkpoint()
                scope.cancel()
        with pytest.raises(trio.ClosedResourceError):
            await theirs.send_all(b"x")


def test_timeouts() -> None:
    """The numbers that are promised."""
    assert (30.0, 75.0, 60.0) == (
        connection.HEAD_TIMEOUT_S,
        connection.IDLE_TIMEOUT_S,
        connection.BODY_TIMEOUT_S,
    )


PAGE = b"Origin: http://localhost:6274"
ALLOWED = b"\r\nAccess-Control-Allow-Origin: http://localhost:6274\r\n"
PREFLIGHT = (
    b"OPTIONS /mcp HTTP/1.1\r\n" + HOST + PAGE + b"\r\n"
    b"Access-Control-Request-Method: POST\r\n"
    b"Access-Control-Request-Headers: authorization\r\n\r\n"
)
CLOSE = b"Connection: close"


async def test_a_preflight(autojump_clock: MockClock) -> None:
    """It is answered here, before a token is asked for, and its connection is kept."""
    async with front(token="s3cret") as door:
        client = door.connect()
        await client.send(PREFLIGHT)
        await client.send(post(b"{}", PAGE, b"Authorization: Bearer s3cret", CLOSE))
        _, frames = await first(channel := await door.conversation())
        channel.send_nowait(ok(1, b"{}"))
        allowed, _, answer = (await client.rest()).partition(b"\r\n\r\n")

        assert [POSTED, b"{}"] == shown(frames)
        assert allowed.startswith(b"HTTP/1.1 204 No Content\r\n")
        assert ALLOWED in allowed
        assert b"\r\nAccess-Control-Allow-Headers: authorization" in allowed
        assert answer.startswith(b"HTTP/1.1 200 ")
        assert ALLOWED in answer


async def test_a_preflight_on_its_own_connection(autojump_clock: MockClock) -> None:
    """A connection that is to be closed is closed behind it."""
    async with front() as door:
        client = door.connect()
        await client.send(PREFLIGHT.replace(PAGE, PAGE + b"\r\n" + CLOSE))

        assert (await client.rest()).startswith(b"HTTP/1.1 204 ")


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (post(b"{}", PAGE), b"401"),
        (post(b"{}", PAGE, b"Mcpmock-Token: s3cret").replace(b"application/json", b"text/plain"),
         b"415"),
        (post(b"x" * 1000, PAGE, b"Mcpmock-Token: s3cret"), b"413"),
    ],
)  # fmt: skip
async def test_a_page_reads_why_it_is_refused(
    autojump_clock: MockClock, request_: bytes, status: bytes
) -> None:
    """Where it may send requests at all."""
    async with front(body_limit=100, token="s3cret") as door:
        client = door.connect()
        await client.send(request_)
        refusal = await client.rest()

        assert refusal.startswith(b"HTTP/1.1 " + status)
        assert ALLOWED in refusal


async def test_an_answer_of_ours_instead(autojump_clock: MockClock) -> None:
    """A page reads also that an answer cannot be sent, or does not come."""
    async with front() as door:
        first_client, second_client = door.connect(), door.connect()
        await first_client.send(post(b"{}", PAGE, CLOSE))
        await first(channel := await door.conversation())
        channel.send_nowait(of(1, HttpResponse(99, "", []), ExchangeEnd()))
        await second_client.send(post(b"{}", PAGE))
        await first(channel)
        await channel.aclose()
        answers = [await first_client.rest(), await second_client.rest()]

        assert [b"502", b"503"] == [answer.split()[1] for answer in answers]
        assert all(ALLOWED in answer for answer in answers)


@pytest.mark.parametrize("asked", [PREFLIGHT, post(b"{}", PAGE)], ids=["preflight", "POST"])
async def test_pages_that_may_not_read_answers(autojump_clock: MockClock, asked: bytes) -> None:
    """A page of a foreign origin gets nothing that its browser would show it, and a page that
    rebinds its name to us nothing either.
    """
    for change in ((b"http://localhost:6274", b"http://evil.example"), (HOST, b"Host: evil\r\n")):
        async with front() as door:
            client = door.connect()
            await client.send(asked.replace(*change))
            refusal = await client.rest()

            assert refusal.split()[1] in (b"403", b"421")
            assert b"access-control" not in refusal.lower()


async def test_a_client_that_is_no_browser(autojump_clock: MockClock) -> None:
    """Its answer is as it was sent, also behind that to a page."""
    async with front() as door:
        client = door.connect()
        await client.send(PREFLIGHT + post(b"{}", CLOSE))
        await first(channel := await door.conversation())
        channel.send_nowait(ok(1, b"{}"))

        answer = (await client.rest()).partition(b"\r\n\r\n")[2]
        assert answer.startswith(b"HTTP/1.1 200 ")
        assert b"Access-Control" not in answer


async def test_a_real_server_decides_who_reads(autojump_clock: MockClock) -> None:
    """It gets the preflight, and what its answers allow is not changed."""
    theirs = [("Access-Control-Allow-Origin", "*")]
    async with front(mirrors=True) as door:
        client = door.connect()
        await client.send(PREFLIGHT.replace(PAGE, PAGE + b"\r\n" + CLOSE))
        _, frames = await first(channel := await door.conversation())
        channel.send_nowait(of(1, HttpResponse(204, "No Content", theirs), ExchangeEnd()))

        assert [("OPTIONS", "/mcp")] == shown(frames)
        assert (
            b"HTTP/1.1 204 No Content\r\nAccess-Control-Allow-Origin: *\r\n"
            b"Connection: close\r\n\r\n"
        ) == await client.rest()
