"""`CassetteFolder`: the one folder that an agent can look into. Links are not followed, names lead
nowhere else, and no cassette leaves it with its secrets.
"""

from __future__ import annotations

import os
import stat
import zlib
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from io import BufferedReader
from pathlib import Path, PurePath
from threading import Lock

import attrs

from mcpmock.batch.redaction_rules import redaction_rules_of
from mcpmock.cassette.canonical import recover
from mcpmock.cassette.file import (
    SUFFIXES,
    find_siblings,
    named_notices,
    read_all,
    refuse_other,
    sorted_by_start,
    unusable,
)
from mcpmock.cassette.model import Cassette, Header
from mcpmock.cassette.parser import header_of, read, unreadable
from mcpmock.errors import CassetteError
from mcpmock.options.redaction import RedactionOptions
from mcpmock.printable import many, mcpmock_command
from mcpmock.redaction.cassettes import redact_cassette

MAX_CASSETTE_BYTES = 1 << 27
"""A larger cassette is for the commands: an answer would take longer than agents wait."""
MAX_LISTED_FILES = 10_000
_MAX_HEADER_BYTES = 1 << 16
_MAX_KEPT, _MAX_KEPT_BYTES = 8, 1 << 27
_Version = tuple[int, int, int]
"""Inode, size and time of change."""


class NotInFolder(CassetteError):
    """A name that leads out of the folder, or over a link."""


@attrs.frozen
class ReadCassette:
    """A cassette without its secrets, and what its reader should know: that it grows, that lines
    are damaged. `data` are its bytes as they stand in the file.
    """

    name: str
    cassette: Cassette
    problems: tuple[str, ...]
    data: bytes = attrs.field(repr=False)


@attrs.frozen
class ListedFile:
    """A cassette of the folder as it is listed, with its first header; None without one."""

    name: str
    size: int
    changed: float
    header: Header | None
    problem: str = ""


def _resolved(path: Path) -> Path:
    return path.resolve()


