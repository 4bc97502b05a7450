"""`mcpmock record`: what it takes from its command line, and what it says and ends with."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from mcpmock.cassette.file import TakeFile, load
from mcpmock.channels.channel import MemoryChannel, memory_pair
from mcpmock.errors import CannotStart
from mcpmock.protocol.messages import S2C
from mcpmock.sessions import servers, stdio_front
from tests.cli.conftest import Run, said_of
from tests.support import WELCOME, exits, hangs_up, s2c

Commands = list[list[str]]
KEY = "--api-key=hunter2hunter2"


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch, client: MemoryChannel) -> Commands:
    """The commands that were started: servers that say one thing and exit with 7."""
    found: Commands = []

    async def start(command: Sequence[str]) -> MemoryChannel:
        found.append(list(command))
        process, server = memory_pair()
        server.send_nowait([s2c(WELCOME), hangs_up(S2C), exits(7)])
        return process

    monkeypatch.setattr(servers, "start_process", start)
    monkeypatch.setattr(servers, "which", lambda program: program)
    monkeypatch.setattr(stdio_front, "take_stdio", lambda: memory_pair()[0])  # one for each run
    return found


def test_it_records_and_ends_as_the_server(run: Run, tmp_path: Path, commands: Commands) -> None:
    """The status is the server's, nothing is said, and the file is a whole cassette."""
    file = tmp_path / "a.jsonl"
    assert (7, "", "") == run("record", "-o", file, "--", "server", "-v", "--json")

    assert [["server", "-v", "--json"]] == commands
    assert load(file).takes[0].sealed


@pytest.mark.parametrize(
    "command",
    [
        ["server", "-o", "inner", "--new", "-q"],
        ["server", "--", "-o", "inner"],
        ["server", "record", "--help"],
        ["server", ""],
    ],
)
@pytest.mark.parametrize("separator", [[], ["--"]])
def test_the_servers_options_are_its_own(
    run: Run, tmp_path: Path, commands: Commands, separator: list[str], command: list[str]
) -> None:
    """From the first word that is no option on, all goes to the server as it is."""
    assert 7 == run("record", "-o", tmp_path / "a.jsonl", *separator, *command)[0]

    assert [command] == commands


def test_options_from_the_environment(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, commands: Commands
) -> None:
    """Each option can be given as a variable; the command line comes first."""
    monkeypatch.setenv("MCPMOCK_RECORD_OUTPUT", str(tmp_path / "a.jsonl"))
    assert 7 == run("record", "server")[0]
    monkeypatch.setenv("MCPMOCK_RECORD_NEW", "1")
    assert 3 == run("record", "server")[0]
    assert 7 == run("record", "-o", tmp_path / "b.jsonl", "server")[0]

    assert ["a.jsonl", "b.jsonl"] == sorted(path.name for path in tmp_path.iterdir())


def test_a_slash_at_the_end_is_a_folder(run: Run, tmp_path: Path, commands: Commands) -> None:
    """`-o DIR/` gives each run a file of its own; without the slash a folder is refused."""
    assert 7 == run("record", "-o", f"{tmp_path}/", "server")[0]
    assert 1 == len(list(tmp_path.glob("*.jsonl")))

    status, _, err = run("record", "-o", tmp_path, "server")
    assert 3 == status
    assert f"mcpmock: {tmp_path}: is a folder; with a slash at its end" in err
    assert 1 == err.count("\n")


def test_secrets_are_kept_only_when_asked_to(run: Run, tmp_path: Path, commands: Commands) -> None:
    """Redaction is on; `--no-redact` says what it means."""
    assert (7, "", "") == run("record", "-o", tmp_path / "a", "server", KEY)
    _, _, err = run("record", "--no-redact", "-o", tmp_path / "b", "server", KEY)

    assert "mcpmock: --no-redact: the cassette will contain secrets in plain text\n" == err
    assert b"hunter2" not in (tmp_path / "a").read_bytes()
    assert b"hunter2" in (tmp_path / "b").read_bytes()


@pytest.mark.parametrize(
    ("option", "takes"), [([], 2), (["--overwrite"], 1)], ids=["one more", "overwrite"]
)
def test_a_cassette_that_exists(
    run: Run, tmp_path: Path, commands: Commands, option: list[str], takes: int
) -> None:
    """It gets one more take, or is started anew."""
    for _ in range(2):
        assert (7, "", "") == run("record", *option, "-o", tmp_path / "a.jsonl", "server")

    assert takes == len(load(tmp_path / "a.jsonl").takes)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--call", "add [1]"], "'add [1]': expected TOOL and a JSON object"),
        (["--call", ""], "'': expected TOOL and a JSON object"),
        (["--call", '{"a": 1}'], """'{"a": 1}': expected TOOL and a JSON object"""),
        (["--call", 'add {"a":}'],
         "expected TOOL and a JSON object: Expecting value: line 1 column 6 (char 5)"),
        (["--call", "my tool {}"],
         "expected TOOL and a JSON object: Expecting value: line 1 column 1 (char 0)"),
        (["--request", "ping 1"], "'ping 1': expected METHOD and a JSON object"),
        (["--list", "--timeout", "0"], "'--timeout': expected a time above 0, not '0'"),
        (["--timeout", "3s"], "--timeout needs --list, --call or --request"),
        (["--list", "--watch"], "--watch is for a client; --list, --call and --request have none"),
    ],
)  # fmt: skip
def test_requests_that_are_none(
    run: Run, tmp_path: Path, commands: Commands, given: list[str], said: str
) -> None:
    """Nothing is started and nothing written."""
    outcome = run("record", "-o", tmp_path / "a.jsonl", *given, "--", "server")

    assert said_of(outcome).endswith(said)
    assert ([], []) == (commands, [*tmp_path.iterdir()])


