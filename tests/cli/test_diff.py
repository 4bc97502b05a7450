"""`mcpmock diff`: options, exit statuses, and nothing hostile gets through."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from mcpmock.cli import diff as face
from tests.cli.conftest import CONTROLS, Run
from tests.support import OPENING, c, call, cassette_bytes, dump, request, response, s
from tests.support.hostile import HOSTILE

TOOL = {"name": "add", "inputSchema": {"type": "object"}}


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """A server, and what became of it: a tool more, another text."""
    paths = []
    for name, tools, text in (("old", [TOOL], "3"), ("new", [TOOL, {"name": "x"}], "4")):
        path = tmp_path / f"{name}.jsonl"
        listed = c(request(1, "tools/list")), s(response(1, {"tools": tools}))
        answer = response(2, {"content": [{"type": "text", "text": text}]})
        added = c(call(2, "add")), s(answer)
        path.write_bytes(cassette_bytes(*OPENING, *listed, *added))
        paths.append(path)
    return paths[0], paths[1]


def test_text(run: Run, files: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """The worst first, each with its rule, its place and both values; in the end how many."""
    monkeypatch.chdir(files[0].parent)
    status, out, _ = run("diff", "old.jsonl", "new.jsonl")

    assert 1 == status
    assert [
        "risky result-text-changed: a text in a result",
        "  in tools/call add, event 7 -> 7",
        "  at $.result.content[0].text",
        '   - "3"',
        '   + "4"',
        "  allow with --ignore 'tools/call add $.result.content[0].text'",
        "",
        "compatible tool-added: a tool is new",
        "  in tools/list, event 5 -> 5",
        "  at $.result.tools[?@.name=='x']",
        '   + {"name":"x"}',
        "  allow with --ignore 'tools/list $.result.tools[?@.name==\"x\"]'",
        "",
        "old.jsonl -> new.jsonl: 1 risky, 1 compatible",
    ] == out.splitlines()


def test_nothing_differs(run: Run, files: tuple[Path, Path]) -> None:
    """That is said in one line, or with `-q` not at all."""
    status, out, _ = run("diff", files[0], files[0])

    assert (0, 1) == (status, len(out.splitlines()))
    assert out.endswith("no differences in 3 calls\n")
    assert (0, "", "") == run("diff", "-q", files[0], files[0])


@pytest.mark.parametrize(
    ("fail_on", "status"), [("any", 1), ("risky", 1), ("breaking", 0), ("never", 0)]
)
def test_the_exit_status(run: Run, files: tuple[Path, Path], fail_on: str, status: int) -> None:
    """It is 1 only where asked."""
    assert status == run("diff", *files, "--fail-on", fail_on)[0]


def test_json(run: Run, files: tuple[Path, Path]) -> None:
    """One object, by either name."""
    told = [json.loads(run("diff", *files, *by)[1]) for by in (("--json",), ("--format", "json"))]

    assert told[0] == told[1]
    assert ("diff", "risky", 3, 0) == tuple(
        told[0][name] for name in ("type", "verdict", "calls", "ignored")
    )
    assert {"breaking": 0, "risky": 1, "compatible": 1} == told[0]["counts"]
    assert {
        "verdict": "compatible",
        "kind": "added",
        "rule": "tool-added",
        "method": "tools/list",
        "call": "tools/list",
        "path": "$.result.tools[?@.name=='x']",
        "a": None,
        "b": '{"name":"x"}',
        "a_event": {"take": 1, "n": 5},
        "b_event": {"take": 1, "n": 5},
        "times": 1,
        "ignore": 'tools/list $.result.tools[?@.name=="x"]',
    } == told[0]["differences"][1]
    assert "same" == json.loads(run("diff", "--json", files[0], files[0])[1])["verdict"]


def test_rules(run: Run, files: tuple[Path, Path]) -> None:
    """What is ignored does not count, and is said."""
    status, out, _ = run(
        "diff", *files, "--ignore", "tools/call add $.result.content", "--ignore", "$.result.tools"
    )

    assert 0 == status
    assert out.endswith("no differences in 3 calls (2 ignored)\n")
    assert 1 == run("diff", *files, "--tolerance", "1%", "--unordered", "$.result.tools")[0]


@pytest.mark.parametrize("option", ["--ignore", "--unordered", "--tolerance"])
def test_what_is_no_rule_is_wrong_usage(run: Run, files: tuple[Path, Path], option: str) -> None:
    """It is refused in one line, before anything is read."""
    status, out, err = run("diff", files[0], "none.jsonl", option, "\x1b[2J")

    assert (2, "") == (status, out)
    assert [] == CONTROLS.findall(err)


def test_the_environment(
    run: Run, files: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every option has a name there."""
    monkeypatch.setenv("MCPMOCK_DIFF_FORMAT", "json")
    monkeypatch.setenv("MCPMOCK_DIFF_FAIL_ON", "never")
    status, out, _ = run("diff", *files)

    assert (0, "diff") == (status, json.loads(out)["type"])


