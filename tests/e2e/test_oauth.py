"""mcpmock as the OAuth client of a remote server: a server of the official SDK with an
authorization server of its own, clients that know of no login, and a browser that always agrees.
"""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.every import EVERY
from tests.support.processes import END, MCPMOCK, TAG, takes

from . import parts
from .http_processes import Served, serving
from .test_sdk import needs

pytestmark = pytest.mark.e2e

CASSETTE = Path(__file__).parents[2] / "cassettes" / "everything-http.jsonl"
SERVER = Path(__file__).with_name("servers") / "oauth_server.py"
SDK_CLIENTS = ["py1"]
if EVERY:
    SDK_CLIENTS += ["py2-auto", "ts1", "ts2-auto"]
INITIALIZE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}


def heard(argv: Sequence[str], tool: str = "read", **how: Any) -> tuple[str, str]:
    """What a client over stdio, which stays until it is answered, hears from a tool: a text or the
    message of an error. And standard error, if it is a pipe.
    """
    how = {"stderr": subprocess.PIPE, **how}
    with subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **how
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for message in (
            {"id": 1, "method": "initialize", "params": INITIALIZE},
            {"method": "notifications/initialized"},
            {"id": 2, "method": "tools/call", "params": {"name": tool}},
        ):
            print(json.dumps({"jsonrpc": "2.0", **message}), file=process.stdin, flush=True)
        answers = map(json.loads, process.stdout)
        answer = next(one for one in answers if one.get("id") == 2)
        process.stdin.close()
        said = process.stderr.read() if process.stderr else ""
    if "error" in answer:
        return answer["error"]["message"], said
    return answer["result"]["content"][0]["text"], said


BROWSER = "import sys, urllib.request; urllib.request.urlopen(sys.argv[1], timeout=20).read()"


