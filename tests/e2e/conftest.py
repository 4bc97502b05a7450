"""Every end-to-end test ends in time and leaves no process behind."""

from __future__ import annotations

import faulthandler
import os
import signal
import uuid
from collections.abc import Iterator

import pytest

from tests.support.processes import GONE, TAG, gone, started_with

LIMIT = 60
LIMIT_PARTS = 120
"""Seconds for a test; real clients and servers take longer to start."""


@pytest.fixture(autouse=True)
def in_time(request: pytest.FixtureRequest) -> Iterator[None]:
    """A test that hangs fails, with the stacks of all threads."""
    limit = LIMIT_PARTS if request.node.get_closest_marker("parts") else LIMIT

    def too_late(_signum: int, _frame: object) -> None:
        faulthandler.dump_traceback(file=2)
        raise TimeoutError(f"not over after {limit} s")

    before = signal.signal(signal.SIGALRM, too_late)
    signal.alarm(limit)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture(autouse=True)
def nothing_left(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The tag that every process of a test carries; none of them may outlive it."""
    tag = uuid.uuid4().hex
    monkeypatch.setenv(TAG, tag)
    yield tag
    left = started_with(tag)
    if not gone(left, GONE):
        left = started_with(tag)
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        pytest.fail(f"left behind: {left}")
