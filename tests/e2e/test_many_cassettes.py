"""Commands over many cassettes, with the work shared by real processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.processes import gone, read_line, running

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(60)]

CASSETTES = Path(__file__).parents[2] / "cassettes"
TEAM = """
import sys
from mcpmock.batch.executors import processes

with processes(2) as pool:
    pool.submit(int).result()
    print(*pool._processes, flush=True)
    sys.stdin.read()
"""


def mcpmock(*words: object, said: bytes = b"") -> tuple[int, bytes, bytes]:
    """Status, stdout and stderr of a command."""
    argv = [sys.executable, "-m", "mcpmock", *map(str, words)]
    ran = subprocess.run(argv, input=said, capture_output=True, timeout=50, check=False)
    return ran.returncode, ran.stdout, ran.stderr


@pytest.mark.parametrize("command", [("check", "--json"), ("stats",), ("scan",)])
def test_processes_share_the_work(command: tuple[str, ...], tmp_path: Path) -> None:
    """What is printed is the same, in the same order, whatever is wrong with a file."""
    torn = tmp_path / "torn.jsonl"
    torn.write_bytes(b"oops")
    wrong = () if command == ("stats",) else (torn, tmp_path / "none")
    alone = mcpmock(*command, CASSETTES, *wrong, CASSETTES / "*.jsonl")

    assert alone == mcpmock(*command, "--jobs", 2, CASSETTES, *wrong)
    assert alone[1]


def test_a_worker_that_is_killed(tmp_path: Path) -> None:
    """As for lack of memory: the error is one line, and the command ends."""
    script = tmp_path / "kill.py"
    script.write_text(
        "import os, sys\n"
        "from mcpmock.batch import check\n"
        "from mcpmock.cli import main\n"
        "def kill(file, plan): os.kill(os.getpid(), 9)\n"
        "check.check_file = kill\n"
        "main()\n"
    )
    argv = [sys.executable, str(script), "check", "--jobs", "2", str(CASSETTES)]
    ran = subprocess.run(argv, capture_output=True, timeout=50, check=False)

    assert (3, b"", 1) == (ran.returncode, ran.stdout, ran.stderr.count(b"\n"))
    assert b"a worker was killed before " in ran.stderr
    assert b" was done; use fewer --jobs" in ran.stderr


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_workers_end_with_their_parent(how: signal.Signals) -> None:
    """However it ends; a Ctrl-C in a terminal reaches all of them."""
    with running([sys.executable, "-c", TEAM]) as process:
        workers = list(map(int, read_line(process).split()))
        kill = os.killpg if how is signal.SIGINT else os.kill
        kill(process.pid, how)
        process.wait(20)

        assert gone(workers, 20)


def test_names_on_stdin() -> None:
    """One on a line, or with NUL between them; `-` is where they stand in the list."""
    names = [bytes(path) for path in sorted(CASSETTES.glob("*.jsonl"))]
    plain = mcpmock("stats", CASSETTES)

    assert plain == mcpmock("stats", "-", said=b"\n".join(names) + b"\n")
    assert plain == mcpmock("stats", "-", CASSETTES / "*.jsonl", said=b"\0".join(names) + b"\0")
    status, _, err = mcpmock("stats", "-", said=b"\n")
    assert (2, 1) == (status, err.count(b"no names on standard input"))
