"""The weather cassette: one session, which many tests replay."""

from __future__ import annotations

from pathlib import Path

from mcpmock.cassette.model import event_line
from mcpmock.channels.channel import MessageChannel
from mcpmock.protocol.messages import Frame
from tests.support import HEADER, INITIALIZE, INITIALIZED, c2s, notification, request, response, s2c

HELLO = response(
    0,
    {
        "protocolVersion": "2025-11-25",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "weather", "version": "1"},
    },
)
TOOLS = request(1, "tools/list")
LISTED = response(1, {"tools": [{"name": "get_weather", "inputSchema": {"type": "object"}}]})
ASK = request(2, "tools/call", {"name": "get_weather", "arguments": {"city": "Oslo"}})
TOLD = response(2, {"content": [{"type": "text", "text": "rain"}]})


def write_weather(file: Path) -> Path:
    """One session: the handshake, the tools, and one call of a tool, which logs first."""
    log = notification("notifications/message", {"level": "info", "data": "looking"})
    listing = (c2s(TOOLS), s2c(LISTED))
    frames = (
        c2s(INITIALIZE),
        s2c(HELLO),
        c2s(INITIALIZED),
        *listing,
        c2s(ASK),
        s2c(log),
        s2c(TOLD),
    )
    lines = [event_line(n, n * 1_000_000, frame) for n, frame in enumerate(frames, 1)]
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(HEADER + b"".join(lines))
    return file


async def exchange(channel: MessageChannel, frame: Frame) -> list[bytes]:
    """The answers to a frame that a client sends."""
    channel.send_nowait([frame])
    return [frame.raw for frame in await channel.receive()]
