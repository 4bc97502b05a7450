"""The start of a server's process before what talks to it is imported, so that both happen at once:
click, trio and the sessions take 150 ms, and a Node server needs not much longer.

`main` calls `start_server` first. It knows the plain forms of `record`, `proxy`, `drive` and
`verify`, with the options below and a COMMAND behind `--`; in all others the server is started when
it is needed. A bad file or a wrong option starts no server, as far as a look tells. What a look
cannot tell, click and the command find out, and `end_server` ends the server.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mcpmock.cassette import HEADER_START

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
_LOOKED_AT = 64 * 1024
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
    return [child for child in _started if child.process.args == list(command)]


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
    return command if sure else ()


def has_client(file: str) -> bool:
    """Return whether this is a cassette and its client says something soon: what has none starts no
    server.
    """
    start = _start_of(file)
    return start.startswith(HEADER_START) and b'"d":"c2s"' in start


def is_sure_to_open(output: str) -> bool:
    """Return whether a recording will not fail at its file."""
    if output.endswith(os.sep):
        return os.access(output, os.W_OK | os.X_OK)
    if os.path.lexists(output):
        writable = os.access(output, os.W_OK) and not os.path.islink(output)
        return writable and _start_of(output).startswith(HEADER_START)
    return bool(output) and os.access(os.path.dirname(output) or ".", os.W_OK | os.X_OK)


def _start_of(file: str) -> bytes:
    """Read nothing, if this is no file: what is read from a pipe is gone."""
    if not (os.path.isfile(file) and os.access(file, os.R_OK)):
        return b""
    with open(file, "rb") as opened:
        return opened.read(_LOOKED_AT)
