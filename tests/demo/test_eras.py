"""How the two eras greet, dress results, ask their client, and tell of changes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.demo.talking import META, call, modern, modern_call, talk, welcome
from tests.support import INITIALIZE, error, notification, request, response

COUNTER = "demo://counter"
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"


@pytest.mark.parametrize(
    ("asked", "given"),
    [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
        (7, "2025-11-25"),
    ],
)
def test_handshake(asked: Any, given: str) -> None:
    """A handshake settles on the client's revision where there is such a one, else on the latest
    that has a handshake.
    """
    heard = talk(request(0, "initialize", {"protocolVersion": asked}))

    assert given == heard.last["result"]["protocolVersion"]


def test_discover() -> None:
    """A client of 2026-07-28 is told the version and the capabilities, in that era's dress."""
    result = (talk(modern(1, "server/discover"))).last["result"]

    assert ["2026-07-28"] == result["supportedVersions"]
    assert {"subscribe": True} == result["capabilities"]["resources"]
    assert ("complete", 0, "public") == (
        result["resultType"],
        result["ttlMs"],
        result["cacheScope"],
    )
    assert "mcpmock-demo" == result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"]


def test_tool_result_is_not_cacheable() -> None:
    """A tool's result says that it is complete, and nothing of caching."""
    result = (talk(modern_call(1, "echo", {"message": "hi"}))).last["result"]

    assert {"resultType", "content", "_meta"} == set(result)


def test_legacy_dress() -> None:
    """A legacy result carries nothing of the modern era."""
    assert {} == (talk(INITIALIZE, request(1, "ping"))).last["result"]


@pytest.mark.parametrize("meta", [{}, {**META, "io.modelcontextprotocol/clientCapabilities": 1}])
def test_lacking_meta(meta: dict[str, Any]) -> None:
    """A modern request without what every one must carry is refused."""
    first = modern(1, "server/discover")

    assert -32602 == (talk(first, request(2, "tools/list", {"_meta": meta}))).code


def test_unsupported_version() -> None:
    """A version that is not known is refused with those that are, and the era stays open."""
    unknown = {"io.modelcontextprotocol/protocolVersion": "2099-01-01"}
    heard = talk(modern(1, "server/discover", meta=unknown), INITIALIZE)

    refused, greeted = heard.messages
    assert -32022 == refused["error"]["code"]
    assert {"supported": ["2026-07-28"], "requested": "2099-01-01"} == refused["error"]["data"]
    assert "protocolVersion" in greeted["result"]


@pytest.mark.parametrize(
    "method", ["ping", "initialize", "logging/setLevel", "resources/subscribe"]
)
def test_removed_methods(method: str) -> None:
    """What 2026-07-28 removed is not found there."""
    assert -32601 == (talk(modern(1, method))).code


@pytest.mark.parametrize("method", ["server/discover", "subscriptions/listen"])
def test_methods_to_come(method: str) -> None:
    """What came with 2026-07-28 is not found after a handshake."""
    assert -32601 == (talk(INITIALIZE, request(1, method))).code


def test_era_by_meta() -> None:
    """A first request that carries its version opens the modern era without a discover."""
    assert "complete" == (talk(modern(1, "tools/list"))).last["result"]["resultType"]


def test_legacy_question() -> None:
    """A tool asks a legacy client by a request of the server's own, with an id space of its own."""
    heard = talk(
        welcome(sampling={}),
        call(1, "ask", question="Why?"),
        response(1, {"content": {"type": "text", "text": "So."}}),
    )

    _, asked, answered = heard.messages
    assert (1, "sampling/createMessage") == (asked["id"], asked["method"])
    assert "Why?" == asked["params"]["messages"][0]["content"]["text"]
    assert (1, "the model says: So.") == (answered["id"], heard.text)


def test_legacy_refusal() -> None:
    """A client that refuses to answer makes the tool fail, not the call."""
    heard = talk(welcome(sampling={}), call(1, "ask", question="Why?"), error(1, -1, "no"))

    assert heard.last["result"]["isError"]
    assert "the client refused to answer: no" == heard.text


