"""The listener and its channels, over memory streams and a mock clock; a few over real sockets."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import attrs
import pytest
import trio
from trio.testing import (
    MockClock,
    lockstep_stream_pair,
    memory_stream_pair,
    wait_all_tasks_blocked,
)

from mcpmock.channels.channel import DRAIN_TIMEOUT_S, MAX_HELD_BYTES
from mcpmock.channels.fd import borrow, log_queue
from mcpmock.channels.http.addresses import ListenAddress
from mcpmock.channels.http.server import HttpListener, HttpServerChannel
from mcpmock.channels.queues import FrameQueue
from mcpmock.pipeline.pipeline import Pipeline
from mcpmock.pipeline.stage import Action, Hangup, Send, Stage
from mcpmock.protocol.messages import ExchangeEnd, Frame, HttpResponse, SseMeta
from mcpmock.runner import LiveSession, run
from mcpmock.transports.access_policy import AccessPolicy
from mcpmock.transports.session_router import SessionRouter, TransportKind
from tests.channels.http.http_talking import (
    EVENTS,
    GET,
    HOST,
    JSON,
    Peer,
    answer,
    back,
    first,
    front,
    of,
    ok,
    post,
    request,
    said,
    shown,
)
from tests.channels.http.test_wire import connected
from tests.support import INITIALIZE, logs, s2c

LIMIT = 20.0
MANY = 500
POSTED = ("POST", "/mcp")
STREAM = HttpResponse(200, "OK", EVENTS)
SESSION = HttpResponse(200, "OK", [*JSON, ("Mcp-Session-Id", "abc")])


def ignore(_value: object) -> None:
    """Who is told of the ends of sessions, where nobody is."""


async def test_conversations(autojump_clock: MockClock) -> None:
    """An initialize opens a session with a channel of its own; what names it comes there, on
    whatever connection, and all else to the one without sessions.
    """
    async with front() as door:
        one, other = door.connect(), door.connect()
        await one.send(post(INITIALIZE))
        session = await door.conversation()
        _, frames = await first(session)
        assert [POSTED, INITIALIZE] == shown(frames)
        session.send_nowait(of(1, SESSION, b"{}", ExchangeEnd()))
        await one.response()

        await other.send(post(b"[1]", b"Mcp-Session-Id: abc"))
        _, frames = await first(session)
        assert [POSTED, b"[1]"] == shown(frames)
        session.send_nowait(ok(2, b"{}"))
        await other.response()

        await one.send(post(b"[2]", b"Mcp-Session-Id: unknown"))
        rest = await door.conversation()
        _, frames = await first(rest)
        assert [POSTED, b"[2]"] == shown(frames)
        assert (2, 1) == (session.conversation, rest.conversation)


async def test_the_event_stream_is_the_conversation(autojump_clock: MockClock) -> None:
    """Over HTTP+SSE a GET opens a conversation, and its endpoint event names the URL for POSTs."""
    async with front(TransportKind.SSE) as door:
        stream, client = door.connect(), door.connect()
        await stream.send(GET)
        session = await door.conversation()
        await first(session)
        session.send_nowait(of(1, STREAM, SseMeta(event="endpoint"), b"/messages?id=7"))
        await wait_all_tasks_blocked()
        await client.send(post(b"{}", target=b"/messages?id=7"))
        _, frames = await first(session)

        assert [("POST", "/messages?id=7"), b"{}"] == shown(frames)


async def test_whole_requests_are_delivered(autojump_clock: MockClock) -> None:
    """At once, with the leaving of their client, once somebody takes them; what comes in pieces is
    received, so that its client can be stopped.
    """
    got: list[list[object]] = []
    async with front() as door:
        client = door.connect()
        await client.send(post(b"1"))
        channel = await door.conversation()
        channel.deliver = lambda frames: got.append(shown(frames))
        await first(channel)
        channel.send_nowait(ok(1, b"{}"))

        await client.send(post(b"2"))
        await wait_all_tasks_blocked()
        channel.send_nowait(ok(2, b"{}"))
        await client.send(post(b"x" * (2 * MAX_HELD_BYTES)))
        _, frames = await first(channel)
        assert POSTED == shown(frames)[0]
        gone = door.connect()
        await gone.send(GET)
        await wait_all_tasks_blocked()
        await gone.leave()
        await wait_all_tasks_blocked()

        assert [[POSTED, b"2"], [("GET", "/mcp")], ["closed"]] == got


async def test_one_batch_for_several_exchanges(autojump_clock: MockClock) -> None:
    """Frames in one batch go to their own exchanges; frames of no exchange are dropped."""
    async with front() as door:
        clients = [door.connect(), door.connect()]
        for client in clients:
            await client.send(post(b"{}"))
        channel = await door.conversation()
        await first(channel)
        await first(channel)
        answers = (ok(1, b"[1]"), ok(2, b"[2]"), ok(3, b"[3]"), ok(None, b"[]"))
        channel.send_nowait([frame for frames in zip(*answers, strict=True) for frame in frames])

        for number, client in enumerate(clients, 1):
            assert (200, b"[%d]" % number) == await client.response()


async def test_a_stalled_client_holds_only_its_own(autojump_clock: MockClock) -> None:
    """A client that does not read blocks its own sender, at MAX_HELD_BYTES, and no other."""
    async with front() as door:
        ours, theirs = memory_stream_pair()
        gate = trio.Event()
        assert theirs.send_stream.send_all_hook is not None
        pump = theirs.send_stream.send_all_hook

        async def wait_and_pump() -> None:
            await gate.wait()
            await pump()

        theirs.send_stream.send_all_hook = wait_and_pump
        stalled, other = door.connect(lambda: (ours, theirs)), door.connect()
        await stalled.send(GET)
        await other.send(GET)
        channel = await door.conversation()
        await first(channel)
        await first(channel)
        piece = Frame(of(1, b"")[0].direction, b"x" * 100_000, exchange=1)
        channel.send_nowait(of(1, STREAM))
        while channel.held(piece) < MAX_HELD_BYTES:
            channel.send_nowait([piece])
        roomy = trio.Event()

        async def wait_for_room() -> None:
            await channel.room(piece)
            roomy.set()

        door.nursery.start_soon(wait_for_room)
        await wait_all_tasks_blocked()
        assert not roomy.is_set()
        await channel.room(of(2, b"")[0])
        channel.send_nowait(ok(2, b"{}"))
        assert (200, b"{}") == await other.response()
        assert MAX_HELD_BYTES + 200_000 > channel.held(piece)

        gate.set()
        await roomy.wait()
        await channel.flush()
        assert 0 == channel.held(piece)


async def test_many_exchanges_at_once(autojump_clock: MockClock) -> None:
    """500 open streams get their own events, and end when their clients leave."""
    async with front() as door:
        clients = [door.connect() for _ in range(MANY)]
        for client in clients:
            await client.send(GET)
        channel = await door.conversation()
        opened = [await first(channel) for _ in clients]
        for number in range(1, MANY + 1):
            channel.send_nowait(of(number, STREAM, b"%d" % number))
        await wait_all_tasks_blocked()
        for number, client in enumerate(clients, 1):
            data = await client.stream.receive_some()
            assert data.endswith(b"\r\ndata: %d\n\n\r\n" % number)
            await client.leave()
        for receive, _ in opened:
            assert ["closed"] == shown(await receive())
        await wait_all_tasks_blocked()
        assert set() == door.open
        assert 0.0 == trio.current_time()


async def test_a_channel_that_closes_ends_what_is_open(autojump_clock: MockClock) -> None:
    """Where nothing was answered, with 503; in the middle, by hanging up; and nothing opens any
    more.
    """
    async with front() as door:
        waiting, reading = door.connect(), door.connect()
        await waiting.send(GET)
        await reading.send(GET)
        channel = await door.conversation()
        await first(channel)
        await first(channel)
        channel.send_nowait(of(2, STREAM, b"1"))
        with pytest.RaisesGroup(trio.EndOfChannel):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(channel.accept)
                await wait_all_tasks_blocked()
                await channel.aclose()

        assert (await waiting.rest()).startswith(b"HTTP/1.1 503 Service Unavailable\r\n")
        assert (await reading.rest()).endswith(b"9\r\ndata: 1\n\n\r\n")
        with pytest.raises(trio.EndOfChannel):
            await channel.accept()


async def test_who_comes_late(autojump_clock: MockClock) -> None:
    """Requests of an ended session get 404, and another session may begin."""
    async with front() as door:
        client = door.connect()
        await client.send(post(INITIALIZE))
        channel = await door.conversation()
        await first(channel)
        channel.send_nowait(of(1, SESSION, b"{}", ExchangeEnd()))
        await client.response()
        await channel.aclose()
        await client.send(post(b"[1]", b"Mcp-Session-Id: abc"))
        status, text = await client.response()
        assert 404 == status
        assert text.startswith(b"mcpmock: ")

        again = door.connect()
        await again.send(post(INITIALIZE))
        another = await door.conversation()
        assert 3 == another.conversation


@attrs.define
class EndsAtOnce(Stage):
    """Ends the session at the second batch of its client."""

    heard: int = 0

    def feed(self, seen: Sequence[Frame], now: float) -> Iterable[Action]:
        self.heard += 1
        return (Hangup("enough"),) if self.heard == 2 else (Send(()),)


async def test_a_session_that_was_ended_here(autojump_clock: MockClock) -> None:
    """Although its server knows it still: who sees the end and asks at once gets 404."""
    async with front(mirrors=True) as door:
        client = door.connect()
        await client.send(post(INITIALIZE))
        channel = await door.conversation()
        door.nursery.start_soon(run, LiveSession(Pipeline([EndsAtOnce()]), channel, None))
        await wait_all_tasks_blocked()
        channel.send_nowait(of(1, SESSION, b"{}", ExchangeEnd()))
        await client.response()
        statuses = []
        for _ in range(2):
            await client.send(post(b"[1]", b"Mcp-Session-Id: abc"))
            status, _ = await client.response()
            statuses.append(status)
            client = door.connect()

        assert [503, 404] == statuses


async def test_what_belongs_to_no_session_begins_again(autojump_clock: MockClock) -> None:
    """Without sessions the next request opens a conversation again."""
    async with front() as door:
        client = door.connect()
        await client.send(post(b"{}"))
        channel = await door.conversation()
        await first(channel)
        await channel.aclose()
        status, _ = await client.response()
        await door.connect().send(post(b"{}"))
        another = await door.conversation()

        assert 503 == status
        assert another is not channel
        assert 1 == another.conversation == channel.conversation


class Dies:
    """A router with an internal error."""

    def __init__(self, router: SessionRouter) -> None:
        self.router = router

    def __getattr__(self, name: str) -> object:
        return getattr(self.router, name)

    def conversation(self, *_: object, whole: bool) -> int:
        raise RuntimeError("a mistake")


async def test_a_mistake_costs_one_connection(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An internal error is reported, and ends only the connection where it happened."""
    async with front() as door:
        good, bad = door.connect(), door.connect()
        await good.send(post(b"{}"))
        channel = await door.conversation()
        await first(channel)
        with monkeypatch.context() as patched:
            patched.setattr(SessionRouter, "conversation", Dies.conversation)
            await bad.send(post(b"{}"))
            assert b"" == await bad.rest()
        channel.send_nowait(ok(1, b"{}"))

        assert (200, b"{}") == await good.response()
        assert ["a mistake"] == [str(error) for error in door.told]