@dataclass
class World:
    """A server, a user with a home of its own, and mcpmock as that user starts it."""

    home: Path
    server: Served

    @property
    def url(self) -> str:
        return self.server.url

    @property
    def env(self) -> dict[str, str]:
        dropped = ("DISPLAY", "WAYLAND_DISPLAY", "XDG_DATA_HOME", "BROWSER")
        kept = {name: value for name, value in os.environ.items() if name not in dropped}
        return {
            **kept,
            "HOME": str(self.home),
            "BROWSER": f"{sys.executable} {self.home / 'browser.py'} %s",
            "PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring",
        }

    @property
    def store(self) -> Path:
        return self.home / ".local/share/mcpmock/logins"

    def run(self, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
        environment = {**self.env, **env}
        argv = [*MCPMOCK, *words]
        return subprocess.run(
            argv, env=environment, capture_output=True, text=True, timeout=END, check=False
        )

    def log_in(self, *options: str) -> None:
        done = self.run("login", self.url, *options)
        assert done.returncode == 0, done.stderr

    @property
    def issuer(self) -> str:
        return issuer_of(self.server)

    def tell(self, path: str) -> str:
        """What the server says to a GET beside MCP."""
        with urllib.request.urlopen(self.issuer + path, timeout=20) as answer:
            return str(answer.read().decode())

    def read(self) -> str:
        """What a client over stdio hears from the tool `read`."""
        return heard([*MCPMOCK, "proxy", "--url", self.url, "--oauth"], env=self.env)[0]

    def secrets(self) -> set[str]:
        """All that must be nowhere but in the store."""
        kept = "".join(path.read_text() for path in self.store.glob("*.json"))
        return set(re.findall(r'"(?:access_token|refresh_token|client_secret)":"([^"]+)"', kept))


def issuer_of(served: Served) -> str:
    return served.url.removesuffix("/mcp")


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    with serving([sys.executable, str(SERVER)]) as served:
        yield served


@pytest.fixture
def world(server: Served, tmp_path: Path) -> World:
    (tmp_path / "browser.py").write_text(BROWSER)
    return World(tmp_path, server)


@pytest.fixture
def recorder(world: World) -> Iterator[Served]:
    """`mcpmock record --oauth`, whose user may log in later."""
    output = str(world.home / "x.jsonl")
    argv = [*MCPMOCK, "record", "-o", output, "--url", world.url, "--oauth"]
    with serving(argv, env=world.env) as served:
        yield served


class Session:
    """A client that knows nothing of a login."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.fields = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        }
        self.opened = False

    def call(self, tool: str) -> Any:
        """What the tool says; the text of an HTTP error."""
        if not self.opened:
            status, answer = self.ask("initialize", INITIALIZE)
            if status != 200:
                return status, answer
            self.opened = True
        return self.ask("tools/call", {"name": tool, "arguments": {}})

    def ask(self, method: str, params: Any) -> tuple[int, str]:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        post = urllib.request.Request(self.url, json.dumps(body).encode(), self.fields)
        try:
            with urllib.request.urlopen(post, timeout=END) as answer:
                if session := answer.headers["Mcp-Session-Id"]:
                    self.fields["Mcp-Session-Id"] = session
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()


def ended(served: Served) -> None:
    served.process.terminate()
    served.process.wait(END)


def test_a_login_made_while_a_recorder_runs(world: World, recorder: Served) -> None:
    """Until then the client is told what to do, and after it the same session goes on. The cassette
    says that it was authorized, and nothing secret is in it, or readable by others.
    """
    session = Session(recorder.url)
    refused = session.call("read")
    world.log_in("--scope", "read")
    allowed = session.call("read")
    ended(recorder)
    [take] = takes(world.home / "x.jsonl")
    notes = [event.auth for event in take.events if event.auth]
    files = [path for path in world.home.rglob("*") if path.is_file()]
    open_files = [path for path in files if path.parent != world.store]

    assert (
        401,
        f"mcpmock: there is no login for {world.url}; run `mcpmock login {world.url}`\n",
    ) == refused
    assert allowed[0] == 200
    assert "read" in allowed[1]
    assert [{"how": "oauth", "issuer": world.issuer, "scopes": ["read"]}] == notes
    assert len(world.secrets()) == 2
    assert not [path for path in open_files for one in world.secrets() if one in path.read_text()]
    assert not [one for one in world.secrets() if one in recorder.stderr]
    assert {0o600} == {stat.S_IMODE(path.stat().st_mode) for path in world.store.iterdir()}


def test_a_token_that_has_expired(world: World, recorder: Served) -> None:
    """It is refreshed, once for all who wait, and no client notices."""
    world.log_in()
    session = Session(recorder.url)
    before = int(world.tell("/refreshed"))
    first = session.call("read")
    world.tell("/expire")
    second = session.call("read")

    assert (200, 200) == (first[0], second[0])
    assert before + 1 == int(world.tell("/refreshed"))


def test_more_scopes(world: World, recorder: Served) -> None:
    """Nobody is at this terminal: the client and the user read the command, and what has passed
    once is not sent twice.
    """
    world.log_in("--scope", "read")
    session = Session(recorder.url)
    session.call("read")
    refused = session.call("write")
    world.log_in("--scope", "read write")
    allowed = session.call("write")

    asked = f"{world.url} needs more scopes; run `mcpmock login {world.url} --scope 'read write'`"
    assert (403, f"mcpmock: {asked}\n") == refused
    assert allowed[0] == 200
    assert "written" in allowed[1]


def test_more_scopes_on_a_terminal(world: World) -> None:
    """The browser opens, the person agrees, and the call that needed more is sent again."""
    world.log_in("--scope", "read")
    terminal, stderr = os.openpty()
    argv = [*MCPMOCK, "proxy", "--url", world.url, "--oauth"]
    text, _ = heard(argv, "write", env=world.env, stderr=stderr)
    os.write(stderr, b"\n")
    said = os.read(terminal, 1 << 16).decode()
    os.close(stderr)
    os.close(terminal)

    assert "written" == text, said
    assert f"mcpmock: log in at {world.issuer}/authorize?" in said
    assert not [one for one in world.secrets() if one in said]


def test_a_login_that_was_revoked(world: World, recorder: Served) -> None:
    """The client gets its answer at once, and the next login is taken."""
    world.log_in()
    session = Session(recorder.url)
    session.call("read")
    world.tell("/revoke")
    refused = session.call("read")
    world.log_in()

    assert refused[0] == 401
    assert "does not take the login any more; run `mcpmock login" in refused[1]
    # The SDK's server binds a session to the client that opened it, which is another one now.
    assert Session(recorder.url).call("read")[0] == 200


def test_two_servers_with_one_issuer(world: World) -> None:
    """Each has a login of its own, whose token is for it alone; behind `proxy --oauth`, each is a
    server over stdio that needs no login.
    """
    with serving([sys.executable, str(SERVER), world.issuer]) as served:
        other = World(world.home, served)
        world.log_in()
        assert "run `mcpmock login" in other.read()
        other.log_in()

        assert ["read", "read"] == [world.read(), other.read()]
    assert 2 == len([*world.store.glob("*.json")])
    assert 4 == len(world.secrets())


def test_one_server_with_two_issuers(world: World) -> None:
    """A login is bound to its issuer: the other one gets nothing of it, and both are kept."""
    with (
        serving([sys.executable, str(SERVER)]) as second,
        serving([sys.executable, str(SERVER), world.issuer, issuer_of(second)]) as served,
    ):
        here, there = World(world.home, served), World(world.home, second)
        here.log_in()
        assert "read" == here.read()
        first = here.secrets()
        here.tell("/turn")
        refused = here.read()
        here.log_in()

        assert "run `mcpmock login" in refused
        assert "read" == here.read()
        assert {"False"} == {there.tell(f"/heard?{secret}") for secret in first}
    assert 4 <= len(here.secrets())


def test_a_wrapped_entry(world: World) -> None:
    """Started as a client starts it, in `/` with few variables: it says that it needs a login, and
    has the one that was made in a shell. What it records has no secret.
    """
    file = world.home / ".cursor/mcp.json"
    file.parent.mkdir()
    file.write_text(before := json.dumps({"mcpServers": {"r": {"url": world.url}}}))
    assert world.run("wrap", "r", "--yes").returncode == 0
    entry = json.loads(file.read_text())["mcpServers"]["r"]
    few = {name: world.env[name] for name in ("HOME", "PYTHON_KEYRING_BACKEND", TAG)}

    def start() -> str:
        argv = [entry["command"], *entry["args"]]
        text, said = heard(argv, cwd="/", env={**few, "PATH": "/usr/bin:/bin"})
        assert not [one for one in world.secrets() if one in said]
        return text

    refused = start()
    world.log_in()
    assert "read" == start()
    files = sorted((world.home / ".local/share/mcpmock/r").iterdir())

    assert f"run `mcpmock login {world.url}`" in refused
    assert [0, 1] == [len([event for event in takes(one)[0].events if event.auth]) for one in files]
    assert not [one for one in world.secrets() for file in files if one in file.read_text()]
    assert world.run("unwrap", "r", "--yes").returncode == 0
    assert before == file.read_text()


def test_two_logins_at_once(world: World) -> None:
    """The second is refused in a line: the port is the same, as the server wants it."""
    command = [*MCPMOCK, "login", world.url]
    env = {**world.env, "BROWSER": "true %s"}  # nobody comes back to this one
    with subprocess.Popen(command, env=env, stderr=subprocess.PIPE, text=True) as first:
        assert first.stderr is not None
        said = first.stderr.readline()
        second = world.run("login", world.url)
        first.terminate()

    assert said.startswith("mcpmock: log in at http://")
    assert 1 == second.returncode
    assert "perhaps by another login to this server" in second.stderr
    assert "Traceback" not in second.stderr


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--device"], "has no device login"),
        (["--scope", "everything"], "Requested scopes are not valid"),
    ],
)
def test_a_login_that_fails(world: World, options: list[str], words: str) -> None:
    """In one line, and nothing is kept."""
    done = world.run("login", world.url, *options)

    assert 1 == done.returncode, done.stderr
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert [] == [*world.store.glob("*.json")]


def test_a_device(world: World) -> None:
    """A code to enter elsewhere, where the authorization server has that: the fake one of a replay
    agrees at once.
    """
    argv = [*MCPMOCK, "replay", str(CASSETTE), "--auth", "oauth:scope=a", "--listen", "127.0.0.1:0"]
    with serving(argv) as fake:
        done = world.run("login", fake.url, "--device")

    assert done.returncode == 0, done.stderr
    assert "on any device and enter the code MCPMOCK" in done.stderr
    assert "with the scopes a;" in done.stderr


@pytest.mark.parametrize("command", ["verify", "drive"])
def test_no_login_is_no_difference(command: str, world: World) -> None:
    """A server that wants one has not changed: it is not reached."""
    done = world.run(command, str(CASSETTE), "--url", world.url, "--oauth")

    assert 4 == done.returncode, done.stderr
    assert f"there is no login for {world.url}; run `mcpmock login {world.url}`\n" in done.stderr
    assert "breaking" not in done.stdout


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["nonsense"], "Invalid value for URL:"),
        (["http://127.0.0.1:9/mcp", "--scope", 'a"b'], "Invalid value for --scope:"),
    ],
)
def test_wrong_usage(world: World, words: list[str], told: str) -> None:
    """The operand or option of the command itself is named."""
    done = world.run("login", *words)

    assert 2 == done.returncode
    assert told in done.stderr


def test_without_the_extra(world: World) -> None:
    """The line says what to install."""
    (world.home / "mcp.py").write_text("raise ImportError\n")

    done = world.run("login", world.url, PYTHONPATH=str(world.home))

    assert done.stderr == (
        "mcpmock: a login needs more packages; run `pip install 'mcpmock[oauth]'`\n"
    )


def test_logging_out(world: World) -> None:
    """It says whether there was anything."""
    world.log_in()

    assert [0, 1] == [world.run("logout", world.url).returncode for _ in range(2)]
    assert [] == [*world.store.glob("*.json")]


@pytest.mark.parts
@pytest.mark.parametrize("client", SDK_CLIENTS)
def test_clients_of_the_sdks(client: str, world: World, recorder: Served) -> None:
    """None of them meets a login."""
    needs(client)
    world.log_in()

    argv = parts.reach(client, "oauth", world.home, parts.HTTP, recorder.url)
    env = parts.environment(world.home)
    done = subprocess.run(argv, env=env, capture_output=True, text=True, timeout=90, check=False)

    assert done.returncode == 0, done.stderr
    assert "written" not in done.stdout
    assert "read" in done.stdout
