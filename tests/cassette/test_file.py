"""Cassettes on a disk: append, overwrite, lock, and whatever goes wrong."""

from __future__ import annotations

import errno
import gzip
import os
import stat
from collections.abc import Callable, Sequence
from pathlib import Path
from time import process_time

import pytest
from msgspec.json import encode

from mcpmock.cassette import file as cassette_file
from mcpmock.cassette.file import TakeFile, load, open_take, pack, read_bytes, rewrite
from mcpmock.cassette.model import Header, event_line
from mcpmock.errors import CassetteError
from tests.support import HEADER, INITIALIZE, WELCOME, c2s, cassette_bytes, s2c

LINES = [event_line(1, 0, c2s(INITIALIZE)), event_line(2, 1000, s2c(WELCOME))]
OLD = cassette_bytes(("c2s", INITIALIZE))
LONG = b"".join(event_line(n, 0, c2s(INITIALIZE)) for n in range(50))
PACKED = gzip.compress(LONG, mtime=0)


def opened(path: Path, **how: bool) -> TakeFile:
    take = open_take(path, **how)
    assert take is not None
    return take


def write_take(path: Path, **how: bool) -> None:
    take = opened(path, **how)
    take.begin(Header(mcpmock=1))
    take.append(LINES[:1])
    take.append(LINES[1:])
    take.close()


def shape(path: Path) -> list[int]:
    return [len(take.events) for take in load(path).takes]


def test_a_new_take(tmp_path: Path) -> None:
    """A closed take loads sealed, without a notice, and counts its events."""
    write_take(tmp_path / "a.jsonl")
    loaded = load(tmp_path / "a.jsonl")

    assert ([], True) == (loaded.notices, loaded.takes[0].sealed)
    footer = loaded.takes[0].footer
    assert footer is not None
    assert (2, 0, 0) == (footer.events, footer.redacted, footer.gaps)


def test_only_the_owner_reads_it(tmp_path: Path) -> None:
    """A new cassette has mode 0600."""
    write_take(tmp_path / "a.jsonl")
    rewrite(tmp_path / "b.jsonl", OLD)

    modes = [stat.S_IMODE(path.stat().st_mode) for path in sorted(tmp_path.iterdir())]
    assert [0o600, 0o600] == modes


def test_an_existing_cassette_gets_a_new_take(tmp_path: Path) -> None:
    """Recording to an existing file adds a take and leaves what is there."""
    path = tmp_path / "a.jsonl"
    path.write_bytes(OLD)
    write_take(path)
    write_take(path)

    assert path.read_bytes().startswith(OLD)
    assert [1, 2, 2] == shape(path)
    assert [None, True, True] == [take.sealed for take in load(path).takes]


@pytest.mark.parametrize("cut", [*range(1, 13), 60, len(OLD) - 1])
def test_a_torn_file_gets_a_line_break_first(tmp_path: Path, cut: int) -> None:
    """A take added to a file that ends in the middle of a line starts on a line of its own, and all
    loads.
    """
    path = tmp_path / "a.jsonl"
    path.write_bytes(OLD[:cut])
    write_take(path)

    assert path.read_bytes().startswith(OLD[:cut] + b'\n{"mcpmock":1}\n')
    assert 2 == shape(path)[-1]


def test_what_was_appended_is_there_at_once(tmp_path: Path) -> None:
    """After `append` the file holds the lines, without a close."""
    path = tmp_path / "a.jsonl"
    take = opened(path)
    take.begin(Header(mcpmock=1))
    take.append(LINES)

    assert [2] == shape(path)
    take.close()


def test_a_footer_for_now(tmp_path: Path) -> None:
    """It makes the take whole, and the next event cuts it off."""
    path = tmp_path / "a.jsonl"
    path.write_bytes(OLD)
    take = opened(path)
    take.begin(Header(mcpmock=1))
    for events in (1, 2):
        take.append(LINES[:1])
        for _ in range(2):
            take.seal(gaps=7)
        [*_, last] = load(path).takes
        assert (events, True) == (len(last.events), last.sealed)
        assert last.footer is not None
        assert 7 == last.footer.gaps
    take.close()

    assert [1, 2] == shape(path)
    assert 1 == path.read_bytes().count(b'{"footer"')


