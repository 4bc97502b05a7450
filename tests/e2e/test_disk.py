"""Paths that cannot be recorded to, disks that are full: said clearly, and no session dies."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mcpmock.protocol.messages import C2S, S2C
from tests.support.processes import (
    crossed,
    read_line,
    record,
    replay,
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


def make_missing(folder: Path) -> Path:
    return folder / "missing" / "a.jsonl"


def make_below_a_file(folder: Path) -> Path:
    (folder / "file").touch()
    return folder / "file" / "a.jsonl"


def make_folder(folder: Path) -> Path:
    (folder / "a.jsonl").mkdir()
    return folder / "a.jsonl"


def make_fifo(folder: Path) -> Path:
    os.mkfifo(folder / "a.jsonl")
    return folder / "a.jsonl"


def make_foreign(folder: Path) -> Path:
    (folder / "a.jsonl").write_text("dear diary\n")
    return folder / "a.jsonl"


PATHS: dict[str, Callable[[Path], Path]] = {
    "a missing folder": make_missing,
    "below a file": make_below_a_file,
    "a folder": make_folder,
    "a FIFO": make_fifo,
    "a device": lambda _: Path("/dev/null"),
    "a full device": lambda _: Path("/dev/full"),
    "a read-only place": lambda _: Path("/proc/a.jsonl"),
    "a file that is no cassette": make_foreign,
}


@pytest.mark.parametrize("make", PATHS.values(), ids=PATHS)
def test_a_path_that_is_no_place_for_a_cassette_is_refused(
    make: Callable[[Path], Path], tmp_path: Path
) -> None:
    """One line that names the path, exit code 3, and nothing was started or changed."""
    path, log = make(tmp_path), tmp_path / "log"
    before = sorted(tmp_path.rglob("*"))
    spoken = talk(record(path, scripted("--log", log, "idle")), [])

    check_refused(spoken, path)
    assert sorted(tmp_path.rglob("*")) == before


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


def test_new_refuses_what_exists(tmp_path: Path) -> None:
    """With --new, an existing cassette is left as it is."""
    path = tmp_path / "a.jsonl"
    talk(record(path, scripted("idle")), [Lines(1), Close()])
    before = path.read_bytes()

    check_refused(talk(record(path, scripted("idle"), "--new"), []), path)
    assert path.read_bytes() == before


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
    """What went wrong was said when it happened, and once more at the end."""
    first, last = stderr.splitlines()
    assert first.startswith(f"mcpmock: {cassette}: cannot record: ".encode())
    assert last.startswith(f"mcpmock: {cassette}: recording incomplete: ".encode())


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


@pytest.mark.parametrize("existing", [False, True])
@pytest.mark.parametrize(("command", "code"), [("missing", 127), ("not-executable", 126)])
def test_a_server_that_cannot_start_leaves_no_file(
    command: str, code: int, existing: bool, tmp_path: Path
) -> None:
    """The exit code is the shell's, one line says why, and the cassette is as it was."""
    program, cassette = tmp_path / command, tmp_path / "a.jsonl"
    if command == "not-executable":
        program.touch()
    if existing:
        talk(record(cassette, scripted("idle")), [Lines(1), Close()])
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    spoken = talk(record(cassette, [str(program)]), [])

    assert spoken.exit_code == code
    assert spoken.stderr.count(b"\n") == 1
    assert str(program).encode() in spoken.stderr
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_cassette_that_is_not_there_is_not_replayed(tmp_path: Path) -> None:
    """Replay refuses it as record does."""
    check_refused(talk(replay(tmp_path / "a.jsonl"), []), tmp_path / "a.jsonl")
