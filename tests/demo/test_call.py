"""What a request lets its handler do, with the legacy era below it."""

from __future__ import annotations

from typing import Any

import pytest

from mcpmock.channels.channel import MemoryChannel, memory_pair
from mcpmock.demo.call import LEVELS, DemoCall, as_object
from mcpmock.demo.eras import Legacy
from mcpmock.demo.peer import DemoRefusal, Peer
from mcpmock.protocol.messages import S2C, Notification, Request


def make(params: bytes | None = None) -> tuple[DemoCall, MemoryChannel]:
    """A call and the client's end of its channel."""
    near, far = memory_pair()
    peer = Peer(near, S2C)
    return DemoCall(peer, Legacy(peer), Request(b"1", "tools/call", params)), far


async def said(far: MemoryChannel) -> list[Any]:
    contents = [frame.content for frame in await far.receive()]
    return [content.method for content in contents if isinstance(content, Notification)]


@pytest.mark.parametrize("params", [None, b"[1]", b'"x"', b"null", b'{"_meta":7}'])
def test_odd_params(params: bytes | None) -> None:
    """Params of any shape make a call that can be looked at."""
    call, _ = make(params)

    assert {} == call.meta
    with pytest.raises(DemoRefusal):
        call.text("name")


def test_text() -> None:
    """A string parameter is given; one of another type is refused by its name."""
    call, _ = make(b'{"name":"a","uri":1}')

    assert "a" == call.text("name")
    with pytest.raises(DemoRefusal, match=r"params\.uri must be a string"):
        call.text("uri")


async def test_progress() -> None:
    """Progress is reported to a caller that gave a token."""
    call, far = make(b'{"_meta":{"progressToken":"t"}}')
    call.progress(1, 2, "half")

    assert [
        b'{"jsonrpc":"2.0","method":"notifications/progress",'
        b'"params":{"progressToken":"t","progress":1,"total":2,"message":"half"}}'
    ] == [frame.raw for frame in await far.receive()]


async def test_no_token() -> None:
    """A caller without a token hears of no progress."""
    call, far = make()
    call.progress(1, 2, "half")
    call.log("error", "end")

    assert ["notifications/message"] == await said(far)


async def test_log_level() -> None:
    """What is less severe than the client wants is not sent."""
    call, far = make()
    for level in LEVELS:
        call.log(level, "")

    assert len(LEVELS) - LEVELS.index("info") == len(await said(far))


async def test_silence() -> None:
    """A cancelled call says nothing more; its server does."""
    near, far = memory_pair()
    peer = Peer(near, S2C)
    params = b'{"_meta":{"progressToken":1}}'
    call = DemoCall(peer, Legacy(peer), Request(b"1", "tools/call", params))
    call.scope.cancel()
    call.progress(1, 2, "half")
    call.log("emergency", "x")
    peer.notify("after")

    assert ["after"] == await said(far)


def test_as_object() -> None:
    """Whatever is no object counts as an empty one."""
    assert [{"a": 1}, {}, {}] == [as_object(value) for value in ({"a": 1}, [1], None)]
