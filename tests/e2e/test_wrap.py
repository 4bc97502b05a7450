"""`mcpmock wrap` with real processes: wrapped servers started as their clients start them, real
clients that read the wrapped files, and a process that is killed in the middle.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from mcpmock.client_config.changes import plan_wrap, recording_path, write_edit
from mcpmock.client_config.clients import MCP_SERVERS, PROJECT, Machine
from mcpmock.client_config.edit import servers_of
from mcpmock.client_config.entry import RecorderWords
from mcpmock.client_config.files import FoundServer, find_servers, read_config, side_store
from tests.support.client_homes import CLIENT_HOMES, ClientHome
from tests.support.processes import TAG

from .parts import PARTS, not_installed
from .wraps import broken_by_pair

pytestmark = pytest.mark.e2e
PROGRAM = Path(sys.executable).with_name("mcpmock")
SAID = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
SCRIPT = Path(__file__).with_name("servers") / "killed_wrap.py"
NODE = PARTS / "clients/node_modules"
BEGINNINGS = (b"initialize", b"server/discover")
DEMO = [sys.executable, "-m", "mcpmock.demo.server"]


def started(home: ClientHome, folder: Path) -> tuple[subprocess.Popen[bytes], Path]:
    """The wrapped server as its client starts it: variables replaced, few of them in the
    environment, and for a user's server in `/` with the PATH of a program with windows.
    """
    machine, path = home.make(folder)
    found = weather(machine, path)
    output = recording_path(found.config, "weather", machine, None)
    project = home.scope == PROJECT
    program = ["mcpmock"] if project else [str(PROGRAM)]
    write_edit(
        plan_wrap(found, RecorderWords(program, output)), side_store(machine), machine, print
    )
    words = [home.variables.get(word, word) for word in weather(machine, path).entry.words]
    few = {name: os.environ.get(name, "") for name in ("LOGNAME", "SHELL", "TERM", "USER")}
    search = f"{PROGRAM.parent}:/usr/bin:/bin" if project else "/usr/bin:/bin"
    process = subprocess.Popen(
        words,
        cwd=machine.root if project else "/",
        env={**few, TAG: os.environ[TAG], "HOME": str(folder), "PATH": search},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    return process, machine.root / output


def weather(machine: Machine, path: Path) -> FoundServer:
    found = find_servers(machine).servers
    (one,) = [one for one in found if one.entry.name == "weather" and one.config.path == path]
    return one


def test_as_each_client_starts_it(tmp_path: Path) -> None:
    """What the client says comes back, nothing else does, and it is recorded."""
    homes = {home.client: home for home in reversed(CLIENT_HOMES)}
    with ExitStack() as stack:
        running = {name: started(home, tmp_path / name) for name, home in homes.items()}
        for process, _ in running.values():
            stack.enter_context(process)
        for name, (process, output) in running.items():
            out, err = process.communicate(SAID, timeout=60)

            assert (0, SAID, b"") == (process.returncode, out, err), name
            (cassette,) = output.iterdir() if output.is_dir() else [output]
            assert 2 == cassette.read_bytes().count(b'"method":"ping"'), name


def test_killed_between_any_two_steps(tmp_path: Path) -> None:
    """Whatever line of wrap or unwrap is the last one that runs: the file is the old one or the new
    one, whole, and what was wrapped can be unwrapped byte for byte.
    """
    done = subprocess.run(
        [sys.executable, str(SCRIPT), str(tmp_path)], capture_output=True, timeout=100, check=False
    )
    told = json.loads(done.stdout or b"{}")

    assert (0, b"") == (done.returncode, done.stderr)
    assert [] == told["broken"]
    assert {"old", "new"} == told["wrap"].keys() == told["unwrap"].keys()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home of a user who has nothing but these clients."""
    if reason := not_installed("clients", "claude, codex, gemini, opencode and qwen"):
        pytest.skip(reason)
    for name in [name for name in os.environ if name.startswith(("XDG_", "CLAUDE", "CODEX_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{NODE}/.bin:{PROGRAM.parent}:{os.environ['PATH']}")
    (tmp_path / "bin").mkdir()
    # Their packages have scripts that put these programs in place at the installation: not here.
    [claude] = NODE.glob("@anthropic-ai/claude-code-linux-*/claude")
    (tmp_path / "bin/claude").symlink_to(claude)
    (tmp_path / "bin/opencode").symlink_to(NODE / "opencode-linux-x64/bin/opencode")
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    shell("git", "init", "-q")
    return tmp_path


def shell(*command: str) -> str:
    """What a command prints; it succeeds."""
    done = subprocess.run(
        command, capture_output=True, timeout=100, text=True, stdin=subprocess.DEVNULL, check=False
    )
    assert 0 == done.returncode, done.stdout + done.stderr
    return done.stdout


def recorded(home: Path) -> bytes:
    """The only recording of the server `demo`."""
    (file,) = (home / ".local/share/mcpmock/demo").iterdir()
    return file.read_bytes()


@pytest.mark.parts
def test_qwen(home: Path) -> None:
    """Its list of servers has the recorder, and is connected through it. It writes the file anew,
    in its own form.
    """
    file = home / ".qwen/settings.json"
    file.parent.mkdir()
    entry = {"command": DEMO[0], "args": DEMO[1:]}
    file.write_text(json.dumps({"mcpServers": {"demo": entry}}), "utf-8")
    shell("mcpmock", "wrap", "demo", "--yes", "-q")
    out = shell("qwen", "mcp", "list")

    assert ("mcpmock record -q -o" in out, "Connected" in out) == (True, True)
    assert b'"method":"initialize"' in recorded(home)
    shell("mcpmock", "unwrap", "--all", "--yes", "-q")
    assert {"demo": entry} == json.loads(file.read_text("utf-8"))["mcpServers"]


@pytest.mark.parts
def test_codex(home: Path) -> None:
    """Its status of all servers names the tools, which it has through the recorder."""
    file = home / ".codex/config.toml"
    file.parent.mkdir()
    before = f"# mine\n[mcp_servers.demo]\ncommand = {DEMO[0]!r} # python\nargs = {DEMO[1:]!r}\n"
    file.write_text(before, "utf-8")
    shell("mcpmock", "wrap", "demo", "--yes", "-q")
    assert "mcpmock" in shell("codex", "mcp", "list")
    with subprocess.Popen(
        ["codex", "app-server"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        client = {"clientInfo": {"name": "test", "title": "test", "version": "1"}}
        for id_, method, params in ((0, "initialize", client), (1, "mcpServerStatus/list", {})):
            print(json.dumps({"id": id_, "method": method, "params": params}), file=process.stdin)
            process.stdin.flush()
            answer = next(
                found for line in process.stdout if (found := json.loads(line)).get("id") == id_
            )
        process.stdin.close()
    (server,) = answer["result"]["data"]

    assert "weather" in server["tools"]
    assert b'"method":"tools/list"' in recorded(home)
    shell("mcpmock", "unwrap", "demo", "--yes", "-q")
    assert before == file.read_text("utf-8")


@pytest.fixture
def refusing_api() -> Iterator[str]:
    """The URL of a model's API that refuses everything: the client has started its servers then."""

    class Refusing(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.send_error(400)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Refusing) as server:
        Thread(target=server.serve_forever).start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()


TRUSTED = {
    "claude": (".claude/settings.json", '{"enableAllProjectMcpServers": true}'),
    "codex": (
        ".codex/config.toml",
        'model_provider = "none"\n[projects."PROJECT"]\ntrust_level = "trusted"\n'
        '[model_providers.none]\nname = "none"\nbase_url = "API"\n'
        "request_max_retries = 0\nstream_max_retries = 0\n",
    ),
    "gemini": (".gemini/trustedFolders.json", '{"PROJECT": "TRUST_FOLDER"}'),
    "opencode": (".unneeded", ""),
    "qwen": (".unneeded", ""),
}
"""What says, in the home, that a client may start servers of a project."""


@pytest.mark.parts
@pytest.mark.parametrize(
    ("client", "file", "folder", "words"),
    [
        ("claude", ".mcp.json", "a", ["mcp", "list"]),
        ("codex", ".codex/config.toml", "a", ["exec", "hi"]),  # its model cannot be reached
        ("gemini", ".gemini/settings.json", ".", ["mcp", "list"]),  # from here alone it looks
        ("opencode", "opencode.json", "a", ["mcp", "list"]),
        ("qwen", ".qwen/settings.json", ".", ["mcp", "list"]),  # the same
    ],
)
def test_a_server_of_a_project(
    home: Path,
    refusing_api: str,
    monkeypatch: pytest.MonkeyPatch,
    client: str,
    file: str,
    folder: str,
    words: list[str],
) -> None:
    """Each client starts it wrapped, from folders below too if it looks into those above, and the
    recording is the project's.
    """
    project, (trusting, text) = home / "project", TRUSTED[client]
    (home / trusting).parent.mkdir(exist_ok=True)
    text = text.replace("PROJECT", str(project)).replace("API", refusing_api)
    (home / trusting).write_text(text, "utf-8")
    if client == "codex":
        before = f"[mcp_servers.demo]\ncommand = {DEMO[0]!r}\nargs = {DEMO[1:]!r}\n"
    elif client == "opencode":
        before = json.dumps({"mcp": {"demo": {"type": "local", "command": DEMO}}})
    else:
        before = json.dumps({"mcpServers": {"demo": {"command": DEMO[0], "args": DEMO[1:]}}})
    (project / file).parent.mkdir(exist_ok=True)
    (project / file).write_text(before, "utf-8")
    shell("mcpmock", "wrap", "demo", "--yes", "-q")
    if client == "qwen":
        shell("qwen", "mcp", "approve", "demo")
    (project / "a").mkdir()
    monkeypatch.chdir(project / folder)
    subprocess.run([client, *words], capture_output=True, stdin=subprocess.DEVNULL, check=False)

    recording = (project / ".mcpmock/demo.jsonl").read_bytes()
    assert any(b'"method":"%b"' % word in recording for word in BEGINNINGS)
    shell("mcpmock", "unwrap", "demo", "--yes", "-q")
    config, keys = project / file, {"codex": ("mcp_servers",), "opencode": ("mcp",)}
    # Some clients write the file anew, in their own form.
    restored = servers_of(read_config(config), keys.get(client, MCP_SERVERS))
    assert DEMO == restored["demo"].words


def record_in(folder: Path, home: Path) -> subprocess.CompletedProcess[bytes]:
    """The recorder of a project, as a client starts it that stands in a folder."""
    return subprocess.run(
        [PROGRAM, "record", "-q", "-o", ".mcpmock/w.jsonl", "--", "cat"],
        input=SAID,
        cwd=folder,
        env={**os.environ, "HOME": str(home)},
        capture_output=True,
        check=False,
    )


def test_a_project_from_a_folder_below(tmp_path: Path) -> None:
    """The recording is that of the project, in a clone without the folder too."""
    (tmp_path / "project/.git").mkdir(parents=True)
    (tmp_path / "project/a").mkdir()
    done = record_in(tmp_path / "project/a", tmp_path)

    assert (0, SAID, b"") == (done.returncode, done.stdout, done.stderr)
    assert SAID.strip() in (tmp_path / "project/.mcpmock/w.jsonl").read_bytes().replace(b"\\", b"")
    assert not (tmp_path / "project/a/.mcpmock").exists()


def test_a_project_that_cannot_be_recorded(tmp_path: Path) -> None:
    """The client has its server all the same; one line says why, another that it is so."""
    (tmp_path / ".git").mkdir()
    (tmp_path / ".mcpmock").symlink_to("/nowhere")
    done = record_in(tmp_path, tmp_path / "home")

    why = f"mcpmock: not recorded: {tmp_path}/.mcpmock: is a link; remove the link"
    assert (5, SAID) == (done.returncode, done.stdout)
    assert [True, True] == [line.startswith(why) for line in done.stderr.decode().splitlines()]
    assert b"; the session goes on\n" in done.stderr


def test_two_at_once(tmp_path: Path) -> None:
    """Neither loses the change of the other, however slow the disk is."""
    assert "" == broken_by_pair(tmp_path)


@pytest.mark.parts
def test_claude(home: Path) -> None:
    """It makes the change itself, and is connected through the recorder."""
    shell("claude", "mcp", "add", "-s", "user", "demo", "--", *DEMO)
    shell("mcpmock", "wrap", "demo", "--yes", "--run", "-q")
    out = shell("claude", "mcp", "list")

    assert ("mcpmock record -q -o" in out, "Connected" in out) == (True, True)
    # Which era it begins with is not always the same.
    assert any(b'"method":"%b"' % word in recorded(home) for word in BEGINNINGS)
    shell("mcpmock", "unwrap", "--all", "--yes", "--run", "-q")
    servers = json.loads((home / ".claude.json").read_text("utf-8"))["mcpServers"]
    assert DEMO == [servers["demo"]["command"], *servers["demo"]["args"]]
