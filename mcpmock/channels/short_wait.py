"""`ShortWait`: waits for several pipes at once, for some milliseconds, without the event loop.

Most of what passes follows at once on what passed before: the answer on its request, the next
request on the answer. `stdio` and `process` name the pipes; `runner` above decides when nothing
else needs the loop.
"""

from __future__ import annotations

import os
import select
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from mcpmock.protocol.messages import Frame

# speed: a recorded call takes 40 us, with 1 ms here 55: a wait that ends before the next tick of
# the kernel (4 ms apart on most Linux systems) sets the timer of the machine anew, which a virtual
# machine asks its host for (tools/bench.py, p50 of record)
WAIT_MS = 10
"""How long a client or server may take for what follows. The whole loop waits as long."""

_POLLIN: int = getattr(select, "POLLIN", 0)


class PipeSource(msgspec.Struct, frozen=True):
    """A descriptor, what reads it as `Descriptor.read` does, and what makes frames of that."""

    fd: int
    read: Callable[[], bytes | None]
    feed: Callable[[bytes], list[Frame]]


# speed: a recorded call takes 40 us, with a turn of trio for each read (a wait that is armed,
# epoll, a task that is woken) 60, the bare relay on trio 35 (tools/bench.py, p50 of record on one
# machine)
class ShortWait:
    """Reads pipes and sockets. The end of one is left to its reader through trio."""

    _poll: Any
    """A `select.poll`, which Windows has not."""

    def __init__(self, sources: Sequence[PipeSource]) -> None:
        # The end of a terminal's input can be read once only; a file is always readable.
        self._sources = {one.fd: (one.read, one.feed) for one in sources if _is_pipe(one.fd)}
        if sys.platform == "win32":
            raise NotImplementedError
        self._poll = select.poll()
        for fd in self._sources:
            self._poll.register(fd, _POLLIN)

    def receive(self) -> Iterator[list[Frame]]:
        """Yield each read's frames as they come, until nothing comes for WAIT_MS."""
        while ready := self._poll.poll(WAIT_MS):
            for fd, events in ready:
                read, feed = self._sources[fd]
                data = read() if events & _POLLIN else None
                if not data:
                    return
                if frames := feed(data):
                    yield frames


def _is_pipe(fd: int) -> bool:
    mode = os.fstat(fd).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)
