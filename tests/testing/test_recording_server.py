"""What becomes of a recording."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcpmock.testing.cassette_store import CassetteStore
from mcpmock.testing.recording_server import RecordingServer
from mcpmock.testing.settings import Settings


@pytest.mark.parametrize("passed", [True, False])
def test_only_a_test_that_passes_replaces_a_cassette(tmp_path: Path, passed: bool) -> None:
    """Else the recording is kept beside it."""
    settings = Settings(path=tmp_path / "a.jsonl", mode="all", server=("x",))
    settings.path.write_text("old")
    keeping = CassetteStore(tmp_path)
    server = RecordingServer(settings, "t", keeping)
    keeping.recording(settings, "t").write_text("new")
    server.finish(passed=passed)

    assert ("new" if passed else "old") == settings.path.read_text()
    assert passed is not settings.rejected.exists()


def test_nothing_to_record_from(tmp_path: Path) -> None:
    """It says what to write."""
    with pytest.raises(pytest.UsageError, match=r"name one in the marker"):
        RecordingServer(
            Settings(path=tmp_path / "a.jsonl", mode="all"), "t", CassetteStore(tmp_path)
        )


def test_a_real_server_misses_nothing(tmp_path: Path) -> None:
    """Nor is it started for nobody."""
    server = RecordingServer(
        Settings(path=tmp_path / "a.jsonl", mode="all", url="http://x.test/"),
        "t",
        CassetteStore(tmp_path),
    )

    assert [] == server.misses
    server.close()
