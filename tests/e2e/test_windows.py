"""mcpmock on Python for Windows, under Wine: what it prints and writes is what it does here, and
clients outside talk to it. What is refused there is in tests/laws/test_platforms.py.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.support.processes import END, MCPMOCK, exits, takes, whole_take

from . import parts

pytestmark = [pytest.mark.e2e, pytest.mark.parts, pytest.mark.windows, pytest.mark.timeout(600)]

ROOT = Path(__file__).parents[2]
PART = parts.PARTS / "windows"
PYTHON = f"Z:{PART}/python/python.exe".replace("/", "\\")
SLOW = 300.0
"""A start under Wine takes seconds, on a busy machine many."""
PLAIN = {"PYTHONUTF8": "1", "NO_COLOR": "1"}
OVER_HTTP = "replay", "time.jsonl", "--listen", "127.0.0.1:0"
TESTS = """
import asyncio
import socket
import pytest
from mcp import Client
from mcp.client.stdio import stdio_client

TOOLS = ["get_current_time", "convert_time"]

async def tools_of(server):
    async with Client(server) as client:
        return [tool.name for tool in (await client.list_tools()).tools]

@pytest.mark.mcpmock("time.jsonl")
def test_transport(mcpmock_server):
    assert TOOLS == asyncio.run(tools_of(mcpmock_server.transport()))

@pytest.mark.mcpmock("time.jsonl")
def test_url(mcpmock_server):
    assert TOOLS == asyncio.run(tools_of(mcpmock_server.url))

@pytest.mark.mcpmock("time.jsonl")
def test_stdio(mcpmock_server):
    port, token = mcpmock_server.command[-1].split(":")
    strangers = [socket.create_connection(("127.0.0.1", int(port))) for _ in range(5)]
    said = (b"", b"x", bytes(48), token.encode(), bytes.fromhex(token))
    for stranger, words in zip(strangers, said):
        stranger.sendall(words)
    strangers.pop().close()
    assert TOOLS == asyncio.run(tools_of(stdio_client(mcpmock_server.stdio)))
"""
CLIENT = """
import asyncio, os, sys
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

def server():
    if len(sys.argv) == 2:
        return sys.argv[1]
    command = sys.executable, sys.argv[1:], dict(os.environ)
    return stdio_client(StdioServerParameters(command=command[0], args=command[1], env=command[2]))

async def main():
    async with Client(server()) as client:
        print(len((await client.list_tools()).tools))
        print((await client.call_tool("convert_time", {
            "source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Kathmandu",
        })).is_error)

asyncio.run(main())
"""

REPLAY = "-m", "mcpmock", "replay", "-q", "time.jsonl"
ECHO = "import sys, shutil; shutil.copyfileobj(sys.stdin.buffer, sys.stdout.buffer)"
ANSWERS = """
import json, sys
events = [json.loads(line) for line in open("time.jsonl", "rb")]
answers = {one["m"]["id"]: one["m"] for one in events if one.get("d") == "s2c" and "m" in one}
for line in sys.stdin:
    print(json.dumps(answers[json.loads(line)["id"]]), flush=True)
"""
STAYS = """
import json, socket, subprocess, sys, time
HOLD = "import socket, sys; socket.create_connection(('127.0.0.1', int(sys.argv[1]))).recv(1)"
held = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
subprocess.Popen([sys.executable, "-c", HOLD, sys.argv[1]])
for line in sys.stdin:
    if "id" in (message := json.loads(line)):
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": {}}), flush=True)
time.sleep(3600)
"""
# Wine has no Ctrl-Break: this is what Python makes of one.
BREAKS = """
import signal, socket, sys, threading
from mcpmock.cli import main

def press():
    socket.create_connection(("127.0.0.1", int(sys.argv.pop()))).recv(1)
    signal.raise_signal(signal.SIGBREAK)

threading.Thread(target=press, daemon=True).start()
main()
"""


class Windows:
    """Programs for Windows, in a folder with a recording. They get pipes: Python finds none of its
    streams in other files under Wine.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._environment = {
            **os.environ,
            "PYTHONPATH": f"Z:{ROOT}",
            "PYTHONPYCACHEPREFIX": f"Z:{PART}/cache",
            **PLAIN,
        }

    def start(self, *words: str) -> subprocess.Popen[bytes]:
        pipe = subprocess.PIPE
        command = [str(PART / "wine"), str(PART / "python/python.exe"), *words]
        return subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=pipe, cwd=self.folder, env=self._environment
        )

    def run(self, *words: str) -> tuple[int, str, str]:
        """The status, and what it printed, with line ends as here."""
        with self.start(*words) as process:
            out, err = process.communicate(timeout=SLOW)
        printed, complained = (text.decode().replace("\r\n", "\n") for text in (out, err))
        return process.returncode, printed, complained

    def mcpmock(self, *words: str) -> tuple[int, str, str]:
        return self.run("-m", "mcpmock", *words)


