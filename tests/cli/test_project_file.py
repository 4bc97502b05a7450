"""Options that a project file sets: `mcpmock.toml`, or `[tool.mcpmock]` in `pyproject.toml`."""

from __future__ import annotations

import io
import re
import sys
from importlib.resources import files
from pathlib import Path

import click
import pytest

from mcpmock.cli.commands import COMMANDS, cli
from mcpmock.cli.option_table import TableCommand
from mcpmock.playback.player import PlayerOptions
from mcpmock.sessions import run as run_module
from mcpmock.sessions.run import Setup
from tests.cli.conftest import Run
from tests.support import OPENING, cassette_bytes

MISTAKES = """
[replay]
timing = 3
session-timeout = -5
ordr = "any"
record = "x.jsonl"
repeats = "often"
workers = 0
allow-host = ["evil.example"]
quiet = "yes"
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository with a cassette in a folder."""
    (tmp_path / "project/.git").mkdir(parents=True)
    (tmp_path / "project/cassettes").mkdir()
    (tmp_path / "project/cassettes/a.jsonl").write_bytes(cassette_bytes(*OPENING))
    return tmp_path / "project"


@pytest.fixture
def setups(monkeypatch: pytest.MonkeyPatch) -> list[Setup]:
    """What the commands would run."""
    found: list[Setup] = []

    async def run_sessions(setup: Setup) -> int:
        found.append(setup)
        return 0

    monkeypatch.setattr(run_module, "run_sessions", run_sessions)
    return found


def playing(setups: list[Setup]) -> PlayerOptions:
    replay = setups[-1].replay
    assert replay is not None
    return replay.options


