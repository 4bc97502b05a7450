"""`mcpmock wrap` and `unwrap`: output, files and exit status."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest

from mcpmock.cli import options_wrap, wrap
from tests.cli.conftest import Run
from tests.support.shell import HOSTILE, split

CURSOR = '{"mcpServers": {"a": {"command": "x", "args": ["--token", "sesame"]}}}\n'
REMOTE = '{"mcpServers": {"r": {"url": "https://example.com/mcp?token=sesame-open"}}}\n'


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home of a user with a server in Cursor, who works in a project."""
    for name in [name for name in os.environ if name.startswith("XDG_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    put(tmp_path / ".cursor/mcp.json", CURSOR)
    put(tmp_path / "project/.git", "")
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path


def put(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


def words_of(path: Path, server: str = "a") -> list[str]:
    entry = json.loads(path.read_text("utf-8"))["mcpServers"][server]
    return [entry["command"], *entry["args"]]


def test_wrap_and_unwrap(run: Run, home: Path) -> None:
    """The change is shown without secrets, written, and taken back byte for byte."""
    file, folder = home / ".cursor/mcp.json", f"{home}/.local/share/mcpmock/a/"
    status, out, err = run("wrap", "a", "--yes")

    program = str(Path(sys.executable).with_name("mcpmock"))
    assert [program, "record", "-q", "-o", folder, "--", "x", "--token", "sesame"] == words_of(file)
    assert 0 == status
    assert f"{file} (cursor, user)\n@@" in out
    assert [] == [text for text in (out, err) if "sesame" in text]
    show = f"recorded from its next start, see `mcpmock show {folder}`"
    assert f"mcpmock: a: {show}; `mcpmock unwrap a` takes it back\n" in err
    assert "Cursor: switch the server off and on" in err

    status, _, err = run("unwrap", "a", "--yes")
    assert (0, CURSOR) == (status, file.read_text("utf-8"))
    assert f"{file}: as it was before, byte for byte; the recordings stay in {folder}" in err


@pytest.mark.parametrize("recorded", [True, False])
def test_a_replay_in_the_place_of_a_server(run: Run, home: Path, recorded: bool) -> None:
    """The newest recording answers, wherever the recorder was; `wrap` records again, `unwrap` gives
    the file as it was.
    """
    file, folder = home / ".cursor/mcp.json", home / ".local/share/mcpmock/a"
    if recorded:
        run("wrap", "a", "--yes", "-q")
    status, _, err = run("wrap", "a", "--replay", "--yes")
    assert 3 == status
    assert f"mcpmock: {folder}: nothing is recorded of a; " in err

    for number, name in enumerate(("new.jsonl", "old.jsonl.gz", "new.replay.log")):
        os.utime(put(folder / name, ""), (9, 9 - number))
    status, _, err = run("wrap", "a", "--replay", "--yes")
    log = f"{folder}/new.replay.log"
    replay = ["proxy", "-q", "--cassette", f"{folder}/new.jsonl", "--mode", "none", "--log", log]
    assert 0 == status
    assert [*replay, "--", "x", "--token", "sesame"] == words_of(file)[1:]
    assert f"mcpmock: a: what the recording lacks is in {log}\n" in err
    assert "sesame" not in err
    assert f"a  answered from {folder}/new.jsonl" in run("wrap", "--list")[1]

    other = put(home / "other.jsonl", "")
    assert 0 == run("wrap", "a", "--yes", "-q", "--replay", other)[0]
    assert str(other) in words_of(file)
    assert 0 == run("wrap", "a", "--yes", "-q", "--replay")[0]
    assert f"{folder}/new.jsonl" in words_of(file)
    assert 0 == run("wrap", "a", "--yes", "-q")[0]
    assert ["record", "-q", "-o", f"{folder}/"] == words_of(file)[1:5]
    assert 0 == run("wrap", "a", "--yes", "-q", "--replay")[0]
    status, _, err = run("unwrap", "a", "--yes")
    assert (0, CURSOR) == (status, file.read_text("utf-8"))
    assert "as it was before, byte for byte" in err


def test_a_replay_of_a_project_and_of_a_remote_server(run: Run, home: Path) -> None:
    """What is committed names no path of this machine; a replay needs no login."""
    file = put(home / "project/.mcp.json", REMOTE)
    put(home / "project/.mcpmock/r.jsonl", "")
    assert 0 == run("wrap", "r", "--replay", "--yes", "-q")[0]

    log = ".mcpmock/r.replay.log"
    assert [
        *("mcpmock", "proxy", "-q", "--cassette", ".mcpmock/r.jsonl", "--mode", "none"),
        *("--log", log, "--url-env", "MCPMOCK_URL"),
    ] == words_of(file, "r")
    assert 0 == run("unwrap", "r", "--yes", "-q")[0]
    assert REMOTE == file.read_text("utf-8")
    assert 3 == run("wrap", "r", "--replay", "nowhere.jsonl", "--yes")[0]


def test_a_project(run: Run, home: Path) -> None:
    """Its file is committed: no path of this machine stands in it. The recordings are not."""
    file = put(home / "project/.mcp.json", CURSOR)
    status, _, err = run("wrap", "a", "--yes", "--scope", "project")

    assert 0 == status
    output = ".mcpmock/a.jsonl"
    assert ["mcpmock", "record", "-q", "-o", output, "--"] == words_of(file)[:6]
    assert "*\n!.gitignore\n" == (home / "project/.mcpmock/.gitignore").read_text("utf-8")
    assert "all who work on the project need `mcpmock` in the PATH" in err


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["wrap"], 2, "name a server; --list lists them"),
        (["unwrap"], 2, "name a server, or give --all"),
        (["unwrap", "a", "--all"], 2, "name a server, or give --all"),
        (["wrap", "b"], 1, "no configuration has a server b; `mcpmock wrap --list` lists them"),
        (["wrap", "a", "--client", "zed"], 1, "no configuration has a server a"),
        (["wrap", "a", "--client", "emacs"], 2, "known clients: claude-code, claude-desktop"),
        (["wrap", "a"], 2, "nothing was written: not a terminal; pass --yes to skip the question"),
        (["wrap", "a", "--config", "nowhere.json"], 3, "nowhere.json: no such file"),
        (["unwrap", "a"], 0, "has no recorder"),
        (["unwrap", "--all"], 0, "nothing to take back"),
        (["wrap", "a", "--dry-run"], 0, ""),
    ],
)
def test_nothing_is_written(
    run: Run, home: Path, arguments: list[str], status: int, words: str
) -> None:
    """What was not said, is not there or is only tried."""
    ended, _, err = run(*arguments)

    assert (status, CURSOR) == (ended, (home / ".cursor/mcp.json").read_text("utf-8"))
    assert words in " ".join(err.split())
    assert not (home / ".local").exists()