@pytest.fixture(scope="module")
def _services() -> Iterator[None]:
    """The services of Wine, which hold the streams of the program that needed them first."""
    if reason := parts.not_installed("windows", "Python for Windows"):
        pytest.skip(reason)
    with Windows(PART).start("-c", "print(flush=True); input()") as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield
        process.kill()


@pytest.fixture
def windows(_services: None, tmp_path: Path) -> Windows:
    shutil.copy(ROOT / "cassettes/time.jsonl", tmp_path)
    return Windows(tmp_path)


@contextmanager
def listening(process: subprocess.Popen[bytes]) -> Iterator[str]:
    """The URL that a program prints first."""
    with process:
        try:
            assert process.stderr is not None
            yield process.stderr.readline().decode().split()[-1]
        finally:
            process.kill()


def native(folder: Path, *words: str) -> tuple[int, str, str]:
    environment = {**os.environ, **PLAIN}
    with subprocess.Popen(
        [*MCPMOCK, *words],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
    ) as process:
        out, err = process.communicate(timeout=END)
    return process.returncode, out.decode(), err.decode()


@pytest.mark.parametrize(
    "words",
    [
        ("show", "time.jsonl"),
        ("stats", "time.jsonl", "--json"),
        ("report", "time.jsonl", "-o", "new.html"),
        ("convert", "time.jsonl", "-o", "new.har"),
        ("merge", "time.jsonl", "time.jsonl", "-o", "new.jsonl"),
        ("redact", "time.jsonl", "-o", "new.jsonl"),
        ("faults", "drop"),
    ],
    ids=lambda words: words[0],
)
def test_reading(windows: Windows, words: tuple[str, ...]) -> None:
    """What it prints and the files that it writes are those of other systems, byte for byte."""
    found = windows.mcpmock(*words)
    written = {file: file.read_bytes() for file in windows.folder.glob("new.*")}
    for file in written:
        file.unlink()
    expected = native(windows.folder, *words)
    assert found[1].splitlines() == expected[1].splitlines()
    assert found == expected
    assert written == {file: file.read_bytes() for file in windows.folder.glob("new.*")}


def test_a_fake_server(windows: Windows) -> None:
    """A client of the official SDK outside, and a recorded one, have their answers."""
    if reason := parts.not_installed("py2", "PyPI mcp"):
        pytest.skip(reason)
    python = str(parts.PARTS / "py2" / "bin" / "python")
    with listening(windows.start("-m", "mcpmock", *OVER_HTTP)) as url:
        client = [python, "-c", CLIENT, url]
        done = subprocess.run(client, capture_output=True, check=False, text=True, timeout=END)
        assert done.stdout.split() == ["2", "False"], done.stderr
    with listening(windows.start("-m", "mcpmock", *OVER_HTTP)) as url:
        assert 0 == native(windows.folder, "verify", "time.jsonl", "--url", url)[0]


def test_a_server_outside(windows: Windows) -> None:
    """It is driven, recorded and compared from there; its recordings are as good as others."""
    command = [sys.executable, "-m", "mcpmock", *OVER_HTTP]
    pipe = subprocess.PIPE
    served = subprocess.Popen(command, cwd=windows.folder, stdin=pipe, stdout=pipe, stderr=pipe)
    with listening(served) as url:
        driven = windows.mcpmock("verify", "time.jsonl", "--url", url)
        assert driven[0] == 0, driven
        driven = windows.mcpmock("drive", "time.jsonl", "-o", "driven.jsonl", "--url", url)
        assert driven[0] == 0, driven
        listed = windows.mcpmock("record", "-o", "new.jsonl", "--list", "--url", url, "--json")
        assert listed[0] == 0, listed
        for words in (("record", "-o", "through.jsonl"), ("proxy", "--listen", "127.0.0.1:0")):
            with listening(windows.start("-m", "mcpmock", *words, "--url", url)) as between:
                compared = native(windows.folder, "verify", "time.jsonl", "--url", between)
                assert compared[0] == 0, compared
    assert 0 == native(windows.folder, "diff", "time.jsonl", "driven.jsonl")[0]
    assert 0 == native(windows.folder, "check", "new.jsonl")[0]
    assert b'"method":"tools/call"' in (windows.folder / "through.jsonl").read_bytes()


