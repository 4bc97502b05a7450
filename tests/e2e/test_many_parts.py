"""Commands over many cassettes on a real Dask cluster of two workers, each a process."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import attrs
import pytest

from tests.support.processes import read_line, running, stdout_of

from .parts import PARTS, not_installed

pytestmark = [
    pytest.mark.parts,
    pytest.mark.timeout(120),
    pytest.mark.skipif(not_installed("batch", "dask") is not None, reason="run e2e_parts.sh batch"),
]

ROOT = Path(__file__).parents[2]
SHIPPED = ROOT / "cassettes"
BIN = PARTS / "batch" / "bin"
FILES = 60


@attrs.frozen
class Cluster:
    """Where its scheduler is, and the process ids of its workers."""

    address: str
    workers: list[int]


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    """A scheduler and two workers of one thread, in a folder where no cassettes are."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    with ExitStack() as stack:
        log = starting(stack, "scheduler", "--port", "0", "--no-dashboard")
        address = matched(log, rb"Scheduler at: +(tcp://\S+)")
        options = ("--nthreads", "1", "--no-nanny", "--no-dashboard")
        workers = [
            starting(stack, "worker", address, *options, "--local-directory", str(tmp_path))
            for _ in range(2)
        ]
        for worker in workers:
            matched(worker, rb"(Registered to:)")
        yield Cluster(address, [worker.pid for worker in workers])


def starting(stack: ExitStack, *words: str) -> subprocess.Popen[bytes]:
    """A process of the cluster; its log is its output."""
    argv = ["sh", "-c", 'exec "$0" "$@" 2>&1', str(BIN / "dask"), *words]
    return stack.enter_context(running([*argv, *(() if words[0] == "worker" else HOST)]))


HOST = ("--host", "127.0.0.1")


def matched(process: subprocess.Popen[bytes], pattern: bytes) -> str:
    """What a process says first that matches."""
    while (found := re.search(pattern, read_line(process))) is None:
        pass
    return found[1].decode()


def mcpmock(*words: object) -> list[str]:
    """A command, of the Python that has what the cluster needs."""
    return [str(BIN / "python"), "-m", "mcpmock", *map(str, words)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Many copies of a recording of a real server, one of them damaged."""
    folder = tmp_path / "runs"
    folder.mkdir()
    data = (SHIPPED / "everything.jsonl").read_bytes()
    for number in range(FILES):
        (folder / f"{number:02}.jsonl").write_bytes(data)
    (folder / "30.jsonl").write_bytes(data.replace(b'{"n":9,', b'oops{"n":9,'))
    return folder


def test_a_cluster_shares_the_work(cluster: Cluster, folder: Path) -> None:
    """Files are named by path or by URL, and the result is that of one process; also if a worker is
    killed meanwhile: the other one does its work.
    """
    url, share = f"{folder.as_uri()}/", ("--scheduler", cluster.address)
    _, same, _ = ran("diff", "-q", "--json", url, url)
    _, counted, _ = ran("stats", "-q", *share, f"{folder.as_uri()}/[012]*.jsonl")
    status, plain, _ = ran("check", "--json", folder)
    with running(mcpmock("check", "--json", *share, folder)) as process:
        first = read_line(process)
        os.kill(cluster.workers[0], signal.SIGKILL)
        rest = stdout_of(process).read()

        assert (3, plain) == (process.wait(30), first + rest)
    assert (3, FILES) == (status, plain.count(b'"type":"check"'))
    assert ran("stats", "-q", folder / "[012]*.jsonl")[1] == counted
    assert b'"verdict":"same","a":"file:' in same.splitlines()[0]
    assert FILES - 1 == same.count(b'"type":"diff"')


def ran(*words: object) -> tuple[int, bytes, bytes]:
    """Status, output and standard error of a command."""
    done = subprocess.run(mcpmock(*words), capture_output=True, check=False)
    return done.returncode, done.stdout, done.stderr


def test_mistakes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error says what it is about."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT", "500ms")
    nowhere = "tcp://127.0.0.1:1"
    unreached = ran("check", "--scheduler", nowhere, SHIPPED)
    unread = ran("scan", "nosuch://bucket/a.jsonl", "file:///nowhere.jsonl")
    unmatched = ran("scan", "file:///nowhere/*.jsonl")

    assert (4, b"") == unreached[:2]
    assert f"mcpmock: cannot reach {nowhere}: ".encode() in unreached[2]
    assert b"or correct --scheduler" in unreached[2]
    assert (3, b"") == unread[:2]
    assert [
        b"mcpmock: nosuch://bucket/a.jsonl: protocol not known: nosuch",
        b"mcpmock: file:///nowhere.jsonl: no such file or folder",
    ] == unread[2].splitlines()
    assert (2, b"") == unmatched[:2]
    assert b"no cassette matches file:///nowhere/*.jsonl" in unmatched[2]
    assert b"Traceback" not in unreached[2] + unmatched[2]
