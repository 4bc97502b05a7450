"""The options of commands that listen: what makes no sense is said in a line, before anything is
opened.
"""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from mcpmock.channels.http.addresses import ListenAddress
from mcpmock.sessions import run as run_module
from mcpmock.sessions.http_front import HttpFront
from mcpmock.sessions.run import Setup
from mcpmock.transports.session_router import TransportKind
from tests.cli.conftest import Run, said_of
from tests.support import INITIALIZE, WELCOME, cassette_bytes

URL = "http://127.0.0.1:9/mcp"


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[HttpFront]:
    """What the commands would listen on; `a.jsonl` is a cassette to replay."""
    found: list[HttpFront] = []

    async def run_sessions(setup: Setup) -> int:
        found.extend([setup.front] if isinstance(setup.front, HttpFront) else [])
        return 0

    monkeypatch.setattr(run_module, "run_sessions", run_sessions)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.jsonl").write_bytes(cassette_bytes(("c2s", INITIALIZE), ("s2c", WELCOME)))
    return found


COMMANDS = [
    ("record", "-o", "b.jsonl", "--url", URL),
    ("proxy", "--url", URL),
    ("replay", "a.jsonl"),
]


@pytest.mark.parametrize("command", COMMANDS)
def test_options(run: Run, taken: list[HttpFront], command: tuple[str, ...]) -> None:
    """All of them reach the mode as what they mean."""
    options = ["--listen", "[::1]:80", "--transport", "sse", "--allow-host", "a", "--allow-host"]
    more = ["b:1", "--allow-origin", "http://c", "--session-timeout", "90s"]
    assert (0, "", "") == run(command[0], *options, *more, *command[1:])

    [listening] = taken
    assert (ListenAddress("::1", 80), TransportKind.SSE) == (listening.address, listening.kind)
    assert {"a", "b:1"} == listening.hosts
    assert {"http://c"} == listening.origins
    assert (False, 90.0) == (listening.dangerously, listening.session_timeout)


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("127.0.0.1:0", "127.0.0.1", 0),
        ("localhost:65535", "localhost", 65535),
        (":8080", "127.0.0.1", 8080),
        ("8080", "127.0.0.1", 8080),
        ("[::1]:1", "::1", 1),
    ],
)
@pytest.mark.parametrize("command", COMMANDS)
def test_addresses(
    run: Run, taken: list[HttpFront], command: tuple[str, ...], text: str, host: str, port: int
) -> None:
    """A port alone is one of 127.0.0.1."""
    assert (0, "", "") == run(command[0], "--listen", text, *command[1:])

    assert ListenAddress(host, port) == taken[0].address


def test_where_a_recorder_listens_by_default(run: Run, taken: list[HttpFront]) -> None:
    """On a free port of this machine."""
    run(*COMMANDS[0])

    assert [ListenAddress("127.0.0.1", 0)] == [listening.address for listening in taken]


@pytest.mark.parametrize("host", ["0.0.0.0", "[::]", "192.0.2.1", "example.com", "localhost.a"])
@pytest.mark.parametrize("command", COMMANDS)
def test_addresses_that_others_reach(
    run: Run, taken: list[HttpFront], command: tuple[str, ...], host: str
) -> None:
    """They are refused, with the option that allows them, and allowed with it."""
    where = ["--listen", f"{host}:80"]
    line = said_of(run(command[0], *where, *command[1:]))
    assert "--dangerously-bind" in line
    assert [] == taken

    assert (0, "", "") == run(command[0], *where, "--dangerously-bind", *command[1:])
    assert [True] == [listening.dangerously for listening in taken]


@pytest.mark.parametrize("host", ["a", "a.example:80", "192.0.2.1", "[::2]:80"])
@pytest.mark.parametrize("origin", ["null", "http://a:80", "https://a/", "vscode-webview://1f-2"])
def test_guests(run: Run, taken: list[HttpFront], host: str, origin: str) -> None:
    """Hosts are names and addresses; origins are whatever a browser calls one."""
    guests = ["--allow-host", host, "--allow-origin", origin]
    assert (0, "", "") == run("replay", "a.jsonl", "--listen", "127.0.0.1:0", *guests)

    [listening] = taken
    assert {host} == listening.hosts
    assert {origin} == listening.origins


@pytest.mark.parametrize("command", COMMANDS)
def test_a_port_that_is_in_use(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    """It is said in one line, the status is 4, and no file is left."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.jsonl").write_bytes(cassette_bytes(("c2s", INITIALIZE), ("s2c", WELCOME)))
    holder = socket.create_server(("127.0.0.1", 0))
    with holder:
        port = holder.getsockname()[1]
        status, out, err = run(command[0], "--listen", f"127.0.0.1:{port}", *command[1:])

    assert (4, "", 1) == (status, out, err.count("\n"))
    assert f"mcpmock: cannot listen on 127.0.0.1:{port}: Address already in use" in err
    assert not (tmp_path / "b.jsonl").exists()


@pytest.mark.parametrize("command", COMMANDS)
def test_where_we_listen_is_said(
    run: Run,
    taken: list[HttpFront],
    capsysbinary: pytest.CaptureFixture[bytes],
    command: tuple[str, ...],
) -> None:
    """For people or, with `--json`, for programs."""
    for json, line in (
        ((), b"listening on http://x\n"),
        (("--json",), b'{"type":"listening","url":"http://x"}\n'),
    ):
        run(command[0], "--listen", "127.0.0.1:0", *json, *command[1:])
        taken[-1].announce("http://x", None)

        assert (b"", line) == capsysbinary.readouterr()


def test_a_recording_with_secrets(
    run: Run, taken: list[HttpFront], capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    """What it means is said, but never before the line that programs wait for."""
    assert (0, "", "") == run(*COMMANDS[0], "--no-redact")
    taken[0].announce("http://x", None)

    first, second = capsysbinary.readouterr().err.splitlines()
    assert b"listening on http://x" == first
    assert second.startswith(b"mcpmock: --no-redact: the cassette will contain secrets")
