"""stdin, stdout and stderr of this process, where they carry text for a person or a result.

`guard_standard_streams` is the first call of every program of ours (`mcpmock`, the demo's server
and client); `write_log_line` is also for code that runs inside a program of the user. The protocol
does not pass here: `stdio` reads and writes the descriptors themselves.
"""

from __future__ import annotations

import errno
import io
import os
import select
import sys
from typing import TYPE_CHECKING, TextIO

from mcpmock.errors import OutputLost
from mcpmock.printable import printable

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

_READER_TIMEOUT_MS = 100
"""How long the rest of a text waits for the reader of the pipe that has taken its beginning."""


class _StandardError(io.FileIO):
    """Descriptor 2. What cannot be written is dropped: a broken stderr changes nothing, and a
    client that does not read it must not freeze its session.
    """

    def write(self, data: ReadableBuffer, /) -> int:
        view = memoryview(data)
        try:
            if sys.platform == "win32":  # nothing tells whether a pipe takes anything
                return super().write(view)
            ready = select.poll()
            ready.register(self.fileno(), select.POLLOUT)
            # A pipe that poll() reports as writable takes PIPE_BUF bytes without blocking (POSIX,
            # pipe(7)). A full one is not being read.
            for start in range(0, view.nbytes, select.PIPE_BUF):
                if not ready.poll(_READER_TIMEOUT_MS if start else 0):
                    break
                super().write(view[start : start + select.PIPE_BUF])
        except OSError:
            pass
        return view.nbytes


class _StandardOutput(io.FileIO):
    """Descriptor 1. A write that fails raises OutputLost, once."""

    def write(self, data: ReadableBuffer, /) -> int:
        try:
            return super().write(data)
        except OSError as error:
            # The data stays in the buffer above this file and is flushed again at exit.
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.fileno())
            os.close(nowhere)
            # No OSError: click and rich turn one that is an EPIPE into exit status 1.
            raise OutputLost(str(error.strerror), reader_left=error.errno == errno.EPIPE) from error


def guard_standard_streams() -> None:
    """Open the standard descriptors that are closed, and replace sys.stdout and sys.stderr.

    The interpreter flushes both at exit and ends with status 120 if that fails. A failed write
    leaves its data in the buffer, so this flush fails too, whatever the program did about the
    first error. PYTHONUNBUFFERED hides that: there is no buffer then.
    """
    _open_closed_descriptors()
    if sys.stdout is sys.__stdout__:  # otherwise it is the caller's own, as in a test
        sys.stdout = _as_text(_StandardOutput(1, "w", closefd=False), sys.stdout)
    if sys.stderr is sys.__stderr__:
        sys.stderr = _as_text(_StandardError(2, "w", closefd=False), sys.stderr)


def write_log_line(line: str) -> None:
    """Write a line to standard error, made `printable`, if that is possible at once."""
    text = printable(line) + "\n"
    stream = sys.stderr
    try:
        descriptor = stream.fileno()
    except (AttributeError, OSError, ValueError):
        descriptor = None  # sys.stderr is None, closed, or a stream in memory
    try:
        if descriptor is None:
            stream.write(text)
            stream.flush()
        else:
            # Past its buffer, for the reason given at `guard_standard_streams`: in a program of the
            # user the streams are not replaced.
            data = text.encode(stream.encoding, "backslashreplace")
            _StandardError(descriptor, "w", closefd=False).write(data)
    except (AttributeError, OSError, ValueError):
        pass


def _open_closed_descriptors() -> None:
    """Open what is closed of the standard descriptors: the next file or socket opened would take
    the number of a closed one, and its traffic.
    """
    fd = os.open(os.devnull, os.O_RDWR)
    while fd <= 2:
        fd = os.dup(fd)
    os.close(fd)


def _as_text(raw: io.FileIO, before: TextIO | None) -> io.TextIOWrapper:
    """Return a text stream over `raw` with the settings of the one that it replaces."""
    buffer = io.BufferedWriter(raw)
    if before is None:  # its descriptor was closed when the interpreter started
        return io.TextIOWrapper(buffer, "utf-8", "backslashreplace")
    assert isinstance(before, io.TextIOWrapper)
    at_once = before.line_buffering or before.write_through
    return io.TextIOWrapper(buffer, before.encoding, before.errors, line_buffering=at_once)
