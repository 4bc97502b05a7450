"""`CassetteStore`: where the recordings of a test run go, for all workers of the run.

A test records to a file of its own, in a folder of the run. If the test passes, its takes go into
the cassette; otherwise they go into a `.rej` file beside it, and the cassette stays as it was. What
the run has done to a cassette so far is in a file of that folder, under a lock: all xdist workers
get the same folder. `servers` uses this; `cassette.merge` knows which take belongs
to which test.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import attrs
import msgspec

from mcpmock.cassette.file import is_missing, read_bytes, rewrite
from mcpmock.cassette.merge import appended, retaken, split_test
from mcpmock.platforms import BINARY, read_at, wait_lock

from .run_folder import new_folder
from .settings import Settings


class _State(msgspec.Struct):
    """What this run has done to one cassette."""

    born: bool | None = None
    """Whether the file was missing or empty when a test first asked; None: no test has asked."""
    tests: dict[str, int] = {}
    """The tests of this run that have added takes to it, each with its last attempt."""
    rejected: bool = False
    """Whether a test of this run has written the `.rej` file."""


@attrs.define
class CassetteStore:
    """`folder` belongs to the run; without one, a folder is made with the first recording."""

    folder: Path | None = None
    _own: bool = False
    attempt: int = 0
    """Counts the tests of this process, a rerun as another one."""
    _recordings: int = 0

    def is_born(self, path: Path) -> bool:
        """Return whether the run began without this cassette: then each of its tests records, also
        those that start after the first one has added its takes.
        """
        with self._state(path) as state:
            if state.born is None:
                state.born = is_missing(path)
            return state.born

    def recording(self, settings: Settings, test: str) -> Path:
        """Return a file for a server of a test to record to, which does not exist yet."""
        self._recordings += 1
        path = self._file(f"{settings.path}\n{test}\n{self._recordings}", ".jsonl")
        path.unlink(missing_ok=True)
        return path

    def accept(self, settings: Settings, test: str, recorded: Path, attempt: int = 0) -> None:
        """Add the takes of a test that passed, if any, to the cassette: in the place of those that
        it had, but beside those of another server of this attempt. Raises CassetteError.
        """
        if not recorded.exists():
            return
        new, path = recorded.read_bytes(), settings.path
        with self._state(path) as state:
            old = read_bytes(path) if path.exists() else b""
            if settings.extends or (attempt and state.tests.get(test) == attempt):
                data = appended(old, new)
            elif settings.mode == "rewrite" and not state.tests:
                data = new
            else:
                data = retaken(old, new, test)
            _write(path, data)
            state.tests[test] = attempt
            _drop_rejected(settings.rejected, test if state.rejected else None)
        recorded.unlink()

    def reject(self, settings: Settings, recorded: Path) -> None:
        """Keep the takes of a test that failed, if any, beside the cassette, with those of other
        failed tests of this run. Raises CassetteError.
        """
        if not recorded.exists():
            return
        path = settings.rejected
        with self._state(settings.path) as state:
            old = read_bytes(path) if state.rejected and path.exists() else b""
            _write(path, appended(old, recorded.read_bytes()))
            state.rejected = True
        recorded.unlink()

    def close(self) -> None:
        """Remove the folder, if this store made it."""
        if self._own and self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)

    @contextmanager
    def _state(self, path: Path) -> Iterator[_State]:
        """Hold the state of a cassette, for one test at a time; saved unless the block raises."""
        fd = os.open(self._file(str(path), ".state"), os.O_RDWR | os.O_CREAT | BINARY, 0o600)
        try:
            wait_lock(fd)
            data = read_at(fd, os.fstat(fd).st_size, 0)
            state = msgspec.json.decode(data, type=_State) if data else _State()
            yield state
            data = msgspec.json.encode(state)
            os.ftruncate(fd, 0)
            os.lseek(fd, 0, os.SEEK_SET)
            os.write(fd, data)
        finally:
            os.close(fd)

    def _file(self, key: str, suffix: str) -> Path:
        if self.folder is None:
            self.folder, self._own = Path(new_folder()), True
        name = hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        return self.folder / (name + suffix)


def _drop_rejected(path: Path, test: str | None) -> None:
    """Remove the takes of a test that passed after all from a `.rej` file; without a test, the
    file, which is of an earlier run.
    """
    if test is not None and path.exists() and (left := split_test(read_bytes(path), test)[1]):
        rewrite(path, left)
        return
    path.unlink(missing_ok=True)


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    rewrite(path, data)
