"""How much work something is, counted instead of timed."""

from __future__ import annotations

import sys
from collections.abc import Callable


def count_steps(work: Callable[[], object]) -> int:
    """The number of calls of functions, ours and those of C, and of steps of generators."""
    steps = 0

    def note(_frame: object, event: str, _argument: object) -> None:
        nonlocal steps
        steps += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(before)
    return steps
