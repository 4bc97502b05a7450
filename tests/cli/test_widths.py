"""No line of a pipe is cut or wrapped, of no command: a log of CI is searched, and a rule is copied
from it. With COLUMNS, and on a terminal, lines have a width.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mcpmock.cli.output import UNLIMITED, columns
from tests.support import INITIALIZE, WELCOME, cassette_bytes

from .conftest import Run

TOOL = "a_tool_with_a_name_that_alone_is_longer_than_a_line_of_eighty_columns_" + "x" * 40
TEXT = " ".join(f"word-{n}" for n in range(400))
OTHER = TEXT.replace("word-7 ", "other ")
NAMES = [f"listed-{n}" for n in range(60)]


def recorded(text: str) -> bytes:
    listed = ",".join(f'{{"name":"{name}","inputSchema":{{"type":"object"}}}}' for name in NAMES)
    return cassette_bytes(
        ("c2s", INITIALIZE),
        ("s2c", WELCOME),
        ("c2s", b'{"jsonrpc":"2.0","id":2,"method":"tools/list"}'),
        ("s2c", f'{{"jsonrpc":"2.0","id":2,"result":{{"tools":[{listed}]}}}}'.encode()),
        (
            "c2s",
            f'{{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{{"name":"{TOOL}",'
            f'"arguments":{{"asked":"{TEXT}"}}}}}}'.encode(),
        ),
        (
            "s2c",
            f'{{"jsonrpc":"2.0","id":3,"result":{{"content":[{{"type":"text","text":"{text}"}}],'
            f'"structuredContent":{{"a_member_{"y" * 80}":"{text[-9:]}"}}}}}}'.encode(),
        ),
    )


@pytest.fixture
def pipe(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, run: Run) -> Run:
    monkeypatch.delenv("COLUMNS")
    monkeypatch.chdir(tmp_path)
    Path("s.jsonl").write_bytes(recorded(TEXT))
    Path("t.jsonl").write_bytes(recorded(OTHER + " behind"))
    return run


EXCERPT = re.compile(r"   [-+] |Usage: ")
"""A difference between long texts is shown with what is around it; usage repeats with dots."""
ONE_LINE = {
    "show s.jsonl": [f"{TOOL} {{", f'"asked":"{TEXT}"', f" {TEXT} {{", ", ".join(NAMES)],
    "show --filter text=*word-399* s.jsonl": [TEXT],
    "show --id 3 s.jsonl": [TEXT],
    "show --json s.jsonl": [TEXT],
    "show --raw s.jsonl": [TEXT],
    "stats s.jsonl": [f"{TOOL}  "],
    "diff s.jsonl t.jsonl": [f"tools/call {TOOL} $.result.structuredContent.a_member_{'y' * 80}'"],
    "diff --format markdown s.jsonl t.jsonl": [f"tools/call {TOOL}"],
    "check --json s.jsonl": [],
    "scan s.jsonl": [],
    "help": ["How to make a session go wrong on purpose, exactly where you want it and the same"],
    "faults": ["Nothing passes in either direction for `time`, from the message on."],
    "faults limit_data": [],
    "--help": ["Record, inspect, replay and break the traffic between MCP clients and servers."],
    "replay --help": ["Give `mcpmock replay FILE` to a client as the server's command or, with"],
    "replay": ["Error: Missing argument 'FILE'"],
}


@pytest.mark.parametrize("command", ONE_LINE)
def test_no_line_of_a_pipe_is_cut_or_wrapped(
    monkeypatch: pytest.MonkeyPatch, pipe: Run, command: str
) -> None:
    """What belongs together stands on one line; a width would give more lines, or shorter ones."""
    status, out, err = pipe(*command.split())
    monkeypatch.setenv("COLUMNS", "80")
    _, narrow, _ = pipe(*command.split())

    lines = [*out.splitlines(), *err.splitlines()]
    assert [] == [text for text in ONE_LINE[command] if not any(text in line for line in lines)]
    assert [] == [line for line in lines if line.endswith("...") and not EXCERPT.match(line)]
    assert len(out.splitlines()) <= len(narrow.splitlines())
    assert status in (0, 1, 2)


def test_a_width_holds_in_a_pipe_too(monkeypatch: pytest.MonkeyPatch, pipe: Run) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    _, out, _ = pipe("show", "s.jsonl")

    assert 100 >= max(map(len, out.splitlines()))
    assert any(line.endswith("...") for line in out.splitlines())


@pytest.mark.parametrize("columns_given", ["", "0", "wide", "-3"])
def test_a_width_that_is_none(monkeypatch: pytest.MonkeyPatch, columns_given: str) -> None:
    monkeypatch.setenv("COLUMNS", columns_given)

    assert UNLIMITED == columns()