async def test_a_mistake_is_said(
    autojump_clock: MockClock, capsys: pytest.CaptureFixture[str]
) -> None:
    """By default errors are reported on standard error, in one line."""
    router = SessionRouter(TransportKind.STREAMABLE_HTTP, "/mcp")
    listener = HttpListener(Dies(router), AccessPolicy(8080), [])  # type: ignore[arg-type]
    ours, theirs = memory_stream_pair()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(listener.serve, theirs)
        await ours.send_all(post(b"{}"))
        assert b"" == await ours.receive_some()

    said = capsys.readouterr().err
    assert said.startswith("mcpmock: a connection was dropped: internal error (please report): ")
    assert 1 == said.count("\n")
    await listener.aclose()


async def test_what_cannot_be_sent_is_said(
    autojump_clock: MockClock, capsys: pytest.CaptureFixture[str]
) -> None:
    """A response that cannot be sent is reported in one line, and not as an internal error."""
    listener = HttpListener(
        SessionRouter(TransportKind.STREAMABLE_HTTP, "/mcp"), AccessPolicy(8080), []
    )
    ours, theirs = memory_stream_pair()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(listener.serve, theirs)
        await ours.send_all(post(b"{}", b"Connection: close"))
        channel = await listener.accept()
        await first(channel)
        channel.send_nowait(of(1, HttpResponse(99, "", []), ExchangeEnd()))
        assert (await ours.receive_some()).startswith(b"HTTP/1.1 502 ")
        await ours.aclose()

    line = "mcpmock: this answer cannot be sent: invalid status: 99\n"
    assert line == capsys.readouterr().err
    await listener.aclose()


