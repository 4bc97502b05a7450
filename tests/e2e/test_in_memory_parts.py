"""The fake server in memory for the clients that people have: FastMCP, and the SDK's version 1."""

from __future__ import annotations

import os
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest

from .parts import PARTS, missing

pytestmark = [pytest.mark.parts, pytest.mark.e2e]
ROOT = Path(__file__).parents[2]
NEEDED: tuple[str, ...] = (
    "trio",
    "attr",
    "attrs",
    "msgspec",
    "h11",
    "truststore",
    "outcome",
    "sortedcontainers",
)
NEEDED += ("sniffio", "jsonpath", "idna")
FASTMCP = """
import asyncio, sys, mcpmock
from fastmcp import Client

async def main():
    with mcpmock.serve(sys.argv[1]) as server:
        async with Client(server.transport()) as client:
            assert len(await client.list_tools()) > 5
        server.assert_called("tools/list", times=1)
        assert not server.misses

asyncio.run(main())
"""
VERSION_1 = """
import anyio, sys, mcpmock
from mcp import ClientSession

async def main():
    for cassette in sys.argv[1:]:
        await meet(cassette)

async def meet(cassette):
    with mcpmock.serve(cassette) as server:
        async with server.transport() as streams, ClientSession(*streams) as session:
            await session.initialize()
            assert len((await session.list_tools()).tools) > 5
        server.assert_order("initialize", "tools/list")
        assert not server.misses

for backend in ("asyncio", "trio"):
    anyio.run(main, backend=backend)
"""

FASTMCP_STUB = """
import asyncio, sys, mcpmock
from fastmcp import Client

async def main():
    stub = mcpmock.Stub().tool("now").reply({"hour": 12}).tool("echo")
    async with Client(mcpmock.connect(sys.argv[1], stub=stub)) as client:
        assert {"now", "echo"} <= {tool.name for tool in await client.list_tools()}
        assert (await client.call_tool("now")).structured_content == {"hour": 12}
    async with Client(mcpmock.connect(stub)) as client:
        assert (await client.call_tool("now")).structured_content == {"hour": 12}

asyncio.run(main())
"""
VERSION_1_STUB = """
import datetime, sys, mcpmock, trio
from mcp import ClientSession, McpError
from trio.testing import MockClock

async def main():
    stub = mcpmock.Stub().tool("now").reply("noon", after="29s").hang()
    async with mcpmock.connect(stub) as streams, ClientSession(*streams) as session:
        await session.initialize()
        half = datetime.timedelta(seconds=30)
        began = trio.current_time()
        result = await session.call_tool("now", read_timeout_seconds=half)
        assert result.content[0].text == "noon"
        assert trio.current_time() - began == 29
        try:
            await session.call_tool("now", read_timeout_seconds=half)
        except McpError as error:
            assert "Timed out" in str(error)
        assert trio.current_time() - began == 59

trio.run(main, clock=MockClock(autojump_threshold=0))
"""


@pytest.fixture
def libraries(tmp_path: Path) -> Path:
    """What we need, without the SDK that is installed here."""
    for name in NEEDED:
        spec = find_spec(name)
        assert spec is not None
        assert spec.submodule_search_locations is not None
        (tmp_path / name).symlink_to(next(iter(spec.submodule_search_locations)))
    return tmp_path


@pytest.mark.parametrize(
    ("client", "part", "script"),
    [
        pytest.param("fastmcp", "py2", FASTMCP + FASTMCP_STUB, id="fastmcp"),
        pytest.param("py1", "py1", VERSION_1 + VERSION_1_STUB, id="py1"),
    ],
)
def test_in_memory(client: str, part: str, script: str, libraries: Path) -> None:
    """It gets the recorded tools, also those of a later revision, and the stubbed ones, and its
    requests are noted; half a minute on a mock clock is none.
    """
    if reason := missing(client):
        pytest.skip(reason)
    python = PARTS / part / "bin" / "python"
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{libraries}"}
    cassettes = [ROOT / "cassettes" / f"{name}.jsonl" for name in ("everything", "git")]
    command = [str(python), "-c", script, *map(str, cassettes)]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=60, check=False
    )

    assert 0 == done.returncode, done.stderr
