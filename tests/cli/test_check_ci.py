"""`mcpmock check` in CI: what it allows, asserts and writes, and what it ends with."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.cli.conftest import Run, said_of
from tests.support import c2s, call, cancelled, request, response, s2c
from tests.support.sealed import DAMAGED, sealed

from .test_check import FAILS, KNOWN, WARNS, record

FINE: dict[str, Any] = {"content": []}
SARIF_LEVELS = {"error", "warning", "note"}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are named from the current folder, as in a job."""
    monkeypatch.chdir(tmp_path)


def objects(out: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.splitlines()]


@pytest.mark.parametrize(
    ("options", "status", "verdict"),
    [
        ([], 1, "1 error, 1 warning, 3 notices"),
        (["--allow", "id-null"], 0, "ok, 1 warning, 3 notices, 1 known"),
        (["--allow", "id-null tools/call"], 1, "1 error, 1 warning, 3 notices"),
        (["--allow", "*"], 0, "ok, 5 known"),
        (["--fail-on", "error"], 1, "1 error, 1 warning, 3 notices"),
        (["--fail-on", "warning", "--allow", "id-null"], 1, "1 warning, 3 notices, 1 known"),
        (
            ["--fail-on", "warning", "--allow", "*-after-cancel", "--allow", "id-*"],
            0,
            "ok, 5 known",
        ),
        (["--fail-on", "never"], 0, "1 error, 1 warning, 3 notices"),
        (["--fail-on", "never", "--forbid-tool", "di*"], 1, "3 notices, 1 failed assertion"),
        (["--only", "integrity", "--fail-on", "warning"], 0, "ok"),
        (["--only", "integrity", "--forbid-tool", "dig"], 1, "1 failed assertion"),
    ],
)
def test_statuses(run: Run, file: Path, options: list[str], status: int, verdict: str) -> None:
    """What is allowed does not count, assertions always do."""
    record(file, *FAILS, *WARNS, *KNOWN)
    found, out, _ = run("check", file, *options)

    assert (status, True) == (found, out.splitlines()[-1].endswith(verdict)), out


def test_damage_and_edits_cannot_be_allowed(run: Run, file: Path) -> None:
    """No line is one about the file, and damage ends with 3 whatever fails."""
    file.write_bytes(sealed().replace(b"ping", b"pong"))
    assert 1 == run("check", file, "--allow", "*")[0]

    file.write_bytes(DAMAGED)
    assert 3 == run("check", file, "--allow", "*", "--fail-on", "never")[0]


def test_what_is_allowed_is_shown_with_v_and_in_json(run: Run, file: Path) -> None:
    """With the line that allows it; lines that nothing matched are said, and change nothing."""
    record(file, *FAILS)
    options = ["--allow", "id-*", "--allow", "id-null ping", "--allow", "json-rpc"]
    _, plain, err = run("check", file, *options)
    _, verbose, _ = run("check", "-v", file, *options)
    _, out, _ = run("check", "--json", file, *options)

    assert f"{file}: 1 take, 4 events: ok, 1 known\n" == plain
    assert "mcpmock: nothing was allowed by 'json-rpc'\n" == err
    assert f"{file}:5: known: ping with a null id [id-null]\n    allowed by id-*\n" in verbose
    assert "id-*" == objects(out)[0]["allowed"]
    assert "" == run("check", "-q", file, *options)[2]


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (["--allow", "id-nul"], "no rule 'id-nul'; did you mean id-null?"),
        (["--allow", "id-null a b c"], "is not of the form RULE [METHOD [TOOL]] [$PATH]"),
        (["--max-duration", "2 parsecs"], "expected a duration"),
        (["--max-duration", "method=x,2s"], "expected, for example, 200ms or tool=weather,200ms"),
        (["--max-duration", "tool=,2s"], "expected, for example"),
        (["--fail-on", "eror"], "'eror' is not one of 'error', 'warning', 'never'"),
        (["--format", "gitlab"], "'gitlab' is not one of 'text', 'json', 'github'"),
        (["--expext-tool", "x"], "--expect-tool"),
    ],
)
def test_wrong_usage(run: Run, file: Path, options: list[str], line: str) -> None:
    """Unknown words end with 2, and the nearest is named."""
    assert line in said_of(run("check", file, *options))


