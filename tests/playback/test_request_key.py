"""What makes two requests the same request."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import UNSET

from mcpmock.playback.request_key import (
    MATCH_LEVELS,
    as_written,
    handshake_distance,
    match_subject,
)
from tests.support import batch, c2s, cancelled, notification, request, response

META = "io.modelcontextprotocol/"


def key(raw: bytes, level: int = 0) -> object:
    asked = match_subject(c2s(raw))
    assert asked is not None
    return asked.key(level)


def call(params: bytes) -> bytes:
    return b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":%b}' % params


def meta(inside: bytes) -> bytes:
    return call(b'{"name":"x","_meta":{%b}}' % inside)


DEEP = b"[" * 100_000 + b"]" * 100_000

SAME = [
    (request(1, "ping"), request("1", "ping")),
    (request(1, "tools/list"), request(1, "tools/list", {})),
    (call(b'{"a":1,"b":2}'), call(b'{ "b" : 2 , "a" : 1 }')),
    (call(b'{"a":1}'), call(b'{"a":1.0}')),
    (call(b'{"a":100}'), call(b'{"a":1e2}')),
    (call(b'{"a":0}'), call(b'{"a":-0.0}')),
    (call(b'{"a":"\\u00e9"}'), call('{"a":"é"}'.encode())),
    (call(b'{"name":"x"}'), meta(b'"progressToken":1')),
    (meta(b'"progressToken":"a"'), meta(b'"progressToken":2')),
    (meta(b'"traceparent":"a","tracestate":"b","baggage":"c"'), meta(b'"traceparent":"z"')),
    (
        meta(b'"%bclientInfo":{"name":"a","version":"1"}' % META.encode()),
        meta(b'"%bclientInfo":{"name":"b","version":"2"}' % META.encode()),
    ),
    (
        request(0, "initialize", {"protocolVersion": "2025-11-25"}),
        request(0, "initialize", {"protocolVersion": "1999-01-01", "capabilities": {"x": 1}}),
    ),
    (request(0, "server/discover"), request(0, "server/discover", {"_meta": {"a": 1}})),
    (call(b'{"a":NaN}'), call(b'{"a":NaN}')),
    (call(b'{"a":NaN,"b":[{"c":1}]}'), call(b'{"b":[{"c":1.0}],"a":NaN}')),
    (call(b'{"a":1e300}'), call(b'{"a":1e300}')),
    (call(b'{"a":%b}' % (b"9" * 30)), call(b'{"a":%b}' % (b"9" * 30))),
    (call(b'{"a":%b}' % (b"9" * 5000)), call(b'{"a":%b}' % (b"9" * 5000))),
    (call(b'{"a":%b}' % DEEP), call(b'{"a":%b}' % DEEP)),
    (call(b'{"a":"\\ud800"}'), call(b'{"a":"\\ud800"}')),
    (call(b'{"a":1,"a":2}'), call(b'{"a":2}')),
    *(
        (call(b'{"name":"x"}'), call(b'{"name":"x",%b}' % empty))
        for empty in (
            b'"arguments":{}',
            b'"arguments":null',
            b'"_meta":null',
            b'"_meta":{}',
            b'"cursor":null',
            b'"context":{}',
            b'"context":{"arguments":{}}',
            b'"context":{"arguments":null}',
            b'"arguments":{},"_meta":{"progressToken":1}',
        )
    ),
    (batch(call(b'{"arguments":{}}')), batch(call(b"null"))),
    (notification("n", {"a": 1}), notification("n", {"a": 1})),
    (batch(request(1, "ping")), batch(request(2, "ping"))),
]

OTHER = [
    (request(1, "ping"), request(1, "pong")),
    (call(b'{"a":1}'), call(b'{"a":"1"}')),
    (call(b'{"a":1}'), call(b'{"a":true}')),
    (call(b'{"a":1}'), call(b'{"a":1.5}')),
    (call(b'{"a":0}'), call(b'{"a":false}')),
    (call(b'{"a":0}'), call(b'{"a":null}')),
    (call(b'{"a":null}'), call(b"{}")),
    *(
        (call(b'{"arguments":%b}' % one), call(b"{}"))
        for one in (b"[]", b'""', b"0", b"false", b'{"a":{}}', b'{"a":null}')
    ),
    (call(b'{"arguments":{"arguments":{}}}'), call(b"{}")),
    (call(b'{"a":[1,2]}'), call(b'{"a":[2,1]}')),
    (call(b'{"a":9007199254740993}'), call(b'{"a":9007199254740992}')),
    (call(b'{"a":9007199254740993}'), call(b'{"a":9007199254740992.0}')),
    (call(b'{"a":NaN}'), call(b'{"a":null}')),
    (call(b'{"a":NaN}'), call(b'{"a":"NaN"}')),
    (call(b'{"a":1e400}'), call(b'{"a":-1e400}')),
    (call(b'{"a":"\\ud800"}'), call(b'{"a":"\\ud801"}')),
    (call(b'{"a":%b}' % DEEP), call(b'{"a":%b}' % DEEP[1:-1])),
    (call(b'{"a":""}'), call(b'{"a":" "}')),
    (call(b'{"_meta":[1]}'), call(b'{"_meta":[2]}')),
    (call(b'{"_meta":"a"}'), call(b"{}")),
    (call(b'{"progressToken":1}'), call(b'{"progressToken":2}')),
    (meta(b'"%brelated-task":1' % META.encode()), meta(b'"%brelated-task":2' % META.encode())),
    (meta(b'"%bof-tomorrow":1' % META.encode()), meta(b'"a":1')),
    (
        call(b'{"arguments":{"_meta":{"progressToken":1}}}'),
        call(b'{"arguments":{"_meta":{"progressToken":2}}}'),
    ),
    (batch(request(1, "ping")), request(1, "ping")),
    (batch(request(1, "a"), request(2, "b")), batch(request(1, "b"), request(2, "a"))),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_the_same_request(one: bytes, other: bytes) -> None:
    """What is volatile, and what JSON does not tell apart, makes no difference."""
    assert key(one) == key(other)


@pytest.mark.parametrize(("one", "other"), OTHER)
def test_another_request(one: bytes, other: bytes) -> None:
    """Arguments are strict, at every level."""
    for level in range(len(MATCH_LEVELS)):
        assert key(one, level) != key(other, level)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            meta(b'"%bclientCapabilities":{}' % META.encode()),
            meta(b'"%bclientCapabilities":{"a":{}}' % META.encode()),
        ),
        (meta(b'"%bclientInfo":{"title":"a"}' % META.encode()), meta(b'"progressToken":1')),
        (
            meta(b'"%blogLevel":"info"' % META.encode()),
            meta(b'"%blogLevel":"debug"' % META.encode()),
        ),
    ],
)
def test_the_relaxed_tier_forgives_the_client(one: bytes, other: bytes) -> None:
    """Another client's identity, capabilities and log level differ at the strictest level only."""
    assert key(one, 0) != key(other, 0)
    assert key(one, 1) == key(other, 1)