def test_legacy_incapable() -> None:
    """A client that cannot answer is not asked."""
    heard = talk(INITIALIZE, call(1, "ask", question="Why?"))

    assert [0, 1] == heard.ids
    assert "this client offers no sampling" == heard.text


def test_modern_question() -> None:
    """A tool that must ask a modern client ends its call with the question, and the client calls
    again with the answer.
    """
    asking = talk(modern_call(1, "confirm", {"action": "go"}, elicitation={}))
    result = asking.last["result"]

    assert "input_required" == result["resultType"]
    assert "elicitation/create" == result["inputRequests"]["elicitation"]["method"]
    answers = {"elicitation": {"action": "accept", "content": {"sure": True}}}
    again = modern_call(
        2, "confirm", {"action": "go"}, rest={"inputResponses": answers}, elicitation={}
    )
    assert "confirmed: go" == (talk(again)).text


def test_modern_incapable() -> None:
    """A modern client that cannot answer is told what it lacks."""
    told = (talk(modern_call(1, "roots", {}))).last["error"]

    assert (-32021, {"requiredCapabilities": {"roots": {}}}) == (told["code"], told["data"])


def test_subscribe() -> None:
    """A legacy client hears of changes from subscribe to unsubscribe."""
    uri = {"uri": COUNTER}
    heard = talk(
        call(1, "touch"),
        request(2, "resources/subscribe", uri),
        call(3, "touch"),
        request(4, "resources/unsubscribe", uri),
        call(5, "touch"),
    )

    methods = [message.get("method", message.get("id")) for message in heard.messages]
    assert [1, 2, "notifications/resources/updated", 3, 4, 5] == methods


def test_listen() -> None:
    """A modern client hears of changes tagged with the id of its listen, until it cancels that."""
    wanted = {"notifications": {"resourceSubscriptions": [COUNTER], "toolsListChanged": True}}
    heard = talk(
        modern("l", "subscriptions/listen", wanted),
        modern_call(1, "touch", {}),
        notification("notifications/cancelled", {"requestId": "l"}),
        modern_call(2, "touch", {}),
    )

    tag = {SUBSCRIPTION: "l"}
    acknowledged = heard.notified("notifications/subscriptions/acknowledged")
    assert [{"_meta": tag, "notifications": {"resourceSubscriptions": [COUNTER]}}] == acknowledged
    assert [{"_meta": tag, "uri": COUNTER}] == heard.notified("notifications/resources/updated")
    assert [1, 2] == heard.ids


@pytest.mark.parametrize("wanted", [None, 7, {}, {"resourceSubscriptions": "x"}])
def test_odd_listen(wanted: Any) -> None:
    """A listen that asks for nothing we know is acknowledged with nothing."""
    heard = talk(modern(1, "subscriptions/listen", {"notifications": wanted}))

    assert {} == heard.last["params"]["notifications"]


def test_set_level() -> None:
    """A legacy client chooses how severe a log message must be to be sent."""
    heard = talk(
        request(1, "logging/setLevel", {"level": "error"}),
        call(2, "weather", city="Oslo"),
        request(3, "logging/setLevel", {"level": "debug"}),
        call(4, "weather", city="Lima"),
    )

    assert ["looked up Lima"] == [p["data"] for p in heard.notified("notifications/message")]


def test_unknown_level() -> None:
    """A level that there is not is refused."""
    assert -32602 == (talk(request(1, "logging/setLevel", {"level": "loud"}))).code


def test_modern_log() -> None:
    """A modern client gets log messages for the requests that ask for them."""
    asked = {"io.modelcontextprotocol/logLevel": "info"}
    params = {"name": "weather", "arguments": {"city": "Oslo"}}
    heard = talk(modern(1, "tools/call", params), modern(2, "tools/call", params, meta=asked))

    kinds = [message.get("method", message.get("id")) for message in heard.messages]
    assert [1, "notifications/message", 2] == kinds


def test_not_found() -> None:
    """A resource that is not there is an error of its own up to 2025-11-25, and invalid params
    since.
    """
    nowhere = {"uri": "demo://nowhere"}

    assert -32002 == (talk(request(1, "resources/read", nowhere))).code
    assert -32602 == (talk(modern(1, "resources/read", nowhere))).code