def test_a_baseline(run: Run, file: Path) -> None:
    """What is written allows all errors and warnings, of this recording and of another one of the
    session; written again it is the same.
    """
    record(file, *FAILS, *WARNS, *KNOWN, c2s(call(9, "it's #1 $x\x1b[2J")))
    again, name = Path("again.jsonl"), Path("known.txt")
    record(again, *FAILS, c2s(request(77, "ping")), *WARNS, *FAILS)
    assert 1 == run("check", file, "--write-baseline", name)[0]
    written = name.read_bytes()
    run("check", file, "--baseline", name, "--write-baseline", "two", "--jobs", 4)
    assert written == Path("two").read_bytes()
    assert b"answer-after-cancel tools/call dig\nid-null ping\n" == written
    assert (0, "ok, 3 notices, 2 known\n") == (
        run("check", file, "--baseline", name)[0],
        run("check", file, "--baseline", name)[1].rpartition(": ")[2],
    )
    assert 0 == run("check", again, "--fail-on", "warning", "--baseline", name)[0]


def test_a_bad_baseline(run: Run, file: Path) -> None:
    """Each mistake has its line: 2. A file that is not there: 3."""
    Path("known").write_text("id-null\n\n# x\nid-nul ping\n")
    assert (2, "", "mcpmock: known:4: no rule 'id-nul'; did you mean id-null?\n") == run(
        "check", file, "--baseline", "known"
    )
    assert 3 == run("check", file, "--baseline", "none")[0]
    assert (3, "", "mcpmock: .: is a folder\n") == run("check", file, "--baseline", ".")


def test_assertions_hold_over_all_files(run: Run, file: Path) -> None:
    """A failure is a line at its event, what no file has a line at the end."""
    other = Path("other.jsonl")
    record(file, c2s(call(1, "dig")), s2c(response(1, {**FINE, "isError": True})))
    record(other, c2s(call(1, "dig")), s2c(response(1, FINE)), c2s(call(2, "drop")))
    assert 1 == run("check", "-q", file, "--expect-tool", "dig")[0]
    assert (0, "", "") == run("check", "-q", file, other, "--expect-tool", "dig")

    options = ["--expect-tool", "digg", "--forbid-tool", "dr*", "--fail-on", "never"]
    status, out, _ = run("check", file, other, *options)
    assert (
        1,
        [
            f"{file}: 1 take, 5 events: ok",
            "other.jsonl:7: error: tools/call drop #2 was called [--forbid-tool dr*]",
            "other.jsonl: 1 take, 6 events: 1 failed assertion",
            "error: no call of digg had a result; did you mean dig? [--expect-tool digg]",
        ],
    ) == (status, out.splitlines())


def test_assertions_in_json(run: Run, file: Path) -> None:
    """An object for each failure, and one for each that holds."""
    record(file, c2s(call(1, "dig")), s2c(response(1, FINE)), c2s(call(2, "drop")))
    options = ["--expect-tool=di*", "--expect-tool=x", "--forbid-tool=dr*", "--max-duration=1h"]
    status, out, _ = run("check", "--json", file, *options)
    found = [one for one in objects(out) if one["type"] == "assertion"]
    members = ("option", "value", "ok", "file", "line", "event", "text")

    assert 1 == status
    assert [
        ("expect-tool", "di*", True, str(file), 5, 4, "tools/call dig #1 had a result"),
        ("forbid-tool", "dr*", False, str(file), 7, 6, "tools/call drop #2 was called"),
        ("expect-tool", "x", False, None, None, None, "no call of x had a result"),
        ("max-duration", "1h", True, None, None, None, ""),
    ] == [tuple(one[name] for name in members) for one in found]


def test_of_many_failures_only_some_are_printed(run: Run, file: Path) -> None:
    """Ten of an assertion, as of a rule; with `-v` all."""
    record(file, *(c2s(call(n, "dig")) for n in range(1, 13)))
    out = run("check", file, "--forbid-tool", "dig")[1].splitlines()
    verbose = run("check", "-v", file, "--forbid-tool", "dig")[1].splitlines()

    assert (11, 13) == (len(out), len([line for line in verbose if "not checked:" not in line]))
    assert out[9].endswith("#10 was called, and 2 more like it [--forbid-tool dig]")
    assert out[10].endswith(": 12 failed assertions")


