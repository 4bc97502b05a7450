"""`mcpmock diff`: options, exit statuses, and nothing hostile gets through."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from mcpmock.cli import diff as face
from mcpmock.cli import diff_output
from tests.cli.conftest import Run, Terminal
from tests.support import OPENING, c, call, cassette_bytes, request, response, s

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


def test_a_wide_terminal_shows_latencies(
    run: Run, files: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the calls that both recordings have, one below the other on the same scale."""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("LINES", "50")
    slower = files[1].read_bytes().replace(b'"n":7,"t":', b'"n":7,"t":9')
    files[1].write_bytes(slower)
    lines = [line.rstrip() for line in run("diff", "-q", *files)[1].splitlines()]

    assert "call                         p50       p99  1.00 s..1:40 min" == lines[0]
    assert "-> tools/call add  old    1.00 s    1.00 s  \u2588" == lines[3]
    assert "                   new  1:31 min  1:31 min        \u2588" == lines[4]


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


def test_a_rule_that_applied_to_nothing(run: Run, files: tuple[Path, Path]) -> None:
    """It is said where something differs, and with `-v`; the report is as it was."""
    old, new = files
    rule = ("--ignore", "tools/cal $.result")
    said = "the rule 'tools/cal $.result' applied to nothing: no message is 'tools/cal'; did you"
    notices = run("diff", old, new)[2]

    assert (1, run("diff", old, new)[1]) == run("diff", old, new, *rule)[:2]
    assert f"{notices}mcpmock: {said} mean tools/call?\n" == run("diff", old, new, *rule)[2]
    for options, told in (((), False), (("-v",), True), (("-q", "-v"), False)):
        assert told is (said in run("diff", *options, old, old, *rule)[2])


def test_notices(run: Run, files: tuple[Path, Path]) -> None:
    """What is odd about a cassette is said, but not with `-q`."""
    assert 2 == run("diff", *files)[2].count("incomplete")
    assert "" == run("diff", "-q", *files)[2]


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


@pytest.fixture
def folders(files: tuple[Path, Path]) -> Path:
    """Two folders with a file that differs, one that does not, and one each that the other lacks;
    in one of them a file is packed, in the other one has a sibling.
    """
    folder = files[0].parent
    for name, others in (("old", "ab"), ("new", "ac")):
        (folder / name / "deep").mkdir(parents=True)
        (folder / name / "deep" / "x.jsonl").write_bytes((folder / f"{name}.jsonl").read_bytes())
        for other in others:
            (folder / name / f"{other}.jsonl").write_bytes(files[0].read_bytes())
    packed = folder / "new" / "a.jsonl"
    (folder / "new" / "a.jsonl.gz").write_bytes(gzip.compress(packed.read_bytes()))
    packed.unlink()
    return folder


