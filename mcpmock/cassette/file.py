"""Cassettes on a disk: load, append a take, lock, seal, rewrite. The one place in the right wing
that touches files.

Append only while recording, one `write` for each batch of events; kill -9 then loses nothing that a
peer has seen. The lock is the kernel's (`platforms`), so no crash leaves one. Rewrites are atomic:
whatever fails, the old file survives. `parser` decodes the bytes; `sessions` decides how long to
wait for a lock.

A recorder that finds a cassette locked records to a sibling (`sibling_path`), whose header names
the cassette. Readers read it too, until a recorder that closes joins it (`join_siblings`).
"""

from __future__ import annotations

import errno
import gzip
import hashlib
import os
import stat
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, Protocol, TypeGuard

import msgspec

from mcpmock.errors import CassetteError
from mcpmock.lazy_pattern import lazy_pattern
from mcpmock.platforms import (
    BINARY,
    NO_LINK,
    NO_WAIT,
    REPLACES_OPEN_FILES,
    keep_owner,
    read_at,
    try_lock,
)
from mcpmock.printable import mcpmock_command, shell_command

from . import HEADER_START
from .model import Cassette, Footer, Header, Notice, joined_rules
from .other_files import CONFLICT, GZIP, conflict_hint, describe_other, is_other
from .parser import header_of, is_blank, read, unreadable

MAX_BYTES = 1 << 30
"""What a cassette may hold: a bound on what loading one can cost."""
MAX_UNPACKED_BYTES = 256 << 20
MAX_RATIO = 200
"""What a packed cassette may unpack to, in all and for each byte: a recording packs to a tenth, a
file that is made to fill a memory to a thousandth.
"""
MAX_MEMBERS = 10_000
_MIN_UNPACKED_BYTES = 1 << 20
"""What any packed cassette may hold, however well it is packed."""
_PACKED_PIECE_BYTES = 1 << 14
"""Unpacked together: at most 16 MiB, and no more is copied of what follows a member."""
SUFFIXES = (".jsonl", ".jsonl.gz")
"""Of the cassettes in a folder."""
_TRACES = tuple(f".otlp{suffix}" for suffix in SUFFIXES)
"""Of what `mcpmock convert` may have made of them."""
_REJECTED = tuple(f".rej{suffix}" for suffix in SUFFIXES)
"""Of what failed tests have recorded beside them."""
_NUMBER = lazy_pattern(r"\.[0-9]+(?=\.|$)")
_MAX_HEADER_BYTES = 1 << 16
_COPIED_BYTES = 1 << 20
_MAX_NAMES = 1000


def _recover(name: Path | str) -> str:
    command = mcpmock_command("recover", str(name), options=["-o", "OUT"])
    return f"`{command}` saves what can be saved"


class Readable(Protocol):
    """An open file, as far as it is needed here: what `open(name, "rb")` gives."""

    def read(self, size: int = -1, /) -> bytes: ...


def load(path: Path, *, damaged: bool = False) -> Cassette:
    """Read a cassette and its siblings, the takes in the order of their start. Raises
    CassetteError for a file that cannot be read, is not a cassette, or has damage (unless `damaged`
    allows that).
    """
    return _load_with(path, find_siblings(path), damaged=damaged)


def _load_with(path: Path, siblings: Iterable[Path], *, damaged: bool = False) -> Cassette:
    cassette = load_alone(path, damaged=damaged)
    for sibling in siblings:
        cassette.notices.append(Notice(0, f"{sibling} is read too: it is not joined yet"))
        _add(cassette, load_alone(sibling, damaged=damaged))
    return sorted_by_start(cassette)


def load_alone(path: Path, *, damaged: bool = False) -> Cassette:
    """Read one file. Raises as `load`."""
    return loaded(path, read_bytes(path, damaged=damaged), damaged=damaged)