def test_overwriting_keeps_the_old_until_the_clean_close(tmp_path: Path) -> None:
    """The file that is overwritten is beside the new one until that is closed cleanly."""
    path, backup = tmp_path / "a.jsonl", tmp_path / "a.jsonl.bak"
    path.write_bytes(OLD)
    take = opened(path, overwrite=True)
    take.begin(Header(mcpmock=1))

    assert OLD == backup.read_bytes()
    take.append(LINES)
    take.close()
    assert not backup.exists()
    assert [2] == shape(path)


def test_overwriting_what_is_no_cassette(tmp_path: Path) -> None:
    """Overwriting takes any regular file, and a new name too."""
    (tmp_path / "a.jsonl").write_bytes(b"notes")
    write_take(tmp_path / "a.jsonl", overwrite=True)
    write_take(tmp_path / "b.jsonl", overwrite=True)

    assert [[2], [2]] == [shape(tmp_path / "a.jsonl"), shape(tmp_path / "b.jsonl")]


def test_the_rules_of_a_cassette_that_is_recorded_again(tmp_path: Path) -> None:
    """Those of all headers, once each; of a packed one and of one that is damaged too."""
    tables = ({"ignore": ["$.a", "$.b"]}, None, {"ignore": ["$.b"], "like": ["$.c=uuid"]}, [1])
    headers = [encode(Header(mcpmock=1, match=table)) for table in tables]
    data = b"".join(header + b"\n" + LINES[0] for header in headers)
    for name, written in (("a.jsonl", data + b"torn"), ("a.jsonl.gz", gzip.compress(data))):
        (tmp_path / name).write_bytes(written)
        joined = {"ignore": ["$.a", "$.b"], "like": ["$.c=uuid"]}
        assert joined == cassette_file.rules_in(tmp_path / name)
    (tmp_path / "b.jsonl").write_bytes(OLD)
    assert [None, None] == [cassette_file.rules_in(tmp_path / name) for name in ("b.jsonl", "no")]


def test_new_refuses_what_exists(tmp_path: Path) -> None:
    """`new` refuses an existing file and leaves it."""
    path = tmp_path / "a.jsonl"
    path.write_bytes(OLD)

    with pytest.raises(CassetteError, match="exists"):
        open_take(path, new=True)
    assert OLD == path.read_bytes()
    write_take(tmp_path / "b.jsonl", new=True)


@pytest.mark.parametrize("data", [b"notes\n", b'{"mcpmock":2}\n', b"{}\n", b"\x00\x01"])
def test_recording_into_another_kind_of_file(tmp_path: Path, data: bytes) -> None:
    """A file that is no cassette of ours is refused before anything is changed."""
    path = tmp_path / "a.jsonl"
    path.write_bytes(data)

    with pytest.raises(CassetteError):
        open_take(path)
    assert data == path.read_bytes()


@pytest.mark.parametrize("how", [{}, {"overwrite": True}])
def test_one_recorder_at_a_time(tmp_path: Path, how: dict[str, bool]) -> None:
    """While one recorder holds the file, another gets None; afterwards it is free."""
    path = tmp_path / "a.jsonl"
    first = opened(path)

    assert None is open_take(path, **how)
    first.begin(Header(mcpmock=1))
    first.close()
    write_take(path)
    assert [0, 2] == shape(path)


def test_discarding_leaves_nothing(tmp_path: Path) -> None:
    """A take that never began leaves no empty file."""
    opened(tmp_path / "a.jsonl").discard()

    assert [] == list(tmp_path.iterdir())


@pytest.mark.parametrize("how", [{}, {"overwrite": True}])
def test_discarding_leaves_the_old_file(tmp_path: Path, how: dict[str, bool]) -> None:
    """A take that never began leaves an existing file as it was, and free."""
    path = tmp_path / "a.jsonl"
    path.write_bytes(OLD)
    opened(path, **how).discard()

    assert [path] == list(tmp_path.iterdir())
    assert OLD == path.read_bytes()
    opened(path).discard()


def make_folder(path: Path) -> None:
    path.mkdir()


def make_device(path: Path) -> None:
    path.symlink_to("/dev/null")


MAKERS: list[Callable[[Path], None]] = [make_folder, os.mkfifo, make_device]


