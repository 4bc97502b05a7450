"""Each connection of a client has a connection to the server of its own, and what one side does to
its connection the other side sees.

Recorder and proxy pass on what comes with the same code: MCPMOCK_E2E_ALL=1 runs every test with
both.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest
import trio

from tests.support import progress, request, response
from tests.support.every import EVERY
from tests.support.http_caller import Caller, HungUpError, at_once, calling
from tests.support.http_upstream import Asked, Reply, answers_all, upstream
from tests.support.processes import END, whole_take

from .http_processes import FORWARDING, forwarding

pytestmark = pytest.mark.e2e
by_default_recorded = pytest.mark.parametrize("how", FORWARDING if EVERY else FORWARDING[:1])

CLIENTS, EACH = 20, 20


@pytest.mark.parametrize("how", FORWARDING)
async def test_no_two_clients_share_a_connection(tmp_path: Path, how: str) -> None:
    """Requests of one connection come on one connection, and on no other client's."""
    carried: defaultdict[int, set[int]] = defaultdict(set)

    async def script(asked: Asked, reply: Reply) -> None:
        carried[asked.message["id"] // EACH].add(asked.connection)
        await answers_all(asked, reply)

    async with upstream(script) as server:
        with forwarding(how, tmp_path / "a.jsonl", server.url) as front:

            async def client(nth: int) -> None:
                async with calling(front.url) as caller:
                    for n in range(EACH):
                        await caller.post(request(nth * EACH + n, "m"))
                        assert (await caller.answer()).status == 200

            await at_once(CLIENTS, client)

    assert [len(connections) for connections in carried.values()] == [1] * CLIENTS
    assert len(set().union(*carried.values())) == CLIENTS == server.connections


async def answered(caller: Caller, n: int = 1) -> None:
    await caller.post(request(n, "m"))
    assert (await caller.answer()).status == 200


@by_default_recorded
@pytest.mark.parametrize("reset", [False, True])
async def test_the_server_closes_an_idle_connection(tmp_path: Path, how: str, reset: bool) -> None:
    """Its client sees the same at once, another client nothing."""
    replies: list[Reply] = []

    async def script(asked: Asked, reply: Reply) -> None:
        replies.append(reply)
        await answers_all(asked, reply)

    async with upstream(script) as server:
        with forwarding(how, tmp_path / "a.jsonl", server.url) as front:
            async with calling(front.url) as caller, calling(front.url) as other:
                await answered(other)
                await answered(caller)
                await replies[-1].hang_up(reset=reset)
                assert await caller.ended() == ("reset" if reset else "closed")
                await answered(other)

    assert (front.exit_code, server.torn, server.connections) == (0, [], 2)


@by_default_recorded
@pytest.mark.parametrize("reset", [False, True])
async def test_a_client_closes_an_idle_connection(tmp_path: Path, how: str, reset: bool) -> None:
    """The server sees the same at once."""
    seen: list[str] = []
    gone = trio.Event()

    async def script(asked: Asked, reply: Reply) -> None:
        await answers_all(asked, reply)
        seen.append(await reply.ended())
        gone.set()

    async with upstream(script) as server:
        with forwarding(how, tmp_path / "a.jsonl", server.url) as front:
            async with calling(front.url) as caller:
                await answered(caller)
                await caller.leave(reset=reset)
                with trio.fail_after(END):
                    await gone.wait()

    assert seen == ["reset" if reset else "closed"]


@by_default_recorded
async def test_a_close_that_is_announced(tmp_path: Path, how: str) -> None:
    """`Connection: close` of the server is said to the client, and done behind the answer."""

    async def script(asked: Asked, reply: Reply) -> None:
        await reply.whole(response(asked.message["id"]), connection="close")
        await reply.hang_up()

    async with upstream(script) as server:
        with forwarding(how, tmp_path / "a.jsonl", server.url) as front:
            async with calling(front.url) as caller:
                await caller.post(request(1, "m"))
                assert (await caller.answer()).header("connection") == "close"
                assert await caller.ended() == "closed"


@by_default_recorded
async def test_a_client_ends_its_input_and_reads_on(tmp_path: Path, how: str) -> None:
    """The server sees the end of the input while it works, and its answer still arrives."""

    async def script(asked: Asked, reply: Reply) -> None:
        await reply.left()
        await reply.open()
        await reply.event(progress(1))
        await reply.event(response(1))
        await reply.close()
        reply.kept = False

    async with upstream(script) as server:
        with forwarding(how, tmp_path / "a.jsonl", server.url) as front:
            async with calling(front.url) as caller:
                await caller.post(request(1, "m"))
                assert isinstance(caller.stream, trio.SocketStream)
                await caller.stream.send_eof()
                messages = await caller.messages()
                assert await caller.ended() == "closed"

    assert len(messages) == 2
    if how == "record":
        assert whole_take(tmp_path / "a.jsonl").events[-1].end == "eof"


@by_default_recorded
@pytest.mark.parametrize("first", ["head", "nothing"])
async def test_a_client_leaves_in_the_middle(tmp_path: Path, how: str, first: str) -> None:
    """A close by the client that the server answers with its own is recorded as the client's."""
    gone = trio.Event()

    async def script(asked: Asked, reply: Reply) -> None:
        if first == "head":
            await reply.open()
            await reply.event(progress(1))
        await reply.left()
        await reply.hang_up()
        gone.set()

    async with upstream(script) as server:
        with forwarding(how, tmp_path / "a.jsonl", server.url) as front:
            async with calling(front.url) as caller:
                await caller.post(request(1, "m"))
                if first == "head":
                    await caller.head()
                    await caller.event()
                else:
                    await server.got(1)
                await caller.leave()
            with trio.fail_after(END):
                await gone.wait()

    if how == "record":
        ends = [(e.d, e.end) for e in whole_take(tmp_path / "a.jsonl").events if e.end]
        assert ends == [("c2s", "closed")]


@by_default_recorded
async def test_a_server_that_dies(tmp_path: Path, how: str) -> None:
    """All its connections close: the idle and the busy ones of clients do too."""
    asked_all = trio.Event()

    async def script(asked: Asked, reply: Reply) -> None:
        if asked.message["id"] == 2:
            asked_all.set()
            await reply.left()
        await answers_all(asked, reply)

    async with upstream(script) as server:
        with forwarding(how, tmp_path / "a.jsonl", server.url) as front:
            async with calling(front.url) as idle, calling(front.url) as busy:
                await answered(idle)
                await busy.post(request(2, "m"))
                await asked_all.wait()
                server.die()
                assert await idle.ended() in ("closed", "reset")
                with pytest.raises(HungUpError):
                    await busy.answer()