def test_a_name_in_two_places(run: Run, home: Path) -> None:
    """Both are listed and none is changed, until one is chosen, or all."""
    other = put(home / ".qwen/settings.json", CURSOR)
    status, _, err = run("wrap", "a", "--yes")

    assert 2 == status
    assert [f"mcpmock: a is in {home}/.cursor/mcp.json (cursor, user)"] == err.splitlines()[:1]
    assert CURSOR == other.read_text("utf-8")
    assert 0 == run("wrap", "a", "--yes", "--client", "qwen")[0]
    assert "record" in words_of(other)

    status, _, err = run("wrap", "a", "--yes", "--all-places")
    assert 0 == status
    assert f"a in {other} (qwen, user) is recorded already" in err
    assert "record" in words_of(home / ".cursor/mcp.json")
    assert 0 == run("unwrap", "--all", "--yes")[0]
    assert [CURSOR, CURSOR] == [
        path.read_text("utf-8") for path in (other, home / ".cursor/mcp.json")
    ]


@pytest.mark.parametrize(("answer", "status"), [("y\n", 0), ("n\n", 1), ("\n", 1)])
def test_asked_on_a_terminal(
    run: Run, home: Path, monkeypatch: pytest.MonkeyPatch, answer: str, status: int
) -> None:
    """Nothing is written before a yes."""
    monkeypatch.setattr(options_wrap, "on_terminal", lambda: True)
    monkeypatch.setattr(click, "confirm", lambda *_, **__: answer == "y\n")

    assert status == run("wrap", "a")[0]
    assert (status == 0) is ("record" in words_of(home / ".cursor/mcp.json"))


