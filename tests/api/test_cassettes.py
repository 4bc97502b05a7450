"""Cassettes that are not played."""

from __future__ import annotations

from pathlib import Path

import pytest

import mcpmock
from mcpmock.errors import CassetteError
from tests.support import INITIALIZE, WELCOME, c, call, cassette_bytes, s


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


def test_redact_and_scan_a_cassette(tmp_path: Path) -> None:
    """A cassette or its file; the result replays, and keeps what was no secret."""
    file = tmp_path / "a.jsonl"
    key = "sk-ant-api03-" + "a1B2" * 20
    footer = b'{"footer":{"events":3,"sha256":"","redacted":0,"gaps":0}}\n'
    lines = cassette_bytes(c(INITIALIZE), s(WELCOME), c(call(1, "a", api_key=key, b=1)))
    file.write_bytes(lines + footer)
    [found] = mcpmock.scan(file)
    assert (4, 1, 3, "$.params.arguments.api_key") == (
        found.line,
        found.take,
        found.event,
        found.path,
    )

    for source in (file, mcpmock.load(file)):
        redacted = mcpmock.redact(source)
        assert [] == mcpmock.scan(redacted)
        assert b'"b":1' in (redacted.takes[0].events[2].payload or b"")
        assert redacted.takes[0].sealed
        assert (str(file), 3) == (redacted.name, len(redacted.takes[0].events))
    assert key.encode() in file.read_bytes()


def test_one_rule_is_a_list(weather: Path) -> None:
    """A text would be taken for its letters."""
    with pytest.raises(TypeError, match="give a list of rules"):
        mcpmock.diff(weather, weather, ignore="$.result")
