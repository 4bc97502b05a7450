"""The vocabulary of the tests of stubs: sessions with one, alone or in front of a recording."""

from __future__ import annotations

from typing import Any

from mcpmock.playback.player import PlayerOptions, Report
from mcpmock.protocol.messages import decode
from mcpmock.protocol.methods import LATEST
from mcpmock.sessions.replay import Replay
from mcpmock.stubs.builder import Stub
from tests.support import INITIALIZED, Line, Script, cassette, notification, request

VERSION = "io.modelcontextprotocol/protocolVersion"
MODERN: dict[str, Any] = {VERSION: LATEST, "io.modelcontextprotocol/clientCapabilities": {}}


def session(stub: Stub, *events: Line, report: Report = lambda _: None, **playing: Any) -> Script:
    """What clients of this stub meet; behind it a recording of these events, or none."""
    recorded = cassette(*events)
    if not events:
        recorded.takes.clear()
    replay = Replay(recorded, PlayerOptions(**playing), report, stub.script)
    return Script(replay.stages(replay.bare_player()))


def opened(stub: Stub, *events: Line, revision: str = "2025-11-25", **playing: Any) -> Script:
    """The same, behind the handshake, at 0 s."""
    live = session(stub, *events, **playing)
    live.heard(request(0, "initialize", {"protocolVersion": revision}))
    live.heard(INITIALIZED)
    return live


def asks(id_: Any, tool: str, token: Any = None, **arguments: Any) -> bytes:
    """A call of a tool."""
    return request(id_, "tools/call", {"name": tool, "arguments": arguments}, token=token)


def modern(id_: Any, method: str, **params: Any) -> bytes:
    """A request of the era without sessions."""
    return request(id_, method, {**params, "_meta": MODERN})


def result(raws: list[bytes]) -> Any:
    """The result in the only message."""
    [raw] = raws
    return decode(raw)["result"]


def texts(raws: list[bytes]) -> list[str]:
    """The text in each result of a tool."""
    return [decode(raw)["result"]["content"][0]["text"] for raw in raws]


def log(text: str) -> bytes:
    """A log message of the server's."""
    return notification("notifications/message", {"level": "info", "data": text})
