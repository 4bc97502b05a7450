"""Recordings that mean harm: a hostile string in every string-typed place of a cassette, the names
of members included.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from itertools import zip_longest
from typing import Any, NamedTuple

from mcpmock.cassette.parser import read
from mcpmock.errors import CassetteError

from .every import EVERY

HOSTILE = (
    "::error::a\x1b[2J\x1b]0;x\x07\x1b]52;c;eA==\x07\x9b31m\x00\x08\x7f\x85\u202e\u2066\u200b\u2028"
    "\u00ad\ufeff\U000e0041\r\n::error::x\n  ::set-output name=a::b\n##[error]x ##vso[x]y\t"
    "```|<script>;#%%{init}end$$"
)
_ACT = ("Cc", "Cf", "Cs", "Zl", "Zp")
_COMMAND = re.compile(r"^\s*::.*::|##\[|##vso\[", re.MULTILINE)
_KEPT = {"mcpmock", "transport", "n", "t", "s", "x", "d", "eol", "footer", "jsonrpc"}
"""Members whose value decides what the rest is, or that hold no text."""
_FORMAT = _KEPT | {
    "recorded_at", "tool", "target", "redaction", "match", "vars", "test", "converted", "m", "text",
    "http", "sse", "body", "stderr", "end", "fault", "gap", "oversize", "redacted", "headers",
}  # fmt: skip
"""Names of the format: with another name a line is another line."""
_STDIO = [
    {
        "mcpmock": 1, "recorded_at": "2026-11-20T10:00:00.000Z", "tool": "mcpmock 1",
        "transport": "stdio", "target": ["a", "b"], "redaction": {"rules": 1, "more": "x"},
        "match": {"ignore": ["$.nothing"]}, "vars": {"name": "value"}, "test": "tests/a.py::test",
        "converted": {"from": "mcp-rec", "lacks": ["x"]},
    },
    {"d": "c2s", "m": {"jsonrpc": "2.0", "id": "0", "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {"roots": {"listChanged": True}},
        "clientInfo": {"name": "c", "version": "1", "title": "t"}}}},
    {"d": "s2c", "m": {"jsonrpc": "2.0", "id": "0", "result": {
        "protocolVersion": "2025-11-25", "capabilities": {"tools": {}, "experimental": {"x": {}}},
        "serverInfo": {"name": "s", "version": "1"}, "instructions": "do"}}},
    {"d": "c2s", "m": {"jsonrpc": "2.0", "method": "notifications/initialized"}},
    {"d": "c2s", "m": {"jsonrpc": "2.0", "id": "1", "method": "tools/list"}},
    {"d": "s2c", "m": {"jsonrpc": "2.0", "id": "1", "result": {"tools": [{
        "name": "add", "title": "t", "description": "d", "annotations": {"title": "x"},
        "inputSchema": {"type": "object", "properties": {"a": {"type": "string", "enum": ["x"]}},
                        "required": ["a"]}}]}}},
    {"d": "c2s", "m": {"jsonrpc": "2.0", "id": "2", "method": "tools/call", "params": {
        "name": "add", "arguments": {"a": "x", "deep": {"b": ["y"]}},
        "_meta": {"progressToken": "p"}}}},
    {"d": "s2c", "m": {"jsonrpc": "2.0", "method": "notifications/progress", "params": {
        "progressToken": "p", "progress": 1, "message": "half"}}},
    {"d": "s2c", "m": {"jsonrpc": "2.0", "method": "notifications/message", "params": {
        "level": "info", "logger": "l", "data": {"k": "v"}}}},
    {"d": "s2c", "m": {"jsonrpc": "2.0", "id": "q", "method": "elicitation/create", "params": {
        "message": "sure?", "requestedSchema": {"type": "object", "properties": {}}}}},
    {"d": "c2s", "m": {"jsonrpc": "2.0", "id": "q", "result": {
        "action": "accept", "content": {"a": "x"}}}},
    {"d": "s2c", "m": {"jsonrpc": "2.0", "id": "2", "result": {
        "content": [{"type": "text", "text": "3"}, {"type": "resource_link", "uri": "u",
                                                    "name": "n"}],
        "structuredContent": {"sum": "3"}, "_meta": {"k": "v"}}}},
    {"d": "c2s", "m": {"jsonrpc": "2.0", "id": "3", "method": "resources/read",
                       "params": {"uri": "file:///a"}}},
    {"d": "s2c", "m": {"jsonrpc": "2.0", "id": "3", "error": {
        "code": -32002, "message": "no", "data": {"uri": "file:///a"}}}},
    {"d": "c2s", "m": {"jsonrpc": "2.0", "id": "4", "method": "prompts/get", "params": {
        "name": "greet", "arguments": {"who": "x"}}}},
    {"d": "c2s", "m": {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {
        "requestId": "4", "reason": "enough"}}},
    {"d": "s2c", "m": {"jsonrpc": "2.0", "id": "9", "result": {"late": "x"}}},
    {"d": "s2c", "m": [{"jsonrpc": "2.0", "method": "odd", "params": {"k": "v"}}]},
    {"d": "s2c", "text": "a banner", "eol": ""},
    {"d": "c2s", "m": {"jsonrpc": "2.0", "id": None, "method": "ping", "odd": "x"}},
    {"stderr": "up\n"},
    {"fault": {"kind": "latency", "name": "slow", "on": "response", "method": "tools/call",
               "id": "2", "drawn": {"seconds": "1"}}},
    {"gap": {"events": 1, "reason": "disk"}},
    {"d": "s2c", "m": {"jsonrpc": "2.0", "method": "big"},
     "oversize": {"bytes": 9, "sha256": "x"}},
    {"end": {"exit": 0}},
]  # fmt: skip
_HTTP = [
    {"mcpmock": 1, "tool": "x", "transport": "streamable-http", "target": "http://a/mcp"},
    {"x": 1, "d": "c2s", "http": {"method": "POST", "target": "/mcp",
                                  "headers": [["Content-Type", "application/json"]]}},
    {"x": 1, "d": "c2s", "m": {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "add", "arguments": {"a": "x"}}}},
    {"x": 1, "d": "s2c", "http": {"status": 200, "reason": "OK",
                                  "headers": [["Content-Type", "text/event-stream"]]}},
    {"x": 1, "d": "s2c", "sse": {"id": "1", "event": "message", "comment": "c"}},
    {"x": 1, "d": "s2c", "m": {"jsonrpc": "2.0", "id": 1, "result": {"content": []}}},
    {"x": 1, "d": "s2c", "end": "eof"},
    {"x": 2, "d": "c2s", "http": {"method": "GET", "target": "/x", "headers": []}},
    {"x": 2, "d": "s2c", "http": {"status": 404, "reason": "Not Found",
                                  "headers": [["Content-Type", "text/html"]]}},
    {"x": 2, "d": "s2c", "body": "<html>"},
    {"x": 2, "d": "s2c", "end": "reset"},
]  # fmt: skip
_TALKS = (
    (_STDIO, ((0,), (1, 2, 3), (4, 5, 6, 7, 8, 11, 21), (9, 10), (12, 13), (14, 15),
              *((place,) for place in range(16, len(_STDIO)) if place != 21))),
    (_HTTP, ((0,), (1, 2, 3, 4, 5, 6), (7, 8, 9, 10))),
)  # fmt: skip
"""Each take, and which of its lines speak of the same: a request and its answer, for example."""
_Path = tuple[str | int, ...]


class _Planting(NamedTuple):
    """One place of a take with the hostile string, or with half of a surrogate pair."""

    kind: str
    path: _Path

    def __str__(self) -> str:
        return f"{self.kind} {self.path}"


def plain() -> bytes:
    """The cassette in which the strings are planted."""
    return _lines(_STDIO) + _lines(_HTTP)


def planted() -> Iterator[tuple[str, bytes]]:
    """The cassette with the hostile string in one place, for each place; and where that is."""
    for take, _talks in _TALKS:
        for planting in _plantings(take):
            yield str(planting), _with(take, planting)


@cache
def loadable_and_not() -> tuple[bytes, dict[str, bytes]]:
    """All cassettes that load, as takes of one; and those that are refused, by place. The places of
    lines that have nothing to do with each other share takes, except with MCPMOCK_E2E_ALL=1.
    """
    good, bad = [], {}
    for take, talks in _TALKS:
        by_talk: dict[tuple[int, ...], list[_Planting]] = {}
        for planting in _plantings(take):
            data = _with(take, planting)
            if _loads(data):
                talk = next(lines for lines in talks if planting.path[0] in lines)
                by_talk.setdefault(talk, []).append(planting)
            else:
                bad[str(planting)] = data
        if EVERY:
            together = [(one,) for plantings in by_talk.values() for one in plantings]
        else:
            together = [tuple(filter(None, row)) for row in zip_longest(*by_talk.values())]
        good += [_with(take, *plantings) for plantings in together]
    return b"".join(good), bad


def _loads(data: bytes) -> bool:
    try:
        return not read("x", data).damage
    except CassetteError:
        return False


def offenders(text: str) -> list[str]:
    """The lines on which a terminal or a CI system would act."""
    acting = {one for one in set(text) if one != "\n" and unicodedata.category(one) in _ACT}
    return [
        ascii(line)
        for line in text.split("\n")
        if not acting.isdisjoint(line) or _COMMAND.search(line)
    ]


def _plantings(take: list[Any]) -> Iterator[_Planting]:
    for path, is_name in _places(take):
        yield _Planting("name" if is_name else "value", path)
        if path[1] == "m" and not is_name:
            yield _Planting("half a pair", path)


def _with(take: list[Any], *plantings: _Planting) -> bytes:
    changed: Any = deepcopy(take)
    for kind, path in plantings:
        parent: Any = changed
        for step in path[:-1]:
            parent = parent[step]
        if kind == "name":
            parent[HOSTILE] = parent.pop(path[-1])
        elif kind == "value":
            parent[path[-1]] = HOSTILE
        else:
            parent[path[-1]] = "\ud800"  # half of a pair, which JSON may hold: kept as a text
            event = changed[path[0]]
            event["text"] = json.dumps(event.pop("m"))
    return _lines(changed)


def _places(value: Any, path: _Path = ()) -> Iterator[tuple[_Path, bool]]:
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from _places(item, (*path, index))
    elif isinstance(value, dict):
        for name, item in value.items():
            if len(path) > 1 or name not in _FORMAT:
                yield (*path, name), True
            if name not in _KEPT:
                yield from _places(item, (*path, name))
    elif isinstance(value, str):
        yield path, False


def _lines(take: list[Any]) -> bytes:
    header, *events = take
    numbered = [
        {"n": n, **({} if event.get("t") else {"t": n}), **event}
        for n, event in enumerate(events, 1)
    ]
    return b"".join(json.dumps(line).encode() + b"\n" for line in (header, *numbered))
