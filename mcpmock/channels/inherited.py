"""The descriptors that a command was started with, besides the standard ones: a shell passes a file
so (`server --config <(cmd)`), and the server that the command starts is the one who is meant.
"""

from __future__ import annotations

import os

from mcpmock.platforms import open_descriptors

descriptors: list[int] = []
"""What each server and each client gets that is started by this process."""


def note_descriptors() -> None:
    """Note them. A command calls this before it opens anything: what it opens itself is closed in
    a child (PEP 446), and what it was started with is not.
    """
    descriptors[:] = [fd for fd in open_descriptors() if fd > 2 and _is_inheritable(fd)]


def _is_inheritable(fd: int) -> bool:
    try:
        return os.get_inheritable(fd)
    except OSError:  # that of the folder, which is closed by now
        return False
