"""A client of 2026-07-28 with an older server: the refused probe is how they find a handshake that
both know, and nothing that went wrong.
"""

from __future__ import annotations

from typing import Any

import pytest

from mcpmock.cassette.model import Cassette
from mcpmock.cassette.parser import read
from mcpmock.view.lanes import TimeAxis
from mcpmock.view.report import PageRecording
from mcpmock.view.stats import stats
from mcpmock.view.timeline import timeline
from tests.support import HEADER

PROBE = (
    '{"jsonrpc":"2.0","id":"p","method":"server/discover","params":{"_meta":'
    '{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}'
)
INITIALIZE = (
    '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25",'
    '"capabilities":{},"clientInfo":{"name":"c","version":"1"}}}'
)
WELCOME = (
    '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18","capabilities":{},'
    '"serverInfo":{"name":"s","version":"1"}}}'
)
NOT_FOUND = '{"jsonrpc":"2.0","id":"p","error":{"code":-32601,"message":"Method not found"}}'
NO_SESSION = '{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request"}}'
POST = '"http":{"method":"POST","target":"/mcp","headers":[]}'
STATUS = '"http":{"status":%d,"reason":"R","headers":[]}'


def recorded(*lines: str) -> bytes:
    numbered = (f'{{"n":{n},"t":{n},{line}}}\n' for n, line in enumerate(lines, 1))
    return HEADER + "".join(numbered).encode()


def page_of(cassette: Cassette) -> dict[str, Any]:
    """The data of the page, but for violations of rules."""
    rows = timeline(cassette)
    return PageRecording(cassette, TimeAxis.over(rows)).add(rows, [])


def c2s(text: str, x: int | None = None) -> str:
    return f'"x":{x},"d":"c2s",{text}' if x else f'"d":"c2s",{text}'


def s2c(text: str, x: int | None = None) -> str:
    return f'"x":{x},"d":"s2c",{text}' if x else f'"d":"s2c",{text}'


def over_http(status: int, body: str) -> bytes:
    return recorded(
        c2s(POST, 1),
        c2s(f'"m":{PROBE}', 1),
        s2c(STATUS % status, 1),
        s2c(body, 1),
        c2s(POST, 2),
        c2s(f'"m":{INITIALIZE}', 2),
        s2c(STATUS % 200, 2),
        s2c(f'"m":{WELCOME}', 2),
    )


REFUSALS = {
    "stdio": recorded(
        c2s(f'"m":{PROBE}'),
        s2c(f'"m":{NOT_FOUND}'),
        c2s(f'"m":{INITIALIZE}'),
        s2c(f'"m":{WELCOME}'),
    ),
    "HTTP 200": over_http(200, f'"m":{NOT_FOUND}'),
    "HTTP 400": over_http(400, f'"m":{NOT_FOUND}'),
    "HTTP 400 without its id": over_http(400, f'"m":{NO_SESSION}'),
    "HTTP 404 without JSON-RPC": over_http(404, '"body":"Not Found"'),
    "HTTP 405": over_http(405, '"end":"eof"'),
}


@pytest.mark.parametrize("where", REFUSALS)
def test_a_refused_probe_is_no_error(where: str) -> None:
    """The head has the revision that was agreed on; nothing is red, unanswered or a stop of `n`."""
    cassette = read("a.jsonl", REFUSALS[where])
    rows = timeline(cassette)
    data = page_of(cassette)
    counted = stats([cassette])

    assert [] == [row for row in rows if {"unanswered", "answers no request"} & {*row.notes}]
    assert any("refused" in row.notes for row in rows)
    assert "error" not in {row.kind for row in rows}
    assert [] == data["problems"]
    assert "2025-06-18" in [text for text, *_ in data["chips"]]
    assert "2026-07-28" not in [text for text, *_ in data["chips"]]
    assert not any(kind == "error" for _, kind, _ in data["chips"])
    assert 0 == sum(calls.errors + calls.unanswered for calls in counted.calls.values())


def test_other_refusals_are_errors() -> None:
    """Of another request, or a probe that nobody answered."""
    other = PROBE.replace("server/discover", "tools/list")
    rows = timeline(read("a.jsonl", recorded(c2s(f'"m":{other}'), s2c(f'"m":{NOT_FOUND}'))))
    silent = timeline(read("a.jsonl", recorded(c2s(f'"m":{PROBE}'))))

    assert ["request", "error"] == [row.kind for row in rows]
    assert [("unanswered",)] == [row.notes for row in silent]


def test_an_answered_probe_is_the_revision() -> None:
    answer = '"m":{"jsonrpc":"2.0","id":"p","result":{"supportedVersions":["2026-07-28"]}}'
    data = page_of(read("a.jsonl", recorded(c2s(f'"m":{PROBE}'), s2c(answer))))

    assert "2026-07-28" in [text for text, *_ in data["chips"]]
