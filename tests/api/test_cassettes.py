"""Cassettes that are not played."""

from __future__ import annotations

from pathlib import Path

import pytest

import mcpmock
from mcpmock.errors import CassetteError


def test_load_diff_check(weather: Path) -> None:
    """A file or what was read of it; nothing differs from itself."""
    cassette = mcpmock.load(weather)

    assert [8] == [len(take.events) for take in cassette.takes]
    assert mcpmock.diff(weather, cassette).worst is None
    assert "2025-11-25" == mcpmock.check(cassette)[0].violation.cited.split()[0]


def test_no_cassette(tmp_path: Path) -> None:
    """The error names the file."""
    with pytest.raises(CassetteError, match="nowhere"):
        mcpmock.load(tmp_path / "nowhere.jsonl")


def test_redact() -> None:
    """Secrets become placeholders; what has none stays the same object."""
    message = b'{"a":1}'

    assert b'{"password":"mcpmock:secret:password:1"}' == mcpmock.redact(b'{"password":"hunter2"}')
    assert message is mcpmock.redact(message)


def test_one_rule_is_a_list(weather: Path) -> None:
    """A text would be taken for its letters."""
    with pytest.raises(TypeError, match="give a list of rules"):
        mcpmock.diff(weather, weather, ignore="$.result")
