"""A real server recorded by a program."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import mcpmock
from mcpmock.api.targets import command_words
from mcpmock.errors import CannotStart
from mcpmock.protocol.messages import C2S
from tests.support import INITIALIZE, c2s, hangs_up
from tests.support.weather import HELLO


@pytest.mark.e2e
async def test_record(weather: Path, tmp_path: Path) -> None:
    """What passed is in the file, sealed; the server was a process."""
    output = tmp_path / "new.jsonl"
    with mcpmock.serve(weather) as server:
        async with mcpmock.record(output, server=server.command) as channel:
            channel.send_nowait([c2s(INITIALIZE)])
            assert [HELLO] == [frame.raw for frame in await channel.receive()]
            channel.send_nowait([hangs_up(C2S)])
    [take] = mcpmock.load(output).takes

    assert take.sealed
    assert [INITIALIZE, HELLO] == [event.payload for event in take.events if event.payload]


@pytest.mark.e2e
async def test_faults(weather: Path, tmp_path: Path) -> None:
    """What the client got is recorded, and a receipt."""
    output = tmp_path / "new.jsonl"
    with mcpmock.serve(weather) as server:
        how: dict[str, Any] = {"server": server.command, "faults": "error:message=no luck"}
        async with mcpmock.record(output, **how) as channel:
            channel.send_nowait([c2s(INITIALIZE)])
            assert b"no luck" in (await channel.receive())[0].raw
            channel.send_nowait([hangs_up(C2S)])
    data = output.read_bytes()

    assert b"no luck" in data
    assert b'"kind":"error"' in data


async def test_which_server(tmp_path: Path) -> None:
    """One has to be named, and to be there; no file is left behind."""
    output = tmp_path / "new.jsonl"
    with pytest.raises(TypeError, match="give either server="):
        async with mcpmock.record(output):
            pass
    with pytest.raises(CannotStart, match="no-such-server"):
        async with mcpmock.record(output, server=["no-such-server"]):
            pass
    assert not output.exists()


@pytest.mark.parametrize("server", ["python server.py", [], 7])
def test_what_is_no_command(server: object) -> None:
    """A text is not split into words."""
    with pytest.raises(TypeError, match="give the words of a command"):
        command_words(server)
