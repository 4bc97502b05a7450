"""`lazy_pattern`: a regular expression that is compiled when it is first used: a session needs a
dozen of more than a hundred. Below it is nothing.
"""

from __future__ import annotations

import re
from typing import Any, AnyStr, cast


# speed: ninety expressions took 9 ms of each start (tools/bench.py --processor)
class _LazyPattern:
    """Has what a compiled pattern has."""

    def __init__(self, pattern: str | bytes, flags: int) -> None:
        self.pattern, self._flags = pattern, flags

    def __getattr__(self, name: str) -> Any:
        found = getattr(re.compile(self.pattern, self._flags), name)
        setattr(self, name, found)  # from here on it is found before this method is asked
        return found


def lazy_pattern(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return what `re.compile` does, at the cost of naming it. A mistake in it is found late."""
    return cast("re.Pattern[AnyStr]", _LazyPattern(pattern, flags))