def test_precedence(
    run: Run, project: Path, setups: list[Setup], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command line, the environment, the project file, the default; `-v` says which it was."""
    monkeypatch.setenv("MCPMOCK_REPLAY_SESSIONS", "once")
    text = '[replay]\norder = "any"\nsessions = "reuse"\ntiming = "recorded"\n'
    (project / "mcpmock.toml").write_text(text, "utf-8")
    status, _, err = run("replay", project / "cassettes/a.jsonl", "--timing", "cap:5", "-v")
    options = playing(setups)

    assert ("any", "once", "cap", "auto") == (
        options.order, options.sessions, options.pace.timing.kind, options.repeats,
    )  # fmt: skip
    assert f"mcpmock: --order is from {project}/mcpmock.toml\n" in err
    assert "mcpmock: --sessions is from MCPMOCK_REPLAY_SESSIONS\n" in err
    assert (0, 2) == (status, err.count(" is from "))


def test_pyproject(run: Run, project: Path, setups: list[Setup]) -> None:
    """A table for mcpmock is read; a file without one is passed by."""
    (project / "pyproject.toml").write_text('[tool.mcpmock.replay]\norder = "any"\n', "utf-8")
    (project / "cassettes/pyproject.toml").write_text("[tool.other]\n", "utf-8")
    run("replay", project / "cassettes/a.jsonl")

    assert "any" == playing(setups).order


@pytest.mark.parametrize(
    "text",
    [
        '[ tool . mcpmock . replay ]\norder = "any"\n',
        '[tool."mcpmock"]\nreplay.order = "any"\n',
        '[tool]\nmcpmock.replay.order = "any"\n',
        'tool = { mcpmock = { replay = { order = "any" } } }\n',
        'tool.mcpmock.replay.order = "any"\r\n',
        '[tool.\'mcpmock\'."replay"]\norder = "any"\n',
        '[tool.a]\nb = 1\n[tool.mcpmock]\nreplay = {order = "any"}\n',
    ],
)
def test_any_spelling_of_the_table(run: Run, project: Path, setups: list[Setup], text: str) -> None:
    """TOML has several for one table."""
    (project / "pyproject.toml").write_text(text, "utf-8")
    run("replay", project / "cassettes/a.jsonl")

    assert "any" == playing(setups).order


@pytest.mark.parametrize(
    "named",
    [
        '"mcpmock"',
        '"mcpmock>=0.1"',
        '"mcpmock==0.1",',
        '"pytest", "mcpmock[oauth]~=0.1"',
        "# mcpmock",
    ],
)
def test_a_requirement_is_no_table(
    run: Run, project: Path, setups: list[Setup], named: str
) -> None:
    """A file that only requires mcpmock is not parsed: what else is in it is no matter of ours."""
    text = f"[project]\ndependencies = [\n  {named}\n]\nno TOML"
    (project / "pyproject.toml").write_text(text, "utf-8")
    run("replay", project / "cassettes/a.jsonl")

    assert "causal" == playing(setups).order


def test_where_it_is_looked_for(
    run: Run, project: Path, setups: list[Setup], monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the cassette up to the repository: neither above it nor in the current folder."""
    elsewhere = project.parent / "elsewhere"
    elsewhere.mkdir()
    for folder in (project.parent, elsewhere):
        (folder / "mcpmock.toml").write_text('[replay]\norder = "any"\n', "utf-8")
    monkeypatch.chdir(elsewhere)
    run("replay", project / "cassettes/a.jsonl")

    assert "causal" == playing(setups).order


def test_a_path_is_meant_from_the_file(run: Run, project: Path, setups: list[Setup]) -> None:
    """The plan of a project is found from any folder."""
    (project / "mcpmock.toml").write_text('[replay]\nfaults = "plan.toml"\n', "utf-8")
    (project / "plan.toml").write_text('[[fault]]\nkind = "delay"\ndelay = "1s"\n', "utf-8")
    run("replay", project / "cassettes/a.jsonl")
    faults = setups[-1].faults

    assert faults is not None
    assert 1 == len(faults.armed)


@pytest.mark.parametrize("name", ["project", "a [b]"])
def test_a_pattern_of_paths_is_meant_from_the_file(
    run: Run, project: Path, setups: list[Setup], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Whatever the name of its folder is, and from any folder."""
    folder = project.rename(project.parent / name)
    (folder / "mcpmock.toml").write_text('[proxy]\nrestart-on = ["*.py", "/no/*"]\n', "utf-8")
    (folder / "server.py").write_text("", "utf-8")
    monkeypatch.chdir(project.parent)
    arguments = ("--cassette", folder / "cassettes/b.jsonl", "--mode", "once", "--", "server")
    status, _, err = run("proxy", *arguments)

    assert (3, []) == (status, setups)
    assert err.endswith("mcpmock.toml: proxy.restart-on: no file matches /no/*\n")


@pytest.mark.parametrize("option", ["faults = 3", "fault = [3]", "ignore = [{}]", "order = 1"])
def test_what_is_no_text(run: Run, project: Path, option: str) -> None:
    """Numbers and tables, alone or in a list."""
    (project / "mcpmock.toml").write_text(f"[replay]\n{option}\n", "utf-8")
    status, _, err = run("replay", project / "cassettes/a.jsonl")

    assert (3, True) == (status, err.endswith(f": replay.{option.split()[0]}: expected a text\n"))


def test_all_mistakes_are_said(run: Run, project: Path, setups: list[Setup]) -> None:
    """Each with its place. What only the user may set is no option here."""
    (project / "mcpmock.toml").write_text(MISTAKES, "utf-8")
    status, out, err = run("replay", project / "cassettes/a.jsonl")
    file = f"{project}/mcpmock.toml: replay."

    assert (3, "", []) == (status, out, setups)
    assert [
        f"mcpmock: {file}timing: expected a text",
        f'mcpmock: {file}session-timeout: expected a duration as "250ms" or "2s", or a number of '
        "seconds, not -5",
        f"mcpmock: {file}ordr: no option that can be set here; did you mean order?",
        f"mcpmock: {file}record: no option that can be set here",
        f"mcpmock: {file}repeats: 'often' is not one of 'auto', 'error', 'last', 'cycle'.",
        f"mcpmock: {file}workers: 0 is not in the range x>=1.",
        f"mcpmock: {file}allow-host: no option that can be set here",
        f"mcpmock: {file}quiet: expected true or false",
    ] == err.splitlines()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[replya]", "[replya]: no command of mcpmock; did you mean replay?"),
        ("replay = 1", "replay: expected a table of options"),
        ("[replay", "Expected ']' at the end of a table declaration"),
    ],
)
def test_no_project_file(run: Run, project: Path, text: str, reason: str) -> None:
    """What is wrong with the file as a whole."""
    (project / "mcpmock.toml").write_text(text, "utf-8")
    status, _, err = run("replay", project / "cassettes/a.jsonl")

    assert 3 == status
    assert err.startswith(f"mcpmock: {project}/mcpmock.toml: {reason}")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("tool = 3 # mcpmock", (0, "")),
        ("[tool]\nmcpmock = 3", (3, "tool.mcpmock: expected a table\n")),
    ],
)
def test_what_is_no_table(
    run: Run, project: Path, setups: list[Setup], text: str, wanted: tuple[int, str]
) -> None:
    """Where a table is expected."""
    (project / "pyproject.toml").write_text(text, "utf-8")
    status, _, err = run("replay", project / "cassettes/a.jsonl")

    assert wanted == (status, err.removeprefix(f"mcpmock: {project}/pyproject.toml: "))
    assert (status == 0) is bool(setups)


@pytest.mark.parametrize(
    ("table", "arguments", "reason"),
    [
        ('[replay]\ntiming = "x"', [], "replay.timing: timing 'x': say none, recorded"),
        ('[replay]\nauth = "x"\nlisten = "127.0.0.1:0"', [], "replay.auth: "),
        ('[replay]\nlisten = "x"', [], "replay.listen: "),
        ('[stats]\ncoverage = true\nmin = ["x"]', [], "stats.min: 'x': expected, for example"),
        ('[drive]\nmax-p99 = ["x"]', ["--", "server"], "drive.max-p99: expected a duration"),
        ('[check]\nmax-duration = ["x"]', [], "check.max-duration: "),
    ],
)
def test_values_that_a_command_refuses(
    run: Run, project: Path, table: str, arguments: list[str], reason: str
) -> None:
    """They are mistakes of the file, not of the command line."""
    (project / "mcpmock.toml").write_text(table, "utf-8")
    command = table[1:].partition("]")[0]
    status, out, err = run(command, project / "cassettes/a.jsonl", *arguments)

    assert (3, "") == (status, out)
    assert err.startswith(f"mcpmock: {project}/mcpmock.toml: {reason}")


def test_the_current_folder_of_a_list_of_names(
    run: Run, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Names on standard input are no folder: the first cassette of the command line is."""
    file = project / "cassettes/a.jsonl"
    (project.parent / "mcpmock.toml").write_text("[nonsense]", "utf-8")
    (project / "mcpmock.toml").write_text("[replya]", "utf-8")
    monkeypatch.chdir(project.parent)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))

    assert (2, True) == ((found := run("check", "-"))[0], "no names" in found[2])
    assert (3, True) == ((found := run("check", "-", file))[0], "[replya]" in found[2])


