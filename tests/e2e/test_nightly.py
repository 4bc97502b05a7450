"""The nightly job of the manual: the servers are recorded again, the recordings formatted, and git
sees no difference, though it is another folder, another interpreter and another time.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

from .parts import missing, not_installed, prepare, server

pytestmark = pytest.mark.parts

MANUAL = Path(__file__).parents[2] / "mcpmock" / "help" / "ci.md"
FASTMCP = """
from fastmcp import FastMCP

server = FastMCP("counting")


@server.tool
def add(a: int, b: int) -> int:
    return a + b


server.run()
"""
LOGGING = """
import logging
import os
import sys
import time

from mcp.server.mcpserver import MCPServer

logging.basicConfig(format="%(asctime)s %(process)d %(name)s %(message)s", level=logging.DEBUG)
server = MCPServer("log", version="1")


@server.tool()
def now() -> str:
    logging.info("called in %s, after %f s", os.getcwd(), time.perf_counter())
    print("a line of its own", time.time(), file=sys.stderr)
    return "soon"


server.run()
"""
TESTS = """
import sys
from pathlib import Path

import anyio
import pytest
from mcp import Client

HERE = Path(__file__).parent
pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.mark.mcpmock(server=[{python!r}, str(HERE / "counting.py")])
async def test_fastmcp(mcpmock_server):
    async with Client(mcpmock_server.transport()) as client:
        assert (await client.call_tool("add", {{"a": 2, "b": 3}})).content[0].text == "5"


@pytest.mark.mcpmock(server={everything!r})
async def test_everything(mcpmock_server):
    # Of itself the server says that its tools have changed: before the next request, or behind it.
    changed = anyio.Event()

    async def note(message):
        changed.set()

    async with Client(mcpmock_server.transport(), message_handler=note) as client:
        await changed.wait()
        await client.list_tools()
        await client.call_tool("echo", {{"message": "hello"}})


GIT = [{python!r}, "-m", "mcp_server_git", "--repository", str(HERE / "repo")]


@pytest.mark.mcpmock(server=GIT)
async def test_git(mcpmock_server):
    async with Client(mcpmock_server.transport()) as client:
        await client.call_tool("git_log", {{"repo_path": "repo", "max_count": 2}})


@pytest.mark.mcpmock(server=[sys.executable, str(HERE / "logging_server.py")])
async def test_a_server_that_logs_the_time(mcpmock_server):
    async with Client(mcpmock_server.transport()) as client:
        assert (await client.call_tool("now", {{}})).content[0].text == "soon"
"""


def another_interpreter(folder: Path) -> str:
    """An environment of its own, with the packages of this one."""
    venv.create(folder, symlinks=True)
    packages = sysconfig.get_path("purelib", vars={"base": str(folder), "platbase": str(folder)})
    lines = [sysconfig.get_path("purelib"), str(Path(__file__).parents[2])]
    (Path(packages) / "shared.pth").write_text("\n".join(lines))
    return str(folder / "bin" / "python")


def nightly(python: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """What the manual runs each night."""
    [job] = re.findall(r"^- run: (pytest --mcp-record=all .*?) +#", MANUAL.read_text("utf-8"), re.M)
    program = f"{python} -m"
    typed = job.replace("pytest", f"{program} pytest", 1).replace(
        "mcpmock fmt", f"{program} mcpmock fmt"
    )
    plugins = {"PYTEST_ADDOPTS": "-p anyio -p mcpmock.pytest_plugin"}
    return subprocess.run(
        ["sh", "-c", typed],
        cwd=folder,
        env={**os.environ, **plugins},
        capture_output=True,
        text=True,
        timeout=100,
    )


def git(folder: Path, *words: str) -> str:
    words = ("-c", "user.name=a", "-c", "user.email=a@example.com", *words)
    done = subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout


@pytest.mark.skipif(not_installed("py2", "FastMCP") is not None, reason="e2e_parts.sh py2")
@pytest.mark.skipif(missing("everything") is not None, reason="e2e_parts.sh npm")
def test_a_server_that_changed_is_a_difference_and_no_other(tmp_path: Path) -> None:
    """The job is red where a server answers otherwise."""
    one, two = tmp_path / "one", tmp_path / "two" / "deeper"
    one.mkdir()
    shared = server("git", one)[0]
    texts = {"python": shared, "everything": server("everything", one)}
    (one / "counting.py").write_text(FASTMCP)
    (one / "logging_server.py").write_text(LOGGING)
    (one / "test_servers.py").write_text(TESTS.format(**texts))
    (one / "pytest.ini").write_text("[pytest]\naddopts = -p no:cacheprovider\n")
    (one / ".gitignore").write_text("repo/\n__pycache__/\n")
    git(one, "init", "--quiet")
    prepare("git", one)
    first = nightly(sys.executable, one)
    recorded = {path.name: path.read_text("utf-8") for path in one.rglob("cassettes/**/*.jsonl")}
    git(one, "add", ".")
    git(one, "commit", "--quiet", "-m", "recorded")
    git(tmp_path, "clone", "--quiet", str(one), str(two))
    prepare("git", two)
    python = another_interpreter(tmp_path / "venv")
    second = nightly(python, two)

    assert 4 == len(recorded), first.stdout
    assert ("", 0) == (git(two, "diff"), second.returncode), second.stdout + second.stderr
    assert "" == git(two, "status", "--porcelain", "--untracked-files=all", "cassettes")
    assert [] == [name for name, text in recorded.items() if str(tmp_path) in text]

    opening, *_, last = (two / "test_servers.py").read_text().split("@pytest.mark.mcpmock")
    (two / "test_servers.py").write_text(f"{opening}@pytest.mark.mcpmock{last}")
    (two / "logging_server.py").write_text(LOGGING.replace("now()", "now(why: str = '')"))
    changed = nightly(python, two)

    assert 1 == changed.returncode, changed.stderr
    assert '+{"n":' in changed.stdout
