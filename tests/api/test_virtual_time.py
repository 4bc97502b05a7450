"""Time in memory: on a mock clock of trio waits cost nothing, under asyncio they are cut."""

from __future__ import annotations

import asyncio  # noqa: TID251 (the SDK's users run on it)
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock

import mcpmock
from mcpmock.cassette.model import event_line
from mcpmock.stubs.builder import Stub
from tests.stubs.stub_support import asks
from tests.support import HEADER, INITIALIZED, c2s, request, s2c, slow_call
from tests.support.weather import ASK, HELLO, LISTED, TOLD, TOOLS

mcp = pytest.importorskip("mcp")


@pytest.fixture
def slow(tmp_path: Path) -> Path:
    """A server that takes half a minute for everything, and never answers the last call."""
    opening = request(0, "initialize", {"protocolVersion": "2025-11-25"})
    frames = [c2s(opening), s2c(HELLO), c2s(INITIALIZED), c2s(TOOLS), s2c(LISTED)]
    frames += [c2s(ASK), s2c(TOLD), c2s(asks(3, "get_weather", city="Atlantis"))]
    lines = [event_line(n, n * 30_000_000, frame) for n, frame in enumerate(frames, 1)]
    file = tmp_path / "slow.jsonl"
    file.write_bytes(HEADER + b"".join(lines))
    return file


def on_a_mock_clock(main: Any) -> Any:
    return trio.run(main, clock=MockClock(autojump_threshold=0))


def test_recorded_waits(slow: Path) -> None:
    """The client of the SDK waits for each answer as long as it took, on its own clock."""

    async def main() -> None:
        began = trio.current_time()
        transport = mcpmock.connect(slow, timing="recorded")
        async with mcp.Client(transport, mode="legacy") as client:
            assert 30 == trio.current_time() - began
            result = await client.call_tool("get_weather", {"city": "Oslo"})
            assert "rain" == result.content[0].text
            assert 60 <= trio.current_time() - began <= 90  # it may look at the tools first

    on_a_mock_clock(main)


def test_a_timeout_of_the_client(slow: Path) -> None:
    """Half a minute is over at once where the recorded server never answered."""

    async def main() -> None:
        async with mcp.Client(mcpmock.connect(slow), mode="legacy") as client:
            began = trio.current_time()
            with pytest.raises(Exception, match=r"(?i)timed out"):
                await client.call_tool("get_weather", {"city": "Atlantis"}, read_timeout_seconds=30)
            assert 30 == trio.current_time() - began

    on_a_mock_clock(main)


def test_a_fault_that_never_answers(slow: Path) -> None:
    """A plan makes the same of a call that was answered; of the recorded waits nothing is lost."""

    async def main() -> None:
        transport = mcpmock.connect(
            slow, timing="recorded", faults="never_respond:method=tools/call"
        )
        async with mcp.Client(transport, mode="legacy") as client:
            began = trio.current_time()
            with pytest.raises(Exception, match=r"(?i)timed out"):
                await client.call_tool("get_weather", {"city": "Oslo"}, read_timeout_seconds=30)
            assert 30 == trio.current_time() - began

    on_a_mock_clock(main)


def test_a_stub_that_hangs() -> None:
    """And where nobody answers on purpose; the session is good for more."""
    stub = Stub().tool("slow").hang().reply("late", after="29s")

    async def main() -> None:
        async with mcp.Client(mcpmock.connect(stub)) as client:
            with pytest.raises(Exception, match=r"(?i)timed out"):
                await client.call_tool("slow", read_timeout_seconds=30)
            began = trio.current_time()
            result = await client.call_tool("slow", read_timeout_seconds=30)
            assert "late" == result.content[0].text
            assert 29 == trio.current_time() - began

    on_a_mock_clock(main)


def test_a_client_that_leaves_a_server_that_stays(slow: Path) -> None:
    """Its end comes once; nothing runs on while the server ignores it."""

    async def main() -> None:
        transport = mcpmock.connect(slow, faults="ignore_eof")
        async with transport as (read, write):
            await write.aclose()
            with trio.move_on_after(30) as patience:
                await read.receive()
            assert patience.cancelled_caught

    on_a_mock_clock(main)


async def test_frames_on_the_clock_of_the_caller(slow: Path, autojump_clock: MockClock) -> None:
    """`replay` needs no SDK; its time is exact."""
    async with mcpmock.replay(slow, timing="recorded") as server:
        channel = server.open()
        began = trio.current_time()
        channel.send_nowait([c2s(request(0, "initialize")), c2s(INITIALIZED), c2s(TOOLS)])
        heard: list[bytes] = []
        while len(heard) < 2:
            heard += [frame.raw for frame in await channel.receive()]

        assert ([HELLO, LISTED], 30) == (heard, trio.current_time() - began)


def test_asyncio_has_a_real_clock(slow: Path) -> None:
    """Recorded pauses are cut at a tenth of a second, each."""

    async def main() -> float:
        loop = asyncio.get_running_loop()
        began = loop.time()
        transport = mcpmock.connect(slow, timing="recorded")
        async with mcp.Client(transport, mode="legacy"):
            return loop.time() - began

    assert 0.1 <= asyncio.run(main()) < 10


@pytest.mark.parametrize(
    ("fault", "seconds"), [("delay:delay=50ms", 0.05), ("slicer:size=20,delay=10ms", 0.04)]
)
def test_progress_that_a_fault_delays(tmp_path: Path, fault: str, seconds: float) -> None:
    """Arrives, whole, and what belongs to the same call waits behind it."""
    file, seen = tmp_path / "call.jsonl", list[tuple[float, float]]()
    file.write_bytes(slow_call.CASSETTE)

    async def show(progress: float, *_: Any) -> None:
        seen.append((progress, round(trio.current_time(), 6)))

    async def main() -> None:
        faults = f"{fault},method=notifications/progress,nth=1"
        with mcpmock.serve(file, faults=faults, repeats="last") as server:
            async with mcp.Client(server.transport(), mode="legacy") as client:
                await client.call_tool("slow", {}, progress_callback=show)
                assert seconds <= trio.current_time()
            assert ["1", "2"] == [
                frame.raw[-3:-2].decode() for frame in server.log.last if b"/progress" in frame.raw
            ]

    on_a_mock_clock(main)

    assert [(1.0, seconds), (2.0, seconds)] == seen
