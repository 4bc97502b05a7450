"""Recordings of other tools: the real ones, and lines of mcpsnoop and of mcp-cassette (npm)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

DATA = Path(__file__).parents[1] / "convert" / "data"
REAL = ("mcp-rec.jsonl", "mcp-cassette.json")


def lines(*values: Any) -> bytes:
    """JSON Lines; a value may hold a message as bytes."""
    spelled = (json.dumps(value, default=lambda raw: json.loads(raw)) for value in values)
    return "".join(line + "\n" for line in spelled).encode()


def rec(ts: float, way: str, msg: Any) -> dict[str, Any]:
    return {"ts": ts, "dir": "client->server" if way == "c2s" else "server->client", "msg": msg}


def snoop(seq: int, direction: str, **more: Any) -> dict[str, Any]:
    """An envelope of mcpsnoop, a second after the one before."""
    ts = f"2026-08-08T10:00:{seq:02}.123456789Z"
    place = {"session_id": "srv-1-a", "server_label": "srv", "seq": seq, "ts": ts}
    return {**place, "direction": direction, "transport": "stdio", **more}


NPM = {
    "type": "header",
    "cassetteVersion": 2,
    "recorder": "mcp-cassette@0.3.0",
    "startedAt": "2026-08-15T09:00:00Z",
    "transport": "stdio",
    "command": ["npx", "-y", "srv"],
    "redaction": {"applied": True},
}
