"""What is said in every test of a kind, over every transport: the client's moves, each at its time,
and what the server says to each. All times are in seconds and dyadic, so that sums are exact.

The call of the tool `odd` is the one that most plans are for. That of `even` is under way at the
same time, and nothing of it may be touched.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from tests.support import notification, progress, request, response

INITIALIZE = request(0, "initialize", {"protocolVersion": "2025-11-25", "capabilities": {}})
WELCOME = response(
    0, {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}, "prompts": {}}}
)
INITIALIZED = notification("notifications/initialized")
ODD = request(1, "tools/call", {"name": "odd", "arguments": {}}, token="t")
PROGRESS = progress("t", 1)
ANSWER = response(1, {"content": [{"type": "text", "text": "größer"}]})
EVEN = request(2, "tools/call", {"name": "even", "arguments": {}}, token="u")
EVEN_PROGRESS = progress("u", 1)
EVEN_ANSWER = response(2, {"content": [{"type": "text", "text": "2"}]})
LIST = request(3, "tools/list")
LISTED = response(3, {"tools": [{"name": "odd"}, {"name": "even"}]})
ASKING = request(5, "tools/call", {"name": "asking", "arguments": {}})
ASK = request("s1", "sampling/createMessage", {"messages": [], "maxTokens": 1})
REPLY = response("s1", {"role": "assistant"})
ASKED = response(5, {"content": [{"type": "text", "text": "5"}]})
PING = request(6, "ping")
PONG = response(6)

MOVES: Sequence[tuple[float, bytes]] = (
    (0.5, INITIALIZE),
    (1.0, INITIALIZED),
    (2.0, ODD),
    (2.125, EVEN),
    (3.0, LIST),
    (4.0, ASKING),
    (8.0, PING),
)
"""What the client says, and when; to each request of the server it says `reply` at once."""
LEAVES = 16.0
"""When the client has said all it has to say."""
KILLED = 32.0
"""When who is still there is told to end by a signal."""


def reply(raw: bytes) -> bytes | None:
    """The client's answer, if this wants one."""
    value = decoded(raw)
    if isinstance(value, dict) and "method" in value and "id" in value:
        return response(value["id"], {"role": "assistant"})
    return None


def said(raw: bytes) -> list[tuple[float, bytes]] | None:
    """What the server says to this, and how much later; None if it cannot read it."""
    value = decoded(raw)
    if isinstance(value, list):
        lists = [said(json.dumps(item).encode()) or [] for item in value]
        return [one for some in lists for one in some]
    if not isinstance(value, dict):
        return None
    params = value.get("params") or {}
    match (value.get("method"), params.get("name")):
        case ("initialize", _):
            return [(0.0, WELCOME)]
        case ("tools/call", "odd"):
            return [(0.25, PROGRESS), (0.5, _with_id(ANSWER, value))]
        case ("tools/call", "even"):
            return [(0.3125, EVEN_PROGRESS), (0.5625, _with_id(EVEN_ANSWER, value))]
        case ("tools/call", "asking"):
            return [(0.25, ASK), (1.0, ASKED)]
        case ("tools/list", _):
            return [(0.0, _with_id(LISTED, value))]
        case ("ping", _):
            return [(0.0, _with_id(PONG, value))]
        case _:
            return []


def named(raw: bytes) -> str:
    """A short name for what the client says: the way over HTTP that carries it."""
    value = decoded(raw)
    if not isinstance(value, dict):
        return "other"
    params = value.get("params") or {}
    return str(params.get("name") or value.get("method") or f"reply {value.get('id')}")


def decoded(raw: bytes) -> Any:
    try:
        return json.loads(raw)
    except ValueError:
        return None


def _with_id(raw: bytes, asked: dict[str, Any]) -> bytes:
    """The answer under the id that was asked with, whatever a fault has made of it."""
    own = json.dumps(json.loads(raw)["id"]).encode()
    return raw.replace(b'"id":' + own, b'"id":' + json.dumps(asked.get("id")).encode(), 1)