def test_tests(windows: Windows) -> None:
    """The fixtures give their server in memory, over HTTP and over stdio, there only to the client
    that they name: others may connect to the port, and say what they like.
    """
    (windows.folder / "test_it.py").write_text(TESTS)
    plugins = ("-p", "mcpmock.pytest_plugin", "-p", "no:cacheprovider")
    status, out, err = windows.run("-m", "pytest", "-q", *plugins, "test_it.py")
    assert (status, "3 passed" in out) == (0, True), out + err


def test_refusals(windows: Windows) -> None:
    """What it cannot do there is refused in a line, before anything starts."""
    status, out, err = windows.mcpmock("explore", "time.jsonl", "--", "python")
    assert (2, "", 1) == (status, out, err.count("\n")), err
    assert "does not work on this operating system" in err


def test_stdio_of_a_client(windows: Windows) -> None:
    """One of the official SDK there is recorded with its server, which is a replay."""
    words = ("-m", "mcpmock", "record", "-o", "new.jsonl", "--", PYTHON, *REPLAY)
    status, out, err = windows.run("-c", CLIENT, *words)
    assert (0, ["2", "False"]) == (status, out.split()), err
    assert [{"exit": 0}] == exits(whole_take(windows.folder / "new.jsonl"))
    assert 0 == native(windows.folder, "check", "new.jsonl")[0]


def test_stdio_of_a_server(windows: Windows) -> None:
    """A command is found as the shell of Windows finds it, and driven."""
    (windows.folder / "server.py").write_text(ANSWERS)
    (windows.folder / "server.cmd").write_text(f'@"{PYTHON}" server.py\r\n')
    driven = windows.mcpmock("drive", "time.jsonl", "-o", "new.jsonl", "--", "server")
    assert driven[0] == 0, driven
    assert 0 == native(windows.folder, "diff", "time.jsonl", "new.jsonl")[0]


@pytest.mark.parametrize(
    ("program", "data", "result"),
    [
        (ECHO, b"\x1a\r\n\xff\n" + bytes(200_000) + b"\n{}", 0),
        ("import sys; sys.exit(5)", b"", 5),
        ("import ctypes; ctypes.windll.kernel32.ExitProcess(0xC0000005)", b"", 5),
    ],
    ids=["bytes", "crash", "fault"],
)
def test_stdio_of_a_program(windows: Windows, program: str, data: bytes, result: int) -> None:
    """Bytes pass as they are, and the status of the server is that of mcpmock (here the last of
    four bytes).
    """
    with windows.start("-m", "mcpmock", "proxy", "--", PYTHON, "-c", program) as process:
        out, err = process.communicate(data, timeout=SLOW)
    assert (result, data) == (process.returncode, out), err


@pytest.mark.parametrize("killed", [False, True])
def test_children_end(windows: Windows, killed: bool) -> None:
    """A server that does not end is ended, with what it started, also where mcpmock is killed."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(SLOW)
        port = str(listener.getsockname()[1])
        verb = ("proxy",) if killed else ("drive", "time.jsonl", "-o", "new.jsonl")
        command = ("-m", "mcpmock", *verb, "--", PYTHON, "-c", STAYS, port)
        with windows.start(*command) as process, ExitStack() as held:
            connections = [held.enter_context(listener.accept()[0]) for _ in range(2)]
            if killed:
                process.kill()
            for connection in connections:
                connection.settimeout(SLOW)
                assert b"" == connection.recv(1)
    if not killed:
        recorded = takes(windows.folder / "new.jsonl")
        assert [[{"exit": 137}]] * 2 == [exits(take) for take in recorded]


def test_ctrl_break(windows: Windows) -> None:
    """It ends a session, and the recording is whole."""
    (first, *_), *_ = (take.events for take in takes(windows.folder / "time.jsonl"))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(SLOW)
        port = str(listener.getsockname()[1])
        words = ("replay", "time.jsonl", "--record", "new.jsonl", port)
        with windows.start("-c", BREAKS, *words) as process, listener.accept()[0]:
            stdin, stdout = process.stdin, process.stdout
            assert stdin is not None
            assert stdout is not None
            assert first.payload is not None
            stdin.write(bytes(first.payload) + b"\n")
            stdin.flush()
            assert b"serverInfo" in stdout.readline()
        assert 128 + 21 == process.returncode
    assert whole_take(windows.folder / "new.jsonl").events
