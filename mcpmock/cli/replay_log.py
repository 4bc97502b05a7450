"""`ReplayLog`: the file of `--log`, which has all that a replay reports: agents hide what
their servers write to standard error.
"""

from __future__ import annotations

import os
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from mcpmock.printable import mcpmock_command, printable

from .output import say
from .reports import refuse_cassette

MAX_BYTES = 1 << 20
"""A file that is longer is begun anew."""


class ReplayLog:
    """Appends lines to a file that only the user can read. One that cannot be written is said once,
    and the replay goes on. Raises CassetteError if a recording is there.
    """

    def __init__(self, path: Path, cassette: str) -> None:
        self._path = path
        self._broken = False
        with suppress(OSError):  # the first line says it
            refuse_cassette(path, "log")
        command = mcpmock_command("replay", cassette)
        self.write(f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ} {command}", begin=True)

    def write(self, text: str, *, begin: bool = False) -> None:
        """Append one line."""
        if self._broken:
            return
        try:
            descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            with open(descriptor, "ab") as file:
                if begin and file.tell() > MAX_BYTES:
                    file.truncate(0)
                file.write(f"{printable(text)}\n".encode())
        except OSError as error:
            self._broken = True
            say(f"{self._path}: cannot write the log: {os.strerror(error.errno or 0)}")
