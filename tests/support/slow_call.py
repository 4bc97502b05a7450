"""The cassette of a call that reports progress twice: what races are tried on."""

from __future__ import annotations

from tests.support import INITIALIZE, INITIALIZED, cassette_bytes, notification, request, response
from tests.support.weather import HELLO, TOOLS

TOKEN = {"progressToken": "t"}
CASSETTE = cassette_bytes(
    ("c2s", INITIALIZE),
    ("s2c", HELLO),
    ("c2s", INITIALIZED),
    ("c2s", TOOLS),
    ("s2c", response(1, {"tools": [{"name": "slow", "inputSchema": {"type": "object"}}]})),
    ("c2s", request(2, "tools/call", {"name": "slow", "arguments": {}, "_meta": TOKEN})),
    *(
        ("s2c", notification("notifications/progress", {"progressToken": "t", "progress": n}))
        for n in (1, 2)
    ),
    ("s2c", response(2, {"content": [{"type": "text", "text": "done"}]})),
)
