"""The Client of the installed SDK against a fake server in its own event loop."""

from __future__ import annotations

import asyncio  # noqa: TID251 (the SDK's users run on it)
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import trio

import mcpmock
from mcpmock.api.memory import _Pump
from mcpmock.protocol.reassembly import MAX_MESSAGE_BYTES

mcp = pytest.importorskip("mcp")
Run = Callable[[Callable[[], Awaitable[Any]]], Any]


@pytest.fixture(params=["asyncio", "trio"])
def run(request: pytest.FixtureRequest) -> Run:
    """Both event loops that the SDK runs on."""
    if request.param == "trio":
        return lambda main: trio.run(main)
    return lambda main: asyncio.run(main())  # type: ignore[arg-type]


def test_a_client(run: Run, weather: Path) -> None:
    """It gets what was recorded, and a miss as an error that says so."""

    async def main() -> None:
        with mcpmock.serve(weather, misses="allow") as server:
            async with mcp.Client(server.transport(), mode="legacy") as client:
                result = await client.call_tool("get_weather", {"city": "Oslo"})
                assert "rain" == result.content[0].text
                with pytest.raises(Exception, match="nothing recorded answers tools/call"):
                    await client.call_tool("get_weather", {"city": "Rome"})
            server.assert_called("tools/call", times=2)
            assert server._place is None

    run(main)


def test_connect(run: Run, weather: Path) -> None:
    """One session without a server to hold."""

    async def main() -> None:
        async with mcp.Client(mcpmock.connect(weather), mode="legacy") as client:
            assert "2025-11-25" == client.protocol_version

    run(main)


def test_streams(run: Run, weather: Path) -> None:
    """What is no message of the protocol comes as the error; the end of the client ends both."""

    async def main() -> None:
        async with mcpmock.connect(weather) as (read, write):
            write.close()
            with pytest.raises(Exception) as raised:
                await read.receive()
            assert "EndOfStream" == type(raised.value).__name__

    run(main)


def test_a_message_of_any_length() -> None:
    """It is held already: the bound is for what comes in pieces over a wire."""
    found: list[int] = []
    pipeline: Any = SimpleNamespace(hung_up=None)
    codec: Any = SimpleNamespace(read=len)
    client = SimpleNamespace(send_nowait=found.append)
    frame = mcpmock.Frame(mcpmock.S2C, b"1" * (MAX_MESSAGE_BYTES + 1))
    _Pump(pipeline, codec, client, None)._send([[frame]])

    assert [MAX_MESSAGE_BYTES + 1] == found


def test_fastmcp(run: Run, weather: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it is loaded, what it gets is one of its transports, and still one of the SDK's."""
    base: Any = type("ClientTransport", (), {})
    module = SimpleNamespace(ClientTransport=base)
    monkeypatch.setitem(sys.modules, "fastmcp.client.transports", module)

    async def main() -> None:
        transport: Any = mcpmock.connect(weather)
        assert isinstance(transport, base)
        async with transport.connect_session() as session:
            assert "2025-11-25" == (await session.initialize()).protocol_version
        async with mcp.Client(mcpmock.connect(weather), mode="legacy") as client:
            assert client.server_capabilities is not None

    run(main)
