"""A stub's server keeps the protocol's rules, in each revision."""

from __future__ import annotations

from typing import Any

import pytest

from mcpmock.protocol.messages import decode
from mcpmock.protocol.methods import LATEST, REVISIONS
from mcpmock.rules.report import check_cassette
from mcpmock.stubs.builder import Stub
from tests.support import INITIALIZED, Line, c, cassette, request, s

from .stub_support import MODERN, session

INFO = {"name": "test", "version": "1"}
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("tools/list", {}),
    ("tools/call", {"name": "a", "arguments": {"city": "Oslo"}}),
    ("tools/call", {"name": "a", "arguments": {"city": "Oslo"}}),
    ("tools/call", {"name": "a", "arguments": {}}),
    ("prompts/list", {}),
    ("prompts/get", {"name": "p", "arguments": {"who": "x"}}),
    ("resources/list", {}),
    ("resources/templates/list", {}),
    ("resources/read", {"uri": "a:b"}),
    ("resources/read", {"uri": "a:x"}),
]


def everything() -> Stub:
    """One of each, with all that can come before a reply."""
    stub = Stub().tool("a", {"properties": {"city": {"type": "string"}}})
    stub.progress(0.5, 1, "half").progress(1).reply({"t": 1}).error(-32602, "no").fail("bad")
    stub.prompt("p", ["who"]).reply("x").resource("a:b").reply(b"1")
    return stub.resource("a:{b}").reply(dict)


def opening(revision: str) -> list[tuple[str, dict[str, Any]]]:
    if revision == LATEST:
        return [("server/discover", {})]
    hello = {"protocolVersion": revision, "capabilities": {}, "clientInfo": INFO}
    return [("initialize", hello), ("ping", {})]


@pytest.mark.parametrize("revision", REVISIONS)
def test_the_rules(revision: str) -> None:
    """Nothing that it says breaks any."""
    live = session(everything())
    lines: list[Line] = []
    extra = {**MODERN, "io.modelcontextprotocol/clientInfo": INFO} if revision == LATEST else {}
    for number, (method, params) in enumerate([*opening(revision), *CALLS], 1):
        meta = {} if method == "initialize" else {"_meta": {**extra, "progressToken": number}}
        asked = request(number, method, {**params, **meta})
        heard = live.heard(asked)
        assert heard
        assert number == decode(heard[-1])["id"]
        lines += [c(asked), *map(s, heard)]
        if method == "initialize":
            lines.append(c(INITIALIZED))
            live.heard(INITIALIZED)

    assert [] == [(found.event, found.violation) for found in check_cassette(cassette(*lines))]
