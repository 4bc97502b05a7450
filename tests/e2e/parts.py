"""Where the real servers and clients of the end-to-end tests are, and what they need.

tools/e2e_parts.sh installs them; clients/ holds a script for each client, and scenarios.json what
every client does with each server.  A test runs one script against one server:

    prepare(server_name, workdir)
    argv = drive(client_name, server_name, workdir, [*recorder, *server(server_name, workdir)])
    subprocess.run(argv, env=environment(workdir))

The same workdir must be prepared again before each run: servers write to it, and its path is in
the requests.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

_CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
PARTS = Path(os.environ.get("MCPMOCK_E2E_PARTS") or _CACHE / "mcpmock-e2e")

_SCRIPTS = Path(__file__).parent / "clients"
_SERVERS = Path(__file__).parent / "servers"
_NODE_SERVERS = PARTS / "npm" / "node_modules" / "@modelcontextprotocol"

SERVERS = {"everything": "npm", "filesystem": "npm", "memory": "npm", "time": "py2", "git": "py2"}
"""Server name -> the part it is in."""

MOVED = {"moved-py2": "py2", "moved-py1": "py1"}
"""Workshops behind a redirect (Starlette's own, and that of FastMCP) -> the part they run in."""
WORKSHOPS = {"workshop-py2": "py2", "workshop-py1": "py1", "workshop-ts2": "npm", **MOVED}
"""The tests' own servers (servers/workshop.py says what they are) -> the part they run in."""

AGENT = {"claude-code": "clients"}
"""An agent that is a server too, with 90 KB of descriptions of tools -> the part it is in."""

HTTP, SSE = "streamable-http", "sse"
HTTP_SERVERS = {
    "everything": (HTTP, SSE),
    "workshop-py2": (HTTP, SSE),
    "workshop-py1": (HTTP, SSE),
    "workshop-ts2": (HTTP,),
}
"""Server name -> the transports with a URL that it serves; each is a process with a port."""

CLIENTS = {
    "py2-auto": ("py2", "py2.py", "--mode", "auto"),
    "py2-legacy": ("py2", "py2.py", "--mode", "legacy"),
    "py1": ("py1", "py1.py"),
    "fastmcp": ("py2", "fastmcp_client.py"),
    "ts1": ("npm", "ts1.mjs"),
    "ts2-auto": ("npm", "ts2.mjs", "--mode", "auto"),
    "ts2-legacy": ("npm", "ts2.mjs", "--mode", "legacy"),
}
"""Client name -> the part it is in, its script and the script's options.

ts2-auto starts the server command twice: once to probe the era, once to work.
"""

PINNED = {"py2-modern": ("py2", "py2.py", "--mode", "2026-07-28")}
"""Clients that speak one revision without asking for it: not every server understands them."""

# Nothing of the machine's or the user's own git settings, and the same hashes on every run.
# The dates are in a form that both git and GitPython read: GitPython refuses +00:00.
_GIT_ENVIRONMENT = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "Ada Lovelace",
    "GIT_AUTHOR_EMAIL": "ada@example.com",
    "GIT_AUTHOR_DATE": "1767323045 +0000",
    "GIT_COMMITTER_NAME": "Charles Babbage",
    "GIT_COMMITTER_EMAIL": "charles@example.com",
    "GIT_COMMITTER_DATE": "1767323046 +0000",
}

_FILES = {
    "poem.txt": "Röslein, Röslein,\nRöslein rot,\n漢字 ☃\n".encode(),
    "large.txt": b"0123456789abcdef" * 12_800,
    "deep/data.json": b'{"one": 1, "half": 0.5}\n',
    "dot.png": bytes.fromhex(
        "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
        "1f15c4890000000d49444154789c6360606060000000050001a5f64540"
        "0000000049454e44ae426082"
    ),
}
_MODIFIED = 1_767_323_045  # 2026-01-02T03:04:05Z, as the commits


def missing(name: str) -> str | None:
    """Say why the client or server of this name cannot run here, or None if it can."""
    part = {**SERVERS, **WORKSHOPS, **AGENT}.get(name) or {**CLIENTS, **PINNED}[name][0]
    if part == "npm" and shutil.which("node") is None:
        return f"{name} needs Node"
    if name == "git" and shutil.which("git") is None:
        return "the git server needs git"
    return not_installed(part, name)


def not_installed(part: str, name: str) -> str | None:
    """Say that a part, which `name` is in, has to be installed; None if it is."""
    if (PARTS / part / ".pins").exists():
        return None
    return f"{name} is not installed: run tools/e2e_parts.sh {part}"


