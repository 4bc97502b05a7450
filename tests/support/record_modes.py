"""The record modes, a server that counts its starts, and how many requests each take has."""

from __future__ import annotations

from mcpmock.cassette.model import Cassette

MODES = ("none", "once", "new_episodes", "all", "rewrite")
SERVER = """
import json, sys
with open({started!r}, "a") as file:
    file.write("x")
for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        result = {{"asked": message["method"], "capabilities": {{"tools": {{}}}}}}
        result["protocolVersion"] = "2025-11-25"
        print(json.dumps({{"jsonrpc": "2.0", "id": message["id"], "result": result}}), flush=True)
"""


def asked(cassette: Cassette) -> list[int]:
    """How many requests each take has."""
    return [
        sum(b'"method"' in (event.payload or b"") for event in take.events)
        for take in cassette.takes
    ]
