"""`mcpmock stats --coverage`: what it prints, adds up, writes and ends with."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run, said_of
from tests.support import call, cassette_bytes, request, response
from tests.support.sealed import DAMAGED

SCHEMA = {"properties": {"unit": {"enum": ["C", "F"]}, "on": {"type": "boolean"}}}
HELLO = {"serverInfo": {"name": "demo"}, "capabilities": {"logging": {}}}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def record(name: str, *events: Any, server: str = "demo", path: Path | None = None) -> Path:
    """A session with a server, which is greeted first."""
    hello = {**HELLO, "serverInfo": {"name": server}}
    greeting = [("c2s", request(0, "initialize")), ("s2c", response(0, hello))]
    path = path or Path(name)
    path.write_bytes(cassette_bytes(*greeting, *events))
    return path


def lists(*names: str) -> list[Any]:
    tools = [{"name": name, "inputSchema": SCHEMA} for name in names]
    return [("c2s", request(1, "tools/list")), ("s2c", response(1, {"tools": tools}))]


def calls(id_: int, tool: str, **arguments: Any) -> list[Any]:
    return [("c2s", call(id_, tool, **arguments)), ("s2c", response(id_, {"content": []}))]


def test_a_table_for_each_server(run: Run) -> None:
    """Kind, covered, all, percent and the first missing names; with `-v` all of them. The total is
    that of what is listed.
    """
    names = [f"t{n:02}" for n in range(60)]
    every = [one for n in range(14) for one in calls(n + 2, f"t{n:02}", unit="C")]
    file = record("a.jsonl", *lists(*names), *every)
    status, out, _ = run("stats", "--coverage", file)
    _, verbose, _ = run("stats", "--coverage", "-v", file)

    assert (
        0,
        [
            "demo",
            "                 covered    all     %",
            "  tools               14     60   23%  missing: t14, t15, t16, t17, t18 and 41 more",
        ],
        "total: 14 of 60 (23%)",
    ) == (status, out.splitlines()[:3], out.splitlines()[-1])
    assert "\n    t59\n" in verbose


def test_what_names_no_server_is_of_the_only_one(run: Run) -> None:
    """A recording that begins in the middle of a session, in any order; of two servers it is of
    neither, and what it lists itself stays apart.
    """
    record("lists.jsonl", *lists("a", "b"))
    Path("middle.jsonl").write_bytes(cassette_bytes(*calls(2, "a")))
    Path("middle.json").write_text(run("stats", "--coverage", "--json", "middle.jsonl")[1])
    record("takes.jsonl", *lists("a", "b"), ("take", None), *calls(2, "a"))
    record("other.jsonl", *lists("c"), server="other")
    Path("listed.jsonl").write_bytes(cassette_bytes(*lists("a"), *calls(2, "a")))

    for files, total in (
        (["lists.jsonl", "middle.jsonl"], "1 of 2 (50%)"),
        (["middle.jsonl", "lists.jsonl"], "1 of 2 (50%)"),
        (["middle.json", "lists.jsonl"], "1 of 2 (50%)"),
        (["takes.jsonl"], "1 of 2 (50%)"),
        (["lists.jsonl", "middle.jsonl", "other.jsonl"], "0 of 3 (0%)"),
        (["lists.jsonl", "listed.jsonl"], "1 of 3 (33%)"),
    ):
        out = run("stats", "--coverage", *files)[1]
        assert f"total: {total}" == out.splitlines()[-1], files


def test_files_add_up(run: Run) -> None:
    """In any order, with jobs, and as the output of `--json`: as if they were one."""
    record("lists.jsonl", *lists("a", "b"))
    record("calls.jsonl", *calls(2, "a", unit="C", on=True), *calls(3, "c"))
    record("both.jsonl", *lists("a", "b"), *calls(2, "a", unit="C", on=True), *calls(3, "c"))
    both = run("stats", "--coverage", "--json", "both.jsonl")
    Path("one.json").write_text(run("stats", "--coverage", "--json", "calls.jsonl")[1])
    Path("two.json").write_text(run("stats", "--coverage", "--json", "lists.jsonl")[1])
    Path("twice.json").write_text(Path("one.json").read_text() + Path("two.json").read_text())

    for files in (
        ["lists.jsonl", "calls.jsonl"],
        ["calls.jsonl", "lists.jsonl", "--jobs", 2],
        ["one.json", "lists.jsonl"],
        ["two.json", "one.json"],
        ["twice.json"],
    ):
        assert both[:2] == run("stats", "--coverage", "--json", *files)[:2]


def test_json(run: Run) -> None:
    """An object for each server and kind, and the total, which says whether the bounds are kept."""
    record("a.jsonl", *lists("a", "b"), *calls(2, "a", unit="C"), *calls(3, "c"))
    _, out, _ = run("stats", "--coverage", "--json", "--min", "60%", "a.jsonl")
    found = [json.loads(line) for line in out.splitlines()]

    kinds = ["tools", "prompts", "resources", "templates", "parameters", "arguments", "values"]
    assert [*kinds, "errors", "notifications", "total"] == [one["kind"] for one in found]
    assert {
        "type": "coverage",
        "server": "demo",
        "kind": "tools",
        "covered": 1,
        "all": 2,
        "items": {"a": 1, "b": 0},
        "other": {"c": 1},
    } == found[0]
    assert (1, 8, {"a.unit=C": 1}) == (
        found[6]["covered"],
        found[6]["all"],
        {name: times for name, times in found[6]["items"].items() if times},
    )
    assert {
        "type": "coverage",
        "server": None,
        "kind": "total",
        "covered": 1,
        "all": 2,
        "ok": False,
    } == found[-1]


@pytest.mark.parametrize(
    ("options", "status", "line"),
    [
        (["--min", "50%"], 0, "total: 1 of 2 (50%)"),
        (["--min", "50.1%"], 1, "total: 1 of 2 (50%) are covered, at least 50.1% are to be"),
        (["--min", "values=12%", "--min", "errors=1%"], 1,
         "errors: 0 of 2 (0%) are covered, at least 1% are to be"),
        (["--min", "prompts=0%"], 1, "prompts: nothing is listed, at least 0% are to be covered"),
    ],
)  # fmt: skip
def test_bounds(run: Run, options: list[str], status: int, line: str) -> None:
    """Below one the exit status is 1, and a line says so."""
    record("a.jsonl", *lists("a", "b"), *calls(2, "a", unit="C"))
    found, out, _ = run("stats", "--coverage", "a.jsonl", *options)

    assert (status, line) == (found, out.splitlines()[-1])


def test_nothing_listed(run: Run) -> None:
    """It says so; with a bound that is a failure."""
    record("a.jsonl", *calls(2, "a"))
    Path("empty.jsonl").write_bytes(b"")
    assert run("stats", "--coverage", "empty.jsonl")[1].startswith("nothing is listed: ")
    status, out, _ = run("stats", "--coverage", "a.jsonl")

    assert (0, True) == (status, "nothing is listed: " in out)
    assert 1 == run("stats", "--coverage", "--min", "0%", "a.jsonl")[0]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--min", "50%"], "--min goes with --coverage"),
        (["--html", "c.html"], "--html goes with --coverage"),
        (["--coverage", "--min", "tool=50%"], "did you mean tools?"),
        (["--coverage", "--min", "50"], "expected, for example, 80% or parameters=50%"),
        (["--coverag"], "--coverage"),
    ],
)
def test_wrong_usage(run: Run, options: list[str], words: str) -> None:
    """Unknown words end with 2, and the nearest is named."""
    record("a.jsonl")

    assert words in said_of(run("stats", "a.jsonl", *options))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"type":"coverage","server":"a","kind":"tool","covered":0,"all":0}', "no kind 'tool'"),
        ('{"type":"coverage","server":"a"}', "missing required field"),
        ('{"type":"coverage","server":"a","kind":"tools","covered":0,"all":0,"items":{"x":-1}}',
         ">= 0"),
        ('{"type":"stats"}', "Invalid value 'stats'"),
        ('{"type":', "Expected"),
    ],
)  # fmt: skip
def test_what_is_no_coverage(run: Run, text: str, words: str) -> None:
    """It is refused with its line; so are damage, other files and none."""
    Path("a.json").write_text(text + "\n")
    Path("bad.jsonl").write_bytes(DAMAGED)
    status, _, err = run("stats", "--coverage", "a.json")

    assert (3, True) == (status, err.startswith("mcpmock: a.json:1: is not the output of"))
    assert words in err
    for name in ("bad.jsonl", "none.jsonl"):
        assert 3 == run("stats", "--coverage", name)[0]


def test_a_page(run: Run) -> None:
    """One file, without scripts or anything from elsewhere; names are no markup."""
    hostile = "<script>alert(1)</script>\x1b[2J\u202e"
    record("a.jsonl", *lists(hostile, "b"), *calls(2, "b"), server='"><b>&')
    assert 1 == run("stats", "--coverage", "a.jsonl", "--html", "c.html", "--min", "99%")[0]
    page = Path("c.html").read_text("utf-8")

    assert "default-src &#x27;none&#x27;" in page or "default-src 'none'" in page
    assert not re.search(r"<script|<b>|\x1b|\u202e|src=|href=|url\(", page)
    assert "&lt;script&gt;alert(1)&lt;/script&gt;\\u001b[2J\\u202e" in page
    assert "<summary>tools: 1 of 2 (50%)" in page
    assert "total: 1 of 2 (50%) are covered, at least 99% are to be" in page
    status, _, err = run("stats", "--coverage", "a.jsonl", "--html", "a.jsonl")
    assert (3, True) == (status, "is a cassette" in err)


def test_names_act_on_no_terminal(run: Run) -> None:
    """They are recorded, so hostile."""
    record("a.jsonl", *lists("a\x1b[2J\n::error::x"), server="d\x1b]0;x\x07")
    _, out, _ = run("stats", "--coverage", "a.jsonl")

    assert "d\\u001b]0;x\\u0007\n" in out
    assert "missing: a\\u001b[2J\\u000a::error::x\n" in out
