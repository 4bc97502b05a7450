"""What is known of the other end of a connection on this machine."""

from __future__ import annotations

import socket

import pytest

from mcpmock.channels.tcp_peer import is_open, unread


@pytest.mark.parametrize(
    ("family", "host"), [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")]
)
def test_a_reader_on_this_machine(family: socket.AddressFamily, host: str) -> None:
    """As long as it has not read, the bytes are counted; of both ways each has its own."""
    with (
        socket.create_server((host, 0), family=family) as server,
        socket.create_connection(server.getsockname()[:2]) as reader,
    ):
        ours, _ = server.accept()
        with ours:
            assert 0 == unread(ours)
            ours.sendall(bytes(1000))
            assert (1000, 0) == (unread(ours), unread(reader))
            assert 1000 == len(reader.recv(2000))
            assert 0 == unread(ours)


def test_an_end_that_ends_its_output_or_is_closed() -> None:
    """Both send a FIN; only the one that is closed is no longer open."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        client = socket.create_connection(server.getsockname())
        ours, _ = server.accept()
        with ours:
            client.shutdown(socket.SHUT_WR)
            assert (b"", True) == (ours.recv(1), is_open(ours))
            client.close()
            assert not is_open(ours)


def test_where_nobody_can_tell() -> None:
    """Another kind of socket, and one that is not connected (any more)."""
    one, other = socket.socketpair()
    with one, other, socket.socket() as alone:
        one.sendall(b"x")
        assert (0, 0) == (unread(one), unread(alone))
        assert (False, False) == (is_open(one), is_open(alone))