def loaded(name: Path | str, data: bytes, *, damaged: bool = False) -> Cassette:
    """Return the cassette in the bytes of a file of this name. Raises as `load`."""
    if not damaged:
        refuse_other(name, data)
        # Not `partition`, which copies all that follows.
        newer = unreadable(data[: data.find(b"\n") % (len(data) + 1)])
        if newer is not None:
            raise CassetteError(name, newer)
    cassette = read(str(name), data)
    if cassette.damage and not damaged:
        refuse_newer(name, data)
        first = cassette.damage[0]
        conflict = first.reason == CONFLICT
        hint = conflict_hint(str(name)) if conflict else _recover(name)
        raise CassetteError(name, first.reason, line=first.line, hint=hint)
    return cassette


def load_together(paths: Sequence[Path]) -> Cassette:
    """Read several cassettes as one recording. A folder stands for all cassettes below it. Raises
    as `load`, and for a folder without cassettes.
    """
    files = list(dict.fromkeys(file for path in paths for file in cassette_files(path)))
    # In one go: each folder is listed once, not once for each of its files.
    siblings = siblings_of_each(files)
    joined = {sibling for those in siblings.values() for sibling in those}
    first, *others = [_load_with(file, siblings[file]) for file in files if file not in joined]
    for other in others:
        _add(first, other)
    if others:
        first.name = ", ".join(map(str, paths))
    return sorted_by_start(first)


def _add(cassette: Cassette, other: Cassette) -> None:
    cassette.takes += other.takes
    cassette.notices += named_notices(other)


def named_notices(cassette: Cassette) -> list[Notice]:
    """Return the notices of a cassette, each with the name of its file."""
    return [
        msgspec.structs.replace(notice, file=notice.file or cassette.name)
        for notice in cassette.notices
    ]


def sorted_by_start(cassette: Cassette) -> Cassette:
    """Return the takes in the order of `recorded_at`; as they stand if a header does not have
    it.
    """
    starts = [take.header.recorded_at for take in cassette.takes]
    if all(starts):
        cassette.takes.sort(key=lambda take: take.header.recorded_at or "")
    return cassette


def read_bytes(path: Path, *, damaged: bool = False) -> bytes:
    """Return all bytes of a cassette file, unpacked if it ends in `.gz`; never blocks on a pipe.

    Raises CassetteError; with `damaged`, a packed file that was cut off gives what can be unpacked.
    """
    try:
        with open(_open(path, os.O_RDONLY | NO_WAIT), "rb") as file:
            return read_all(file, path, packed=path.suffix == ".gz", damaged=damaged)
    except FileNotFoundError as error:
        raise CassetteError(path, words_of(error), hint=_near(path)) from error
    except OSError as error:
        raise unusable(path, error, written=False) from error


def read_all(
    file: Readable, name: Path | str, *, packed: bool | None = None, damaged: bool = False
) -> bytes:
    """Return all bytes of an open file that holds a cassette, unpacked if it is `packed` (by
    default, if it begins as gzip does). Raises as `read_bytes`, and the OSErrors of reading.
    """
    data = file.read(MAX_BYTES + 1)
    try:
        if packed and data and not data.startswith(GZIP):
            renamed = shell_command(["mv", str(name), str(name).removesuffix(".gz")])
            hint = f"rename it: `{renamed}`"
            raise CassetteError(name, "is not packed, though its name ends in .gz", hint=hint)
        if data.startswith(GZIP) if packed is None else packed:
            data = _unpack(data, damaged=damaged)
    except ValueError as error:
        raise CassetteError(name, str(error), hint="unpack it if you trust it") from error
    except EOFError as error:
        raise CassetteError(name, words_of(error), hint=_recover(name)) from error
    if len(data) > MAX_BYTES:
        raise CassetteError(name, f"holds more than {MAX_BYTES >> 20} MiB")
    return data


def refuse_other(name: Path | str, data: bytes) -> None:
    """Raise CassetteError for data that is not a cassette. One of a newer format is a cassette:
    what is wrong with it is a finding.
    """
    if is_other(data):
        reason, hint = describe_other(str(name), data)
        raise CassetteError(name, reason, hint=hint)


