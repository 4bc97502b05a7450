"""When files have changed: what counts, and how long they have to stay as they are."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import trio

from mcpmock.protocol.transport_facts import RestartStep
from mcpmock.sessions import restarts
from mcpmock.sessions.restarts import (
    MAX_UNSETTLED_S,
    SETTLE_S,
    Digests,
    FileChanges,
    FileDigests,
    RestartedCommand,
)
from mcpmock.sessions.servers import Reach

OLD = {"a.py": b"1", "b.py": b"1"}


@pytest.mark.parametrize(
    ("files", "said"),
    [
        (["a.py"], "{}/a.py"),
        (["a.py", "b.py"], "{}/a.py and 1 other"),
        (["a.py", "b.py", "c.py"], "{}/a.py and 2 others"),
    ],
)
async def test_a_restart_that_is_due(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, files: list[str], said: str
) -> None:
    """It names what has changed since the server was started."""
    monkeypatch.setattr(restarts, "POLL_INTERVAL_S", 0.001)
    monkeypatch.setattr(restarts, "SETTLE_S", 0.01)
    server = RestartedCommand(["cat"], patterns=[f"{tmp_path}/*.py"])
    with trio.fail_after(20):
        channel = await server.open(Reach(print))
        for name in files:
            (tmp_path / name).write_text("new")
        async with trio.open_nursery() as nursery:
            nursery.start_soon(channel.run)
            receive = await channel.accept()
            [frame] = await receive()
            await channel.aclose()
            nursery.cancel_scope.cancel()

    assert RestartStep("due", said.format(tmp_path)) == frame.fact


def looks(changes: FileChanges, *seen: Digests, since: float = 0.0) -> list[list[str]]:
    """What is found where the files are looked at every tenth of a second."""
    return [changes.look(one, since + place / 10) for place, one in enumerate(seen)]


@pytest.mark.parametrize(
    ("new", "named"),
    [
        (OLD, []),
        ({**OLD, "a.py": b"2"}, ["a.py"]),
        ({"a.py": b"2", "b.py": b"2"}, ["a.py", "b.py"]),
        ({"a.py": b"1"}, ["b.py"]),
        ({**OLD, "c.py": b"1"}, ["c.py"]),
        ({"a.py": b"2", "c.py": b"1"}, ["a.py", "b.py", "c.py"]),
        ({}, ["a.py", "b.py"]),
    ],
)
def test_what_is_a_change(new: Digests, named: list[str]) -> None:
    """Another content, a file that is new or gone. It is told once."""
    changes = FileChanges(OLD)
    assert [named] == [found for found in looks(changes, OLD, *[new] * 9) if found or not named][:1]
    assert [[]] * 9 == looks(changes, *[new] * 9, since=10)


def test_many_writes_are_one_change() -> None:
    """It counts once nothing differs any more for a moment, and not if all is as it was."""
    writes = [{**OLD, "a.py": b"%d" % n} for n in range(20)]
    found = looks(FileChanges(OLD), *writes, *[writes[-1]] * 9)
    told = 19 + round(SETTLE_S * 10)
    assert [place for place, names in enumerate(found) if names] == [told]
    assert [[]] * 30 == looks(FileChanges(OLD), *writes[:10], *[OLD] * 20)


def test_a_file_that_is_written_all_the_time() -> None:
    """It puts a change off for a while only."""
    writes = [{**OLD, "a.py": b"%d" % n} for n in range(2, 102)]
    found = looks(FileChanges(OLD), *writes)
    told = round(MAX_UNSETTLED_S * 10)
    assert next(place for place, names in enumerate(found) if names) == told


def test_what_is_read(tmp_path: Path) -> None:
    """The files that a pattern matches, below folders too; a touch changes nothing."""
    (tmp_path / "deep" / "er").mkdir(parents=True)
    names = ["a.py", "b.txt", "deep/c.py", "deep/er/d.py"]
    for name in names:
        (tmp_path / name).write_text(name)
    (tmp_path / "link.py").symlink_to(tmp_path / "a.py")
    (tmp_path / "broken.py").symlink_to(tmp_path / "nowhere")
    os.mkfifo(tmp_path / "pipe.py")

    def found(*patterns: str) -> list[str]:
        read = FileDigests([str(tmp_path / pattern) for pattern in patterns])()
        return sorted(os.path.relpath(name, tmp_path) for name in read)

    assert ["a.py", "link.py"] == found("*.py")
    assert ["a.py", "deep/c.py", "deep/er/d.py", "link.py"] == found("**/*.py")
    assert names == [name for name in found("**") if name != "link.py"]
    assert ["a.py", "b.txt"] == found("a.py", "b.*")
    assert [] == found("deep", "no*", "pipe.py")

    digests = FileDigests([str(tmp_path / "a.py")])
    before = digests()
    os.utime(tmp_path / "a.py", (1, 1))
    assert before == digests()
    state = os.stat(tmp_path / "a.py")
    (tmp_path / "a.py").write_text("b.py")  # of the same size
    os.utime(tmp_path / "a.py", ns=(state.st_atime_ns, state.st_mtime_ns))
    assert before != digests()
    (tmp_path / "a.py").unlink()
    assert {} == digests()
