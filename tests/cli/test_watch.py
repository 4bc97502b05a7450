"""`mcpmock watch`: its options. What is served is in tests/sessions/test_watch.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcpmock.sessions.watch import Watch
from tests.cli.conftest import Run


@pytest.mark.parametrize(
    ("name", "options", "waits"),
    [
        ("none.jsonl", [], True),
        ("none.jsonl", ["-q"], False),
        ("none.jsonl", ["--json"], False),
        ("there.jsonl", [], False),
        (".", [], False),
    ],
)
def test_a_file_that_is_not_there_yet(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    name: str, options: list[str], waits: bool,
) -> None:  # fmt: skip
    """It is waited for, which a line on standard error says, be that a terminal or not."""
    monkeypatch.chdir(tmp_path)
    Path("there.jsonl").touch()

    async def announce(page: Watch) -> int:
        page.announce("http://u")
        return 0

    monkeypatch.setattr(Watch, "run", announce)
    status, _, err = run("watch", *options, name)

    assert 0 == status
    assert waits is (f"waiting for {name}, which is not there yet\n" in err)


def test_an_address_beyond_loopback(run: Run, tmp_path: Path) -> None:
    """The page is for this machine alone."""
    status, _, err = run("watch", tmp_path / "a.jsonl", "--listen", "0.0.0.0:0")

    assert 2 == status
    assert "loopback only" in err