def test_the_manual_names_the_tables() -> None:
    """Those of commands; the page has the tables of rules below."""
    page = (files("mcpmock") / "help/config.md").read_text("utf-8")
    said = page.partition("has tables for ")[2].partition(", with")[0]
    context = click.Context(cli)
    found = [name for name in COMMANDS if isinstance(cli.get_command(context, name), TableCommand)]

    assert sorted(found) == re.findall("`([a-z]+)`", said)


ALL_TABLES = """
[replay]
ordr = "any"

[diff]
fail-on = "braking"

[record]
timeout = "soon"
output = "x"

[scan]
jsn = true

[match]
likes = []
ignore = ["$.a", "x", 3]

[redact]
value = ["("]
as = "md5"

[replya]
"""


@pytest.mark.parametrize("command", ["replay", "diff", "scan", "verify"])
def test_all_tables_are_checked(run: Run, project: Path, command: str) -> None:
    """Whatever command is run, all mistakes of the file are said, each with its path."""
    (project / "mcpmock.toml").write_text(ALL_TABLES, "utf-8")
    file = project / "cassettes/a.jsonl"
    more: dict[str, list[object]] = {"diff": [file], "verify": ["--", "server"]}
    status, out, err = run(command, file, *more.get(command, []))
    told = [line.removeprefix(f"mcpmock: {project}/mcpmock.toml: ") for line in err.splitlines()]

    assert (3, "") == (status, out)
    wanted = [
        "replay.ordr: no option that can be set here; did you mean order?",
        "diff.fail-on: 'braking' is not one of",
        "record.timeout: ",
        "record.output: no option that can be set here",
        "scan.jsn: no option that can be set here; did you mean json?",
        "match.ignore[1]: 'x' is not of the form [METHOD [NAME]] $.JSON.PATH: write $.x",
        "match.ignore[2]: expected a text, not 3",
        "match.likes: unknown key; did you mean like? known: echo, ignore, like",
        "redact.value[0]: '(' is no regular expression",
        "redact.as: expected one of number, hash, not 'md5'",
        "[replya]: no command of mcpmock; did you mean replay?",
    ]
    assert wanted == [line[: len(start)] for line, start in zip(told, wanted, strict=True)]


def test_as_an_editor_saves_it(run: Run, project: Path, setups: list[Setup]) -> None:
    """With a byte order mark and CR LF."""
    (project / "mcpmock.toml").write_bytes(b'\xef\xbb\xbf[replay]\r\nrepeats = "last"\r\n')

    assert 0 == run("replay", project / "cassettes/a.jsonl")[0]
    assert "last" == playing(setups).repeats
