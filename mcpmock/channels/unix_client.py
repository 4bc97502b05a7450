"""The command that a client over stdio starts to reach a fake server inside another process.

It hands its stdin, stdout and stderr to that process (`unix_listener`) and waits for the exit
status: nothing is copied, the client talks to the process itself. Windows passes no descriptors
through sockets: there that process gets their numbers, and opens them itself. Run as a file
and without site packages, for it has to start in a few milliseconds; so it imports nothing of ours.
"""

import os
import socket
import sys

UNREACHABLE_STATUS = 4
"""The exit status where the other process is gone: that of `errors.CannotReach`."""


if sys.platform == "win32":
    import msvcrt
    import struct

    _open_socket = socket.socket

    def _pass_descriptors(way: socket.socket, place: str) -> None:
        port, token = place.split(":")
        way.connect(("127.0.0.1", int(port)))
        numbers = os.getpid(), *map(msvcrt.get_osfhandle, range(3))
        way.sendall(bytes.fromhex(token) + struct.pack("<4Q", *numbers))
else:

    def _open_socket() -> socket.socket:
        return socket.socket(socket.AF_UNIX)

    def _pass_descriptors(way: socket.socket, path: str) -> None:
        way.connect(path)
        socket.send_fds(way, [b"\0"], [0, 1, 2])


def visit(path: str) -> int:
    """Hand over descriptors 0 to 2 through the Unix socket at `path` (on Windows PORT:TOKEN); gives
    the exit status that comes back, 1 if none does.
    """
    # As in `standard_streams`: the socket would take the number of a closed descriptor, and what
    # the server logs would arrive here as the exit status.
    fd = os.open(os.devnull, os.O_RDWR)
    while fd <= 2:
        fd = os.dup(fd)
    os.close(fd)
    with _open_socket() as way:
        try:
            _pass_descriptors(way, path)
        except OSError as error:
            try:
                os.write(2, f"mcpmock: the fake server at {path} is gone: {error}\n".encode())
            except OSError:
                pass  # a broken stderr changes nothing, the exit status included
            return UNREACHABLE_STATUS
        status = way.recv(1)
    return status[0] if status else 1


if __name__ == "__main__":
    sys.exit(visit(sys.argv[1]))