def test_requests_in_the_order_written(run: Run, tmp_path: Path) -> None:
    """Calls and requests, also among each other; a line for each answer; status 1 for an error."""
    file = tmp_path / "a.jsonl"
    mock = tmp_path / "mock.toml"
    mock.write_text('[[tool]]\nname = "a"\nreply = "{{x}}"\n')
    given = [
        "--call",
        'a{"x": "1"}',
        "--request",
        "x/y\t{}",
        "--call",
        'a {"x": "password=s3cret99"}',
    ]
    command = [sys.executable, "-m", "mcpmock", "replay", "-q", mock]

    status, out, _ = run("record", "-q", "-o", file, "--list", *given, "--", *command)
    assert 1 == status
    tools, first, other, last = out.splitlines()
    assert ("tools/list: a", "a: 1") == (tools, first)
    assert other.startswith("x/y: -3")
    assert last == "a: password=mcpmock:secret:password:1"
    assert load(file).takes[0].sealed


def test_a_server_that_ends_before_the_first_request(run: Run, tmp_path: Path) -> None:
    """One line says so, and the status is 1."""
    server = [sys.executable, "-c", "raise SystemExit(0)"]
    status, out, err = run("record", "-o", tmp_path / "a.jsonl", "--list", "--", *server)

    said = "mcpmock: `initialize`: no answer: the server ended\n"
    assert (1, "", said) == (status, out, err)


def test_a_file_that_is_no_cassette(run: Run, tmp_path: Path, commands: Commands) -> None:
    """It is refused with one line and status 3, and nothing is started."""
    (tmp_path / "a").write_text("dear diary\n")
    status, out, err = run("record", "-o", tmp_path / "a", "server")

    assert (3, "", []) == (status, out, commands)
    assert f"mcpmock: {tmp_path}/a: is not a cassette" in err
    assert 1 == err.count("\n")


@pytest.mark.parametrize(("found", "code"), [(True, 126), (False, 127)])
def test_a_server_that_cannot_start(
    run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    commands: Commands,
    found: bool,
    code: int,
) -> None:
    """One line, a shell's status, and no file; nothing hostile in the name gets through."""

    async def start(_command: Sequence[str]) -> MemoryChannel:
        raise CannotStart("\x1b[2J", "no", found=found)

    monkeypatch.setattr(servers, "start_process", start)

    assert (code, "", "mcpmock: cannot start \\u001b[2J: no\n") == run(
        "record", "-o", tmp_path / "a", "server"
    )
    assert [] == list(tmp_path.iterdir())


def test_an_incomplete_recording(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, commands: Commands
) -> None:
    """The status is 5, and it is said when it happens and at the end."""

    def full(_file: TakeFile, _lines: list[bytes]) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(TakeFile, "append", full)
    status, _, err = run("record", "-o", tmp_path / "a", "server")

    assert 5 == status
    assert [
        f"mcpmock: {tmp_path}/a: cannot record: No space left on device; the session goes on",
        f"mcpmock: {tmp_path}/a: 3 of 3 events were not recorded: No space left on device",
    ] == err.splitlines()


@pytest.mark.parametrize("killed", [False, True])
def test_watch_beside_a_recording(tmp_path: Path, killed: bool) -> None:
    """The page is served by a process of its own, said on stderr; it ends with the recorder,
    also if that is killed.
    """
    file = tmp_path / "a.jsonl"
    record = [sys.executable, "-m", "mcpmock", "record", "--watch", "-o", str(file), "--", "cat"]
    with subprocess.Popen(record, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as recorder:
        assert recorder.stdin is not None
        assert recorder.stderr is not None
        line = recorder.stderr.readline().decode()
        found = re.fullmatch(r"mcpmock: watch the recording at http://(.*):(\d+)/#token=.+\n", line)
        assert found, line
        page = socket.create_connection((found[1], int(found[2])), timeout=10)
        if killed:
            recorder.kill()
        else:
            recorder.stdin.close()
        assert recorder.wait(10) == (-signal.SIGKILL if killed else 0)
        assert b"" == recorder.stderr.read()
    with page:
        assert b"" == page.recv(1)
