"""The client's tour: what it sees, in which order, and what ends it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
import trio

from mcpmock.channels.channel import memory_pair
from mcpmock.demo.client import DemoClient, Seen, tour, visit
from mcpmock.demo.server import serve
from mcpmock.errors import CannotStart
from mcpmock.protocol.messages import S2C, Frame
from tests.support import request

SERVER = [sys.executable, "-m", "mcpmock.demo.server"]


async def toured() -> list[Seen]:
    """What the client sees of the server in memory."""
    ours, theirs = memory_pair()
    saw: list[Seen] = []
    client = DemoClient(ours, saw)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(serve, theirs)
        nursery.start_soon(client.listen)
        await client.call(
            "initialize", {"capabilities": {"sampling": {}, "elicitation": {}, "roots": {}}}
        )
        await tour(client)
        client.end()
    return saw


def about(saw: list[Seen]) -> list[str]:
    """Each thing seen, by its method alone."""
    return [seen.get("asked") or seen.get("notified") or seen["answered"] for seen in saw]


async def test_same_again(autojump_clock: trio.abc.Clock) -> None:
    """Two tours see exactly the same."""
    assert await toured() == await toured()


async def test_order(autojump_clock: trio.abc.Clock) -> None:
    """Progress comes before its answer, a question before the answer it is for, and the slow call
    is overtaken.
    """
    seen = " ".join(about(await toured())).replace("notifications/", "").replace("tools/call ", "")

    assert "progress progress progress countdown" in seen
    assert "sampling/createMessage ask elicitation/create confirm roots/list roots" in seen
    assert "resources/updated touch" in seen
    assert seen.endswith("ping echo slow ping ping")


async def test_cancelled(autojump_clock: trio.abc.Clock) -> None:
    """The cancelled call is the one that is never answered."""
    assert 1 == about(await toured()).count("tools/call slow")


async def test_errors(autojump_clock: trio.abc.Clock) -> None:
    """Errors are answers: the tour goes on."""
    refused = [seen["error"]["code"] for seen in await toured() if "error" in seen]

    assert [-32602, -32601] == refused


async def test_unknown_question(autojump_clock: trio.abc.Clock) -> None:
    """What the client has no answer for is refused."""
    ours, theirs = memory_pair()
    client = DemoClient(ours, [])
    async with trio.open_nursery() as nursery:
        nursery.start_soon(client.listen)
        theirs.send_nowait([Frame(S2C, request(1, "no/such"))])
        (answer,) = await theirs.receive()
        nursery.cancel_scope.cancel()

    assert -32601 == json.loads(answer.raw)["error"]["code"]


async def crash(client: DemoClient) -> None:
    await client.tool("crash", code=7)
    raise AssertionError("unreachable, because a server that crashed answers nothing")


@pytest.mark.e2e
async def test_visit() -> None:
    """A visit to the real process sees what is to be seen, its standard error and its exit."""
    with trio.fail_after(30):
        seen = await visit(SERVER)

    assert (33, b"mcpmock demo server ready\n", 0) == (len(seen.saw), seen.stderr, seen.status)


@pytest.mark.e2e
async def test_server_dies() -> None:
    """A server that ends in the middle ends the visit, with what was seen until then."""
    with trio.fail_after(30):
        seen = await visit(SERVER, crash)

    assert (["initialize"], 7) == (about(seen.saw), seen.status)


@pytest.mark.e2e
async def test_cannot_start() -> None:
    """A command that is not there is said to be so."""
    with pytest.raises(CannotStart):
        await visit(["/no/such/command"])


@pytest.mark.e2e
@pytest.mark.parametrize(("command", "lines", "status"), [(SERVER, 33, 0), (["/no/such"], 0, 127)])
def test_program(command: list[str], lines: int, status: int) -> None:
    """As a program it prints what it saw as JSON lines, and ends as the server did."""
    argv = [sys.executable, "-m", "mcpmock.demo.client", "--", *command]
    done = subprocess.run(argv, stdout=subprocess.PIPE, check=False, timeout=30)

    assert status == done.returncode
    assert lines == len([json.loads(line) for line in done.stdout.splitlines()])
