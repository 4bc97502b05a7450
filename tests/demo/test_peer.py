"""Asking, answering and listening, by two peers in one process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from mcpmock.channels.channel import MemoryChannel, memory_pair
from mcpmock.demo.peer import DemoRefusal, Heard, Peer, Pending
from mcpmock.protocol.messages import (
    C2S,
    S2C,
    Fragment,
    Frame,
    Notification,
    Request,
    Response,
    StreamEnd,
    decode,
)
from tests.support import batch, notification, request, response


async def listening(nursery: trio.Nursery) -> tuple[Peer, MemoryChannel, list[Heard]]:
    """A peer that listens, the far end of its channel, and what it has heard."""
    near, far = memory_pair()
    peer, heard = Peer(near, C2S), list[Heard]()
    nursery.start_soon(peer.listen, heard.append)
    return peer, far, heard


async def raws(far: MemoryChannel) -> list[bytes]:
    return [frame.raw for frame in await far.receive()]


async def answer(how: Callable[[Peer, bytes], None]) -> Any:
    """The result of a question that the other peer treats like this."""
    near, far = memory_pair()
    asking, asked = Peer(near, C2S), Peer(far, S2C)
    pending = asking.ask("question", {"a": 1})
    how(asked, pending.id)
    asked.end()
    await asking.listen(lambda _: None)
    return await pending.result()


async def test_result() -> None:
    """An answer is the result of the question."""
    assert {"b": 2} == await answer(lambda peer, id_: peer.answer(id_, {"b": 2}))


async def test_refusal() -> None:
    """An error answer is raised where the question was asked."""
    with pytest.raises(DemoRefusal) as caught:
        await answer(lambda peer, id_: peer.refuse(id_, DemoRefusal(-7, "no", [1])))

    assert (-7, "no", [1]) == (caught.value.code, caught.value.message, caught.value.data)


async def test_odd_error() -> None:
    """An error that is no object is an error all the same."""
    pending = Pending(b"1")
    pending.settle(Response(b"1", None, b'"no"'))

    with pytest.raises(DemoRefusal):
        await pending.result()


async def test_wire() -> None:
    """Messages are compact; absent params and data stay absent, ids keep their spelling."""
    near, far = memory_pair()
    peer = Peer(near, C2S)
    peer.ask("a")
    peer.notify("b", {"c": "\u2603"})
    peer.answer(b"1e0", {})
    peer.refuse(b'"\\u0041"', DemoRefusal(-1, "no"))

    assert [
        b'{"jsonrpc":"2.0","id":1,"method":"a"}',
        '{"jsonrpc":"2.0","method":"b","params":{"c":"\u2603"}}'.encode(),
        b'{"jsonrpc":"2.0","id":1e0,"result":{}}',
        b'{"jsonrpc":"2.0","id":"\\u0041","error":{"code":-1,"message":"no"}}',
    ] == await raws(far)


async def test_together() -> None:
    """Questions asked together travel together, and each gets its own answer."""
    near, far = memory_pair()
    peer = Peer(near, C2S)
    one, two = peer.ask_together(("a", None), ("b", None))
    frames = await far.receive()
    answers = [Frame(S2C, response(id_, {"to": id_})) for id_ in (2, 1)]
    far.send_nowait([*answers, Frame(S2C, b"", b"", StreamEnd())])
    await peer.listen(lambda _: None)

    assert [b"1", b"2"] == [f.content.id for f in frames if isinstance(f.content, Request)]
    assert [{"to": 1}, {"to": 2}] == [await one.result(), await two.result()]


async def test_lone_surrogate() -> None:
    """A lone surrogate, which a peer may send and have echoed, is spelled as an escape."""
    near, far = memory_pair()
    Peer(near, C2S).answer(b"1", decode(b'"\\ud800"'))

    assert [b'{"jsonrpc":"2.0","id":1,"result":"\\ud800"}'] == await raws(far)


async def test_listen() -> None:
    """All messages are heard, those of a batch one by one; what is no JSON-RPC is not."""
    async with trio.open_nursery() as nursery:
        _, far, heard = await listening(nursery)
        lines = [b"noise", b"{}", notification("a"), batch(request(1, "b"), response(9))]
        far.send_nowait([Frame(S2C, line) for line in lines])
        far.send_nowait([Frame(S2C, b"", b"", StreamEnd())])

    assert [Notification("a"), Request(b"1", "b"), Response(b"9", b"{}")] == heard


async def test_long_line() -> None:
    """A line that comes in pieces is heard as one message."""
    raw = notification("long")
    async with trio.open_nursery() as nursery:
        _, far, heard = await listening(nursery)
        far.send_nowait([Frame(S2C, raw[:9], b"", Fragment())])
        far.send_nowait([Frame(S2C, raw[9:], b"\n", Fragment(last=True))])
        far.send_nowait([Frame(S2C, b"", b"", StreamEnd())])

    assert [Notification("long")] == heard


async def test_nobody_left() -> None:
    """Questions that cannot be answered any more, open or new, end instead of waiting."""
    async with trio.open_nursery() as nursery:
        peer, far, _ = await listening(nursery)
        asked = peer.ask("a")
        await far.aclose()
        with pytest.raises(trio.EndOfChannel):
            await asked.result()
    with pytest.raises(trio.EndOfChannel):
        await peer.ask("b").result()


async def test_back_pressure(autojump_clock: trio.abc.Clock) -> None:
    """A peer whose own words are not taken stops listening until they are."""
    async with trio.open_nursery() as nursery:
        peer, far, heard = await listening(nursery)
        peer.notify("big", "x" * (1 << 20))
        far.send_nowait([Frame(S2C, notification("first"))])
        await wait_all_tasks_blocked()
        far.send_nowait([Frame(S2C, notification("second"))])
        await wait_all_tasks_blocked()
        before = len(heard)
        await far.receive()
        await wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()

    assert (1, 2) == (before, len(heard))


async def test_end() -> None:
    """Ending says so behind all that was said before."""
    near, far = memory_pair()
    peer = Peer(near, C2S)
    peer.notify("a")
    peer.end()

    assert [None, StreamEnd()] == [frame.fact for frame in await far.receive()]