def test_a_recorder_that_a_person_wrote(run: Run, home: Path) -> None:
    """`--all` leaves it; by its name it is taken out."""
    args = ["record", "--overwrite", "-o", "a.jsonl", "--", "x"]
    text = json.dumps({"mcpServers": {"a": {"command": "mcpmock", "args": args}}})
    file = put(home / ".cursor/mcp.json", text)

    assert "is recorded already" in run("wrap", "a", "--yes")[2]
    assert "nothing to take back" in run("unwrap", "--all", "--yes")[2]
    assert text == file.read_text("utf-8")
    assert 0 == run("unwrap", "a", "--yes")[0]
    assert ["x"] == words_of(file)


def test_a_remote_server(run: Run, home: Path) -> None:
    """It becomes one over stdio, with the login of the user unless it has credentials, and what is
    secret goes into its environment.
    """
    servers = {
        "r": {"url": "https://a.example/mcp"},
        "s": {"url": "https://b", "headers": {"Authorization": "Bearer sesame", "X-Org": "o"}},
    }
    text = json.dumps({"mcpServers": servers}, indent=1)
    file, folder = put(home / ".cursor/mcp.json", text), home / ".local/share/mcpmock"
    status, out, err = run("wrap", "r", "--yes")

    assert (0, True) == (status, '"command": ' in out)
    program = str(Path(sys.executable).with_name("mcpmock"))
    words = [program, "proxy", "-q", "--record", f"{folder}/r/", "--url", "https://a.example/mcp"]
    assert [*words, "--oauth"] == words_of(file, "r")
    assert "r: if it needs a login, run `mcpmock login https://a.example/mcp`" in err

    status, out, err = run("wrap", "s", "--yes")
    assert 0 == status
    assert '+    "MCPMOCK_HEADER_AUTHORIZATION": "Bearer ***",' in out
    assert "sesame" not in out + err
    assert ["Authorization: MCPMOCK_HEADER_AUTHORIZATION", "--header-env"] == words_of(file, "s")[
        8:10
    ]
    assert "a login" not in err

    assert 0 == run("unwrap", "--all", "--yes")[0]
    assert text == file.read_text("utf-8")


@pytest.mark.parametrize("escaped", [False, True])
def test_a_key_in_the_path_of_a_url(run: Run, home: Path, *, escaped: bool) -> None:
    """The list and the change do not show it, the recorder gets it from a variable, and it is taken
    back.
    """
    key = "pQ7vX2mK9rT4wZ8nB3cF"
    text = json.dumps({"mcpServers": {"r": {"url": f"https://a.example/s/{key}/mcp"}}}, indent=1)
    text = text.replace("/", "\\/") if escaped else text
    file = put(home / ".cursor/mcp.json", text)
    listed = run("wrap", "--list")
    status, out, err = run("wrap", "r", "--yes")

    assert 0 == status
    assert "https://a.example/s/***/mcp" in listed[1]
    assert key not in out + err + listed[1] + listed[2]
    assert "--url-env" in words_of(file, "r")
    assert key not in " ".join(words_of(file, "r"))
    assert 0 == run("unwrap", "r", "--yes")[0]
    assert text == file.read_text("utf-8")


