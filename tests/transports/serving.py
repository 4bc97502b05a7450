"""What the tests of Streamable HTTP's server have in common: a server, a session, and what modern
callers send.
"""

from __future__ import annotations

import json
from typing import Any

from mcpmock.protocol.messages import Frame
from mcpmock.transports.streamable_http.server import StreamableHttpServer
from tests.support import INITIALIZE, WELCOME, request, s2c

from .wire import Told, Wire, post

S = ("Mcp-Session-Id", "s1")
MODERN = "2026-07-28"
V = ("MCP-Protocol-Version", MODERN)
BAD = "=?base64?w6?="
META = {"_meta": {"io.modelcontextprotocol/protocolVersion": MODERN}}
LIST = request(1, "tools/list")


def server(*, stateless: bool = False, sessions: bool = True) -> Wire:
    return Wire(StreamableHttpServer("/mcp", lambda: "s1", stateless, sessions=sessions))


def session(revision: str = "2025-11-25") -> Wire:
    """A session that agreed on this revision. Exchange 1 is used up."""
    wire = server()
    wire.client(post(1, INITIALIZE.replace(b"2025-11-25", revision.encode())))
    wire.server(s2c(WELCOME.replace(b"2025-11-25", revision.encode())))
    return wire


def modern(id_: Any, method: str, params: Any = None) -> bytes:
    return request(id_, method, {**(params or {}), **META})


def modern_post(x: int, body: bytes, name: str | None = None) -> list[Frame]:
    method = json.loads(body)["method"]
    fields = [V, ("Mcp-Method", method)]
    return post(x, body, *fields, *([("Mcp-Name", name)] if name is not None else []))


def refusal(told: list[Told]) -> tuple[int, int, Any]:
    """Status, code and id of a refusal that is all that came."""
    assert [2] * 3 == [x for x, _ in told]
    head, body, end = (what for _, what in told)
    assert "end" == end
    value = json.loads(body)
    return int(str(head).split()[0]), value["error"]["code"], value["id"]
