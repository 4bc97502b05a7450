"""The command that a client over stdio starts to reach a fake server inside another process.

It hands its stdin, stdout and stderr to that process (`unix_listener`) and waits for the exit
status: nothing is copied, the client talks to the process itself. Run as a file
and without site packages, for it has to start in a few milliseconds; so it imports nothing of ours.
"""

import os
import socket
import sys

UNREACHABLE_STATUS = 4
"""The exit status where the other process is gone: that of `errors.CannotReach`."""


def visit(path: str) -> int:
    """Hand over descriptors 0 to 2 through the Unix socket at `path`; gives the exit status that
    comes back, 1 if none does.
    """
    # As in `standard_streams`: the socket would take the number of a closed descriptor, and what
    # the server logs would arrive here as the exit status.
    fd = os.open(os.devnull, os.O_RDWR)
    while fd <= 2:
        fd = os.dup(fd)
    os.close(fd)
    if sys.platform == "win32":
        raise NotImplementedError
    with socket.socket(socket.AF_UNIX) as way:
        try:
            way.connect(path)
            socket.send_fds(way, [b"\0"], [0, 1, 2])
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