@attrs.define
class CassetteFolder:
    """A folder. Threads may read it at the same time."""

    root: Path = attrs.field(converter=_resolved)
    _kept: OrderedDict[tuple[str, _Version], ReadCassette] = attrs.field(factory=OrderedDict)
    """The cassettes that were read last: an agent reads page after page."""
    _keeping: Lock = attrs.field(factory=Lock)

    def names(self) -> Iterator[str]:
        """Yield the cassettes below the folder, in order, at most MAX_LISTED_FILES."""
        left = MAX_LISTED_FILES
        for folder, folders, files in os.walk(self.root):  # it follows no links
            folders.sort()
            for file in sorted(files):
                path = Path(folder, file)
                if file.endswith(SUFFIXES) and not path.is_symlink():
                    if left == 0:
                        return
                    left -= 1
                    yield path.relative_to(self.root).as_posix()

    def listed(self, name: str) -> ListedFile:
        """Return what is listed of a file; of its content the first line alone is read."""
        try:
            with self._open(name) as file:
                found = os.fstat(file.fileno())
                head = file.read(_MAX_HEADER_BYTES)
        except CassetteError as error:
            return ListedFile(name, 0, 0.0, None, error.reason)
        size, changed = found.st_size, found.st_mtime
        try:
            if name.endswith(".gz"):
                head = zlib.decompressobj(wbits=31).decompress(head, _MAX_HEADER_BYTES)
            refuse_other(name, head)
        except zlib.error:
            return ListedFile(name, size, changed, None, "cannot be unpacked")
        except CassetteError as error:
            return ListedFile(name, size, changed, None, error.reason)
        line = head.partition(b"\n")[0]
        header = header_of(redact_cassette(line + b"\n").data.removesuffix(b"\n"))
        return ListedFile(name, size, changed, header, unreadable(line) or "")

    def read(self, name: str) -> ReadCassette:
        """Return a cassette with the siblings that are not joined to it yet. Damage is said, not
        raised. Raises CassetteError for what cannot be read, or is no cassette, and
        ProjectFileError.
        """
        found = self._read_alone(name)
        siblings = find_siblings(self.root / found.name)
        if not siblings:
            return found
        problems, cassette = list(found.problems), read(found.cassette.name, b"")
        cassette.takes += found.cassette.takes
        for path in siblings:
            other = self._read_alone(path.relative_to(self.root).as_posix())
            cassette.takes += other.cassette.takes
            problems += [f"{other.name} is read too: it is not joined yet", *other.problems]
        return attrs.evolve(
            found, cassette=sorted_by_start(cassette), problems=tuple(dict.fromkeys(problems))
        )

    def _read_alone(self, name: str) -> ReadCassette:
        with self._open(name) as file:
            found = os.fstat(file.fileno())
            key = name, (found.st_ino, found.st_size, found.st_mtime_ns)
            with self._keeping:
                known = self._kept.get(key)
                if known is not None:
                    self._kept.move_to_end(key)
                    return known
            if found.st_size > MAX_CASSETTE_BYTES:
                raise _too_large(name)
            try:
                data, damage = _unpacked(file, name)
            except OSError as error:
                raise unusable(Path(name), error, written=False) from error
        if len(data) > MAX_CASSETTE_BYTES:
            raise _too_large(name)
        one = self._without_secrets(name, data, damage)
        with self._keeping:
            self._kept[key] = one
            while len(self._kept) > _MAX_KEPT or (
                len(self._kept) > 1
                and sum(len(kept.data) for kept in self._kept.values()) > _MAX_KEPT_BYTES
            ):
                self._kept.popitem(last=False)
        return one

    def _without_secrets(self, name: str, data: bytes, damage: Sequence[str]) -> ReadCassette:
        refuse_other(name, data)
        newer = unreadable(data[: data.find(b"\n") % (len(data) + 1)])
        if newer is not None:
            raise CassetteError(name, newer)
        raw = read(name, data)
        problems = list(damage)
        problems += [f"line {one.line}: {one.reason}: this line is left out" for one in raw.damage]
        problems += [one.text for one in named_notices(raw)]
        if raw.takes and raw.takes[-1].footer is None:
            problems.append(
                f"take {len(raw.takes)} is incomplete: it is being recorded, or its recorder died"
            )
        rules = redaction_rules_of(RedactionOptions(), self.root / name, raw)
        readable = recover(data).data if raw.damage else data
        # The name says where the project file is.
        cassette = read(str(self.root / name), redact_cassette(readable, rules).data)
        return ReadCassette(name, cassette, tuple(problems), data)

    def _open(self, name: str) -> BufferedReader:
        """Open a file of the folder. Raises NotInFolder, CassetteError."""
        parts = PurePath(name).parts
        path = self.root.joinpath(*parts)
        if not parts or PurePath(name).is_absolute() or ".." in parts or "\0" in name:
            raise NotInFolder(name, "is not the name of a file below the folder")
        try:
            if path.resolve(strict=True) != path:
                raise NotInFolder(name, "is reached over a link, and links are not followed")
            if not stat.S_ISREG(path.lstat().st_mode):
                raise CassetteError(name, "is not a regular file")
            # Not a pipe that was put there meanwhile, which would wait for a writer.
            file = os.fdopen(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb")
            if path.resolve() != path or not os.path.samestat(
                os.fstat(file.fileno()), path.lstat()
            ):
                file.close()
                raise NotInFolder(name, "was replaced while it was opened")
        except (OSError, RuntimeError) as error:
            if isinstance(error, OSError):
                raise unusable(Path(name), error, written=False) from error
            raise NotInFolder(name, "is a circle of links") from error
        return file


def _unpacked(file: BufferedReader, name: str) -> tuple[bytes, list[str]]:
    """Return what can be read, and what is wrong with its packing. Raises as reading does."""
    packed = name.endswith(".gz")
    try:
        return read_all(file, name, packed=packed), []
    except CassetteError as error:
        file.seek(0)
        return read_all(file, name, packed=packed, damaged=True), [error.reason]


def _too_large(name: str) -> CassetteError:
    most = many(MAX_CASSETTE_BYTES >> 20, "MiB").removesuffix("s")
    hint = f"use `{mcpmock_command('show', name)}` in a shell"
    return CassetteError(name, f"holds more than {most}", hint=hint)