class Full(trio.abc.Listener[trio.abc.Stream]):
    """A listener that finds no descriptor at first, and then is closed."""

    def __init__(self, stream: trio.abc.Stream) -> None:
        self.given = [OSError(errno.EMFILE, "full"), OSError(errno.ENFILE, "full"), stream]
        self.closed = trio.Event()

    async def accept(self) -> trio.abc.Stream:
        await trio.lowlevel.checkpoint()
        if not self.given:
            await self.closed.wait()
            raise trio.ClosedResourceError
        given = self.given.pop(0)
        if isinstance(given, OSError):
            raise given
        return given  # type: ignore[return-value]

    async def aclose(self) -> None:
        self.closed.set()
        await trio.lowlevel.checkpoint()


async def test_no_descriptor_is_left(autojump_clock: MockClock) -> None:
    """Then we wait a moment, and go on."""
    ours, theirs = memory_stream_pair()
    router = SessionRouter(TransportKind.STREAMABLE_HTTP, "/mcp")
    listener = HttpListener(router, AccessPolicy(8080), [Full(theirs)])
    async with trio.open_nursery() as nursery:
        nursery.start_soon(listener.run)
        await ours.send_all(GET.replace(HOST, b""))
        assert (await ours.receive_some()).startswith(b"HTTP/1.1 421")
        assert 0.1 == pytest.approx(trio.current_time())
        await listener.aclose()
        with pytest.raises(trio.ClosedResourceError):
            await listener.accept()