def test_a_remote_server_without_the_extra(
    run: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What nobody could log in to is not wrapped; few servers of this machine ask for a login."""
    servers = {"r": {"url": "https://a.example/mcp"}, "s": {"url": "http://localhost:3000/mcp"}}
    file = put(home / ".cursor/mcp.json", json.dumps({"mcpServers": servers}))
    monkeypatch.setattr(wrap, "find_spec", lambda _name: None)
    assert 0 == run("wrap", "s", "--yes")[0]
    assert "http://localhost:3000/mcp" == words_of(file, "s")[-1]
    status, _, err = run("wrap", "r", "--yes")

    assert (2, "mcpmock: a login to r needs") == (status, err[:27])
    assert "pip install 'mcpmock[oauth]'" in err


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ({"url": "wss://a.example"}, "not an http:// or https:// URL"),
        ({"url": "https://a:b@c.example"}, "has a user name or password in it"),
        ({"url": "https://a", "headersHelper": "x"}, "has `headersHelper`, which no recorder"),
        ({"url": "https://a", "auth": "oauth"}, "has `auth`, which no recorder"),
        (
            {"url": "https://a", "authProviderType": "x"},
            "has `authProviderType`, which no recorder",
        ),
        ({"url": "https://a", "headers": {"a": 5}}, "has `headers` in a form that no recorder"),
        ({"url": "https://a", "headers": {"A-b": "", "a_b": ""}}, "has two headers with almost"),
    ],
)
def test_what_no_proxy_reaches(run: Run, home: Path, entry: Any, why: str) -> None:
    """It is said, and in the list too."""
    file = put(home / ".cursor/mcp.json", text := json.dumps({"mcpServers": {"r": entry}}))
    status, _, err = run("wrap", "r", "--yes")

    assert (1, text) == (status, file.read_text("utf-8"))
    assert why in err
    assert "(cannot be recorded)" in run("wrap", "--list")[1]


def test_a_member_that_stops_codex(run: Run, home: Path) -> None:
    """It reads no file with `oauth` in a server over stdio."""
    text = '[mcp_servers.r]\nurl = "https://a"\noauth = { client_id = "x" }\n'
    file = put(home / ".codex/config.toml", text)
    status, _, err = run("wrap", "r", "--yes")

    assert (1, text) == (status, file.read_text("utf-8"))
    assert "has `oauth`, which no recorder can take over" in err


def test_a_login_with_a_registered_client(run: Run, home: Path) -> None:
    """The command for it names the client."""
    entry = {"type": "http", "url": "https://a/mcp", "oauth": {"clientId": "it's"}}
    put(home / "project/.mcp.json", json.dumps({"mcpServers": {"r": entry}}))
    _, _, err = run("wrap", "r", "--yes")

    assert """`mcpmock login https://a/mcp --client-id 'it'"'"'s'`""" in err


def test_approvals_that_are_bound_to_the_entry(run: Run, home: Path) -> None:
    """They are announced."""
    put(home / ".qwen/settings.json", CURSOR.replace('"a"', '"b"'))

    assert "approve the changed server again" in run("wrap", "b", "--yes")[2]


def test_list(run: Run, home: Path) -> None:
    """The servers of all configurations, without their secrets, and what is recorded of them."""
    put(home / ".qwen/settings.json", REMOTE)
    run("wrap", "a", "--yes")
    put(home / ".local/share/mcpmock/a/1.jsonl", "x" * 2000)

    assert run("wrap", "--list")[:2] == (
        0,
        f"{home}/.cursor/mcp.json (cursor, user)\n"
        f"  a  recorded to {home}/.local/share/mcpmock/a/ (1 recording, 2.0 kB)\n"
        f"{home}/.qwen/settings.json (qwen, user)\n"
        "  r  remote  https://example.com/mcp?token=*** (wrap: a proxy)\n",
    )
    first, second = map(json.loads, run("wrap", "--list", "--json")[1].splitlines())
    assert {"client": "cursor", "server": "a", "transport": "stdio", "wrapped": True}.items() <= (
        first.items()
    )
    assert (1, 2000) == (first["recordings"], first["bytes"])
    only = run("wrap", "--list", "--client", "qwen")[1]
    assert ["r"] == [line.split()[0] for line in only.splitlines()[1:]]
    assert {"server": "r", "transport": "remote", "wrapped": False}.items() <= second.items()


def test_list_with_a_file_that_cannot_be_read(run: Run, home: Path) -> None:
    """The others are listed."""
    put(home / ".qwen/settings.json", "{")
    status, out, err = run("wrap", "--list")

    assert (3, True) == (status, ".cursor/mcp.json" in out)
    assert (
        f"mcpmock: {home}/.qwen/settings.json:1: expected a value; this file was left out\n" in err
    )


def test_list_of_other_folders(run: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is wrapped in them is listed, and a name lists its servers alone."""
    put(home / "project/.mcp.json", CURSOR.replace('"a"', '"b"'))
    run("wrap", "b", "--yes")
    (home / "other/.git").mkdir(parents=True)
    monkeypatch.chdir(home / "other")

    listed = run("wrap", "--list", "b")[1].splitlines()
    assert [f"{home}/project/.mcp.json (claude-code, cursor, copilot, qwen, project)"] == listed[:1]
    assert listed[1:] == ["  b  recorded to .mcpmock/b.jsonl (nothing yet)"]


def test_wide_names(run: Run, home: Path) -> None:
    """A character may take two columns."""
    put(
        home / ".cursor/mcp.json",
        '{"mcpServers": {"天気": {"command": "x"}, "a": {"command": "y"}}}',
    )

    assert ["  天気  stdio   x", "  a     stdio   y"] == run("wrap", "--list")[1].splitlines()[1:]


@pytest.mark.parametrize("name", [name for name in HOSTILE if name != "\udcff"])
def test_the_command_that_takes_it_back(
    run: Run, home: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """It runs as it is printed, from any folder, whatever the server is called."""
    text = json.dumps({"servers": {name: {"command": "x"}}})
    file = put(home / "my configs/mcp.json", text)
    _, _, err = run("wrap", "--yes", "--config", str(file), "--", name)
    printed = err.splitlines()[0].rpartition("; `")[2].partition("` takes it back")[0]
    [[program, *words]] = split([printed])

    assert "mcpmock" == program
    assert str(file) == words[words.index("--config") + 1]
    monkeypatch.chdir(home)
    assert 0 == run(words[0], "--yes", *words[1:])[0]
    assert text == file.read_text("utf-8")


def test_taken_back_from_another_folder(
    run: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its name alone: what undoes it knows the file."""
    file = put(home / "x/odd.json", CURSOR.replace('"a"', '"b"'))
    run("wrap", "b", "--yes", "--config", str(file))
    monkeypatch.chdir(home)

    assert 0 == run("unwrap", "b", "--yes")[0]
    assert CURSOR.replace('"a"', '"b"') == file.read_text("utf-8")


def test_many_places_without_a_recorder(run: Run, home: Path) -> None:
    """There is nothing to choose between."""
    put(home / ".qwen/settings.json", CURSOR)
    status, _, err = run("unwrap", "a")

    assert (0, True) == (status, "has no recorder" in err)


def test_what_the_change_shows(run: Run, home: Path) -> None:
    """Tabs are spaces, the names of variables are no secrets, and a long line shows which variables
    are set.
    """
    entry = {"url": "https://b", "headers": {"Authorization": "Bearer sesame"}}
    put(home / ".cursor/mcp.json", json.dumps({"mcpServers": {"r": entry}}, indent="\t"))
    _, out, _ = run("wrap", "r", "--dry-run")
    assert "\\u0009" not in out
    assert '"--header-env", "Authorization: MCPMOCK_HEADER_AUTHORIZATION"' in out

    put(home / ".cursor/mcp.json", json.dumps({"mcpServers": {"r": entry}, "x": "y" * 300}))
    _, out, _ = run("wrap", "r", "--dry-run")
    assert "\n+ MCPMOCK_HEADER_AUTHORIZATION=*** /" in out
    assert "'Authorization: MCPMOCK_HEADER_AUTHORIZATION'" in out
    assert "sesame" not in out


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (None, "it is not in the PATH here: `pipx install mcpmock` puts it there"),
        ("venv/bin/mcpmock", "is in a virtual environment, where only its own shells find it"),
        ("bin/mcpmock", "here it is"),
    ],
)
def test_whether_a_project_finds_mcpmock(
    run: Run, home: Path, monkeypatch: pytest.MonkeyPatch, found: str | None, words: str
) -> None:
    """It is said of this machine."""
    put(home / "project/.mcp.json", CURSOR.replace('"a"', '"b"'))
    put(home / "venv/pyvenv.cfg", "")
    monkeypatch.setattr(wrap, "which", lambda _name: found and str(home / found))

    assert words in run("wrap", "b", "--yes")[2]


def test_a_name_beside_a_file_that_cannot_be_read(run: Run, home: Path) -> None:
    """Both are said, with the names that are like it."""
    put(home / ".qwen/settings.json", "{")
    put(home / ".cursor/mcp.json", CURSOR.replace('"a"', '"weather"'))
    status, _, err = run("wrap", "wether")

    assert 3 == status
    unread, missing = err.splitlines()
    assert unread.endswith(".qwen/settings.json:1: expected a value; this file was left out")
    assert missing.endswith("no configuration has a server wether; did you mean weather?")


def test_yaml(run: Run, home: Path) -> None:
    """It is not read, and the error says what to write."""
    file = put(home / "c.yaml", "a: b")

    status, _, err = run("wrap", "a", "--config", str(file))
    assert (3, True) == (status, "YAML is not read here; put `mcpmock record -o FILE --`" in err)


def test_json(run: Run, home: Path) -> None:
    """One object a change, without secrets."""
    status, out, _ = run("wrap", "a", "--yes", "--json")
    found = json.loads(out)

    assert (0, "wrap", "a", "cursor", "user", True) == (
        status, *(found[key] for key in ("type", "server", "client", "scope", "written")),
    )  # fmt: skip
    assert "sesame" not in out


def test_hostile_names(run: Run, home: Path) -> None:
    """What stands in a file moves no cursor."""
    put(home / ".cursor/mcp.json", CURSOR.replace('"a"', '"a\\u001b[2J"').replace('"x"', '"\x7f"'))
    _, out, err = run("wrap", "--list")
    out += run("wrap", "a\x1b[2J", "--dry-run")[1]

    assert not {"\x1b", "\x7f"} & {*out, *err}


def test_characters_that_are_none(run: Run, home: Path) -> None:
    """JSON can spell half of one."""
    file = home / ".cursor/mcp.json"
    put(file, text := CURSOR.replace('"x"', '"\\ud800"').replace("sesame", "\\ud800sesame"))
    shown = [run("wrap", "a", "--yes"), run("wrap", "--list"), run("unwrap", "a", "--yes")]

    assert [0, 0, 0] == [status for status, _, _ in shown]
    assert not any("sesame" in out + err for _, out, err in shown)
    assert text == file.read_text("utf-8")


def test_state_that_running_sessions_own(
    run: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Claude Code's is never written: its own commands are shown, and run with `--run`. The entry
    is on their standard input.
    """
    file = put(home / ".claude.json", CURSOR.replace('"a"', '"b"'))
    log = put(home / "log", "")
    claude = put(home / "bin/claude", f'#!/bin/sh\n{{ echo "$@"; cat; echo; }} >>{log}\n')
    claude.chmod(0o755)
    monkeypatch.setenv("PATH", f"{claude.parent}:{os.environ['PATH']}")
    before = file.read_text("utf-8")

    status, out, err = run("wrap", "b", "--yes")
    assert (1, "", before) == (status, log.read_text("utf-8"), file.read_text("utf-8"))
    assert "mcpmock: nothing was written; --run runs the commands of the client\n" in err
    assert "  claude mcp add-json b -s user - < ENTRY\n" in out
    assert "running sessions of the client own this file" in err

    assert 0 == run("wrap", "b", "--yes", "--run")[0]
    remove, nothing, add, entry = log.read_text("utf-8").splitlines()
    assert ("mcp remove b -s user", "", "mcp add-json b -s user -") == (remove, nothing, add)
    assert ["record", "-q", "-o"] == json.loads(entry)["args"][:3]
    assert before == file.read_text("utf-8")


CLAUDE = """#!{python}
import json, os, signal, sys
command, name, state = sys.argv[2], sys.argv[3], os.path.expanduser("~/.claude.json")
entry = sys.stdin.read()
{before}
servers = json.load(open(state))
if command == "remove":
    del servers["mcpServers"][name]
else:
    servers["mcpServers"][name] = json.loads(entry)
json.dump(servers, open(state + ".new", "w"))
os.replace(state + ".new", state)
"""


def put_claude(home: Path, monkeypatch: pytest.MonkeyPatch, before: str) -> Path:
    """A program that changes the state of Claude Code as `claude mcp` does; gives the state."""
    text = CLAUDE.format(python=sys.executable, before=before)
    put(home / "bin/claude", text).chmod(0o755)
    monkeypatch.setenv("PATH", f"{home}/bin:{os.environ['PATH']}")
    return put(home / ".claude.json", CURSOR.replace('"a"', '"b"'))


def test_a_client_that_refuses(run: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The entry that it has removed is added again."""
    state = put_claude(home, monkeypatch, "if 'record' in entry: sys.exit('no')")
    status, _, err = run("wrap", "b", "--yes", "--run")

    assert (1, ["x", "--token", "sesame"]) == (status, words_of(state, "b"))
    assert "claude mcp add-json b -s user - ended with 1: no" in err
    assert "nothing to take back" in run("unwrap", "--all", "--yes", "--run")[2]


@pytest.mark.parametrize("command", ["remove", "add-json"])
def test_interrupted_between_the_commands(
    run: Run, home: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """Ctrl-C while the client changes its state loses no entry."""
    interrupt = (
        f"if command == {command!r} and 'record' in entry + 'record' * (command == 'remove'):\n"
        "    os.kill(os.getppid(), signal.SIGINT)\n"
        "    command == 'remove' or sys.exit()\n"
    )
    state = put_claude(home, monkeypatch, interrupt)
    status, _, _ = run("wrap", "b", "--yes", "--run")

    assert (130, ["x", "--token", "sesame"]) == (status, words_of(state, "b"))
    assert "nothing to take back" in run("unwrap", "--all", "--yes", "--run")[2]


def test_killed_between_the_commands(run: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`unwrap` adds the entry again, whose only copy is ours, as it was before."""
    kill = "if command == 'add-json': os.kill(os.getppid(), signal.SIGKILL); sys.exit()"
    state = put_claude(home, monkeypatch, kill)
    words = [sys.executable, "-m", "mcpmock", "wrap", "b", "--yes", "--run"]
    killed = subprocess.run(words, capture_output=True, check=False)
    assert (-9, {}) == (killed.returncode, json.loads(state.read_text("utf-8"))["mcpServers"])

    put_claude(home, monkeypatch, "")
    state.write_text('{"mcpServers": {}}', "utf-8")
    assert "  b  removed by a command that was interrupted; " in run("wrap", "--list")[1]
    assert 0 == run("unwrap", "b", "--yes", "--run")[0]
    assert ["x", "--token", "sesame"] == words_of(state, "b")
    assert "nothing to take back" in run("unwrap", "--all", "--yes", "--run")[2]


def test_a_recording_elsewhere(run: Run, home: Path) -> None:
    """A file is no folder for it, and where a wrapped server is recorded does not change."""
    status, _, err = run("wrap", "a", "--yes", "-o", put(home / "f", ""))
    assert (2, True) == (status, "f is a file; name a folder" in " ".join(err.split()))

    run("wrap", "a", "--yes")
    status, _, err = run("wrap", "a", "--yes", "-o", home / "other")
    where = f"recorded already, to {home}/.local/share/mcpmock/a/; unwrap it first to record it"
    assert (0, True) == (status, where in err)


def test_a_store_without_room(run: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What could not be written is named."""

    def refuse(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", refuse)
    status, _, err = run("wrap", "a", "--yes")

    folder = home / ".local/share/mcpmock/.wrapped"
    assert 1 == status
    assert f"mcpmock: nothing was written: {folder}: no space left on device\n" == err
    assert CURSOR == (home / ".cursor/mcp.json").read_text("utf-8")


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ({"command": "npx -y thing"}, '"command": "npx", "args": ["-y", "thing"]'),
        ({"command": "npx -y", "args": ["thing"]}, '"command": "npx", "args": ["-y", "thing"]'),
        ({"command": " uvx  srv "}, '"command": "uvx", "args": ["srv"]'),
        (
            {"command": {"path": "npx -y thing", "args": []}},
            '"command": "npx", "args": ["-y", "thing"]',
        ),
    ],
)
def test_a_command_line_as_one_word(run: Run, home: Path, value: object, written: str) -> None:
    """No client could start it: refused in one line that says how to write it."""
    file = put(home / ".cursor/mcp.json", json.dumps({"mcpServers": {"x": value}}))
    before = file.read_bytes()
    status, _, err = run("wrap", "x", "--yes")

    assert 0 != status
    assert 1 == err.count("\n")
    assert f"no client can start; write {written}" in err
    assert before == file.read_bytes()


@pytest.mark.parametrize(
    "command", ["/opt/my server/run", "C:\\Program Files\\srv.exe", "./run it"]
)
def test_a_program_with_spaces_in_its_path(run: Run, home: Path, command: str) -> None:
    file = put(home / ".cursor/mcp.json", json.dumps({"mcpServers": {"x": {"command": command}}}))

    assert 0 == run("wrap", "x", "--yes")[0]
    assert command == words_of(file, "x")[-1]


def test_a_broken_configuration_is_said_to_be_left_out(run: Run, home: Path) -> None:
    """Beside the change of another one, and in the list."""
    put(home / ".cursor/mcp.json", json.dumps({"mcpServers": {"x": {"command": "srv"}}}))
    broken = put(home / ".codeium/windsurf/mcp_config.json", '{"mcpServers": {"x": ')

    for command in (("wrap", "x", "--yes"), ("wrap", "--list")):
        [line] = [one for one in run(*command)[2].splitlines() if str(broken) in one]
        assert line.endswith("; this file was left out")
