"""The messages of the benchmark: the answers of the server, and the requests for them.

They are made from one seed, so every run and every row sees the same bytes. Sizes are those of MCP
sessions: mostly a few hundred bytes, sometimes a file or a long list.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

INITIALIZE = (
    b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18",'
    b'"capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}\n'
)
FOLLOW = "follow"
INITIALIZED = b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
_RESULT_BYTES = (80, 80, 250, 250, 600, 1500, 3000, 8000)
"""Sizes of the results of calls, all equally likely: 1.7 KB on average."""
_ARGUMENT_BYTES = (40, 40, 60, 60, 100, 100, 200, 200, 600, 600, 2000, 8000)
_MAX_GROUP_BYTES = 8 << 10
_CODE = (
    "def handle(request: Request) -> Response:\n"
    '    """Answers one call; see docs/handlers.md."""\n'
    "    name, arguments = request.name, request.arguments or {}\n"
    '    log.info("call %s (%d arguments)", name, len(arguments))\n'
    "    return Response(id=request.id, result=tools[name](**arguments))\n\n\n"
)


@dataclass
class Group:
    """Requests that are written together: at most 8 KB of them, and of their answers."""

    data: bytes = b""
    count: int = 0
    answers: int = 0
    """Bytes of the answers."""


class Traffic:
    """Writes the server's answers to `bodies` and makes requests for them."""

    def __init__(self, bodies: Path) -> None:
        self._random = random.Random(20261120)
        self._bodies = [_compact(value) for value in _results()]
        bodies.write_bytes(b"".join(body + b"\n" for body in self._bodies))

    def small(self, first: int, count: int) -> list[bytes]:
        """Different calls of about 200 bytes with answers of that size."""
        return [self._call(i, 1 + i % 2, 40) for i in range(first, first + count)]

    def follows(self, first: int, count: int) -> list[bytes]:
        """As `small`, but of the tool that the HTTP server answers with a stream of events."""
        return [self._call(i, 1 + i % 2, 40, FOLLOW) for i in range(first, first + count)]

    def mixed(self, first: int, count: int) -> list[Group]:
        """Different calls of all sizes, in groups to be written together."""
        random = self._random
        picks = [1 + random.randrange(len(_RESULT_BYTES)) for _ in range(count)]
        return self._grouped(
            [
                (
                    self._call(i, pick, random.choice(_ARGUMENT_BYTES)),
                    self._answer_size(i, pick),
                )
                for i, pick in enumerate(picks, first)
            ]
        )

    def grouped(self, first: int, count: int) -> list[Group]:
        """`small`, in groups to be written together."""
        calls = enumerate(self.small(first, count), first)
        return self._grouped([(call, self._answer_size(i, 1 + i % 2)) for i, call in calls])

    def _grouped(self, calls: list[tuple[bytes, int]]) -> list[Group]:
        groups = [Group()]
        for call, answer in calls:
            last = groups[-1]
            if (
                last.count
                and max(len(last.data) + len(call), last.answers + answer) > _MAX_GROUP_BYTES
            ):
                groups.append(last := Group())
            last.data += call
            last.count += 1
            last.answers += answer
        return groups

    def _answer_size(self, id_: int, pick: int) -> int:
        return len(b'{"jsonrpc":"2.0","id":%d,"result":}\n' % id_) + len(self._bodies[pick])

    def _call(self, id_: int, pick: int, size: int, name: str = "edit_file") -> bytes:
        path = f"src/package_{id_ % 977}/module_{id_}.py"
        arguments: dict[str, Any] = {"path": path, "pick": pick, "offset": id_ * 7}
        if size > 500:
            arguments["content"] = (_CODE * (size // len(_CODE) + 1))[:size]
        else:
            arguments["query"] = ("find all the callers of handle and " * 6)[:size]
        params: dict[str, Any] = {"name": name, "arguments": arguments}
        if id_ % 8 == 0 or name == FOLLOW:
            params["_meta"] = {"progressToken": id_}
        return (
            _compact({"jsonrpc": "2.0", "id": id_, "method": "tools/call", "params": params})
            + b"\n"
        )


def check(request: bytes, answer: Sequence[bytes]) -> None:
    """Raises RuntimeError unless `answer` holds the expected messages and no others."""
    asked = json.loads(request)
    params = asked["params"]
    result = _results()[params.get("arguments", {}).get("pick", 0)]
    expected = [{"jsonrpc": "2.0", "id": asked["id"], "result": result}]
    if params.get("name") == FOLLOW:
        progress = {"progressToken": params["_meta"]["progressToken"], "progress": 1, "total": 2}
        method = "notifications/progress"
        expected.insert(0, {"jsonrpc": "2.0", "method": method, "params": progress})
    if [json.loads(message) for message in answer] != expected:
        raise RuntimeError(f"{request[:300]!r} was answered {b' '.join(answer)[:300]!r}")


@cache
def _results() -> list[dict[str, Any]]:
    """The results of the server, by `pick`."""
    return [_INITIALIZED_RESULT, *(_result(i, size) for i, size in enumerate(_RESULT_BYTES))]


_INITIALIZED_RESULT = {
    "protocolVersion": "2025-06-18",
    "capabilities": {"tools": {"listChanged": False}},
    "serverInfo": {"name": "echo", "version": "1"},
}


def _result(index: int, size: int) -> dict[str, Any]:
    """Text as tools return it; every other result has structured content too."""
    if index % 2 == 0:
        text = (_CODE * (size // len(_CODE) + 1))[:size]
        return {"content": [{"type": "text", "text": text}], "isError": False}
    items = [
        {"path": f"src/module_{i}.py", "line": i * 3, "kind": "function", "score": i / 7}
        for i in range(max(1, size // 140))
    ]
    text = json.dumps(items)[: size // 2]
    return {"content": [{"type": "text", "text": text}], "structuredContent": {"items": items}}


def _compact(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()
