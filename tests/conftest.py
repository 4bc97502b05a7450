"""What holds for every test."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

_TAKEN = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@pytest.fixture(autouse=True)
def signals_as_before() -> Iterator[None]:
    """Our modes take signals for good; the rest of the run, and every child, needs them again."""
    before = [signal.getsignal(signum) for signum in _TAKEN]
    yield
    for signum, handler in zip(_TAKEN, before, strict=True):
        signal.signal(signum, handler)
