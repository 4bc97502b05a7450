"""`ChildProcess`: a process with pipes, and its guard, before anything talks to it. `process` makes
a channel of it.

Neither this nor what it imports needs trio: a command that starts its server here first and imports
trio then (`cli.run_setup`) has both happen at once.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence

from mcpmock.errors import CannotStart
from mcpmock.platforms import KILL, own_group

from . import inherited

if sys.platform == "win32":
    from mcpmock.platforms import JobObject as Guard
else:
    from .process_watchdog import ProcessWatchdog as Guard


class ChildProcess:
    """A running process, with our ends of its three pipes. Who takes it up (`adopt`) ends it."""

    def __init__(self, command: Sequence[str]) -> None:
        """Start `command` (never through a shell) with our environment and working folder.

        Raises CannotStart, as a shell would fail: 127 where there is no such command, 126 where it
        is not executable.
        """
        self._adopted = False
        self.command = list(command)
        try:
            self._start()
        except OSError as error:
            found = not isinstance(error, FileNotFoundError)
            raise CannotStart(command[0], os.strerror(error.errno or 0), found=found) from error

    @property
    def pid(self) -> int:
        """Also the number of its process group and session."""
        return self.process.pid

    def adopt(self) -> None:
        """Leave `end` to the caller from now on."""
        self._adopted = True

    def end(self) -> None:
        """End it at once, with its process group, unless it was adopted."""
        if not self._adopted:
            self._adopted = True
            self.kill(KILL)
            self.process.wait()
            self.guard.dismiss()
            _close(self.stdin, self.stdout, self.stderr)

    def kill(self, signum: int) -> None:
        """Send a signal to its process group."""
        try:
            self.guard.signal(signum)
        except ProcessLookupError:
            pass  # it was quicker
        except PermissionError:
            pass  # it changed its user: then only the end of its input reaches it

    def _start(self) -> None:
        (their_in, self.stdin), (self.stdout, their_out), (self.stderr, their_err) = _pipes(3)
        try:
            self.process = subprocess.Popen(
                stdin=their_in,
                stdout=their_out,
                stderr=their_err,
                # A process group of its own: npx and uvx start the server as a grandchild, and only
                # the group reaches that too. A Ctrl-C for us does not, so the channel hands it on.
                **own_group(self.command, inherited.descriptors),
            )
        except OSError:
            _close(self.stdin, self.stdout, self.stderr)
            raise
        finally:
            _close(their_in, their_out, their_err)
        try:
            self.guard = Guard(self.pid)
        except OSError:  # nothing is started without its guard
            _close(self.stdin, self.stdout, self.stderr)
            self.process.kill()
            self.process.wait()
            raise


def _pipes(count: int) -> list[tuple[int, int]]:
    """Return all of them or none: where descriptors run out, none may be lost."""
    made: list[tuple[int, int]] = []
    try:
        for _ in range(count):
            made.append(os.pipe())  # noqa: PERF401 (those made before an error must be known)
    except OSError:
        for pair in made:
            _close(*pair)
        raise
    return made


def _close(*fds: int) -> None:
    for fd in fds:
        os.close(fd)
