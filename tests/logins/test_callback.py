"""What comes back to the port of a login: from the authorization server, or from any other page."""

from __future__ import annotations

from typing import Any

import pytest
import trio
from trio.testing import memory_stream_pair

from mcpmock.errors import McpMockError
from mcpmock.logins.callback import Callback

PORT = 20_000
OWN = f"127.0.0.1:{PORT}"


def waiting() -> Callback:
    return Callback(PORT, "own")


async def ask(callback: Callback, query: str, host: str = OWN) -> bytes:
    """The answer to a browser."""
    browser, ours = memory_stream_pair()
    async with trio.open_nursery() as nursery:
        stream: Any = ours
        nursery.start_soon(callback.serve, stream)
        await browser.send_all(f"GET /callback?{query} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        return b"".join([piece async for piece in browser])


@pytest.mark.parametrize(
    ("query", "host"),
    [
        ("code=evil&state=other", OWN),
        ("code=evil", OWN),
        ("error=access_denied", OWN),
        ("code=evil&state=own", f"evil.example:{PORT}"),
        ("code=evil&state=own", "127.0.0.1"),
    ],
)
async def test_another_page(query: str, host: str) -> None:
    """What has not the state of this login, or another host, ends nothing."""
    callback = waiting()

    refused = await ask(callback, query, host)
    await ask(callback, "code=c&state=own")

    assert refused.startswith(b"HTTP/1.1 400 ")
    assert {"code": "c", "state": "own"} == await callback.parameters()


async def test_before_the_browser_was_sent_away() -> None:
    """No state is that of the login."""
    assert (await ask(Callback(PORT), "code=c&state=")).startswith(b"HTTP/1.1 400 ")


async def test_the_page() -> None:
    """It claims no login: the code is still to be exchanged."""
    page = await ask(waiting(), "code=c&state=own")

    assert page.startswith(b"HTTP/1.1 200 ")
    assert b"The terminal says whether you are logged in" in page


async def test_an_error_of_the_login() -> None:
    """It ends, with so much of the words of the server as fits in a line."""
    callback = waiting()
    await ask(callback, f"error=access_denied&error_description={'x' * 9000}&state=own")

    with pytest.raises(McpMockError, match=r"refuses the login: access_denied \(x+…$"):
        await callback.parameters()
