"""What the heads of the modern era repeat, and the statuses of errors."""

from __future__ import annotations

from typing import Any

import pytest

from tests.rules.violations import (
    HINTS,
    HTTP,
    Planted,
    Step,
    ask,
    asked,
    done,
    modern_http,
    names,
    opening_http,
    posted,
)
from tests.support import answers, error

CALL = ask(1, "tools/call", {"name": "dig"})
READ = ask(1, "resources/read", {"uri": "file:///\u2603"})
WRAPPED = "=?base64?ZmlsZTovLy/imIM=?="


def called(raw: bytes = CALL, method: str = "tools/call", **fields: Any) -> list[Step]:
    heads = {"name": "dig", **fields}
    return [*modern_http(), asked(2, raw, method, **heads)]


def refused(code: int, status: int, raw: bytes = CALL) -> list[Step]:
    return [*called(raw), answers(2, error(1, code), status)]


BARE = CALL.replace(b"io.modelcontextprotocol/protocolVersion", b"version")
PLANTED = [
    Planted("header-version", called(mcp_protocol_version=None), HTTP),
    Planted("header-version-match", called(mcp_protocol_version="2025-11-25"), HTTP),
    Planted("header-method", called(mcp_method=None), HTTP),
    Planted("header-method-match", called(method="tools/list"), HTTP),
    Planted("header-name", called(name=None), HTTP),
    Planted("header-name-match", called(name="Dig"), HTTP),
    Planted("header-name-match", called(READ, "resources/read", name="file:///"), HTTP),
    Planted(
        "header-accepted",
        [*called(name="Dig"), answers(2, done(1))],
        HTTP,
        also=("header-name-match",),
    ),
    Planted("status-not-found", refused(-32601, 200), HTTP),
    Planted("status-bad-request", refused(-32020, 200), HTTP),
    Planted("status-bad-request", refused(-32021, 403), HTTP),
    Planted(
        "status-meta",
        refused(-32602, 200, BARE),
        HTTP,
        also=("meta-required",),
    ),
]


@pytest.mark.parametrize("row", PLANTED, ids=str)
def test_planted(row: Planted) -> None:
    """Just what was planted is found."""
    row.check()


def test_what_is_no_ascii_is_wrapped() -> None:
    """A name is compared with what the wrapping holds."""
    asks = called(READ, "resources/read", name=WRAPPED)

    assert [] == names(*asks, answers(2, done(1, HINTS)), transport=HTTP, sessionless=True)


def test_what_was_redacted_is_not_compared() -> None:
    """A redacted value cannot be compared."""
    asks = called(READ, "resources/read", name="mcpmock:secret:token:1")

    assert [] == names(*asks, transport=HTTP, sessionless=True)


def test_errors_with_their_statuses() -> None:
    """What is refused is refused with 400 or 404, and a tool's own error with 200."""
    fine = [(-32601, 404), (-32020, 400), (-32602, 200), (-32603, 200)]

    for code, status in fine:
        assert [] == names(*refused(code, status), transport=HTTP, sessionless=True)


def test_the_legacy_era_repeats_nothing() -> None:
    """Its heads have no such fields."""
    asks = posted(3, b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"dig"}}')

    assert [] == names(*opening_http(), asks, answers(3, error(1, -32601)), transport=HTTP)