def refuse_newer(name: Path | str, data: bytes) -> None:
    """Raise CassetteError for a cassette with a take of a newer format: what its members mean
    is unknown.
    """
    for number, line in enumerate(data.split(b"\n"), 1):
        if line.startswith(HEADER_START) and (reason := unreadable(line)) is not None:
            raise CassetteError(name, reason, line=number)


def _unpack(packed: bytes, *, damaged: bool) -> bytes:
    """Bound what a few bytes may unpack to, and the number of members: each costs its own time."""
    parts: list[bytes] = []
    size = members = at = 0
    while at < len(packed):
        members += 1
        if members > MAX_MEMBERS:
            raise ValueError(f"is packed in more than {MAX_MEMBERS} parts")
        member = zlib.decompressobj(wbits=31)
        while not member.eof and at < len(packed):
            piece = packed[at : at + _PACKED_PIECE_BYTES]
            sound = member.copy() if damaged else member
            try:
                parts.append(member.decompress(piece))
            except zlib.error as error:
                if damaged:
                    return b"".join([*parts, _up_to_damage(sound, piece)])
                raise EOFError("the packed file is damaged") from error
            at += len(piece) - len(member.unused_data)
            size += len(parts[-1])
            if size > max(_MIN_UNPACKED_BYTES, MAX_RATIO * at):
                raise ValueError(f"unpacks to more than {MAX_RATIO} times its size")
            if size > MAX_UNPACKED_BYTES:
                raise ValueError(f"unpacks to more than {MAX_UNPACKED_BYTES >> 20} MiB")
        if not member.eof and not damaged:
            raise EOFError("the packed file was cut off")
    return b"".join(parts)


def _up_to_damage(member: zlib._Decompress, piece: bytes) -> bytes:
    """Return what the sound bytes at the start of this piece of a gzip member unpack to."""
    unpacked = bytearray()
    for at in range(len(piece)):
        try:
            unpacked += member.decompress(piece[at : at + 1])
        except zlib.error:
            break
    return bytes(unpacked)


def rewrite(path: Path, data: bytes, *, was: bytes | None = None) -> None:
    """Put `data` in the place of the file, or leaves the old one as it was.

    Raises CassetteError; a file that is being recorded to is left alone, or the rest of the
    recording would be lost, and so is one that no longer holds what `data` was made from (`was`).
    """
    path = path.resolve()
    locked: int | None = None

    def let_go() -> None:
        nonlocal locked
        if locked is not None and not REPLACES_OPEN_FILES:
            os.close(locked)
            locked = None

    try:
        if path.exists():
            locked = _open(path, os.O_RDONLY | NO_WAIT)
            if not _lock(locked, path):
                raise CassetteError(path, "is being recorded to", hint="try again later")
            if was is not None and read_bytes(path) != was:
                raise CassetteError(
                    path, "changed while it was being rewritten", hint="run it again"
                )
        new = gzip.compress(data, mtime=0) if path.suffix == ".gz" else data
        replace_file(path, new, let_go)
    except OSError as error:
        raise unusable(path, error) from error
    finally:
        if locked is not None:
            os.close(locked)


def sibling_path(path: Path) -> Path:
    """Return the file that this process records to while another one has `path` locked: `s.jsonl`
    -> `s.PID.jsonl`, `s.jsonl.gz` -> `s.PID.jsonl.gz`.
    """
    stem, suffix = _split_name(path)
    return path.with_name(f"{stem}.{os.getpid()}{suffix}")


def find_siblings(path: Path) -> list[Path]:
    """Return the siblings of a cassette, in the order of their start: their headers name it.
    Another file may have such a name as well: of a user who numbers recordings.
    """
    return siblings_of_each([path])[path]


def siblings_of_each(paths: Iterable[Path]) -> dict[Path, list[Path]]:
    """Find the siblings of many cassettes: each folder is listed once."""
    found: dict[Path, list[tuple[str, Path]]] = {path: [] for path in paths}
    for folder in dict.fromkeys(path.parent for path in found):
        for name, owner in _numbered_in(folder):
            if (path := folder / owner) in found:
                header = _first_header(folder / name)
                if _names(header, path):
                    found[path].append((header.recorded_at or "", folder / name))
    return {path: [sibling for _, sibling in sorted(those)] for path, those in found.items()}


