"""Disks that are full and folders without permission: one line says so, and no session dies."""

from __future__ import annotations

import os
import re
import resource
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec import UNSET

from mcpmock.protocol.messages import C2S, S2C
from tests.support.processes import (
    crossed,
    read_line,
    record,
    running,
    scripted,
    stdin_of,
    stdout_of,
    takes,
    write_all,
)

from .raw_client import Close, Lines, Send, Spoken, Step, talk

pytestmark = pytest.mark.e2e

BAD_CASSETTE = 3
INCOMPLETE = 5
LINE = b'{"jsonrpc":"2.0","id":%d,"method":"m","params":"' + b"z" * 1000 + b'"}\n'
COUNT = 200
SMALL = 64 << 10
"""Bytes of the disk: less than the session's."""


def conversation() -> Iterator[Step]:
    """So many lines, each sent when the echo of the one before has come."""
    yield Lines(1)
    for number in range(COUNT):
        yield Send(LINE % number)
        yield Lines(number + 2)
    yield Close()


def check_refused(spoken: Spoken, path: Path) -> None:
    assert spoken.exit_code == BAD_CASSETTE
    assert spoken.stdout == b""
    assert spoken.stderr.count(b"\n") == 1
    assert str(path).encode() in spoken.stderr


def test_a_folder_that_may_not_be_written_is_refused(tmp_path: Path) -> None:
    """As any other path that cannot be written, also for a root that lost its privilege."""
    if os.getuid() == 0 and shutil.which("setpriv") is None:
        pytest.skip("root may write everywhere, and there is no setpriv to take that away")
    humble = ["setpriv", "--bounding-set=-dac_override"] if os.getuid() == 0 else []
    tmp_path.chmod(0o500)
    path = tmp_path / "a.jsonl"
    spoken = talk([*humble, *record(path, scripted("idle"))], [])
    tmp_path.chmod(0o700)

    check_refused(spoken, path)


@pytest.fixture
def limited(tmp_path: Path) -> Iterator[Path]:
    """A folder whose files cannot grow beyond SMALL bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (SMALL, hard))
    yield tmp_path
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.fixture
def full(tmp_path: Path) -> Iterator[Path]:
    """A file system of SMALL bytes."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={SMALL}", "tmpfs", str(folder)]
    if os.getuid() or subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("may not mount a tmpfs here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.fixture(params=["limited", "full"])
def small_disk(request: pytest.FixtureRequest) -> Path:
    """A folder with room for a part of the session."""
    folder = request.getfixturevalue(request.param)
    assert isinstance(folder, Path)
    return folder


def test_a_session_goes_on_when_the_disk_is_full(small_disk: Path) -> None:
    """Every byte arrives, one line tells of it, the exit code is 5, and what was written loads."""
    cassette = small_disk / "a.jsonl"
    spoken = talk(record(cassette, scripted("echo")), conversation())
    (take,) = takes(cassette)
    said = b"".join(LINE % number for number in range(COUNT))

    assert spoken.stdout.partition(b"\n")[2] == said
    assert spoken.exit_code == INCOMPLETE
    check_told(spoken.stderr, cassette)
    assert take.footer is None or take.footer.gaps > 0
    assert said.startswith(crossed(take, C2S))
    assert spoken.stdout.startswith(crossed(take, S2C))
    assert len(crossed(take, C2S)) + len(crossed(take, S2C)) > SMALL * 3 // 4


def check_told(stderr: bytes, cassette: Path) -> None:
    """What went wrong was said when it happened, and at the end how much is missing: it agrees with
    the file.
    """
    first, last = stderr.splitlines()
    assert first.startswith(f"mcpmock: {cassette}: cannot record: ".encode())
    told = re.fullmatch(rb"mcpmock: (.*): (\d+) of (\d+) events? (was|were) not recorded: .*", last)
    assert told is not None, last
    assert str(cassette).encode() == told[1]
    there = sum(event.gap is UNSET for event in takes(cassette)[0].events)
    assert int(told[3]) == there + int(told[2])


def test_strict_ends_the_session_when_the_disk_is_full(small_disk: Path, tmp_path: Path) -> None:
    """With --strict nothing passes that is not in the cassette."""
    cassette, errors = small_disk / "a.jsonl", tmp_path / "stderr"
    with running(record(cassette, scripted("echo"), "--strict"), stderr=errors) as process:
        received = echoed_until_the_end(process)

        assert process.wait() == INCOMPLETE
    (take,) = takes(cassette)
    assert 0 < received.count(b"\n") < COUNT
    assert crossed(take, S2C) == received
    check_told(errors.read_bytes(), cassette)


def test_a_session_goes_on_when_its_log_is_on_the_full_disk_too(full: Path) -> None:
    """Nobody can be told either; the session lives all the same, and the exit code is 5."""
    with running(record(full / "a.jsonl", scripted("echo")), stderr=full / "log") as process:
        fill = f"cat /dev/zero >> {full}/filler"
        assert subprocess.run(["sh", "-c", fill], check=False, capture_output=True).returncode == 1
        received = echoed_until_the_end(process)
        stdin_of(process).close()

        assert process.wait() == INCOMPLETE
    assert received.endswith(LINE % (COUNT - 1))


def echoed_until_the_end(process: subprocess.Popen[bytes]) -> bytes:
    """One line after the other, each sent when the one before came back."""
    received = read_line(process)
    for number in range(COUNT):
        write_all(stdin_of(process), LINE % number)
        line = stdout_of(process).readline()
        if not line:
            break
        received += line
    return received