async def test_through_the_runner(autojump_clock: MockClock) -> None:
    """From a client to a server and back, through a pipeline: exchanges side by side, and the leave
    of the one heard by the other.
    """
    async with back() as upstream, front() as door:

        async def converse(client: HttpServerChannel) -> None:
            await run(LiveSession(Pipeline([Stage()]), client, upstream.channel))

        door.nursery.start_soon(trio.serve_listeners, converse, [door.listener])
        one, other = door.connect(), door.connect()
        await one.send(post(b"[1]"))
        first_server = await upstream.server()
        await other.send(post(b"[2]"))
        second_server = await upstream.server()
        await second_server.send(answer(b"[4]"))
        await first_server.send(answer(b"[3]", b"500 Oh"))
        assert (500, b"[3]") == await one.response()
        assert (200, b"[4]") == await other.response()

        await one.send(GET)
        await wait_all_tasks_blocked()
        await one.leave()
        for server in (first_server, second_server):
            assert (await server.rest()).startswith((b"POST /mcp HTTP/1.1", b"GET"))
        door.nursery.cancel_scope.cancel()


@pytest.mark.e2e
@pytest.mark.parametrize("how", ["closed", "reset"])
async def test_over_sockets(how: str) -> None:
    """A reset upstream is a reset for the client, an end an end; and a client that is gone is
    noticed at once.
    """
    sockets = await ListenAddress().listen()
    port = sockets[0].socket.getsockname()[1]
    listener = HttpListener(
        SessionRouter(TransportKind.STREAMABLE_HTTP, "/mcp"), AccessPolicy(port), sockets
    )
    get = GET.replace(b"8080", b"%d" % port)
    with trio.fail_after(LIMIT):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(listener.run)
            client = Peer(await trio.open_tcp_stream("127.0.0.1", port))
            await client.send(get)
            channel = await listener.accept()
            await first(channel)
            channel.send_nowait(of(1, STREAM, b"1"))
            channel.send_nowait(of(1, ExchangeEnd(how)))
            if how == "closed":
                assert (await client.rest()).endswith(b"data: 1\n\n\r\n")
            else:
                with pytest.raises(trio.BrokenResourceError):
                    await client.rest()
            await client.leave()

            gone = await trio.open_tcp_stream("127.0.0.1", port)
            await gone.send_all(get)
            receive, _ = await first(channel)
            if how == "reset":
                gone.setsockopt(1, 13, b"\1\0\0\0\0\0\0\0")  # SO_LINGER: no goodbye
            await gone.aclose()
            assert [how] == shown(await receive())
            await listener.aclose()


