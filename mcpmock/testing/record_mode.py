"""The record mode, from the command line, else the environment, else the marker, else the ini.

Every test run resolves it, also one that does not use mcpmock, so this imports nothing that costs
time; and `mcpmock control` does where there is no pytest.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

MODES = ("none", "once", "new_episodes", "all", "rewrite")
"""`none`: replay, and fail without a cassette. `once`: replay, or record if there is no cassette.
`new_episodes`: as `once`, and the real server answers requests that the cassette lacks, which are
recorded. `all`: record again; takes of other tests stay. `rewrite`: record again and drop all other
takes. A recording only goes into the cassette if the test passes.
"""
ENVIRONMENT = "MCPMOCK_RECORD"


def resolve_mode(option: str | None, environment: str, marker: str | None, ini: str) -> str:
    """Return the record mode in force; empty strings and None mean "not given". Raises
    McpMockError for an unknown mode.
    """
    mode = option or environment or marker or ini or MODES[0]
    return check_choice(mode, MODES, "record mode")


def check_choice(word: str, words: tuple[str, ...], subject: str) -> str:
    """Return the word, if it is one of `words`. Raises McpMockError."""
    if word not in words:
        from mcpmock.errors import McpMockError

        raise McpMockError(f"no {subject} {word!r}: choose one of {', '.join(words)}")
    return word


def config_mode(config: pytest.Config) -> str:
    """Return the record mode of a run of pytest. Raises UsageError for an unknown one."""
    environment = os.environ.get(ENVIRONMENT, "")
    ini = str(config.getini("mcpmock_record"))
    try:
        return resolve_mode(config.getoption("mcpmock_record"), environment, None, ini)
    except Exception as error:
        import pytest

        from mcpmock.errors import McpMockError

        if not isinstance(error, McpMockError):
            raise
        raise pytest.UsageError(f"mcpmock: {error}") from error
