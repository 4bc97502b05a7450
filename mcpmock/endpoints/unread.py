"""How much of what was sent over TCP its reader, on this machine, has not read yet.

The kernel tells a sender what was acknowledged, not what was read, and on loopback the one follows
the other at once. But it lists the sockets of a machine with what waits in each of them (proc(5),
/proc/net/tcp). `http_flow` asks where a pause must be one for the reader too.
"""

from __future__ import annotations

import socket
import sys
from pathlib import Path

import trio

_TABLES = {socket.AF_INET: Path("/proc/net/tcp"), socket.AF_INET6: Path("/proc/net/tcp6")}
_WORD = 4
_RECEIVE_QUEUE = 4
"""The column that reads `tx_queue:rx_queue`, in hexadecimal."""


def unread(ours: socket.socket | trio.socket.SocketType) -> int:
    """Bytes that wait in the other end of a connection; 0 where nobody can tell."""
    try:
        table = _TABLES[socket.AddressFamily(ours.family)].read_text(encoding="ascii")
        needle = f" {_spelled(ours.getpeername())} {_spelled(ours.getsockname())} "
    except (KeyError, OSError, ValueError):
        return 0
    start = table.find(needle)
    if start < 0:
        return 0
    line = table[table.rfind("\n", 0, start) + 1 : table.find("\n", start)]
    return int(line.split()[_RECEIVE_QUEUE].partition(":")[2], 16)


def _spelled(address: tuple[str | int, ...]) -> str:
    """As the table has it: words of the address in this machine's byte order."""
    host, port = str(address[0]).partition("%")[0], int(address[1])
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    packed = socket.inet_pton(family, host)
    words = (packed[at : at + _WORD] for at in range(0, len(packed), _WORD))
    spelled = "".join(f"{int.from_bytes(word, sys.byteorder):08X}" for word in words)
    return f"{spelled}:{port:04X}"
