"""The shape of a message."""

from __future__ import annotations

import pytest

from mcpmock.protocol.methods import LAST_LEGACY
from mcpmock.rules.jsonrpc import is_string_or_integer
from tests.rules.violations import (
    HTTP,
    Planted,
    ask,
    asked,
    initialize,
    modern,
    modern_http,
    names,
    opening,
    opening_http,
    opening_sse,
    posted,
    violations,
    welcome,
)
from tests.support import (
    INITIALIZED,
    accepts,
    answers,
    batch,
    c2s,
    error,
    notification,
    post,
    request,
    response,
    s2c,
    says,
)

PING = request(1, "ping")
ASK = request(1, "tools/list")
PLANTED = [
    Planted("not-a-message", [*opening(), s2c(b"listening on port 80")]),
    Planted("not-a-message", [*modern(), s2c(b"listening on port 80")]),
    Planted("not-a-message", [*opening(), c2s(b'{"half":')]),
    Planted("json-rpc", [*opening(), c2s(b'{"id":1,"method":"ping"}')]),
    Planted("json-rpc", [*opening("2024-11-05"), c2s(b'{"id":1,"method":"ping"}')]),
    Planted(
        "json-rpc",
        [*opening_http(), posted(3, PING), answers(3, b'"hello"')],
        HTTP,
        2,
    ),
    Planted("json-rpc", [*opening(), c2s(b"\xef\xbb\xbf" + PING)]),
    Planted("json-rpc", [*opening(), c2s(PING + b"\0")]),
    Planted("utf-8", [*opening(), c2s(PING[:-1] + b',"params":{"v":"\xe9"}}')]),
    Planted("utf-8", [*modern(), c2s(ask(1, "tools/list")[:-1] + b',"v":"\xff"}')]),
    Planted("id-null", [*opening(), c2s(request(None, "ping"))]),
    Planted("id-type", [*opening(), c2s(request(1.5, "ping"))]),
    Planted("id-type", [*modern(), c2s(ask([1], "tools/list"))]),
    Planted("notification-id", [*opening(), c2s(request(1, "notifications/initialized"))]),
    Planted("request-id", [*opening(), c2s(notification("tools/list"))]),
    Planted("result-id", [*opening("2025-06-18"), c2s(PING), s2c(response(None))]),
    Planted("result-id", [*opening(), c2s(PING), s2c(response(None))]),
    Planted(
        "result-and-error",
        [*opening("2025-03-26"), c2s(ASK), s2c(response(1)[:-1] + b',"error":{}}')],
    ),
    Planted("result-and-error", [*opening(), c2s(ASK), s2c(response(1)[:-1] + b',"error":null}')]),
    Planted("result-and-error", [*opening(), c2s(ASK), s2c(response(1)[:-1] + b',"error":{}}')]),
    Planted("error-code", [*opening(), c2s(ASK), s2c(error(1).replace(b"-32602", b'"-32602"'))]),
    Planted(
        "error-members",
        [*opening("2025-03-26"), c2s(ASK), s2c(b'{"jsonrpc":"2.0","id":1,"error":{"code":1}}')],
    ),
    Planted(
        "error-members",
        [*opening(), c2s(ASK), s2c(b'{"jsonrpc":"2.0","id":1,"error":{"message":"no"}}')],
    ),
    Planted("members-object", [*opening(), c2s(request(1, "ping", [1]))]),
    Planted(
        "members-object", [*opening(), c2s(PING), s2c(b'{"jsonrpc":"2.0","id":1,"result":null}')]
    ),
    Planted("batch", [*opening("2025-06-18"), c2s(batch(PING))]),
    Planted(
        "batch",
        [*modern_http(), asked(2, batch(ask(1, "tools/list")), "tools/list"), accepts(2, 400)],
        HTTP,
    ),
    Planted(
        "initialize-in-batch",
        [c2s(batch(initialize("2025-03-26"))), s2c(welcome("2025-03-26")), c2s(INITIALIZED)],
    ),
]


NO_MESSAGES = (b"listening on port 80", b'{"half":', b"7", b"null", b"[]", b'{"a":1}', b"\xff\xfe")