def hello(version: str, name: str, **more: Any) -> bytes:
    client = {"name": name, "version": more.pop("release", "1")}
    params = {"protocolVersion": version, "capabilities": more, "clientInfo": client}
    return request(1, "initialize", params)


def test_how_strange_a_client_is() -> None:
    """Handshakes are the same request; the revision says most about a client, then its name."""
    me = hello("2025-11-25", "me", roots={}, sampling={})
    others = [
        me,
        hello("2025-11-25", "me", roots={}, sampling={}, release="2"),
        hello("2025-11-25", "you"),
        hello("2025-06-18", "me", roots={}, sampling={}),
    ]
    asked = [match_subject(c2s(raw)) for raw in others]
    found = [handshake_distance(asked[0], other) for other in asked if asked[0] and other]

    assert sorted(found) == found
    assert 0 == found[0]
    assert 4 == len(set(found))
    assert 1 == len({key(raw) for raw in others})


def test_nothing_else_is_strange() -> None:
    """Other requests are the same, or they are not."""
    one, other = match_subject(c2s(call(b"{}"))), match_subject(c2s(call(b"[]")))

    assert one is not None
    assert other is not None
    assert 0 == handshake_distance(one, other)


def test_kinds_that_nothing_is_asked_by() -> None:
    """Responses and noise have no key."""
    assert [None, None, None] == [match_subject(c2s(raw)) for raw in (response(1), b"noise", b"[]")]


def test_a_notification_is_asked_too() -> None:
    """A notification has the key of its method and parameters."""
    assert key(cancelled(1)) != key(cancelled(2))


def test_what_a_client_says_of_itself_in_a_batch() -> None:
    """Each member says it: what names the client, and what is in its own words."""
    metas = [{META + "logLevel": "info", "own": 1}, {META + "related-task": {}, "own": 2}]
    asked = match_subject(c2s(batch(*(request(1, "a", {"_meta": meta}) for meta in metas))))

    assert asked is not None
    assert {(0, META + "logLevel"): "info"} == asked.identity
    assert {(0, "own"): 1, (1, "own"): 2} == asked.own_meta


@pytest.mark.parametrize("params", [[1], [["ping", {}]], {"_meta": {"own": 1}}])
def test_a_method_of_the_name_that_stands_for_a_batch(params: Any) -> None:
    """It is no batch, at no level, whatever its params are."""
    ping = batch(request(1, "ping"))

    for level in range(len(MATCH_LEVELS)):
        assert key(request(1, "a batch", params), level) != key(ping, level)


@pytest.mark.parametrize("method", [b'"\\ud800"', b'"\\u0000"', b'""'])
def test_odd_methods(method: bytes) -> None:
    """A method that no encoder takes still has a key."""
    raw = b'{"id":1,"method":%b,"params":{"a":1}}' % method

    assert key(raw) == key(raw)


ONE = request(1, "a", {"n": None, "l": [{}, 1]})
TWO = batch(response(1), request(2, "b"), ONE)


@pytest.mark.parametrize(
    ("raw", "place", "expected"),
    [
        (ONE, ("n",), None),
        (ONE, ("l", 0), {}),
        (ONE, ("l", 2), UNSET),
        (ONE, ("m",), UNSET),
        (ONE, ("n", "m"), UNSET),
        (ONE, (), UNSET),
        (request(1, "a"), ("n",), UNSET),
        (notification("a", {"n": 1}), ("n",), 1),
        (response(1), ("n",), UNSET),
        (TWO, (1, 1, "n"), None),
        (TWO, (0, 1, "n"), UNSET),
        (TWO, (1, 0), UNSET),
        (TWO, (), UNSET),
    ],
)
def test_what_is_written_at_a_place(
    raw: bytes, place: tuple[str | int, ...], expected: Any
) -> None:
    """Of a batch in the params of one of its requests; nothing where the request has nothing."""
    assert expected == as_written(c2s(raw), place)
