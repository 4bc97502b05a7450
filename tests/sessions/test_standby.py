"""The server on standby: what is open and written once a session needs it."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio

from mcpmock.cassette.file import load
from mcpmock.channels.channel import MemoryChannel, memory_pair
from mcpmock.errors import CannotStart, CassetteError
from mcpmock.sessions.servers import Reach, Server
from mcpmock.sessions.standby import standing_by
from mcpmock.sessions.take import Recording

REACH = Reach(say=lambda _line: None)


class InMemory(Server):
    """A server whose end the test sees, or that cannot start."""

    described = "memory"

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.ours, self.theirs = memory_pair()

    async def open(self, reach: Reach, front: object = None) -> MemoryChannel:
        if self.error is not None:
            raise self.error
        return self.ours


@pytest.mark.parametrize("recorded", [False, True])
async def test_a_session_that_needs_the_server(tmp_path: Path, recorded: bool) -> None:
    """It has the server; there is a take where one is wanted."""
    file, server = tmp_path / "a.jsonl", InMemory()
    recording = Recording(output=file) if recorded else None
    async with standing_by(server, recording, "stdio", REACH) as standby:
        recorder, _ = standby.session(3)
        assert server.ours is await standby._open(recorder, 3)
        assert standby.needed

    assert (recorded, recorded) == (recorder.recorder is not None, file.exists())
    assert not recorded or load(file).takes[0].sealed


async def test_a_server_that_cannot_be_opened(tmp_path: Path) -> None:
    """It is no reason for a take."""
    file, server = tmp_path / "a.jsonl", InMemory(CannotStart("x", "no such file", found=False))
    async with standing_by(server, Recording(output=file), "stdio", REACH) as standby:
        with pytest.raises(CannotStart):
            await standby._open(standby.session(1)[0], 1)

    assert not file.exists()


async def test_a_take_that_cannot_be_opened(tmp_path: Path) -> None:
    """The server is closed again."""
    server = InMemory()
    recording = Recording(output=tmp_path / "missing" / "a.jsonl")
    async with standing_by(server, recording, "stdio", REACH) as standby:
        with pytest.raises(CassetteError):
            await standby._open(standby.session(1)[0], 1)
        with trio.fail_after(1), pytest.raises(trio.EndOfChannel):
            await server.theirs.receive()