def test_a_bad_cassette(run: Run, files: tuple[Path, Path], tmp_path: Path) -> None:
    """Broken is not different."""
    bad = tmp_path / "bad.jsonl"
    bad.write_bytes(b"no cassette\n")

    assert 3 == run("diff", files[0], bad)[0]
    assert 3 == run("diff", tmp_path / "none.jsonl", files[0])[0]


def test_notices(run: Run, files: tuple[Path, Path]) -> None:
    """What is odd about a cassette is said, but not with `-q`."""
    assert 2 == run("diff", *files)[2].count("incomplete")
    assert "" == run("diff", "-q", *files)[2]


def harmful(tmp_path: Path) -> list[Path]:
    """Two recordings that mean harm, and differ in all that can."""
    tools = [{"name": HOSTILE, "inputSchema": {"properties": {HOSTILE: {"type": "string"}}}}]
    other = [{"name": HOSTILE, "inputSchema": {"required": [HOSTILE + "##[error]x\ufffe"]}}]
    paths = []
    for name, listed, text in (("a", tools, HOSTILE), ("b", other, HOSTILE * 9 + "`|`\n::x")):
        path = tmp_path / f"{name}.jsonl"
        answer = {"content": [{"type": "text", "text": text}], HOSTILE + name: {HOSTILE: 1}}
        path.write_bytes(
            cassette_bytes(
                c(request(1, "tools/list")),
                s(response(1, {"tools": listed})),
                c(call(HOSTILE, HOSTILE)),
                s(response(HOSTILE, answer)),
                c(dump({"jsonrpc": "2.0", "method": HOSTILE + name, "params": {HOSTILE: text}})),
                s(text.encode()),
            )
        )
        paths.append(path)
    return paths


def test_hostile_text_has_80_columns(run: Run, tmp_path: Path) -> None:
    """However long what was recorded is; but for the names of the files."""
    paths = harmful(tmp_path)
    _, out, _ = run("diff", *paths)

    assert all(len(line) <= 80 for line in out.splitlines()[:-1])


def test_hostile_markdown_is_a_table_of_code(run: Run, tmp_path: Path) -> None:
    """Each row has its five cells, and what was recorded stands in code spans."""
    paths = harmful(tmp_path)
    _, out, _ = run("diff", *paths, "--format", "markdown")
    rows = out.splitlines()[6:]

    assert rows
    for row in rows:
        cells = re.fullmatch(r"\| (.*) \|", row)
        assert cells is not None
        assert 5 == len(cells[1].split("|"))
        outside = re.sub(r"`[^`]*`", "", row).replace("<br>", "").replace("->", "")
        assert not set(outside) & set("<>&$[]#@")
        assert "script" not in outside


def test_hostile_junit_is_xml(run: Run, tmp_path: Path) -> None:
    """A parser reads it, and finds nothing but text."""
    paths = harmful(tmp_path)
    _, out, _ = run("diff", *paths, "--format", "junit")
    tags = {element.tag for element in ElementTree.fromstring(out).iter()}

    assert {"testsuites", "testsuite", "testcase", "failure"} == tags


class Terminal:
    """Standard error that says it is one."""

    def __init__(self) -> None:
        self.text = ""

    def write(self, text: str) -> int:
        self.text += text
        return len(text)

    def flush(self) -> None:
        pass

    def isatty(self) -> bool:
        return True


def test_progress_is_shown_on_a_terminal(
    run: Run, files: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only where it takes a while, only there."""
    monkeypatch.setattr(face, "_PROGRESS_MIN_EVENTS", 1)
    assert "comparing" not in run("diff", *files)[2]
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    assert 1 == run("diff", *files)[0]
    assert "comparing" in terminal.text
    assert "comparing" not in run("diff", *files)[1]
