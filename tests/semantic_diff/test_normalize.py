"""The document of a message, and corresponding placeholders."""

from __future__ import annotations

import pytest

from mcpmock.protocol.messages import Notification, Opaque, Request, Response, parse
from mcpmock.semantic_diff.normalize import (
    Document,
    Namings,
    content_of,
    key_of,
    without_own_meta,
)
from tests.support import cancelled, error, notification, progress, request, response

TASK = "io.modelcontextprotocol/related-task"
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"
SERVER = "io.modelcontextprotocol/serverInfo"
SECRET = "mcpmock:secret:"


def document(raw: bytes, method: str = "x") -> Document:
    message = parse(raw)
    assert isinstance(message, Request | Notification | Response | Opaque)
    return content_of(message, method)


@pytest.mark.parametrize(
    ("one", "other", "method"),
    [
        (request(1, "x", {"a": 1.0}, token=5), request("b", "x", {"a": 1}, token="c"), "x"),
        (progress(1), progress("a"), "notifications/progress"),
        (cancelled(1), cancelled(2), "notifications/cancelled"),
        (request(1, "x", {"_meta": {"traceparent": "00"}}), request(2, "x"), "x"),
        (
            request(1, "initialize", {"clientInfo": {"name": "a"}}),
            request(1, "initialize", {"clientInfo": {"name": "b"}}),
            "initialize",
        ),
        (response(1, {"a": 1, "b": 2}), response(2, {"b": 2, "a": 1}), "x"),
        (response(1, {"_meta": {SUBSCRIPTION: 1}}), response(1), "subscriptions/listen"),
        (response(1, {"_meta": {SERVER: {"version": "1"}}}), response(1), "tools/call"),
        (
            response(1, {"task": {"taskId": "a", "createdAt": "now", "status": "working"}}),
            response(1, {"task": {"taskId": "b", "createdAt": "then", "status": "working"}}),
            "tools/call",
        ),
        (
            response(1, {"tasks": [{"taskId": "a", "createdAt": "now"}, 7]}),
            response(1, {"tasks": [{"taskId": "b", "createdAt": "then"}, 7]}),
            "tasks/list",
        ),
        (
            response(1, {"_meta": {TASK: {"taskId": "a"}}, "nextCursor": "a"}),
            response(1, {"_meta": {TASK: {"taskId": "b"}}, "nextCursor": "b"}),
            "tools/call",
        ),
        (
            error(1).replace(b'"no"', b'"no","data":{"elicitations":[{"elicitationId":"a"}]}'),
            error(1).replace(b'"no"', b'"no","data":{"elicitations":[{"elicitationId":"b"}]}'),
            "tools/call",
        ),
    ],
)
def test_what_does_not_count(one: bytes, other: bytes, method: str) -> None:
    """Ids, tokens, trace context, order, the spelling of numbers and issued values are ignored."""
    assert key_of(document(one, method)) == key_of(document(other, method))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (request(1, "x", {"a": 1}), request(1, "x", {"a": True})),
        (request(1, "x", {"a": 1}), request(1, "x", {"a": "1"})),
        (request(1, "x", [1]), request(1, "x", [2])),
        (response(1, {"tasks": [{"taskId": "a", "ttl": 1}]}), response(1, {"tasks": []})),
        (response(1, {"content": {"taskId": "a"}}), response(1, {"content": {"taskId": "b"}})),
        (response(1), error(1)),
        *(
            (response(1, {name: one}), response(1, {name: other}))
            for name in ("tasks", "task", "_meta")
            for one, other in (([1], [2]), (1, 2), ({TASK: 1}, {TASK: 2}), ("a", None))
        ),
        *(
            tuple(
                error(1).replace(b'"no"', b'"no","data":%b' % data)
                for data in (one, one.replace(b"1", b"2"))
            )
            for one in (b'{"elicitations":[1]}', b'{"elicitations":1}', b"[1]", b"1")
        ),
        (response(1, {}), response(1).replace(b"{}", b"null")),
    ],
)
def test_what_counts(one: bytes, other: bytes) -> None:
    """Everything else is compared, also a member that only has the name of an issued value."""
    assert key_of(document(one)) != key_of(document(other))


def test_what_is_the_clients_own_in_meta() -> None:
    """It goes, with a `_meta` that has nothing else."""
    theirs = {SUBSCRIPTION: 1}

    assert {"params": {"a": 1}} == without_own_meta({"params": {"a": 1, "_meta": {"own": 1}}})
    assert {"params": {"_meta": theirs}} == without_own_meta(
        {"params": {"_meta": {"own": 1, **theirs}}}
    )


def test_discovery_tells_the_server() -> None:
    """The server info is compared in `server/discover` only."""
    told = response(1, {"_meta": {SERVER: {"version": "1"}}})

    assert {"result": {"_meta": {SERVER: {"version": "1"}}}} == document(told, "server/discover")


def test_what_no_decoder_takes_is_text() -> None:
    """Bytes that no decoder accepts are compared as text, long ones too."""
    deep = b'{"jsonrpc":"2.0","id":1,"result":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    long = "x" * 20_000

    assert {"result": "[" * 100_000 + "]" * 100_000} == document(deep)
    assert {"params": {"a": long}} == document(notification("x", {"a": long}))
    assert {} == document(b"a banner")


def test_placeholders_are_the_same_but_for_their_numbers() -> None:
    """Their kinds are not."""
    one, two, other = ({"a": f"{SECRET}{kind}"} for kind in ("token:1", "token:2", "sk:1"))

    assert key_of(one) == key_of(two)
    assert key_of(one) != key_of(other)


def test_who_is_who() -> None:
    """The first pair settles it, in both directions, and a text that does not fit settles
    nothing.
    """
    one, two, three = (f"{SECRET}token:{n}" for n in (1, 2, 3))
    namings = Namings()

    assert namings.same(f"a {one} b {two}", f"a {two} b {one}")
    assert namings.same(one, two)
    assert not namings.same(one, one)
    assert not namings.same(three, two)
    assert not namings.same(f"{three} {one}", f"{three} {one}")
    assert namings.same(three, three)
    assert not namings.same(one, f"{one}.")
    assert not Namings().same(f"{one} {one}", f"{one} {two}")
    assert not namings.same(one, f"{SECRET}sk:2")
    assert namings.same("a", "a")
    assert not namings.same(one, "live")


def test_a_number_that_was_driven() -> None:
    """`drive` sends 0 in the place of a number, and a text repeats it."""
    hole = f"{SECRET}account-number:2"

    assert Namings().same(f"account {hole}, of {SECRET}who:1", f"account 0, of {SECRET}who:7")
    assert Namings().same(f"account {hole}", f"account {SECRET}account-number:9")
    assert not Namings().same(f"account {hole}", "account 7")
