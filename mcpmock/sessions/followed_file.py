"""`FollowedFile`: a cassette that is read while it is recorded.

`watch` and `mcpmock show --follow` stand above; `view.growth` makes rows of what is read.
"""

from __future__ import annotations

import os
from pathlib import Path

import attrs

from mcpmock.cassette.file import read_bytes

POLL_S = 0.05
"""How often a file is looked at."""
MAX_READ_BYTES = 1 << 19
"""Read at once; it is shown before more is read."""
MAX_START_BYTES = 256


@attrs.define
class FollowedFile:
    """A file that may grow, be replaced, or not be there yet."""

    path: Path
    unread: int = 0
    """How many bytes it had behind those that were read last."""
    _identity: tuple[int, int] | None = None
    _start: bytes = b""
    """How the file began: one that was overwritten in place begins otherwise."""
    _at: int = 0

    def read(self) -> tuple[bytes, bool]:
        """Return what was appended since, and whether it is another file now, or begun anew. Raises
        CassetteError for a compressed file that cannot be unpacked.
        """
        try:
            return self._read_new()
        except OSError:
            return b"", False  # it comes, or comes back

    def _read_new(self) -> tuple[bytes, bool]:
        found = os.stat(self.path)
        identity = (found.st_dev, found.st_ino)
        if identity == self._identity and found.st_size == self._at:
            return b"", False
        if self.path.suffix == ".gz":
            self._identity, self._at = identity, found.st_size
            return read_bytes(self.path), True
        with open(self.path, "rb") as file:
            start = file.read(MAX_START_BYTES)
            anew = identity != self._identity or not start.startswith(self._start)
            if anew or found.st_size < self._at:
                self._identity, self._at, anew = identity, 0, True
            file.seek(self._at)
            data = file.read(MAX_READ_BYTES)
        self._start = start
        self._at += len(data)
        self.unread = max(0, found.st_size - self._at)
        return data, anew