@pytest.mark.parametrize("make", MAKERS, ids=["folder", "fifo", "device"])
def test_only_regular_files(tmp_path: Path, make: Callable[[Path], None]) -> None:
    """A folder, a pipe or a device is refused at once, for reading and for writing."""
    path = tmp_path / "a.jsonl"
    make(path)

    for use in (load, read_bytes, open_take, lambda p: open_take(p, overwrite=True)):
        with pytest.raises(CassetteError):
            use(path)
    assert [path] == list(tmp_path.iterdir())


def test_a_missing_file_or_folder(tmp_path: Path) -> None:
    """A file that is not there is named as it was written."""
    path = tmp_path / "no" / "a.jsonl"
    with pytest.raises(CassetteError, match=r"no/a\.jsonl: no such file or folder"):
        load(path)
    with pytest.raises(CassetteError, match=r"no/a\.jsonl: there is no folder .*/no;"):
        open_take(path)


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("demo", "demo.jsonl"),
        ("demo.json", "demo.jsonl"),
        ("dmo.jsonl", "demo.jsonl"),
        ("packed", "packed.jsonl.gz"),
        ("packed.jsonl", "packed.jsonl.gz"),
        ("test_it.jsonl", "test_it.rej.jsonl"),
        ("a", "a.jsonl"),
        ("tested", "cassettes/tested.jsonl"),
        ("cassettes/tested", "cassettes/tested.jsonl"),
        ("notes", None),
        ("other.jsonl", None),
    ],
)
def test_the_nearest_name_in_the_folder(tmp_path: Path, name: str, near: str | None) -> None:
    """A suffix that was left out, or a slip."""
    (tmp_path / "cassettes").mkdir()
    for file in (
        *("demo.jsonl", "packed.jsonl.gz", "test_it.rej.jsonl", "a.jsonl", "notes.txt"),
        "cassettes/tested.jsonl",
    ):
        (tmp_path / file).touch()
    with pytest.raises(CassetteError) as caught:
        load(tmp_path / name)

    assert (None if near is None else f"did you mean {tmp_path / near}?") == caught.value.hint


def test_damage_is_an_error_with_its_place(tmp_path: Path) -> None:
    """Damage in the middle is an error with file, line, reason and the command that helps, unless
    asked for.
    """
    path = tmp_path / "a.jsonl"
    path.write_bytes(HEADER + b"x\n" + LINES[0])

    with pytest.raises(CassetteError, match="recover") as caught:
        load(path)
    assert (str(path), 2) == (caught.value.file, caught.value.line)
    assert 1 == len(load(path, damaged=True).damage)


def test_no_take_of_a_later_format_is_read(tmp_path: Path) -> None:
    """A cassette with a take of an unknown major is refused, wherever the take stands, and no
    command is named that would refuse it too.
    """
    path = tmp_path / "a.jsonl"
    for data in (HEADER.replace(b":1,", b":2,", 1), OLD + HEADER.replace(b":1,", b":2,", 1)):
        path.write_bytes(data)
        with pytest.raises(CassetteError, match=r"format 2.*newer mcpmock reads it$"):
            load(path)


class Disk:
    """os.write as a disk that fails: from the `nth` call on (once or for ever), after taking
    `short` bytes.
    """

    def __init__(self, nth: int, *, once: bool = False, short: int = 0) -> None:
        self._real, self._nth, self._once, self._short = os.write, nth, once, short
        self.calls = 0

    def write(self, fd: int, data: bytes | memoryview) -> int:
        self.calls += 1
        failing = self.calls == self._nth if self._once else self.calls >= self._nth
        if not failing:
            return self._real(fd, data)
        if self._short:
            taken = self._real(fd, bytes(data)[: self._short])
            self._short, self._nth = 0, self._nth + 1
            return taken
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def write_as_possible(path: Path) -> int:
    """Records as a recorder does that goes on when it cannot write; gives the number of lost
    writes.
    """
    take = opened(path)
    steps: Sequence[Callable[[], None]] = (
        lambda: take.begin(Header(mcpmock=1)),
        lambda: take.append(LINES[:1]),
        lambda: take.append(LINES[1:]),
        take.close,
    )
    lost = 0
    for step in steps:
        try:
            step()
        except OSError:
            lost += 1
    return lost


