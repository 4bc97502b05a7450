"""`RestartedCommand`: a server that is a process, started anew when files change.

`FileChanges` is pure and says when a change is one; `FileDigests` reads. What a restart means to
the session is `transports.server_restart`, how a process takes the place of another
`channels.replaced_process`.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from glob import iglob

import attrs
import trio

from mcpmock.channels.channel import ConversationEnd
from mcpmock.channels.process import ProcessChannel, start_process
from mcpmock.channels.replaced_process import ReplacedProcess
from mcpmock.pipeline.stage import Stage
from mcpmock.printable import printable
from mcpmock.transports.server_restart import ServerRestart

from .servers import Command, Reach

POLL_INTERVAL_S = 0.1
"""How often the files are looked at, or ten times as long as a look takes."""
SETTLE_S = 0.3
"""How long files stay as they are until their change counts: a build or an editor writes many."""
MAX_UNSETTLED_S = 5.0
"""How long a change can be put off by further ones."""

Digests = Mapping[str, bytes]
"""The SHA-256 of each file, by its name."""


@attrs.define
class FileChanges:
    """When files differ from those that the server was started with: `known`, then those of the
    last change.
    """

    known: Digests
    _seen: Digests = attrs.field(factory=dict)
    _since: float = 0.0
    """When `_seen` was seen first."""
    _first: float | None = None
    """When the files began to differ."""

    def look(self, digests: Digests, now: float) -> list[str]:
        """Take what the files are now. Gives the names of those that changed, once they stay."""
        if digests != self._seen:
            self._seen, self._since = digests, now
        if digests == self.known:
            self._first = None
            return []
        self._first = now if self._first is None else self._first
        if now < self._since + SETTLE_S and now < self._first + MAX_UNSETTLED_S:
            return []
        names = {*digests, *self.known}
        changed = sorted(name for name in names if digests.get(name) != self.known.get(name))
        self.known, self._first = digests, None
        return changed


class FileDigests:
    """The files that patterns match. One is read again only where its size or times differ."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self._patterns = patterns
        self._read: dict[str, tuple[tuple[int, ...], bytes]] = {}

    def __call__(self) -> Digests:
        """Return the digests of the files that there are now. One that cannot be read is none."""
        self._read = dict(self._look())
        return {name: digest for name, (_, digest) in self._read.items()}

    def _look(self) -> Iterator[tuple[str, tuple[tuple[int, ...], bytes]]]:
        for pattern in self._patterns:
            for name in iglob(os.path.expanduser(pattern), recursive=True):
                try:
                    found = os.stat(name)
                    times = found.st_mtime_ns, found.st_ctime_ns
                    state = (found.st_dev, found.st_ino, found.st_size, *times)
                    known = self._read.get(name)
                    if known is not None and known[0] == state:
                        yield name, known
                    elif os.path.isfile(name):
                        with open(name, "rb") as file:
                            yield name, (state, hashlib.file_digest(file, "sha256").digest())
                except OSError:
                    continue


class RestartedCommand(Command, frozen=True):
    """`grace` is how many seconds open calls have to be answered, once a file that `patterns` match
    has changed.
    """

    patterns: Sequence[str] = ()
    grace: float = 5.0

    async def open(self, reach: Reach, front: object = None) -> ConversationEnd:
        digests = FileDigests(self.patterns)
        changes = FileChanges(await trio.to_thread.run_sync(digests))

        async def next_change() -> str:
            pause = POLL_INTERVAL_S
            while True:
                await trio.sleep(pause)
                began = trio.current_time()
                found = await trio.to_thread.run_sync(digests)
                now = trio.current_time()
                pause = max(POLL_INTERVAL_S, 10 * (now - began))
                if changed := changes.look(found, now):
                    return _named(changed)

        async def start() -> ProcessChannel:
            return await start_process(self.command)

        first = await super().open(reach, front)
        assert isinstance(first, ProcessChannel)
        return ReplacedProcess(first, start, next_change)

    def translation(self, *_: object, **__: object) -> list[Stage]:
        return [ServerRestart(self.grace)]


def _named(files: Sequence[str]) -> str:
    others = len(files) - 1
    more = f" and {others} other{'s' * (others > 1)}" if others else ""
    return printable(files[0]) + more
