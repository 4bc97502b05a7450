"""The descriptors that a command was started with, besides the standard ones: a shell passes a file
so (`server --config <(cmd)`), and the server that the command starts is the one who is meant.
"""

from __future__ import annotations

import os

_FOLDERS = ("/proc/self/fd", "/dev/fd")
descriptors: list[int] = []
"""What each server and each client gets that is started by this process."""


def note_descriptors() -> None:
    """Note them. A command calls this before it opens anything: what it opens itself is closed in
    a child (PEP 446), and what it was started with is not.
    """
    for folder in _FOLDERS:
        try:
            found = sorted(int(name) for name in os.listdir(folder))
        except OSError:
            continue
        descriptors[:] = [fd for fd in found if fd > 2 and _is_inheritable(fd)]
        return


def _is_inheritable(fd: int) -> bool:
    try:
        return os.get_inheritable(fd)
    except OSError:  # that of the folder, which is closed by now
        return False