def test_times_that_a_file_lacks_are_said(run: Run, file: Path) -> None:
    """`fmt` drops them."""
    record(file, c2s(call(1, "dig")))
    run("fmt", file)

    said = f"mcpmock: {file}: has no times: --max-duration was not checked\n"
    assert (0, said) == run("check", file, "--max-duration", "1us")[::2]


@pytest.mark.parametrize(
    ("limit", "said"),
    [
        ("tool=digg,1h", "no call of digg; did you mean dig?"),
        ("tool=x*,1h", "no call of x*"),
        ("tool=d?g,1h", ""),
        ("1h", ""),
    ],
)
def test_a_limit_for_calls_that_no_file_has_is_said(
    run: Run, file: Path, limit: str, said: str
) -> None:
    """It would pass for ever; one of several files is enough."""
    record(file, c2s(call(1, "dig")))
    record(file.with_name("other.jsonl"), c2s(call(1, "drop")))
    line = f"mcpmock: --max-duration {limit} applied to nothing: {said}\n" if said else ""

    assert (0, line) == run("check", ".", "--max-duration", limit)[::2]
    assert (0, "") == run("check", "-q", ".", "--max-duration", limit)[::2]


def test_junit(run: Run, file: Path) -> None:
    """A suite for each file: a failure for each rule that fails it, an error for damage, one case
    that passes for a good one; and a suite of assertions.
    """
    bad, good, none = Path("bad.jsonl"), Path("good.jsonl"), Path("none.jsonl")
    record(file, *FAILS, *FAILS, *WARNS)
    bad.write_bytes(DAMAGED)
    good.write_bytes(sealed())
    options = ["--junit", "j.xml", "--forbid-tool", "dig", "--expect-tool", "dig"]
    assert 3 == run("check", file, bad, good, none, *options)[0]
    top = ElementTree.parse("j.xml").getroot()
    cases = {
        suite.get("name"): [
            (case.get("name"), [(one.tag, one.get("message"), one.text) for one in case])
            for case in suite
        ]
        for suite in top
    }

    sentence = "Unlike base JSON-RPC, the ID MUST NOT be null."
    lines = "\n".join(f"{file}:{line}: ping with a null id" for line in (5, 6))
    assert [("id-null", [("failure", sentence, lines)])] == cases[str(file)]
    assert ["damage", "edit"] == [name for name, _ in cases["bad.jsonl"]]
    assert [("check", [])] == cases["good.jsonl"]
    assert "error" == cases["none.jsonl"][0][1][0][0]
    assert ["--expect-tool dig", "--forbid-tool dig"] == [name for name, _ in cases["assertions"]]
    assert ("7", "4", "2") == tuple(top.get(name) for name in ("tests", "failures", "errors"))


def test_a_sarif_log(run: Run, file: Path) -> None:
    """It has what the schema of SARIF 2.1.0 requires, and what code hosts read."""
    record(file, *FAILS, *FAILS, *WARNS, *KNOWN)
    bad = Path("bad.jsonl")
    bad.write_bytes(DAMAGED)
    run("check", file, bad, "--sarif", "s.json", "--allow", "answer-*", "--expect-tool", "x")
    results = sarif_results("s.json")

    named = [(one["ruleId"], one["level"]) for one in results]
    assert [
        ("id-null", "error"),
        ("id-null", "error"),
        ("answer-after-cancel", "warning"),
    ] == named[:3]
    assert {"note"} == {one["level"] for one in results if one["ruleId"] == "progress-after-cancel"}
    assert {"damage", "edit", "expect-tool"} <= {rule for rule, _ in named}
    assert ["suppressions" in one for one in results[:3]] == [False, False, True]
    text = "ping with a null id\n2025-11-25 basic/index: "
    assert results[0]["message"]["text"].startswith(text)
    assert place_of(results[0]) == (file.name, 5)


