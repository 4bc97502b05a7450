"""`mcpmock watch`: its options. What is served is in tests/sessions/test_watch.py."""

from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import Run


def test_an_address_beyond_loopback(run: Run, tmp_path: Path) -> None:
    """The page is for this machine alone."""
    status, _, err = run("watch", tmp_path / "a.jsonl", "--listen", "0.0.0.0:0")

    assert status != 0
    assert "loopback only" in err