@pytest.mark.parametrize("revision", ["2024-11-05", "2025-03-26", "2025-06-18", LAST_LEGACY])
@pytest.mark.parametrize("raw", NO_MESSAGES)
def test_only_stdio_is_cited_for_stdio(raw: bytes, revision: str) -> None:
    """What is no message is judged by the sentence that holds where it was sent."""
    version = revision if revision >= "2025-06-18" else None
    asks = [*opening_http(revision), posted(3, PING, version)]
    stream = [*opening_sse(), post(4, PING, to="/messages?id=1"), accepts(4)]
    stdio = violations(*opening(revision), s2c(raw))
    others = [
        *violations(*opening(revision), s2c(raw), transport="memory"),
        *violations(*asks, answers(3, raw), transport=HTTP),
        *violations(*opening_http(revision), posted(3, raw, version), transport=HTTP),
        *violations(*stream, says(1, raw), transport="sse"),
        *violations(*opening_sse(), post(4, raw, to="/messages?id=1"), transport="sse"),
    ]

    assert ["not-a-message"] == [one.rule.name for one in stdio]
    assert ["json-rpc"] * 5 == [one.rule.name for one in others]
    assert not any("stdout" in one.rule.sentence for one in others)


def test_what_else_a_server_serves_is_not_judged() -> None:
    """A POST to another path may have any body, and an empty one is none."""
    other = post(3, b"a=1", to="/token")

    assert [] == names(*opening_http(), other, transport=HTTP)
    assert [] == names(*opening_http(), posted(3, b" "), transport=HTTP)


def test_batches_were_once_allowed() -> None:
    """In 2025-03-26 a batch is allowed, and its members are checked like other messages."""
    asks = batch(request(1, "ping"), request(2, "tools/list"))

    assert [] == names(*opening("2025-03-26"), c2s(asks), s2c(batch(response(1), response(2))))
    assert ["id-type"] == names(*opening("2025-03-26"), c2s(batch(PING, request(1.5, "ping"))))


def test_an_unreadable_request_is_answered_without_an_id() -> None:
    """An error may have no id."""
    assert [] == names(*opening(), s2c(b'{"jsonrpc":"2.0","error":{"code":1,"message":"what?"}}'))


@pytest.mark.parametrize(
    ("result", "rest"),
    [
        (b'{"a":NaN}', "NaN"),
        (b'{"a":[1,-Infinity,NaN]}', "-Infinity"),
        (b'{"a":"x\ty"}', '\ty"}}'),
        (b'{"a":"\x1b[1m"}', '\x1b[1m"}}'),
        (b'{"a":"C:\\dir"}', "\\dir" + '"}}'),
        (b"{'a':True}", "'a':True}}"),
        (b'{"a":None}', "None}}"),
        (b'{"a":undefined}', "undefined}}"),
        (b'{"a":1,}', "}}"),
        (b'{"a":1 "b":2}', '"b":2}}'),
        (b'{"a":1,/*b*/"c":2}', '/*b*/"c":2}}'),
        (b"{a:1}", "a:1}}"),
        (b'{"a":01}', "1}}"),
        (b'{"a":"\xe9\ty"}', '\ty"}}'),
        (b'{"a":"\\ud83d"}', None),
        pytest.param(b'{"a":%b}' % (b"9" * 5000), None, id="long"),
        pytest.param(b'{"a":%b}' % (b"[" * 5000 + b"]" * 5000), None, id="deep"),
        (b'{"a":"\xc2\x85"}', None),
        (b'{"a":1e999,"a":2}', None),
    ],
)
def test_messages_that_are_not_json(result: bytes, rest: str | None) -> None:
    """Some parsers read them, others lose the answer. Surrogates, long numbers, depth are JSON."""
    answer = s2c(b'{"jsonrpc":"2.0","id":1,"result":%b}' % result)
    found = violations(*opening(), c2s(ASK), answer)
    told = [one.text for one in found if one.rule.name == "json-rpc"]

    assert ([] if rest is None else [f"not JSON: {rest}"]) == told


@pytest.mark.parametrize(
    ("raw", "fits"),
    [(b"1", True), (b'"1"', True), (b"1.0", True), (b"1.5", False), (b"null", False),
     (b"true", False), (b"{}", False)],
)  # fmt: skip
def test_ids_and_tokens(raw: bytes, fits: bool) -> None:
    """They are strings or whole numbers, however these are spelled."""
    assert fits is is_string_or_integer(raw)


@pytest.mark.parametrize(
    ("code", "whole"),
    [(b"-32601", True), (b"-32601.0", True), (b"-3.2601e4", True), (b"-32601.5", False),
     (b"1e999", False), (b"true", False), (b"null", False), (b"[]", False)],
)  # fmt: skip
def test_error_codes(code: bytes, whole: bool) -> None:
    """They are whole numbers, however these are spelled."""
    refusal = s2c(error(1).replace(b"-32602", code))

    assert ([] if whole else ["error-code"]) == names(*opening(), c2s(ASK), refusal)
