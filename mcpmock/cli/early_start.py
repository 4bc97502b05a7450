"""The start of a server's process before what talks to it is imported, so that both happen at once:
trio and the sessions are two thirds of the start of a command, and a Node server needs as long.

`record`, `proxy`, `drive` and `verify` start their server here (`options_server.command_of`) once
nothing that a look can tell stands in its way: a bad file or a wrong option starts no server. What
a look cannot tell is found out before a server is started, as in every other run.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mcpmock.cassette import HEADER_START

if TYPE_CHECKING:
    from mcpmock.cassette.model import Cassette
    from mcpmock.channels.child_process import ChildProcess


def start_at_once(command: Sequence[str]) -> list[ChildProcess]:
    """Its process, which ends with our command if no session takes it up. Raises CannotStart."""
    from mcpmock.channels.child_process import ChildProcess

    child = ChildProcess(command)
    click.get_current_context().call_on_close(child.end)
    return [child]


def has_client(cassette: Cassette) -> bool:
    """Whether a client says anything in it: what has none starts no server."""
    return any(event.d == "c2s" for take in cassette.takes for event in take.events)


def is_sure_to_open(output: str, *, new: bool = False) -> bool:
    """Whether a recording will not fail at its file, as far as a look tells: a bad file starts no
    server. What it cannot tell is found out first, before the server is started.
    """
    path = Path(output)
    if output.endswith(os.sep):
        return os.access(path, os.W_OK | os.X_OK)
    if os.path.lexists(path):
        plain = path.is_file() and not path.is_symlink() and path.suffix != ".gz"
        return plain and not new and os.access(path, os.W_OK) and _is_cassette(path)
    return os.access(path.parent, os.W_OK | os.X_OK)


def _is_cassette(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(HEADER_START)) == HEADER_START