@pytest.mark.parametrize("kind", ["new", "sealed", "torn"])
@pytest.mark.parametrize("short", [0, 7])
@pytest.mark.parametrize("once", [True, False], ids=["once", "for ever"])
@pytest.mark.parametrize("nth", range(1, 7))
def test_whatever_write_fails_the_file_loads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nth: int, once: bool, short: int, kind: str
) -> None:
    """Whichever write fails, once or for ever, what was there and what was written still loads, cut
    to whole lines.
    """
    path = tmp_path / "a.jsonl"
    write_take(path)
    old = {"new": b"", "sealed": path.read_bytes(), "torn": OLD[:-5]}[kind]
    path.write_bytes(old)
    disk = Disk(nth, once=once, short=short)
    monkeypatch.setattr(os, "write", disk.write)
    lost = write_as_possible(path)
    monkeypatch.undo()

    data = path.read_bytes()
    assert data.startswith(old)
    assert (lost > 0) is (disk.calls >= nth + bool(short))
    assert [] == load(path).damage
    assert [] == [take for take in load(path).takes if take.sealed is False]
    assert data in (b"", old) or data.endswith(b"\n")


def test_short_writes_are_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that takes one byte at a time gets all of them."""
    real = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: real(fd, bytes(data)[:1]))
    write_take(tmp_path / "a.jsonl")
    monkeypatch.undo()

    assert ([2], True) == (shape(tmp_path / "a.jsonl"), load(tmp_path / "a.jsonl").takes[0].sealed)


def test_a_failed_close_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the new take cannot be closed cleanly, the overwritten file is still there, and the lock
    is not.
    """
    path = tmp_path / "a.jsonl"
    path.write_bytes(OLD)
    take = opened(path, overwrite=True)
    take.begin(Header(mcpmock=1))
    monkeypatch.setattr(os, "write", Disk(1).write)

    with pytest.raises(OSError, match="No space"):
        take.close()
    monkeypatch.undo()
    assert OLD == (tmp_path / "a.jsonl.bak").read_bytes()
    opened(path).discard()


def test_rewriting_is_atomic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rewrite that fails leaves the old file and nothing beside it."""
    path = tmp_path / "a.jsonl"
    path.write_bytes(OLD)

    def no_sync(_fd: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "fsync", no_sync)
    with pytest.raises(CassetteError, match="nput/output error"):
        rewrite(path, b"new")
    monkeypatch.undo()
    assert [path] == list(tmp_path.iterdir())
    assert OLD == path.read_bytes()
    rewrite(path, b"new")
    assert b"new" == path.read_bytes()


def test_packed_cassettes(tmp_path: Path) -> None:
    """A packed cassette is read as it is, and packing adds behind what is there unless told
    otherwise.
    """
    plain, packed = tmp_path / "a.jsonl", tmp_path / "a.jsonl.gz"
    for overwrite, expected in ((False, [1]), (False, [1, 1]), (True, [1])):
        plain.write_bytes(OLD)
        pack(plain, packed, overwrite=overwrite)

        assert expected == shape(packed)
        assert not plain.exists()
    rewrite(packed, OLD + OLD)
    assert OLD + OLD == gzip.decompress(packed.read_bytes())


def test_damaged_packing_is_our_error(tmp_path: Path) -> None:
    """A packed file with a changed byte, or cut off, loads or is refused; nothing else happens."""
    path = tmp_path / "a.jsonl.gz"
    good = gzip.compress(OLD, mtime=0)
    for at in range(len(good)):
        flipped = good[:at] + bytes([good[at] ^ 0xFF]) + good[at + 1 :]
        for bad in (flipped, good[:at]):
            path.write_bytes(bad)
            try:
                load(path)
            except CassetteError:
                pass


@pytest.mark.parametrize(
    ("bad", "why", "saved"),
    [
        (PACKED[:-8], "was cut off", LONG),
        (PACKED[:-8] + bytes(8), "is damaged", LONG),
        (PACKED + b"behind", "is damaged", LONG),
        (PACKED + PACKED[:-8] + bytes(8), "is damaged", LONG * 2),
        (PACKED[:10] + b"\7" + PACKED[11:], "is damaged", b""),
        (PACKED[:10], "was cut off", b""),
    ],
    ids=["trailer", "checksum", "behind", "second member", "block", "head"],
)
def test_what_damaged_packing_still_has(tmp_path: Path, bad: bytes, why: str, saved: bytes) -> None:
    """It is refused in words, and what stands before the damage can be had."""
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(bad)
    with pytest.raises(CassetteError, match=f"the packed file {why}; `mcpmock recover "):
        load(path)

    assert saved == read_bytes(path, damaged=True)


def test_size_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cassette that holds more than the bound, packed or not, is refused."""
    monkeypatch.setattr(cassette_file, "MAX_BYTES", 1000)
    big = OLD + b" " * 1000
    for path, data in ((tmp_path / "a.jsonl", big), (tmp_path / "a.jsonl.gz", gzip.compress(big))):
        path.write_bytes(data)
        with pytest.raises(CassetteError, match="holds more than"):
            load(path)


