"""`mcpmock run`: what a client is started with. The clients are scripts that tell it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run

SERVERS = '{"mcpServers": {"a": {"command": "x", "args": ["-y"], "env": {"K": "sesame"}}, '
REMOTE = '"r": {"url": "https://example.com/mcp"}}}'
WITH_KEY = '"k": {"type": "http", "url": "https://a.example", "headers": {"X-Api-Key": "sesame"}}, '
PROGRAM = str(Path(sys.executable).with_name("mcpmock"))


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home of a user in whose PATH are clients that only tell how they were started."""
    for name in [name for name in os.environ if name.startswith(("XDG_", "CLAUDE_", "CODEX_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    (tmp_path / "bin").mkdir()
    (tmp_path / "project/.git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "project")
    for name in ("claude", "codex", "opencode", "vim"):
        put(
            tmp_path / "bin" / name,
            f"#!{sys.executable}\n"
            "import json, os, sys\n"
            "[file] = [a.partition('=')[2] for a in sys.argv if a.startswith('--mcp')] or ['']\n"
            "config = open(file).read() if file else ''\n"
            "told = [sys.argv[1:], config, os.environ.get('OPENCODE_CONFIG_CONTENT'), file]\n"
            f"json.dump(told, open({str(tmp_path / 'told')!r}, 'w'))\n"
            "sys.exit(7)\n",
        ).chmod(0o755)
    return tmp_path


def put(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


def told(home: Path) -> tuple[list[str], str, str | None, str]:
    words, config, variable, file = json.loads((home / "told").read_text("utf-8"))
    return words, config, variable, file


def recorder(folder: Path, *command: str) -> list[str]:
    return [PROGRAM, "record", "-q", "-o", f"{folder}/", "--", *command]


def test_claude(run: Run, home: Path) -> None:
    """A file that only the user can read, and that is gone at the end; what has a login of the
    client, is recorded already or not approved stays as it is. The exit status is the client's.
    """
    before = SERVERS + '"done": {"command": "mcpmock", "args": ["record", "-o", "f", "--", "x"]}, '
    before += WITH_KEY
    put(home / ".claude.json", before + REMOTE)
    put(home / "project/.mcp.json", SERVERS.replace('"a"', '"b"') + REMOTE)
    status, out, err = run("run", "--", "claude", "-p", "hi")
    words, config, _, file = told(home)

    folder = home / ".local/share/mcpmock/a"
    program, *arguments = recorder(folder, "x", "-y")
    entry = {"command": program, "args": arguments, "env": {"K": "sesame"}}
    servers = json.loads(config)["mcpServers"]
    assert entry == servers["a"]
    assert ({"a", "k"}, "stdio") == (servers.keys(), servers["k"]["type"])
    assert {"MCPMOCK_HEADER_X_API_KEY": "sesame"} == servers["k"]["env"]
    assert ([f"--mcp-config={file}", "-p", "hi"], 7) == (words, status)
    assert ("", 4) == (out, len(err.splitlines()))
    assert "mcpmock: b is not recorded: it is not approved; start claude once and approve it" in err
    assert "mcpmock: a: nothing was recorded: the client did not start it\n" in err
    assert not Path(file).parent.exists()
    assert before + REMOTE == (home / ".claude.json").read_text("utf-8")


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("project/.claude/settings.local.json", '{"enabledMcpjsonServers": ["b"]}'),
        (".claude/settings.json", '{"enableAllProjectMcpServers": true}'),
    ],
)
def test_claude_in_a_project(run: Run, home: Path, file: str, text: str) -> None:
    """A server of a project that the user has approved is recorded too."""
    put(home / file, text)
    put(home / "project/.mcp.json", SERVERS.replace('"a"', '"b"') + REMOTE)
    run("run", "-o", "rec", "--", "claude")

    args = json.loads(told(home)[1])["mcpServers"]["b"]["args"]
    assert recorder(home / "project/rec", "x", "-y")[1:] == args


def test_what_a_project_approves_itself(run: Run, home: Path) -> None:
    """Does not count: a clone must not start programs."""
    put(home / "project/.claude/settings.json", '{"enableAllProjectMcpServers": true}')
    put(home / "project/.mcp.json", SERVERS + REMOTE)
    status, _, err = run("run", "--", "claude")

    assert (2, True) == (status, "a: it is not approved; start claude once and approve it" in err)
    assert not (home / "told").exists()


def test_codex(run: Run, home: Path) -> None:
    """Options that replace the command and the arguments; a name that they cannot spell is left."""
    servers = '[mcp_servers.a]\ncommand = "x"\nargs = ["it\'s"]\n[mcp_servers."b c"]\ncommand="y"\n'
    put(home / ".codex/config.toml", servers)
    _, _, err = run("run", "-q", "-o", str(home / "rec"), "--", "codex", "exec")
    assert "mcpmock: b c is not recorded: codex takes no option for a server of that name\n" == err
    command, *arguments = recorder(home / "rec", "x", "it's")
    listed = json.dumps(arguments)

    assert [
        *("-c", f'mcp_servers.a.command="{command}"', "-c", f"mcp_servers.a.args={listed}"), "exec",
    ] == told(home)[0]  # fmt: skip


@pytest.mark.parametrize("option", [(), ("--json",), ("-q",)])
def test_replayed(run: Run, home: Path, option: tuple[str, ...]) -> None:
    """The newest recording of each server answers, one that is wrapped already too."""
    servers = "[mcp_servers.a]\ncommand = 'x'\n[mcp_servers.b]\ncommand = 'y'\n"
    wrapped = "[mcp_servers.c]\ncommand = 'mcpmock'\nargs = ['record', '-o', 'f/', '--', 'z']\n"
    put(home / ".codex/config.toml", servers + wrapped)
    folder = home / ".local/share/mcpmock"
    for name in "ac":
        put(folder / name / "1.jsonl", "")
    status, _, err = run("run", "--replay", *option, "--", "codex", "exec")

    words = told(home)[0]
    assert 7 == status
    assert "exec" == words[-1]
    for name, command in (("a", "x"), ("c", "z")):
        cassette, log = f"{folder}/{name}/1.jsonl", f"{folder}/{name}/1.replay.log"
        replay = ["proxy", "-q", "--cassette", cassette, "--mode", "none", "--log", log, "--"]
        assert f"mcp_servers.{name}.args={json.dumps([*replay, command])}" in words
        assert (f"{name}: answered from {cassette}" in err) is (option == ())
        assert (f'"log":"{log}"' in err) is (option == ("--json",))
    assert f"mcpmock: b is not replayed: nothing is recorded of it in {folder}/b/\n" in err


@pytest.mark.parametrize("option", [(), ("--json",)])
def test_what_was_recorded(run: Run, home: Path, option: tuple[str, ...]) -> None:
    """It is said at the end, with the command that shows it; what lay there before is not it."""
    put(home / ".codex/config.toml", "[mcp_servers.a]\ncommand = 'x'\n")
    folder = home / ".local/share/mcpmock/a"
    put(folder / "before.jsonl", "")
    put(home / "bin/codex", f"#!/bin/sh\ntouch '{folder}/new one.jsonl'\n").chmod(0o755)
    _, _, err = run("run", *option, "--", "codex")

    if option:
        assert [f"{folder}/new one.jsonl"] == json.loads(err)["files"]
    else:
        assert f"mcpmock: a: recorded, see `mcpmock show '{folder}/new one.jsonl'`\n" == err


def test_opencode(run: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A variable with the command alone, beside what the user has set in it."""
    monkeypatch.setenv("OPENCODE_CONFIG_CONTENT", '{"theme": "x"}')
    text = '{"mcp": {"a": {"type": "local", "command": ["x"], "environment": {"K": "sesame"}}}}'
    put(home / ".config/opencode/opencode.json", text)
    run("run", "-o", str(home / "rec"), "--", "opencode")

    server = {"type": "local", "command": recorder(home / "rec", "x")}
    assert {"theme": "x", "mcp": {"a": server}} == json.loads(told(home)[2] or "")


@pytest.mark.parametrize(
    "value",
    [
        *("{", "[]", "5", "null" * 2, '"x"', "[" * 100_000, '{"mcp": []}', '{"mcp": null}'),
        *('{"mcp": "x"}', '{"mcp": {"a": 5}}', '{"mcp": {"a": null}}', '{"mcp": {"a": []}}'),
    ],
)
def test_opencode_with_a_variable_that_is_no_object(
    run: Run, home: Path, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    """One line says which variable."""
    monkeypatch.setenv("OPENCODE_CONFIG_CONTENT", value)
    put(home / ".config/opencode/opencode.json", '{"mcp": {"a": {"command": ["x"]}}}')

    reason = "holds no JSON object with objects for `mcp` and its servers"
    words = f"OPENCODE_CONFIG_CONTENT {reason}; correct it"
    assert (2, "", f"mcpmock: {words}\n") == run("run", "--", "opencode")


@pytest.mark.parametrize(
    ("client", "words"),
    [
        ("vim", "vim takes no servers as options (claude, codex, opencode do); use `mcpmock wrap`"),
        (
            "claude",
            "claude has no server that can be recorded; `mcpmock wrap --list` lists what there is",
        ),
    ],
)
def test_nothing_to_record(run: Run, home: Path, client: str, words: str) -> None:
    """The client is not started."""
    assert (2, "", f"mcpmock: {words}\n") == run("run", "--", client)
    assert not (home / "told").exists()


def test_a_client_that_is_not_there(run: Run, home: Path) -> None:
    """As a shell says it."""
    put(home / ".claude.json", SERVERS + REMOTE)

    assert 127 == run("run", "-q", "--", "/nowhere/claude")[0]


@pytest.mark.e2e
def test_a_signal(home: Path) -> None:
    """It reaches the client, and the temporary folder is removed."""
    put(home / ".claude.json", SERVERS + REMOTE)
    put(home / "bin/claude", '#!/bin/sh\necho "$1"\nexec sleep 60\n')
    command = [sys.executable, "-m", "mcpmock", "run", "-q", "--", "claude"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        file = Path(process.stdout.readline().strip().partition("=")[2])
        assert file.exists()
        process.send_signal(signal.SIGTERM)

        assert 128 + signal.SIGTERM == process.wait(20)
    assert not file.parent.exists()


@pytest.mark.e2e
def test_a_signal_while_the_client_starts(
    run: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It reaches the client as soon as there is one."""
    put(home / ".claude.json", SERVERS + REMOTE)
    put(home / "bin/claude", "#!/bin/sh\nexec sleep 60\n")
    start = subprocess.Popen

    def interrupted(words: list[str], **how: Any) -> subprocess.Popen[bytes]:
        os.kill(os.getpid(), signal.SIGTERM)
        return start(words, **how)

    monkeypatch.setattr(subprocess, "Popen", interrupted)

    assert 128 + signal.SIGTERM == run("run", "-q", "--", "claude")[0]
