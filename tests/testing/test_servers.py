"""What the fixtures give, and when a test that passed fails all the same."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from mcpmock.errors import McpMockError
from mcpmock.playback.miss import Miss
from mcpmock.testing.cassette_store import CassetteStore
from mcpmock.testing.servers import CassetteFile, Client, RecordingServer, require_cassette, using
from mcpmock.testing.settings import Settings
from tests.support.weather import write_weather


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(path=write_weather(tmp_path / "weather.jsonl"), unused="fail")


def test_a_test_that_asks_nothing(settings: Settings) -> None:
    """Its body passes, and nothing was started; that no client came is judged with all tests."""
    with using(settings, "t", CassetteStore()) as use:
        use.judge()

    expected = {"unused": "fail", "left": [], "idle": "no client connected"}
    assert expected.items() <= use.cassette_use().items()


def test_a_miss_fails_it(settings: Settings) -> None:
    """With the lines that explain it."""
    with using(settings, "t", CassetteStore()) as use:
        use.server.log.report(Miss("ping", ()))
        with pytest.raises(
            pytest.fail.Exception, match=r"1 request matches nothing recorded in .*: ping"
        ):
            use.judge()
        assert "replaying" in use.describe()


def test_no_cassette(tmp_path: Path) -> None:
    """The command that records it depends on whether the server is named."""
    path = tmp_path / "no.jsonl"
    with pytest.raises(McpMockError, match=r"mcpmock record -o .*no\.jsonl -- COMMAND"):
        require_cassette(Settings(path=path))
    with pytest.raises(McpMockError, match="with --mcp-record=once"):
        require_cassette(Settings(path=path, server=("x",)))


def test_the_cassette(settings: Settings) -> None:
    """Where it is, what is done with it, and what is in it."""
    cassette = CassetteFile(settings)

    assert (settings.path, "none", False) == (cassette.path, cassette.mode, cassette.records)
    assert 1 == len(cassette.load().takes)


@pytest.mark.e2e
def test_the_client(settings: Settings) -> None:
    """It drives a server, and says what differs."""
    words = [sys.executable, "-m", "mcpmock", "replay", str(settings.path)]
    driven = Client(settings).drive(words)

    assert (0, None) == (driven.status, driven.diff().worst)


@pytest.mark.parametrize("passed", [True, False])
def test_only_a_test_that_passes_replaces_a_cassette(tmp_path: Path, passed: bool) -> None:
    """The recording of a failed test is kept beside the cassette."""
    settings = Settings(path=tmp_path / "a.jsonl", mode="all", server=("x",))
    settings.path.write_text("old")
    store = CassetteStore(tmp_path)
    server = RecordingServer(settings, "t", store)
    server._output.write_text("new")
    server.close()
    server.settle(passed=passed)

    assert ("new" if passed else "old") == settings.path.read_text()
    assert passed is not settings.rejected.exists()


def test_nothing_to_record_from(tmp_path: Path) -> None:
    """The error names the arguments of the marker."""
    with pytest.raises(McpMockError, match=r"name one in the marker"):
        RecordingServer(
            Settings(path=tmp_path / "a.jsonl", mode="all"), "t", CassetteStore(tmp_path)
        )


def test_a_real_server_misses_nothing(tmp_path: Path) -> None:
    """It has no misses, and without a client it is not started."""
    server = RecordingServer(
        Settings(path=tmp_path / "a.jsonl", mode="all", url="http://x.test/"),
        "t",
        CassetteStore(tmp_path),
    )

    assert [] == server.misses
    server.close()