class Slow:
    """An exchange whose client reads a byte each time that somebody looks."""

    number, whole = 1, True
    inbox = FrameQueue()

    def __init__(self, unread: int) -> None:
        self._unread = unread

    def open(self, leave: object, deliver: object) -> None:
        pass

    def is_unread(self) -> bool:
        self._unread = max(0, self._unread - 1)
        return self._unread > 0


@pytest.mark.parametrize(
    ("kind", "held", "expected"),
    [
        (TransportKind.SSE, 4, 0.031),
        (TransportKind.SSE, 10**6, DRAIN_TIMEOUT_S + 0.025),
        (TransportKind.STREAMABLE_HTTP, 4, 0.0),
    ],
)
async def test_waiting_for_the_reader(
    autojump_clock: MockClock, kind: TransportKind, held: int, expected: float
) -> None:
    """Where all comes on one stream, until it was read, and not for ever."""
    channel = HttpServerChannel(1, SessionRouter(kind, "/mcp"), ignore, ignore)
    channel.open(Slow(held))  # type: ignore[arg-type]
    began = trio.current_time()
    await channel.drained()

    assert expected == round(trio.current_time() - began, 6)


async def test_an_answer_that_is_not_read() -> None:
    """It is held here, or by the kernel."""
    for streams in (lockstep_stream_pair(), await connected()):
        with trio.fail_after(20):
            async with front() as door:
                client = door.connect(lambda streams=streams: streams)
                await client.send(GET)
                await first(channel := await door.conversation())
                exchange = channel._exchanges[1]
                assert not exchange.is_unread()
                channel.send_nowait(of(1, HttpResponse(200, "OK", EVENTS), b"{}"))

                assert exchange.is_unread()
                await client.leave()


class Held:
    """An exchange as far as its conversation looks at it."""

    whole = False

    def __init__(self, number: int, method: str) -> None:
        self.number, self.request = number, request(method)
        self.inbox = FrameQueue()

    def open(self, leave: Callable[[int], object], deliver: object) -> None:
        self.leave = leave

    def send(self, frames: Sequence[Frame]) -> None:
        pass


STREAMABLE, SSE = TransportKind.STREAMABLE_HTTP, TransportKind.SSE


@pytest.mark.parametrize(
    ("kind", "conversation", "answer", "exchanges", "ended"),
    [
        (STREAMABLE, 2, SESSION, [("POST", 50)], 110),
        (STREAMABLE, 2, SESSION, [("GET", 200)], 260),
        (STREAMABLE, 2, SESSION, [("POST", 5), ("POST", 50)], 110),
        (STREAMABLE, 2, STREAM, [("POST", 50)], 51),
        (STREAMABLE, 2, STREAM, [("POST", 5), ("POST", 50)], 51),
        (STREAMABLE, 1, STREAM, [("POST", 50)], None),
        (SSE, 2, STREAM, [("GET", 50)], 51),
        (SSE, 2, STREAM, [("GET", 5), ("POST", 50)], 51),
    ],
)
async def test_when_a_session_is_over(
    autojump_clock: MockClock,
    kind: TransportKind,
    conversation: int,
    answer: HttpResponse,
    exchanges: list[tuple[str, float]],
    ended: float | None,
) -> None:
    """Without any exchange for the session timeout; soon, if it has no name, or no event stream any
    more.
    """
    channel = HttpServerChannel(
        conversation, SessionRouter(kind, "/mcp"), ignore, ignore, session_timeout=60.0
    )
    held = [Held(number, method) for number, (method, _) in enumerate(exchanges, 1)]
    for one in held:
        channel.open(one)  # type: ignore[arg-type]
    over: list[float] = []

    async def wait() -> None:
        await channel.ended()
        over.append(trio.current_time())

    async with trio.open_nursery() as nursery:
        nursery.start_soon(wait)
        for one, (_, until) in zip(held, exchanges, strict=True):
            await trio.sleep_until(until)
            channel.send_nowait(of(one.number, answer))
            one.leave(one.number)
        await trio.sleep(10_000)
        nursery.cancel_scope.cancel()

    assert ([] if ended is None else [ended]) == over


