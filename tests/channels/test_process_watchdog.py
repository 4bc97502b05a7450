"""The guard, over a real process group: what it ends, and when it does nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator

import pytest

from mcpmock.channels.process_watchdog import ProcessWatchdog
from tests.support.processes import gone, stdout_of

pytestmark = pytest.mark.e2e

GRACE = 1.0
"""Seconds that the group is given to end by itself."""
FAMILY = "sleep 60 & echo $!; wait"


@pytest.fixture
def family() -> Iterator[subprocess.Popen[bytes]]:
    """A process in a group of its own, with a child that it has told us of."""
    process = subprocess.Popen(
        ["/bin/sh", "-c", FAMILY], stdout=subprocess.PIPE, bufsize=0, start_new_session=True
    )
    with process:
        yield process
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass  # the guard was there before


def vanish(guard: ProcessWatchdog) -> None:
    """What the kernel does for us when we are killed."""
    os.close(guard._alive)


def open_descriptors() -> set[str]:
    return set(os.listdir("/proc/self/fd"))


def test_the_group_is_killed_when_we_vanish(family: subprocess.Popen[bytes]) -> None:
    """A second after we are gone the whole group is killed, and the guard has ended too."""
    grandchild = int(stdout_of(family).readline())
    guard = ProcessWatchdog(family.pid)
    assert family.poll() is None

    began = time.monotonic()
    vanish(guard)
    family.wait(10)
    assert GRACE <= time.monotonic() - began
    assert -signal.SIGKILL == family.returncode
    assert gone([grandchild], 10)
    assert 0 == guard._shell.wait(10)


def test_dismissed_it_does_nothing(family: subprocess.Popen[bytes]) -> None:
    """A guard that is dismissed ends at once, harms nobody, and leaves no descriptor."""
    before = open_descriptors()
    guard = ProcessWatchdog(family.pid)
    guard.dismiss()

    assert 0 == guard._shell.returncode
    assert family.poll() is None
    assert before == open_descriptors()


def test_signals_to_us_do_not_reach_it(family: subprocess.Popen[bytes]) -> None:
    """The guard is in a session of its own, and no child inherits the pipe that tells of us."""
    guard = ProcessWatchdog(family.pid)

    assert guard._shell.pid == os.getsid(guard._shell.pid)
    assert not os.get_inheritable(guard._alive)
    guard.dismiss()


def test_a_group_that_ended_by_itself_is_no_matter(family: subprocess.Popen[bytes]) -> None:
    """A guard that finds nobody to kill ends all the same."""
    os.killpg(family.pid, signal.SIGKILL)
    family.wait()
    guard = ProcessWatchdog(family.pid)
    vanish(guard)

    assert None is not guard._shell.wait(10)


def test_a_guard_that_was_killed_is_dismissed_quietly(family: subprocess.Popen[bytes]) -> None:
    """Dismissing a guard that somebody killed is no error."""
    before = open_descriptors()
    guard = ProcessWatchdog(family.pid)
    guard._shell.kill()
    guard._shell.wait()
    try:
        guard.dismiss()
    except BrokenPipeError:
        vanish(guard)
        raise

    assert before == open_descriptors()
