"""The other end of a TCP connection, where it is on this machine: what it has not read yet, and
whether a program still has it.

The kernel tells a sender what was acknowledged, not what was read, and on loopback the one follows
the other at once. A FIN says that a client has ended its input, not whether it still reads. But the
kernel shows the state of any connection of this machine (sock_diag(7)): so the other end is asked
for. `http.wire` stands above.
"""

from __future__ import annotations

import socket
import struct
import sys

import trio

_SOCK_DIAG = 4
_BY_FAMILY, _REQUEST = 20, 1
_HEADER = struct.Struct("=IHHII")
_QUERY = struct.Struct("=BBBBI")
_PORTS = struct.Struct("!HH")
_ANY_COOKIE = struct.pack("=III", 0, 0xFFFFFFFF, 0xFFFFFFFF)
_ANY_STATE = 0xFFFFFFFF
_QUEUE_AND_INODE = struct.Struct("=72xI8xI")
"""Where an answer says it: behind its header (16), state (4), identity (48) and timer (4)."""
_ADDRESS = 16


def unread(ours: socket.socket | trio.socket.SocketType) -> int:
    """Return bytes that wait in the other end of a connection; 0 where that cannot be known."""
    # Only over HTTP+SSE: the TypeScript SDKs lose progress that they read together with the answer
    # behind it.
    return _queue_and_inode(ours)[0]


def is_open(ours: socket.socket | trio.socket.SocketType) -> bool:
    """Return whether a program of this machine has the other end open; False where nothing
    tells.
    """
    # A socket that was closed keeps its state in the kernel for a while, but not its inode.
    return _queue_and_inode(ours)[1] != 0


def _queue_and_inode(ours: socket.socket | trio.socket.SocketType) -> tuple[int, int]:
    if sys.platform != "linux":
        return 0, 0
    try:
        ends = ours.getpeername(), ours.getsockname()
        query = _HEADER.pack(0, _BY_FAMILY, _REQUEST, 0, 0) + _query(ours.family, *ends)
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _SOCK_DIAG) as kernel:
            kernel.send(struct.pack("=I", len(query)) + query[4:])
            answer = kernel.recv(4096)
    except (IndexError, OSError, ValueError):  # another kind of socket
        return 0, 0
    if _HEADER.unpack_from(answer)[1] != _BY_FAMILY:
        return 0, 0  # there is no such connection here: the reader is elsewhere, or gone
    waiting, inode = _QUEUE_AND_INODE.unpack_from(answer)
    return waiting, inode


def _query(family: int, theirs: tuple[str | int, ...], ours: tuple[str | int, ...]) -> bytes:
    """Ask for the end whose own address is `theirs`."""
    addresses = (
        socket.inet_pton(family, str(end[0]).partition("%")[0]).ljust(_ADDRESS, b"\0")
        for end in (theirs, ours)
    )
    return b"".join(
        (
            _QUERY.pack(family, socket.IPPROTO_TCP, 0, 0, _ANY_STATE),
            _PORTS.pack(int(theirs[1]), int(ours[1])),
            *addresses,
            _ANY_COOKIE,
        )
    )
