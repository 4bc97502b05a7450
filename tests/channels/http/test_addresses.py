"""Addresses to listen on and to connect to."""

from __future__ import annotations

import socket
import ssl
import sys

import pytest
import trio
import trustme
from trio.testing import MockClock

from mcpmock.channels.http import addresses
from mcpmock.channels.http.addresses import (
    CONNECT_TIMEOUT_S,
    ListenAddress,
    bound_port,
    connector,
    is_loopback,
)
from mcpmock.errors import CannotListen, McpMockError
from mcpmock.transports.headers import Upstream

LIMIT = 20.0


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("127.0.0.1:0", ("127.0.0.1", 0)),
        ("localhost:8080", ("localhost", 8080)),
        ("[::1]:8080", ("::1", 8080)),
        (":8080", ("127.0.0.1", 8080)),
        ("8080", ("127.0.0.1", 8080)),
        ("0.0.0.0:65535", ("0.0.0.0", 65535)),
    ],
)
def test_addresses_to_listen_on(text: str, expected: tuple[str, int]) -> None:
    """Host and port; without a host the loopback one."""
    assert ListenAddress(*expected) == ListenAddress.parse(text)


@pytest.mark.parametrize(
    "text", ["", "localhost", "localhost:", "a:b", "::1:80", "1.2.3.4:70000", "h:1/x", "http://h:1"]
)
def test_no_addresses(text: str) -> None:
    """Anything else is refused in one line that shows how it is written."""
    with pytest.raises(McpMockError) as caught:
        ListenAddress.parse(text)

    assert "127.0.0.1:8080" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("host", "expected"),
    [("127.0.0.1", True), ("127.9.9.9", True), ("::1", True), ("Localhost", True)]
    + [(host, False) for host in ("0.0.0.0", "::", "192.168.1.2", "example.com", "localhost.evil")],
)
def test_loopback(host: str, expected: bool) -> None:
    """Whether others can reach it."""
    assert expected == is_loopback(host)


@pytest.mark.e2e
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_listening(host: str) -> None:
    """Port 0 is one free port, and a taken one is refused in one line."""
    sockets = await ListenAddress(host).listen()
    port = sockets[0].socket.getsockname()[1]
    with pytest.raises(CannotListen) as caught:
        await ListenAddress(port=port).listen()

    assert str(caught.value).startswith(
        f"cannot listen on 127.0.0.1:{port}: Address already in use; "
    )
    assert 1 == len({listener.socket.getsockname()[1] for listener in sockets})
    for listener in sockets:
        await listener.aclose()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux shares a port fairly")
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_listening_together(host: str) -> None:
    """Each of several processes gets sockets on one port, which no other can take."""
    made = ListenAddress(host).listen_shared(3)
    sockets = [one for each in made for one in each]
    [port] = {bound_port(one) for one in sockets}
    with pytest.raises(CannotListen, match="Address already in use"):
        ListenAddress(host, port).listen_shared(3)
    for one in sockets:
        one.close()

    assert 3 == len(made)


@pytest.mark.parametrize(
    ("address", "bound"),
    [
        (ListenAddress("localhost"), "127.0.0.1"),
        (ListenAddress("localhost", 8080), "localhost"),
        (ListenAddress("::1"), "::1"),
    ],
)
async def test_a_name_with_several_addresses(
    monkeypatch: pytest.MonkeyPatch, address: ListenAddress, bound: str
) -> None:
    """All of them are listened on, but for a free port, of which each would get another one."""

    hosts: list[str] = []

    async def listen(_port: int, *, host: str) -> list[trio.SocketListener]:
        hosts.append(host)
        return []

    monkeypatch.setattr(trio, "open_tcp_listeners", listen)
    await address.listen()
    assert [bound] == hosts


@pytest.mark.e2e
async def test_connecting() -> None:
    """A connection without delay (TCP_NODELAY), or an error that says why there is none."""
    sockets = await ListenAddress().listen()
    port = sockets[0].socket.getsockname()[1]
    connect = connector(Upstream("http", "127.0.0.1", port))
    with trio.fail_after(LIMIT):
        stream = await connect()
        assert isinstance(stream, trio.SocketStream)
        assert stream.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        await stream.aclose()
        await sockets[0].aclose()
        with pytest.raises(OSError, match=r"^Connection refused$"):
            await connect()


@pytest.mark.e2e
async def test_no_such_host() -> None:
    """A name that nobody knows is said to be one."""
    with trio.fail_after(LIMIT), pytest.raises(OSError, match=r"\w"):
        await connector(Upstream("http", "nobody.invalid", 80))()


async def test_a_server_that_does_not_take_connections(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Is given up after a while."""

    async def forever(*_: object) -> trio.SocketStream:
        await trio.sleep_forever()
        raise AssertionError

    monkeypatch.setattr(trio, "open_tcp_stream", forever)
    with pytest.raises(OSError, match="no connection within 10 s"):
        await connector(Upstream("http", "127.0.0.1", 80))()
    assert CONNECT_TIMEOUT_S == trio.current_time()


@pytest.mark.e2e
async def test_tls() -> None:
    """What is said arrives, from a server that is trusted; another is not spoken to, nor is one
    that does not speak TLS.
    """
    authority = trustme.CA()
    server_context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(server_context)
    client_context = ssl.create_default_context()
    authority.configure_trust(client_context)
    sockets = await ListenAddress().listen()
    port = sockets[0].socket.getsockname()[1]

    async def serve(stream: trio.SocketStream) -> None:
        secured = trio.SSLStream(stream, server_context, server_side=True, https_compatible=True)
        try:
            await secured.send_all(await secured.receive_some())
        except trio.BrokenResourceError:
            pass

    async def deaf(stream: trio.SocketStream) -> None:
        await stream.send_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await stream.send_eof()
        await stream.receive_some()

    with trio.fail_after(LIMIT):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(trio.serve_listeners, serve, sockets)
            upstream = Upstream("https", "localhost", port)
            stream = await connector(upstream, client_context)()
            await stream.send_all(b"hello")
            assert b"hello" == await stream.receive_some()
            await stream.aclose()

            with pytest.raises(OSError, match=r"^certificate not trusted: "):
                await connector(upstream)()
            plain = await ListenAddress().listen()
            nursery.start_soon(trio.serve_listeners, deaf, plain)
            port = plain[0].socket.getsockname()[1]
            with pytest.raises(OSError, match=r"^no TLS connection: \w+$"):
                await connector(Upstream("https", "localhost", port))()
            nursery.cancel_scope.cancel()


def test_reasons_are_the_innermost() -> None:
    """Whatever trio wraps around it."""
    inner = OSError(111, "Connection refused")
    outer = OSError("all attempts failed")
    outer.__cause__ = ExceptionGroup("several", [inner, OSError(113, "No route to host")])

    assert "Connection refused" == addresses.reason_of(outer)
    assert "Connection refused" == addresses.reason_of(OSError(111, "trio says more"))
    assert "Name unknown" == addresses.reason_of(socket.gaierror(-2, "Name unknown"))
    assert "of ours" == addresses.reason_of(OSError("of ours"))
    assert "ValueError" == addresses.reason_of(ValueError())