def server(name: str, workdir: Path, transport: str = "stdio") -> list[str]:
    """The command of a server; `prepare` makes the folders that it names."""
    python = str(PARTS / "py2" / "bin" / "python")
    match name:
        case "everything":
            spoken = "streamableHttp" if transport == HTTP else transport
            return ["node", str(_NODE_SERVERS / "server-everything" / "dist" / "index.js"), spoken]
        case "workshop-py1" | "workshop-py2":
            script = _SERVERS / f"{name.replace('-', '_')}.py"
            return [str(PARTS / WORKSHOPS[name] / "bin" / "python"), str(script), transport]
        case "moved-py1" | "moved-py2":
            return [*server(name.replace("moved", "workshop"), workdir, transport), "moved"]
        case "workshop-ts2":
            return ["node", str(_SERVERS / "workshop_ts2.mjs"), transport]
        case "filesystem":
            script = _NODE_SERVERS / "server-filesystem" / "dist" / "index.js"
            return ["node", str(script), str(workdir / "files")]
        case "memory":
            return ["node", str(_NODE_SERVERS / "server-memory" / "dist" / "index.js")]
        case "time":
            return [python, "-m", "mcp_server_time", "--local-timezone", "UTC"]
        case "claude-code":
            return [native_program("@anthropic-ai/claude-code-linux-*/claude"), "mcp", "serve"]
        case "git":
            return [python, "-m", "mcp_server_git", "--repository", str(workdir / "repo")]
        case _:
            raise KeyError(name)


def native_program(pattern: str) -> str:
    """Return a program that a package has for this machine: its script does not run as installed
    here, without scripts of packages.
    """
    return next(map(str, (PARTS / "clients" / "node_modules").glob(pattern)), pattern)


def client(name: str) -> list[str]:
    """The command of a client, to be followed by a scenario, a workdir, `--` and a server."""
    part, script, *options = {**CLIENTS, **PINNED}[name]
    program = "node" if part == "npm" else str(PARTS / part / "bin" / "python")
    return [program, str(_SCRIPTS / script), *options]


def scenario(server_name: str) -> str:
    """What the clients do with a server: its entry in scenarios.json."""
    return "workshop" if server_name in WORKSHOPS else server_name


def reach(client_name: str, scenario: str, workdir: Path, transport: str, url: str) -> list[str]:
    """As `drive`, with the server at a URL."""
    where = ["--scenario", scenario, "--workdir", str(workdir)]
    return [*client(client_name), *where, "--transport", transport, "--url", url]


def drive(client_name: str, scenario: str, workdir: Path, server_argv: list[str]) -> list[str]:
    """The command that runs a whole scenario and prints what came of it."""
    where = ["--scenario", scenario, "--workdir", str(workdir)]
    return [*client(client_name), *where, "--", *server_argv]


def environment(workdir: Path) -> dict[str, str]:
    """The environment for a client, which hands all of it to the server."""
    own = {
        "MEMORY_FILE_PATH": str(workdir / "memory.jsonl"),
        "CLAUDE_CONFIG_DIR": str(workdir / "claude"),
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    }
    return {**os.environ, **_GIT_ENVIRONMENT, **own}


def prepare(name: str, workdir: Path) -> None:
    """Make the workdir what it must be before each run of a server."""
    workdir.mkdir(parents=True, exist_ok=True)
    match name:
        case "filesystem":
            _make_files(workdir / "files")
        case "memory":
            (workdir / "memory.jsonl").unlink(missing_ok=True)
        case "git":
            _make_repository(workdir / "repo")


def _make_files(folder: Path) -> None:
    """A folder of files with the same content and times whenever it is made."""
    shutil.rmtree(folder, ignore_errors=True)
    for name, content in _FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    for path in folder.rglob("*"):
        os.utime(path, (_MODIFIED, _MODIFIED))


def _make_repository(folder: Path) -> None:
    """A repository of two commits and a change that is not committed yet."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()

    def git(*args: str) -> None:
        environment = {**os.environ, **_GIT_ENVIRONMENT}
        subprocess.run(["git", *args], cwd=folder, env=environment, check=True, timeout=30)

    git("init", "--quiet", "--initial-branch=main")
    (folder / "readme.txt").write_text("The Analytical Engine.\n", "utf-8")
    git("add", ".")
    git("commit", "--quiet", "-m", "First")
    (folder / "notes.txt").write_text("Note G, naïve ☃\n", "utf-8")
    git("add", ".")
    git("commit", "--quiet", "-m", "Second: notes, 漢字")
    (folder / "readme.txt").write_text("The Analytical Engine.\nOf brass.\n", "utf-8")
