"""`ShortWait`: waits for several pipes at once, for a millisecond, without the event loop.

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

WAIT_MS = 1
"""How long a client or server may take for what follows. The whole loop waits as long."""

_POLLIN: int = getattr(select, "POLLIN", 0)


class PipeSource(msgspec.Struct, frozen=True):
    """A descriptor and what reads it: gives the frames that one read completes, None at the end, or
    if there is nothing to read.
    """

    fd: int
    take: Callable[[], list[Frame] | None]


# speed: a recorded call takes 84 us, with a turn of trio for each read (a wait that is armed,
# epoll, a task that is woken) 126, the bare relay on trio 50 (tools/bench.py, p50 of record on one
# machine)
class ShortWait:
    """Reads pipes and sockets. The end of one is left to its reader through trio."""

    _poll: Any
    """A `select.poll`, which Windows has not."""

    def __init__(self, sources: Sequence[PipeSource]) -> None:
        # The end of a terminal's input can be read once only; a file is always readable.
        lasting = [source for source in sources if _is_pipe(source.fd)]
        self._takes = {source.fd: source.take for source in lasting}
        if sys.platform == "win32":
            raise NotImplementedError
        self._poll = select.poll()
        for source in lasting:
            self._poll.register(source.fd, _POLLIN)

    def receive(self) -> Iterator[list[Frame]]:
        """Yield each read's frames as they come, until nothing comes for WAIT_MS."""
        while ready := self._poll.poll(WAIT_MS):
            for fd, events in ready:
                frames = self._takes[fd]() if events & _POLLIN else None
                if frames is None:
                    return
                if frames:
                    yield frames


def _is_pipe(fd: int) -> bool:
    mode = os.fstat(fd).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)
