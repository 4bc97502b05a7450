"""The codes of JSON-RPC errors, by name: those of JSON-RPC, of MCP, of the SDKs and of mcpmock.

In 2026-07-28 (basic/index) -32000 to -32019 are legacy codes without a meaning, and -32020 to
-32099 are reserved for the specification.
"""

from __future__ import annotations

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603

HEADER_MISMATCH = -32020
"""2026-07-28: a header field contradicts the body."""
MISSING_CLIENT_CAPABILITY = -32021
"""2026-07-28: the request needs a capability that the client does not declare."""
UNSUPPORTED_PROTOCOL_VERSION = -32022
"""2026-07-28: `data.supported` lists the versions that the server does support."""
DEFINED_MODERN = (HEADER_MISMATCH, MISSING_CLIENT_CAPABILITY, UNSUPPORTED_PROTOCOL_VERSION)
RESERVED_MODERN = range(-32099, -32019)
LEGACY_SERVER_ERRORS = range(-32019, -31999)

RESOURCE_NOT_FOUND = -32002
"""Until 2025-11-25; 2026-07-28 says `INVALID_PARAMS` instead."""
URL_ELICITATION_REQUIRED = -32042
"""Of 2025-11-25 only."""
RETIRED_MODERN = (RESOURCE_NOT_FOUND, URL_ELICITATION_REQUIRED)

SERVER_ERROR = -32000
"""The TypeScript SDK sends it with status 400 (`validateSession`); mcpmock sends it for a server
that does not answer.
"""
SESSION_NOT_FOUND = -32001
"""The TypeScript SDK sends it with status 404, for an unknown session id (`validateSession`)."""
REQUEST_CANCELLED = -32800
"""Servers built on PyPI `mcp` 2.3 answer a cancelled request with it over HTTP, up to 2025-11-25.
The code is `RequestCancelled` of the Language Server Protocol.
"""
NOTHING_RECORDED = -31999
"""mcpmock sends it for a request that no recorded answer fits. JSON-RPC 2.0 (5.1) reserves -32768
to -32000. Older cassettes with recorded misses have -32099.
"""
SERVER_RESTARTED = -31998
"""`proxy --restart-on` sends it for a request that a server had not answered when it was replaced,
and for all while there is no server.
"""