def bomb(size: int) -> bytes:
    return gzip.compress(b"\n" * size, mtime=0)


@pytest.mark.parametrize(
    ("packed", "why"),
    [
        (bomb(20 << 20), "unpacks to more than 200 times its size"),
        (gzip.compress(OLD) + bomb(20 << 20), "unpacks to more than 200 times its size"),
        (bomb(1 << 12) * 20_000, "is packed in more than 10000 parts"),
    ],
    ids=["one", "behind a good one", "many members"],
)
def test_bombs(tmp_path: Path, packed: bytes, why: str) -> None:
    """A packed file that would fill the memory is refused after a few MiB, in linear time."""
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(packed)
    began = process_time()

    with pytest.raises(CassetteError, match=why):
        read_bytes(path)
    assert process_time() - began < 1


def test_the_bound_of_what_is_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Besides the ratio there is a bound for all of it; a short cassette may be packed ever so
    well.
    """
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(bomb(1 << 19))
    assert 1 << 19 == len(read_bytes(path))

    monkeypatch.setattr(cassette_file, "MAX_UNPACKED_BYTES", 1 << 18)
    with pytest.raises(CassetteError, match="unpacks to more than 0 MiB"):
        read_bytes(path)


def test_a_take_is_revised(tmp_path: Path) -> None:
    """Lines up to an event are changed, from the header on, and sealed; other takes, later events
    and the mode stay, and the lock is held all the time.
    """
    path = tmp_path / "a.jsonl"
    write_take(path)
    os.chmod(path, 0o640)
    before = path.read_bytes()
    take = opened(path)
    take.begin(Header(mcpmock=1, tool="initialize"))
    take.append(LINES)
    old = path.stat().st_ino
    take.revise(lambda line: line.replace(b"initialize", b"INITIALIZE"), events=1)

    assert (None, 0o640) == (open_take(path), stat.S_IMODE(path.stat().st_mode))
    take.close()
    data = path.read_bytes()
    assert data.startswith(before)
    assert (2, 1) == (data.count(b"INITIALIZE"), data.count(b"initialize"))
    assert [True, True] == [take.sealed for take in load(path).takes]
    assert old != path.stat().st_ino
    assert [path] == list(tmp_path.iterdir())


def test_a_revision_that_changes_nothing_writes_nothing(tmp_path: Path) -> None:
    """Then the file stays the very same."""
    path = tmp_path / "a.jsonl"
    take = opened(path)
    take.begin(Header(mcpmock=1))
    take.append(LINES)
    inode = path.stat().st_ino
    take.revise(lambda line: line, events=2)
    take.close()

    assert (inode, True) == (path.stat().st_ino, load(path).takes[0].sealed)


def test_a_revision_that_fails_leaves_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a full disk the take stays as it was written, and is closed."""
    path = tmp_path / "a.jsonl"
    take = opened(path)
    take.begin(Header(mcpmock=1))
    take.append(LINES)
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", raises(errno.ENOSPC))
        with pytest.raises(OSError, match="No space"):
            take.revise(lambda line: line.replace(b"initialize", b"INITIALIZE"), events=2)
    take.close()

    assert (True, 0) == (load(path).takes[0].sealed, path.read_bytes().count(b"INITIALIZE"))
    assert [path] == list(tmp_path.iterdir())


def raises(number: int) -> Callable[..., None]:
    def fail(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    return fail
