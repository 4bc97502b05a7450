"""Servers that are started while we still import what talks to them, and what starts none."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mcpmock.cli import early_start
from mcpmock.cli.early_start import has_client, is_sure_to_open
from tests.support import HEADER, INITIALIZE, INITIALIZED, cassette_bytes

SEEN = """
import sys
def note(event, args):
    if event == "subprocess.Popen" and args[0] == "cat":
        there = [name for name in ("click", "msgspec", "trio") if name in sys.modules]
        print("started", *there, file=sys.stderr)
sys.addaudithook(note)
from mcpmock.cli import main
main()
"""


def started(*arguments: object) -> list[bytes]:
    """The lines that say that the server `cat` is started, and which libraries are there."""
    done = subprocess.run(
        [sys.executable, "-c", SEEN, *map(str, arguments), "--", "cat"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=30,
    )
    return [line for line in done.stderr.splitlines() if line.startswith(b"started")]


@pytest.mark.e2e
@pytest.mark.parametrize(
    ("command", "libraries"),
    [
        ("record -o b.jsonl", b""),
        ("record -o a.jsonl", b""),
        ("record -o folder/", b""),
        ("proxy -q --record b.jsonl", b""),
        ("drive -o b.jsonl a.jsonl", b" msgspec"),
        ("verify a.jsonl", b" msgspec"),
    ],
)
def test_a_server_is_started_first(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, command: str, libraries: bytes
) -> None:
    """It starts before anything large is imported, and once only; only a cassette to play is read
    before.
    """
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "a.jsonl").write_bytes(cassette_bytes(("c2s", INITIALIZE)))

    assert [b"started" + libraries] == started(*command.split())


@pytest.mark.e2e
def test_a_bad_file_starts_no_server(tmp_path: Path) -> None:
    """Neither one to record to nor one to play."""
    bad = tmp_path / "bad.jsonl"
    bad.write_bytes(b"no cassette\n")

    assert [] == started("record", "-o", bad)
    assert [] == started("drive", bad)


@pytest.mark.parametrize(
    "arguments",
    [
        "",
        "show -- cat",
        "proxy cat",
        "proxy --",
        "proxy -o new.jsonl -- cat",
        "proxy word -- cat",
        "proxy --url http://a --",
        "proxy --fault latency -- cat",
        "record -- cat",
        "record -o -- cat",
        "record --output=new.jsonl -- cat",
        "record -o no/a.jsonl -- cat",
        "record -o new.jsonl --new -- cat",
        "drive -- cat",
        "drive a.jsonl a.jsonl -- cat",
        "drive no.jsonl -- cat",
        "drive --sessions 2 a.jsonl -- cat",
    ],
)
def test_what_is_not_plain_starts_no_server(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, arguments: str
) -> None:
    """Unknown options, wrong usage and files that are in the way are left to the commands."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.jsonl").write_bytes(cassette_bytes(("c2s", INITIALIZE)))

    assert not early_start.server_of(arguments.split())


def test_options_from_the_environment_start_no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """They may contradict those that are there."""
    assert ["cat", "--", "-"] == early_start.server_of(["proxy", "--", "cat", "--", "-"])
    monkeypatch.setenv("MCPMOCK_PROXY_URL", "http://a")
    assert () == early_start.server_of(["proxy", "--", "cat"])


def test_what_a_look_tells(tmp_path: Path) -> None:
    """A new file in a folder, and a cassette, can be recorded to; all else has to be tried."""
    names = ("a.jsonl", "b.jsonl", "c.jsonl", "d.jsonl")
    cassette, plain, link, newer = (tmp_path / name for name in names)
    cassette.write_bytes(HEADER)
    plain.write_bytes(b"{}")
    newer.write_bytes(b'{"mcpmock":9}\n')
    link.symlink_to(cassette)
    new = str(tmp_path / "new.jsonl")

    assert all(map(is_sure_to_open, [str(cassette), new, f"{tmp_path}/"]))
    assert not any(
        map(is_sure_to_open, [str(plain), str(link), str(newer), f"{tmp_path}/no/a.jsonl", ""])
    )
    assert not is_sure_to_open(str(tmp_path))


PLAYED = cassette_bytes(("c2s", INITIALIZE), ("s2c", INITIALIZED))
EVENTS = PLAYED.partition(b"\n")[2]
FAR = cassette_bytes(*[("c2s", INITIALIZE)] * 1000)
BAD = b"what is no event\n"


@pytest.mark.parametrize(
    ("data", "is_played"),
    [
        (PLAYED, True),
        (PLAYED * 2, True),
        (PLAYED[:-9], True),  # torn, which any prefix may be
        (gzip.compress(PLAYED), True),
        (HEADER, False),
        (b"", False),
        (cassette_bytes(("s2c", INITIALIZED)), False),
        (PLAYED + BAD + EVENTS, False),
        (FAR + BAD + EVENTS, False),  # beyond what one look shows
        (FAR + b"<<<<<<< ours\n" + EVENTS, False),
        (FAR + b"\0" * 99 + b"\n" + EVENTS, False),
        (FAR + b'{"mcpmock":9}\n' + EVENTS, False),
        (gzip.compress(FAR)[:-9], False),
    ],
)
def test_whether_there_is_a_client(tmp_path: Path, data: bytes, *, is_played: bool) -> None:
    """It is a cassette that is good to its end, and the client says something."""
    path = tmp_path / ("a.jsonl.gz" if data.startswith(b"\x1f") else "a.jsonl")
    path.write_bytes(data)

    assert is_played is has_client(str(path))


def test_no_client_in_what_cannot_be_read_to_its_end(tmp_path: Path) -> None:
    """Nothing is read from a pipe, and a sibling counts as the file does."""
    played, sibling, pipe = (tmp_path / name for name in ("a.jsonl", "a.2.jsonl", "pipe"))
    played.write_bytes(PLAYED)
    os.mkfifo(pipe)

    assert [True, False] == [has_client(str(path)) for path in (played, pipe)]
    sibling.write_bytes(b'{"mcpmock":1,"sibling_of":"a.jsonl"}\n' + BAD + EVENTS)
    assert not has_client(str(played))


@pytest.mark.parametrize("text", ["", "[record]\noverwrite = true\n", "[recrod]\n", "= no TOML"])
@pytest.mark.parametrize("arguments", ["record -o b.jsonl", "drive a.jsonl", "proxy --record ./"])
def test_a_project_file_starts_no_server(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, arguments: str, text: str
) -> None:
    """It may set options, and may have mistakes."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.jsonl").write_bytes(PLAYED)
    command = [*arguments.split(), "--", "cat"]

    assert ["cat"] == early_start.server_of(command)
    (tmp_path / "mcpmock.toml").write_text(text)
    assert not early_start.server_of(command)