async def test_a_session_that_is_over(autojump_clock: MockClock) -> None:
    """Nothing belongs to it any more, from that moment on."""
    async with front() as door:
        client = door.connect()
        await client.send(post(INITIALIZE))
        channel = await door.conversation()
        await first(channel)
        channel.send_nowait(of(1, SESSION, b"{}", ExchangeEnd()))
        await client.response()
        named = b"Mcp-Session-Id: abc"
        await client.send(post(b"", named).replace(b"POST", b"DELETE"))
        await first(channel)
        channel.send_nowait(ok(2, b"{}"))
        assert 200 == (await client.response())[0]
        await channel.ended()
        assert 1.0 == trio.current_time()
        await client.send(post(b"{}", named))

        assert 404 == (await client.response())[0]


async def test_closing_a_listener(autojump_clock: MockClock) -> None:
    """Connections where nothing is asked are closed with it, at once, and so are conversations."""
    async with front() as door:
        client, asking = door.connect(), door.connect()
        await asking.send(GET)
        await first(channel := await door.conversation())
        await door.listener.aclose()

        assert b"" == await client.rest()
        assert 0.0 == trio.current_time()
        with pytest.raises(trio.EndOfChannel):
            await channel.accept()


async def test_whole_requests_behind_one_that_is_not(autojump_clock: MockClock) -> None:
    """They are not delivered before that was accepted."""
    got: list[list[object]] = []
    async with front() as door:
        await door.connect().send(GET)
        channel = await door.conversation()
        await first(channel)
        channel.deliver = lambda frames: got.append(shown(frames))
        await door.connect().send(post(b"x" * (2 * MAX_HELD_BYTES)))
        await wait_all_tasks_blocked()
        await door.connect().send(post(b"2"))
        await wait_all_tasks_blocked()
        assert [] == got
        for expected in (2, 3):
            _, frames = await first(channel)
            assert expected == frames[0].exchange


async def test_a_log_that_is_read_late(tmp_path: Path) -> None:
    """All of it is written, as it is read."""
    reads, writes = os.pipe()
    router = SessionRouter(TransportKind.STREAMABLE_HTTP, "/mcp")
    outlet = log_queue(borrow(writes, os.O_WRONLY))
    os.close(writes)
    got = bytearray()
    with trio.fail_after(LIMIT):
        async with (
            HttpListener(router, AccessPolicy(8080), [], stderr=outlet) as listener,
            trio.open_nursery() as nursery,
        ):
            nursery.start_soon(listener.run)
            channel = HttpServerChannel(1, router, ignore, ignore, outlet)
            channel.send_nowait([logs("x" * 200_000)])
            async with trio.lowlevel.FdStream(reads) as pipe:
                while len(got) < 200_000:
                    got += await pipe.receive_some()
            nursery.cancel_scope.cancel()

    assert b"x" * 200_000 == got


class Broken(Full):
    """A listener that cannot go on."""

    def __init__(self) -> None:
        self.given = [OSError(errno.EBADF, "broken")]


async def test_a_listener_that_breaks(autojump_clock: MockClock) -> None:
    """It is no matter of descriptors that are left: nothing is served any more."""
    router = SessionRouter(TransportKind.STREAMABLE_HTTP, "/mcp")
    with pytest.RaisesGroup(OSError), trio.fail_after(60):
        await HttpListener(router, AccessPolicy(8080), [Broken()]).run()


async def test_standard_error_of_a_server(tmp_path: Path) -> None:
    """HTTP has no way for it: it goes where the listener was told, or nowhere."""
    log = tmp_path / "log"
    router = SessionRouter(TransportKind.STREAMABLE_HTTP, "/mcp")
    with log.open("wb") as file:
        outlet = log_queue(borrow(file.fileno(), os.O_WRONLY))
    async with HttpListener(router, AccessPolicy(8080), [], stderr=outlet):
        for stderr in (outlet, None):
            channel = HttpServerChannel(1, router, ignore, ignore, stderr)
            channel.send_nowait([logs("one\n"), ok(1, b"{}")[0], s2c(b"lost"), logs("two\n")])

    assert b"one\ntwo\n" == log.read_bytes()
    with pytest.raises(trio.ClosedResourceError):
        await outlet._descriptor.writable()


def test_frames_of_both_ways() -> None:
    """The helpers of these tests build the frames of both directions."""
    assert [b"{}", "eof"] == shown(said(1, b"{}", ExchangeEnd()))
