"""The guard: what ends a child process when mcpmock itself is killed with SIGKILL and can end
nothing any more.

A tiny shell waits on a pipe whose other end only we hold. When we die, however we die, the pipe
ends, the guard gives the child a second to notice the end of its own input, and kills its process
group. A client's SIGKILL to our process group does not reach it: it lives in a session of its own,
as the child does. PR_SET_PDEATHSIG was the other way; it is Linux only, misses grandchildren (npx
starts node), and leaves no second for a graceful end.
"""

from __future__ import annotations

import os
import subprocess

from mcpmock.platforms import signal_group

_SCRIPT = 'read -r word || { sleep 1; kill -s KILL -- "-$1"; }'


class ProcessWatchdog:
    """Watches over one process group, until `dismiss`."""

    def __init__(self, group: int) -> None:
        watched, self._alive = os.pipe()
        self._dismissed = False
        self._group = group
        try:
            self._shell = subprocess.Popen(
                ["/bin/sh", "-c", _SCRIPT, "mcpmock-guard", str(group)],
                stdin=watched,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                cwd="/",
            )
        except BaseException:
            os.close(self._alive)
            raise
        finally:
            os.close(watched)

    def signal(self, signum: int) -> None:
        """Send a signal to the group. Raises OSError."""
        signal_group(self._group, signum)

    def dismiss(self) -> None:
        """End the guard of a child that is gone or is to live on: it ends without doing anything.
        Once is enough.
        """
        if self._dismissed:
            return
        self._dismissed = True
        try:
            os.write(self._alive, b"\n")
        except BrokenPipeError:
            pass  # the guard was killed
        os.close(self._alive)
        self._shell.wait()
