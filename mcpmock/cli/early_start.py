"""The start of a server's process before what talks to it is imported, so that both happen at once:
click, trio and the sessions take 150 ms, and a Node server needs not much longer.

`main` calls `start_server` first. It knows the plain forms of `record`, `proxy`, `drive` and
`verify`, with the options below and a COMMAND behind `--`; in all others the server is started when
it is needed. A bad file or a wrong option starts no server: a cassette that is to be played is read
to its end first, and where options may come from elsewhere (the environment, a project file),
nothing is started here. What is left, click and the command find out, and `end_server` ends the
server.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mcpmock.cassette import FORMAT, HEADER_START

if TYPE_CHECKING:
    from mcpmock.channels.child_process import ChildProcess

_COMMON = {"-q", "--quiet", "-v", "--verbose", "--json"}
_FLAGS = {
    "record": {"--overwrite", "--strict", "--no-redact", "--watch", *_COMMON},
    "proxy": _COMMON,
    "drive": _COMMON,
    "verify": {"--update", *_COMMON},
}
"""The options without a value that no other contradicts."""
_OUTPUT = {"record": {"-o", "--output"}, "drive": {"-o", "--output"}, "proxy": {"--record"}}
_START = HEADER_START + b"%d," % FORMAT
_MAX_PLAYED_BYTES = 4 * 1024 * 1024
"""A longer cassette takes longer to be read, here and by the command, than an early start saves."""
_started: list[ChildProcess] = []


def start_server(arguments: Sequence[str]) -> None:
    """Start the server that these arguments of ours name, if nothing seems to be in its way."""
    command = server_of(arguments)
    if not command:
        return

    from mcpmock.channels.child_process import ChildProcess
    from mcpmock.errors import CannotStart

    try:
        _started.append(ChildProcess(command))
    except CannotStart:
        pass  # said when it is started again


def take_server(command: Sequence[str]) -> list[ChildProcess]:
    """Return the process of this command, if it was started; who takes it up ends it."""
    return [child for child in _started if child.command == list(command)]


def end_server() -> None:
    """End the process that no session took up."""
    while _started:
        _started.pop().end()


def server_of(arguments: Sequence[str]) -> Sequence[str]:
    """Return the COMMAND of these arguments, or nothing if they are not plain."""
    name, *rest = arguments or [""]
    # Each option may come from the environment as well.
    if name not in _FLAGS or any(key.startswith(f"MCPMOCK_{name.upper()}_") for key in os.environ):
        return ()
    if "--" not in rest:
        return ()
    end = rest.index("--")
    words, command = iter(rest[:end]), rest[end + 1 :]
    files, outputs = [], []
    for word in words:
        if word in _OUTPUT.get(name, ()):
            outputs.append(next(words, ""))
        elif not word.startswith("-"):
            files.append(word)
        elif word not in _FLAGS[name]:
            return ()
    plays = name in ("drive", "verify")
    if len(files) != plays or len(outputs) > 1 or (name == "record" and not outputs):
        return ()
    sure = all(map(is_sure_to_open, outputs)) and all(map(has_client, files))
    return command if sure and not any(map(has_project_file, [*files, *outputs])) else ()


def has_client(file: str) -> bool:
    """Return whether this is a cassette, good to its last line, whose client says something: what
    has none starts no server.
    """
    if not os.path.isfile(file) or os.path.getsize(file) > _MAX_PLAYED_BYTES:
        return False

    from mcpmock.cassette.file import load
    from mcpmock.errors import CassetteError

    try:
        takes = load(Path(file)).takes
    except CassetteError:
        return False  # said when it is read again
    return any(event.d == "c2s" for take in takes for event in take.events)


def has_project_file(place: str) -> bool:
    """Return whether there is a project file for a cassette or a folder: it may set options."""
    from mcpmock.options.project_file import ProjectFileError, find_project_file

    try:
        return (
            find_project_file(Path(place if os.path.isdir(place) else Path(place).parent))
            is not None
        )
    except ProjectFileError:
        return True


def is_sure_to_open(output: str) -> bool:
    """Return whether a recording will not fail at its file."""
    if output.endswith(os.sep):
        return os.access(output, os.W_OK | os.X_OK)
    if os.path.lexists(output):
        writable = os.access(output, os.W_OK) and not os.path.islink(output)
        return writable and _begins_as_cassette(output)
    return bool(output) and os.access(os.path.dirname(output) or ".", os.W_OK | os.X_OK)


def _begins_as_cassette(file: str) -> bool:
    """Read nothing, if this is no file: what is read from a pipe is gone."""
    if not (os.path.isfile(file) and os.access(file, os.R_OK)):
        return False
    with open(file, "rb") as opened:
        return opened.read(len(_START)) == _START
