"""The messages of the modern era."""

from __future__ import annotations

from typing import Any

from tests.rules.violations import (
    HINTS,
    HTTP,
    Planted,
    ask,
    asked,
    done,
    modern,
    modern_http,
    names,
    opening,
    violations,
)
from tests.support import accepts, c2s, error, request, response, s2c

CALL, LIST = c2s(ask(1, "tools/call")), c2s(ask(1, "tools/list"))
PLANTED = [
    Planted("meta-required", [*modern(), c2s(request(1, "tools/call"))]),
    Planted("meta-required", [*modern(), c2s(ask(1, "tools/call", clientCapabilities=None))]),
    Planted("meta-required", [*modern(), c2s(ask(1, "tools/call", protocolVersion=None))]),
    Planted("meta-client-info", [*modern(), c2s(ask(1, "tools/call", clientInfo=None))]),
    Planted("meta-server-info", [*modern(), CALL, s2c(done(1, {"_meta": None}))]),
    Planted("result-type", [*modern(), CALL, s2c(done(1, {"resultType": None}))]),
    Planted("result-type-unknown", [*modern(), CALL, s2c(done(1, {"resultType": "half"}))]),
    Planted("cache-hints", [*modern(), LIST, s2c(done(1))]),
    Planted("cache-hints", [*modern(), LIST, s2c(done(1, {"ttlMs": 5}))]),
    Planted("cache-ttl", [*modern(), LIST, s2c(done(1, {**HINTS, "ttlMs": -1}))]),
    Planted(
        "discover-result",
        [c2s(ask(1, "server/discover")), s2c(done(1, {"capabilities": {}, **HINTS}))],
    ),
    Planted(
        "server-request",
        [*modern(), s2c(request(1, "elicitation/create"))],
        also=("method-revision",),
    ),
    Planted("client-response", [*modern(), c2s(response(1))], also=("answers-nothing",)),
    Planted(
        "client-response-posted",
        [*modern_http(), asked(2, response(1), "x"), accepts(2, 400)],
        HTTP,
        also=("answers-nothing",),
    ),
    Planted("error-reserved", [*modern(), CALL, s2c(error(1, -32050))]),
    Planted("error-retired", [*modern(), CALL, s2c(error(1, -32002))]),
    Planted("error-legacy", [*modern(), CALL, s2c(error(1, -32000))]),
    Planted("error-data", [*modern(), CALL, s2c(error(1, -32022))]),
]


def test_a_legacy_server_owes_nothing_to_a_modern_client() -> None:
    """A legacy server that gets modern requests is checked by the rules of its era."""
    assert [] == names(LIST, s2c(response(1, {"tools": []})), c2s(ask(2, "tools/call")))
    assert [] == names(LIST, s2c(error(1, -32000)))


def test_extensions_have_results_of_their_own() -> None:
    """A client that declares an extension may get the result types of that extension."""
    capabilities: Any = {"extensions": {"io.modelcontextprotocol/tasks": {}}}
    asks = c2s(ask(1, "tools/call", clientCapabilities=capabilities))

    assert [] == names(*modern(), asks, s2c(done(1, {"resultType": "task"})))


def test_input_required_has_no_cache_hints() -> None:
    """Only complete results need caching hints."""
    asks = c2s(ask(1, "resources/read", {"uri": "x:y"}))
    result = {"resultType": "input_required", "requestState": "s"}

    assert [] == names(*modern(), asks, s2c(done(1, result)))


def test_an_error_shows_the_era_too() -> None:
    """After an error of the modern era, requests without `_meta` are violations."""
    refused = error(1, -32021).replace(
        b'"message"', b'"data":{"requiredCapabilities":{}},"message"'
    )

    assert ["meta-required"] == names(CALL, s2c(refused), c2s(request(2, "tools/list")))


def test_ping_is_known_of_the_python_sdk() -> None:
    """A ping in the modern era is a known deviation of the Python SDK."""
    [told] = violations(*modern(), c2s(ask(1, "ping")))

    assert ("method-revision", "notice") == (told.rule.name, told.level.value)


def test_the_legacy_era_has_none_of_this() -> None:
    """Without `_meta`, without types, with codes of its own, and with requests of the server's."""
    asks = [s2c(request(1, "roots/list")), c2s(response(1)), c2s(request(1, "tools/list"))]

    assert [] == names(*opening(), *asks, s2c(error(1, -32002)))
