"""A recorded client played to a real server."""

from __future__ import annotations

from pathlib import Path

import pytest

import mcpmock
from mcpmock.semantic_diff.compare import Verdict


@pytest.fixture
def snow(weather: Path) -> Path:
    """The same server, with another answer."""
    file = weather.with_name("snow.jsonl")
    file.write_bytes(weather.read_bytes().replace(b"rain", b"snow"))
    return file


@pytest.mark.e2e
async def test_drive(weather: Path, snow: Path) -> None:
    """A server that does what it did: nothing differs. One that does not: it is said how."""
    with mcpmock.serve(weather) as same:
        async with mcpmock.drive(weather, server=same.command) as driven:
            assert (0, None) == (driven.status, driven.diff().worst)
    with mcpmock.serve(snow) as other:
        async with mcpmock.drive(weather, server=other.command) as driven:
            assert isinstance(driven.diff().worst, Verdict)
            assert driven.diff(ignore=["tools/call get_weather $.result"]).worst is None


@pytest.mark.e2e
async def test_faults(weather: Path) -> None:
    """They happen next to the client, and are in what was recorded meanwhile."""
    fault = "error:tool=get_*,message=no luck"
    with mcpmock.serve(weather) as server:
        async with mcpmock.drive(weather, server=server.command, faults=fault, seed=2) as driven:
            assert 1 == driven.faults.fired("error")
            assert 2 == driven.faults.seed
            assert driven.diff().worst is not None
