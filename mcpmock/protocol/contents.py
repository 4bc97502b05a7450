"""What is content in a message, what is a word of the protocol, and what a server declares.

Paths are those of `raw_json.walk`, in one message or in a batch. The redaction rules of users and
the variables of `--echo` change content, and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["SECRET_MARK", "is_content", "is_declaration"]

SECRET_MARK = "mcpmock:secret:"
"""What the placeholder of a secret begins with (`redaction.placeholders`)."""

_PROTOCOL_NAMES = {
    *("type", "role", "audience", "level", "mimeType", "protocolVersion", "progressToken"),
    *("requestId", "cursor", "nextCursor", "action", "stopReason", "status", "resultType"),
    *("progress", "total", "taskId", "elicitationId", "ttl", "ttlMs", "pollInterval", "priority"),
    *("jsonrpc", "method", "requestState"),
}
"""Members whose values the protocol gives a meaning."""
_OWN_PREFIX = "io.modelcontextprotocol/"
_SCHEMAS = {"inputSchema", "outputSchema", "requestedSchema"}
_DECLARED = {"tools", "prompts", "resourceTemplates", "capabilities"}
_DESCRIBED = {"resources", "serverInfo"}
_DESCRIPTIONS = {"description", "title", "name"}
_MAX_STEPS = 16
"""How far into a path the protocol's own members are. A path may be long."""


def is_content(path: Sequence[str | int]) -> bool:
    """Return whether a value is content, not a word of the protocol."""
    steps = _in_message(path)
    inside = steps[:2]
    if inside in (["params", "arguments"], ["result", "structuredContent"]):
        return True
    if inside in (["params", "name"], ["error", "code"], ["id"]):
        return False
    if not _SCHEMAS.isdisjoint(steps):
        return False
    if len(steps) > 1 and steps[1] in _DECLARED:
        return steps[-1] in ("description", "title")
    if steps[:3] in (["params", "ref", "name"], ["params", "argument", "name"]):
        return False
    name = next((step for step in reversed(steps) if isinstance(step, str)), "")
    return name not in _PROTOCOL_NAMES and name != f"{_OWN_PREFIX}protocolVersion"


def is_declaration(path: Sequence[str | int]) -> bool:
    """Return whether a value is in a server's declaration of what it has: a tool, a prompt, a
    template or a schema, or a text in which it describes itself.
    """
    steps = _in_message(path)
    if not _SCHEMAS.isdisjoint(steps):
        return True
    if len(steps) < 2 or steps[0] not in ("result", "params") or "_meta" in steps:
        return False
    described = steps[1] in _DESCRIBED and steps[-1] in _DESCRIPTIONS
    return steps[1] in _DECLARED or described or steps == ["result", "instructions"]


def _in_message(path: Sequence[str | int]) -> list[str | int]:
    """Return a path in a message, without its place in a batch: its beginning and its end."""
    steps = [*path[:_MAX_STEPS], *path[_MAX_STEPS:][-1:]]
    return steps[1:] if steps and isinstance(steps[0], int) else steps
