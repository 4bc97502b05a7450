"""A server that repeats what it is told, and what its environment and its command line hold, in
every spelling; and a secret of its own, before its name gives it away.
"""

import base64
import json
import os
import sys
import urllib.parse
from typing import Any

OWN = "srv-0wn/t0ken+7"
KEY = os.environ.get("DEMO_API_KEY", "")


def spelled(value: str) -> dict[str, str]:
    """A value as servers write it."""
    return {
        "plain": value,
        "json": json.dumps({"v": value}),
        "base64": base64.b64encode(f"v={value}".encode()).decode(),
        "percent": "https://h/?q=" + urllib.parse.quote(value, safe=""),
        "escaped": json.dumps(value).replace("/", "\\/"),
    }


def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
    if method == "initialize":
        return {
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "secretive", "version": "1"},
            "instructions": f"see {OWN}",
        }
    if method == "tools/call":
        values = [*params["arguments"].values(), KEY, OWN, *sys.argv[1:]]
        print("called with", *values, file=sys.stderr, flush=True)
        settings = f"PORT=80\nOWN_TOKEN={OWN}\nAPI_KEY={KEY}\n"
        content = [{"type": "text", "text": json.dumps([spelled(value) for value in values])}]
        return {
            "content": [*content, {"type": "text", "text": settings}],
            "structuredContent": {"values": [spelled(value) for value in values]},
        }
    return {"tools": [{"name": "login", "inputSchema": {"type": "object"}}]}


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        result = answer(message["method"], message.get("params", {}))
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
