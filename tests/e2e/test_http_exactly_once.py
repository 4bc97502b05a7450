"""What clients ask reaches the server once, and no more than once, whatever happens to it."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from pathlib import Path

import pytest
import trio

from mcpmock.protocol.messages import C2S
from tests.support import progress, request, response
from tests.support.http_caller import HungUpError, at_once, calling
from tests.support.http_upstream import Asked, Reply, Upstream, upstream
from tests.support.processes import whole_take

from .http_processes import FORWARDING, forwarding, recording

pytestmark = pytest.mark.e2e

EACH = 30


class Counting:
    """A script that answers each request as its body asks for."""

    def __init__(self) -> None:
        self.came: defaultdict[int, trio.Event] = defaultdict(trio.Event)
        """Set when the request with this number has come."""

    async def __call__(self, asked: Asked, reply: Reply) -> None:
        message = asked.message
        n, how = message["id"], message["method"]
        self.came[n].set()
        match how:
            case "json":
                await reply.whole(response(n))
            case "stream":
                await reply.open()
                await reply.event(response(n))
                await reply.close()
            case "json and close":
                reply.last_word(response(n))
            case "nothing":
                await reply.hang_up()
            case "leave in the stream":
                await reply.open()
                await reply.event(progress(n))
                await reply.left()
            case _:
                await reply.left()


async def asked_by(url: str, counting: Counting, nth: int, sent: list[int]) -> None:
    """A client that asks for everything, in an order of its own."""
    dice = random.Random(nth)
    kinds = ["json", "stream", "json and close", "nothing", "leave", "reset", "leave in the stream"]
    hows = [*kinds, "json", "stream", "json and close"]
    dice.shuffle(hows)
    for place, how in enumerate(hows):
        n = nth * len(hows) + place
        sent.append(n)
        async with calling(url) as caller:
            await caller.post(request(n, how))
            if how in ("leave", "reset"):
                await counting.came[n].wait()
                await caller.leave(reset=how == "reset")
            elif how == "leave in the stream":
                await caller.head()
                assert await caller.event() is not None
            elif how == "nothing":
                with pytest.raises(HungUpError):
                    await caller.answer()
            else:
                assert b'"result"' in (await caller.answer()).body


@pytest.mark.parametrize("how", FORWARDING)
async def test_each_request_reaches_the_server_once(tmp_path: Path, how: str) -> None:
    """Three hundred requests: answers in JSON and in event streams, clients that leave, servers
    that answer and then close their connection, or close it without an answer. The server is asked
    three hundred times, and the cassette says so.
    """
    counting = Counting()
    sent: list[int] = []
    async with upstream(counting) as server:
        with forwarding(how, tmp_path / "a.jsonl", server.url) as front:

            async def client(nth: int) -> None:
                await asked_by(front.url, counting, nth, sent)

            await at_once(EACH, client)

    assert (front.exit_code, server.torn) == (0, [])
    assert heard_by(server) == sorted(sent)
    if how == "record":
        assert recorded_in(tmp_path / "a.jsonl") == sorted(sent)


def heard_by(server: Upstream) -> list[int]:
    return sorted(asked.message["id"] for asked in server.asked)


def recorded_in(cassette: Path) -> list[int]:
    events = whole_take(cassette).events
    payloads = [event.payload for event in events if event.d == "c2s" and event.payload]
    return sorted(json.loads(payload)["id"] for payload in payloads)


async def test_clients_that_leave_at_once(tmp_path: Path) -> None:
    """A client that asks and leaves in the same moment is heard at most once, and every exchange of
    the cassette ends.
    """
    cassette = tmp_path / "a.jsonl"

    async def client(nth: int) -> None:
        async with calling(recorder.url) as caller:
            await caller.post(request(nth, "json"))
            await caller.leave(reset=nth % 2 == 0)

    async with upstream(Counting()) as server:
        with recording(cassette, server.url) as recorder:
            await at_once(EACH, client)
            async with calling(recorder.url) as caller:
                await caller.post(request(EACH, "json"))
                assert (await caller.answer()).status == 200
    events = whole_take(cassette).events
    begun = [
        e.x for e in events if e.frame is not None and e.d == "c2s" and "method" in str(e.http)
    ]
    ended = {e.x for e in events if isinstance(e.end, str)}

    assert recorder.exit_code == 0
    assert len(heard_by(server)) == len(set(heard_by(server)))
    assert set(begun) == ended
    assert sorted(recorded_in(cassette))[-1] == EACH
    assert C2S in {e.frame.direction for e in events if e.frame and e.end == "closed"}
