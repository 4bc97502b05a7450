"""The recordings of failed tests, which the pytest plugin leaves beside cassettes: found, compared
with what the cassette has of their test, accepted into it or dropped. `cli.review` asks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from mcpmock.cassette.file import SUFFIXES, load, read_bytes, rewrite
from mcpmock.cassette.merge import retaken, split_test
from mcpmock.cassette.model import Cassette, Take
from mcpmock.errors import CassetteError

if TYPE_CHECKING:
    from mcpmock.semantic_diff.compare import Diff

_MARK = ".rej"


@attrs.frozen
class PendingTest:
    """What one failed test has recorded."""

    file: Path
    """The file that it is in."""
    cassette: Path
    """The cassette that it may go into."""
    test: str | None

    def takes(self) -> list[Take]:
        """Return its takes. Raises CassetteError."""
        return _takes(self.file, self.test)

    def diff(self) -> Diff | None:
        """Return what it changes of what the cassette has of this test; None if that is nothing.
        Raises CassetteError.
        """
        from mcpmock.semantic_diff.ignore_rules import IgnoreRules

        from .diff import compare_cassettes

        old = _takes(self.cassette, self.test) if self.cassette.exists() else []
        if not old:
            return None
        return compare_cassettes(
            Cassette(name=str(self.cassette), takes=old),
            Cassette(name=str(self.file), takes=self.takes()),
            IgnoreRules(),
        )

    def accept(self) -> None:
        """Put it in the place of what the cassette has of this test, and drop it here. Raises
        CassetteError, OSError.
        """
        new, _ = split_test(read_bytes(self.file), self.test)
        old = read_bytes(self.cassette) if self.cassette.exists() else b""
        rewrite(self.cassette, retaken(old, new, self.test))
        self.reject()

    def reject(self) -> None:
        """Drop it; a file that is empty then is removed. Raises CassetteError, OSError."""
        _, left = split_test(read_bytes(self.file), self.test)
        if left:
            rewrite(self.file, left)
        else:
            self.file.unlink()


def find_pending(paths: Iterable[Path], test: str | None = None) -> Iterator[PendingTest]:
    """Yield the failed tests under folders, in files, and beside cassettes; those whose name is
    `test` or matches it. Raises CassetteError for a missing file, or one that is not a cassette.
    """
    for file in dict.fromkeys(file for path in paths for file in _files(path)):
        stem, _, suffix = file.name.rpartition(_MARK)
        cassette = file.with_name(stem + suffix)
        for name in dict.fromkeys(take.header.test for take in load(file).takes):
            if test is None or test == name or fnmatchcase(name or "", test):
                yield PendingTest(file, cassette, name)


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        return sorted(one for suffix in SUFFIXES for one in path.rglob(f"*{_MARK}{suffix}"))
    suffix = next((one for one in SUFFIXES if path.name.endswith(one)), "")
    stem = path.name.removesuffix(suffix)
    if stem.endswith(_MARK):
        if not path.exists():
            raise CassetteError(str(path), "no such file")
        return [path]
    beside = path.with_name(f"{stem}{_MARK}{suffix}")
    if not path.exists() and not beside.exists():
        raise CassetteError(str(path), "no such file or folder")
    return [beside] if beside.exists() else []


def _takes(file: Path, test: str | None) -> list[Take]:
    return [take for take in load(file).takes if take.header.test == test]
