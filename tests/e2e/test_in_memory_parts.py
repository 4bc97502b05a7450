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
    with mcpmock.serve(sys.argv[1]) as server:
        async with server.transport() as streams, ClientSession(*streams) as session:
            await session.initialize()
            assert len((await session.list_tools()).tools) > 5
        server.assert_order("initialize", "tools/list")
        assert not server.misses

for backend in ("asyncio", "trio"):
    anyio.run(main, backend=backend)
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
    ("client", "part", "script"), [("fastmcp", "py2", FASTMCP), ("py1", "py1", VERSION_1)]
)
def test_in_memory(client: str, part: str, script: str, libraries: Path) -> None:
    """It gets the recorded tools, and its requests are noted."""
    if reason := missing(client):
        pytest.skip(reason)
    python = PARTS / part / "bin" / "python"
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{libraries}"}
    cassette = ROOT / "cassettes" / "everything.jsonl"
    command = [str(python), "-c", script, str(cassette)]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=60, check=False
    )

    assert 0 == done.returncode, done.stderr
