"""Files that are no cassette, and lines that are no event: each says what it is, where, and what to
do.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from mcpmock.cassette.canonical import recover
from mcpmock.cassette.file import load, open_take
from mcpmock.errors import CassetteError
from tests.support import HEADER
from tests.support.sealed import ONE, TWO, sealed

WHOLE = sealed()
SIDES = b"<<<<<<< HEAD\n%b=======\n%b>>>>>>> theirs\n"
LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d\nsize 12345\n"
HAR = {"log": {"version": "1.2", "entries": []}}
TAKE_SIDE = (
    "take one side: `git checkout --ours s.jsonl` or `git checkout --theirs s.jsonl`; or record"
)
RECOVER = "`mcpmock recover s.jsonl -o OUT` "
FILES: dict[str, tuple[bytes, str]] = {
    "gzip": (
        gzip.compress(WHOLE),
        "packed with gzip, which its name does not say; rename it: `mv ",
    ),
    "zip": (b"PK\x03\x04" + bytes(9), "it is a zip archive; unpack it"),
    "zstd": (b"\x28\xb5\x2f\xfd" + WHOLE, "it is packed with zstd; unpack it"),
    "byte order mark": (
        b"\xef\xbb\xbf" + WHOLE,
        f"(line 1, column 1); save it without one, or {RECOVER}",
    ),
    "UTF-16": (WHOLE.decode().encode("utf-16"), "is UTF-16, as an editor or a shell of Windows"),
    "UTF-16 big": (b"\xfe\xff" + WHOLE.decode().encode("utf-16-be"), "; save it as UTF-8"),
    "binary": (bytes(range(256)), "it is a binary file"),
    "database": (b"SQLite format 3\0" + bytes(99), "it is a binary file"),
    "Git LFS": (
        LFS,
        "is a pointer of Git LFS: the file itself was not fetched; `git lfs pull --include ",
    ),
    "git-annex": (b"../.git/annex/objects/x/y/SHA256-s1\n", "`git annex get s.jsonl` fetches it"),
    "conflict in the header": (
        SIDES % (HEADER, HEADER) + ONE,
        f"line 1: a conflict marker of git; {TAKE_SIDE}",
    ),
    "conflict in the middle": (
        HEADER + SIDES % (ONE, TWO),
        f"s.jsonl:2: a conflict marker of git; {TAKE_SIDE}",
    ),
    "conflict, its base": (HEADER + b"||||||| 1234\n" + ONE, ":2: a conflict marker of git"),
    "conflict, its end": (
        HEADER + ONE + b">>>>>>> theirs\r\n" + TWO,
        ":3: a conflict marker of git",
    ),
    "HAR": (json.dumps(HAR).encode(), "it is a HAR file; mcpmock writes HAR and reads none"),
    "HAR over lines": (json.dumps(HAR, indent=2).encode(), "it is a HAR file"),
    "spans": (b'{"resourceSpans":[]}\n', "it holds spans of OpenTelemetry"),
    "JSON array": (
        b"[" + ONE.strip() + b"]",
        "it is a JSON array; a cassette has one object a line",
    ),
    "formatted": (
        json.dumps(json.loads(HEADER), indent=2).encode() + b"\n" + ONE,
        "its JSON is spread over several lines, as a formatter writes it; a cassette has one",
    ),
    "web page": (b"<!DOCTYPE html>\n<html>", "it is a web page; download the file itself"),
    "no header": (ONE + TWO, f"has no header: its first line was lost; {RECOVER}gives it another"),
    "an exploration": (
        b'{"type":"row","n":1,"step":"cells"}\n',
        "is not a cassette: `mcpmock explore --json` wrote it; `mcpmock report s.jsonl` reads it",
    ),
    "statistics": (
        b'{"type": "calls","n":1}\n',
        "`mcpmock stats --json` wrote it; `mcpmock stats s.jsonl` reads it",
    ),
    "coverage": (b'{"type":"coverage"}\n', "; `mcpmock stats s.jsonl --coverage` reads it"),
    "other JSON Lines": (
        b'{"type":"frame"}\n',
        "`mcpmock convert s.jsonl -o OUT` reads recordings of",
    ),
    "text": (b"hello\n", "is not a cassette: its first line is no mcpmock header"),
    "comma in an event": (
        HEADER + ONE[:-2] + b",}\n" + TWO,
        f":2: not an event: not JSON at column {len(ONE)}: trailing comma in object; {RECOVER}",
    ),
    "comma behind an event": (
        HEADER + ONE[:-1] + b",\n" + TWO,
        f":2: not an event: not JSON at column {len(ONE)}: trailing characters",
    ),
    "comma in the header": (
        HEADER[:-2] + b",}\n" + ONE,
        f":1: not a header: not JSON at column {len(HEADER)}",
    ),
    "columns are characters": (
        HEADER + '{"n":1,"é":}\n'.encode() + TWO,
        ":2: not an event: not JSON at column 12",
    ),
    "a comment": (
        HEADER + b"// mine\n" + ONE,
        f":2: not an event: not JSON: a comment, which JSON does not have; {RECOVER}",
    ),
    "a comment of C": (HEADER + b"/* mine */\n" + ONE, ":2: not an event: not JSON: a comment"),
    "another comment": (HEADER + b" # mine\n" + ONE, ":2: not an event: not JSON: a comment"),
    "Latin-1": (
        HEADER + b'{"n":1,"t":0,"d":"c2s","m":{"x":"\xe9"}}\n' + TWO,
        ":2: not an event: not UTF-8; save the file as UTF-8",
    ),
    "broken off": (
        HEADER + ONE[:-3] + b"\n" + TWO,
        f":2: not an event: not JSON: it breaks off at column {len(ONE) - 2}",
    ),
    "newer": (
        HEADER.replace(b":1,", b":2,", 1),
        "has format 2, this mcpmock reads 1; a newer mcpmock reads it",
    ),
}


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("what", FILES)
def test_what_is_no_cassette_says_what_it_is(what: str) -> None:
    data, said = FILES[what]
    file = Path("s.jsonl")
    file.write_bytes(data)
    with pytest.raises(CassetteError) as caught:
        load(file)

    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_is_not_packed_says_so() -> None:
    Path("s.jsonl.gz").write_bytes(WHOLE)
    with pytest.raises(
        CassetteError, match=r"is not packed, .*; rename it: `mv s.jsonl.gz s.jsonl`"
    ):
        load(Path("s.jsonl.gz"))


def test_an_empty_file_holds_no_recording() -> None:
    """It is told, and a recorder writes into it."""
    for name, data in (("s.jsonl", b""), ("s.jsonl.gz", b"")):
        Path(name).write_bytes(data)

        assert ["is empty: it holds no recording"] == [n.text for n in load(Path(name)).notices]
    file = open_take(Path("s.jsonl"))
    assert file is not None
    file.close()


def test_an_edited_cassette_says_how_to_keep_the_edit() -> None:
    Path("s.jsonl").write_bytes(WHOLE.replace(b"1000000", b"1000001"))
    [notice] = load(Path("s.jsonl")).notices

    assert "the digest in the footer differs; `mcpmock fmt` accepts the edit" in notice.text


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    """Of what is to be written; a file to be read is just not there."""
    with pytest.raises(
        CassetteError, match="there is no folder no/such; `mkdir -p no/such` makes it"
    ):
        open_take(Path("no/such/s.jsonl"))
    with pytest.raises(CassetteError, match=r"no/such/s\.jsonl: no such file or folder$"):
        load(Path("no/such/s.jsonl"))


def test_a_recorder_leaves_another_file_alone() -> None:
    Path("s.jsonl").write_text(json.dumps(HAR))
    with pytest.raises(CassetteError, match="it is a HAR file; record to another file, or use"):
        open_take(Path("s.jsonl"))


def test_recover_reads_past_a_byte_order_mark() -> None:
    assert WHOLE == recover(b"\xef\xbb\xbf" + WHOLE).data


def test_a_mock_is_no_cassette(tmp_path: Path) -> None:
    """It is said what plays it."""
    file = tmp_path / "mock.toml"
    file.write_text('[[tool]]\nname = "now"\nreply = "noon"\n')

    with pytest.raises(CassetteError, match=r"it is TOML; `mcpmock replay .*` plays it, if it is"):
        load(file)
