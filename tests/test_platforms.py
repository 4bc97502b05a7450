"""What is done in another way where the system lacks something, as far as Linux has both ways."""

from __future__ import annotations

import subprocess
from pathlib import Path

from mcpmock.platforms import _members_by_proc, _members_by_ps, try_lock


def test_ps_names_the_processes_that_proc_names() -> None:
    """A process in a session of its own, and its child."""
    with subprocess.Popen(
        ["/bin/sh", "-c", "sleep 60 & echo; wait"], stdout=subprocess.PIPE, start_new_session=True
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        by_ps, by_proc = dict(_members_by_ps(process.pid)), dict(_members_by_proc(process.pid))
        for pid in by_proc:
            subprocess.run(["kill", "-9", str(pid)], check=True)

    assert {process.pid} < {*by_proc}
    assert {*by_proc} == {*by_ps}
    assert by_proc[process.pid] == by_ps[process.pid]  # the child may have become `sleep` meanwhile


def test_a_lock_is_of_one_open_file(tmp_path: Path) -> None:
    """Until it is closed."""
    path = tmp_path / "a"
    with path.open("w") as one, path.open("w") as other:
        assert try_lock(one.fileno())
        assert not try_lock(other.fileno())
        one.close()
        assert try_lock(other.fileno())