def sarif_results(path: str) -> list[dict[str, Any]]:
    """The results of a log, once its form is checked."""
    log = json.loads(Path(path).read_bytes())
    (one,) = log["runs"]
    rules = one["tool"]["driver"]["rules"]
    assert ("2.1.0", "mcpmock") == (log["version"], one["tool"]["driver"]["name"])
    assert {"$schema", "version", "runs"} == set(log)
    assert len({rule["id"] for rule in rules}) == len(rules)
    assert all({"id", "shortDescription"} == set(rule) for rule in rules)
    for result in one["results"]:
        assert {"ruleId", "ruleIndex", "level", "message", "partialFingerprints"} <= set(result)
        assert result["ruleId"] == rules[result["ruleIndex"]]["id"]
        assert result["level"] in SARIF_LEVELS
        assert result["message"]["text"]
        assert all(isinstance(print_, str) for print_ in result["partialFingerprints"].values())
        for suppressed in result.get("suppressions", ()):
            assert "external" == suppressed["kind"]
        for location in result.get("locations", ()):
            physical = location["physicalLocation"]
            assert re.fullmatch(r"[A-Za-z0-9._~/%:-]+", physical["artifactLocation"]["uri"])
            assert physical.get("region", {"startLine": 1})["startLine"] >= 1
    return list(one["results"])


def place_of(result: dict[str, Any]) -> tuple[str, int]:
    physical = result["locations"][0]["physicalLocation"]
    return physical["artifactLocation"]["uri"], physical["region"]["startLine"]


def test_junit_fails_what_fails(run: Run, file: Path) -> None:
    """With `--fail-on warning` also a warning; what is allowed is none."""
    record(file, *FAILS, *WARNS)
    names = []
    for options in (["--fail-on", "warning"], ["--fail-on", "never"], ["--allow", "*"]):
        run("check", file, "--junit", "j.xml", *options)
        names.append([case.get("name") for case in ElementTree.parse("j.xml").iter("testcase")])

    assert [["id-null", "answer-after-cancel"], ["id-null"], ["check"]] == names


def test_lines_that_match_nothing_are_not_all_said(run: Run, file: Path) -> None:
    """Twenty of a stale baseline."""
    Path("known.txt").write_text("".join(f"id-null a{n}\n" for n in range(30)))
    said = run("check", file, "--baseline", "known.txt")[2].splitlines()

    assert (21, "mcpmock: and by 10 other lines") == (len(said), said[-1])


def test_a_project_file_names_the_baseline(run: Run, tmp_path: Path) -> None:
    """Beside it, wherever the command runs; but no file to write."""
    folder = tmp_path / "project"
    folder.mkdir()
    record(folder / "a.jsonl", *FAILS)
    (folder / "known.txt").write_text("id-null\n")
    (folder / "mcpmock.toml").write_text('[check]\nbaseline = "known.txt"\n')
    assert 0 == run("check", "project/a.jsonl")[0]

    (folder / "mcpmock.toml").write_text('[check]\nsarif = "s.json"\n')
    assert 3 == run("check", "project/a.jsonl")[0]


@pytest.mark.parametrize(
    ("name", "uri"),
    [
        ("a.jsonl", "a.jsonl"),
        ("./runs/../a.jsonl", "a.jsonl"),
        ("a b%#?é.jsonl", "a%20b%25%23%3F%C3%A9.jsonl"),
        ("c:d.jsonl", "c%3Ad.jsonl"),
        ("-x.jsonl", "-x.jsonl"),
        ("b\udcff.jsonl", "b%FF.jsonl"),
        ("sub dir/a.jsonl", "sub%20dir/a.jsonl"),
    ],
)
def test_uris_are_relative_and_encoded(run: Run, name: str, uri: str) -> None:
    """As the code host has the files."""
    for folder in ("runs", "sub dir"):
        Path(folder).mkdir()
    record(Path(name), *FAILS)
    run("check", "--sarif", "s.json", "--", name)

    assert (uri, 5) == place_of(sarif_results("s.json")[0])


