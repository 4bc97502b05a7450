"""The record mode: one resolver decides it, from the command line, then the environment, then the
marker, then the ini.

Every run asks, also one that uses nothing of ours, so this imports nothing but pytest.
"""

from __future__ import annotations

import os

import pytest

MODES = ("none", "once", "new_episodes", "all", "rewrite")
"""`none`: replay, and fail without a cassette. `once`: replay, or record where there is none.
`new_episodes`: as `once`, and what the cassette does not have is asked of the real server and
recorded into it. `all`: record anew; the takes of other tests stay. `rewrite`: record anew, and
nothing else stays. Whatever is recorded only gets into the cassette if the test has passed.
"""
ENVIRONMENT = "MCPMOCK_RECORD"


def resolve_mode(option: str | None, environment: str, marker: str | None, ini: str) -> str:
    """The record mode in force; empty strings and None are not said. Raises UsageError for a word
    that is no mode.
    """
    mode = option or environment or marker or ini or MODES[0]
    return one_of(mode, MODES, "record mode")


def one_of(word: str, words: tuple[str, ...], what: str) -> str:
    """The word, if it is one of these. Raises UsageError."""
    if word not in words:
        raise pytest.UsageError(f"mcpmock: no {what} {word!r}: it is one of {', '.join(words)}")
    return word


def config_mode(config: pytest.Config, marker: str | None = None) -> str:
    """The record mode in force, where a marker says this."""
    environment = os.environ.get(ENVIRONMENT, "")
    ini = str(config.getini("mcpmock_record"))
    return resolve_mode(config.getoption("mcpmock_record"), environment, marker, ini)
