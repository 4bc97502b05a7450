"""Servers that are started while we still import what talks to them, and what starts none."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from mcpmock.cli.early_start import is_sure_to_open
from tests.support import HEADER, INITIALIZE, cassette_bytes

SEEN = """
import sys
def note(event, args):
    if event == "subprocess.Popen" and args[0] == "cat":
        print("started", "trio" in sys.modules, file=sys.stderr)
sys.addaudithook(note)
from mcpmock.cli import main
main()
"""


def started(*arguments: object) -> list[bytes]:
    """The lines that say that the server `cat` is started, and whether trio was imported then."""
    done = subprocess.run(
        [sys.executable, "-c", SEEN, *map(str, arguments), "--", "cat"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=30,
    )
    return [line for line in done.stderr.splitlines() if line.startswith(b"started")]


@pytest.mark.e2e
@pytest.mark.parametrize("command", [("record", "-o", "b.jsonl"), ("proxy",), ("drive", "a.jsonl")])
def test_a_server_is_started_first(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, command: tuple[str, ...]
) -> None:
    """It starts while trio is imported, and once only."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.jsonl").write_bytes(cassette_bytes(("c2s", INITIALIZE)))

    assert [b"started False"] == started(*command)


@pytest.mark.e2e
def test_a_bad_file_starts_no_server(tmp_path: Path) -> None:
    """Neither one to record to nor one to play."""
    bad = tmp_path / "bad.jsonl"
    bad.write_bytes(b"no cassette\n")

    assert [] == started("record", "-o", bad)
    assert [] == started("drive", bad)


def test_what_a_look_tells(tmp_path: Path) -> None:
    """A new file in a folder, and a cassette, can be recorded to; all else has to be tried."""
    cassette, plain, link = (tmp_path / name for name in ("a.jsonl", "b.jsonl", "c.jsonl"))
    cassette.write_bytes(HEADER)
    plain.write_bytes(b"{}")
    link.symlink_to(cassette)
    new = str(tmp_path / "new.jsonl")

    assert all(map(is_sure_to_open, [str(cassette), new, f"{tmp_path}/"]))
    assert is_sure_to_open(new, new=True)
    assert not is_sure_to_open(str(cassette), new=True)
    assert not any(map(is_sure_to_open, [str(plain), str(link), f"{tmp_path}/no/a.jsonl"]))
    assert not is_sure_to_open(str(tmp_path))