def test_a_file_outside_the_folder(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has its whole path."""
    record(tmp_path / "a.jsonl", *FAILS)
    (tmp_path / "b").mkdir()
    monkeypatch.chdir(tmp_path / "b")
    run("check", "../a.jsonl", "--sarif", "s.json")

    assert (
        f"file://{tmp_path}/a.jsonl"
        == sarif_results("s.json")[0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    )


def test_fingerprints_survive_another_recording(run: Run, file: Path) -> None:
    """Of the same findings, at other lines and with other ids; each once in a file."""
    prints = []
    for more in ([], [c2s(request(77, "ping")), s2c(response(77))]):
        record(file, *more, *FAILS, *FAILS, *KNOWN)
        run("check", file, "--sarif", "s.json")
        results = sarif_results("s.json")
        prints.append([one["partialFingerprints"]["primaryLocationLineHash"] for one in results])

    assert prints[0] == prints[1]
    assert len({*prints[0]}) == len(prints[0])


def test_annotations_of_github(run: Run) -> None:
    """A command each, escaped as GitHub asks, and the verdict."""
    file = Path("a,b:c%.jsonl")
    record(file, *FAILS, *WARNS, c2s(call(2, "x::y\n%0A")), c2s(cancelled(2)))
    status, out, _ = run("check", file, "--format", "github", "--forbid-tool", "x*")

    place = "file=a%2Cb%3Ac%25.jsonl"
    sentence = "Unlike base JSON-RPC, the ID MUST NOT be null."
    assert 1 == status
    assert f"::error {place},line=5,title=id-null::ping with a null id%0A{sentence}" in out
    assert f"::warning {place},line=8,title=answer-after-cancel::" in out
    assert (
        f"::error {place},line=9,title=--forbid-tool x*::tools/call x::y %250A #2 was called" in out
    )
    assert 4 == len(out.splitlines())


def test_a_result_that_its_schema_refuses_fails_a_job(run: Run) -> None:
    """With the one line of the manual."""
    Path("cassettes").mkdir()
    number = {"type": "object", "properties": {"celsius": {"type": "number"}}}
    tool = {"name": "weather", "inputSchema": {"type": "object"}, "outputSchema": number}
    for name, celsius in (("good", 4), ("bad", "cold")):
        result = {**FINE, "structuredContent": {"celsius": celsius}}
        listed = [c2s(request(1, "tools/list")), s2c(response(1, {"tools": [tool]}))]
        called = [c2s(call(2, "weather")), s2c(response(2, result))]
        record(Path(f"cassettes/{name}.jsonl"), *listed, *called)
    status, out, _ = run("check", "--format", "github", "cassettes")
    errors = [line for line in out.splitlines() if line.startswith("::error ")]

    assert (1, 1) == (status, len(errors))
    assert errors[0].startswith("::error file=cassettes/bad.jsonl,line=8,title=output-schema::")
    assert "$.result.structuredContent.celsius" in errors[0]
    assert 0 == run("check", "cassettes/good.jsonl")[0]


def test_all_of_it_is_written_whatever_the_status(run: Run, file: Path) -> None:
    """Each file whole or not at all; a device is written to, a recording is never replaced."""
    record(file, *FAILS)
    before = file.read_bytes()
    for name in ("j", "s", "b"):
        Path(name).write_text("old")
    options = ["--junit", "j", "--sarif", "s", "--write-baseline", "b", "-q"]
    assert 1 == run("check", file, *options)[0]
    assert all(Path(name).read_text() != "old" for name in ("j", "s", "b"))
    assert [] == list(Path().glob(".*.tmp"))

    assert 1 == run("check", file, "--junit", "/dev/null")[0]
    assert Path("/dev/null").is_char_device()
    for option in ("--junit", "--sarif", "--write-baseline"):
        status, _, err = run("check", file, option, file)
        assert (3, f"mcpmock: {file}: is a cassette; name another file for the report\n") == (
            status,
            err,
        )
        assert 3 == run("check", file, option, "no/such/folder")[0]
        assert 3 == run("check", file, option, ".")[0]
    assert before == file.read_bytes()


@pytest.mark.parametrize("how", [["--jobs", 4, "runs"], ["runs/*.jsonl"], ["runs"]], ids=str)
def test_jobs_and_folders_give_the_same(run: Run, how: Sequence[object]) -> None:
    """What is printed and all that is written, over a hundred files."""
    Path("runs").mkdir()
    for number in range(100):
        record(Path(f"runs/{number:03}.jsonl"), *FAILS[: number % 2], c2s(call(1, f"t{number}")))
    written = ["--junit", "j", "--sarif", "s", "--write-baseline", "b"]
    options = [*written, "--forbid-tool", "t9?", "--allow", "id-null $.x", "--max-duration", "1us"]
    plain = run("check", *(f"runs/{number:03}.jsonl" for number in range(100)), *options)
    files = [Path(name).read_bytes() for name in ("j", "s", "b")]

    assert plain == run("check", *how, *options)
    assert files == [Path(name).read_bytes() for name in ("j", "s", "b")]
