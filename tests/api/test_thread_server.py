"""Servers in a thread: when the thread starts, and what a test claims about the calls."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path

import pytest

import mcpmock
from mcpmock.api.log import Call
from mcpmock.api.thread_server import ThreadServer
from mcpmock.faults.control import run_of


async def never() -> None:
    """The server does not start."""


def called(*calls: Call) -> ThreadServer:
    """A server that noted these calls."""
    server = ThreadServer(never, run_of(None))
    server.log.calls += calls
    return server


OPENING, CALL = Call("initialize", {}, 0), Call("tools/call", {"name": "now"}, 1)


def test_no_client_no_thread(weather: Path) -> None:
    """A server that no client uses starts no thread."""
    with mcpmock.serve(weather) as server:
        pass

    assert server._place is None


@pytest.mark.e2e
def test_first_client_starts_the_thread(weather: Path) -> None:
    """Clients in several threads get one server; a closed server does not start again."""
    with mcpmock.serve(weather) as server, ThreadPoolExecutor(4) as pool:
        urls = set(pool.map(lambda _: server.url, range(4)))
        assert 1 == len(urls)
        server.close()
        with pytest.raises(RuntimeError, match="is closed: start another"):
            _ = server.url


def test_claims_that_hold() -> None:
    """By method, by tool, by number, in order."""
    server = called(OPENING, CALL, CALL)

    assert [OPENING] == server.requests("initialize")
    assert [CALL, CALL] == server.requests(tool="now")
    server.assert_called("tools/call")
    server.assert_called("tools/call", times=2, tool="now")
    server.assert_called("tools/call now", times=2)
    assert [CALL, CALL] == server.requests("tools/call now")
    for never in (
        "tools/call then",
        "ping",
        "resources/write",
        "tasks/delete",
        "acme/initialize",
        "x/ping",
        "pong",
    ):
        server.assert_called(never, times=0)
    server.assert_order("initialize", "tools/call now", "tools/call")


def test_claims_that_do_not_hold() -> None:
    """The error lists the calls."""
    server = called(OPENING, CALL)

    with pytest.raises(
        AssertionError, match=r"ping was called 0 times, expected at least once; calls: initialize"
    ):
        server.assert_called("ping")
    for times, typo in product(
        (0, None),
        ("tool/call", "tools/calls", "toolcall", "tools_call", "Tools/Call", "TOOL/CALL now"),
    ):
        with pytest.raises(AssertionError, match=rf"{typo} was .* did you mean tools/call\?"):
            server.assert_called(typo, times=times)
    with pytest.raises(AssertionError, match="tools/call now was called 1 time, expected 0 times"):
        server.assert_called("tools/call now", times=0)
    with pytest.raises(AssertionError, match="called 1 time, expected 2 times"):
        server.assert_called("tools/call", times=2, tool="now")
    with pytest.raises(AssertionError, match=r"initialize was not called.*tools/call now"):
        server.assert_order("tools/call", "initialize")