def test_folders(run: Run, folders: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """File by file, also below; a missing one is a difference; packed or not is none."""
    monkeypatch.chdir(folders)
    status, out, err = run("diff", "old", "new")

    assert 1 == status
    assert 4 == err.count("incomplete: ")
    assert [
        "risky recording-missing: a recording is gone",
        "  in b.jsonl",
        "  at $",
        "",
        "old/b.jsonl -> new/b.jsonl: 1 risky",
        "",
        "compatible recording-added: a recording is new",
        "  in c.jsonl",
        "  at $",
        "",
        "old/c.jsonl -> new/c.jsonl: 1 compatible",
        "",
        "risky result-text-changed: a text in a result",
    ] == out.splitlines()[:13]
    assert out.endswith(
        "old/deep/x.jsonl -> new/deep/x.jsonl: 1 risky, 1 compatible\n\n"
        "old -> new: 2 risky, 2 compatible, in 3 of 4 files\n"
    )
    assert (0, "old -> old: no differences in 3 files\n") == run("diff", "old", "old")[:2]
    assert (0, "", "") == run("diff", "-q", "old", "old")


def test_folders_in_json_and_junit(run: Run, folders: Path) -> None:
    """An object for each pair and one for all; a case for each pair."""
    _, out, _ = run("diff", "--json", folders / "old", folders / "new")
    *pairs, whole = [json.loads(line) for line in out.splitlines()]
    _, report, _ = run(
        "diff", "--format", "junit", "--fail-on", "risky", folders / "old", folders / "new"
    )
    suites = ElementTree.fromstring(report)

    assert ["same", "risky", "compatible", "risky"] == [one["verdict"] for one in pairs]
    assert ("diff-folders", "risky", 4, 3) == tuple(
        whole[name] for name in ("type", "verdict", "files", "differing")
    )
    assert {"breaking": 0, "risky": 2, "compatible": 2} == whole["counts"]
    assert ("4", "2") == (suites.get("tests"), suites.get("failures"))
    assert ["a.jsonl", "b.jsonl", "c.jsonl", "deep/x.jsonl"] == [
        case.get("name") for case in suites.iter("testcase")
    ]


def test_folders_in_markdown(run: Run, folders: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A section for each pair that differs, as many as a comment may have; and a summary."""
    _, out, _ = run("diff", "--format", "markdown", folders / "old", folders / "new")
    assert 3 == out.count("### mcpmock diff")
    assert "in 3 of 4 files" in out.splitlines()[-1]

    monkeypatch.setattr(diff_output, "MAX_MARKDOWN_ROWS", 1)
    _, out, _ = run("diff", "--format", "markdown", folders / "old", folders / "new")
    assert 1 == out.count("### mcpmock diff")


def test_folders_with_a_file_that_cannot_be_read(run: Run, folders: Path) -> None:
    """The others are compared, and the status says so."""
    (folders / "old" / "a.jsonl").write_text("oops")
    status, out, err = run("diff", folders / "old", folders / "new", "--fail-on", "never")

    assert 3 == status
    assert f"{folders}/old/a.jsonl: is not a cassette" in err
    assert "in 3 of 3 files" in out


@pytest.fixture
def slower(tmp_path: Path) -> tuple[Path, Path]:
    """The same answer, after 10 ms and after a second."""
    paths = []
    for name, time in (("fast", 0.01), ("slow", 1.0)):
        path = tmp_path / f"{name}.jsonl"
        path.write_bytes(cassette_bytes((0.0, "c2s", call(1, "find")), (time, "s2c", response(1))))
        paths.append(path)
    return paths[0], paths[1]


@pytest.mark.parametrize(
    ("fail_on", "status"),
    [("any", 0), ("slower:5x", 1), ("slower:1.5x", 1), ("slower:200x", 0), ("never,slower:5x", 1),
     ("breaking,slower:5x", 1), ("never,slower:200x", 0), ("slower", 2), ("slower:x", 2),
     ("slower:0x", 2), ("slower:5", 2), ("worse,slower:5x", 2)],
)  # fmt: skip
def test_a_slower_call_fails_where_it_was_asked_for(
    run: Run, slower: tuple[Path, Path], fail_on: str, status: int
) -> None:
    """In every format, for files and for folders."""
    old, new = map(str, slower)
    found, out, err = run("diff", "-q", "--fail-on", fail_on, old, new)

    assert status == found
    assert (status == 1) is ("risky call-slower" in out)
    assert (status == 2) is ("slower:5x" in err)


def test_a_slower_call_in_each_format(run: Run, slower: tuple[Path, Path], tmp_path: Path) -> None:
    """It is a row of the table, a failed case, an entry; of folders too."""
    old, new = map(str, slower)
    for form in ("markdown", "json", "junit"):
        status, out, _ = run("diff", "--fail-on", "slower:5x", "--format", form, old, new)
        assert (1, True) == (status, "call-slower" in out)
    for folder, path in (("a", slower[0]), ("b", slower[1])):
        (tmp_path / folder).mkdir()
        path.rename(tmp_path / folder / "x.jsonl")

    status, out, _ = run(
        "diff", "-q", "--fail-on", "never,slower:5x", str(tmp_path / "a"), str(tmp_path / "b")
    )
    assert (1, True) == (status, "call-slower" in out)


def test_the_order_of_a_result(run: Run, tmp_path: Path) -> None:
    """It counts, the rule that allows it is printed, and is the same as a kind of `--like`."""
    for name, hits in (("old", [1, 2, 3]), ("new", [3, 1, 2])):
        answer = response(1, {"structuredContent": {"hits": hits}})
        (tmp_path / name).write_bytes(cassette_bytes(*OPENING, c(call(1, "find")), s(answer)))
    files = str(tmp_path / "old"), str(tmp_path / "new")
    rule = "tools/call find $.result.structuredContent.hits"
    status, out, _ = run("diff", "-q", *files)

    assert 1 == status
    assert "risky result-reordered" in out
    assert f"allow with --unordered '{rule}'" in out
    assert 0 == run("diff", "-q", "--unordered", rule, *files)[0]
    assert 0 == run("diff", "-q", "--like", f"{rule}=unordered", *files)[0]