def _numbered_in(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the files that may be siblings by their names, each with the name of its cassette."""
    try:
        names = os.listdir(folder)
    except OSError:
        return
    for name in names:
        # One that is packed at its close stands in a `.part` until then.
        whole = name.removesuffix(".part")
        for number in _NUMBER.finditer(whole):
            owner = whole[: number.start()] + whole[number.end() :]
            if _split_name(Path(owner))[0] == whole[: number.start()]:
                yield name, owner


def join_siblings(path: Path) -> None:
    """Append the siblings that no recorder has open to the cassette, and remove them. Where a
    recorder has the cassette open, that recorder joins them when it closes. Raises OSError.
    """
    joined = True
    # Another sibling may be closed while this one is appended, and find the cassette locked.
    while joined and path.exists() and find_siblings(path):
        joined = False
        lock = part_of(path) if path.suffix == ".gz" else path
        with _locked(lock, os.O_CREAT) as fd:
            if fd is None:
                return
            for sibling in find_siblings(path):
                with _locked(sibling) as closed:
                    if closed is not None and _append_file(path, sibling):
                        sibling.unlink()
                        joined = True
            if lock != path and not os.fstat(fd).st_size:
                lock.unlink()


def _append_file(path: Path, sibling: Path) -> bool:
    """Return whether it was done: not if the cassette would become too large to load."""
    data = sibling.read_bytes()
    if path.suffix == ".gz":
        packed = data if sibling.suffix == ".gz" else gzip.compress(data, mtime=0)
        whole = path.read_bytes()
        if packed not in whole:
            replace_file(path, whole + packed)
        return True
    with open(_open(path, os.O_RDWR | os.O_APPEND | NO_LINK), "r+b") as file:
        whole = file.read()
        if len(whole) + len(data) > MAX_BYTES:
            return False
        # A crash between appending and removing leaves both.
        if data not in whole:
            torn = b"" if not whole or whole.endswith(b"\n") else b"\n"
            file.write(torn + data + (b"" if data.endswith(b"\n") else b"\n"))
            file.flush()
            os.fsync(file.fileno())
    return True


@contextmanager
def _locked(path: Path, flags: int = 0) -> Iterator[int | None]:
    """Hold the lock of the open file; None if a recorder has it."""
    fd = _open(path, os.O_RDWR | os.O_APPEND | NO_WAIT | NO_LINK | flags)
    try:
        yield fd if _lock(fd, path) else None
    finally:
        os.close(fd)


def is_missing(path: Path) -> bool:
    """Return whether there is no recording to play: no file, or an empty one. Raises
    CassetteError.
    """
    try:
        if not path.is_file():
            return not path.exists()
        with path.open("rb") as file:
            return is_blank(file.read(_MAX_HEADER_BYTES))
    except OSError as error:
        raise unusable(path, error, written=False) from error


def is_recorded(path: Path) -> bool:
    """Return whether a recorder has the cassette open."""
    try:
        with _locked(path) as fd:
            return fd is None
    except OSError:
        return path.exists()  # not by everybody can it be opened


def _first_header(path: Path) -> Header | None:
    try:
        with open(_open(path, os.O_RDONLY | NO_WAIT | NO_LINK), "rb") as file:
            data = file.read(_MAX_HEADER_BYTES)
        if path.suffix == ".gz":
            data = zlib.decompressobj(wbits=31).decompress(data, _MAX_HEADER_BYTES)
    except (OSError, zlib.error):
        return None
    return header_of(data.partition(b"\n")[0])


def rules_in(path: Path) -> dict[str, list[Any]] | None:
    """Return the rules in the headers of a cassette, which its next recording keeps; None if it has
    none, or cannot be read.
    """
    try:
        lines = read_bytes(path, damaged=True).splitlines()
    except CassetteError:
        return None
    headers = map(header_of, lines)
    return joined_rules(header for header in headers if header is not None)


def _names(header: Header | None, path: Path) -> TypeGuard[Header]:
    return header is not None and header.sibling_of == path.name


def cassette_files(path: Path, *, rejected: bool = False) -> list[Path]:
    """Return the file itself, or all cassettes below a folder; what failed tests have recorded is
    among them only if `rejected`. Raises CassetteError if there are none.
    """
    if not path.is_dir():
        return [path]
    files = [file for suffix in SUFFIXES for file in path.rglob(f"*{suffix}")]
    found = [file for file in files if is_of_folder(file.name, rejected=rejected)]
    if not found:
        hint = "only what failed tests have recorded (.rej): name a file"
        is_left_out = any(file.name.endswith(_REJECTED) for file in files)
        reason = f"no cassettes ({', '.join(SUFFIXES)}) in this folder"
        raise CassetteError(path, reason, hint=hint if is_left_out else None)
    return sorted(found)


def is_of_folder(name: str, *, rejected: bool) -> bool:
    """Return whether a folder stands for a file of this name."""
    others = _TRACES if rejected else _TRACES + _REJECTED
    return name.endswith(SUFFIXES) and not name.endswith(others)


def newest_cassette(path: Path) -> Path:
    """Return the file itself, or the cassette below a folder that was written last. Raises
    CassetteError if there is none.
    """
    return max(cassette_files(path), key=lambda file: (file.stat().st_mtime_ns, file))


def _split_name(path: Path) -> tuple[str, str]:
    suffix = SUFFIXES[1] if path.name.endswith(SUFFIXES[1]) else path.suffix
    return path.name.removesuffix(suffix), suffix


def part_of(path: Path) -> Path:
    """Return the plain file that a `.gz` is packed from at the clean close; its lock is that of the
    `.gz`.
    """
    return path.with_name(path.name + ".part")


class TakeFile:
    """A take being appended to a file that is locked for it.

    Made by `open_take`. The header is written by `begin`, events by `append`, the footer by
    `close`; each OSError of a write goes to the caller after the file was cut back to its last
    whole line.
    """

    def __init__(self, path: Path, fd: int, *, backup: Path | None, created: bool) -> None:
        self.path = path
        self._fd = fd
        self._backup = backup
        self._created = created
        self._digest = hashlib.sha256()
        self._events = 0
        self._size = os.fstat(fd).st_size
        self._start = self._size
        self._ahead = b""
        self._sealed_at: int | None = None
        """Where the footer stands that was written for now."""

    def begin(self, header: Header) -> None:
        """Write the header, on a line of its own even after a file that ended in the middle of
        one.

        If that fails, the next write brings it: no event stands in a file before its header.
        """
        line = msgspec.json.encode(header) + b"\n"
        self._digest.update(line)
        torn = self._size and read_at(self._fd, 1, self._size - 1) != b"\n"
        self._start = self._size + bool(torn)
        self._ahead = b"\n" + line if torn else line
        self._write(b"")

    def append(self, lines: list[bytes]) -> None:
        """Write event lines with one `write`; when it returns, the kernel has them."""
        data = b"".join(lines)
        self._write(data)
        self._events += len(lines)
        self._digest.update(data)

    @property
    def events(self) -> int:
        """How many events this take has so far."""
        return self._events

    def seal(self, **counts: int) -> None:
        """Write the footer for now, with these of its fields: the next write cuts it off."""
        if self._sealed_at is None:
            size = self._size
            self._write_footer(counts)
            self._sealed_at = size

    def sync(self) -> None:
        """Make what was written survive a power loss. Slow (milliseconds): once a second is
        enough.
        """
        getattr(os, "fdatasync", os.fsync)(self._fd)  # macOS has no fdatasync

    def revise(self, revise: Callable[[bytes], bytes], events: int) -> None:
        """Put the lines of this take through a function, from the header to so many events. Where
        that changes one, the file is replaced whole or not at all, and stays locked meanwhile.
        """
        with open(self.path, "rb") as source:
            source.seek(self._start)
            lines = enumerate(source)
            changed = any(revise(line) != line for n, line in lines if n <= events)
        if changed:
            self._replace_lines(revise, events)

    def _replace_lines(self, revise: Callable[[bytes], bytes], events: int) -> None:
        temporary = _temporary(self.path)
        mode = stat.S_IMODE(os.fstat(self._fd).st_mode)
        fd = os.open(temporary, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL | BINARY, mode)
        try:
            try_lock(fd)
            digest = hashlib.sha256()
            with open(self.path, "rb") as source, open(fd, "wb", closefd=False) as target:
                _copy(source, target, self._start)
                for n, line in enumerate(source):
                    new = revise(line) if n <= events else line
                    digest.update(new)
                    target.write(new)
            os.fsync(fd)
            os.replace(temporary, self.path)
        except BaseException:
            os.close(fd)
            temporary.unlink(missing_ok=True)
            raise
        os.close(self._fd)
        self._fd, self._digest, self._size = fd, digest, os.fstat(fd).st_size

    def close(self, *, packed: Path | None = None, overwrite: bool = False, **counts: int) -> None:
        """Write the footer, with these of its fields, sync, and only now let go of a file that was
        to be overwritten.

        With `packed`, moves the whole file into that `.gz` (or, to `overwrite`, in its place),
        still under the lock: another recorder that waits for it starts on a fresh file.
        """
        try:
            self._write_footer(counts)
            self.sync()
            if packed is not None:
                pack(self.path, packed, overwrite=overwrite)
            if self._backup is not None:
                self._backup.unlink(missing_ok=True)
        finally:
            os.close(self._fd)

    def _write_footer(self, counts: Mapping[str, int]) -> None:
        footer = Footer(events=self._events, sha256=self._digest.hexdigest(), **counts)
        self._write(msgspec.json.encode({"footer": footer}) + b"\n")

    def discard(self) -> None:
        """Leave no empty file, and the old one where it was: nothing was recorded."""
        if self._created and not os.fstat(self._fd).st_size:
            self.path.unlink(missing_ok=True)
            if self._backup is not None:
                self._backup.rename(self.path)
        os.close(self._fd)

    def _write(self, data: bytes) -> None:
        data = self._ahead + data if self._ahead else data
        if self._sealed_at is not None:
            os.ftruncate(self._fd, self._sealed_at)
            self._size, self._sealed_at = self._sealed_at, None
        try:
            written = os.write(self._fd, data)
            while written < len(data):
                written += os.write(self._fd, memoryview(data)[written:])
        except OSError:
            os.ftruncate(self._fd, self._size)
            raise
        self._size += len(data)
        self._ahead = b""


def open_take(path: Path, *, overwrite: bool = False, new: bool = False) -> TakeFile | None:
    """Open and locks a file for one more take; None while another recorder holds it.

    `overwrite` starts the file anew and keeps the old one as `.bak` until the clean close; `new`
    refuses an existing one. Raises CassetteError for whatever cannot be a cassette, before anything
    was changed.
    """
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | NO_WAIT | NO_LINK
    try:
        existed = path.exists()
        if new and existed:
            raise CassetteError(path, "exists", hint="leave out --new to add a take to it")
        fd = _open(path, flags | (os.O_EXCL if new else 0))
    except IsADirectoryError as error:
        hint = "with a slash at its end, each run gets a file of its own in it"
        raise CassetteError(path, words_of(error), hint=hint) from error
    except OSError as error:
        raise unusable(path, error) from error
    if not _lock(fd, path):
        os.close(fd)
        return None
    try:
        start = read_at(fd, _MAX_HEADER_BYTES, 0)
        if not overwrite:
            newer = unreadable(start.partition(b"\n")[0])
            reason = describe_other(str(path), start)[0] if is_other(start) else newer
            if reason is not None:
                raise CassetteError(path, reason, hint="record to another file, or use --overwrite")
        if not (overwrite and existed):
            return TakeFile(path, fd, backup=None, created=not existed)
        return _start_anew(path, fd)
    except OSError as error:
        os.close(fd)
        raise unusable(path, error) from error
    except BaseException:
        os.close(fd)
        raise


def pack(path: Path, packed: Path, *, overwrite: bool = False) -> None:
    """Move a plain recording into the `.gz` it was meant for, behind what is there (gzip has
    members for that).
    """
    old = packed.read_bytes() if packed.exists() and not overwrite else b""
    data = gzip.compress(path.read_bytes(), mtime=0)
    replace_file(packed, old + data)
    path.unlink()


def replace_file(path: Path, data: bytes, check: Callable[[], None] = lambda: None) -> None:
    """Replace a file atomically: a temporary file in the same folder, fsync, rename. Mode and owner
    stay what they were. `check` is called right before the rename, and prevents it if it raises.
    Raises OSError, for a file of another user too.
    """
    old = path.stat() if path.exists() else None
    temporary = _temporary(path)
    try:
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(data)
            file.flush()
            if old is not None:
                keep_owner(file.fileno(), path, old)
                os.chmod(temporary, stat.S_IMODE(old.st_mode))
            os.fsync(file.fileno())
        check()
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _temporary(path: Path) -> Path:
    return path.with_name(f".{path.name}.{os.getpid()}.tmp")


def _copy(source: BinaryIO, target: BinaryIO, size: int) -> None:
    while size > 0 and (piece := source.read(min(size, _COPIED_BYTES))):
        target.write(piece)
        size -= len(piece)


def _start_anew(path: Path, fd: int) -> TakeFile:
    """Move the locked old file aside and lock a fresh one in its place.

    A `.bak` that exists is the user's, or from an overwrite that did not end: it stays.
    """
    names = (path.with_name(f"{path.name}.bak{number or ''}") for number in range(1000))
    backup = next(name for name in names if not os.path.lexists(name))
    path.rename(backup)
    fresh = _open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL)
    try_lock(fresh)
    os.close(fd)
    return TakeFile(path, fresh, backup=backup, created=True)


def _lock(fd: int, path: Path) -> bool:
    """Take the lock if it is free, and the file was not moved aside meanwhile."""
    try:
        return try_lock(fd) and os.path.samestat(os.fstat(fd), os.stat(path))
    except FileNotFoundError:
        return False


def _open(path: Path, flags: int) -> int:
    """Refuse a device, a pipe or a folder, without waiting on it."""
    fd = os.open(path, flags | BINARY, 0o600)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(errno.EINVAL, "is not a regular file")
    return fd


def unusable(path: Path, error: OSError, *, written: bool = True) -> CassetteError:
    """Return the error for a file that cannot be `written` or read, with what to do about it."""
    folder, hint = path.parent, None
    if written and isinstance(error, FileNotFoundError) and not folder.is_dir():
        made = shell_command(["mkdir", "-p", str(folder)])
        return CassetteError(path, f"there is no folder {folder}", hint=f"`{made}` makes it")
    if isinstance(error, PermissionError):
        listed = shell_command(["ls", "-ld", str(folder), str(path)])
        hint = f"`{listed}` shows who may use it"
    return CassetteError(path, words_of(error), hint=hint)


def _near(path: Path) -> str | None:
    """Return the cassette that may be meant, if there is one: in the same folder, or in that of
    the tests below it.
    """
    from difflib import get_close_matches  # few names are wrong

    known: dict[str, Path] = {}
    for folder in (path.parent / "cassettes", path.parent):
        with suppress(OSError), os.scandir(folder) as entries:
            names = [one.name for one in islice(entries, _MAX_NAMES)]
            known |= {name: folder / name for name in names if is_of_folder(name, rejected=True)}
    name = path.name if path.name.endswith(SUFFIXES) else path.name + SUFFIXES[0]
    near = get_close_matches(name, known, n=1, cutoff=0.8)
    return f"did you mean {known[near[0]]}?" if near else None


def words_of(error: Exception) -> str:
    """Return why a file could not be read or written, in words for people."""
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    if isinstance(error, FileNotFoundError):
        return "no such file or folder"
    if isinstance(error, OSError) and error.errno == errno.ELOOP:
        return "is a symbolic link; name the file it points to"
    if isinstance(error, IsADirectoryError):
        return "is a folder"
    return reason[:1].lower() + reason[1:]
